// kernel transpose of transpose.kc:1, for sm_80
// assumes M % 4 == 0 and N % 4 == 0, and that indices of 32 bits reach all of x, y
// launch kc_transpose: ceildiv(N, 32) * ceildiv(M, 64) blocks of 256 threads, 8320 bytes of shared memory

#ifndef KC_HOST // for a GPU; the emulator brings its own
static __device__ __forceinline__ unsigned char *kc_shared() {
  extern __shared__ __align__(1024) unsigned char kc_memory[];
  return kc_memory;
}
#endif

// schedule: tile j 32; tile i 64; warps 8; unit simt
#line 1 "transpose.kc"
extern "C" __global__ void __launch_bounds__(256) kc_transpose(const float *__restrict__ x, float *__restrict__ y,
    const int M, const int N) {
  const int block = (int)blockIdx.x;
  const int i_tiles = (M + 63) / 64;
  const int j0 = block / i_tiles * 32;
  const int i0 = block % i_tiles * 64;
  // Load x.
  alignas(16) float x_r[8];
  const int tid = (int)threadIdx.x;
  const int lane = tid % 32;
  const int j_thread = lane % 8 * 4;
  const int warp = tid / 32;
  const int i_thread = lane / 8 + warp * 4;
  const int j = j0 + j_thread;
  const bool j_inside = j < N;
  #pragma unroll
  for (int i_by32 = 0; i_by32 < 2; ++i_by32) {
    const int i = i0 + (i_thread + i_by32 * 32);
    if (j_inside && i < M) {
      *(uint4 *)&x_r[i_by32 * 4] = *(const uint4 *)&x[i * N + j];
    } else {
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        x_r[i_by32 * 4 + e] = 0.0f;
      }
    }
  }
  // To other threads, through shared memory.
  alignas(16) float turned[8];
  float *const staging = (float *)kc_shared();
  #pragma unroll
  for (int i_by32 = 0; i_by32 < 2; ++i_by32) {
    const int i_in = i_thread + i_by32 * 32;
    #pragma unroll
    for (int j_elem = 0; j_elem < 4; ++j_elem) {
      staging[(j_thread + j_elem) * 65 + i_in] = x_r[j_elem + i_by32 * 4];
    }
  }
  const int i_thread_1 = lane % 16 * 4;
  const int j_thread_1 = lane / 16 + warp * 2;
  __syncthreads();
  #pragma unroll
  for (int j_by16 = 0; j_by16 < 2; ++j_by16) {
    #pragma unroll
    for (int i_elem = 0; i_elem < 4; ++i_elem) {
      turned[i_elem + j_by16 * 4] = staging[(j_thread_1 + j_by16 * 16) * 65 + (i_thread_1 + i_elem)];
    }
  }
  // Store y.
  const int i = i0 + i_thread_1;
  const bool i_inside = i < M;
  #pragma unroll
  for (int j_by16 = 0; j_by16 < 2; ++j_by16) {
    const int j_1 = j0 + (j_thread_1 + j_by16 * 16);
    if (j_1 < N && i_inside) {
      *(uint4 *)&y[j_1 * M + i] = *(const uint4 *)&turned[j_by16 * 4];
    }
  }
}
