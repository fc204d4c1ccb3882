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
    const int at_13 = (r0 * S + s0) * C;
    #pragma unroll
    for (int copy = 0; copy < 512; copy += 128) {
      const int at_14 = copy + tid;
      const int at_15 = at_14 / 16;
      const int at_16 = at_14 % 16 * 8;
      const int at_17 = at_16 % 64;
      const int at_18 = o0 + at_16;
      const int at_19 = c0 + at_15;
      const bool cond_4 = at_18 < O && at_19 < C;
      kc_cp_async_zfill_16(&f_1[at_16 / 64 * 2048 + at_15 * 64 + (at_17 / 8 ^ at_15 % 8) * 8 + at_17 % 8], &f[cond_4 ? (at_13 + at_19) * O + at_18 : 0], cond_4 ? 16 : 0);
    }
  }
  kc_cp_async_commit();
  if (c_tiles > 1) {
    const int c0 = 1 % at_8 * 32;
    const int at_9 = 1 / at_8;
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
      kc_cp_async_zfill_16(&x_1[at_14 * 32 + (at_15 / 8 ^ at_14 / 2 % 4) * 8 + at_15 % 8 + 4096], &x[cond_5 ? (at_12 + at_17) * C + at_16 : 0], cond_5 ? 16 : 0);
    }
    const int at_13 = (r0 * S + s0) * C;
    #pragma unroll
    for (int copy = 0; copy < 512; copy += 128) {
      const int at_14 = copy + tid;
      const int at_15 = at_14 / 16;
      const int at_16 = at_14 % 16 * 8;
      const int at_17 = at_16 % 64;
      const int at_18 = o0 + at_16;
      const int at_19 = c0 + at_15;
      const bool cond_4 = at_18 < O && at_19 < C;
      kc_cp_async_zfill_16(&f_1[at_16 / 64 * 2048 + at_15 * 64 + (at_17 / 8 ^ at_15 % 8) * 8 + at_17 % 8 + 4096], &f[cond_4 ? (at_13 + at_19) * O + at_18 : 0], cond_4 ? 16 : 0);
    }
  }
  kc_cp_async_commit();
  if (c_tiles > 2) {
    const int c0 = 2 % at_8 * 32;
    const int at_9 = 2 / at_8;
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
      kc_cp_async_zfill_16(&x_1[at_14 * 32 + (at_15 / 8 ^ at_14 / 2 % 4) * 8 + at_15 % 8 + 8192], &x[cond_5 ? (at_12 + at_17) * C + at_16 : 0], cond_5 ? 16 : 0);
    }
    const int at_13 = (r0 * S + s0) * C;
    #pragma unroll
    for (int copy = 0; copy < 512; copy += 128) {
      const int at_14 = copy + tid;
      const int at_15 = at_14 / 16;
      const int at_16 = at_14 % 16 * 8;
      const int at_17 = at_16 % 64;
      const int at_18 = o0 + at_16;
      const int at_19 = c0 + at_15;
      const bool cond_4 = at_18 < O && at_19 < C;
      kc_cp_async_zfill_16(&f_1[at_16 / 64 * 2048 + at_15 * 64 + (at_17 / 8 ^ at_15 % 8) * 8 + at_17 % 8 + 8192], &f[cond_4 ? (at_13 + at_19) * O + at_18 : 0], cond_4 ? 16 : 0);
    }
  }
  kc_cp_async_commit();
  alignas(16) float acc[128];
  #pragma unroll
  for (int wr = 0; wr < 4; ++wr) {
    #pragma unroll
    for (int or_ = 0; or_ < 8; ++or_) {
      #pragma unroll
      for (int wr_1 = 0; wr_1 < 2; ++wr_1) {
        #pragma unroll
        for (int or_1 = 0; or_1 < 2; ++or_1) {
          acc[or_1 + wr_1 * 2 + or_ * 4 + wr * 32] = 0.0f;
        }
      }
    }
  }
  const int tid = (int)threadIdx.x;
  const int warp = tid / 32;
  const int at_9 = warp % 2 * 64;
  const int at_10 = warp / 2 * 64;
  const int lane = tid % 32;
  const int at_11 = lane % 16;
  const int at_12 = lane / 16 * 8;
  const int at_13 = at_12 / 8;
  const int at_14 = at_12 % 8;
  const int at_15 = at_11 * 64;
  const int at_16 = at_11 % 8;
  for (int c_tile = 0; c_tile < c_tiles; ++c_tile) {
    kc_cp_async_wait<2>();
    __syncthreads();
    const int at_17 = c_tile % 4 * 4096;
    alignas(16) unsigned a[32];
    alignas(16) unsigned b[32];
    #pragma unroll
    for (int mi = 0; mi < 4; ++mi) {
      const int at_18 = at_9 + mi * 16 + at_11;
      kc_ldmatrix_x4(&a[mi * 4], &x_1[at_17 + (at_18 * 32 + (at_13 ^ at_18 / 2 % 4) * 8 + at_14)]);
    }
    #pragma unroll
    for (int np = 0; np < 4; ++np) {
      const int at_18 = at_10 + np * 16 + at_12;
      const int at_19 = at_18 % 64;
      kc_ldmatrix_x4_trans(&b[np * 4], &f_1[at_17 + (at_18 / 64 * 2048 + at_15 + (at_19 / 8 ^ at_16) * 8 + at_19 % 8)]);
    }
    #pragma unroll
    for (int step = 0; step < 2; ++step) {
      if (step + 1 < 2) {
        const int at_18 = (step + 1) % 2 * 16;
        const int at_19 = (step + 1) * 16 + at_12;
        const int at_20 = at_19 / 8;
        const int at_21 = at_19 % 8;
        #pragma unroll
        for (int mi = 0; mi < 4; ++mi) {
          const int at_22 = at_9 + mi * 16 + at_11;
          kc_ldmatrix_x4(&a[at_18 + mi * 4], &x_1[at_17 + (at_22 * 32 + (at_20 ^ at_22 / 2 % 4) * 8 + at_21)]);
        }
        const int at_22 = (step + 1) * 16 + at_11;
        const int at_23 = at_22 * 64;
        const int at_24 = at_22 % 8;
        #pragma unroll
        for (int np = 0; np < 4; ++np) {
          const int at_25 = at_10 + np * 16 + at_12;
          const int at_26 = at_25 % 64;
          kc_ldmatrix_x4_trans(&b[at_18 + np * 4], &f_1[at_17 + (at_25 / 64 * 2048 + at_23 + (at_26 / 8 ^ at_24) * 8 + at_26 % 8)]);
        }
      }
      const int at_18 = step % 2 * 16;
      #pragma unroll
      for (int mi = 0; mi < 4; ++mi) {
        const int at_19 = at_18 + mi * 4;
        #pragma unroll
        for (int ni = 0; ni < 8; ++ni) {
          kc_mma_m16n8k16_f16(&acc[(mi * 8 + ni) * 4], &a[at_19], &b[at_18 + ni * 2]);
        }
      }
    }
    const int acc_1 = c_tile + 3;
    if (acc_1 < c_tiles) {
      const int c0 = acc_1 % at_8 * 32;
      const int at_18 = acc_1 / at_8;
      const int s0 = at_18 % S;
      const int r0 = at_18 / S;
      const int at_19 = acc_1 % 4 * 4096;
      const bool cond = at_7 >= 0;
      const bool cond_1 = at_7 < N;
      const int at_20 = h_tile + r0 - R / 2;
      const bool cond_2 = at_20 >= 0;
      const bool cond_3 = at_20 < H;
      const int at_21 = S / 2;
      const int at_22 = (at_7 * H + at_20) * W;
      #pragma unroll
      for (int copy = 0; copy < 512; copy += 128) {
        const int at_23 = copy + tid;
        const int at_24 = at_23 / 4;
        const int at_25 = at_23 % 4 * 8;
        const int at_26 = c0 + at_25;
        const bool cond_4 = at_26 < C;
        const int at_27 = w0 + at_24 + s0 - at_21;
        const bool cond_5 = cond_4 && cond && cond_1 && cond_2 && cond_3 && at_27 >= 0 && at_27 < W && at_26 >= 0 && cond_4;
        kc_cp_async_zfill_16(&x_1[at_19 + (at_24 * 32 + (at_25 / 8 ^ at_24 / 2 % 4) * 8 + at_25 % 8)], &x[cond_5 ? (at_22 + at_27) * C + at_26 : 0], cond_5 ? 16 : 0);
      }
      const int at_23 = (r0 * S + s0) * C;
      #pragma unroll
      for (int copy = 0; copy < 512; copy += 128) {
        const int at_24 = copy + tid;
        const int at_25 = at_24 / 16;
        const int at_26 = at_24 % 16 * 8;
        const int at_27 = at_26 % 64;
        const int at_28 = o0 + at_26;
        const int at_29 = c0 + at_25;
        const bool cond_4 = at_28 < O && at_29 < C;
        kc_cp_async_zfill_16(&f_1[at_19 + (at_26 / 64 * 2048 + at_25 * 64 + (at_27 / 8 ^ at_25 % 8) * 8 + at_27 % 8)], &f[cond_4 ? (at_23 + at_29) * O + at_28 : 0], cond_4 ? 16 : 0);
      }
    }
    kc_cp_async_commit();
  }
  kc_cp_async_wait<0>();
  alignas(16) unsigned short r[128];
  #pragma unroll
  for (int wr = 0; wr < 4; ++wr) {
    const int acc_1 = wr * 32;
    #pragma unroll
    for (int or_ = 0; or_ < 8; ++or_) {
      const int acc_2 = or_ * 4;
      #pragma unroll
      for (int wr_1 = 0; wr_1 < 2; ++wr_1) {
        const int acc_3 = wr_1 * 2;
        #pragma unroll
        for (int or_1 = 0; or_1 < 2; ++or_1) {
          const int acc_4 = or_1 + acc_3 + acc_2 + acc_1;
          r[acc_4] = kc_f32_to_f16(acc[acc_4]);
        }
      }
    }
  }
  const int at_17 = lane / 4 + at_9;
  const int at_18 = lane % 4 * 2 + at_10;
  #pragma unroll
  for (int wr = 0; wr < 4; ++wr) {
    #pragma unroll
    for (int or_ = 0; or_ < 8; ++or_) {
      const int at_19 = o0 + (at_18 + or_ * 8);
      const bool cond = at_19 < O;
      #pragma unroll
      for (int wr_1 = 0; wr_1 < 2; ++wr_1) {
        const int at_20 = wr_1 * 2 + or_ * 4 + wr * 32;
        const int at_21 = w0 + (at_17 + wr_1 * 8 + wr * 16);
        if (at_21 < W && cond) {
          *(unsigned *)(&y[((at_7 * H + h_tile) * W + at_21) * O + at_19]) = *(const unsigned *)(&r[at_20]);
        }
      }
    }
  }
}
