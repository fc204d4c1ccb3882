// kernel saxpy of saxpy.kc:2, for sm_90a
// assumes N % 4 == 0 and fits32(x) and fits32(y) and fits32(y) and fits32(workspace)

// schedule: tile i 2048; warps 8; unit simt
#line 3 "saxpy.kc"
extern "C" __global__ void __launch_bounds__(256) kc_saxpy(const float a, float *__restrict__ x, float *__restrict__ y, const int N) {
  const int i0 = (int)blockIdx.x * 2048;
  alignas(16) float x_r[8];
  const int tid = (int)threadIdx.x;
  const int i = tid % 32 * 4 + tid / 32 * 128;
  #pragma unroll
  for (int ir = 0; ir < 2; ++ir) {
    const int i_1 = ir * 4;
    const int i_2 = i0 + (i + ir * 1024);
    if (i_2 < N) {
      *(uint4 *)(&x_r[i_1]) = *(const uint4 *)(&x[i_2]);
    } else {
      x_r[i_1] = 0.0f;
      x_r[i_1 + 1] = 0.0f;
      x_r[i_1 + 2] = 0.0f;
      x_r[i_1 + 3] = 0.0f;
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
    const int i_3 = ir_3 * 4;
    const int i_4 = i0 + (i + ir_3 * 1024);
    if (i_4 < N) {
      *(uint4 *)(&y_r[i_3]) = *(const uint4 *)(&y[i_4]);
    } else {
      y_r[i_3] = 0.0f;
      y_r[i_3 + 1] = 0.0f;
      y_r[i_3 + 2] = 0.0f;
      y_r[i_3 + 3] = 0.0f;
    }
  }
  alignas(16) float r_1[8];
  #pragma unroll
  for (int ir_4 = 0; ir_4 < 2; ++ir_4) {
    const int i_5 = ir_4 * 4;
    #pragma unroll
    for (int ir_5 = 0; ir_5 < 4; ++ir_5) {
      const int i_6 = ir_5 + i_5;
      r_1[i_6] = r[i_6] + y_r[i_6];
    }
  }
  #pragma unroll
  for (int ir_6 = 0; ir_6 < 2; ++ir_6) {
    const int i_7 = ir_6 * 4;
    const int i_8 = i0 + (i + ir_6 * 1024);
    if (i_8 < N) {
      *(uint4 *)(&y[i_8]) = *(const uint4 *)(&r_1[i_7]);
    }
  }
}
