// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tile dialect: which block computes what.
#ifndef KERNELC_IR_TILE_TILEDIALECT
#define KERNELC_IR_TILE_TILEDIALECT

include "mlir/IR/DialectBase.td"
include "mlir/IR/OpBase.td"
include "ir/tile/Schedule.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::kernelc::tile";
  let summary = "Block programs over tiles";
  let description = [{
    A `tile.func` is the program of one thread block: a grid mapped to tiles,
    `scf` loops, and tile values: builtin tensors of static shape.

    **One index space.** Every tile value of a function has one dim per index of
    the launch, in the order of `indices`; an index the value does not depend on
    has extent 1 there. There are no transposes or reshapes: an access says by its
    map how indices become subscripts. Elementwise code is upstream `arith` and
    `math` on tensors; `tile.broadcast` extends extents of 1.

    **Layouts.** After `tile-layouts`, a tile value's encoding says which register
    of which lane of which warp holds which element (`#tile.layout`). Before, tiles
    have no encoding.

    **Sizes are symbols**, as in te: symbol `s_i` of every map is size i.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect"];
  let hasConstantMaterializer = 1;
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let extraClassDeclaration = scheduleCpp;
}

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;

#endif
