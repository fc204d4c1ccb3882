// kernel linear of linear.kc:2, for sm_80
// assumes K % 8 == 0 and N % 8 == 0, and that indices of 32 bits reach all of x, w, b, y
// launch kc_linear: ceildiv(M, 128) * ceildiv(N, 128) blocks of 128 threads, 65536 bytes of shared memory

// Types that travel as their bits.
typedef unsigned short bf16;

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
static __device__ __forceinline__ void kc_mma_m16n8k16_bf16(float *d, const unsigned *a, const unsigned *b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
static __device__ __forceinline__ float
kc_bf16_to_f32(unsigned short v) { // one instruction for either half of a register
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
extern "C" __global__ void __launch_bounds__(128, 2) kc_linear(const bf16 *__restrict__ x, const bf16 *__restrict__ w,
    const bf16 *__restrict__ b, bf16 *__restrict__ y, const int M, const int K, const int N) {
  constexpr int slot_size = 4096; // elements
  constexpr int stages = 4; // slots
  const int block = (int)blockIdx.x;
  const int i_tiles = (M + 127) / 128;
  const int groups = (i_tiles + 7) / 8;
  const int most_rows = (i_tiles + (groups - 1)) / groups;
  const int group_tiles = most_rows * ((N + 127) / 128);
  const int in_group = block % group_tiles;
  const int group_row = block / group_tiles * most_rows;
  const int group_rows = min(i_tiles - group_row, most_rows);
  const int i0 = (group_row + in_group % group_rows) * 128;
  const int j0 = in_group / group_rows * 128;
  const int k_tiles = (K + 31) / 32;
  // 4 slots of 128 by 32 elements.
  bf16 *const x_slots = (bf16 *)kc_shared();
  // 4 slots of 128 by 32 elements.
  bf16 *const w_slots = x_slots + stages * slot_size;
  const int tid = (int)threadIdx.x;
  const int lane = tid % 32;
  const int warp = tid / 32;
  // Brings a tile into its slot.
#line 3 "linear.kc"
  const auto fill = [&](const int k_tile) {
    if (k_tile < k_tiles) {
      const int i_lane = lane / 4;
      const int i_thread = i_lane + warp * 8;
      const int k = k_tile * 32 + lane % 4 * 8;
      const bool k_inside = k < K;
      const int x_at = (i0 + i_thread) * K + k;
      const int in_slot = k_tile % stages * slot_size + (i_thread * 32 + ((lane % 4) ^ (i_lane / 2 % 4)) * 8);
      #pragma unroll
      for (int i_by32 = 0; i_by32 < 4; ++i_by32) {
        kc_cp_async_zfill_16(&x_slots[in_slot] + i_by32 * 1024, &x[x_at + i_by32 * 32 * K],
                             i0 + (i_thread + i_by32 * 32) < M && k_inside ? 16 : 0);
      }
      const int w_at = (j0 + i_thread) * K + k;
      #pragma unroll
      for (int j_by32 = 0; j_by32 < 4; ++j_by32) {
        kc_cp_async_zfill_16(&w_slots[in_slot] + j_by32 * 1024, &w[w_at + j_by32 * 32 * K],
                             j0 + (i_thread + j_by32 * 32) < N && k_inside ? 16 : 0);
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
  // Main loop: products of tiles along k.
  alignas(16) float a[128];
  #pragma unroll
  for (int reg = 0; reg < 128; ++reg) {
    a[reg] = 0.0f;
  }
  const int warp_row = warp % 2 * 64;
  const int warp_column = warp / 2 * 64;
  const int lane_row = lane % 16;
  const int lane_column = lane % 8 + lane / 16 * 8;
  const int b_lane_chunk = lane / 8 % 2;
  alignas(16) unsigned a_frag[32];
  alignas(16) unsigned b_frag[32];
  // Loads what the next products multiply.
  const auto load_fragments = [&](const int x_start, const int first_reg, const int w_start) {
    #pragma unroll
    for (int mi = 0; mi < 4; ++mi) {
      kc_ldmatrix_x4(&a_frag[first_reg + mi * 4], &x_slots[x_start + (warp_row + mi * 16 + lane_row) * 32]);
    }
    #pragma unroll
    for (int np = 0; np < 4; ++np) {
      kc_ldmatrix_x4(&b_frag[first_reg + np * 4], &w_slots[w_start + (warp_column + np * 16 + lane_column) * 32]);
    }
  };
  if (k_tiles > 0) {
    load_fragments(((lane / 16) ^ (lane_row / 2 % 4)) * 8, 0, (b_lane_chunk ^ (lane % 8 / 2 % 4)) * 8);
  }
  __syncthreads();
  const int x_swizzle = lane_row / 2 % 4;
  const int x_offset = ((lane / 16 + 2) ^ x_swizzle) * 8;
  const int w_swizzle = lane % 8 / 2 % 4;
  const int w_offset = ((b_lane_chunk + 2) ^ w_swizzle) * 8;
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    const int slot_start = k_tile % stages * slot_size;
    load_fragments(slot_start + x_offset, 16, slot_start + w_offset);
    // A later tile, on its way into the slot that was read last.
    fill(k_tile + 3);
    #pragma unroll
    for (int mi = 0; mi < 4; ++mi) {
      #pragma unroll
      for (int ni = 0; ni < 8; ++ni) {
        kc_mma_m16n8k16_bf16(&a[(mi * 8 + ni) * 4], &a_frag[mi * 4], &b_frag[ni * 2]);
      }
    }
    kc_cp_async_wait<2>();
    __syncthreads();
    const int next_tile = k_tile + 1;
    if (next_tile < k_tiles) {
      const int next_slot_start = next_tile % stages * slot_size;
      load_fragments(next_slot_start + ((lane / 16) ^ x_swizzle) * 8, 0,
                     next_slot_start + (b_lane_chunk ^ w_swizzle) * 8);
    }
    #pragma unroll
    for (int mi = 0; mi < 4; ++mi) {
      const int a_reg = mi * 4 + 16;
      #pragma unroll
      for (int ni = 0; ni < 8; ++ni) {
        kc_mma_m16n8k16_bf16(&a[(mi * 8 + ni) * 4], &a_frag[a_reg], &b_frag[ni * 2 + 16]);
      }
    }
  }
  kc_cp_async_wait<0>();
  // Load b.
  alignas(16) bf16 b_r[16];
  const int j_thread = lane % 4 * 2 + warp_column;
#line 4 "linear.kc"
  #pragma unroll
  for (int j_by8 = 0; j_by8 < 8; ++j_by8) {
    const int j = j0 + (j_thread + j_by8 * 8);
    if (j < N) {
      *(unsigned *)&b_r[j_by8 * 2] = *(const unsigned *)&b[j];
    } else {
      #pragma unroll
      for (int e = 0; e < 2; ++e) {
        b_r[j_by8 * 2 + e] = 0;
      }
    }
  }
  alignas(16) float b_f32[16];
  #pragma unroll
  for (int reg = 0; reg < 16; ++reg) {
    b_f32[reg] = kc_bf16_to_f32(b_r[reg]);
  }
  alignas(16) bf16 y_r[128];
  #pragma unroll
  for (int i_by16 = 0; i_by16 < 4; ++i_by16) {
    #pragma unroll
    for (int j_by8 = 0; j_by8 < 8; ++j_by8) {
      #pragma unroll
      for (int i_by8 = 0; i_by8 < 2; ++i_by8) {
        #pragma unroll
        for (int j_elem = 0; j_elem < 2; ++j_elem) {
          const int reg = j_elem + i_by8 * 2 + j_by8 * 4 + i_by16 * 32;
          y_r[reg] = kc_f32_to_bf16(a[reg] + b_f32[j_elem + j_by8 * 2]);
        }
      }
    }
  }
  // Store y.
  const int i_thread = lane / 4 + warp_row;
  #pragma unroll
  for (int i_by16 = 0; i_by16 < 4; ++i_by16) {
    #pragma unroll
    for (int j_by8 = 0; j_by8 < 8; ++j_by8) {
      const int j = j0 + (j_thread + j_by8 * 8);
      const bool j_inside = j < N;
      #pragma unroll
      for (int i_by8 = 0; i_by8 < 2; ++i_by8) {
        const int reg = i_by8 * 2 + j_by8 * 4 + i_by16 * 32;
        const int i = i0 + (i_thread + i_by8 * 8 + i_by16 * 16);
        if (i < M && j_inside) {
          *(unsigned *)&y[i * N + j] = *(const unsigned *)&y_r[reg];
        }
      }
    }
  }
}
