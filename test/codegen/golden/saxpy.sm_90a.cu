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
    const int at_1 = ir * 4;
    const int at_2 = i0 + (at + ir * 1024);
    if (at_2 < N) {
      *(uint4 *)(&x_r[at_1]) = *(const uint4 *)(&x[at_2]);
    } else {
      x_r[at_1] = 0.0f;
      x_r[at_1 + 1] = 0.0f;
      x_r[at_1 + 2] = 0.0f;
      x_r[at_1 + 3] = 0.0f;
    }
  }
  alignas(16) float r[8];
  #pragma unroll
  for (int ir_1 = 0; ir_1 < 2; ++ir_1) {
    const int x_1 = ir_1 * 4;
    #pragma unroll
    for (int ir_2 = 0; ir_2 < 4; ++ir_2) {
      const int x_2 = ir_2 + x_1;
      r[x_2] = a * x_r[x_2];
    }
  }
  alignas(16) float y_r[8];
  #pragma unroll
  for (int ir_3 = 0; ir_3 < 2; ++ir_3) {
    const int at_3 = ir_3 * 4;
    const int at_4 = i0 + (at + ir_3 * 1024);
    if (at_4 < N) {
      *(uint4 *)(&y_r[at_3]) = *(const uint4 *)(&y[at_4]);
    } else {
      y_r[at_3] = 0.0f;
      y_r[at_3 + 1] = 0.0f;
      y_r[at_3 + 2] = 0.0f;
      y_r[at_3 + 3] = 0.0f;
    }
  }
  alignas(16) float r_1[8];
  #pragma unroll
  for (int ir_4 = 0; ir_4 < 2; ++ir_4) {
    const int at_5 = ir_4 * 4;
    #pragma unroll
    for (int ir_5 = 0; ir_5 < 4; ++ir_5) {
      const int at_6 = ir_5 + at_5;
      r_1[at_6] = r[at_6] + y_r[at_6];
    }
  }
  #pragma unroll
  for (int ir_6 = 0; ir_6 < 2; ++ir_6) {
    const int at_7 = ir_6 * 4;
    const int at_8 = i0 + (at + ir_6 * 1024);
    if (at_8 < N) {
      *(uint4 *)(&y[at_8]) = *(const uint4 *)(&r_1[at_7]);
    }
  }
}
