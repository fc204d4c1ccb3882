// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Choices made by data: which tiles of a loop count, and where it begins and ends.
#ifndef KERNELC_IR_TILE_TILESEARCH
#define KERNELC_IR_TILE_TILESEARCH

include "ir/te/TeEnums.td"
include "ir/tile/TileDialect.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_SearchOp<string mnemonic> : Tile_Op<mnemonic, [Pure, SingleBlock]> {
  let regions = (region SizedRegion<1>:$condition);
  let results = (outs Index:$result);
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getCandidate() { return getCondition().getArgument(0); }
    /// What the region comes to.
    ::mlir::Value getHeld() { return getCondition().front().back().getOperand(0); }
  }];
}

def Tile_CountWhereOp : Tile_SearchOp<"count_where"> {
  let summary = "how many numbers below `end` a condition holds for";
  let description = [{
    The condition is a tile of one element, computed from its number and from tensors that
    the launch only reads. Whole warps come here, and their lanes ask for 32 numbers at a time.

    ```mlir
    %n = tile.count_where below %tiles {
    ^bb0(%t: index):
      %m = tile.load %mask[%c0, %j0, %t] map affine_map<(d0, d1, d2) -> (d2, d1 floordiv 64)> : memref<?x?xi8> -> tensor<1x1x1xi8>
      %on = arith.cmpi ne, %m, %zero : tensor<1x1x1xi8>
      tile.holds %on : tensor<1x1x1xi1>
    }
    ```
  }];
  let arguments = (ins Index:$end);
  let assemblyFormat = "`below` $end $condition attr-dict";
}

def Tile_FindWhereOp : Tile_SearchOp<"find_where"> {
  let summary = "the first number from `from` on, below `end`, that a condition holds for";
  let description = [{ `end` where there is none. 0 ≤ `from`. The condition as in `tile.count_where`. Where `found` holds,
    `from` is known to be that number, and nothing is searched. }];
  let arguments = (ins Index:$from, Index:$end, Optional<I1>:$found);
  let assemblyFormat = "`from` $from `below` $end (`unless` $found^)? $condition attr-dict";
}

def Tile_ExtremeOp : Tile_SearchOp<"extreme"> {
  let summary = "the largest, or smallest, of `start` and what a region says of the numbers below `end`";
  let description = [{
    The region says an index of each number, computed as the condition in `tile.count_where` is. What many rows need of a
    walk that they share is one number by it, which each role finds for itself:

    ```mlir
    %j_end = tile.extreme max of %c0 below %rows {
    ^bb0(%r: index):
      %i = tile.apply affine_map<(d0, d1) -> (d0 + d1)>(%i0, %r)
      %n = tile.load %length[%c0, %i] map affine_map<(d0, d1) -> (d1)> : memref<?xindex> -> tensor<1x1xindex>
      %end = tile.element %n : tensor<1x1xindex>
      tile.gives %end
    }
    ```
  }];
  let arguments = (ins Te_Combiner:$kind, Index:$start, Index:$end);
  let assemblyFormat = "$kind `of` $start `below` $end $condition attr-dict";
}

def Tile_GivesOp : Tile_Op<"gives", [Pure, Terminator, ParentOneOf<["ExtremeOp"]>]> {
  let summary = "what a search says of a number";
  let arguments = (ins Index:$value);
  let assemblyFormat = "$value attr-dict";
}

def Tile_HoldsOp : Tile_Op<"holds", [Pure, Terminator, ParentOneOf<["CountWhereOp", "FindWhereOp", "MaskOp", "RingMaskOp"]>]> {
  let summary = "what the condition of a search or a mask comes to";
  let arguments = (ins AnyRankedTensor:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Tile_LeaderOp : Tile_Op<"leader", [MemoryEffects<[MemRead]>]> {
  let summary = "whether this thread acts for its warp";
  let description = [{
    All threads of the warp execute the op together. In a producer that searches, the whole warp runs the
    search, and what one thread does stands under this condition. The condition is computed anew each time
    (the op has an effect, so that it stays where it is): only then does ptxas keep the copies' values in
    uniform registers.
  }];
  let results = (outs I1:$result);
  let assemblyFormat = "attr-dict";
}

#endif
