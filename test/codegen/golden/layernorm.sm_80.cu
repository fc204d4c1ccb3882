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
      #pragma unroll
      for (int jr_1 = 0; jr_1 < 4; ++jr_1) {
        sum[jr_1] = sum[jr_1] + x_r[jr_1 + x_1];
      }
    }
  }
  float sum_1;
  float partial = 0.0f;
  #pragma unroll
  for (int jr = 0; jr < 4; ++jr) {
    partial = partial + sum[jr];
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
  for (int jr = 0; jr < 4; ++jr) {
    sum_2[jr] = 0.0f;
  }
#line 2 "layernorm.kc"
  const float t_4 = (float)(long long)N;
#line 3 "layernorm.kc"
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
    float r;
#line 2 "layernorm.kc"
    r = sum_1 / t_4;
#line 3 "layernorm.kc"
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      const int x_1 = jr * 4;
      const int sum_3 = jr * 512;
      #pragma unroll
      for (int jr_1 = 0; jr_1 < 4; ++jr_1) {
        const float t_5 = x_r[jr_1 + x_1] - r;
        sum_2[jr_1] = sum_2[jr_1] + (j0_ + (at + jr_1 + sum_3) < N ? t_5 * t_5 : 0.0f);
      }
    }
  }
  float sum_3;
  float partial_1 = 0.0f;
  #pragma unroll
  for (int jr = 0; jr < 4; ++jr) {
    partial_1 = partial_1 + sum_2[jr];
  }
  const float t_5 = partial_1 + __shfl_xor_sync(0xffffffffu, partial_1, 1);
  const float t_6 = t_5 + __shfl_xor_sync(0xffffffffu, t_5, 2);
  const float t_7 = t_6 + __shfl_xor_sync(0xffffffffu, t_6, 4);
  const float t_8 = t_7 + __shfl_xor_sync(0xffffffffu, t_7, 8);
  sum_3 = t_8 + __shfl_xor_sync(0xffffffffu, t_8, 16);
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
#line 4 "layernorm.kc"
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
    float r;
#line 2 "layernorm.kc"
    r = sum_1 / t_4;
    alignas(16) float r_1[32];
#line 4 "layernorm.kc"
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      const int x_1 = jr * 4;
      #pragma unroll
      for (int jr_1 = 0; jr_1 < 4; ++jr_1) {
        const int x_2 = jr_1 + x_1;
        r_1[x_2] = x_r[x_2] - r;
      }
    }
    float r_2;
    r_2 = rsqrtf(sum_3 / t_4 + 1e-05f);
    alignas(16) float r_3[32];
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      #pragma unroll
      for (int jr_1 = 0; jr_1 < 4; ++jr_1) {
        const int at_1 = jr_1 + jr * 4;
        r_3[at_1] = r_1[at_1] * r_2;
      }
    }
    alignas(16) float gain_r[32];
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      const int at_1 = j0_ + (at + jr * 512);
      if (at_1 < N) {
        *(uint4 *)(&gain_r[jr * 4]) = *(const uint4 *)(&gain[at_1]);
      } else {
        gain_r[jr * 4] = 0.0f;
        gain_r[jr * 4 + 1] = 0.0f;
        gain_r[jr * 4 + 2] = 0.0f;
        gain_r[jr * 4 + 3] = 0.0f;
      }
    }
    alignas(16) float r_4[32];
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      #pragma unroll
      for (int jr_1 = 0; jr_1 < 4; ++jr_1) {
        const int at_1 = jr_1 + jr * 4;
        r_4[at_1] = r_3[at_1] * gain_r[at_1];
      }
    }
    alignas(16) float bias_r[32];
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      const int at_1 = j0_ + (at + jr * 512);
      if (at_1 < N) {
        *(uint4 *)(&bias_r[jr * 4]) = *(const uint4 *)(&bias[at_1]);
      } else {
        bias_r[jr * 4] = 0.0f;
        bias_r[jr * 4 + 1] = 0.0f;
        bias_r[jr * 4 + 2] = 0.0f;
        bias_r[jr * 4 + 3] = 0.0f;
      }
    }
    alignas(16) float r_5[32];
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      #pragma unroll
      for (int jr_1 = 0; jr_1 < 4; ++jr_1) {
        const int at_1 = jr_1 + jr * 4;
        r_5[at_1] = r_4[at_1] + bias_r[at_1];
      }
    }
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      const int at_1 = j0_ + (at + jr * 512);
      if (at_1 < N) {
        *(uint4 *)(&y[block * N + at_1]) = *(const uint4 *)(&r_5[jr * 4]);
      }
    }
  }
}
