// kernel softmax_rows of softmax.kc:1, for sm_90a
// assumes N % 4 == 0, and that indices of 32 bits reach all of x, y
// launch kc_softmax_rows: M blocks of 128 threads, 256 bytes of shared memory

#ifndef KC_HOST // for a GPU; the emulator brings its own
static __device__ __forceinline__ unsigned char *kc_shared() {
  extern __shared__ __align__(1024) unsigned char kc_memory[];
  return kc_memory;
}
static __device__ __forceinline__ float kc_maximum(float a, float b) { // NaN wins
  float d;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b));
  return d;
}
#else
static __device__ __forceinline__ float kc_maximum(float a, float b) { // the unit's NaN is always the same
  return a != a || b != b ? __uint_as_float(0x7fffffffu) : a > b || (a == b && !(__float_as_uint(a) >> 31)) ? a : b;
}
#endif
static __device__ __forceinline__ float kc_infinity() { return __int_as_float(0x7f800000); }

// schedule: tile i 1; tile j 4096; warps 4; unit simt
#line 2 "softmax.kc"
extern "C" __global__ void __launch_bounds__(128) kc_softmax_rows(const float *__restrict__ x, float *__restrict__ y,
    const int N) {
  const int i_tile = (int)blockIdx.x;
  // Walk j in tiles, for max_j_partial.
  alignas(16) float max_j_partial[4];
  #pragma unroll
  for (int j_elem = 0; j_elem < 4; ++j_elem) {
    max_j_partial[j_elem] = -kc_infinity();
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
        max_j_partial[j_elem] = kc_maximum(max_j_partial[j_elem],
                                           j0 + (j_thread + j_elem + j_by512 * 512) < N
                                               ? x_r[j_elem + j_by512 * 4] : -kc_infinity());
      }
    }
  }
  // Combine over j: registers, then lanes, then warps.
  float max_j = -kc_infinity();
  #pragma unroll
  for (int j_elem = 0; j_elem < 4; ++j_elem) {
    max_j = kc_maximum(max_j, max_j_partial[j_elem]);
  }
  #pragma unroll
  for (int step = 0; step < 5; ++step) {
    max_j = kc_maximum(max_j, __shfl_xor_sync(0xffffffffu, max_j, 1 << step));
  }
  const bool first_lane = lane == 0;
  float *const max_j_partials = (float *)kc_shared();
  if (first_lane) {
    max_j_partials[warp] = max_j;
  }
  __syncthreads();
  max_j = -kc_infinity();
  #pragma unroll
  for (int w = 0; w < 4; ++w) {
    max_j = kc_maximum(max_j, max_j_partials[w]);
  }
  // Walk j in tiles, for sum_j_partial.
  alignas(16) float sum_j_partial[4];
  #pragma unroll
  for (int j_elem = 0; j_elem < 4; ++j_elem) {
    sum_j_partial[j_elem] = 0.0f;
  }
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
        const float exponential = expf(x_r[j_elem + j_by512 * 4] - max_j);
        sum_j_partial[j_elem] += j0 + (j_thread + j_elem + j_by512 * 512) < N ? exponential : 0.0f;
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
  float *const sum_j_partials = max_j_partials + 128 / sizeof(float);
  if (first_lane) {
    sum_j_partials[warp] = sum_j;
  }
  __syncthreads();
  sum_j = 0.0f;
  #pragma unroll
  for (int w = 0; w < 4; ++w) {
    sum_j += sum_j_partials[w];
  }
  // Walk j in tiles, for y.
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
    alignas(16) float exponential[32];
    #pragma unroll
    for (int reg = 0; reg < 32; ++reg) {
      exponential[reg] = expf(x_r[reg] - max_j);
    }
    const float inverse_sum_j = 1.0f / sum_j;
    alignas(16) float y_r[32];
    #pragma unroll
    for (int reg = 0; reg < 32; ++reg) {
      y_r[reg] = exponential[reg] * inverse_sum_j;
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
