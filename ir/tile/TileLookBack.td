// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scans along the grid: what blocks tell those that come behind them.
#ifndef KERNELC_IR_TILE_TILELOOKBACK
#define KERNELC_IR_TILE_TILELOOKBACK

include "ir/tile/TileDialect.td"
include "ir/te/TeEnums.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tile_TicketOp : Tile_Op<"ticket", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the number of this tile, in the order in which blocks start";
  let description = [{
    Adds one to the first of `words` and gives what it was. A block whose tile needs those of lower numbers waits for
    blocks that have started, and never for one that the device has no room for.
  }];
  let arguments = (ins AnyMemRef:$words);
  let results = (outs Index:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$words attr-dict `:` type($words)";
}

def Tile_LookBackOp : Tile_Op<"look_back", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "what the tiles before this one come to";
  let description = [{
    `before = total_0 ⊕ .. ⊕ total_{number-1}` of the `count` tiles of row `row`; of none the identity. Each tile of a
    row executes the op once, with its `number` in the order of the scan, which is that of `tile.ticket`. With `reverse`,
    and of the kind `custom`, states that come first stand behind.

    Totals are combined as a tree of 1024 to a node, and the result is the same in every run: node n of level l + 1 has
    nodes 1024 n to 1024 n + 1023 of level l, whose last tile makes it; what is before a tile is at each level the nodes to
    the left of its own, the highest level first. There are `levels` levels below the root.

    `words` are how tiles tell each other what a node comes to: of each row as many as a state has parts of 32 bits,
    which only the ticket uses, and then those of each node, level by level. All are 0 before the launch.

    Constraints:
    - [C1] totals are tiles of one element, numbers of at most 64 bits; there are as many results of these types.
    - [C2] `custom`, and it alone, has a region, as in `tile.reduce`; other kinds take one total as te.reduce does. There is a neutral
      number of each total's type.
    - [C3] words are i64; levels are 1 to 6.

    ```mlir
    %tile = tile.ticket %words : memref<?xi64>
    %y, %total = tile.scan sum %x from %zero along 0 : tensor<1024xf32> from tensor<1xf32> -> tensor<1024xf32> total tensor<1xf32>
    %before = tile.look_back sum %total at %tile of %tiles row %c0 words %words levels 3 neutral [0.0 : f32]
        : tensor<1xf32> words memref<?xi64> -> tensor<1xf32>
    ```
  }];
  let arguments = (ins Te_Combiner:$kind, Variadic<AnyRankedTensor>:$totals, Index:$number, Index:$count, Index:$row,
    AnyMemRef:$words, I64Attr:$levels, UnitAttr:$reverse, ArrayAttr:$identity);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region AnyRegion:$combine);
  let hasRegionVerifier = 1;
  let assemblyFormat = [{
    $kind $totals `at` $number `of` $count `row` $row `words` $words `levels` $levels (`reverse` $reverse^)? `neutral` $identity
    attr-dict `:` type($totals) `words` type($words) `->` type($results) ($combine^)?
  }];
  let extraClassDeclaration = [{
    /// Parts of 32 bits that a number of this type travels in.
    static int64_t wordsOf(::mlir::Type type) { return type.getIntOrFloatBitWidth() > 32 ? 2 : 1; }
    /// Whether tiles can tell each other numbers of this type.
    static bool tells(::mlir::Type type) {
      return type.isF32() || type.isF64() || (type.isInteger() && type.getIntOrFloatBitWidth() <= 64);
    }
  }];
}

#endif
