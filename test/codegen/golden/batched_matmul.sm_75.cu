// kernel batched_matmul of batched_matmul.kc:1, for sm_75
// assumes K % 8 == 0 and N % 8 == 0 and fits32(a) and fits32(b) and fits32(c) and fits32(workspace)

#ifndef KC_HOST
static __device__ __forceinline__ unsigned char *kc_shared() {
  extern __shared__ __align__(1024) unsigned char kc_memory[];
  return kc_memory;
}
static __device__ __forceinline__ unsigned kc_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
static __device__ __forceinline__ void kc_ldmatrix_x4(unsigned *r, const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(kc_address(row)) : "memory");
}
static __device__ __forceinline__ void kc_ldmatrix_x4_trans(unsigned *r, const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(kc_address(row)) : "memory");
}
static __device__ __forceinline__ void kc_mma_m16n8k16_f16(float *d, const unsigned *a, const unsigned *b) { // two k8 steps
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[2]), "r"(a[3]), "r"(b[1]));
}
static __device__ __forceinline__ unsigned short kc_f32_to_f16(float v) {
  unsigned short r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(v));
  return r;
}
#endif

// schedule: tile n 1; tile i 128; tile j 128; tile k 32; warps 4; unit mma; stages 2
#line 2 "batched_matmul.kc"
extern "C" __global__ void __launch_bounds__(128) kc_batched_matmul(unsigned short *__restrict__ a, unsigned short *__restrict__ b, unsigned short *__restrict__ c, const int M, const int K, const int N) {
  const int block = (int)blockIdx.x;
  const int i_tiles = (M + 127) / 128;
  const int j_tiles = (N + 127) / 128;
  const int at = i_tiles * j_tiles;
  const int at_1 = block % at;
  const int at_2 = block / at;
  const int at_3 = j_tiles * 8;
  const int at_4 = at_1 % at_3;
  const int at_5 = at_1 / at_3 * 8;
  const int at_6 = min(i_tiles - at_5, 8);
  const int i0 = (at_5 + at_4 % at_6) * 128;
  const int j0_ = at_4 / at_6 * 128;
  const int k_tiles = (K + 31) / 32;
  unsigned short *const a_1 = (unsigned short *)(kc_shared());
  unsigned short *const b_1 = (unsigned short *)(kc_shared() + 16384);
  if (k_tiles > 0) {
    const int tid = (int)threadIdx.x;
    const int at_7 = at_2 * M;
    #pragma unroll
    for (int copy = 0; copy < 512; copy += 128) {
      const int at_8 = copy + tid;
      const int at_9 = at_8 / 4;
      const int at_10 = at_8 % 4 * 8;
      const int at_11 = i0 + at_9;
      const bool cond = at_11 < M && at_10 < K;
      const int at_12 = cond ? (at_7 + at_11) * K + at_10 : 0;
      alignas(16) unsigned short r[8];
      r[0] = 0x0;
      r[1] = 0x0;
      r[2] = 0x0;
      r[3] = 0x0;
      r[4] = 0x0;
      r[5] = 0x0;
      r[6] = 0x0;
      r[7] = 0x0;
      if (cond) {
        *(uint4 *)(r) = *(const uint4 *)(&a[at_12]);
      }
      *(uint4 *)(&a_1[at_9 * 32 + (at_10 / 8 ^ at_9 / 2 % 4) * 8 + at_10 % 8]) = *(const uint4 *)(r);
    }
    const int at_8 = at_2 * K;
    #pragma unroll
    for (int copy = 0; copy < 512; copy += 128) {
      const int at_9 = copy + tid;
      const int at_10 = at_9 / 16;
      const int at_11 = at_9 % 16 * 8;
      const int at_12 = at_11 % 64;
      const int at_13 = j0_ + at_11;
      const bool cond = at_13 < N && at_10 < K;
      const int at_14 = cond ? (at_8 + at_10) * N + at_13 : 0;
      alignas(16) unsigned short r[8];
      r[0] = 0x0;
      r[1] = 0x0;
      r[2] = 0x0;
      r[3] = 0x0;
      r[4] = 0x0;
      r[5] = 0x0;
      r[6] = 0x0;
      r[7] = 0x0;
      if (cond) {
        *(uint4 *)(r) = *(const uint4 *)(&b[at_14]);
      }
      *(uint4 *)(&b_1[at_11 / 64 * 2048 + at_10 * 64 + (at_12 / 8 ^ at_10 % 8) * 8 + at_12 % 8]) = *(const uint4 *)(r);
    }
  }
  alignas(16) float acc[128];
  #pragma unroll
  for (int ir = 0; ir < 4; ++ir) {
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      #pragma unroll
      for (int ir_1 = 0; ir_1 < 2; ++ir_1) {
        #pragma unroll
        for (int jr_1 = 0; jr_1 < 2; ++jr_1) {
          acc[jr_1 + ir_1 * 2 + jr * 4 + ir * 32] = 0.0f;
        }
      }
    }
  }
  const int tid = (int)threadIdx.x;
  const int warp = tid / 32;
  const int at_7 = warp % 2 * 64;
  const int at_8 = warp / 2 * 64;
  const int lane = tid % 32;
  const int at_9 = lane % 16;
  const int at_10 = lane / 16 * 8;
  const int at_11 = at_10 / 8;
  const int at_12 = at_10 % 8;
  const int at_13 = at_9 * 64;
  const int at_14 = at_9 % 8;
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    __syncthreads();
    const int at_15 = k_tile % 2 * 4096;
    alignas(16) unsigned a_2[32];
    alignas(16) unsigned b_2[32];
    #pragma unroll
    for (int mi = 0; mi < 4; ++mi) {
      const int at_16 = at_7 + mi * 16 + at_9;
      kc_ldmatrix_x4(&a_2[mi * 4], &a_1[at_15 + (at_16 * 32 + (at_11 ^ at_16 / 2 % 4) * 8 + at_12)]);
    }
    #pragma unroll
    for (int np = 0; np < 4; ++np) {
      const int at_16 = at_8 + np * 16 + at_10;
      const int at_17 = at_16 % 64;
      kc_ldmatrix_x4_trans(&b_2[np * 4], &b_1[at_15 + (at_16 / 64 * 2048 + at_13 + (at_17 / 8 ^ at_14) * 8 + at_17 % 8)]);
    }
    #pragma unroll
    for (int step = 0; step < 2; ++step) {
      if (step + 1 < 2) {
        const int at_16 = (step + 1) % 2 * 16;
        const int at_17 = (step + 1) * 16 + at_10;
        const int at_18 = at_17 / 8;
        const int at_19 = at_17 % 8;
        #pragma unroll
        for (int mi = 0; mi < 4; ++mi) {
          const int at_20 = at_7 + mi * 16 + at_9;
          kc_ldmatrix_x4(&a_2[at_16 + mi * 4], &a_1[at_15 + (at_20 * 32 + (at_18 ^ at_20 / 2 % 4) * 8 + at_19)]);
        }
        const int at_20 = (step + 1) * 16 + at_9;
        const int at_21 = at_20 * 64;
        const int at_22 = at_20 % 8;
        #pragma unroll
        for (int np = 0; np < 4; ++np) {
          const int at_23 = at_8 + np * 16 + at_10;
          const int at_24 = at_23 % 64;
          kc_ldmatrix_x4_trans(&b_2[at_16 + np * 4], &b_1[at_15 + (at_23 / 64 * 2048 + at_21 + (at_24 / 8 ^ at_22) * 8 + at_24 % 8)]);
        }
      }
      const int at_16 = step % 2 * 16;
      #pragma unroll
      for (int mi = 0; mi < 4; ++mi) {
        const int at_17 = at_16 + mi * 4;
        #pragma unroll
        for (int ni = 0; ni < 8; ++ni) {
          kc_mma_m16n8k16_f16(&acc[(mi * 8 + ni) * 4], &a_2[at_17], &b_2[at_16 + ni * 2]);
        }
      }
    }
    const int acc_1 = k_tile + 1;
    if (acc_1 < k_tiles) {
      const int k0 = acc_1 * 32;
      const int at_16 = acc_1 % 2 * 4096;
      const int at_17 = at_2 * M;
      #pragma unroll
      for (int copy = 0; copy < 512; copy += 128) {
        const int at_18 = copy + tid;
        const int at_19 = at_18 / 4;
        const int at_20 = at_18 % 4 * 8;
        const int at_21 = i0 + at_19;
        const int at_22 = k0 + at_20;
        const bool cond = at_21 < M && at_22 < K;
        const int at_23 = cond ? (at_17 + at_21) * K + at_22 : 0;
        alignas(16) unsigned short r[8];
        r[0] = 0x0;
        r[1] = 0x0;
        r[2] = 0x0;
        r[3] = 0x0;
        r[4] = 0x0;
        r[5] = 0x0;
        r[6] = 0x0;
        r[7] = 0x0;
        if (cond) {
          *(uint4 *)(r) = *(const uint4 *)(&a[at_23]);
        }
        *(uint4 *)(&a_1[at_16 + (at_19 * 32 + (at_20 / 8 ^ at_19 / 2 % 4) * 8 + at_20 % 8)]) = *(const uint4 *)(r);
      }
      const int at_18 = at_2 * K;
      #pragma unroll
      for (int copy = 0; copy < 512; copy += 128) {
        const int at_19 = copy + tid;
        const int at_20 = at_19 / 16;
        const int at_21 = at_19 % 16 * 8;
        const int at_22 = at_21 % 64;
        const int at_23 = j0_ + at_21;
        const int at_24 = k0 + at_20;
        const bool cond = at_23 < N && at_24 < K;
        const int at_25 = cond ? (at_18 + at_24) * N + at_23 : 0;
        alignas(16) unsigned short r[8];
        r[0] = 0x0;
        r[1] = 0x0;
        r[2] = 0x0;
        r[3] = 0x0;
        r[4] = 0x0;
        r[5] = 0x0;
        r[6] = 0x0;
        r[7] = 0x0;
        if (cond) {
          *(uint4 *)(r) = *(const uint4 *)(&b[at_25]);
        }
        *(uint4 *)(&b_1[at_16 + (at_21 / 64 * 2048 + at_20 * 64 + (at_22 / 8 ^ at_20 % 8) * 8 + at_22 % 8)]) = *(const uint4 *)(r);
      }
    }
  }
  alignas(16) unsigned short r[128];
  #pragma unroll
  for (int ir = 0; ir < 4; ++ir) {
    const int acc_1 = ir * 32;
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      const int acc_2 = jr * 4;
      #pragma unroll
      for (int ir_1 = 0; ir_1 < 2; ++ir_1) {
        const int acc_3 = ir_1 * 2;
        #pragma unroll
        for (int jr_1 = 0; jr_1 < 2; ++jr_1) {
          const int acc_4 = jr_1 + acc_3 + acc_2 + acc_1;
          r[acc_4] = kc_f32_to_f16(acc[acc_4]);
        }
      }
    }
  }
  const int at_15 = lane / 4 + at_7;
  const int at_16 = lane % 4 * 2 + at_8;
  #pragma unroll
  for (int ir = 0; ir < 4; ++ir) {
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      const int at_17 = j0_ + (at_16 + jr * 8);
      const bool cond = at_17 < N;
      #pragma unroll
      for (int ir_1 = 0; ir_1 < 2; ++ir_1) {
        const int at_18 = ir_1 * 2 + jr * 4 + ir * 32;
        const int at_19 = i0 + (at_15 + ir_1 * 8 + ir * 16);
        if (at_19 < M && cond) {
          *(unsigned *)(&c[(at_2 * M + at_19) * N + at_17]) = *(const unsigned *)(&r[at_18]);
        }
      }
    }
  }
}
