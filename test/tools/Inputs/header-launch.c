/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
// Launches kernels of AOT headers on a driver that only looks at what it is given.
#include "dense.h"
#include "open.h"
#include "rows.h"
#include "square.h"
#include "strided.h"
#include <assert.h>

static int64_t last[16];
static int launches, windows, emptyWindows;
static const CUdeviceptr kSpare = 4096;

CUresult cuCtxGetDevice(CUdevice *d) { return *d = 0, CUDA_SUCCESS; }
CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice d) { return (void)a, (void)d, *v = 4, CUDA_SUCCESS; }
CUresult cuLibraryLoadData(CUlibrary *l, const void *code, CUjit_option *o, void **v, unsigned n, CUlibraryOption *lo, void **lv,
                           unsigned m) {
  return (void)code, (void)o, (void)v, (void)n, (void)lo, (void)lv, (void)m, *l = 0, CUDA_SUCCESS;
}
CUresult cuLibraryUnload(CUlibrary l) { return (void)l, CUDA_SUCCESS; }
CUresult cuLibraryGetKernel(CUkernel *k, CUlibrary l, const char *name) { return (void)l, (void)name, *k = 0, CUDA_SUCCESS; }
CUresult cuKernelGetFunction(CUfunction *f, CUkernel k) { return (void)k, *f = 0, CUDA_SUCCESS; }
CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int v) { return (void)f, (void)a, (void)v, CUDA_SUCCESS; }
CUresult cuMemAlloc(CUdeviceptr *p, size_t n) { return (void)n, *p = kSpare, CUDA_SUCCESS; }
CUresult cuMemsetD8(CUdeviceptr p, unsigned char v, size_t n) { return (void)p, (void)v, (void)n, CUDA_SUCCESS; }
CUresult cuMemFree(CUdeviceptr p) { return (void)p, CUDA_SUCCESS; }
CUresult cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType t, cuuint32_t rank, void *base, const cuuint64_t *dims,
                                const cuuint64_t *strides, const cuuint32_t *box, const cuuint32_t *steps, CUtensorMapInterleave i,
                                CUtensorMapSwizzle s, CUtensorMapL2promotion p, CUtensorMapFloatOOBfill f) {
  (void)map, (void)t, (void)strides, (void)steps, (void)i, (void)s, (void)p, (void)f;
  for (cuuint32_t d = 0; d < rank; ++d)
    assert(dims[d] > 0 && box[d] > 0 && box[d] <= 256);
  ++windows;
  emptyWindows += (CUdeviceptr)base == kSpare;
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **args, void **extra) {
  (void)c, (void)f, (void)extra;
  for (int i = 0; launches >= 100 && i < 7; ++i) // strided.h: two pointers, the rows' length, four strides
    last[i] = *(int64_t *)args[i];
  ++launches;
  return CUDA_SUCCESS;
}

int main(void) {
  kc_linear_t linear;
  assert(kc_linear_load(&linear) == CUDA_SUCCESS);
  assert(kc_linear_launch(&linear, 0, 65536, 131072, 196608, 262144, 64, 64, 64, 0) == CUDA_SUCCESS);
  assert(launches == 1 && windows > 1 && emptyWindows == 0);
  assert(kc_linear_launch(&linear, 0, 65536, 131072, 196608, 262144, 64, 0, 64, 0) == CUDA_SUCCESS);
  assert(launches == 2 && emptyWindows == 4); // without k the operands are empty, those of last tiles too, the results are not
  assert(kc_linear_unload(&linear) == CUDA_SUCCESS);

  // Sizes beyond 32 bits, all of them fixed: the launcher takes what the text was made for.
  launches = 0;
  kc_rows_t rows;
  kc_square_t square;
  assert(kc_rows_load(&rows) == CUDA_SUCCESS && kc_square_load(&square) == CUDA_SUCCESS);
  assert(kc_rows_launch(&rows, 0, 65536, 131072, 0) == CUDA_SUCCESS && launches == 1);
  assert(kc_square_workspace_bytes(&square) == (size_t)1 << 32);
  assert(kc_square_launch(&square, 0, 65536, 131072, 262144) == CUDA_SUCCESS && launches > 1);
  // Open ones: more blocks than a GPU takes are refused, also where their number does not fit into 64 bits.
  kc_open_t open;
  assert(kc_open_load(&open) == CUDA_SUCCESS);
  launches = 0;
  assert(kc_open_launch(&open, 0, 65536, 0, 131072, 0, (int64_t)1 << 40, 64, 0) == CUDA_ERROR_INVALID_VALUE);
  assert(kc_open_launch(&open, 0, 65536, 0, 131072, 0, INT64_MAX, INT64_MAX, 0) == CUDA_ERROR_INVALID_VALUE);
  assert(launches == 0);
  assert(kc_mul(INT64_MAX, 2) == INT64_MAX && kc_mul(INT64_MIN, -1) == INT64_MAX && kc_mul(-3, INT64_MAX) == INT64_MIN &&
         kc_mul(-3, -4) == 12);
  assert(kc_add(INT64_MAX, 1) == INT64_MAX && kc_sub(INT64_MIN, 1) == INT64_MIN && kc_add(INT64_MIN, INT64_MAX) == -1);
  assert(kc_floordiv(-7, 2) == -4 && kc_ceildiv(-7, 2) == -3 && kc_mod(-7, 2) == 1 && kc_floordiv(INT64_MIN, -1) == INT64_MAX &&
         kc_mod(5, 0) == 0);

  launches = 100;
  kc_copy_t copy;
  assert(kc_copy_load(&copy) == CUDA_SUCCESS);
  const int64_t transposed[] = {1, -7}, repeated[] = {0, 1};
  assert(kc_copy_launch(&copy, 0, 65536, transposed, 131072, 0, 5, 3, 0) == CUDA_SUCCESS);
  const int64_t expected[] = {65536, 131072, 3, 1, -7, 3, 1};
  assert(launches == 101 && memcmp(last, expected, sizeof expected) == 0);
  assert(kc_copy_launch(&copy, 0, 65536, repeated, 131072, 0, 5, 3, 0) == CUDA_SUCCESS);
  assert(kc_copy_launch(&copy, 0, 65536, 0, 131072, repeated, 5, 3, 0) == CUDA_ERROR_INVALID_VALUE);
  assert(launches == 102);
  return 0;
}
