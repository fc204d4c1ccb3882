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
extern "C" __global__ void __launch_bounds__(128) kc_softmax_rows(float *__restrict__ x, float *__restrict__ y, const int M, const int N) {
  const int block = (int)blockIdx.x;
  alignas(16) float sum[4];
  #pragma unroll
  for (int jr = 0; jr < 4; ++jr) {
    sum[jr] = __int_as_float(0xff800000);
  }
  const int tid = (int)threadIdx.x;
  const int lane = tid % 32;
  const int warp = tid / 32;
  const int at = lane * 4 + warp * 128;
  for (int j0_ = 0; j0_ < N; j0_ += 4096) {
    alignas(16) float x_r[32];
    #pragma unroll
    for (int jr_1 = 0; jr_1 < 8; ++jr_1) {
      const int at_1 = jr_1 * 4;
      const int at_2 = j0_ + (at + jr_1 * 512);
      if (at_2 < N) {
        *(uint4 *)(&x_r[at_1]) = *(const uint4 *)(&x[block * N + at_2]);
      } else {
        x_r[at_1] = 0.0f;
        x_r[at_1 + 1] = 0.0f;
        x_r[at_1 + 2] = 0.0f;
        x_r[at_1 + 3] = 0.0f;
      }
    }
    #pragma unroll
    for (int jr_2 = 0; jr_2 < 8; ++jr_2) {
      const int sum_1 = jr_2 * 512;
      const int x_1 = jr_2 * 4;
      #pragma unroll
      for (int jr_3 = 0; jr_3 < 4; ++jr_3) {
        sum[jr_3] = kc_maximum(sum[jr_3], j0_ + (at + jr_3 + sum_1) < N ? x_r[jr_3 + x_1] : __int_as_float(0xff800000));
      }
    }
  }
  float sum_2;
  float partial = __int_as_float(0xff800000);
  #pragma unroll
  for (int jr_4 = 0; jr_4 < 4; ++jr_4) {
    partial = kc_maximum(partial, sum[jr_4]);
  }
  const float t = kc_maximum(partial, __shfl_xor_sync(0xffffffffu, partial, 1));
  const float t_1 = kc_maximum(t, __shfl_xor_sync(0xffffffffu, t, 2));
  const float t_2 = kc_maximum(t_1, __shfl_xor_sync(0xffffffffu, t_1, 4));
  const float t_3 = kc_maximum(t_2, __shfl_xor_sync(0xffffffffu, t_2, 8));
  sum_2 = kc_maximum(t_3, __shfl_xor_sync(0xffffffffu, t_3, 16));
  const bool cond = lane == 0;
  float *const partials = (float *)(kc_shared());
  if (cond) {
    partials[warp] = sum_2;
  }
  __syncthreads();
  float total = __int_as_float(0xff800000);
  #pragma unroll
  for (int w = 0; w < 4; ++w) {
    total = kc_maximum(total, partials[w]);
  }
  sum_2 = total;
  alignas(16) float sum_3[4];
  #pragma unroll
  for (int jr_5 = 0; jr_5 < 4; ++jr_5) {
    sum_3[jr_5] = 0.0f;
  }
  for (int j0__1 = 0; j0__1 < N; j0__1 += 4096) {
    alignas(16) float x_r_1[32];
    #pragma unroll
    for (int jr_6 = 0; jr_6 < 8; ++jr_6) {
      const int at_3 = jr_6 * 4;
      const int at_4 = j0__1 + (at + jr_6 * 512);
      if (at_4 < N) {
        *(uint4 *)(&x_r_1[at_3]) = *(const uint4 *)(&x[block * N + at_4]);
      } else {
        x_r_1[at_3] = 0.0f;
        x_r_1[at_3 + 1] = 0.0f;
        x_r_1[at_3 + 2] = 0.0f;
        x_r_1[at_3 + 3] = 0.0f;
      }
    }
    #pragma unroll
    for (int jr_7 = 0; jr_7 < 8; ++jr_7) {
      const int x_2 = jr_7 * 4;
      const int sum_4 = jr_7 * 512;
      #pragma unroll
      for (int jr_8 = 0; jr_8 < 4; ++jr_8) {
        sum_3[jr_8] = sum_3[jr_8] + (j0__1 + (at + jr_8 + sum_4) < N ? expf(x_r_1[jr_8 + x_2] - sum_2) : 0.0f);
      }
    }
  }
  float sum_5;
  float partial_1 = 0.0f;
  #pragma unroll
  for (int jr_9 = 0; jr_9 < 4; ++jr_9) {
    partial_1 = partial_1 + sum_3[jr_9];
  }
  const float t_4 = partial_1 + __shfl_xor_sync(0xffffffffu, partial_1, 1);
  const float t_5 = t_4 + __shfl_xor_sync(0xffffffffu, t_4, 2);
  const float t_6 = t_5 + __shfl_xor_sync(0xffffffffu, t_5, 4);
  const float t_7 = t_6 + __shfl_xor_sync(0xffffffffu, t_6, 8);
  sum_5 = t_7 + __shfl_xor_sync(0xffffffffu, t_7, 16);
  float *const partials_1 = (float *)(kc_shared() + 128);
  if (cond) {
    partials_1[warp] = sum_5;
  }
  __syncthreads();
  float total_1 = 0.0f;
  #pragma unroll
  for (int w_1 = 0; w_1 < 4; ++w_1) {
    total_1 = total_1 + partials_1[w_1];
  }
  sum_5 = total_1;
  for (int j0__2 = 0; j0__2 < N; j0__2 += 4096) {
    alignas(16) float x_r_2[32];
    #pragma unroll
    for (int jr_10 = 0; jr_10 < 8; ++jr_10) {
      const int at_5 = jr_10 * 4;
      const int at_6 = j0__2 + (at + jr_10 * 512);
      if (at_6 < N) {
        *(uint4 *)(&x_r_2[at_5]) = *(const uint4 *)(&x[block * N + at_6]);
      } else {
        x_r_2[at_5] = 0.0f;
        x_r_2[at_5 + 1] = 0.0f;
        x_r_2[at_5 + 2] = 0.0f;
        x_r_2[at_5 + 3] = 0.0f;
      }
    }
    alignas(16) float r[32];
    #pragma unroll
    for (int jr_11 = 0; jr_11 < 8; ++jr_11) {
      const int x_3 = jr_11 * 4;
      #pragma unroll
      for (int jr_12 = 0; jr_12 < 4; ++jr_12) {
        const int x_4 = jr_12 + x_3;
        r[x_4] = expf(x_r_2[x_4] - sum_2);
      }
    }
    float r_1;
    r_1 = 1.0f / sum_5;
    alignas(16) float r_2[32];
    #pragma unroll
    for (int jr_13 = 0; jr_13 < 8; ++jr_13) {
      const int at_7 = jr_13 * 4;
      #pragma unroll
      for (int jr_14 = 0; jr_14 < 4; ++jr_14) {
        const int at_8 = jr_14 + at_7;
        r_2[at_8] = r[at_8] * r_1;
      }
    }
    #pragma unroll
    for (int jr_15 = 0; jr_15 < 8; ++jr_15) {
      const int at_9 = jr_15 * 4;
      const int at_10 = j0__2 + (at + jr_15 * 512);
      if (at_10 < N) {
        *(uint4 *)(&y[block * N + at_10]) = *(const uint4 *)(&r_2[at_9]);
      }
    }
  }
}
