// kernel linear of linear.kc:2, for sm_90a
// assumes K % 8 == 0 and N % 8 == 0, and that indices of 32 bits reach all of x, w, b, y
// launch kc_linear: min((ceildiv(M, 128) * ceildiv(N, 256)), sm_count) blocks of 384 threads, 229632 bytes of shared memory
//   x_map has boxes of 64 by 128 elements, swizzled by 128 bytes
//   x_map_1 has boxes of 64 by ((M + 127) % 128) + 1 elements, swizzled by 128 bytes
//   w_map has boxes of 64 by 256 elements, swizzled by 128 bytes
//   w_map_1 has boxes of 64 by ((N + 255) % 256) + 1 elements, swizzled by 128 bytes
//   y_map has boxes of 64 by 64 elements, swizzled by 128 bytes

// Types that travel as their bits.
typedef unsigned long long mbarrier;
typedef unsigned short bf16;

#ifndef KC_HOST // for a GPU; the emulator brings its own
static __device__ __forceinline__ unsigned char *kc_shared() {
  extern __shared__ __align__(1024) unsigned char kc_memory[];
  return kc_memory;
}
static __device__ __forceinline__ unsigned kc_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
static __device__ __forceinline__ void kc_stmatrix_x4(void *row, const unsigned *r) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               ::"r"(kc_address(row)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
}
static __device__ __forceinline__ void kc_bar_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
static __device__ __forceinline__ void kc_mbarrier_init(void *bar, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(kc_address(bar)), "r"(count) : "memory");
}
static __device__ __forceinline__ void kc_fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
static __device__ __forceinline__ void kc_mbarrier_expect_tx(void *bar, unsigned bytes) { // and arrives
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(kc_address(bar)), "r"(bytes) : "memory");
}
static __device__ __forceinline__ void kc_mbarrier_arrive(void *bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(kc_address(bar)) : "memory");
}
static __device__ __forceinline__ void kc_mbarrier_wait(void *bar, unsigned parity) {
  asm volatile("{\n.reg .pred P;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 P, [%0], %1;\n"
               "@P bra.uni DONE;\nbra.uni AGAIN;\nDONE:\n}" ::"r"(kc_address(bar)), "r"(parity) : "memory");
}
struct alignas(64) kc_tensor_map {
  unsigned long long words[16];
};
static __device__ __forceinline__ void kc_tma_load_2d(void *to, const kc_tensor_map *map, int c0, int c1, void *bar) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
          "r"(kc_address(to)),
      "l"(map), "r"(c0), "r"(c1), "r"(kc_address(bar))
      : "memory");
}
static __device__ __forceinline__ void kc_tma_store_2d(const kc_tensor_map *map, const void *from, int c0, int c1) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];"
               ::"l"(map), "r"(kc_address(from)), "r"(c0), "r"(c1) : "memory");
}
static __device__ __forceinline__ void kc_tma_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int Pending> static __device__ __forceinline__ void kc_tma_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}
static __device__ __forceinline__ void kc_fence_proxy_async() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
static __device__ __forceinline__ void kc_prefetch_tensor_map(const kc_tensor_map *map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
template <int Count> static __device__ __forceinline__ void kc_setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}
template <int Count> static __device__ __forceinline__ void kc_setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}
static __device__ __forceinline__ unsigned long long kc_smem_desc(const void *p, int leading, int stride,
                                                                  int swizzle) { // PTX ISA, matrix descriptor
  unsigned long long mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  return (unsigned long long)((kc_address(p) & 0x3ffff) >> 4) | (unsigned long long)(leading >> 4) << 16 |
         (unsigned long long)(stride >> 4) << 32 | mode << 62;
}
static __device__ __forceinline__ unsigned long long kc_desc_advance(unsigned long long desc, int bytes) {
  return desc + (unsigned)(bytes >> 4);
}
static __device__ __forceinline__ void kc_wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
static __device__ __forceinline__ void kc_wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int Pending> static __device__ __forceinline__ void kc_wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}
template <int Count>
static __device__ __forceinline__ void kc_wgmma_hold(float *d) { // the compiler moves no use of these registers across
#pragma unroll
  for (int i = 0; i < Count; ++i)
    asm volatile("" : "+f"(d[i])::"memory");
}
template <int N, int TransposeA, int TransposeB>
__device__ void kc_wgmma_bf16(float *d, unsigned long long a, unsigned long long b, bool accumulate);
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
template <> __device__ __forceinline__ void kc_wgmma_bf16<256, 0, 0>(float *d, unsigned long long a,
    unsigned long long b, bool accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
      "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
      "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, "
      "%128, %129, p, 1, 1, 0, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]),
        "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]),
        "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]),
        "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]),
        "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]),
        "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
        "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),
        "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]),
        "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
      : "l"(a), "l"(b), "r"((int)accumulate));
}
#else
template <int Count> static inline void kc_wgmma_hold(float *) {}
static __device__ __forceinline__ float kc_bf16_to_f32(unsigned short v) { return __uint_as_float((unsigned)v << 16); }
#endif
static __device__ __forceinline__ int kc_warpgroup() { return __shfl_sync(0xffffffffu, (int)threadIdx.x / 128, 0); }

// schedule: tile i 128; tile j 256; tile k 64; warps 8 + 4 that fill; unit wgmma; persistent; stages 4
#line 4 "linear.kc"
extern "C" __global__ void __launch_bounds__(384, 1) kc_linear(const bf16 *__restrict__ b, const int M, const int K,
    const int N, const __grid_constant__ kc_tensor_map x_map, const __grid_constant__ kc_tensor_map x_map_1,
    const __grid_constant__ kc_tensor_map w_map, const __grid_constant__ kc_tensor_map w_map_1,
    const __grid_constant__ kc_tensor_map y_map) {
  constexpr int y_slot_size = 8192, x_slot_size = 8192, w_slot_size = 16384; // elements
  constexpr int y_stages = 2, stages = 4; // slots
  const int tid = (int)threadIdx.x;
  const bool leader = tid == 0;
  if (leader) {
    kc_prefetch_tensor_map(&x_map);
    kc_prefetch_tensor_map(&x_map_1);
    kc_prefetch_tensor_map(&w_map);
    kc_prefetch_tensor_map(&w_map_1);
    kc_prefetch_tensor_map(&y_map);
  }
  // 2 slots of 128 by 64 elements.
  bf16 *const y_slots = (bf16 *)kc_shared();
  // 4 slots of 128 by 64 elements.
  bf16 *const x_slots = y_slots + y_stages * y_slot_size;
  // 4 slots of 256 by 64 elements.
  bf16 *const w_slots = x_slots + stages * x_slot_size;
  // Barriers of the slots: which are full, which are empty.
  mbarrier *const full = (mbarrier *)(w_slots + stages * w_slot_size);
  mbarrier *const empty = full + 128 / sizeof(mbarrier);
#line 3 "linear.kc"
  if (leader) {
    #pragma unroll
    for (int slot = 0; slot < stages; ++slot) {
      kc_mbarrier_init(&full[slot], 1);
      kc_mbarrier_init(&empty[slot], 2);
    }
    kc_fence_mbarrier_init();
  }
  const int i_tiles = (M + 127) / 128;
  const int j_tiles = (N + 255) / 256;
  const int tiles = i_tiles * j_tiles;
  const int block = (int)blockIdx.x;
  const int blocks = (int)gridDim.x;
  const int warpgroup = kc_warpgroup();
#line 4 "linear.kc"
  __syncthreads();
  if (warpgroup >= 2) {
    // Warps that fill slots.
    kc_setmaxnreg_dec<56>();
    if (tid == 256) {
      // The tiles of this block.
      const int groups = (i_tiles + 7) / 8;
      const int k_tiles = (K + 63) / 64;
      const int x_beyond = (127 - (M + 127) % 128) * 128;
      const int w_beyond = (255 - (N + 255) % 256) * 128;
      int filled = 0;
      for (int tile = block; tile < tiles; tile += blocks) {
        const int most_rows = (i_tiles + (groups - 1)) / groups;
        const int group_tiles = most_rows * j_tiles;
        const int in_group = tile % group_tiles;
        const int group_row = tile / group_tiles * most_rows;
        const int group_rows = min(i_tiles - group_row, most_rows);
        const int i0 = (group_row + in_group % group_rows) * 128;
        const int j0 = in_group / group_rows * 256;
        // Walk k in tiles.
        const bool x_ends = M - i0 < 128;
        const bool w_ends = N - j0 < 256;
#line 3 "linear.kc"
        #pragma unroll 1
        for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
          const int k0 = k_tile * 64;
          const int number = filled + k_tile;
          // Once the slot is empty, tensor copies fill it.
          const int slot = number % stages;
          kc_mbarrier_wait(&empty[slot], (number / stages + 1) % 2);
          kc_mbarrier_expect_tx(&full[slot],
                                (x_slot_size + w_slot_size) * sizeof(bf16) -
                                ((x_ends ? x_beyond : 0) + (w_ends ? w_beyond : 0)));
          kc_tma_load_2d(&x_slots[slot * x_slot_size], x_ends ? &x_map_1 : &x_map, k0, i0, &full[slot]);
          kc_tma_load_2d(&w_slots[slot * w_slot_size], w_ends ? &w_map_1 : &w_map, k0, j0, &full[slot]);
        }
        filled += k_tiles;
      }
    }
  } else {
    // Warps that multiply what lies in slots.
#line 4 "linear.kc"
    kc_setmaxnreg_inc<224>();
    // The tiles of this block.
    const int groups = (i_tiles + 7) / 8;
    const int k_tiles = (K + 63) / 64;
    const int lane = tid % 32;
    const int j_thread = lane % 4 * 2;
    const int own_start = warpgroup * 4096;
    const bool group_leader = tid % 128 == 0;
    const int barrier = warpgroup + 2;
    const int warp = tid / 32;
    const int row = warp % 4 * 16 + warp / 4 * 64 + lane % 16;
    const int y_row_start = row * 64;
    const int y_swizzle = row % 8;
    const int own_row = warpgroup * 64;
    int filled = 0;
    for (int tile = block; tile < tiles; tile += blocks) {
      const int most_rows = (i_tiles + (groups - 1)) / groups;
      const int group_tiles = most_rows * j_tiles;
      const int in_group = tile % group_tiles;
      const int group_row = tile / group_tiles * most_rows;
      const int group_rows = min(i_tiles - group_row, most_rows);
      const int i0 = (group_row + in_group % group_rows) * 128;
      const int j0 = in_group / group_rows * 256;
      alignas(16) bf16 b_r[64];
      #pragma unroll
      for (int part = 0; part < 4; ++part) {
        // Load b.
        #pragma unroll
        for (int j_by8 = 0; j_by8 < 8; ++j_by8) {
          const int j = j0 + part * 64 + (j_thread + j_by8 * 8);
          if (j < N) {
            *(unsigned *)&b_r[j_by8 * 2 + part * 16] = *(const unsigned *)&b[j];
          } else {
            #pragma unroll
            for (int e = 0; e < 2; ++e) {
              b_r[j_by8 * 2 + e + part * 16] = 0;
            }
          }
        }
      }
      // Main loop: products of tiles along k.
      alignas(16) float a[128];
#line 3 "linear.kc"
      if (k_tiles <= 0) {
        #pragma unroll
        for (int reg = 0; reg < 128; ++reg) {
          a[reg] = 0.0f;
        }
      }
      #pragma unroll 1
      for (int k_tile = 0; k_tile < k_tiles; ++k_tile) {
        const int number = filled + k_tile;
        // Wait until the slot is full.
        const int slot = number % stages;
        kc_mbarrier_wait(&full[slot], number / stages % 2);
        const unsigned long long a_desc = kc_smem_desc(&x_slots[slot * x_slot_size + own_start], 16, 1024, 128);
        const unsigned long long b_desc = kc_smem_desc(&w_slots[slot * w_slot_size], 16, 1024, 128);
        const bool later_round = k_tile > 0;
        kc_wgmma_hold<128>(a);
        kc_wgmma_fence();
        kc_wgmma_bf16<256, 0, 0>(a, a_desc, b_desc, later_round);
        kc_wgmma_bf16<256, 0, 0>(a, kc_desc_advance(a_desc, 32), kc_desc_advance(b_desc, 32), true);
        kc_wgmma_bf16<256, 0, 0>(a, kc_desc_advance(a_desc, 64), kc_desc_advance(b_desc, 64), true);
        kc_wgmma_bf16<256, 0, 0>(a, kc_desc_advance(a_desc, 96), kc_desc_advance(b_desc, 96), true);
        kc_wgmma_commit();
        kc_wgmma_wait<1>();
        kc_wgmma_hold<128>(a);
        const int previous = number - 1;
        if (later_round && group_leader) {
          const int previous_slot = previous % stages;
          kc_mbarrier_arrive(&empty[previous_slot]);
        }
      }
      kc_wgmma_wait<0>();
      kc_wgmma_hold<128>(a);
      const int next = filled + k_tiles;
      const int last = next - 1;
      if (k_tiles > 0 && group_leader) {
        const int last_slot = last % stages;
        kc_mbarrier_arrive(&empty[last_slot]);
      }
      // Epilogue: the results part by part, through a slot.
#line 4 "linear.kc"
      #pragma unroll
      for (int part = 0; part < 4; ++part) {
        alignas(16) float b_f32[16];
        #pragma unroll
        for (int reg = 0; reg < 16; ++reg) {
          b_f32[reg] = kc_bf16_to_f32(b_r[reg + part * 16]);
        }
        alignas(16) bf16 y_r[32];
        #pragma unroll
        for (int j_by8 = 0; j_by8 < 8; ++j_by8) {
          #pragma unroll
          for (int i_by8 = 0; i_by8 < 2; ++i_by8) {
            #pragma unroll
            for (int j_elem = 0; j_elem < 2; ++j_elem) {
              const int reg = j_elem + i_by8 * 2 + j_by8 * 4;
              y_r[reg] = kc_f32_to_bf16(a[reg + part * 32] + b_f32[j_elem + j_by8 * 2]);
            }
          }
        }
        // Wait until the slot may be written again.
        if (group_leader) {
          kc_tma_wait_read<1>();
        }
        kc_bar_sync(barrier, 128);
        #pragma unroll
        for (int j_by16 = 0; j_by16 < 4; ++j_by16) {
          kc_stmatrix_x4(&y_slots[y_row_start + ((lane / 16 + j_by16 * 2) ^ y_swizzle) * 8 +
                                  part % y_stages * y_slot_size], (const unsigned *)&y_r[j_by16 * 8]);
        }
        // A tensor copy stores what the warpgroup has put there.
        kc_fence_proxy_async();
        kc_bar_sync(barrier, 128);
        if (group_leader) {
          kc_tma_store_2d(&y_map, &y_slots[own_start + part % y_stages * y_slot_size], j0 + part * 64, i0 + own_row);
          kc_tma_commit();
        }
      }
      filled = next;
    }
    // Wait until all has been read.
    if (group_leader) {
      kc_tma_wait_read<0>();
    }
  }
}
