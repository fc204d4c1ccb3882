// kernel batched_matmul of batched_matmul.kc:1, for sm_75
// assumes K % 8 == 0 and N % 8 == 0 and fits32(a) and fits32(b) and fits32(c) and fits32(workspace) and fits32(workspace)

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
  const int i = i_tiles * j_tiles;
  const int i_1 = block % i;
  const int i_2 = block / i;
  const int i_3 = j_tiles * 8;
  const int i_4 = i_1 % i_3;
  const int i_5 = i_1 / i_3 * 8;
  const int i_6 = min(i_tiles - i_5, 8);
  const int i0 = (i_5 + i_4 % i_6) * 128;
  const int j0_ = i_4 / i_6 * 128;
  const int acc = (K + 31) / 32;
  unsigned short *const a_1 = (unsigned short *)(kc_shared());
  unsigned short *const b_1 = (unsigned short *)(kc_shared() + 16384);
  if (acc > 0) {
    const int tid = (int)threadIdx.x;
    const int i_7 = i_2 * M;
    #pragma unroll
    for (int copy = 0; copy < 512; copy += 128) {
      const int i_8 = copy + tid;
      const int i_9 = i_8 / 4;
      const int i_10 = i_8 % 4 * 8;
      const int i_11 = i0 + i_9;
      const bool cond = i_11 < M && i_10 < K;
      const int i_12 = cond ? (i_7 + i_11) * K + i_10 : 0;
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
        *(uint4 *)(r) = *(const uint4 *)(&a[i_12]);
      }
      *(uint4 *)(&a_1[i_9 * 32 + (i_10 / 8 ^ i_9 / 2 % 4) * 8 + i_10 % 8]) = *(const uint4 *)(r);
    }
    const int i_13 = i_2 * K;
    #pragma unroll
    for (int copy_1 = 0; copy_1 < 512; copy_1 += 128) {
      const int i_14 = copy_1 + tid;
      const int i_15 = i_14 / 16;
      const int i_16 = i_14 % 16 * 8;
      const int i_17 = j0_ + i_16;
      const bool cond_1 = i_17 < N && i_15 < K;
      const int i_18 = cond_1 ? (i_13 + i_15) * N + i_17 : 0;
      const int i_19 = i_16 % 64;
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
        *(uint4 *)(r_1) = *(const uint4 *)(&b[i_18]);
      }
      *(uint4 *)(&b_1[i_16 / 64 * 2048 + i_15 * 64 + (i_19 / 8 ^ i_15 % 8) * 8 + i_19 % 8]) = *(const uint4 *)(r_1);
    }
  }
  alignas(16) float acc_1[128];
  #pragma unroll
  for (int ir = 0; ir < 4; ++ir) {
    const int i_20 = ir * 32;
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      const int i_21 = jr * 4;
      #pragma unroll
      for (int ir_1 = 0; ir_1 < 2; ++ir_1) {
        const int i_22 = ir_1 * 2;
        #pragma unroll
        for (int jr_1 = 0; jr_1 < 2; ++jr_1) {
          acc_1[jr_1 + i_22 + i_21 + i_20] = 0.0f;
        }
      }
    }
  }
  const int tid_1 = (int)threadIdx.x;
  const int warp = tid_1 / 32;
  const int i_23 = warp % 2 * 64;
  const int i_24 = warp / 2 * 64;
  const int lane = tid_1 % 32;
  const int i_25 = lane % 16;
  const int i_26 = lane / 16 * 8;
  const int i_27 = i_26 / 8;
  const int i_28 = i_26 % 8;
  const int i_29 = i_25 * 64;
  const int i_30 = i_25 % 8;
  for (int k_tile = 0; k_tile < acc; ++k_tile) {
    __syncthreads();
    const int i_31 = k_tile % 2 * 4096;
    alignas(16) unsigned a_2[32];
    alignas(16) unsigned b_2[32];
    #pragma unroll
    for (int mi = 0; mi < 4; ++mi) {
      const int i_32 = i_23 + mi * 16 + i_25;
      kc_ldmatrix_x4(&a_2[mi * 4], &a_1[i_31 + (i_32 * 32 + (i_27 ^ i_32 / 2 % 4) * 8 + i_28)]);
    }
    #pragma unroll
    for (int np = 0; np < 4; ++np) {
      const int i_33 = i_24 + np * 16 + i_26;
      const int i_34 = i_33 % 64;
      kc_ldmatrix_x4_trans(&b_2[np * 4], &b_1[i_31 + (i_33 / 64 * 2048 + i_29 + (i_34 / 8 ^ i_30) * 8 + i_34 % 8)]);
    }
    #pragma unroll
    for (int step = 0; step < 2; ++step) {
      const int i_35 = step + 1;
      if (i_35 < 2) {
        const int i_36 = i_35 * 16;
        const int i_37 = i_36 + i_26;
        const int i_38 = i_37 / 8;
        const int i_39 = i_37 % 8;
        const int i_40 = i_35 % 2 * 16;
        #pragma unroll
        for (int mi_1 = 0; mi_1 < 4; ++mi_1) {
          const int i_41 = i_23 + mi_1 * 16 + i_25;
          kc_ldmatrix_x4(&a_2[i_40 + mi_1 * 4], &a_1[i_31 + (i_41 * 32 + (i_38 ^ i_41 / 2 % 4) * 8 + i_39)]);
        }
        const int i_42 = i_36 + i_25;
        const int i_43 = i_42 * 64;
        const int i_44 = i_42 % 8;
        #pragma unroll
        for (int np_1 = 0; np_1 < 4; ++np_1) {
          const int i_45 = i_24 + np_1 * 16 + i_26;
          const int i_46 = i_45 % 64;
          kc_ldmatrix_x4_trans(&b_2[i_40 + np_1 * 4], &b_1[i_31 + (i_45 / 64 * 2048 + i_43 + (i_46 / 8 ^ i_44) * 8 + i_46 % 8)]);
        }
      }
      const int i_47 = step % 2 * 16;
      #pragma unroll
      for (int mi_2 = 0; mi_2 < 4; ++mi_2) {
        const int i_48 = mi_2 * 8;
        const int i_49 = i_47 + mi_2 * 4;
        #pragma unroll
        for (int ni = 0; ni < 8; ++ni) {
          kc_mma_m16n8k16_f16(&acc_1[(i_48 + ni) * 4], &a_2[i_49], &b_2[i_47 + ni * 2]);
        }
      }
    }
    const int acc_2 = k_tile + 1;
    if (acc_2 < acc) {
      const int k0 = acc_2 * 32;
      const int i_50 = acc_2 % 2 * 4096;
      const int i_51 = i_2 * M;
      #pragma unroll
      for (int copy_2 = 0; copy_2 < 512; copy_2 += 128) {
        const int i_52 = copy_2 + tid_1;
        const int i_53 = i_52 / 4;
        const int i_54 = i_52 % 4 * 8;
        const int i_55 = i0 + i_53;
        const int i_56 = k0 + i_54;
        const bool cond_2 = i_55 < M && i_56 < K;
        const int i_57 = cond_2 ? (i_51 + i_55) * K + i_56 : 0;
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
          *(uint4 *)(r_2) = *(const uint4 *)(&a[i_57]);
        }
        *(uint4 *)(&a_1[i_50 + (i_53 * 32 + (i_54 / 8 ^ i_53 / 2 % 4) * 8 + i_54 % 8)]) = *(const uint4 *)(r_2);
      }
      const int i_58 = i_2 * K;
      #pragma unroll
      for (int copy_3 = 0; copy_3 < 512; copy_3 += 128) {
        const int i_59 = copy_3 + tid_1;
        const int i_60 = i_59 / 16;
        const int i_61 = i_59 % 16 * 8;
        const int i_62 = j0_ + i_61;
        const int i_63 = k0 + i_60;
        const bool cond_3 = i_62 < N && i_63 < K;
        const int i_64 = cond_3 ? (i_58 + i_63) * N + i_62 : 0;
        const int i_65 = i_61 % 64;
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
          *(uint4 *)(r_3) = *(const uint4 *)(&b[i_64]);
        }
        *(uint4 *)(&b_1[i_50 + (i_61 / 64 * 2048 + i_60 * 64 + (i_65 / 8 ^ i_60 % 8) * 8 + i_65 % 8)]) = *(const uint4 *)(r_3);
      }
    }
  }
  alignas(16) unsigned short r_4[128];
  #pragma unroll
  for (int ir_2 = 0; ir_2 < 4; ++ir_2) {
    const int acc_3 = ir_2 * 32;
    #pragma unroll
    for (int jr_2 = 0; jr_2 < 8; ++jr_2) {
      const int acc_4 = jr_2 * 4;
      #pragma unroll
      for (int ir_3 = 0; ir_3 < 2; ++ir_3) {
        const int acc_5 = ir_3 * 2;
        #pragma unroll
        for (int jr_3 = 0; jr_3 < 2; ++jr_3) {
          const int acc_6 = jr_3 + acc_5 + acc_4 + acc_3;
          r_4[acc_6] = kc_f32_to_f16(acc_1[acc_6]);
        }
      }
    }
  }
  const int i_66 = lane / 4 + i_23;
  const int i_67 = lane % 4 * 2 + i_24;
  #pragma unroll
  for (int ir_4 = 0; ir_4 < 4; ++ir_4) {
    const int i_68 = ir_4 * 32;
    const int i_69 = ir_4 * 16;
    #pragma unroll
    for (int jr_4 = 0; jr_4 < 8; ++jr_4) {
      const int i_70 = jr_4 * 4;
      const int i_71 = j0_ + (i_67 + jr_4 * 8);
      const bool cond_4 = i_71 < N;
      #pragma unroll
      for (int ir_5 = 0; ir_5 < 2; ++ir_5) {
        const int i_72 = ir_5 * 2 + i_70 + i_68;
        const int i_73 = i0 + (i_66 + ir_5 * 8 + i_69);
        if (i_73 < M && cond_4) {
          *(unsigned *)(&c[(i_2 * M + i_73) * N + i_71]) = *(const unsigned *)(&r_4[i_72]);
        }
      }
    }
  }
}
