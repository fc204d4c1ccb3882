// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tiles and slots of which a condition on points keeps a part.
#ifndef KERNELC_IR_TILE_TILEMASK
#define KERNELC_IR_TILE_TILEMASK

include "ir/tile/TileRings.td"
include "ir/tile/TileSearch.td"

class Tile_PointMaskOp<string mnemonic, list<Trait> traits> : Tile_Op<mnemonic, !listconcat(traits, [SingleBlock])> {
  let regions = (region SizedRegion<1>:$condition);
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// What the condition comes to at one point.
    ::mlir::Value getHeld() { return getCondition().front().back().getOperand(0); }
  }];
}

def Tile_MaskOp : Tile_PointMaskOp<"mask", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "zero where a condition on points does not hold";
  let description = [{
    `result[c] = condition(offsets + c) ? value[c] : 0`. The condition is a tile of one element, computed from
    the point's launch indices and from tiles of one element. Where `all`, a tile of one
    i1, is true, the condition is not evaluated: every point inside the extents counts.

    Constraints:
    - [C1] the condition is over one number per launch index, and ends in a tile.holds of one i1.
    - [C2] `all` is one i1.

    ```mlir
    %r = tile.mask %x[%i0, %k0] unless %all where {
    ^bb0(%i: index, %k: index):
      %at = tile.index 0 at %i : tensor<1x1xindex>
      %in = arith.cmpi sge, %at, %from : tensor<1x1xindex>
      tile.holds %in : tensor<1x1xi1>
    } : tensor<128x64xbf16>, tensor<1x1xi1>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, Variadic<Index>:$offsets, AnyRankedTensor:$all);
  let results = (outs AnyRankedTensor:$result);
  let hasFolder = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$value, "::mlir::ValueRange":$offsets, "::mlir::Value":$all),
                            [{ build($_builder, $_state, value.getType(), value, offsets, all); }]>];
  let assemblyFormat = "$value `[` $offsets `]` `unless` $all `where` $condition attr-dict `:` type($value) `,` type($all)";
}

def Tile_RingMaskOp : Tile_PointMaskOp<"ring_mask", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "writes zero into slot `number` where a condition on points does not hold";
  let description = [{
    As `tile.mask` of the slot's contents, in place. The slot has arrived before. All threads of the role share the
    work; afterwards they, and the products that they start, see all of it.
  }];
  let arguments = (ins Tile_RingType:$ring, Index:$number, Variadic<Index>:$offsets, AnyRankedTensor:$all);
  let hasCanonicalizeMethod = 1;
  let assemblyFormat = "$ring `[` $offsets `]` `at` $number `unless` $all `where` $condition attr-dict `:` type($ring) `,` type($all)";
}

#endif
