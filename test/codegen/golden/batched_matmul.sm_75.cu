// kernel batched_matmul of batched_matmul.kc:1, for sm_75
// assumes K % 8 == 0 and N % 8 == 0, and that indices of 32 bits reach all of a, b, c
// launch kc_batched_matmul: (B * ceildiv(M, 128)) * ceildiv(N, 128) blocks of 128 threads, 32768 bytes of shared memory

// Types that travel as their bits.
typedef unsigned short f16;

#ifndef KC_HOST // for a GPU; the emulator brings its own
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
static __device__ __forceinline__ void kc_mma_m16n8k16_f16(float *d, const unsigned *a,
                                                           const unsigned *b) { // two k8 steps
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(b[0]));
  asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[2]), "r"(a[3]), "r"(b[1]));
}
static __device__ __forceinline__ unsigned short kc_f32_to_f16(float v) {
  unsigned short r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(v));
  return r;
}
#endif

// schedule: tile n 1; tile i 128; tile j 128; tile k 32; warps 4; unit mma; stages 2
#line 2 "batched_matmul.kc"
extern "C" __global__ void __launch_bounds__(128) kc_batched_matmul(const f16 *__restrict__ a,
    const f16 *__restrict__ b, f16 *__restrict__ c, const int M, const int K, const int N) {
  constexpr int slot_size = 4096; // elements
  constexpr int stages = 2; // slots
  const int block = (int)blockIdx.x;
  const int i_tiles = (M + 127) / 128;
  const int j_tiles = (N + 127) / 128;
  const int plane_tiles = i_tiles * j_tiles;
  const int in_plane = block % plane_tiles;
  const int n_tile = block / plane_tiles;
  const int groups = (i_tiles + 7) / 8;
  const int most_rows = (i_tiles + (groups - 1)) / groups;
  const int group_tiles = most_rows * j_tiles;
  const int in_group = in_plane % group_tiles;
  const int group_row = in_plane / group_tiles * most_rows;
  const int group_rows = min(i_tiles - group_row, most_rows);
  const int i0 = (group_row + in_group % group_rows) * 128;
  const int j0 = in_group / group_rows * 128;
  const int k_tiles = (K + 31) / 32;
  // 2 slots of 128 by 32 elements.
  f16 *const a_slots = (f16 *)kc_shared();
  // 2 slots of 128 by 32 elements.
  f16 *const b_slots = a_slots + stages * slot_size;
  const int tid = (int)threadIdx.x;
  const int lane = tid % 32;
  const int warp = tid / 32;
  // Brings a tile into its slot.
  const auto fill = [&](const bool exists, const int k0, const int slot_start) {
    if (exists) {
      const int k_thread = k0 + lane % 4 * 8;
      const int i_lane = lane / 4;
      const int i_thread = i_lane + warp * 8;
      const bool k_inside = k_thread < K;
      const int a_at = (n_tile * M + (i0 + i_thread)) * K + k_thread;
      const int a_offset = slot_start + (i_thread * 32 + ((lane % 4) ^ (i_lane / 2 % 4)) * 8);
      #pragma unroll
      for (int i_by32 = 0; i_by32 < 4; ++i_by32) {
        const int offset = a_at + i_by32 * 32 * K;
        alignas(16) f16 r[8];
        #pragma unroll
        for (int e = 0; e < 8; ++e) {
          r[e] = 0;
        }
        if (i0 + (i_thread + i_by32 * 32) < M && k_inside) {
          *(uint4 *)r = *(const uint4 *)&a[offset];
        }
        *(uint4 *)&a_slots[a_offset + i_by32 * 1024] = *(const uint4 *)r;
      }
      const int j_thread = lane % 16 * 8;
      const int k_thread_1 = lane / 16 + warp * 2;
      const int j = j0 + j_thread;
      const bool j_inside = j < N;
      const int b_at = (n_tile * K + (k0 + k_thread_1)) * N + j;
      const int b_offset =
          slot_start + (j_thread / 64 * 2048 + k_thread_1 * 64 + ((lane % 16 % 8) ^ (k_thread_1 % 8)) * 8);
      #pragma unroll
      for (int k_by8 = 0; k_by8 < 4; ++k_by8) {
        const int offset = b_at + k_by8 * 8 * N;
        alignas(16) f16 r[8];
        #pragma unroll
        for (int e = 0; e < 8; ++e) {
          r[e] = 0;
        }
        if (j_inside && k0 + (k_thread_1 + k_by8 * 8) < K) {
          *(uint4 *)r = *(const uint4 *)&b[offset];
        }
        *(uint4 *)&b_slots[b_offset + k_by8 * 512] = *(const uint4 *)r;
      }
    }
  };
  // Prologue: a first tile, on its way into its slot.
  fill(k_tiles > 0, 0, 0);
  // Main loop: products of tiles along k.
  alignas(16) float acc[128];
  #pragma unroll
  for (int reg = 0; reg < 128; ++reg) {
    acc[reg] = 0.0f;
  }
  const int warp_row = warp % 2 * 64;
  const int warp_column = warp / 2 * 64;
  const int lane_row = lane % 16;
  const int lane_column = lane / 16 * 8;
  const int a_swizzle = lane_row / 2 % 4;
  const int b_chunk = warp / 2 * 8;
  const int b_swizzle = lane_row % 8;
  for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
    __syncthreads();
    const int slot_start = k_tile % stages * slot_size;
    alignas(16) unsigned a_frag[32];
    alignas(16) unsigned b_frag[32];
    // Loads what the next products multiply.
    const auto load_fragments = [&](const int a_chunk, const int a_set, const int next_k) {
      const int a_offset = ((a_chunk + lane / 16) ^ a_swizzle) * 8;
      #pragma unroll
      for (int mi = 0; mi < 4; ++mi) {
        kc_ldmatrix_x4(&a_frag[a_set + mi * 4],
                       &a_slots[slot_start + ((warp_row + mi * 16 + lane_row) * 32 + a_offset)]);
      }
      const int b_row_start = (next_k + lane_row) * 64;
      #pragma unroll
      for (int np = 0; np < 4; ++np) {
        kc_ldmatrix_x4_trans(&b_frag[a_set + np * 4],
                             &b_slots[slot_start +
                                      ((warp_column + np * 16 + lane_column) / 64 * 2048 + b_row_start +
                                       (((b_chunk + np * 2 + lane / 16) % 8) ^ b_swizzle) * 8)]);
      }
    };
    load_fragments(0, 0, 0);
    #pragma unroll
    for (int step = 0; step < 2; ++step) {
      const int next = step + 1;
      if (next < 2) {
        load_fragments(next * 2, next % 2 * 16, next * 16);
      }
      const int a_set = step % 2 * 16;
      #pragma unroll
      for (int mi = 0; mi < 4; ++mi) {
        const int a_reg = a_set + mi * 4;
        #pragma unroll
        for (int ni = 0; ni < 8; ++ni) {
          kc_mma_m16n8k16_f16(&acc[(mi * 8 + ni) * 4], &a_frag[a_reg], &b_frag[a_set + ni * 2]);
        }
      }
    }
    const int ahead = k_tile + 1;
    // A later tile, on its way into the slot that was read last.
    fill(ahead < k_tiles, ahead * 32, ahead % stages * slot_size);
  }
  alignas(16) f16 c_r[128];
  #pragma unroll
  for (int reg = 0; reg < 128; ++reg) {
    c_r[reg] = kc_f32_to_f16(acc[reg]);
  }
  // Store c.
  const int i_thread = lane / 4 + warp_row;
  const int j_thread = lane % 4 * 2 + warp_column;
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
          *(unsigned *)&c[(n_tile * M + i) * N + j] = *(const unsigned *)&c_r[reg];
        }
      }
    }
  }
}
