// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asynchronous work is done late without a seed, and under seeds at any time: what uses
// results before they were waited for, or changes operands before, gives both values.
// The checks are off here; with them each of these is a finding, under every seed.
#include <set>

#include "test/emulator/Harness.h"

namespace kernelc::emulator {
namespace {

class Seeds {
public:
  Seeds(const std::string &body, uint32_t threads, bool hasMap = false)
      : launcher_("extern \"C\" __global__ void kc_early(const float* x, float* y" +
                  std::string(hasMap ? ", const __grid_constant__ kc_tensor_map map" : "") +
                  ") {\n  float* s = (float*)kc_shared();\n  int t = threadIdx.x;\n" + body + "\n}\n") {
    launcher_.in("x", x_).inout("y", y_).block(threads).shared(16384);
    if (!hasMap)
      return;
    HostTensorMap m;
    m.base = y_.data(), m.type = ElementType::f32, m.rank = 1;
    m.dims[0] = y_.size(), m.strides[0] = 4, m.box[0] = 64, m.elementStrides[0] = 1;
    std::vector<uint8_t> packed(128);
    EXPECT_TRUE(encodeTensorMap(m, packed.data()).ok());
    launcher_.spec.args.push_back(packed);
  }
  /// y[0] without a seed is `late`, under seeds it is either; the checks find something under each.
  void giveBoth(float late, float early) {
    launcher_.options_.checks = false;
    run(0);
    EXPECT_EQ(y_[0], late);
    std::set<float> values;
    for (uint64_t seed = 1; seed < 40; seed++) {
      run(seed);
      values.insert(y_[0]);
    }
    EXPECT_EQ(values, (std::set<float>{late, early}));
    launcher_.options_.checks = true;
    for (uint64_t seed : {0, 1, 2})
      EXPECT_FALSE(run(seed).ok()) << "seed " << seed;
  }

private:
  Report run(uint64_t seed) {
    launcher_.options_.seed = seed;
    return launcher_.run();
  }
  std::vector<float> x_ = std::vector<float>(512, 1.0f), y_ = std::vector<float>(256, 0.0f);
  Launcher launcher_;
};

TEST(EmulatorEarlyWork, ACopyThatNobodyWaitedFor) {
  Seeds("s[4 * t] = 5.0f; __syncthreads();\n"
        "kc_cp_async_16(s + 4 * t, x + 4 * t); kc_cp_async_commit(); __syncthreads();\n"
        "y[t] = s[4 * t]; kc_cp_async_wait<0>();",
        64)
      .giveBoth(5.0f, 1.0f);
}

TEST(EmulatorEarlyWork, AStoreWhoseSourceChanges) {
  Seeds("s[t] = x[t]; kc_fence_proxy_async(); __syncthreads();\n"
        "if (t == 0) { kc_tma_store_1d(&map, s, 0); kc_tma_commit(); }\n"
        "__syncthreads(); s[t] = 2.0f; __syncthreads();\n"
        "if (t == 0) kc_tma_wait_read<0>();",
        64, true)
      .giveBoth(2.0f, 1.0f);
}

TEST(EmulatorEarlyWork, AProductWhoseOperandChanges) {
  // A and B are 64 x 16 and 8 x 16 of bf16 ones: without a swizzle, of core matrices of 8 rows by 16 bytes.
  Seeds("unsigned short* a = (unsigned short*)s; unsigned short* b = a + 1024;\n"
        "for (int i = t; i < 1152; i += 128) a[i] = 0x3f80;\n"
        "kc_fence_proxy_async(); __syncthreads();\n"
        "float d[4] = {0, 0, 0, 0};\n"
        "kc_wgmma_fence();\n"
        "kc_wgmma_bf16<8, 0, 0>(d, kc_smem_desc(a, 1024, 128, 0), kc_smem_desc(b, 128, 128, 0), 0);\n"
        "kc_wgmma_commit(); __syncthreads();\n"
        "if (t == 0) b[0] = 0; __syncthreads();\n"
        "kc_wgmma_wait<0>(); y[t] = d[0];",
        128)
      .giveBoth(15.0f, 16.0f);
}

} // namespace
} // namespace kernelc::emulator
