/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// NVRTC with more options in every compile, so that the tiers of compiling can be compared on whole programs: first_launch.py --bits.
//
//     cc -O1 -fPIC -shared bench/nvrtc_tier.c -o DIR/libnvrtc.so.13 -ldl
//     echo /usr/local/cuda/lib64/libnvrtc.so.13 > DIR/real; echo --Ofast-compile=mid -DKC_LOOPS > DIR/option
//     KERNELC_LIBNVRTC=DIR/libnvrtc.so.13 ..
//
// Both are files beside the library, since workers get a minimal environment.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void readLine(const char *name, char *line) {
  Dl_info info;
  char path[PATH_MAX];
  dladdr((const void *)&readLine, &info);
  snprintf(path, sizeof path, "%s", info.dli_fname);
  snprintf(strrchr(path, '/') + 1, 16, "%s", name);
  FILE *f = fopen(path, "r");
  if (!f || !fgets(line, PATH_MAX, f))
    abort();
  line[strcspn(line, "\n")] = 0;
  fclose(f);
}

static void *find(const char *symbol) {
  static void *real;
  static char path[PATH_MAX];
  if (!real) {
    readLine("real", path);
    real = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  return real ? dlsym(real, symbol) : NULL;
}

#define FORWARD(name, parameters, arguments)                                                                                               \
  int name parameters { return ((int(*) parameters)find(#name))arguments; }
FORWARD(nvrtcVersion, (int *a, int *b), (a, b))
FORWARD(nvrtcGetNumSupportedArchs, (int *n), (n))
FORWARD(nvrtcGetSupportedArchs, (int *a), (a))
FORWARD(nvrtcCreateProgram, (void **p, const char *s, const char *n, int h, const char *const *t, const char *const *i), (p, s, n, h, t, i))
FORWARD(nvrtcDestroyProgram, (void **p), (p))
FORWARD(nvrtcGetCUBINSize, (void *p, size_t *n), (p, n))
FORWARD(nvrtcGetCUBIN, (void *p, char *b), (p, b))
FORWARD(nvrtcGetPTXSize, (void *p, size_t *n), (p, n))
FORWARD(nvrtcGetPTX, (void *p, char *b), (p, b))
FORWARD(nvrtcGetProgramLogSize, (void *p, size_t *n), (p, n))
FORWARD(nvrtcGetProgramLog, (void *p, char *b), (p, b))
FORWARD(nvrtcSetFlowCallback, (void *p, int (*f)(void *, void *), void *d), (p, f, d))

const char *nvrtcGetErrorString(int e) { return ((const char *(*)(int))find("nvrtcGetErrorString"))(e); }

int nvrtcCompileProgram(void *program, int count, const char *const *options) {
  static char option[PATH_MAX];
  if (!option[0])
    readLine("option", option);
  char line[PATH_MAX];
  const char **all = malloc(((size_t)count + sizeof line / 2) * sizeof *all);
  memcpy(all, options, (size_t)count * sizeof *all);
  strcpy(line, option);
  for (char *word = strtok(line, " "); word; word = strtok(NULL, " "))
    all[count++] = word;
  int result = ((int (*)(void *, int, const char *const *))find("nvrtcCompileProgram"))(program, count, all);
  free(all);
  return result;
}
