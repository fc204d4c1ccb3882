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
extern "C" __global__ void __launch_bounds__(128) kc_layer_norm(float *__restrict__ x, float *__restrict__ gain, float *__restrict__ bias, float *__restrict__ y, const int M, const int N) {
  const int block = (int)blockIdx.x;
  alignas(16) float sum[4];
#line 2 "layernorm.kc"
  #pragma unroll
  for (int jr = 0; jr < 4; ++jr) {
    sum[jr] = 0.0f;
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
      const int x_1 = jr_2 * 4;
      #pragma unroll
      for (int jr_3 = 0; jr_3 < 4; ++jr_3) {
        sum[jr_3] = sum[jr_3] + x_r[jr_3 + x_1];
      }
    }
  }
  float sum_1;
  float partial = 0.0f;
  #pragma unroll
  for (int jr_4 = 0; jr_4 < 4; ++jr_4) {
    partial = partial + sum[jr_4];
  }
  const float t = partial + __shfl_xor_sync(0xffffffffu, partial, 1);
  const float t_1 = t + __shfl_xor_sync(0xffffffffu, t, 2);
  const float t_2 = t_1 + __shfl_xor_sync(0xffffffffu, t_1, 4);
  const float t_3 = t_2 + __shfl_xor_sync(0xffffffffu, t_2, 8);
  sum_1 = t_3 + __shfl_xor_sync(0xffffffffu, t_3, 16);
  const bool cond = lane == 0;
  float *const partials = (float *)(kc_shared());
  if (cond) {
    partials[warp] = sum_1;
  }
  __syncthreads();
  float total = 0.0f;
  #pragma unroll
  for (int w = 0; w < 4; ++w) {
    total = total + partials[w];
  }
  sum_1 = total;
  alignas(16) float sum_2[4];
#line 3 "layernorm.kc"
  #pragma unroll
  for (int jr_5 = 0; jr_5 < 4; ++jr_5) {
    sum_2[jr_5] = 0.0f;
  }
#line 2 "layernorm.kc"
  const float t_4 = (float)(long long)N;
#line 3 "layernorm.kc"
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
    float r;
#line 2 "layernorm.kc"
    r = sum_1 / t_4;
#line 3 "layernorm.kc"
    #pragma unroll
    for (int jr_7 = 0; jr_7 < 8; ++jr_7) {
      const int x_2 = jr_7 * 4;
      const int sum_3 = jr_7 * 512;
      #pragma unroll
      for (int jr_8 = 0; jr_8 < 4; ++jr_8) {
        const float t_5 = x_r_1[jr_8 + x_2] - r;
        sum_2[jr_8] = sum_2[jr_8] + (j0__1 + (at + jr_8 + sum_3) < N ? t_5 * t_5 : 0.0f);
      }
    }
  }
  float sum_4;
  float partial_1 = 0.0f;
  #pragma unroll
  for (int jr_9 = 0; jr_9 < 4; ++jr_9) {
    partial_1 = partial_1 + sum_2[jr_9];
  }
  const float t_6 = partial_1 + __shfl_xor_sync(0xffffffffu, partial_1, 1);
  const float t_7 = t_6 + __shfl_xor_sync(0xffffffffu, t_6, 2);
  const float t_8 = t_7 + __shfl_xor_sync(0xffffffffu, t_7, 4);
  const float t_9 = t_8 + __shfl_xor_sync(0xffffffffu, t_8, 8);
  sum_4 = t_9 + __shfl_xor_sync(0xffffffffu, t_9, 16);
  float *const partials_1 = (float *)(kc_shared() + 128);
  if (cond) {
    partials_1[warp] = sum_4;
  }
  __syncthreads();
  float total_1 = 0.0f;
  #pragma unroll
  for (int w_1 = 0; w_1 < 4; ++w_1) {
    total_1 = total_1 + partials_1[w_1];
  }
  sum_4 = total_1;
#line 4 "layernorm.kc"
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
    float r_1;
#line 2 "layernorm.kc"
    r_1 = sum_1 / t_4;
    alignas(16) float r_2[32];
#line 4 "layernorm.kc"
    #pragma unroll
    for (int jr_11 = 0; jr_11 < 8; ++jr_11) {
      const int x_3 = jr_11 * 4;
      #pragma unroll
      for (int jr_12 = 0; jr_12 < 4; ++jr_12) {
        const int x_4 = jr_12 + x_3;
        r_2[x_4] = x_r_2[x_4] - r_1;
      }
    }
    float r_3;
    r_3 = rsqrtf(sum_4 / t_4 + 1e-05f);
    alignas(16) float r_4[32];
    #pragma unroll
    for (int jr_13 = 0; jr_13 < 8; ++jr_13) {
      const int at_7 = jr_13 * 4;
      #pragma unroll
      for (int jr_14 = 0; jr_14 < 4; ++jr_14) {
        const int at_8 = jr_14 + at_7;
        r_4[at_8] = r_2[at_8] * r_3;
      }
    }
    alignas(16) float gain_r[32];
    #pragma unroll
    for (int jr_15 = 0; jr_15 < 8; ++jr_15) {
      const int at_9 = jr_15 * 4;
      const int at_10 = j0__2 + (at + jr_15 * 512);
      if (at_10 < N) {
        *(uint4 *)(&gain_r[at_9]) = *(const uint4 *)(&gain[at_10]);
      } else {
        gain_r[at_9] = 0.0f;
        gain_r[at_9 + 1] = 0.0f;
        gain_r[at_9 + 2] = 0.0f;
        gain_r[at_9 + 3] = 0.0f;
      }
    }
    alignas(16) float r_5[32];
    #pragma unroll
    for (int jr_16 = 0; jr_16 < 8; ++jr_16) {
      const int at_11 = jr_16 * 4;
      #pragma unroll
      for (int jr_17 = 0; jr_17 < 4; ++jr_17) {
        const int at_12 = jr_17 + at_11;
        r_5[at_12] = r_4[at_12] * gain_r[at_12];
      }
    }
    alignas(16) float bias_r[32];
    #pragma unroll
    for (int jr_18 = 0; jr_18 < 8; ++jr_18) {
      const int at_13 = jr_18 * 4;
      const int at_14 = j0__2 + (at + jr_18 * 512);
      if (at_14 < N) {
        *(uint4 *)(&bias_r[at_13]) = *(const uint4 *)(&bias[at_14]);
      } else {
        bias_r[at_13] = 0.0f;
        bias_r[at_13 + 1] = 0.0f;
        bias_r[at_13 + 2] = 0.0f;
        bias_r[at_13 + 3] = 0.0f;
      }
    }
    alignas(16) float r_6[32];
    #pragma unroll
    for (int jr_19 = 0; jr_19 < 8; ++jr_19) {
      const int at_15 = jr_19 * 4;
      #pragma unroll
      for (int jr_20 = 0; jr_20 < 4; ++jr_20) {
        const int at_16 = jr_20 + at_15;
        r_6[at_16] = r_5[at_16] + bias_r[at_16];
      }
    }
    #pragma unroll
    for (int jr_21 = 0; jr_21 < 8; ++jr_21) {
      const int at_17 = jr_21 * 4;
      const int at_18 = j0__2 + (at + jr_21 * 512);
      if (at_18 < N) {
        *(uint4 *)(&y[block * N + at_18]) = *(const uint4 *)(&r_6[at_17]);
      }
    }
  }
}
