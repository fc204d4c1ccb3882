// kernel softmax_rows of softmax.kc:1, for sm_90a
// assumes N % 4 == 0 and fits32(x) and fits32(y) and fits32(workspace)

#ifndef KC_HOST
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

// schedule: tile i 1; tile j 4096; warps 4; unit simt
#line 2 "softmax.kc"
extern "C" __global__ void __launch_bounds__(128) kc_softmax_rows(const float *__restrict__ x, float *__restrict__ y,
    const int M, const int N) {
  const int block = (int)blockIdx.x;
  // Walk j in tiles.
  alignas(16) float max_j_partial[4];
  #pragma unroll
  for (int j_elem = 0; j_elem < 4; ++j_elem) {
    max_j_partial[j_elem] = __int_as_float(0xff800000);
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
        max_j_partial[j_elem] = kc_maximum(max_j_partial[j_elem], j0 + (j_thread + j_elem + j_by512 * 512) < N ? x_r[j_elem + j_by512 * 4] : __int_as_float(0xff800000));
      }
    }
  }
  // Combine over j: registers, then lanes, then warps.
  float partial = __int_as_float(0xff800000);
  #pragma unroll
  for (int j_elem = 0; j_elem < 4; ++j_elem) {
    partial = kc_maximum(partial, max_j_partial[j_elem]);
  }
  const float of_2_lanes = kc_maximum(partial, __shfl_xor_sync(0xffffffffu, partial, 1));
  const float of_4_lanes = kc_maximum(of_2_lanes, __shfl_xor_sync(0xffffffffu, of_2_lanes, 2));
  const float of_8_lanes = kc_maximum(of_4_lanes, __shfl_xor_sync(0xffffffffu, of_4_lanes, 4));
  const float of_16_lanes = kc_maximum(of_8_lanes, __shfl_xor_sync(0xffffffffu, of_8_lanes, 8));
  float max_j = kc_maximum(of_16_lanes, __shfl_xor_sync(0xffffffffu, of_16_lanes, 16));
  const bool speaks = lane == 0;
  float *const partials = (float *)(kc_shared());
  if (speaks) {
    partials[warp] = max_j;
  }
  __syncthreads();
  float total = __int_as_float(0xff800000);
  #pragma unroll
  for (int w = 0; w < 4; ++w) {
    total = kc_maximum(total, partials[w]);
  }
  max_j = total;
  // Walk j in tiles.
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
        const float t = expf(x_r[j_elem + j_by512 * 4] - max_j);
        sum_j_partial[j_elem] = sum_j_partial[j_elem] + (j0 + (j_thread + j_elem + j_by512 * 512) < N ? t : 0.0f);
      }
    }
  }
  // Combine over j: registers, then lanes, then warps.
  float partial_1 = 0.0f;
  #pragma unroll
  for (int j_elem = 0; j_elem < 4; ++j_elem) {
    partial_1 = partial_1 + sum_j_partial[j_elem];
  }
  const float of_2_lanes_1 = partial_1 + __shfl_xor_sync(0xffffffffu, partial_1, 1);
  const float of_4_lanes_1 = of_2_lanes_1 + __shfl_xor_sync(0xffffffffu, of_2_lanes_1, 2);
  const float of_8_lanes_1 = of_4_lanes_1 + __shfl_xor_sync(0xffffffffu, of_4_lanes_1, 4);
  const float of_16_lanes_1 = of_8_lanes_1 + __shfl_xor_sync(0xffffffffu, of_8_lanes_1, 8);
  float sum_j = of_16_lanes_1 + __shfl_xor_sync(0xffffffffu, of_16_lanes_1, 16);
  float *const partials_1 = (float *)(kc_shared() + 128);
  if (speaks) {
    partials_1[warp] = sum_j;
  }
  __syncthreads();
  float total_1 = 0.0f;
  #pragma unroll
  for (int w = 0; w < 4; ++w) {
    total_1 = total_1 + partials_1[w];
  }
  sum_j = total_1;
  // Walk j in tiles.
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
    alignas(16) float r[32];
    #pragma unroll
    for (int j_by512 = 0; j_by512 < 8; ++j_by512) {
      #pragma unroll
      for (int j_elem = 0; j_elem < 4; ++j_elem) {
        const int reg = j_elem + j_by512 * 4;
        r[reg] = expf(x_r[reg] - max_j);
      }
    }
    const float r_1 = 1.0f / sum_j;
    alignas(16) float y_r[32];
    #pragma unroll
    for (int j_by512 = 0; j_by512 < 8; ++j_by512) {
      #pragma unroll
      for (int j_elem = 0; j_elem < 4; ++j_elem) {
        const int reg = j_elem + j_by512 * 4;
        y_r[reg] = r[reg] * r_1;
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
