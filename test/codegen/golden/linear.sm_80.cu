// kernel linear of linear.kc:2, for sm_80
// assumes K % 8 == 0 and N % 8 == 0 and fits32(x) and fits32(w) and fits32(b) and fits32(y) and fits32(workspace)

#ifndef KC_HOST
static __device__ __forceinline__ unsigned char *kc_shared() {
  extern __shared__ __align__(1024) unsigned char kc_memory[];
  return kc_memory;
}
static __device__ __forceinline__ unsigned kc_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
static __device__ __forceinline__ void kc_cp_async_zfill_16(void *to, const void *from, int bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(kc_address(to)), "l"(from), "r"(bytes) : "memory");
}
static __device__ __forceinline__ void kc_cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Pending> static __device__ __forceinline__ void kc_cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}
static __device__ __forceinline__ void kc_ldmatrix_x4(unsigned *r, const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(kc_address(row)) : "memory");
}
static __device__ __forceinline__ void kc_mma_m16n8k16_bf16(float *d, const unsigned *a, const unsigned *b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
static __device__ __forceinline__ float kc_bf16_to_f32(unsigned short v) { // one instruction for either half of a register
  float r;
  asm("mov.b32 %0, {%1, %2};" : "=f"(r) : "h"((unsigned short)0), "h"(v));
  return r;
}
static __device__ __forceinline__ unsigned short kc_f32_to_bf16(float v) {
  unsigned short r;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(v));
  return r;
}
#else
static __device__ __forceinline__ float kc_bf16_to_f32(unsigned short v) { return __uint_as_float((unsigned)v << 16); }
#endif

// schedule: tile i 128; tile j 128; tile k 32; warps 4; unit mma; stages 4
#line 4 "linear.kc"
extern "C" __global__ void __launch_bounds__(128, 2) kc_linear(unsigned short *__restrict__ x, unsigned short *__restrict__ w, unsigned short *__restrict__ b, unsigned short *__restrict__ y, const int M, const int K, const int N) {
  const int block = (int)blockIdx.x;
  const int at = (N + 127) / 128 * 8;
  const int at_1 = block % at;
  const int at_2 = block / at * 8;
  const int at_3 = min((M + 127) / 128 - at_2, 8);
  const int i0 = (at_2 + at_1 % at_3) * 128;
  const int j0_ = at_1 / at_3 * 128;
  const int k_tiles = (K + 31) / 32;
  unsigned short *const x_1 = (unsigned short *)(kc_shared());
  unsigned short *const w_1 = (unsigned short *)(kc_shared() + 32768);
#line 3 "linear.kc"
  if (k_tiles > 0) {
    const int tid = (int)threadIdx.x;
    #pragma unroll
    for (int copy = 0; copy < 512; copy += 128) {
      const int at_4 = copy + tid;
      const int at_5 = at_4 / 4;
      const int at_6 = at_4 % 4 * 8;
      const int at_7 = i0 + at_5;
      const bool cond = at_7 < M && at_6 < K;
      kc_cp_async_zfill_16(&x_1[at_5 * 32 + (at_6 / 8 ^ at_5 / 2 % 4) * 8 + at_6 % 8], &x[cond ? at_7 * K + at_6 : 0], cond ? 16 : 0);
    }
    #pragma unroll
    for (int copy = 0; copy < 512; copy += 128) {
      const int at_4 = copy + tid;
      const int at_5 = at_4 / 4;
      const int at_6 = at_4 % 4 * 8;
      const int at_7 = j0_ + at_5;
      const bool cond = at_7 < N && at_6 < K;
      kc_cp_async_zfill_16(&w_1[at_5 * 32 + (at_6 / 8 ^ at_5 / 2 % 4) * 8 + at_6 % 8], &w[cond ? at_7 * K + at_6 : 0], cond ? 16 : 0);
    }
  }
  kc_cp_async_commit();
  if (k_tiles > 1) {
    const int tid = (int)threadIdx.x;
    #pragma unroll
    for (int copy = 0; copy < 512; copy += 128) {
      const int at_4 = copy + tid;
      const int at_5 = at_4 / 4;
      const int at_6 = at_4 % 4 * 8;
      const int at_7 = i0 + at_5;
      const int at_8 = at_6 + 32;
      const bool cond = at_7 < M && at_8 < K;
      kc_cp_async_zfill_16(&x_1[at_5 * 32 + (at_6 / 8 ^ at_5 / 2 % 4) * 8 + at_6 % 8 + 4096], &x[cond ? at_7 * K + at_8 : 0], cond ? 16 : 0);
    }
    #pragma unroll
    for (int copy = 0; copy < 512; copy += 128) {
      const int at_4 = copy + tid;
      const int at_5 = at_4 / 4;
      const int at_6 = at_4 % 4 * 8;
      const int at_7 = j0_ + at_5;
      const int at_8 = at_6 + 32;
      const bool cond = at_7 < N && at_8 < K;
      kc_cp_async_zfill_16(&w_1[at_5 * 32 + (at_6 / 8 ^ at_5 / 2 % 4) * 8 + at_6 % 8 + 4096], &w[cond ? at_7 * K + at_8 : 0], cond ? 16 : 0);
    }
  }
  kc_cp_async_commit();
  if (k_tiles > 2) {
    const int tid = (int)threadIdx.x;
    #pragma unroll
    for (int copy = 0; copy < 512; copy += 128) {
      const int at_4 = copy + tid;
      const int at_5 = at_4 / 4;
      const int at_6 = at_4 % 4 * 8;
      const int at_7 = i0 + at_5;
      const int at_8 = at_6 + 64;
      const bool cond = at_7 < M && at_8 < K;
      kc_cp_async_zfill_16(&x_1[at_5 * 32 + (at_6 / 8 ^ at_5 / 2 % 4) * 8 + at_6 % 8 + 8192], &x[cond ? at_7 * K + at_8 : 0], cond ? 16 : 0);
    }
    #pragma unroll
    for (int copy = 0; copy < 512; copy += 128) {
      const int at_4 = copy + tid;
      const int at_5 = at_4 / 4;
      const int at_6 = at_4 % 4 * 8;
      const int at_7 = j0_ + at_5;
      const int at_8 = at_6 + 64;
      const bool cond = at_7 < N && at_8 < K;
      kc_cp_async_zfill_16(&w_1[at_5 * 32 + (at_6 / 8 ^ at_5 / 2 % 4) * 8 + at_6 % 8 + 8192], &w[cond ? at_7 * K + at_8 : 0], cond ? 16 : 0);
    }
  }
  kc_cp_async_commit();
  alignas(16) float a[128];
  #pragma unroll
  for (int ir = 0; ir < 4; ++ir) {
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      #pragma unroll
      for (int ir_1 = 0; ir_1 < 2; ++ir_1) {
        #pragma unroll
        for (int jr_1 = 0; jr_1 < 2; ++jr_1) {
          a[jr_1 + ir_1 * 2 + jr * 4 + ir * 32] = 0.0f;
        }
      }
    }
  }
  const int tid = (int)threadIdx.x;
  const int warp = tid / 32;
  const int at_4 = warp % 2 * 64;
  const int at_5 = warp / 2 * 64;
  const int lane = tid % 32;
  const int at_6 = lane % 16;
  const int at_7 = lane / 16 * 8;
  const int at_8 = lane % 8 + at_7;
  const int at_9 = lane / 8 % 2 * 8;
  const int at_10 = at_7 / 8;
  const int at_11 = at_7 % 8;
  const int at_12 = at_9 / 8;
  const int at_13 = at_9 % 8;
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    kc_cp_async_wait<2>();
    __syncthreads();
    const int at_14 = k_tile % 4 * 4096;
    alignas(16) unsigned a_1[32];
    alignas(16) unsigned b_1[32];
    #pragma unroll
    for (int mi = 0; mi < 4; ++mi) {
      const int at_15 = at_4 + mi * 16 + at_6;
      kc_ldmatrix_x4(&a_1[mi * 4], &x_1[at_14 + (at_15 * 32 + (at_10 ^ at_15 / 2 % 4) * 8 + at_11)]);
    }
    #pragma unroll
    for (int np = 0; np < 4; ++np) {
      const int at_15 = at_5 + np * 16 + at_8;
      kc_ldmatrix_x4(&b_1[np * 4], &w_1[at_14 + (at_15 * 32 + (at_12 ^ at_15 / 2 % 4) * 8 + at_13)]);
    }
    #pragma unroll
    for (int step = 0; step < 2; ++step) {
      if (step + 1 < 2) {
        const int at_15 = (step + 1) % 2 * 16;
        const int at_16 = (step + 1) * 16 + at_7;
        const int at_17 = at_16 / 8;
        const int at_18 = at_16 % 8;
        #pragma unroll
        for (int mi = 0; mi < 4; ++mi) {
          const int at_19 = at_4 + mi * 16 + at_6;
          kc_ldmatrix_x4(&a_1[at_15 + mi * 4], &x_1[at_14 + (at_19 * 32 + (at_17 ^ at_19 / 2 % 4) * 8 + at_18)]);
        }
        const int at_19 = (step + 1) * 16 + at_9;
        const int at_20 = at_19 / 8;
        const int at_21 = at_19 % 8;
        #pragma unroll
        for (int np = 0; np < 4; ++np) {
          const int at_22 = at_5 + np * 16 + at_8;
          kc_ldmatrix_x4(&b_1[at_15 + np * 4], &w_1[at_14 + (at_22 * 32 + (at_20 ^ at_22 / 2 % 4) * 8 + at_21)]);
        }
      }
      const int at_15 = step % 2 * 16;
      #pragma unroll
      for (int mi = 0; mi < 4; ++mi) {
        const int at_16 = at_15 + mi * 4;
        #pragma unroll
        for (int ni = 0; ni < 8; ++ni) {
          kc_mma_m16n8k16_bf16(&a[(mi * 8 + ni) * 4], &a_1[at_16], &b_1[at_15 + ni * 2]);
        }
      }
    }
    const int a_2 = k_tile + 3;
    if (a_2 < k_tiles) {
      const int k0 = a_2 * 32;
      const int at_15 = a_2 % 4 * 4096;
      #pragma unroll
      for (int copy = 0; copy < 512; copy += 128) {
        const int at_16 = copy + tid;
        const int at_17 = at_16 / 4;
        const int at_18 = at_16 % 4 * 8;
        const int at_19 = i0 + at_17;
        const int at_20 = k0 + at_18;
        const bool cond = at_19 < M && at_20 < K;
        kc_cp_async_zfill_16(&x_1[at_15 + (at_17 * 32 + (at_18 / 8 ^ at_17 / 2 % 4) * 8 + at_18 % 8)], &x[cond ? at_19 * K + at_20 : 0], cond ? 16 : 0);
      }
      #pragma unroll
      for (int copy = 0; copy < 512; copy += 128) {
        const int at_16 = copy + tid;
        const int at_17 = at_16 / 4;
        const int at_18 = at_16 % 4 * 8;
        const int at_19 = j0_ + at_17;
        const int at_20 = k0 + at_18;
        const bool cond = at_19 < N && at_20 < K;
        kc_cp_async_zfill_16(&w_1[at_15 + (at_17 * 32 + (at_18 / 8 ^ at_17 / 2 % 4) * 8 + at_18 % 8)], &w[cond ? at_19 * K + at_20 : 0], cond ? 16 : 0);
      }
    }
    kc_cp_async_commit();
  }
  kc_cp_async_wait<0>();
  alignas(16) unsigned short b_r[16];
  const int at_14 = lane % 4 * 2 + at_5;
#line 4 "linear.kc"
  #pragma unroll
  for (int jr = 0; jr < 8; ++jr) {
    const int at_15 = j0_ + (at_14 + jr * 8);
    if (at_15 < N) {
      *(unsigned *)(&b_r[jr * 2]) = *(const unsigned *)(&b[at_15]);
    } else {
      b_r[jr * 2] = 0x0;
      b_r[jr * 2 + 1] = 0x0;
    }
  }
  alignas(16) float b_1[16];
  #pragma unroll
  for (int jr = 0; jr < 8; ++jr) {
    const int b_2 = jr * 2;
    #pragma unroll
    for (int jr_1 = 0; jr_1 < 2; ++jr_1) {
      const int b_3 = jr_1 + b_2;
      b_1[b_3] = kc_bf16_to_f32(b_r[b_3]);
    }
  }
  alignas(16) unsigned short r[128];
  #pragma unroll
  for (int ir = 0; ir < 4; ++ir) {
    const int a_1 = ir * 32;
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      const int b_2 = jr * 2;
      const int a_2 = jr * 4;
      #pragma unroll
      for (int ir_1 = 0; ir_1 < 2; ++ir_1) {
        const int a_3 = ir_1 * 2;
        #pragma unroll
        for (int jr_1 = 0; jr_1 < 2; ++jr_1) {
          const int a_4 = jr_1 + a_3 + a_2 + a_1;
          r[a_4] = kc_f32_to_bf16(a[a_4] + b_1[jr_1 + b_2]);
        }
      }
    }
  }
  const int at_15 = lane / 4 + at_4;
  #pragma unroll
  for (int ir = 0; ir < 4; ++ir) {
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      const int at_16 = j0_ + (at_14 + jr * 8);
      const bool cond = at_16 < N;
      #pragma unroll
      for (int ir_1 = 0; ir_1 < 2; ++ir_1) {
        const int at_17 = ir_1 * 2 + jr * 4 + ir * 32;
        const int at_18 = i0 + (at_15 + ir_1 * 8 + ir * 16);
        if (at_18 < M && cond) {
          *(unsigned *)(&y[at_18 * N + at_16]) = *(const unsigned *)(&r[at_17]);
        }
      }
    }
  }
}
