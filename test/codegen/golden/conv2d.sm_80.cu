// kernel conv2d of conv2d.kc:2, for sm_80
// assumes C % 8 == 0 and O % 8 == 0, and that indices of 32 bits reach all of x, f, y
// launch kc_conv2d: ((N * H) * ceildiv(W, 128)) * ceildiv(O, 128) blocks of 128 threads, 65536 bytes of shared memory

// Types that travel as their bits.
typedef unsigned short f16;

#ifndef KC_HOST // for a GPU; the emulator brings its own
static __device__ __forceinline__ unsigned char *kc_shared() {
  extern __shared__ __align__(1024) unsigned char kc_memory[];
  return kc_memory;
}
static __device__ __forceinline__ unsigned kc_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
static __device__ __forceinline__ void kc_cp_async_zfill_16(void *to, const void *from, int bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(kc_address(to)), "l"(from), "r"(bytes)
               : "memory");
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
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
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
extern "C" __global__ void __launch_bounds__(128, 2) kc_conv2d(const f16 *__restrict__ x, const f16 *__restrict__ f,
    f16 *__restrict__ y, const int H, const int W, const int C, const int R, const int S, const int O) {
  constexpr int slot_size = 4096; // elements
  constexpr int stages = 4; // slots
  const int block = (int)blockIdx.x;
  const int w_tiles = (W + 127) / 128;
  const int o_tiles = (O + 127) / 128;
  const int plane_tiles = w_tiles * o_tiles;
  const int in_plane = block % plane_tiles;
  const int plane = block / plane_tiles;
  const int groups = (w_tiles + 7) / 8;
  const int most_rows = (w_tiles + (groups - 1)) / groups;
  const int group_tiles = most_rows * o_tiles;
  const int in_group = in_plane % group_tiles;
  const int group_row = in_plane / group_tiles * most_rows;
  const int group_rows = min(w_tiles - group_row, most_rows);
  const int h_tile = plane % H;
  const int n_tile = plane / H;
  const int w0 = (group_row + in_group % group_rows) * 128;
  const int o0 = in_group / group_rows * 128;
  const int C_tiles = (C + 31) / 32;
  const int r_s_c_tiles = R * S * C_tiles;
  // 4 slots of 128 by 32 elements.
  f16 *const x_slots = (f16 *)kc_shared();
  // 4 slots of 128 by 32 elements.
  f16 *const f_slots = x_slots + stages * slot_size;
  const int tid = (int)threadIdx.x;
  const int lane = tid % 32;
  const int warp = tid / 32;
  // Brings a tile into its slot.
  const auto fill = [&](const int r_s_c_tile) {
    if (r_s_c_tile < r_s_c_tiles) {
      const int c0 = r_s_c_tile % C_tiles * 32;
      const int r_s_c_tile_div_C_tiles = r_s_c_tile / C_tiles;
      const int s0 = r_s_c_tile_div_C_tiles % S;
      const int r0 = r_s_c_tile_div_C_tiles / S;
      const int slot_start = r_s_c_tile % stages * slot_size;
      const int w_lane = lane / 4;
      const int w_thread = w_lane + warp * 8;
      const int c = c0 + lane % 4 * 8;
      const int h_r = h_tile + r0 - R / 2;
      const bool inside = c < C && h_r >= 0 && h_r < H;
      const int x_at = ((n_tile * H + h_r) * W + (w0 + w_thread + s0 - S / 2)) * C + c;
      const int x_in_slot = slot_start + (w_thread * 32 + ((lane % 4) ^ (w_lane / 2 % 4)) * 8);
      #pragma unroll
      for (int w_by32 = 0; w_by32 < 4; ++w_by32) {
        const int w_s = w0 + (w_thread + w_by32 * 32) + s0 - S / 2;
        kc_cp_async_zfill_16(&x_slots[x_in_slot] + w_by32 * 1024, &x[x_at + w_by32 * 32 * C],
                             inside && w_s >= 0 && w_s < W ? 16 : 0);
      }
      const int o_thread = lane % 16 * 8;
      const int c_thread = lane / 16 + warp * 2;
      const int o = o0 + o_thread;
      const bool o_inside = o < O;
      const int f_at = ((r0 * S + s0) * C + (c0 + c_thread)) * O + o;
      const int f_in_slot =
          slot_start + (o_thread / 64 * 2048 + c_thread * 64 + ((lane % 16 % 8) ^ (c_thread % 8)) * 8);
      #pragma unroll
      for (int c_by8 = 0; c_by8 < 4; ++c_by8) {
        kc_cp_async_zfill_16(&f_slots[f_in_slot] + c_by8 * 512, &f[f_at + c_by8 * 8 * O],
                             o_inside && c0 + (c_thread + c_by8 * 8) < C ? 16 : 0);
      }
    }
    kc_cp_async_commit();
  };
  // Prologue: the first tiles, on their way into their slots.
  #pragma unroll
  for (int first = 0; first < 3; ++first) {
    fill(first);
  }
  kc_cp_async_wait<2>();
  __syncthreads();
  // Main loop: products of tiles along r, s, c.
  alignas(16) float acc[128];
  #pragma unroll
  for (int reg = 0; reg < 128; ++reg) {
    acc[reg] = 0.0f;
  }
  const int warp_row = warp % 2 * 64;
  const int warp_column = warp / 2 * 64;
  const int lane_row = lane % 16;
  const int lane_column = lane / 16 * 8;
  alignas(16) unsigned a_frag[32];
  alignas(16) unsigned b_frag[32];
  // Loads what the next products multiply.
  const auto load_fragments = [&](const int x_start, const int first_reg, const int f_row_start) {
    #pragma unroll
    for (int mi = 0; mi < 4; ++mi) {
      kc_ldmatrix_x4(&a_frag[first_reg + mi * 4], &x_slots[x_start + (warp_row + mi * 16 + lane_row) * 32]);
    }
    const int f_chunk = warp / 2 * 8;
    const int f_swizzle = lane_row % 8;
    #pragma unroll
    for (int np = 0; np < 4; ++np) {
      kc_ldmatrix_x4_trans(&b_frag[first_reg + np * 4],
                           &f_slots[f_row_start +
                                    ((warp_column + np * 16 + lane_column) / 64 * 2048 +
                                     (((f_chunk + np * 2 + lane / 16) % 8) ^ f_swizzle) * 8)]);
    }
  };
  if (r_s_c_tiles > 0) {
    load_fragments(((lane / 16) ^ (lane_row / 2 % 4)) * 8, 0, lane_row * 64);
  }
  __syncthreads();
  const int x_swizzle = lane_row / 2 % 4;
  const int x_offset = ((lane / 16 + 2) ^ x_swizzle) * 8;
  const int f_row_start = (lane_row + 16) * 64;
  for (int r_s_c_tile = 0; r_s_c_tile < r_s_c_tiles; ++r_s_c_tile) {
    const int slot_start = r_s_c_tile % stages * slot_size;
    load_fragments(slot_start + x_offset, 16, slot_start + f_row_start);
    // A later tile, on its way into the slot that was read last.
    fill(r_s_c_tile + 3);
    #pragma unroll
    for (int mi = 0; mi < 4; ++mi) {
      #pragma unroll
      for (int ni = 0; ni < 8; ++ni) {
        kc_mma_m16n8k16_f16(&acc[(mi * 8 + ni) * 4], &a_frag[mi * 4], &b_frag[ni * 2]);
      }
    }
    kc_cp_async_wait<2>();
    __syncthreads();
    const int next_tile = r_s_c_tile + 1;
    if (next_tile < r_s_c_tiles) {
      const int next_slot_start = next_tile % stages * slot_size;
      load_fragments(next_slot_start + ((lane / 16) ^ x_swizzle) * 8, 0, next_slot_start + lane_row * 64);
    }
    #pragma unroll
    for (int mi = 0; mi < 4; ++mi) {
      const int a_reg = mi * 4 + 16;
      #pragma unroll
      for (int ni = 0; ni < 8; ++ni) {
        kc_mma_m16n8k16_f16(&acc[(mi * 8 + ni) * 4], &a_frag[a_reg], &b_frag[ni * 2 + 16]);
      }
    }
  }
  kc_cp_async_wait<0>();
  alignas(16) f16 y_r[128];
  #pragma unroll
  for (int reg = 0; reg < 128; ++reg) {
    y_r[reg] = kc_f32_to_f16(acc[reg]);
  }
  // Store y.
  const int w_thread = lane / 4 + warp_row;
  const int o_thread = lane % 4 * 2 + warp_column;
  #pragma unroll
  for (int w_by16 = 0; w_by16 < 4; ++w_by16) {
    #pragma unroll
    for (int o_by8 = 0; o_by8 < 8; ++o_by8) {
      const int o = o0 + (o_thread + o_by8 * 8);
      const bool o_inside = o < O;
      #pragma unroll
      for (int w_by8 = 0; w_by8 < 2; ++w_by8) {
        const int reg = w_by8 * 2 + o_by8 * 4 + w_by16 * 32;
        const int w = w0 + (w_thread + w_by8 * 8 + w_by16 * 16);
        if (w < W && o_inside) {
          *(unsigned *)&y[((n_tile * H + h_tile) * W + w) * O + o] = *(const unsigned *)&y_r[reg];
        }
      }
    }
  }
}
