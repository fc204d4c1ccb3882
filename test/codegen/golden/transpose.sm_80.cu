// kernel transpose of transpose.kc:1, for sm_80
// assumes M % 4 == 0 and N % 4 == 0 and fits32(x) and fits32(y) and fits32(workspace)

#ifndef KC_HOST
static __device__ __forceinline__ unsigned char *kc_shared() {
  extern __shared__ __align__(1024) unsigned char kc_memory[];
  return kc_memory;
}
#endif

// schedule: tile j 32; tile i 64; warps 8; unit simt
#line 1 "transpose.kc"
extern "C" __global__ void __launch_bounds__(256) kc_transpose(float *__restrict__ x, float *__restrict__ y, const int M, const int N) {
  const int block = (int)blockIdx.x;
  const int i_tiles = (M + 63) / 64;
  const int j0_ = block / i_tiles * 32;
  const int i0 = block % i_tiles * 64;
  alignas(16) float x_r[8];
  const int tid = (int)threadIdx.x;
  const int lane = tid % 32;
  const int at = lane % 8 * 4;
  const int warp = tid / 32;
  const int at_1 = lane / 8 + warp * 4;
  const int at_2 = j0_ + at;
  const bool cond = at_2 < N;
  #pragma unroll
  for (int ir = 0; ir < 2; ++ir) {
    const int at_3 = i0 + (at_1 + ir * 32);
    if (cond && at_3 < M) {
      *(uint4 *)(&x_r[ir * 4]) = *(const uint4 *)(&x[at_3 * N + at_2]);
    } else {
      x_r[ir * 4] = 0.0f;
      x_r[ir * 4 + 1] = 0.0f;
      x_r[ir * 4 + 2] = 0.0f;
      x_r[ir * 4 + 3] = 0.0f;
    }
  }
  alignas(16) float turned[8];
  float *const staging = (float *)(kc_shared());
  #pragma unroll
  for (int ir = 0; ir < 2; ++ir) {
    const int at_3 = at_1 + ir * 32;
    #pragma unroll
    for (int jr = 0; jr < 4; ++jr) {
      staging[(at + jr) * 65 + at_3] = x_r[jr + ir * 4];
    }
  }
  const int at_3 = lane % 16 * 4;
  const int at_4 = lane / 16 + warp * 2;
  __syncthreads();
  #pragma unroll
  for (int jr = 0; jr < 2; ++jr) {
    const int at_5 = (at_4 + jr * 16) * 65;
    #pragma unroll
    for (int ir = 0; ir < 4; ++ir) {
      turned[ir + jr * 4] = staging[at_5 + (at_3 + ir)];
    }
  }
  const int at_5 = i0 + at_3;
  const bool cond_1 = at_5 < M;
  #pragma unroll
  for (int jr = 0; jr < 2; ++jr) {
    const int at_6 = j0_ + (at_4 + jr * 16);
    if (at_6 < N && cond_1) {
      *(uint4 *)(&y[at_6 * M + at_5]) = *(const uint4 *)(&turned[jr * 4]);
    }
  }
}
