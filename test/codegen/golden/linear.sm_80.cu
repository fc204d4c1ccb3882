// kernel linear of linear.kc:2, for sm_80
// assumes K % 8 == 0 and N % 8 == 0 and fits32(x) and fits32(w) and fits32(b) and fits32(y) and fits32(workspace) and fits32(workspace)

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
static __device__ __forceinline__ unsigned short kc_f32_to_bf16(float v) {
  unsigned short r;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(v));
  return r;
}
#endif
static __device__ __forceinline__ float kc_bf16_to_f32(unsigned short v) { return __uint_as_float((unsigned)v << 16); }

// schedule: tile i 128; tile j 128; tile k 32; warps 4; unit mma; stages 4
#line 4 "linear.kc"
extern "C" __global__ void __launch_bounds__(128, 2) kc_linear(unsigned short *__restrict__ x, unsigned short *__restrict__ w, unsigned short *__restrict__ b, unsigned short *__restrict__ y, const int M, const int K, const int N) {
  const int block = (int)blockIdx.x;
  const int i = (N + 127) / 128 * 8;
  const int i_1 = block % i;
  const int i_2 = block / i * 8;
  const int i_3 = min((M + 127) / 128 - i_2, 8);
  const int i0 = (i_2 + i_1 % i_3) * 128;
  const int j0_ = i_1 / i_3 * 128;
  const int a = (K + 31) / 32;
  unsigned short *const x_1 = (unsigned short *)(kc_shared());
  unsigned short *const w_1 = (unsigned short *)(kc_shared() + 32768);
#line 3 "linear.kc"
  if (a > 0) {
    const int tid = (int)threadIdx.x;
    #pragma unroll
    for (int copy = 0; copy < 512; copy += 128) {
      const int i_4 = copy + tid;
      const int i_5 = i_4 / 4;
      const int i_6 = i_4 % 4 * 8;
      const int i_7 = i0 + i_5;
      const bool cond = i_7 < M && i_6 < K;
      kc_cp_async_zfill_16(&x_1[i_5 * 32 + (i_6 / 8 ^ i_5 / 2 % 4) * 8 + i_6 % 8], &x[cond ? i_7 * K + i_6 : 0], cond ? 16 : 0);
    }
    #pragma unroll
    for (int copy_1 = 0; copy_1 < 512; copy_1 += 128) {
      const int i_8 = copy_1 + tid;
      const int i_9 = i_8 / 4;
      const int i_10 = i_8 % 4 * 8;
      const int i_11 = j0_ + i_9;
      const bool cond_1 = i_11 < N && i_10 < K;
      kc_cp_async_zfill_16(&w_1[i_9 * 32 + (i_10 / 8 ^ i_9 / 2 % 4) * 8 + i_10 % 8], &w[cond_1 ? i_11 * K + i_10 : 0], cond_1 ? 16 : 0);
    }
  }
  kc_cp_async_commit();
  if (a > 1) {
    const int tid_1 = (int)threadIdx.x;
    #pragma unroll
    for (int copy_2 = 0; copy_2 < 512; copy_2 += 128) {
      const int i_12 = copy_2 + tid_1;
      const int i_13 = i_12 / 4;
      const int i_14 = i_12 % 4 * 8;
      const int i_15 = i0 + i_13;
      const int i_16 = i_14 + 32;
      const bool cond_2 = i_15 < M && i_16 < K;
      kc_cp_async_zfill_16(&x_1[i_13 * 32 + (i_14 / 8 ^ i_13 / 2 % 4) * 8 + i_14 % 8 + 4096], &x[cond_2 ? i_15 * K + i_16 : 0], cond_2 ? 16 : 0);
    }
    #pragma unroll
    for (int copy_3 = 0; copy_3 < 512; copy_3 += 128) {
      const int i_17 = copy_3 + tid_1;
      const int i_18 = i_17 / 4;
      const int i_19 = i_17 % 4 * 8;
      const int i_20 = j0_ + i_18;
      const int i_21 = i_19 + 32;
      const bool cond_3 = i_20 < N && i_21 < K;
      kc_cp_async_zfill_16(&w_1[i_18 * 32 + (i_19 / 8 ^ i_18 / 2 % 4) * 8 + i_19 % 8 + 4096], &w[cond_3 ? i_20 * K + i_21 : 0], cond_3 ? 16 : 0);
    }
  }
  kc_cp_async_commit();
  if (a > 2) {
    const int tid_2 = (int)threadIdx.x;
    #pragma unroll
    for (int copy_4 = 0; copy_4 < 512; copy_4 += 128) {
      const int i_22 = copy_4 + tid_2;
      const int i_23 = i_22 / 4;
      const int i_24 = i_22 % 4 * 8;
      const int i_25 = i0 + i_23;
      const int i_26 = i_24 + 64;
      const bool cond_4 = i_25 < M && i_26 < K;
      kc_cp_async_zfill_16(&x_1[i_23 * 32 + (i_24 / 8 ^ i_23 / 2 % 4) * 8 + i_24 % 8 + 8192], &x[cond_4 ? i_25 * K + i_26 : 0], cond_4 ? 16 : 0);
    }
    #pragma unroll
    for (int copy_5 = 0; copy_5 < 512; copy_5 += 128) {
      const int i_27 = copy_5 + tid_2;
      const int i_28 = i_27 / 4;
      const int i_29 = i_27 % 4 * 8;
      const int i_30 = j0_ + i_28;
      const int i_31 = i_29 + 64;
      const bool cond_5 = i_30 < N && i_31 < K;
      kc_cp_async_zfill_16(&w_1[i_28 * 32 + (i_29 / 8 ^ i_28 / 2 % 4) * 8 + i_29 % 8 + 8192], &w[cond_5 ? i_30 * K + i_31 : 0], cond_5 ? 16 : 0);
    }
  }
  kc_cp_async_commit();
  alignas(16) float a_1[128];
  #pragma unroll
  for (int ir = 0; ir < 4; ++ir) {
    const int i_32 = ir * 32;
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      const int i_33 = jr * 4;
      #pragma unroll
      for (int ir_1 = 0; ir_1 < 2; ++ir_1) {
        const int i_34 = ir_1 * 2;
        #pragma unroll
        for (int jr_1 = 0; jr_1 < 2; ++jr_1) {
          a_1[jr_1 + i_34 + i_33 + i_32] = 0.0f;
        }
      }
    }
  }
  const int tid_3 = (int)threadIdx.x;
  const int warp = tid_3 / 32;
  const int i_35 = warp % 2 * 64;
  const int i_36 = warp / 2 * 64;
  const int lane = tid_3 % 32;
  const int i_37 = lane % 16;
  const int i_38 = lane / 16 * 8;
  const int i_39 = lane % 8 + i_38;
  const int i_40 = lane / 8 % 2 * 8;
  const int i_41 = i_38 / 8;
  const int i_42 = i_38 % 8;
  const int i_43 = i_40 / 8;
  const int i_44 = i_40 % 8;
  for (int k_tile = 0; k_tile < a; ++k_tile) {
    kc_cp_async_wait<2>();
    __syncthreads();
    const int i_45 = k_tile % 4 * 4096;
    alignas(16) unsigned a_2[32];
    alignas(16) unsigned b_1[32];
    #pragma unroll
    for (int mi = 0; mi < 4; ++mi) {
      const int i_46 = i_35 + mi * 16 + i_37;
      kc_ldmatrix_x4(&a_2[mi * 4], &x_1[i_45 + (i_46 * 32 + (i_41 ^ i_46 / 2 % 4) * 8 + i_42)]);
    }
    #pragma unroll
    for (int np = 0; np < 4; ++np) {
      const int i_47 = i_36 + np * 16 + i_39;
      kc_ldmatrix_x4(&b_1[np * 4], &w_1[i_45 + (i_47 * 32 + (i_43 ^ i_47 / 2 % 4) * 8 + i_44)]);
    }
    #pragma unroll
    for (int step = 0; step < 2; ++step) {
      const int i_48 = step + 1;
      if (i_48 < 2) {
        const int i_49 = i_48 * 16;
        const int i_50 = i_49 + i_38;
        const int i_51 = i_50 / 8;
        const int i_52 = i_50 % 8;
        const int i_53 = i_48 % 2 * 16;
        #pragma unroll
        for (int mi_1 = 0; mi_1 < 4; ++mi_1) {
          const int i_54 = i_35 + mi_1 * 16 + i_37;
          kc_ldmatrix_x4(&a_2[i_53 + mi_1 * 4], &x_1[i_45 + (i_54 * 32 + (i_51 ^ i_54 / 2 % 4) * 8 + i_52)]);
        }
        const int i_55 = i_49 + i_40;
        const int i_56 = i_55 / 8;
        const int i_57 = i_55 % 8;
        #pragma unroll
        for (int np_1 = 0; np_1 < 4; ++np_1) {
          const int i_58 = i_36 + np_1 * 16 + i_39;
          kc_ldmatrix_x4(&b_1[i_53 + np_1 * 4], &w_1[i_45 + (i_58 * 32 + (i_56 ^ i_58 / 2 % 4) * 8 + i_57)]);
        }
      }
      const int i_59 = step % 2 * 16;
      #pragma unroll
      for (int mi_2 = 0; mi_2 < 4; ++mi_2) {
        const int i_60 = mi_2 * 8;
        const int i_61 = i_59 + mi_2 * 4;
        #pragma unroll
        for (int ni = 0; ni < 8; ++ni) {
          kc_mma_m16n8k16_bf16(&a_1[(i_60 + ni) * 4], &a_2[i_61], &b_1[i_59 + ni * 2]);
        }
      }
    }
    const int a_3 = k_tile + 3;
    if (a_3 < a) {
      const int k0 = a_3 * 32;
      const int i_62 = a_3 % 4 * 4096;
      #pragma unroll
      for (int copy_6 = 0; copy_6 < 512; copy_6 += 128) {
        const int i_63 = copy_6 + tid_3;
        const int i_64 = i_63 / 4;
        const int i_65 = i_63 % 4 * 8;
        const int i_66 = i0 + i_64;
        const int i_67 = k0 + i_65;
        const bool cond_6 = i_66 < M && i_67 < K;
        kc_cp_async_zfill_16(&x_1[i_62 + (i_64 * 32 + (i_65 / 8 ^ i_64 / 2 % 4) * 8 + i_65 % 8)], &x[cond_6 ? i_66 * K + i_67 : 0], cond_6 ? 16 : 0);
      }
      #pragma unroll
      for (int copy_7 = 0; copy_7 < 512; copy_7 += 128) {
        const int i_68 = copy_7 + tid_3;
        const int i_69 = i_68 / 4;
        const int i_70 = i_68 % 4 * 8;
        const int i_71 = j0_ + i_69;
        const int i_72 = k0 + i_70;
        const bool cond_7 = i_71 < N && i_72 < K;
        kc_cp_async_zfill_16(&w_1[i_62 + (i_69 * 32 + (i_70 / 8 ^ i_69 / 2 % 4) * 8 + i_70 % 8)], &w[cond_7 ? i_71 * K + i_72 : 0], cond_7 ? 16 : 0);
      }
    }
    kc_cp_async_commit();
  }
  kc_cp_async_wait<0>();
  alignas(16) unsigned short b_r[16];
  const int i_73 = lane % 4 * 2 + i_36;
#line 4 "linear.kc"
  #pragma unroll
  for (int jr_2 = 0; jr_2 < 8; ++jr_2) {
    const int i_74 = jr_2 * 2;
    const int i_75 = j0_ + (i_73 + jr_2 * 8);
    if (i_75 < N) {
      *(unsigned *)(&b_r[i_74]) = *(const unsigned *)(&b[i_75]);
    } else {
      b_r[i_74] = 0x0;
      b_r[i_74 + 1] = 0x0;
    }
  }
  alignas(16) float b_2[16];
  #pragma unroll
  for (int jr_3 = 0; jr_3 < 8; ++jr_3) {
    const int b_3 = jr_3 * 2;
    #pragma unroll
    for (int jr_4 = 0; jr_4 < 2; ++jr_4) {
      const int b_4 = jr_4 + b_3;
      b_2[b_4] = kc_bf16_to_f32(b_r[b_4]);
    }
  }
  alignas(16) unsigned short r[128];
  #pragma unroll
  for (int ir_2 = 0; ir_2 < 4; ++ir_2) {
    const int a_4 = ir_2 * 32;
    #pragma unroll
    for (int jr_5 = 0; jr_5 < 8; ++jr_5) {
      const int b_5 = jr_5 * 2;
      const int a_5 = jr_5 * 4;
      #pragma unroll
      for (int ir_3 = 0; ir_3 < 2; ++ir_3) {
        const int a_6 = ir_3 * 2;
        #pragma unroll
        for (int jr_6 = 0; jr_6 < 2; ++jr_6) {
          const int a_7 = jr_6 + a_6 + a_5 + a_4;
          r[a_7] = kc_f32_to_bf16(a_1[a_7] + b_2[jr_6 + b_5]);
        }
      }
    }
  }
  const int i_76 = lane / 4 + i_35;
  #pragma unroll
  for (int ir_4 = 0; ir_4 < 4; ++ir_4) {
    const int i_77 = ir_4 * 32;
    const int i_78 = ir_4 * 16;
    #pragma unroll
    for (int jr_7 = 0; jr_7 < 8; ++jr_7) {
      const int i_79 = jr_7 * 4;
      const int i_80 = j0_ + (i_73 + jr_7 * 8);
      const bool cond_8 = i_80 < N;
      #pragma unroll
      for (int ir_5 = 0; ir_5 < 2; ++ir_5) {
        const int i_81 = ir_5 * 2 + i_79 + i_77;
        const int i_82 = i0 + (i_76 + ir_5 * 8 + i_78);
        if (i_82 < M && cond_8) {
          *(unsigned *)(&y[i_82 * N + i_80]) = *(const unsigned *)(&r[i_81]);
        }
      }
    }
  }
}
