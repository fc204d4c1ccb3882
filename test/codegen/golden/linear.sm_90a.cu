// kernel linear of linear.kc:2, for sm_90a
// assumes K % 8 == 0 and N % 8 == 0 and fits32(x) and fits32(w) and fits32(b) and fits32(y) and fits32(workspace) and fits32(workspace)

#ifndef KC_HOST
static __device__ __forceinline__ unsigned char *kc_shared() {
  extern __shared__ __align__(1024) unsigned char kc_memory[];
  return kc_memory;
}
static __device__ __forceinline__ unsigned kc_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
static __device__ __forceinline__ void kc_mbarrier_init(void *bar, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(kc_address(bar)), "r"(count) : "memory");
}
static __device__ __forceinline__ void kc_fence_mbarrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
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
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
               ::"r"(kc_address(to)), "l"(map), "r"(c0), "r"(c1), "r"(kc_address(bar)) : "memory");
}
template <int Count> static __device__ __forceinline__ void kc_setmaxnreg_inc() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count)); }
template <int Count> static __device__ __forceinline__ void kc_setmaxnreg_dec() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count)); }
static __device__ __forceinline__ unsigned long long kc_smem_desc(const void *p, int leading, int stride, int swizzle) { // PTX ISA, matrix descriptor
  unsigned long long mode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;
  return (unsigned long long)((kc_address(p) & 0x3ffff) >> 4) | (unsigned long long)(leading >> 4) << 16 |
         (unsigned long long)(stride >> 4) << 32 | mode << 62;
}
static __device__ __forceinline__ unsigned long long kc_desc_advance(unsigned long long desc, int bytes) { return desc + (unsigned)(bytes >> 4); }
static __device__ __forceinline__ void kc_wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
static __device__ __forceinline__ void kc_wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int Pending> static __device__ __forceinline__ void kc_wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory"); }
template <int Count> static __device__ __forceinline__ void kc_wgmma_hold(float *d) { // the compiler moves no use of these registers across
#pragma unroll
  for (int i = 0; i < Count; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
template <int N, int TransposeA, int TransposeB>
__device__ void kc_wgmma_bf16(float *d, unsigned long long a, unsigned long long b, int accumulate);
static __device__ __forceinline__ unsigned short kc_f32_to_bf16(float v) {
  unsigned short r;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(v));
  return r;
}
template <> __device__ __forceinline__ void kc_wgmma_bf16<256, 0, 0>(float *d, unsigned long long a, unsigned long long b, int accumulate) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
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
      : "l"(a), "l"(b), "r"(accumulate));
}
#else
template <int Count> static inline void kc_wgmma_hold(float *) {}
#endif
static __device__ __forceinline__ int kc_warpgroup() { return __shfl_sync(0xffffffffu, (int)threadIdx.x / 128, 0); }
static __device__ __forceinline__ float kc_bf16_to_f32(unsigned short v) { return __uint_as_float((unsigned)v << 16); }

// schedule: tile i 128; tile j 256; tile k 64; warps 8 + 4 that fill; unit wgmma; stages 4
#line 4 "linear.kc"
extern "C" __global__ void __launch_bounds__(384) kc_linear(unsigned short *__restrict__ b, unsigned short *__restrict__ y, const int M, const int K, const int N, const __grid_constant__ kc_tensor_map x_map, const __grid_constant__ kc_tensor_map w_map) {
  const int block = (int)blockIdx.x;
  const int i = (N + 255) / 256 * 8;
  const int i_1 = block % i;
  const int i_2 = block / i * 8;
  const int i_3 = min((M + 127) / 128 - i_2, 8);
  const int i0 = (i_2 + i_1 % i_3) * 128;
  const int j0_ = i_1 / i_3 * 256;
  const int a = (K + 63) / 64;
  unsigned short *const x = (unsigned short *)(kc_shared());
  unsigned short *const w = (unsigned short *)(kc_shared() + 65536);
  long long *const full = (long long *)(kc_shared() + 196608);
  long long *const empty = (long long *)(kc_shared() + 196736);
  const int tid = (int)threadIdx.x;
#line 3 "linear.kc"
  if (tid == 0) {
    for (int slot = 0; slot < 4; ++slot) {
      kc_mbarrier_init(&full[slot], 1);
      kc_mbarrier_init(&empty[slot], 2);
    }
    kc_fence_mbarrier_init();
  }
#line 4 "linear.kc"
  __syncthreads();
  const int warpgroup = kc_warpgroup();
  if (warpgroup >= 2) {
    kc_setmaxnreg_dec<24>();
    if (tid == 256) {
#line 3 "linear.kc"
      for (int k_tile = 0; k_tile < a; ++k_tile) {
        const int k0 = k_tile * 64;
        const int slot_1 = k_tile % 4;
        kc_mbarrier_wait(&empty[slot_1], (k_tile / 4 + 1) % 2);
        kc_mbarrier_expect_tx(&full[slot_1], 49152);
        kc_tma_load_2d(&x[slot_1 * 8192], &x_map, k0, i0, &full[slot_1]);
        kc_tma_load_2d(&w[slot_1 * 16384], &w_map, k0, j0_, &full[slot_1]);
      }
    }
  } else {
#line 4 "linear.kc"
    kc_setmaxnreg_inc<240>();
    alignas(16) float a_1[128];
#line 3 "linear.kc"
    #pragma unroll
    for (int jr = 0; jr < 32; ++jr) {
      const int i_4 = jr * 4;
      #pragma unroll
      for (int ir = 0; ir < 2; ++ir) {
        const int i_5 = ir * 2;
        #pragma unroll
        for (int jr_1 = 0; jr_1 < 2; ++jr_1) {
          a_1[jr_1 + i_5 + i_4] = 0.0f;
        }
      }
    }
    const int i_6 = warpgroup * 4096;
    for (int k_tile_1 = 0; k_tile_1 < a; ++k_tile_1) {
      const int slot_2 = k_tile_1 % 4;
      kc_mbarrier_wait(&full[slot_2], k_tile_1 / 4 % 2);
      const unsigned long long a_desc = kc_smem_desc(&x[slot_2 * 8192 + i_6], 16, 1024, 128);
      const unsigned long long b_desc = kc_smem_desc(&w[slot_2 * 16384], 16, 1024, 128);
      kc_wgmma_hold<128>(a_1);
      kc_wgmma_fence();
      kc_wgmma_bf16<256, 0, 0>(a_1, a_desc, b_desc, 1);
      kc_wgmma_bf16<256, 0, 0>(a_1, kc_desc_advance(a_desc, 32), kc_desc_advance(b_desc, 32), 1);
      kc_wgmma_bf16<256, 0, 0>(a_1, kc_desc_advance(a_desc, 64), kc_desc_advance(b_desc, 64), 1);
      kc_wgmma_bf16<256, 0, 0>(a_1, kc_desc_advance(a_desc, 96), kc_desc_advance(b_desc, 96), 1);
      kc_wgmma_commit();
      kc_wgmma_wait<1>();
      kc_wgmma_hold<128>(a_1);
      const int a_2 = k_tile_1 - 1;
      if (k_tile_1 > 0) {
        const int slot_3 = a_2 % 4;
        if (tid % 128 == 0) {
          kc_mbarrier_arrive(&empty[slot_3]);
        }
      }
    }
    kc_wgmma_wait<0>();
    kc_wgmma_hold<128>(a_1);
    alignas(16) unsigned short b_r[64];
    const int lane = tid % 32;
    const int i_7 = lane % 4 * 2;
#line 4 "linear.kc"
    #pragma unroll
    for (int jr_2 = 0; jr_2 < 32; ++jr_2) {
      const int i_8 = jr_2 * 2;
      const int i_9 = j0_ + (i_7 + jr_2 * 8);
      if (i_9 < N) {
        *(unsigned *)(&b_r[i_8]) = *(const unsigned *)(&b[i_9]);
      } else {
        b_r[i_8] = 0x0;
        b_r[i_8 + 1] = 0x0;
      }
    }
    alignas(16) float b_1[64];
    #pragma unroll
    for (int jr_3 = 0; jr_3 < 32; ++jr_3) {
      const int b_2 = jr_3 * 2;
      #pragma unroll
      for (int jr_4 = 0; jr_4 < 2; ++jr_4) {
        const int b_3 = jr_4 + b_2;
        b_1[b_3] = kc_bf16_to_f32(b_r[b_3]);
      }
    }
    alignas(16) unsigned short r[128];
    #pragma unroll
    for (int jr_5 = 0; jr_5 < 32; ++jr_5) {
      const int b_4 = jr_5 * 2;
      const int a_3 = jr_5 * 4;
      #pragma unroll
      for (int ir_1 = 0; ir_1 < 2; ++ir_1) {
        const int a_4 = ir_1 * 2;
        #pragma unroll
        for (int jr_6 = 0; jr_6 < 2; ++jr_6) {
          const int a_5 = jr_6 + a_4 + a_3;
          r[a_5] = kc_f32_to_bf16(a_1[a_5] + b_1[jr_6 + b_4]);
        }
      }
    }
    const int warp = tid / 32;
    const int i_10 = lane / 4 + warp % 4 * 16 + warp / 4 * 64;
    #pragma unroll
    for (int jr_7 = 0; jr_7 < 32; ++jr_7) {
      const int i_11 = jr_7 * 4;
      const int i_12 = j0_ + (i_7 + jr_7 * 8);
      const bool cond = i_12 < N;
      #pragma unroll
      for (int ir_2 = 0; ir_2 < 2; ++ir_2) {
        const int i_13 = ir_2 * 2 + i_11;
        const int i_14 = i0 + (i_10 + ir_2 * 8);
        if (i_14 < M && cond) {
          *(unsigned *)(&y[i_14 * N + i_12]) = *(const unsigned *)(&r[i_13]);
        }
      }
    }
  }
}
