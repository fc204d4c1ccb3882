// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The artifact's JSON: round trips, a strict reader, no crash on any bytes.
#include "support/ArtifactJson.h"

#include <random>

#include <gmock/gmock.h>

#include "support/Json.h"
#include "test/runtime/TestKernels.h"

namespace kernelc {
namespace {

using testing::HasSubstr;
using testing_kernels::axpy;
using testing_kernels::matmul;

Kernel rich() {
  Kernel k = matmul();
  k.variants[0].cudaText = "// text with \"quotes\", \t tabs\n#line 3 \"mm.kc\"\n\xe2\x82\xac\n";
  k.variants[0].remarks = {"operand 'x' is repacked: rows of 4095 elements", ""};
  k.variants[0].guard = SizeExpr::binary(SizeTerm::And, SizeExpr::binary(SizeTerm::Lt, SizeExpr::size(0), INT64_MAX),
                                         SizeExpr::binary(SizeTerm::Ne, SizeExpr::smCount(), INT64_MIN));
  k.variants[0].guardText = "M < big";
  k.variants[0].params[0].order = {1, 0};
  k.variants[0].params[0].pitch = 128;
  k.variants[0].workspaces = {{"t", SizeExpr(0), SizeExpr::size(1)}, {"u", SizeExpr(256), SizeExpr::size(2) * 4}};
  k.variants[0].launches[0].schedule = "tile 128x256x64";
  std::get<TensorMapArg>(k.variants[0].launches[0].args[1]).box[1] = SizeExpr::binary(SizeTerm::Mod, SizeExpr::size(2), 128) + 1;
  k.sizes.push_back({"G", -1, -1, 1, 0, 7});
  k.quotients = {SizeExpr::binary(SizeTerm::FloorDiv, SizeExpr::size(1), SizeExpr(12))};
  return k;
}

TEST(ArtifactJson, RoundTrip) {
  std::vector<Kernel> kernels = {axpy(), rich()};
  auto text = artifactToJson(kernels);
  ASSERT_TRUE(text.ok()) << text.status();
  auto back = artifactFromJson(*text);
  ASSERT_TRUE(back.ok()) << back.status();
  ASSERT_EQ(back->size(), 2u);
  EXPECT_EQ(*artifactToJson(*back), *text) << "same kernels, same bytes";
  const Kernel &k = (*back)[1];
  EXPECT_EQ(k.variants[0].cudaText, rich().variants[0].cudaText);
  EXPECT_EQ(k.variants[0].guard, rich().variants[0].guard);
  EXPECT_EQ(k.variants[0].params[0].order, (std::vector<int>{1, 0}));
  EXPECT_EQ(k.variants[0].params[0].pitch, 128u);
  EXPECT_EQ(k.variants[0].params[1].order, std::vector<int>());
  EXPECT_EQ(k.variants[0].workspaceBytes, rich().variants[0].workspaceBytes);
  ASSERT_EQ(k.variants[0].workspaces.size(), 2u);
  EXPECT_EQ(k.variants[0].workspaces[1].name, "u");
  EXPECT_EQ(k.variants[0].workspaces[1].byteOffset, SizeExpr(256));
  EXPECT_EQ(k.variants[0].workspaces[1].bytes, SizeExpr::size(2) * 4);
  EXPECT_EQ(k.sizes[3].constant, 7);
  EXPECT_EQ(k.quotients, rich().quotients);
  EXPECT_TRUE((*back)[0].quotients.empty());
  EXPECT_FALSE(k.sizes[0].constant.has_value());
  EXPECT_EQ(k.params[2].kind, ParamKind::Output);
  EXPECT_EQ(k.params[2].loc.column, 44);
  EXPECT_EQ(std::get<TensorMapArg>(k.variants[0].launches[0].args[0]).box, (std::vector<SizeExpr>{64, 128}));
  EXPECT_EQ(std::get<TensorMapArg>(k.variants[0].launches[0].args[1]).box,
            std::get<TensorMapArg>(rich().variants[0].launches[0].args[1]).box);
  EXPECT_EQ(std::get<SizeArg>(k.variants[0].launches[0].args[5]).bits, 64);
  EXPECT_EQ(artifactFromJson(*artifactToJson({}))->size(), 0u);
}

TEST(ArtifactJson, EveryOperationHasAName) {
  Kernel k = axpy();
  std::vector<SizeTerm> all = {{SizeTerm::Const, -3}, {SizeTerm::Size, 0}, {SizeTerm::Stride, 1 << 8 | 0}, {SizeTerm::SmCount, 0}};
  for (int i = 0; i < 15; ++i)
    all.push_back({SizeTerm::SmCount, 0});
  for (int op = SizeTerm::Add; op <= SizeTerm::Or; ++op)
    all.push_back({SizeTerm::Op(op), 0});
  all.push_back({SizeTerm::Not, 0});
  int depth = 0;
  for (const SizeTerm &t : all)
    depth += t.op <= SizeTerm::SmCount ? 1 : t.op == SizeTerm::Not ? 0 : -1;
  for (; depth > 1; --depth)
    all.push_back({SizeTerm::Add, 0});
  k.variants[0].guard = SizeExpr(all);
  auto text = artifactToJson({k});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ((*artifactFromJson(*text))[0].variants[0].guard.terms(), all);
}

/// The text of one good kernel with `from` replaced once.
std::string errorAfter(const std::string &from, const std::string &to) {
  std::string text = *artifactToJson({rich()});
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  auto r = artifactFromJson(text);
  if (r.ok())
    return "ok";
  EXPECT_EQ(r.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(r.status().message());
}

TEST(ArtifactJson, StrictReader) {
  EXPECT_EQ(errorAfter("\"kernelc_artifact\": 4", "\"kernelc_artifact\": 5"),
            "the artifact has version 5; this kernelc reads version 4; compile it again");
  EXPECT_EQ(errorAfter("\"block\": 384", "\"blocks\": 384"),
            "kernels[0].variants[0].launches[0].block: expected an integer from 0 to 2147483647, got nothing");
  EXPECT_EQ(errorAfter("\"block\": 384", "\"block\": 384, \"extra\": 0"), "kernels[0].variants[0].launches[0]: unknown member 'extra'");
  EXPECT_EQ(errorAfter("\"block\": 384", "\"block\": \"384\""),
            "kernels[0].variants[0].launches[0].block: expected an integer from 0 to 2147483647, got a string");
  EXPECT_EQ(errorAfter("\"block\": 384", "\"block\": 384.0"),
            "kernels[0].variants[0].launches[0].block: expected an integer from 0 to 2147483647, got a number");
  EXPECT_EQ(errorAfter("\"type\": \"bf16\"", "\"type\": \"bf17\""), "kernels[0].params[0].type: unknown element type 'bf17'");
  EXPECT_EQ(errorAfter("\"layout\": \"inner_unit\"", "\"layout\": \"odd\""), "kernels[0].variants[0].params[0].layout: unknown name 'odd'");
  EXPECT_THAT(errorAfter("\"size:0\"", "\"size:x\""), HasSubstr("malformed size operand"));
  EXPECT_THAT(errorAfter("\"stride:0:0\"", "\"stride:0:999\""), HasSubstr("malformed stride operand"));
  EXPECT_THAT(errorAfter("\"size:0\"", "\"stride\""), HasSubstr("operand without its number"));
  EXPECT_THAT(errorAfter("\"size:0\"", "null"), HasSubstr("expected a string, got null"));
  EXPECT_EQ(errorAfter("\"kind\": \"tensor_map\"", "\"kind\": \"pointer\""),
            "kernels[0].variants[0].launches[0].args[0]: unknown member 'type'");
  EXPECT_EQ(errorAfter("\"cluster\": 2", "\"cluster\": 99"),
            "kernel 'mm', variant 'tma', launch 0: cluster of 99 blocks is outside 1 to 16");
  EXPECT_EQ(errorAfter("\"loc\": [\"mm.kc\", 3, 5]", "\"loc\": [3, 5]"),
            "kernels[0].loc: expected a location [file, line, column], got an array");
}

TEST(ArtifactJson, MalformedKernelsAreNotWritten) {
  Kernel k = axpy();
  k.sizes[0].param = 99;
  EXPECT_FALSE(artifactToJson({k}).ok());
  k = axpy();
  k.variants[0].cudaText = "\xff";
  EXPECT_FALSE(artifactToJson({k}).ok());
}

TEST(ArtifactJson, RandomDamageNeverCrashes) {
  std::string good = *artifactToJson({rich()});
  std::mt19937 random(9);
  int accepted = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bad = good;
    for (int n = 1 + int(random() % 3); n > 0; --n)
      switch (random() % 4) {
      case 0: bad[random() % bad.size()] = char(random()); break;
      case 1: bad.erase(random() % bad.size(), random() % 20); break;
      case 2: bad.insert(random() % bad.size(), 1, "[]{},:\"0-e"[random() % 10]); break;
      case 3: bad.resize(random() % bad.size() + 1); break;
      }
    if (auto r = artifactFromJson(bad); r.ok()) {
      ++accepted; // a change within a name or number
      EXPECT_TRUE(artifactToJson(*r).ok());
    }
  }
  EXPECT_LT(accepted, 1500);
}

} // namespace
} // namespace kernelc
