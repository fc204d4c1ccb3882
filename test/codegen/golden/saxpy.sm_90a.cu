// kernel saxpy of saxpy.kc:2, for sm_90a
// assumes N % 4 == 0, and that indices of 32 bits reach all of x, y
// launch kc_saxpy: ceildiv(N, 2048) blocks of 256 threads

// schedule: tile i 2048; warps 8; unit simt
#line 3 "saxpy.kc"
extern "C" __global__ void __launch_bounds__(256) kc_saxpy(const float a, const float *__restrict__ x,
    float *__restrict__ y, const int N) {
  const int i0 = (int)blockIdx.x * 2048;
  // Load x.
  alignas(16) float x_r[8];
  const int tid = (int)threadIdx.x;
  const int i_thread = tid % 32 * 4 + tid / 32 * 128;
  #pragma unroll
  for (int i_by1024 = 0; i_by1024 < 2; ++i_by1024) {
    const int i = i0 + (i_thread + i_by1024 * 1024);
    if (i < N) {
      *(uint4 *)&x_r[i_by1024 * 4] = *(const uint4 *)&x[i];
    } else {
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        x_r[i_by1024 * 4 + e] = 0.0f;
      }
    }
  }
  alignas(16) float product[8];
  #pragma unroll
  for (int reg = 0; reg < 8; ++reg) {
    product[reg] = a * x_r[reg];
  }
  // Load y.
  alignas(16) float y_r[8];
  #pragma unroll
  for (int i_by1024 = 0; i_by1024 < 2; ++i_by1024) {
    const int i = i0 + (i_thread + i_by1024 * 1024);
    if (i < N) {
      *(uint4 *)&y_r[i_by1024 * 4] = *(const uint4 *)&y[i];
    } else {
      #pragma unroll
      for (int e = 0; e < 4; ++e) {
        y_r[i_by1024 * 4 + e] = 0.0f;
      }
    }
  }
  alignas(16) float y_r_1[8];
  #pragma unroll
  for (int reg = 0; reg < 8; ++reg) {
    y_r_1[reg] = product[reg] + y_r[reg];
  }
  // Store y.
  #pragma unroll
  for (int i_by1024 = 0; i_by1024 < 2; ++i_by1024) {
    const int i = i0 + (i_thread + i_by1024 * 1024);
    if (i < N) {
      *(uint4 *)&y[i] = *(const uint4 *)&y_r_1[i_by1024 * 4];
    }
  }
}
