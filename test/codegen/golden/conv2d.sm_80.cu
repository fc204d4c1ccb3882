// kernel conv2d of conv2d.kc:2, for sm_80
// assumes C % 8 == 0 and O % 8 == 0 and fits32(x) and fits32(f) and fits32(y) and fits32(workspace) and fits32(workspace)

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
static __device__ __forceinline__ void kc_ldmatrix_x4_trans(unsigned *r, const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(kc_address(row)) : "memory");
}
static __device__ __forceinline__ void kc_mma_m16n8k16_f16(float *d, const unsigned *a, const unsigned *b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
static __device__ __forceinline__ unsigned short kc_f32_to_f16(float v) {
  unsigned short r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(v));
  return r;
}
#endif

// schedule: tile n 1; tile h 1; tile w 128; tile o 128; tile r 1; tile s 1; tile c 32; warps 4; unit mma; stages 4
#line 3 "conv2d.kc"
extern "C" __global__ void __launch_bounds__(128, 2) kc_conv2d(unsigned short *__restrict__ x, unsigned short *__restrict__ f, unsigned short *__restrict__ y, const int N, const int H, const int W, const int C, const int R, const int S, const int O) {
  const int block = (int)blockIdx.x;
  const int w_tiles = (W + 127) / 128;
  const int o_tiles = (O + 127) / 128;
  const int i = w_tiles * o_tiles;
  const int i_1 = block % i;
  const int i_2 = block / i;
  const int i_3 = o_tiles * 8;
  const int i_4 = i_1 % i_3;
  const int i_5 = i_1 / i_3 * 8;
  const int i_6 = min(w_tiles - i_5, 8);
  const int h_tile = i_2 % H;
  const int i_7 = i_2 / H;
  const int w0 = (i_5 + i_4 % i_6) * 128;
  const int o0 = i_4 / i_6 * 128;
  const int acc = (C + 31) / 32;
  const int acc_1 = R * S * acc;
  unsigned short *const x_1 = (unsigned short *)(kc_shared());
  unsigned short *const f_1 = (unsigned short *)(kc_shared() + 32768);
  if (acc_1 > 0) {
    const int c0 = 0 % acc * 32;
    const int s0 = 0 / acc;
    const int s0_1 = s0 % S;
    const int r0 = s0 / S;
    const int tid = (int)threadIdx.x;
    const bool cond = i_7 >= 0;
    const bool cond_1 = i_7 < N;
    const int i_8 = h_tile + r0 - R / 2;
    const bool cond_2 = i_8 >= 0;
    const bool cond_3 = i_8 < H;
    const int i_9 = S / 2;
    const int i_10 = (i_7 * H + i_8) * W;
    #pragma unroll
    for (int copy = 0; copy < 512; copy += 128) {
      const int i_11 = copy + tid;
      const int i_12 = i_11 / 4;
      const int i_13 = i_11 % 4 * 8;
      const int i_14 = w0 + i_12;
      const int i_15 = c0 + i_13;
      const bool cond_4 = i_14 < W;
      const bool cond_5 = i_15 < C;
      const int i_16 = i_14 + s0_1 - i_9;
      const bool cond_6 = cond_4 && cond_5 && cond && cond_1 && cond_2 && cond_3 && i_16 >= 0 && i_16 < W && i_15 >= 0 && cond_5;
      kc_cp_async_zfill_16(&x_1[i_12 * 32 + (i_13 / 8 ^ i_12 / 2 % 4) * 8 + i_13 % 8], &x[cond_6 ? (i_10 + i_16) * C + i_15 : 0], cond_6 ? 16 : 0);
    }
    const int i_17 = (r0 * S + s0_1) * C;
    #pragma unroll
    for (int copy_1 = 0; copy_1 < 512; copy_1 += 128) {
      const int i_18 = copy_1 + tid;
      const int i_19 = i_18 / 16;
      const int i_20 = i_18 % 16 * 8;
      const int i_21 = o0 + i_20;
      const int i_22 = c0 + i_19;
      const bool cond_7 = i_21 < O && i_22 < C;
      const int i_23 = i_20 % 64;
      kc_cp_async_zfill_16(&f_1[i_20 / 64 * 2048 + i_19 * 64 + (i_23 / 8 ^ i_19 % 8) * 8 + i_23 % 8], &f[cond_7 ? (i_17 + i_22) * O + i_21 : 0], cond_7 ? 16 : 0);
    }
  }
  kc_cp_async_commit();
  if (acc_1 > 1) {
    const int c0_1 = 1 % acc * 32;
    const int s0_2 = 1 / acc;
    const int s0_3 = s0_2 % S;
    const int r0_1 = s0_2 / S;
    const int tid_1 = (int)threadIdx.x;
    const bool cond_8 = i_7 >= 0;
    const bool cond_9 = i_7 < N;
    const int i_24 = h_tile + r0_1 - R / 2;
    const bool cond_10 = i_24 >= 0;
    const bool cond_11 = i_24 < H;
    const int i_25 = S / 2;
    const int i_26 = (i_7 * H + i_24) * W;
    #pragma unroll
    for (int copy_2 = 0; copy_2 < 512; copy_2 += 128) {
      const int i_27 = copy_2 + tid_1;
      const int i_28 = i_27 / 4;
      const int i_29 = i_27 % 4 * 8;
      const int i_30 = w0 + i_28;
      const int i_31 = c0_1 + i_29;
      const bool cond_12 = i_30 < W;
      const bool cond_13 = i_31 < C;
      const int i_32 = i_30 + s0_3 - i_25;
      const bool cond_14 = cond_12 && cond_13 && cond_8 && cond_9 && cond_10 && cond_11 && i_32 >= 0 && i_32 < W && i_31 >= 0 && cond_13;
      kc_cp_async_zfill_16(&x_1[i_28 * 32 + (i_29 / 8 ^ i_28 / 2 % 4) * 8 + i_29 % 8 + 4096], &x[cond_14 ? (i_26 + i_32) * C + i_31 : 0], cond_14 ? 16 : 0);
    }
    const int i_33 = (r0_1 * S + s0_3) * C;
    #pragma unroll
    for (int copy_3 = 0; copy_3 < 512; copy_3 += 128) {
      const int i_34 = copy_3 + tid_1;
      const int i_35 = i_34 / 16;
      const int i_36 = i_34 % 16 * 8;
      const int i_37 = o0 + i_36;
      const int i_38 = c0_1 + i_35;
      const bool cond_15 = i_37 < O && i_38 < C;
      const int i_39 = i_36 % 64;
      kc_cp_async_zfill_16(&f_1[i_36 / 64 * 2048 + i_35 * 64 + (i_39 / 8 ^ i_35 % 8) * 8 + i_39 % 8 + 4096], &f[cond_15 ? (i_33 + i_38) * O + i_37 : 0], cond_15 ? 16 : 0);
    }
  }
  kc_cp_async_commit();
  if (acc_1 > 2) {
    const int c0_2 = 2 % acc * 32;
    const int s0_4 = 2 / acc;
    const int s0_5 = s0_4 % S;
    const int r0_2 = s0_4 / S;
    const int tid_2 = (int)threadIdx.x;
    const bool cond_16 = i_7 >= 0;
    const bool cond_17 = i_7 < N;
    const int i_40 = h_tile + r0_2 - R / 2;
    const bool cond_18 = i_40 >= 0;
    const bool cond_19 = i_40 < H;
    const int i_41 = S / 2;
    const int i_42 = (i_7 * H + i_40) * W;
    #pragma unroll
    for (int copy_4 = 0; copy_4 < 512; copy_4 += 128) {
      const int i_43 = copy_4 + tid_2;
      const int i_44 = i_43 / 4;
      const int i_45 = i_43 % 4 * 8;
      const int i_46 = w0 + i_44;
      const int i_47 = c0_2 + i_45;
      const bool cond_20 = i_46 < W;
      const bool cond_21 = i_47 < C;
      const int i_48 = i_46 + s0_5 - i_41;
      const bool cond_22 = cond_20 && cond_21 && cond_16 && cond_17 && cond_18 && cond_19 && i_48 >= 0 && i_48 < W && i_47 >= 0 && cond_21;
      kc_cp_async_zfill_16(&x_1[i_44 * 32 + (i_45 / 8 ^ i_44 / 2 % 4) * 8 + i_45 % 8 + 8192], &x[cond_22 ? (i_42 + i_48) * C + i_47 : 0], cond_22 ? 16 : 0);
    }
    const int i_49 = (r0_2 * S + s0_5) * C;
    #pragma unroll
    for (int copy_5 = 0; copy_5 < 512; copy_5 += 128) {
      const int i_50 = copy_5 + tid_2;
      const int i_51 = i_50 / 16;
      const int i_52 = i_50 % 16 * 8;
      const int i_53 = o0 + i_52;
      const int i_54 = c0_2 + i_51;
      const bool cond_23 = i_53 < O && i_54 < C;
      const int i_55 = i_52 % 64;
      kc_cp_async_zfill_16(&f_1[i_52 / 64 * 2048 + i_51 * 64 + (i_55 / 8 ^ i_51 % 8) * 8 + i_55 % 8 + 8192], &f[cond_23 ? (i_49 + i_54) * O + i_53 : 0], cond_23 ? 16 : 0);
    }
  }
  kc_cp_async_commit();
  alignas(16) float acc_2[128];
  #pragma unroll
  for (int wr = 0; wr < 4; ++wr) {
    const int i_56 = wr * 32;
    #pragma unroll
    for (int or_ = 0; or_ < 8; ++or_) {
      const int i_57 = or_ * 4;
      #pragma unroll
      for (int wr_1 = 0; wr_1 < 2; ++wr_1) {
        const int i_58 = wr_1 * 2;
        #pragma unroll
        for (int or__1 = 0; or__1 < 2; ++or__1) {
          acc_2[or__1 + i_58 + i_57 + i_56] = 0.0f;
        }
      }
    }
  }
  const int tid_3 = (int)threadIdx.x;
  const int warp = tid_3 / 32;
  const int i_59 = warp % 2 * 64;
  const int i_60 = warp / 2 * 64;
  const int lane = tid_3 % 32;
  const int i_61 = lane % 16;
  const int i_62 = lane / 16 * 8;
  const int i_63 = i_62 / 8;
  const int i_64 = i_62 % 8;
  const int i_65 = i_61 * 64;
  const int i_66 = i_61 % 8;
  for (int c_tile = 0; c_tile < acc_1; ++c_tile) {
    kc_cp_async_wait<2>();
    __syncthreads();
    const int i_67 = c_tile % 4 * 4096;
    alignas(16) unsigned a[32];
    alignas(16) unsigned b[32];
    #pragma unroll
    for (int mi = 0; mi < 4; ++mi) {
      const int i_68 = i_59 + mi * 16 + i_61;
      kc_ldmatrix_x4(&a[mi * 4], &x_1[i_67 + (i_68 * 32 + (i_63 ^ i_68 / 2 % 4) * 8 + i_64)]);
    }
    #pragma unroll
    for (int np = 0; np < 4; ++np) {
      const int i_69 = i_60 + np * 16 + i_62;
      const int i_70 = i_69 % 64;
      kc_ldmatrix_x4_trans(&b[np * 4], &f_1[i_67 + (i_69 / 64 * 2048 + i_65 + (i_70 / 8 ^ i_66) * 8 + i_70 % 8)]);
    }
    #pragma unroll
    for (int step = 0; step < 2; ++step) {
      const int i_71 = step + 1;
      if (i_71 < 2) {
        const int i_72 = i_71 * 16;
        const int i_73 = i_72 + i_62;
        const int i_74 = i_73 / 8;
        const int i_75 = i_73 % 8;
        const int i_76 = i_71 % 2 * 16;
        #pragma unroll
        for (int mi_1 = 0; mi_1 < 4; ++mi_1) {
          const int i_77 = i_59 + mi_1 * 16 + i_61;
          kc_ldmatrix_x4(&a[i_76 + mi_1 * 4], &x_1[i_67 + (i_77 * 32 + (i_74 ^ i_77 / 2 % 4) * 8 + i_75)]);
        }
        const int i_78 = i_72 + i_61;
        const int i_79 = i_78 * 64;
        const int i_80 = i_78 % 8;
        #pragma unroll
        for (int np_1 = 0; np_1 < 4; ++np_1) {
          const int i_81 = i_60 + np_1 * 16 + i_62;
          const int i_82 = i_81 % 64;
          kc_ldmatrix_x4_trans(&b[i_76 + np_1 * 4], &f_1[i_67 + (i_81 / 64 * 2048 + i_79 + (i_82 / 8 ^ i_80) * 8 + i_82 % 8)]);
        }
      }
      const int i_83 = step % 2 * 16;
      #pragma unroll
      for (int mi_2 = 0; mi_2 < 4; ++mi_2) {
        const int i_84 = mi_2 * 8;
        const int i_85 = i_83 + mi_2 * 4;
        #pragma unroll
        for (int ni = 0; ni < 8; ++ni) {
          kc_mma_m16n8k16_f16(&acc_2[(i_84 + ni) * 4], &a[i_85], &b[i_83 + ni * 2]);
        }
      }
    }
    const int acc_3 = c_tile + 3;
    if (acc_3 < acc_1) {
      const int c0_3 = acc_3 % acc * 32;
      const int s0_6 = acc_3 / acc;
      const int s0_7 = s0_6 % S;
      const int r0_3 = s0_6 / S;
      const int i_86 = acc_3 % 4 * 4096;
      const bool cond_24 = i_7 >= 0;
      const bool cond_25 = i_7 < N;
      const int i_87 = h_tile + r0_3 - R / 2;
      const bool cond_26 = i_87 >= 0;
      const bool cond_27 = i_87 < H;
      const int i_88 = S / 2;
      const int i_89 = (i_7 * H + i_87) * W;
      #pragma unroll
      for (int copy_6 = 0; copy_6 < 512; copy_6 += 128) {
        const int i_90 = copy_6 + tid_3;
        const int i_91 = i_90 / 4;
        const int i_92 = i_90 % 4 * 8;
        const int i_93 = w0 + i_91;
        const int i_94 = c0_3 + i_92;
        const bool cond_28 = i_93 < W;
        const bool cond_29 = i_94 < C;
        const int i_95 = i_93 + s0_7 - i_88;
        const bool cond_30 = cond_28 && cond_29 && cond_24 && cond_25 && cond_26 && cond_27 && i_95 >= 0 && i_95 < W && i_94 >= 0 && cond_29;
        kc_cp_async_zfill_16(&x_1[i_86 + (i_91 * 32 + (i_92 / 8 ^ i_91 / 2 % 4) * 8 + i_92 % 8)], &x[cond_30 ? (i_89 + i_95) * C + i_94 : 0], cond_30 ? 16 : 0);
      }
      const int i_96 = (r0_3 * S + s0_7) * C;
      #pragma unroll
      for (int copy_7 = 0; copy_7 < 512; copy_7 += 128) {
        const int i_97 = copy_7 + tid_3;
        const int i_98 = i_97 / 16;
        const int i_99 = i_97 % 16 * 8;
        const int i_100 = o0 + i_99;
        const int i_101 = c0_3 + i_98;
        const bool cond_31 = i_100 < O && i_101 < C;
        const int i_102 = i_99 % 64;
        kc_cp_async_zfill_16(&f_1[i_86 + (i_99 / 64 * 2048 + i_98 * 64 + (i_102 / 8 ^ i_98 % 8) * 8 + i_102 % 8)], &f[cond_31 ? (i_96 + i_101) * O + i_100 : 0], cond_31 ? 16 : 0);
      }
    }
    kc_cp_async_commit();
  }
  kc_cp_async_wait<0>();
  alignas(16) unsigned short r[128];
  #pragma unroll
  for (int wr_2 = 0; wr_2 < 4; ++wr_2) {
    const int acc_4 = wr_2 * 32;
    #pragma unroll
    for (int or__2 = 0; or__2 < 8; ++or__2) {
      const int acc_5 = or__2 * 4;
      #pragma unroll
      for (int wr_3 = 0; wr_3 < 2; ++wr_3) {
        const int acc_6 = wr_3 * 2;
        #pragma unroll
        for (int or__3 = 0; or__3 < 2; ++or__3) {
          const int acc_7 = or__3 + acc_6 + acc_5 + acc_4;
          r[acc_7] = kc_f32_to_f16(acc_2[acc_7]);
        }
      }
    }
  }
  const int i_103 = lane / 4 + i_59;
  const int i_104 = lane % 4 * 2 + i_60;
  #pragma unroll
  for (int wr_4 = 0; wr_4 < 4; ++wr_4) {
    const int i_105 = wr_4 * 32;
    const int i_106 = wr_4 * 16;
    #pragma unroll
    for (int or__4 = 0; or__4 < 8; ++or__4) {
      const int i_107 = or__4 * 4;
      const int i_108 = o0 + (i_104 + or__4 * 8);
      const bool cond_32 = i_108 < O;
      #pragma unroll
      for (int wr_5 = 0; wr_5 < 2; ++wr_5) {
        const int i_109 = wr_5 * 2 + i_107 + i_105;
        const int i_110 = w0 + (i_103 + wr_5 * 8 + i_106);
        if (i_110 < W && cond_32) {
          *(unsigned *)(&y[((i_7 * H + h_tile) * W + i_110) * O + i_108]) = *(const unsigned *)(&r[i_109]);
        }
      }
    }
  }
}
