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
    const int at_13 = at_2 * K;
    #pragma unroll
    for (int copy_1 = 0; copy_1 < 512; copy_1 += 128) {
      const int at_14 = copy_1 + tid;
      const int at_15 = at_14 / 16;
      const int at_16 = at_14 % 16 * 8;
      const int at_17 = at_16 % 64;
      const int at_18 = j0_ + at_16;
      const bool cond_1 = at_18 < N && at_15 < K;
      const int at_19 = cond_1 ? (at_13 + at_15) * N + at_18 : 0;
      alignas(16) unsigned short r_1[8];
      r_1[0] = 0x0;
      r_1[1] = 0x0;
      r_1[2] = 0x0;
      r_1[3] = 0x0;
      r_1[4] = 0x0;
      r_1[5] = 0x0;
      r_1[6] = 0x0;
      r_1[7] = 0x0;
      if (cond_1) {
        *(uint4 *)(r_1) = *(const uint4 *)(&b[at_19]);
      }
      *(uint4 *)(&b_1[at_16 / 64 * 2048 + at_15 * 64 + (at_17 / 8 ^ at_15 % 8) * 8 + at_17 % 8]) = *(const uint4 *)(r_1);
    }
  }
  alignas(16) float acc[128];
  #pragma unroll
  for (int ir = 0; ir < 4; ++ir) {
    const int at_20 = ir * 32;
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      const int at_21 = jr * 4;
      #pragma unroll
      for (int ir_1 = 0; ir_1 < 2; ++ir_1) {
        const int at_22 = ir_1 * 2;
        #pragma unroll
        for (int jr_1 = 0; jr_1 < 2; ++jr_1) {
          acc[jr_1 + at_22 + at_21 + at_20] = 0.0f;
        }
      }
    }
  }
  const int tid_1 = (int)threadIdx.x;
  const int warp = tid_1 / 32;
  const int at_23 = warp % 2 * 64;
  const int at_24 = warp / 2 * 64;
  const int lane = tid_1 % 32;
  const int at_25 = lane % 16;
  const int at_26 = lane / 16 * 8;
  const int at_27 = at_26 / 8;
  const int at_28 = at_26 % 8;
  const int at_29 = at_25 * 64;
  const int at_30 = at_25 % 8;
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    __syncthreads();
    const int at_31 = k_tile % 2 * 4096;
    alignas(16) unsigned a_2[32];
    alignas(16) unsigned b_2[32];
    #pragma unroll
    for (int mi = 0; mi < 4; ++mi) {
      const int at_32 = at_23 + mi * 16 + at_25;
      kc_ldmatrix_x4(&a_2[mi * 4], &a_1[at_31 + (at_32 * 32 + (at_27 ^ at_32 / 2 % 4) * 8 + at_28)]);
    }
    #pragma unroll
    for (int np = 0; np < 4; ++np) {
      const int at_33 = at_24 + np * 16 + at_26;
      const int at_34 = at_33 % 64;
      kc_ldmatrix_x4_trans(&b_2[np * 4], &b_1[at_31 + (at_33 / 64 * 2048 + at_29 + (at_34 / 8 ^ at_30) * 8 + at_34 % 8)]);
    }
    #pragma unroll
    for (int step = 0; step < 2; ++step) {
      const int at_35 = step + 1;
      if (at_35 < 2) {
        const int at_36 = at_35 * 16;
        const int at_37 = at_35 % 2 * 16;
        const int at_38 = at_36 + at_26;
        const int at_39 = at_38 / 8;
        const int at_40 = at_38 % 8;
        #pragma unroll
        for (int mi_1 = 0; mi_1 < 4; ++mi_1) {
          const int at_41 = at_23 + mi_1 * 16 + at_25;
          kc_ldmatrix_x4(&a_2[at_37 + mi_1 * 4], &a_1[at_31 + (at_41 * 32 + (at_39 ^ at_41 / 2 % 4) * 8 + at_40)]);
        }
        const int at_42 = at_36 + at_25;
        const int at_43 = at_42 * 64;
        const int at_44 = at_42 % 8;
        #pragma unroll
        for (int np_1 = 0; np_1 < 4; ++np_1) {
          const int at_45 = at_24 + np_1 * 16 + at_26;
          const int at_46 = at_45 % 64;
          kc_ldmatrix_x4_trans(&b_2[at_37 + np_1 * 4], &b_1[at_31 + (at_45 / 64 * 2048 + at_43 + (at_46 / 8 ^ at_44) * 8 + at_46 % 8)]);
        }
      }
      const int at_47 = step % 2 * 16;
      #pragma unroll
      for (int mi_2 = 0; mi_2 < 4; ++mi_2) {
        const int at_48 = mi_2 * 8;
        const int at_49 = at_47 + mi_2 * 4;
        #pragma unroll
        for (int ni = 0; ni < 8; ++ni) {
          kc_mma_m16n8k16_f16(&acc[(at_48 + ni) * 4], &a_2[at_49], &b_2[at_47 + ni * 2]);
        }
      }
    }
    const int acc_1 = k_tile + 1;
    if (acc_1 < k_tiles) {
      const int k0 = acc_1 * 32;
      const int at_50 = acc_1 % 2 * 4096;
      const int at_51 = at_2 * M;
      #pragma unroll
      for (int copy_2 = 0; copy_2 < 512; copy_2 += 128) {
        const int at_52 = copy_2 + tid_1;
        const int at_53 = at_52 / 4;
        const int at_54 = at_52 % 4 * 8;
        const int at_55 = i0 + at_53;
        const int at_56 = k0 + at_54;
        const bool cond_2 = at_55 < M && at_56 < K;
        const int at_57 = cond_2 ? (at_51 + at_55) * K + at_56 : 0;
        alignas(16) unsigned short r_2[8];
        r_2[0] = 0x0;
        r_2[1] = 0x0;
        r_2[2] = 0x0;
        r_2[3] = 0x0;
        r_2[4] = 0x0;
        r_2[5] = 0x0;
        r_2[6] = 0x0;
        r_2[7] = 0x0;
        if (cond_2) {
          *(uint4 *)(r_2) = *(const uint4 *)(&a[at_57]);
        }
        *(uint4 *)(&a_1[at_50 + (at_53 * 32 + (at_54 / 8 ^ at_53 / 2 % 4) * 8 + at_54 % 8)]) = *(const uint4 *)(r_2);
      }
      const int at_58 = at_2 * K;
      #pragma unroll
      for (int copy_3 = 0; copy_3 < 512; copy_3 += 128) {
        const int at_59 = copy_3 + tid_1;
        const int at_60 = at_59 / 16;
        const int at_61 = at_59 % 16 * 8;
        const int at_62 = at_61 % 64;
        const int at_63 = j0_ + at_61;
        const int at_64 = k0 + at_60;
        const bool cond_3 = at_63 < N && at_64 < K;
        const int at_65 = cond_3 ? (at_58 + at_64) * N + at_63 : 0;
        alignas(16) unsigned short r_3[8];
        r_3[0] = 0x0;
        r_3[1] = 0x0;
        r_3[2] = 0x0;
        r_3[3] = 0x0;
        r_3[4] = 0x0;
        r_3[5] = 0x0;
        r_3[6] = 0x0;
        r_3[7] = 0x0;
        if (cond_3) {
          *(uint4 *)(r_3) = *(const uint4 *)(&b[at_65]);
        }
        *(uint4 *)(&b_1[at_50 + (at_61 / 64 * 2048 + at_60 * 64 + (at_62 / 8 ^ at_60 % 8) * 8 + at_62 % 8)]) = *(const uint4 *)(r_3);
      }
    }
  }
  alignas(16) unsigned short r_4[128];
  #pragma unroll
  for (int ir_2 = 0; ir_2 < 4; ++ir_2) {
    const int acc_2 = ir_2 * 32;
    #pragma unroll
    for (int jr_2 = 0; jr_2 < 8; ++jr_2) {
      const int acc_3 = jr_2 * 4;
      #pragma unroll
      for (int ir_3 = 0; ir_3 < 2; ++ir_3) {
        const int acc_4 = ir_3 * 2;
        #pragma unroll
        for (int jr_3 = 0; jr_3 < 2; ++jr_3) {
          const int acc_5 = jr_3 + acc_4 + acc_3 + acc_2;
          r_4[acc_5] = kc_f32_to_f16(acc[acc_5]);
        }
      }
    }
  }
  const int at_66 = lane / 4 + at_23;
  const int at_67 = lane % 4 * 2 + at_24;
  #pragma unroll
  for (int ir_4 = 0; ir_4 < 4; ++ir_4) {
    const int at_68 = ir_4 * 32;
    const int at_69 = ir_4 * 16;
    #pragma unroll
    for (int jr_4 = 0; jr_4 < 8; ++jr_4) {
      const int at_70 = jr_4 * 4;
      const int at_71 = j0_ + (at_67 + jr_4 * 8);
      const bool cond_4 = at_71 < N;
      #pragma unroll
      for (int ir_5 = 0; ir_5 < 2; ++ir_5) {
        const int at_72 = ir_5 * 2 + at_70 + at_68;
        const int at_73 = i0 + (at_66 + ir_5 * 8 + at_69);
        if (at_73 < M && cond_4) {
          *(unsigned *)(&c[(at_2 * M + at_73) * N + at_71]) = *(const unsigned *)(&r_4[at_72]);
        }
      }
    }
  }
}
