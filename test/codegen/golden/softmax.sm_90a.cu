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
    for (int jr = 0; jr < 8; ++jr) {
      const int at_1 = j0_ + (at + jr * 512);
      if (at_1 < N) {
        *(uint4 *)(&x_r[jr * 4]) = *(const uint4 *)(&x[block * N + at_1]);
      } else {
        x_r[jr * 4] = 0.0f;
        x_r[jr * 4 + 1] = 0.0f;
        x_r[jr * 4 + 2] = 0.0f;
        x_r[jr * 4 + 3] = 0.0f;
      }
    }
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      const int sum_1 = jr * 512;
      const int x_1 = jr * 4;
      #pragma unroll
      for (int jr_1 = 0; jr_1 < 4; ++jr_1) {
        sum[jr_1] = kc_maximum(sum[jr_1], j0_ + (at + jr_1 + sum_1) < N ? x_r[jr_1 + x_1] : __int_as_float(0xff800000));
      }
    }
  }
  float sum_1;
  float partial = __int_as_float(0xff800000);
  #pragma unroll
  for (int jr = 0; jr < 4; ++jr) {
    partial = kc_maximum(partial, sum[jr]);
  }
  const float t = kc_maximum(partial, __shfl_xor_sync(0xffffffffu, partial, 1));
  const float t_1 = kc_maximum(t, __shfl_xor_sync(0xffffffffu, t, 2));
  const float t_2 = kc_maximum(t_1, __shfl_xor_sync(0xffffffffu, t_1, 4));
  const float t_3 = kc_maximum(t_2, __shfl_xor_sync(0xffffffffu, t_2, 8));
  sum_1 = kc_maximum(t_3, __shfl_xor_sync(0xffffffffu, t_3, 16));
  const bool cond = lane == 0;
  float *const partials = (float *)(kc_shared());
  if (cond) {
    partials[warp] = sum_1;
  }
  __syncthreads();
  float total = __int_as_float(0xff800000);
  #pragma unroll
  for (int w = 0; w < 4; ++w) {
    total = kc_maximum(total, partials[w]);
  }
  sum_1 = total;
  alignas(16) float sum_2[4];
  #pragma unroll
  for (int jr = 0; jr < 4; ++jr) {
    sum_2[jr] = 0.0f;
  }
  for (int j0_ = 0; j0_ < N; j0_ += 4096) {
    alignas(16) float x_r[32];
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      const int at_1 = j0_ + (at + jr * 512);
      if (at_1 < N) {
        *(uint4 *)(&x_r[jr * 4]) = *(const uint4 *)(&x[block * N + at_1]);
      } else {
        x_r[jr * 4] = 0.0f;
        x_r[jr * 4 + 1] = 0.0f;
        x_r[jr * 4 + 2] = 0.0f;
        x_r[jr * 4 + 3] = 0.0f;
      }
    }
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      const int x_1 = jr * 4;
      const int sum_3 = jr * 512;
      #pragma unroll
      for (int jr_1 = 0; jr_1 < 4; ++jr_1) {
        sum_2[jr_1] = sum_2[jr_1] + (j0_ + (at + jr_1 + sum_3) < N ? expf(x_r[jr_1 + x_1] - sum_1) : 0.0f);
      }
    }
  }
  float sum_3;
  float partial_1 = 0.0f;
  #pragma unroll
  for (int jr = 0; jr < 4; ++jr) {
    partial_1 = partial_1 + sum_2[jr];
  }
  const float t_4 = partial_1 + __shfl_xor_sync(0xffffffffu, partial_1, 1);
  const float t_5 = t_4 + __shfl_xor_sync(0xffffffffu, t_4, 2);
  const float t_6 = t_5 + __shfl_xor_sync(0xffffffffu, t_5, 4);
  const float t_7 = t_6 + __shfl_xor_sync(0xffffffffu, t_6, 8);
  sum_3 = t_7 + __shfl_xor_sync(0xffffffffu, t_7, 16);
  float *const partials_1 = (float *)(kc_shared() + 128);
  if (cond) {
    partials_1[warp] = sum_3;
  }
  __syncthreads();
  float total_1 = 0.0f;
  #pragma unroll
  for (int w = 0; w < 4; ++w) {
    total_1 = total_1 + partials_1[w];
  }
  sum_3 = total_1;
  for (int j0_ = 0; j0_ < N; j0_ += 4096) {
    alignas(16) float x_r[32];
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      const int at_1 = j0_ + (at + jr * 512);
      if (at_1 < N) {
        *(uint4 *)(&x_r[jr * 4]) = *(const uint4 *)(&x[block * N + at_1]);
      } else {
        x_r[jr * 4] = 0.0f;
        x_r[jr * 4 + 1] = 0.0f;
        x_r[jr * 4 + 2] = 0.0f;
        x_r[jr * 4 + 3] = 0.0f;
      }
    }
    alignas(16) float r[32];
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      const int x_1 = jr * 4;
      #pragma unroll
      for (int jr_1 = 0; jr_1 < 4; ++jr_1) {
        const int x_2 = jr_1 + x_1;
        r[x_2] = expf(x_r[x_2] - sum_1);
      }
    }
    float r_1;
    r_1 = 1.0f / sum_3;
    alignas(16) float r_2[32];
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      #pragma unroll
      for (int jr_1 = 0; jr_1 < 4; ++jr_1) {
        const int at_1 = jr_1 + jr * 4;
        r_2[at_1] = r[at_1] * r_1;
      }
    }
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      const int at_1 = j0_ + (at + jr * 512);
      if (at_1 < N) {
        *(uint4 *)(&y[block * N + at_1]) = *(const uint4 *)(&r_2[jr * 4]);
      }
    }
  }
}
