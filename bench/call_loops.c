/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Loops in C around what a call comes down to, for python_call.py, which compiles this file: seconds for `calls` calls; negative
   where one fails. */
#include <stddef.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef int (*LaunchKernel)(void *function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned shared, void *stream,
                            void **params, void **extra);
double loop_launch_kernel(LaunchKernel launch, void *function, void **params, void *stream, int calls) {
  double start = now();
  for (int i = 0; i < calls; ++i)
    if (launch(function, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL))
      return -1;
  return now() - start;
}

double loop_bound_launch(int (*launch)(void *bound, void *stream), void *bound, void *stream, int calls) {
  double start = now();
  for (int i = 0; i < calls; ++i)
    if (launch(bound, stream))
      return -1;
  return now() - start;
}

double loop_bound_call(int (*call)(void *bound, const void *values, size_t, void *stream), void *bound, const void *values, size_t count,
                       void *stream, int calls) {
  double start = now();
  for (int i = 0; i < calls; ++i)
    if (call(bound, values, count, stream))
      return -1;
  return now() - start;
}
