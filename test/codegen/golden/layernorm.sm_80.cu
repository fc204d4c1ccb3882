// kernel layer_norm of layernorm.kc:1, for sm_80
// assumes N % 4 == 0, and that indices of 32 bits reach all of x, gain, bias, y
// launch kc_layer_norm: M blocks of 128 threads, 256 bytes of shared memory

#ifndef KC_HOST // for a GPU; the emulator brings its own
static __device__ __forceinline__ unsigned char *kc_shared() {
  extern __shared__ __align__(1024) unsigned char kc_memory[];
  return kc_memory;
}
#endif

// schedule: tile i 1; tile j 4096; warps 4; unit simt
#line 4 "layernorm.kc"
extern "C" __global__ void __launch_bounds__(128) kc_layer_norm(const float *__restrict__ x,
    const float *__restrict__ gain, const float *__restrict__ bias, float *__restrict__ y, const int N) {
  const int i_tile = (int)blockIdx.x;
  // Walk j in tiles, for sum_j_partial.
  alignas(16) float sum_j_partial[4];
#line 2 "layernorm.kc"
  #pragma unroll
  for (int j_elem = 0; j_elem < 4; ++j_elem) {
    sum_j_partial[j_elem] = 0.0f;
  }
  const int tid = (int)threadIdx.x;
  const int lane = tid % 32;
  const int warp = tid / 32;
  const int j_thread = lane * 4 + warp * 128;
  for (int j0 = 0; j0 < N; j0 += 4096) {
    // Load x.
    alignas(16) float x_r[32];
    #pragma unroll
    for (int j_by512 = 0; j_by512 < 8; ++j_by512) {
      const int j = j0 + (j_thread + j_by512 * 512);
      if (j < N) {
        *(uint4 *)&x_r[j_by512 * 4] = *(const uint4 *)&x[i_tile * N + j];
      } else {
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          x_r[j_by512 * 4 + e] = 0.0f;
        }
      }
    }
    #pragma unroll
    for (int j_by512 = 0; j_by512 < 8; ++j_by512) {
      #pragma unroll
      for (int j_elem = 0; j_elem < 4; ++j_elem) {
        sum_j_partial[j_elem] += x_r[j_elem + j_by512 * 4];
      }
    }
  }
  // Combine over j: registers, then lanes, then warps.
  float sum_j = 0.0f;
  #pragma unroll
  for (int j_elem = 0; j_elem < 4; ++j_elem) {
    sum_j += sum_j_partial[j_elem];
  }
  #pragma unroll
  for (int step = 0; step < 5; ++step) {
    sum_j += __shfl_xor_sync(0xffffffffu, sum_j, 1 << step);
  }
  const bool first_lane = lane == 0;
  float *const sum_j_partials = (float *)kc_shared();
  if (first_lane) {
    sum_j_partials[warp] = sum_j;
  }
  __syncthreads();
  sum_j = 0.0f;
  #pragma unroll
  for (int w = 0; w < 4; ++w) {
    sum_j += sum_j_partials[w];
  }
  // Walk j in tiles, for sum_j_partial.
  alignas(16) float sum_j_partial_1[4];
#line 3 "layernorm.kc"
  #pragma unroll
  for (int j_elem = 0; j_elem < 4; ++j_elem) {
    sum_j_partial_1[j_elem] = 0.0f;
  }
#line 2 "layernorm.kc"
  const float converted = (float)N;
#line 3 "layernorm.kc"
  for (int j0 = 0; j0 < N; j0 += 4096) {
    // Load x.
    alignas(16) float x_r[32];
    #pragma unroll
    for (int j_by512 = 0; j_by512 < 8; ++j_by512) {
      const int j = j0 + (j_thread + j_by512 * 512);
      if (j < N) {
        *(uint4 *)&x_r[j_by512 * 4] = *(const uint4 *)&x[i_tile * N + j];
      } else {
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          x_r[j_by512 * 4 + e] = 0.0f;
        }
      }
    }
#line 2 "layernorm.kc"
    const float mu = sum_j / converted;
#line 3 "layernorm.kc"
    #pragma unroll
    for (int j_by512 = 0; j_by512 < 8; ++j_by512) {
      #pragma unroll
      for (int j_elem = 0; j_elem < 4; ++j_elem) {
        const float difference = x_r[j_elem + j_by512 * 4] - mu;
        sum_j_partial_1[j_elem] += j0 + (j_thread + j_elem + j_by512 * 512) < N ? difference * difference : 0.0f;
      }
    }
  }
  // Combine over j: registers, then lanes, then warps.
  float sum_j_1 = 0.0f;
  #pragma unroll
  for (int j_elem = 0; j_elem < 4; ++j_elem) {
    sum_j_1 += sum_j_partial_1[j_elem];
  }
  #pragma unroll
  for (int step = 0; step < 5; ++step) {
    sum_j_1 += __shfl_xor_sync(0xffffffffu, sum_j_1, 1 << step);
  }
  float *const sum_j_partials_1 = sum_j_partials + 128 / sizeof(float);
  if (first_lane) {
    sum_j_partials_1[warp] = sum_j_1;
  }
  __syncthreads();
  sum_j_1 = 0.0f;
  #pragma unroll
  for (int w = 0; w < 4; ++w) {
    sum_j_1 += sum_j_partials_1[w];
  }
  // Walk j in tiles, for y.
#line 4 "layernorm.kc"
  for (int j0 = 0; j0 < N; j0 += 4096) {
    // Load x.
    alignas(16) float x_r[32];
    #pragma unroll
    for (int j_by512 = 0; j_by512 < 8; ++j_by512) {
      const int j = j0 + (j_thread + j_by512 * 512);
      if (j < N) {
        *(uint4 *)&x_r[j_by512 * 4] = *(const uint4 *)&x[i_tile * N + j];
      } else {
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          x_r[j_by512 * 4 + e] = 0.0f;
        }
      }
    }
#line 2 "layernorm.kc"
    const float mu = sum_j / converted;
    alignas(16) float difference[32];
#line 4 "layernorm.kc"
    #pragma unroll
    for (int reg = 0; reg < 32; ++reg) {
      difference[reg] = x_r[reg] - mu;
    }
    const float inverse_root = rsqrtf(sum_j_1 / converted + 1e-05f);
    alignas(16) float product[32];
    #pragma unroll
    for (int reg = 0; reg < 32; ++reg) {
      product[reg] = difference[reg] * inverse_root;
    }
    // Load gain.
    alignas(16) float gain_r[32];
    #pragma unroll
    for (int j_by512 = 0; j_by512 < 8; ++j_by512) {
      const int j = j0 + (j_thread + j_by512 * 512);
      if (j < N) {
        *(uint4 *)&gain_r[j_by512 * 4] = *(const uint4 *)&gain[j];
      } else {
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          gain_r[j_by512 * 4 + e] = 0.0f;
        }
      }
    }
    alignas(16) float product_1[32];
    #pragma unroll
    for (int reg = 0; reg < 32; ++reg) {
      product_1[reg] = product[reg] * gain_r[reg];
    }
    // Load bias.
    alignas(16) float bias_r[32];
    #pragma unroll
    for (int j_by512 = 0; j_by512 < 8; ++j_by512) {
      const int j = j0 + (j_thread + j_by512 * 512);
      if (j < N) {
        *(uint4 *)&bias_r[j_by512 * 4] = *(const uint4 *)&bias[j];
      } else {
        #pragma unroll
        for (int e = 0; e < 4; ++e) {
          bias_r[j_by512 * 4 + e] = 0.0f;
        }
      }
    }
    alignas(16) float y_r[32];
    #pragma unroll
    for (int reg = 0; reg < 32; ++reg) {
      y_r[reg] = product_1[reg] + bias_r[reg];
    }
    // Store y.
    #pragma unroll
    for (int j_by512 = 0; j_by512 < 8; ++j_by512) {
      const int j = j0 + (j_thread + j_by512 * 512);
      if (j < N) {
        *(uint4 *)&y[i_tile * N + j] = *(const uint4 *)&y_r[j_by512 * 4];
      }
    }
  }
}
