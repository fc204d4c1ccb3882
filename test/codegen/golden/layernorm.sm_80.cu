// kernel layer_norm of layernorm.kc:1, for sm_80
// assumes N % 4 == 0 and fits32(x) and fits32(gain) and fits32(bias) and fits32(y) and fits32(workspace)

#ifndef KC_HOST
static __device__ __forceinline__ unsigned char *kc_shared() {
  extern __shared__ __align__(1024) unsigned char kc_memory[];
  return kc_memory;
}
#endif

// schedule: tile i 1; tile j 4096; warps 4; unit simt
#line 4 "layernorm.kc"
extern "C" __global__ void __launch_bounds__(128) kc_layer_norm(const float *__restrict__ x,
    const float *__restrict__ gain, const float *__restrict__ bias, float *__restrict__ y, const int M, const int N) {
  const int block = (int)blockIdx.x;
  // Walk j in tiles.
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
        *(uint4 *)(&x_r[j_by512 * 4]) = *(const uint4 *)(&x[block * N + j]);
      } else {
        x_r[j_by512 * 4] = 0.0f;
        x_r[j_by512 * 4 + 1] = 0.0f;
        x_r[j_by512 * 4 + 2] = 0.0f;
        x_r[j_by512 * 4 + 3] = 0.0f;
      }
    }
    #pragma unroll
    for (int j_by512 = 0; j_by512 < 8; ++j_by512) {
      #pragma unroll
      for (int j_elem = 0; j_elem < 4; ++j_elem) {
        sum_j_partial[j_elem] = sum_j_partial[j_elem] + x_r[j_elem + j_by512 * 4];
      }
    }
  }
  // Combine over j: registers, then lanes, then warps.
  float partial = 0.0f;
  #pragma unroll
  for (int j_elem = 0; j_elem < 4; ++j_elem) {
    partial = partial + sum_j_partial[j_elem];
  }
  const float of_2_lanes = partial + __shfl_xor_sync(0xffffffffu, partial, 1);
  const float of_4_lanes = of_2_lanes + __shfl_xor_sync(0xffffffffu, of_2_lanes, 2);
  const float of_8_lanes = of_4_lanes + __shfl_xor_sync(0xffffffffu, of_4_lanes, 4);
  const float of_16_lanes = of_8_lanes + __shfl_xor_sync(0xffffffffu, of_8_lanes, 8);
  float sum_j = of_16_lanes + __shfl_xor_sync(0xffffffffu, of_16_lanes, 16);
  const bool speaks = lane == 0;
  float *const partials = (float *)(kc_shared());
  if (speaks) {
    partials[warp] = sum_j;
  }
  __syncthreads();
  float total = 0.0f;
  #pragma unroll
  for (int w = 0; w < 4; ++w) {
    total = total + partials[w];
  }
  sum_j = total;
  // Walk j in tiles.
  alignas(16) float sum_j_partial_1[4];
#line 3 "layernorm.kc"
  #pragma unroll
  for (int j_elem = 0; j_elem < 4; ++j_elem) {
    sum_j_partial_1[j_elem] = 0.0f;
  }
#line 2 "layernorm.kc"
  const float t = (float)(long long)N;
#line 3 "layernorm.kc"
  for (int j0 = 0; j0 < N; j0 += 4096) {
    // Load x.
    alignas(16) float x_r[32];
    #pragma unroll
    for (int j_by512 = 0; j_by512 < 8; ++j_by512) {
      const int j = j0 + (j_thread + j_by512 * 512);
      if (j < N) {
        *(uint4 *)(&x_r[j_by512 * 4]) = *(const uint4 *)(&x[block * N + j]);
      } else {
        x_r[j_by512 * 4] = 0.0f;
        x_r[j_by512 * 4 + 1] = 0.0f;
        x_r[j_by512 * 4 + 2] = 0.0f;
        x_r[j_by512 * 4 + 3] = 0.0f;
      }
    }
#line 2 "layernorm.kc"
    const float mu = sum_j / t;
#line 3 "layernorm.kc"
    #pragma unroll
    for (int j_by512 = 0; j_by512 < 8; ++j_by512) {
      #pragma unroll
      for (int j_elem = 0; j_elem < 4; ++j_elem) {
        const float t_1 = x_r[j_elem + j_by512 * 4] - mu;
        sum_j_partial_1[j_elem] = sum_j_partial_1[j_elem] + (j0 + (j_thread + j_elem + j_by512 * 512) < N ? t_1 * t_1 : 0.0f);
      }
    }
  }
  // Combine over j: registers, then lanes, then warps.
  float partial_1 = 0.0f;
  #pragma unroll
  for (int j_elem = 0; j_elem < 4; ++j_elem) {
    partial_1 = partial_1 + sum_j_partial_1[j_elem];
  }
  const float of_2_lanes_1 = partial_1 + __shfl_xor_sync(0xffffffffu, partial_1, 1);
  const float of_4_lanes_1 = of_2_lanes_1 + __shfl_xor_sync(0xffffffffu, of_2_lanes_1, 2);
  const float of_8_lanes_1 = of_4_lanes_1 + __shfl_xor_sync(0xffffffffu, of_4_lanes_1, 4);
  const float of_16_lanes_1 = of_8_lanes_1 + __shfl_xor_sync(0xffffffffu, of_8_lanes_1, 8);
  float sum_j_1 = of_16_lanes_1 + __shfl_xor_sync(0xffffffffu, of_16_lanes_1, 16);
  float *const partials_1 = (float *)(kc_shared() + 128);
  if (speaks) {
    partials_1[warp] = sum_j_1;
  }
  __syncthreads();
  float total_1 = 0.0f;
  #pragma unroll
  for (int w = 0; w < 4; ++w) {
    total_1 = total_1 + partials_1[w];
  }
  sum_j_1 = total_1;
  // Walk j in tiles.
#line 4 "layernorm.kc"
  for (int j0 = 0; j0 < N; j0 += 4096) {
    // Load x.
    alignas(16) float x_r[32];
    #pragma unroll
    for (int j_by512 = 0; j_by512 < 8; ++j_by512) {
      const int j = j0 + (j_thread + j_by512 * 512);
      if (j < N) {
        *(uint4 *)(&x_r[j_by512 * 4]) = *(const uint4 *)(&x[block * N + j]);
      } else {
        x_r[j_by512 * 4] = 0.0f;
        x_r[j_by512 * 4 + 1] = 0.0f;
        x_r[j_by512 * 4 + 2] = 0.0f;
        x_r[j_by512 * 4 + 3] = 0.0f;
      }
    }
#line 2 "layernorm.kc"
    const float mu = sum_j / t;
    alignas(16) float r[32];
#line 4 "layernorm.kc"
    #pragma unroll
    for (int j_by512 = 0; j_by512 < 8; ++j_by512) {
      #pragma unroll
      for (int j_elem = 0; j_elem < 4; ++j_elem) {
        const int reg = j_elem + j_by512 * 4;
        r[reg] = x_r[reg] - mu;
      }
    }
    const float r_1 = rsqrtf(sum_j_1 / t + 1e-05f);
    alignas(16) float r_2[32];
    #pragma unroll
    for (int j_by512 = 0; j_by512 < 8; ++j_by512) {
      #pragma unroll
      for (int j_elem = 0; j_elem < 4; ++j_elem) {
        const int reg = j_elem + j_by512 * 4;
        r_2[reg] = r[reg] * r_1;
      }
    }
    // Load gain.
    alignas(16) float gain_r[32];
    #pragma unroll
    for (int j_by512 = 0; j_by512 < 8; ++j_by512) {
      const int j = j0 + (j_thread + j_by512 * 512);
      if (j < N) {
        *(uint4 *)(&gain_r[j_by512 * 4]) = *(const uint4 *)(&gain[j]);
      } else {
        gain_r[j_by512 * 4] = 0.0f;
        gain_r[j_by512 * 4 + 1] = 0.0f;
        gain_r[j_by512 * 4 + 2] = 0.0f;
        gain_r[j_by512 * 4 + 3] = 0.0f;
      }
    }
    alignas(16) float r_3[32];
    #pragma unroll
    for (int j_by512 = 0; j_by512 < 8; ++j_by512) {
      #pragma unroll
      for (int j_elem = 0; j_elem < 4; ++j_elem) {
        const int reg = j_elem + j_by512 * 4;
        r_3[reg] = r_2[reg] * gain_r[reg];
      }
    }
    // Load bias.
    alignas(16) float bias_r[32];
    #pragma unroll
    for (int j_by512 = 0; j_by512 < 8; ++j_by512) {
      const int j = j0 + (j_thread + j_by512 * 512);
      if (j < N) {
        *(uint4 *)(&bias_r[j_by512 * 4]) = *(const uint4 *)(&bias[j]);
      } else {
        bias_r[j_by512 * 4] = 0.0f;
        bias_r[j_by512 * 4 + 1] = 0.0f;
        bias_r[j_by512 * 4 + 2] = 0.0f;
        bias_r[j_by512 * 4 + 3] = 0.0f;
      }
    }
    alignas(16) float y_r[32];
    #pragma unroll
    for (int j_by512 = 0; j_by512 < 8; ++j_by512) {
      #pragma unroll
      for (int j_elem = 0; j_elem < 4; ++j_elem) {
        const int reg = j_elem + j_by512 * 4;
        y_r[reg] = r_3[reg] + bias_r[reg];
      }
    }
    // Store y.
    #pragma unroll
    for (int j_by512 = 0; j_by512 < 8; ++j_by512) {
      const int j = j0 + (j_thread + j_by512 * 512);
      if (j < N) {
        *(uint4 *)(&y[block * N + j]) = *(const uint4 *)(&y_r[j_by512 * 4]);
      }
    }
  }
}
