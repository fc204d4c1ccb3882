// kernel saxpy of saxpy.kc:2, for sm_90a
// assumes N % 4 == 0 and fits32(x) and fits32(y) and fits32(workspace)

// schedule: tile i 2048; warps 8; unit simt
#line 3 "saxpy.kc"
extern "C" __global__ void __launch_bounds__(256) kc_saxpy(const float a, float *__restrict__ x, float *__restrict__ y, const int N) {
  const int i0 = (int)blockIdx.x * 2048;
  alignas(16) float x_r[8];
  const int tid = (int)threadIdx.x;
  const int at = tid % 32 * 4 + tid / 32 * 128;
  #pragma unroll
  for (int ir = 0; ir < 2; ++ir) {
    const int at_1 = i0 + (at + ir * 1024);
    if (at_1 < N) {
      *(uint4 *)(&x_r[ir * 4]) = *(const uint4 *)(&x[at_1]);
    } else {
      x_r[ir * 4] = 0.0f;
      x_r[ir * 4 + 1] = 0.0f;
      x_r[ir * 4 + 2] = 0.0f;
      x_r[ir * 4 + 3] = 0.0f;
    }
  }
  alignas(16) float r[8];
  #pragma unroll
  for (int ir = 0; ir < 2; ++ir) {
    const int x_1 = ir * 4;
    #pragma unroll
    for (int ir_1 = 0; ir_1 < 4; ++ir_1) {
      const int x_2 = ir_1 + x_1;
      r[x_2] = a * x_r[x_2];
    }
  }
  alignas(16) float y_r[8];
  #pragma unroll
  for (int ir = 0; ir < 2; ++ir) {
    const int at_1 = i0 + (at + ir * 1024);
    if (at_1 < N) {
      *(uint4 *)(&y_r[ir * 4]) = *(const uint4 *)(&y[at_1]);
    } else {
      y_r[ir * 4] = 0.0f;
      y_r[ir * 4 + 1] = 0.0f;
      y_r[ir * 4 + 2] = 0.0f;
      y_r[ir * 4 + 3] = 0.0f;
    }
  }
  alignas(16) float r_1[8];
  #pragma unroll
  for (int ir = 0; ir < 2; ++ir) {
    #pragma unroll
    for (int ir_1 = 0; ir_1 < 4; ++ir_1) {
      const int at_1 = ir_1 + ir * 4;
      r_1[at_1] = r[at_1] + y_r[at_1];
    }
  }
  #pragma unroll
  for (int ir = 0; ir < 2; ++ir) {
    const int at_1 = i0 + (at + ir * 1024);
    if (at_1 < N) {
      *(uint4 *)(&y[at_1]) = *(const uint4 *)(&r_1[ir * 4]);
    }
  }
}
