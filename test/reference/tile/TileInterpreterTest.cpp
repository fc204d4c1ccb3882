// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tile interpreter on products written by hand: rings filled ahead, and a role
// that fills for one that multiplies; in f32 and modulo 2^32. What a wrong pass would
// leave behind (a lost mask, swapped subscripts, a lost tile of k, ..) is found.
#include "reference/tile/TileInterpreter.h"

#include <random>

#include <gmock/gmock.h>

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

namespace kernelc::reference {
namespace {

const char *kHead = R"(
#x = affine_map<()[s0, s1, s2] -> (s0, s1)>
#w = affine_map<()[s0, s1, s2] -> (s2, s1)>
#y = affine_map<()[s0, s1, s2] -> (s0, s2)>
#extents = affine_map<()[s0, s1, s2] -> (s0, s2, s1)>
#tiles = affine_map<()[s0, s1, s2] -> (s1 ceildiv 4)>
#k = affine_map<()[s0, s1, s2] -> (s1)>
#start = affine_map<(d0)[s0, s1, s2] -> (d0 * 4)>
#at_x = affine_map<(d0, d1, d2)[s0, s1, s2] -> (d0, d2)>
#at_w = affine_map<(d0, d1, d2)[s0, s1, s2] -> (d1, d2)>
#at_y = affine_map<(d0, d1, d2)[s0, s1, s2] -> (d0, d1)>
#grid = affine_map<()[s0, s1, s2] -> ((s0 ceildiv 8) * (s2 ceildiv 8))>
!rx = !tile.ring<[8, 1, 4] x f32, slots 2, contiguous 2>
!rw = !tile.ring<[1, 8, 4] x f32, slots 2, contiguous 2>
!acc = tensor<8x8x1xf32>
)";
const char *kAttributes = R"(arg_names = ["x", "w", "y"], arg_shapes = [#x, #w, #y], arg_types = ["f32", "f32", "f32"], extents = #extents,
  grid_dims = array<i64: 0, 1>, indices = ["i", "j", "k"], kernel = "mm", size_div = array<i64: 1, 1, 1>, size_max = array<i64: -1, -1, -1>,
  sizes = ["M", "K", "N"], sources = array<i64: 0, 1, 2>, tiles = array<i64: 8, 8, 4>, warps = 4 : i64)";

const char *kPipelined = R"(
tile.func @kc_mm attributes {$attributes$} {
^bb0(%x: memref<?x?xf32>, %w: memref<?x?xf32>, %y: memref<?x?xf32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : !acc
  %p0 = tile.program_id 0
  %i0 = arith.muli %p0, %c8 : index
  %p1 = tile.program_id 1
  %j0 = arith.muli %p1, %c8 : index
  %end = tile.apply #tiles()
  %rx = tile.ring : <[8, 1, 4] x f32, slots 2, contiguous 2>
  %rw = tile.ring : <[1, 8, 4] x f32, slots 2, contiguous 2>
  %any = arith.cmpi sgt, %end, %c0 : index
  scf.if %any {
    tile.ring_copy %rx at %c0 from %x[%i0, %j0, %c0] map #at_x {mask = array<i64: 0, 2>} : <[8, 1, 4] x f32, slots 2, contiguous 2>, memref<?x?xf32>
    tile.ring_copy %rw at %c0 from %w[%i0, %j0, %c0] map #at_w {mask = array<i64: 1, 2>} : <[1, 8, 4] x f32, slots 2, contiguous 2>, memref<?x?xf32>
  }
  tile.async_commit
  %sum = scf.for %t = %c0 to %end step %c1 iter_args(%acc = %zero) -> (!acc) {
    tile.async_wait 0
    tile.barrier
    %next = arith.addi %t, %c1 : index
    %more = arith.cmpi slt, %next, %end : index
    scf.if %more {
      %k0 = tile.apply #start(%next)
      tile.ring_copy %rx at %next from %x[%i0, %j0, %k0] map #at_x {mask = array<i64: 0, 2>} : <[8, 1, 4] x f32, slots 2, contiguous 2>, memref<?x?xf32>
      tile.ring_copy %rw at %next from %w[%i0, %j0, %k0] map #at_w {mask = array<i64: 1, 2>} : <[1, 8, 4] x f32, slots 2, contiguous 2>, memref<?x?xf32>
    }
    tile.async_commit
    %d = tile.dot %rx, %rw, %acc m [0] n [1] k [2] at %t : !rx, !rw, !acc -> !acc
    scf.yield %d : !acc
  }
  tile.store %sum, %y[%i0, %j0, %c0] map #at_y {mask = array<i64: 0, 1>} : !acc, memref<?x?xf32>
}
)";

const char *kRoles = R"(
tile.func @kc_mm attributes {$attributes$, persistent = true, producer_warps = 4 : i64} {
^bb0(%x: memref<?x?xf32>, %w: memref<?x?xf32>, %y: memref<?x?xf32>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : !acc
  %rx = tile.ring : <[8, 1, 4] x f32, slots 2, contiguous 2>
  %rw = tile.ring : <[1, 8, 4] x f32, slots 2, contiguous 2>
  %out = tile.ring : <[8, 8, 1] x f32, slots 2, contiguous 1>
  %ch = tile.channel : <slots 2>
  %all = tile.apply #grid()
  %first = tile.block_id
  %step = tile.num_blocks
  %end = tile.apply #tiles()
  tile.roles producer registers 56 {
    %n = scf.for %tile = %first to %all step %step iter_args(%count = %c0) -> (index) {
      %p0 = tile.program_id 0 of %tile
      %i0 = arith.muli %p0, %c8 : index
      %p1 = tile.program_id 1 of %tile
      %j0 = arith.muli %p1, %c8 : index
      scf.for %t = %c0 to %end step %c1 {
        %k0 = tile.apply #start(%t)
        %number = arith.addi %count, %t : index
        tile.acquire %ch at %number bytes 256 : <slots 2>
        tile.ring_copy %rx at %number from %x[%i0, %j0, %k0] map #at_x signal %ch : !tile.channel<slots 2> {mask = array<i64: 0, 2>} : <[8, 1, 4] x f32, slots 2, contiguous 2>, memref<?x?xf32>
        tile.ring_copy %rw at %number from %w[%i0, %j0, %k0] map #at_w signal %ch : !tile.channel<slots 2> {mask = array<i64: 1, 2>} : <[1, 8, 4] x f32, slots 2, contiguous 2>, memref<?x?xf32>
      }
      %after = arith.addi %count, %end : index
      scf.yield %after : index
    }
  } consumer registers 224 {
    %n = scf.for %tile = %first to %all step %step iter_args(%count = %c0) -> (index) {
      %p0 = tile.program_id 0 of %tile
      %i0 = arith.muli %p0, %c8 : index
      %p1 = tile.program_id 1 of %tile
      %j0 = arith.muli %p1, %c8 : index
      %sum = scf.for %t = %c0 to %end step %c1 iter_args(%acc = %zero) -> (!acc) {
        %number = arith.addi %count, %t : index
        tile.await %ch at %number : <slots 2>
        %d = tile.dot %rx, %rw, %acc m [0] n [1] k [2] at %number : !rx, !rw, !acc -> !acc
        %done = tile.dot_wait %d pending 0 : !acc -> !acc
        tile.release %ch at %number : <slots 2>
        scf.yield %done : !acc
      }
      tile.box_drain 1
      tile.ring_store %out at %c0, %sum : <[8, 8, 1] x f32, slots 2, contiguous 1>, !acc
      tile.box_store %out at %c0 to %y[%i0, %j0, %c0] map #at_y shared 0 : <[8, 8, 1] x f32, slots 2, contiguous 1>, memref<?x?xf32>
      %after = arith.addi %count, %end : index
      scf.yield %after : index
    }
    tile.box_drain 0
  }
}
)";

// Two blocks share the tiles of k out; their sums meet.
const char *kShared = R"(
tile.func @kc_mm attributes {$attributes$, cluster = 2 : i64, cluster_index = 2 : i64} {
^bb0(%x: memref<?x?xf32>, %w: memref<?x?xf32>, %y: memref<?x?xf32>):
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant dense<0.0> : !acc
  %rank = tile.cluster_rank
  %p0 = tile.program_id 0
  %i0 = arith.muli %p0, %c8 : index
  %p1 = tile.program_id 1
  %j0 = arith.muli %p1, %c8 : index
  %begin = arith.muli %rank, %c4 : index
  %end = tile.apply #k()
  %sum = scf.for %k0 = %begin to %end step %c8 iter_args(%acc = %zero) -> (!acc) {
    %xt = tile.load %x[%i0, %j0, %k0] map #at_x {mask = array<i64: 0, 2>} : memref<?x?xf32> -> tensor<8x1x4xf32>
    %wt = tile.load %w[%i0, %j0, %k0] map #at_w {mask = array<i64: 1, 2>} : memref<?x?xf32> -> tensor<1x8x4xf32>
    %xb = tile.broadcast %xt : tensor<8x1x4xf32> -> tensor<8x8x4xf32>
    %wb = tile.broadcast %wt : tensor<1x8x4xf32> -> tensor<8x8x4xf32>
    %terms = arith.mulf %xb, %wb : tensor<8x8x4xf32>
    %part = tile.reduce sum %terms dims [2] : tensor<8x8x4xf32> -> !acc
    %next = tile.combine sum %acc, %part : !acc, !acc -> !acc
    scf.yield %next : !acc
  }
  %first = arith.cmpi eq, %rank, %c0 : index
  %all = tile.cluster_reduce sum %sum : !acc -> !acc
  scf.if %first {
    tile.store %all, %y[%i0, %j0, %c0] map #at_y {mask = array<i64: 0, 1>} : !acc, memref<?x?xf32>
  }
}
)";

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// What became of a product: "" when it is right, a status, or "wrong".
std::string multiply(const char *body, TileArithmetic arithmetic, std::vector<std::pair<std::string, std::string>> changes = {},
                     std::vector<int64_t> sizes = {13, 7, 17}) {
  mlir::DialectRegistry registry;
  registry
      .insert<tile::TileDialect, mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::scf::SCFDialect, mlir::memref::MemRefDialect>();
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  std::string text = kHead + replaced(body, "$attributes$", kAttributes);
  for (auto &[from, to] : changes)
    text = replaced(text, from, to);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return "does not parse";
  int64_t m = sizes[0], k = sizes[1], n = sizes[2];
  bool ring = arithmetic == TileArithmetic::Ring;
  std::mt19937 random(7);
  std::vector<uint32_t> storage[3] = {std::vector<uint32_t>(m * k), std::vector<uint32_t>(n * k), std::vector<uint32_t>(m * n)};
  auto value = [&](uint32_t bits) {
    float f;
    std::memcpy(&f, &bits, 4);
    return f;
  };
  for (int a = 0; a < 2; ++a)
    for (uint32_t &e : storage[a]) {
      float f = float(int(random() % 9) - 4);
      std::memcpy(&e, &f, 4);
      e = ring ? uint32_t(random()) : e;
    }
  ElementType type = ring ? ElementType::i32 : ElementType::f32;
  std::vector<TensorView> params = {
      {storage[0].data(), type, {m, k}, {k, 1}}, {storage[1].data(), type, {n, k}, {k, 1}}, {storage[2].data(), type, {m, n}, {n, 1}}};
  absl::Status s = runTileFunctions(*module, "mm", sizes, params, arithmetic);
  if (!s.ok())
    return s.ToString();
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      uint32_t whole = 0;
      float sum = 0;
      for (int64_t x = 0; x < k; ++x) {
        whole += storage[0][size_t(i * k + x)] * storage[1][size_t(j * k + x)];
        sum += value(storage[0][size_t(i * k + x)]) * value(storage[1][size_t(j * k + x)]);
      }
      uint32_t got = storage[2][size_t(i * n + j)];
      if (ring ? got != whole : value(got) != sum)
        return "wrong";
    }
  return "";
}

TEST(TileInterpreter, MultipliesOverAwkwardSizes) {
  for (TileArithmetic arithmetic : {TileArithmetic::Own, TileArithmetic::Ring})
    for (const char *body : {kPipelined, kRoles, kShared})
      for (std::vector<int64_t> sizes : {std::vector<int64_t>{13, 7, 17}, {1, 1, 1}, {8, 4, 8}, {9, 5, 7}, {7, 3, 9}, {40, 23, 31}})
        EXPECT_EQ(multiply(body, arithmetic, {}, sizes), "") << body;
}

TEST(TileInterpreter, FindsWhatAWrongPassLeaves) {
  using testing::HasSubstr;
  // A store without its mask along j.
  EXPECT_THAT(multiply(kPipelined, TileArithmetic::Own, {{"mask = array<i64: 0, 1>", "mask = array<i64: 0>"}}),
              HasSubstr("leaves its tensor"));
  // Operands without the mask along k.
  EXPECT_THAT(multiply(kPipelined, TileArithmetic::Own, {{"mask = array<i64: 0, 2>", "mask = array<i64: 0>"}}, {13, 3, 17}),
              HasSubstr("leaves its tensor"));
  // Subscripts the wrong way round, where both fit.
  EXPECT_EQ(
      multiply(kPipelined, TileArithmetic::Ring,
               {{"#at_y = affine_map<(d0, d1, d2)[s0, s1, s2] -> (d0, d1)>", "#at_y = affine_map<(d0, d1, d2)[s0, s1, s2] -> (d1, d0)>"}},
               {8, 4, 8}),
      "wrong");
  // A tile of k is lost, first or last.
  EXPECT_THAT(multiply(kPipelined, TileArithmetic::Ring, {{"scf.for %t = %c0 to %end", "scf.for %t = %c1 to %end"}}),
              HasSubstr("whose slot holds"));
  EXPECT_EQ(multiply(kRoles, TileArithmetic::Ring, {{"(s1 ceildiv 4)", "(s1 floordiv 4)"}}), "wrong");
  // A slot is filled while its number is still wanted; nothing is there yet.
  EXPECT_THAT(multiply(kPipelined, TileArithmetic::Own, {{"at %t : !rx", "at %next : !rx"}}), HasSubstr("whose slot holds"));
  EXPECT_THAT(multiply(kPipelined, TileArithmetic::Own, {{"tile.ring_copy %rw at %next", "tile.ring_copy %rw at %t"}}),
              HasSubstr("whose slot holds"));
  // Roles that do not agree.
  EXPECT_THAT(multiply(kRoles, TileArithmetic::Own, {{"bytes 256", "bytes 128"}}), HasSubstr("128 bytes are announced and 256 brought"));
  EXPECT_THAT(multiply(kRoles, TileArithmetic::Own, {{"%after = arith.addi %count, %end", "%after = arith.addi %count, %c1"}}),
              HasSubstr("announced"));
}

TEST(TileInterpreter, FindsWhatBlocksOfAClusterDoWrong) {
  // One block's sum for all; all tiles in every block; a block that does not come.
  EXPECT_EQ(multiply(kShared, TileArithmetic::Ring,
                     {{"%all = tile.cluster_reduce sum %sum : !acc -> !acc", "%all = arith.addf %sum, %zero : !acc"}}),
            "wrong");
  EXPECT_EQ(multiply(kShared, TileArithmetic::Ring, {{"%k0 = %begin to %end step %c8", "%k0 = %c0 to %end step %c4"}}), "wrong");
  EXPECT_THAT(multiply(kShared, TileArithmetic::Own,
                       {{"  %all = tile.cluster_reduce sum %sum : !acc -> !acc\n  scf.if %first {",
                         "  scf.if %first {\n    %all = tile.cluster_reduce sum %sum : !acc -> !acc"}}),
              testing::HasSubstr("not all blocks of the cluster come to 'tile.cluster_reduce'"));
}

TEST(TileInterpreter, NamesWhatItCannotRun) {
  // A division is none of a ring.
  std::vector<std::pair<std::string, std::string>> divides = {{"tile.store %sum,", "%q = arith.divf %sum, %sum : !acc\n  tile.store %q,"}};
  EXPECT_THAT(multiply(kPipelined, TileArithmetic::Ring, divides), testing::HasSubstr("'arith.divf' cannot be interpreted"));
}

} // namespace
} // namespace kernelc::reference
