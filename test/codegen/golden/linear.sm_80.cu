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
    for (int copy_1 = 0; copy_1 < 512; copy_1 += 128) {
      const int at_8 = copy_1 + tid;
      const int at_9 = at_8 / 4;
      const int at_10 = at_8 % 4 * 8;
      const int at_11 = j0_ + at_9;
      const bool cond_1 = at_11 < N && at_10 < K;
      kc_cp_async_zfill_16(&w_1[at_9 * 32 + (at_10 / 8 ^ at_9 / 2 % 4) * 8 + at_10 % 8], &w[cond_1 ? at_11 * K + at_10 : 0], cond_1 ? 16 : 0);
    }
  }
  kc_cp_async_commit();
  if (k_tiles > 1) {
    const int tid_1 = (int)threadIdx.x;
    #pragma unroll
    for (int copy_2 = 0; copy_2 < 512; copy_2 += 128) {
      const int at_12 = copy_2 + tid_1;
      const int at_13 = at_12 / 4;
      const int at_14 = at_12 % 4 * 8;
      const int at_15 = i0 + at_13;
      const int at_16 = at_14 + 32;
      const bool cond_2 = at_15 < M && at_16 < K;
      kc_cp_async_zfill_16(&x_1[at_13 * 32 + (at_14 / 8 ^ at_13 / 2 % 4) * 8 + at_14 % 8 + 4096], &x[cond_2 ? at_15 * K + at_16 : 0], cond_2 ? 16 : 0);
    }
    #pragma unroll
    for (int copy_3 = 0; copy_3 < 512; copy_3 += 128) {
      const int at_17 = copy_3 + tid_1;
      const int at_18 = at_17 / 4;
      const int at_19 = at_17 % 4 * 8;
      const int at_20 = j0_ + at_18;
      const int at_21 = at_19 + 32;
      const bool cond_3 = at_20 < N && at_21 < K;
      kc_cp_async_zfill_16(&w_1[at_18 * 32 + (at_19 / 8 ^ at_18 / 2 % 4) * 8 + at_19 % 8 + 4096], &w[cond_3 ? at_20 * K + at_21 : 0], cond_3 ? 16 : 0);
    }
  }
  kc_cp_async_commit();
  if (k_tiles > 2) {
    const int tid_2 = (int)threadIdx.x;
    #pragma unroll
    for (int copy_4 = 0; copy_4 < 512; copy_4 += 128) {
      const int at_22 = copy_4 + tid_2;
      const int at_23 = at_22 / 4;
      const int at_24 = at_22 % 4 * 8;
      const int at_25 = i0 + at_23;
      const int at_26 = at_24 + 64;
      const bool cond_4 = at_25 < M && at_26 < K;
      kc_cp_async_zfill_16(&x_1[at_23 * 32 + (at_24 / 8 ^ at_23 / 2 % 4) * 8 + at_24 % 8 + 8192], &x[cond_4 ? at_25 * K + at_26 : 0], cond_4 ? 16 : 0);
    }
    #pragma unroll
    for (int copy_5 = 0; copy_5 < 512; copy_5 += 128) {
      const int at_27 = copy_5 + tid_2;
      const int at_28 = at_27 / 4;
      const int at_29 = at_27 % 4 * 8;
      const int at_30 = j0_ + at_28;
      const int at_31 = at_29 + 64;
      const bool cond_5 = at_30 < N && at_31 < K;
      kc_cp_async_zfill_16(&w_1[at_28 * 32 + (at_29 / 8 ^ at_28 / 2 % 4) * 8 + at_29 % 8 + 8192], &w[cond_5 ? at_30 * K + at_31 : 0], cond_5 ? 16 : 0);
    }
  }
  kc_cp_async_commit();
  alignas(16) float a[128];
  #pragma unroll
  for (int ir = 0; ir < 4; ++ir) {
    const int at_32 = ir * 32;
    #pragma unroll
    for (int jr = 0; jr < 8; ++jr) {
      const int at_33 = jr * 4;
      #pragma unroll
      for (int ir_1 = 0; ir_1 < 2; ++ir_1) {
        const int at_34 = ir_1 * 2;
        #pragma unroll
        for (int jr_1 = 0; jr_1 < 2; ++jr_1) {
          a[jr_1 + at_34 + at_33 + at_32] = 0.0f;
        }
      }
    }
  }
  const int tid_3 = (int)threadIdx.x;
  const int warp = tid_3 / 32;
  const int at_35 = warp % 2 * 64;
  const int at_36 = warp / 2 * 64;
  const int lane = tid_3 % 32;
  const int at_37 = lane % 16;
  const int at_38 = lane / 16 * 8;
  const int at_39 = lane % 8 + at_38;
  const int at_40 = lane / 8 % 2 * 8;
  const int at_41 = at_38 / 8;
  const int at_42 = at_38 % 8;
  const int at_43 = at_40 / 8;
  const int at_44 = at_40 % 8;
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    kc_cp_async_wait<2>();
    __syncthreads();
    const int at_45 = k_tile % 4 * 4096;
    alignas(16) unsigned a_1[32];
    alignas(16) unsigned b_1[32];
    #pragma unroll
    for (int mi = 0; mi < 4; ++mi) {
      const int at_46 = at_35 + mi * 16 + at_37;
      kc_ldmatrix_x4(&a_1[mi * 4], &x_1[at_45 + (at_46 * 32 + (at_41 ^ at_46 / 2 % 4) * 8 + at_42)]);
    }
    #pragma unroll
    for (int np = 0; np < 4; ++np) {
      const int at_47 = at_36 + np * 16 + at_39;
      kc_ldmatrix_x4(&b_1[np * 4], &w_1[at_45 + (at_47 * 32 + (at_43 ^ at_47 / 2 % 4) * 8 + at_44)]);
    }
    #pragma unroll
    for (int step = 0; step < 2; ++step) {
      const int at_48 = step + 1;
      if (at_48 < 2) {
        const int at_49 = at_48 * 16;
        const int at_50 = at_48 % 2 * 16;
        const int at_51 = at_49 + at_38;
        const int at_52 = at_51 / 8;
        const int at_53 = at_51 % 8;
        #pragma unroll
        for (int mi_1 = 0; mi_1 < 4; ++mi_1) {
          const int at_54 = at_35 + mi_1 * 16 + at_37;
          kc_ldmatrix_x4(&a_1[at_50 + mi_1 * 4], &x_1[at_45 + (at_54 * 32 + (at_52 ^ at_54 / 2 % 4) * 8 + at_53)]);
        }
        const int at_55 = at_49 + at_40;
        const int at_56 = at_55 / 8;
        const int at_57 = at_55 % 8;
        #pragma unroll
        for (int np_1 = 0; np_1 < 4; ++np_1) {
          const int at_58 = at_36 + np_1 * 16 + at_39;
          kc_ldmatrix_x4(&b_1[at_50 + np_1 * 4], &w_1[at_45 + (at_58 * 32 + (at_56 ^ at_58 / 2 % 4) * 8 + at_57)]);
        }
      }
      const int at_59 = step % 2 * 16;
      #pragma unroll
      for (int mi_2 = 0; mi_2 < 4; ++mi_2) {
        const int at_60 = mi_2 * 8;
        const int at_61 = at_59 + mi_2 * 4;
        #pragma unroll
        for (int ni = 0; ni < 8; ++ni) {
          kc_mma_m16n8k16_bf16(&a[(at_60 + ni) * 4], &a_1[at_61], &b_1[at_59 + ni * 2]);
        }
      }
    }
    const int a_2 = k_tile + 3;
    if (a_2 < k_tiles) {
      const int k0 = a_2 * 32;
      const int at_62 = a_2 % 4 * 4096;
      #pragma unroll
      for (int copy_6 = 0; copy_6 < 512; copy_6 += 128) {
        const int at_63 = copy_6 + tid_3;
        const int at_64 = at_63 / 4;
        const int at_65 = at_63 % 4 * 8;
        const int at_66 = i0 + at_64;
        const int at_67 = k0 + at_65;
        const bool cond_6 = at_66 < M && at_67 < K;
        kc_cp_async_zfill_16(&x_1[at_62 + (at_64 * 32 + (at_65 / 8 ^ at_64 / 2 % 4) * 8 + at_65 % 8)], &x[cond_6 ? at_66 * K + at_67 : 0], cond_6 ? 16 : 0);
      }
      #pragma unroll
      for (int copy_7 = 0; copy_7 < 512; copy_7 += 128) {
        const int at_68 = copy_7 + tid_3;
        const int at_69 = at_68 / 4;
        const int at_70 = at_68 % 4 * 8;
        const int at_71 = j0_ + at_69;
        const int at_72 = k0 + at_70;
        const bool cond_7 = at_71 < N && at_72 < K;
        kc_cp_async_zfill_16(&w_1[at_62 + (at_69 * 32 + (at_70 / 8 ^ at_69 / 2 % 4) * 8 + at_70 % 8)], &w[cond_7 ? at_71 * K + at_72 : 0], cond_7 ? 16 : 0);
      }
    }
    kc_cp_async_commit();
  }
  kc_cp_async_wait<0>();
  alignas(16) unsigned short b_r[16];
  const int at_73 = lane % 4 * 2 + at_36;
#line 4 "linear.kc"
  #pragma unroll
  for (int jr_2 = 0; jr_2 < 8; ++jr_2) {
    const int at_74 = jr_2 * 2;
    const int at_75 = j0_ + (at_73 + jr_2 * 8);
    if (at_75 < N) {
      *(unsigned *)(&b_r[at_74]) = *(const unsigned *)(&b[at_75]);
    } else {
      b_r[at_74] = 0x0;
      b_r[at_74 + 1] = 0x0;
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
    const int a_3 = ir_2 * 32;
    #pragma unroll
    for (int jr_5 = 0; jr_5 < 8; ++jr_5) {
      const int b_5 = jr_5 * 2;
      const int a_4 = jr_5 * 4;
      #pragma unroll
      for (int ir_3 = 0; ir_3 < 2; ++ir_3) {
        const int a_5 = ir_3 * 2;
        #pragma unroll
        for (int jr_6 = 0; jr_6 < 2; ++jr_6) {
          const int a_6 = jr_6 + a_5 + a_4 + a_3;
          r[a_6] = kc_f32_to_bf16(a[a_6] + b_2[jr_6 + b_5]);
        }
      }
    }
  }
  const int at_76 = lane / 4 + at_35;
  #pragma unroll
  for (int ir_4 = 0; ir_4 < 4; ++ir_4) {
    const int at_77 = ir_4 * 32;
    const int at_78 = ir_4 * 16;
    #pragma unroll
    for (int jr_7 = 0; jr_7 < 8; ++jr_7) {
      const int at_79 = jr_7 * 4;
      const int at_80 = j0_ + (at_73 + jr_7 * 8);
      const bool cond_8 = at_80 < N;
      #pragma unroll
      for (int ir_5 = 0; ir_5 < 2; ++ir_5) {
        const int at_81 = ir_5 * 2 + at_79 + at_77;
        const int at_82 = i0 + (at_76 + ir_5 * 8 + at_78);
        if (at_82 < M && cond_8) {
          *(unsigned *)(&y[at_82 * N + at_80]) = *(const unsigned *)(&r[at_81]);
        }
      }
    }
  }
}
