// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each way in which an artifact can be malformed, one mutation per case.
#include "support/ArtifactCheck.h"

#include <functional>

#include <gtest/gtest.h>

#include "test/runtime/TestKernels.h"

namespace kernelc {
namespace {

using testing_kernels::axpy;
using testing_kernels::matmul;

TEST(CheckKernel, GoodKernels) {
  EXPECT_TRUE(checkKernel(axpy()).ok());
  EXPECT_TRUE(checkKernel(matmul()).ok());
}

TEST(CheckKernel, EveryMutationIsNamed) {
  using M = std::function<void(Kernel &)>;
  auto term = [](SizeTerm::Op op, int64_t v) { return SizeExpr(std::vector<SizeTerm>{{op, v}}); };
  auto map = [](Kernel &k) -> TensorMapArg & { return std::get<TensorMapArg>(k.variants[0].launches[0].args[0]); };
  const std::pair<M, const char *> cases[] = {
      {[](Kernel &k) { k.name = ""; }, "kernel '': has no name"},
      {[](Kernel &k) { k.params[0].dims[0] = SizeExpr::size(9); },
       "kernel 'mm', parameter 'x': dimension refers to size number 9, and the kernel has 3"},
      {[](Kernel &k) { k.params[0].kind = ParamKind::Scalar; }, "kernel 'mm', parameter 'x': a scalar has no dimensions"},
      {[](Kernel &k) { k.params[0].dims.resize(33); }, "kernel 'mm', parameter 'x': rank 33 is above 32"},
      {[](Kernel &k) { k.sizes[0].param = 7; }, "kernel 'mm', size 'M': comes from parameter 7, which is no tensor"},
      {[](Kernel &k) { k.sizes[0].dim = 2; }, "kernel 'mm', size 'M': comes from dimension 2 of rank 2"},
      {[](Kernel &k) { k.sizes[0].scale = 0; }, "kernel 'mm', size 'M': scale is 0"},
      {[&](Kernel &k) { k.requires_[0].condition = term(SizeTerm::Add, 0); },
       "kernel 'mm', require 'K % 8 == 0': condition lacks an operand"},
      {[](Kernel &k) { k.quotients = {SizeExpr::size(3)}; }, "kernel 'mm': quotient refers to size number 3, and the kernel has 3"},
      {[](Kernel &k) { k.variants[0].params.pop_back(); }, "kernel 'mm', variant 'tma': has layout guards for 2 of 3 parameters"},
      {[](Kernel &k) { k.variants[0].params[0].order = {1, 1}; }, "kernel 'mm', variant 'tma': has no order of the dims of parameter 0"},
      {[](Kernel &k) { k.variants[0].params[0].order = {1}; }, "kernel 'mm', variant 'tma': has no order of the dims of parameter 0"},
      {[](Kernel &k) { k.variants[0].params[2].order = {1, 0}; }, "kernel 'mm', variant 'tma': has no order of the dims of parameter 2"},
      {[](Kernel &k) { k.variants[0].params[0].pitch = 24; },
       "kernel 'mm', variant 'tma': has rows of parameter 0 24 bytes apart; 16 and 128 exist"},
      {[](Kernel &k) { k.variants[0].guard = SizeExpr(std::vector<SizeTerm>(2, {SizeTerm::Const, 1})); },
       "kernel 'mm', variant 'tma': guard leaves 2 values"},
      {[](Kernel &k) { k.variants[0].workspaceBytes = SizeExpr::size(-1); },
       "kernel 'mm', variant 'tma': workspace refers to size number -1, and the kernel has 3"},
      {[](Kernel &k) { k.variants[0].workspaces = {{"t", {}, SizeExpr::size(3)}}; },
       "kernel 'mm', variant 'tma': a workspace's size refers to size number 3, and the kernel has 3"},
      {[](Kernel &k) { k.variants[0].launches[0].entry = ""; }, "kernel 'mm', variant 'tma', launch 0: has no entry"},
      {[](Kernel &k) { k.variants[0].launches[0].block = 0; },
       "kernel 'mm', variant 'tma', launch 0: block of 0 threads is outside 1 to 1024"},
      {[](Kernel &k) { k.variants[0].launches[0].block = 1025; },
       "kernel 'mm', variant 'tma', launch 0: block of 1025 threads is outside 1 to 1024"},
      {[](Kernel &k) { k.variants[0].launches[0].cluster = 17; },
       "kernel 'mm', variant 'tma', launch 0: cluster of 17 blocks is outside 1 to 16"},
      {[](Kernel &k) { k.variants[0].launches[0].grid = SizeExpr::stride(0, 5); },
       "kernel 'mm', variant 'tma', launch 0: grid refers to stride 5 of parameter 0"},
      {[](Kernel &k) { k.variants[0].launches[0].grid = SizeExpr(std::vector<SizeTerm>(65, {SizeTerm::SmCount, 0})); },
       "kernel 'mm', variant 'tma', launch 0: grid is nested too deeply"},
      {[](Kernel &k) { k.variants[0].launches[0].args[2] = PointerArg{3, {}}; },
       "kernel 'mm', variant 'tma', launch 0, argument 2: no tensor parameter 3"},
      {[](Kernel &k) { k.variants[0].launches[0].args[2] = PointerArg{-2, {}}; },
       "kernel 'mm', variant 'tma', launch 0, argument 2: no tensor parameter -2"},
      {[](Kernel &k) { k.variants[0].launches[0].args[2] = ScalarArg{0}; },
       "kernel 'mm', variant 'tma', launch 0, argument 2: no scalar parameter 0"},
      {[](Kernel &k) { k.variants[0].launches[0].args[2] = ScalarArg{-1}; },
       "kernel 'mm', variant 'tma', launch 0, argument 2: no scalar parameter -1"},
      {[](Kernel &k) { k.variants[0].launches[0].args[2] = SizeArg{1, 16}; },
       "kernel 'mm', variant 'tma', launch 0, argument 2: an integer argument has 32 or 64 bits, not 16"},
      {[&](Kernel &k) { map(k).box[0] = 257; }, "kernel 'mm', variant 'tma', launch 0, argument 0: box extent 257 is outside 1 to 256"},
      {[&](Kernel &k) { map(k).box[0] = SizeExpr::size(0); },
       "kernel 'mm', variant 'tma', launch 0, argument 0: the innermost box extent depends on sizes"},
      {[&](Kernel &k) { map(k).box[1] = SizeExpr::size(7); },
       "kernel 'mm', variant 'tma', launch 0, argument 0: box extent refers to size number 7, and the kernel has 3"},
      {[&](Kernel &k) { map(k).box[0] = 4; },
       "kernel 'mm', variant 'tma', launch 0, argument 0: the innermost box extent is 8 bytes, not a multiple of 16"},
      {[&](Kernel &k) { map(k).box[0] = 128; },
       "kernel 'mm', variant 'tma', launch 0, argument 0: the innermost box extent is 256 bytes, more than the swizzle of 128"},
      {[&](Kernel &k) { map(k).swizzleBytes = 48; }, "kernel 'mm', variant 'tma', launch 0, argument 0: no swizzle of 48 bytes"},
      {[&](Kernel &k) { map(k).elementStrides[1] = 9; },
       "kernel 'mm', variant 'tma', launch 0, argument 0: element stride 9 is outside 1 to 8"},
      {[&](Kernel &k) { map(k).strides.clear(); },
       "kernel 'mm', variant 'tma', launch 0, argument 0: a tensor map of rank 2 has 0 strides, 2 box extents and 2 element strides"},
      {[&](Kernel &k) { map(k).dims.resize(6); }, "kernel 'mm', variant 'tma', launch 0, argument 0: a tensor map has rank 1 to 5, not 6"},
      {[&](Kernel &k) { map(k).type = ElementType::i4; }, "kernel 'mm', variant 'tma', launch 0, argument 0: a tensor map packs i4 as u8"},
  };
  for (const auto &[mutate, message] : cases) {
    Kernel k = matmul();
    mutate(k);
    absl::Status s = checkKernel(k);
    EXPECT_EQ(s.message(), message);
  }
}

} // namespace
} // namespace kernelc
