// kernel conv2d of conv2d.kc:2, for sm_80
// assumes C % 8 == 0 and O % 8 == 0 and fits32(x) and fits32(f) and fits32(y) and fits32(workspace)

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
  const int at = w_tiles * o_tiles;
  const int at_1 = block % at;
  const int at_2 = block / at;
  const int at_3 = o_tiles * 8;
  const int at_4 = at_1 % at_3;
  const int at_5 = at_1 / at_3 * 8;
  const int at_6 = min(w_tiles - at_5, 8);
  const int h_tile = at_2 % H;
  const int at_7 = at_2 / H;
  const int w0 = (at_5 + at_4 % at_6) * 128;
  const int o0 = at_4 / at_6 * 128;
  const int at_8 = (C + 31) / 32;
  const int c_tiles = R * S * at_8;
  unsigned short *const x_1 = (unsigned short *)(kc_shared());
  unsigned short *const f_1 = (unsigned short *)(kc_shared() + 32768);
  if (c_tiles > 0) {
    const int c0 = 0 % at_8 * 32;
    const int at_9 = 0 / at_8;
    const int s0 = at_9 % S;
    const int r0 = at_9 / S;
    const int tid = (int)threadIdx.x;
    const bool cond = at_7 >= 0;
    const bool cond_1 = at_7 < N;
    const int at_10 = h_tile + r0 - R / 2;
    const bool cond_2 = at_10 >= 0;
    const bool cond_3 = at_10 < H;
    const int at_11 = S / 2;
    const int at_12 = (at_7 * H + at_10) * W;
    #pragma unroll
    for (int copy = 0; copy < 512; copy += 128) {
      const int at_13 = copy + tid;
      const int at_14 = at_13 / 4;
      const int at_15 = at_13 % 4 * 8;
      const int at_16 = c0 + at_15;
      const bool cond_4 = at_16 < C;
      const int at_17 = w0 + at_14 + s0 - at_11;
      const bool cond_5 = cond_4 && cond && cond_1 && cond_2 && cond_3 && at_17 >= 0 && at_17 < W && at_16 >= 0 && cond_4;
      kc_cp_async_zfill_16(&x_1[at_14 * 32 + (at_15 / 8 ^ at_14 / 2 % 4) * 8 + at_15 % 8], &x[cond_5 ? (at_12 + at_17) * C + at_16 : 0], cond_5 ? 16 : 0);
    }
    const int at_18 = (r0 * S + s0) * C;
    #pragma unroll
    for (int copy_1 = 0; copy_1 < 512; copy_1 += 128) {
      const int at_19 = copy_1 + tid;
      const int at_20 = at_19 / 16;
      const int at_21 = at_19 % 16 * 8;
      const int at_22 = at_21 % 64;
      const int at_23 = o0 + at_21;
      const int at_24 = c0 + at_20;
      const bool cond_6 = at_23 < O && at_24 < C;
      kc_cp_async_zfill_16(&f_1[at_21 / 64 * 2048 + at_20 * 64 + (at_22 / 8 ^ at_20 % 8) * 8 + at_22 % 8], &f[cond_6 ? (at_18 + at_24) * O + at_23 : 0], cond_6 ? 16 : 0);
    }
  }
  kc_cp_async_commit();
  if (c_tiles > 1) {
    const int c0_1 = 1 % at_8 * 32;
    const int at_25 = 1 / at_8;
    const int s0_1 = at_25 % S;
    const int r0_1 = at_25 / S;
    const int tid_1 = (int)threadIdx.x;
    const bool cond_7 = at_7 >= 0;
    const bool cond_8 = at_7 < N;
    const int at_26 = h_tile + r0_1 - R / 2;
    const bool cond_9 = at_26 >= 0;
    const bool cond_10 = at_26 < H;
    const int at_27 = S / 2;
    const int at_28 = (at_7 * H + at_26) * W;
    #pragma unroll
    for (int copy_2 = 0; copy_2 < 512; copy_2 += 128) {
      const int at_29 = copy_2 + tid_1;
      const int at_30 = at_29 / 4;
      const int at_31 = at_29 % 4 * 8;
      const int at_32 = c0_1 + at_31;
      const bool cond_11 = at_32 < C;
      const int at_33 = w0 + at_30 + s0_1 - at_27;
      const bool cond_12 = cond_11 && cond_7 && cond_8 && cond_9 && cond_10 && at_33 >= 0 && at_33 < W && at_32 >= 0 && cond_11;
      kc_cp_async_zfill_16(&x_1[at_30 * 32 + (at_31 / 8 ^ at_30 / 2 % 4) * 8 + at_31 % 8 + 4096], &x[cond_12 ? (at_28 + at_33) * C + at_32 : 0], cond_12 ? 16 : 0);
    }
    const int at_34 = (r0_1 * S + s0_1) * C;
    #pragma unroll
    for (int copy_3 = 0; copy_3 < 512; copy_3 += 128) {
      const int at_35 = copy_3 + tid_1;
      const int at_36 = at_35 / 16;
      const int at_37 = at_35 % 16 * 8;
      const int at_38 = at_37 % 64;
      const int at_39 = o0 + at_37;
      const int at_40 = c0_1 + at_36;
      const bool cond_13 = at_39 < O && at_40 < C;
      kc_cp_async_zfill_16(&f_1[at_37 / 64 * 2048 + at_36 * 64 + (at_38 / 8 ^ at_36 % 8) * 8 + at_38 % 8 + 4096], &f[cond_13 ? (at_34 + at_40) * O + at_39 : 0], cond_13 ? 16 : 0);
    }
  }
  kc_cp_async_commit();
  if (c_tiles > 2) {
    const int c0_2 = 2 % at_8 * 32;
    const int at_41 = 2 / at_8;
    const int s0_2 = at_41 % S;
    const int r0_2 = at_41 / S;
    const int tid_2 = (int)threadIdx.x;
    const bool cond_14 = at_7 >= 0;
    const bool cond_15 = at_7 < N;
    const int at_42 = h_tile + r0_2 - R / 2;
    const bool cond_16 = at_42 >= 0;
    const bool cond_17 = at_42 < H;
    const int at_43 = S / 2;
    const int at_44 = (at_7 * H + at_42) * W;
    #pragma unroll
    for (int copy_4 = 0; copy_4 < 512; copy_4 += 128) {
      const int at_45 = copy_4 + tid_2;
      const int at_46 = at_45 / 4;
      const int at_47 = at_45 % 4 * 8;
      const int at_48 = c0_2 + at_47;
      const bool cond_18 = at_48 < C;
      const int at_49 = w0 + at_46 + s0_2 - at_43;
      const bool cond_19 = cond_18 && cond_14 && cond_15 && cond_16 && cond_17 && at_49 >= 0 && at_49 < W && at_48 >= 0 && cond_18;
      kc_cp_async_zfill_16(&x_1[at_46 * 32 + (at_47 / 8 ^ at_46 / 2 % 4) * 8 + at_47 % 8 + 8192], &x[cond_19 ? (at_44 + at_49) * C + at_48 : 0], cond_19 ? 16 : 0);
    }
    const int at_50 = (r0_2 * S + s0_2) * C;
    #pragma unroll
    for (int copy_5 = 0; copy_5 < 512; copy_5 += 128) {
      const int at_51 = copy_5 + tid_2;
      const int at_52 = at_51 / 16;
      const int at_53 = at_51 % 16 * 8;
      const int at_54 = at_53 % 64;
      const int at_55 = o0 + at_53;
      const int at_56 = c0_2 + at_52;
      const bool cond_20 = at_55 < O && at_56 < C;
      kc_cp_async_zfill_16(&f_1[at_53 / 64 * 2048 + at_52 * 64 + (at_54 / 8 ^ at_52 % 8) * 8 + at_54 % 8 + 8192], &f[cond_20 ? (at_50 + at_56) * O + at_55 : 0], cond_20 ? 16 : 0);
    }
  }
  kc_cp_async_commit();
  alignas(16) float acc[128];
  #pragma unroll
  for (int wr = 0; wr < 4; ++wr) {
    const int at_57 = wr * 32;
    #pragma unroll
    for (int or_ = 0; or_ < 8; ++or_) {
      const int at_58 = or_ * 4;
      #pragma unroll
      for (int wr_1 = 0; wr_1 < 2; ++wr_1) {
        const int at_59 = wr_1 * 2;
        #pragma unroll
        for (int or__1 = 0; or__1 < 2; ++or__1) {
          acc[or__1 + at_59 + at_58 + at_57] = 0.0f;
        }
      }
    }
  }
  const int tid_3 = (int)threadIdx.x;
  const int warp = tid_3 / 32;
  const int at_60 = warp % 2 * 64;
  const int at_61 = warp / 2 * 64;
  const int lane = tid_3 % 32;
  const int at_62 = lane % 16;
  const int at_63 = lane / 16 * 8;
  const int at_64 = at_63 / 8;
  const int at_65 = at_63 % 8;
  const int at_66 = at_62 * 64;
  const int at_67 = at_62 % 8;
  for (int c_tile = 0; c_tile < c_tiles; ++c_tile) {
    kc_cp_async_wait<2>();
    __syncthreads();
    const int at_68 = c_tile % 4 * 4096;
    alignas(16) unsigned a[32];
    alignas(16) unsigned b[32];
    #pragma unroll
    for (int mi = 0; mi < 4; ++mi) {
      const int at_69 = at_60 + mi * 16 + at_62;
      kc_ldmatrix_x4(&a[mi * 4], &x_1[at_68 + (at_69 * 32 + (at_64 ^ at_69 / 2 % 4) * 8 + at_65)]);
    }
    #pragma unroll
    for (int np = 0; np < 4; ++np) {
      const int at_70 = at_61 + np * 16 + at_63;
      const int at_71 = at_70 % 64;
      kc_ldmatrix_x4_trans(&b[np * 4], &f_1[at_68 + (at_70 / 64 * 2048 + at_66 + (at_71 / 8 ^ at_67) * 8 + at_71 % 8)]);
    }
    #pragma unroll
    for (int step = 0; step < 2; ++step) {
      const int at_72 = step + 1;
      if (at_72 < 2) {
        const int at_73 = at_72 * 16;
        const int at_74 = at_72 % 2 * 16;
        const int at_75 = at_73 + at_63;
        const int at_76 = at_75 / 8;
        const int at_77 = at_75 % 8;
        #pragma unroll
        for (int mi_1 = 0; mi_1 < 4; ++mi_1) {
          const int at_78 = at_60 + mi_1 * 16 + at_62;
          kc_ldmatrix_x4(&a[at_74 + mi_1 * 4], &x_1[at_68 + (at_78 * 32 + (at_76 ^ at_78 / 2 % 4) * 8 + at_77)]);
        }
        const int at_79 = at_73 + at_62;
        const int at_80 = at_79 * 64;
        const int at_81 = at_79 % 8;
        #pragma unroll
        for (int np_1 = 0; np_1 < 4; ++np_1) {
          const int at_82 = at_61 + np_1 * 16 + at_63;
          const int at_83 = at_82 % 64;
          kc_ldmatrix_x4_trans(&b[at_74 + np_1 * 4], &f_1[at_68 + (at_82 / 64 * 2048 + at_80 + (at_83 / 8 ^ at_81) * 8 + at_83 % 8)]);
        }
      }
      const int at_84 = step % 2 * 16;
      #pragma unroll
      for (int mi_2 = 0; mi_2 < 4; ++mi_2) {
        const int at_85 = mi_2 * 8;
        const int at_86 = at_84 + mi_2 * 4;
        #pragma unroll
        for (int ni = 0; ni < 8; ++ni) {
          kc_mma_m16n8k16_f16(&acc[(at_85 + ni) * 4], &a[at_86], &b[at_84 + ni * 2]);
        }
      }
    }
    const int acc_1 = c_tile + 3;
    if (acc_1 < c_tiles) {
      const int c0_3 = acc_1 % at_8 * 32;
      const int at_87 = acc_1 / at_8;
      const int s0_3 = at_87 % S;
      const int r0_3 = at_87 / S;
      const int at_88 = acc_1 % 4 * 4096;
      const bool cond_21 = at_7 >= 0;
      const bool cond_22 = at_7 < N;
      const int at_89 = h_tile + r0_3 - R / 2;
      const bool cond_23 = at_89 >= 0;
      const bool cond_24 = at_89 < H;
      const int at_90 = S / 2;
      const int at_91 = (at_7 * H + at_89) * W;
      #pragma unroll
      for (int copy_6 = 0; copy_6 < 512; copy_6 += 128) {
        const int at_92 = copy_6 + tid_3;
        const int at_93 = at_92 / 4;
        const int at_94 = at_92 % 4 * 8;
        const int at_95 = c0_3 + at_94;
        const bool cond_25 = at_95 < C;
        const int at_96 = w0 + at_93 + s0_3 - at_90;
        const bool cond_26 = cond_25 && cond_21 && cond_22 && cond_23 && cond_24 && at_96 >= 0 && at_96 < W && at_95 >= 0 && cond_25;
        kc_cp_async_zfill_16(&x_1[at_88 + (at_93 * 32 + (at_94 / 8 ^ at_93 / 2 % 4) * 8 + at_94 % 8)], &x[cond_26 ? (at_91 + at_96) * C + at_95 : 0], cond_26 ? 16 : 0);
      }
      const int at_97 = (r0_3 * S + s0_3) * C;
      #pragma unroll
      for (int copy_7 = 0; copy_7 < 512; copy_7 += 128) {
        const int at_98 = copy_7 + tid_3;
        const int at_99 = at_98 / 16;
        const int at_100 = at_98 % 16 * 8;
        const int at_101 = at_100 % 64;
        const int at_102 = o0 + at_100;
        const int at_103 = c0_3 + at_99;
        const bool cond_27 = at_102 < O && at_103 < C;
        kc_cp_async_zfill_16(&f_1[at_88 + (at_100 / 64 * 2048 + at_99 * 64 + (at_101 / 8 ^ at_99 % 8) * 8 + at_101 % 8)], &f[cond_27 ? (at_97 + at_103) * O + at_102 : 0], cond_27 ? 16 : 0);
      }
    }
    kc_cp_async_commit();
  }
  kc_cp_async_wait<0>();
  alignas(16) unsigned short r[128];
  #pragma unroll
  for (int wr_2 = 0; wr_2 < 4; ++wr_2) {
    const int acc_2 = wr_2 * 32;
    #pragma unroll
    for (int or__2 = 0; or__2 < 8; ++or__2) {
      const int acc_3 = or__2 * 4;
      #pragma unroll
      for (int wr_3 = 0; wr_3 < 2; ++wr_3) {
        const int acc_4 = wr_3 * 2;
        #pragma unroll
        for (int or__3 = 0; or__3 < 2; ++or__3) {
          const int acc_5 = or__3 + acc_4 + acc_3 + acc_2;
          r[acc_5] = kc_f32_to_f16(acc[acc_5]);
        }
      }
    }
  }
  const int at_104 = lane / 4 + at_60;
  const int at_105 = lane % 4 * 2 + at_61;
  #pragma unroll
  for (int wr_4 = 0; wr_4 < 4; ++wr_4) {
    const int at_106 = wr_4 * 32;
    const int at_107 = wr_4 * 16;
    #pragma unroll
    for (int or__4 = 0; or__4 < 8; ++or__4) {
      const int at_108 = or__4 * 4;
      const int at_109 = o0 + (at_105 + or__4 * 8);
      const bool cond_28 = at_109 < O;
      #pragma unroll
      for (int wr_5 = 0; wr_5 < 2; ++wr_5) {
        const int at_110 = wr_5 * 2 + at_108 + at_106;
        const int at_111 = w0 + (at_104 + wr_5 * 8 + at_107);
        if (at_111 < W && cond_28) {
          *(unsigned *)(&y[((at_7 * H + h_tile) * W + at_111) * O + at_109]) = *(const unsigned *)(&r[at_110]);
        }
      }
    }
  }
}
