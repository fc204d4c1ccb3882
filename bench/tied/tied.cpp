// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs the variants that generate.py has made in turns and prints ratios to the first of each row. The tables of the
// notes are what this prints.
#include <cuda.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

struct Variant {
  const char *name;
  CUresult (*load)();
  CUresult (*run)(CUstream, CUdeviceptr, CUdeviceptr, CUdeviceptr);
  CUlibrary (*library)();
};
struct Row {
  const char *type;
  int size;
  std::vector<Variant> variants;
};
#include "variants.inc"

static void check(CUresult r, const char *what) {
  if (r == CUDA_SUCCESS)
    return;
  const char *text = "";
  cuGetErrorString(r, &text);
  std::fprintf(stderr, "%s: %s\n", what, text);
  std::exit(1);
}

static double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

/// Lets an exact path find the operands, where the variant has one.
static void bind(CUlibrary library, CUdeviceptr a, CUdeviceptr b) {
  for (auto [name, value] : {std::pair("kc_a", a), std::pair("kc_b", b)}) {
    CUdeviceptr place;
    size_t bytes;
    if (cuLibraryGetGlobal(&place, &bytes, library, name) == CUDA_SUCCESS)
      check(cuMemcpyHtoD(place, &value, sizeof value), name);
  }
}

int main() {
  CUdevice device;
  CUcontext context;
  check(cuInit(0), "cuInit");
  check(cuDeviceGet(&device, 0), "cuDeviceGet");
  check(cuDevicePrimaryCtxRetain(&context, device), "context");
  check(cuCtxSetCurrent(context), "context");
  char name[128];
  check(cuDeviceGetName(name, sizeof name, device), "name");
  std::printf("%s\n| type | size | variant | us | ratio to the first: median (1st, 9th tenth) of rounds |\n|---|--:|---|--:|--:|\n", name);
  constexpr size_t kFlush = size_t(192) << 20;
  CUdeviceptr flush, a, b, c;
  check(cuMemAlloc(&flush, kFlush), "memory");
  CUevent begin, end;
  check(cuEventCreate(&begin, 0), "event");
  check(cuEventCreate(&end, 0), "event");
  for (const Row &row : kRows) {
    size_t n = size_t(row.size), bytes = std::string(row.type) == "f32" ? 4 : 2;
    check(cuMemAlloc(&a, n * n * bytes), "memory");
    check(cuMemAlloc(&b, n * n * bytes), "memory");
    check(cuMemAlloc(&c, n * n * 4), "memory");
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (CUdeviceptr p : {a, b}) {
      std::vector<uint8_t> host(n * n * bytes);
      for (size_t i = 0; i < n * n; ++i) {
        float v = normal(random);
        uint32_t bits;
        __builtin_memcpy(&bits, &v, 4);
        if (bytes == 2) {
          uint16_t half = uint16_t((bits + 0x8000) >> 16);
          __builtin_memcpy(&host[i * 2], &half, 2);
        } else {
          __builtin_memcpy(&host[i * 4], &bits, 4);
        }
      }
      check(cuMemcpyHtoD(p, host.data(), host.size()), "copy");
    }
    std::vector<float> first;
    for (const Variant &v : row.variants) {
      check(v.load(), v.name);
      bind(v.library(), a, b);
      check(v.run(nullptr, a, b, c), v.name);
      std::vector<float> result(n * n);
      check(cuMemcpyDtoH(result.data(), c, n * n * 4), v.name);
      if (first.empty())
        first = result;
      if (result != first) {
        std::fprintf(stderr, "%s %d %s differs\n", row.type, row.size, v.name);
        return 1;
      }
    }
    int rounds = row.size <= 2048 ? 400 : row.size == 4096 ? 150 : 40;
    std::vector<std::vector<double>> times(row.variants.size());
    for (int round = -5; round < rounds; ++round)
      for (size_t k = 0; k < row.variants.size(); ++k) {
        size_t v = (k + size_t(round + 5)) % row.variants.size();
        check(cuMemsetD8(flush, 0, kFlush), "flush");
        check(cuEventRecord(begin, nullptr), "event");
        check(row.variants[v].run(nullptr, a, b, c), row.variants[v].name);
        check(cuEventRecord(end, nullptr), "event");
        check(cuEventSynchronize(end), "event");
        float ms;
        check(cuEventElapsedTime(&ms, begin, end), "event");
        if (round >= 0)
          times[v].push_back(ms * 1e3);
      }
    for (size_t v = 0; v < row.variants.size(); ++v) {
      std::vector<double> ratios;
      for (int round = 0; round < rounds; ++round)
        ratios.push_back(times[0][size_t(round)] / times[v][size_t(round)]);
      std::sort(ratios.begin(), ratios.end());
      size_t tenth = ratios.size() / 10;
      std::printf("| %s | %d | %s | %.1f | %.4f (%.4f, %.4f) |\n", row.type, row.size, row.variants[v].name, median(times[v]),
                  median(ratios), ratios[tenth], ratios[ratios.size() - 1 - tenth]);
    }
    std::fflush(stdout);
    for (CUdeviceptr p : {a, b, c})
      check(cuMemFree(p), "memory");
  }
}
