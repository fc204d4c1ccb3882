// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops, attributes and types of the tile dialect. See TileDialect.td for what
// holds of all of them.
#ifndef KERNELC_IR_TILE_TILEOPS
#define KERNELC_IR_TILE_TILEOPS

include "ir/tile/TileDialect.td"
include "ir/te/TeEnums.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

def Tile_LayoutAttr : AttrDef<Tile_Dialect, "Layout"> {
  let mnemonic = "layout";
  let summary = "which register of which lane of which warp holds which element";
  let description = [{
    Three lists of *digits*, fastest first. A digit `[dim, stride, size]` adds
    `stride * value`, 0 ≤ value < size, to the coordinate of `dim`; dim -1 is
    replication. A register number is read in the mixed radix of `reg`'s sizes, a
    lane number in that of `lane` (product 32), a warp number in that of `warp`.
    The element at coordinates c is held where the digits add up to c. MMA
    fragments, blocked layouts and slices are all of this form; the order within
    `reg` is the order of the registers.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$reg, ArrayRefParameter<"int64_t">:$lane,
                        ArrayRefParameter<"int64_t">:$warp);
  let hasCustomAssemblyFormat = 1;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// The name of a unit in support/Unit.h, where units are an enum with a table.
def Tile_UnitAttr : Attr<CPred<"::llvm::isa<::mlir::StringAttr>($_self) && "
                               "::kernelc::findUnit(::llvm::cast<::mlir::StringAttr>($_self).getValue())">,
                         "simt, mma or wgmma"> {
  let storageType = "::mlir::StringAttr";
  let returnType = "::kernelc::Unit";
  let convertFromStorage = "*::kernelc::findUnit($_self.getValue())";
  let constBuilderCall = "$_builder.getStringAttr(::kernelc::nameOf($0))";
}

/// A map that may be missing where a function is built.
def Tile_RowsAttr : Attr<CPred<"::llvm::isa<::mlir::AffineMapAttr>($_self)">, "an affine map"> {
  let storageType = "::mlir::AffineMapAttr";
  let returnType = "::mlir::AffineMapAttr";
  let convertFromStorage = "$_self";
  let constBuilderCall = "$0";
}

def Tile_FuncOp : Tile_Op<"func", [IsolatedFromAbove, Symbol, NoTerminator, SingleBlock]> {
  let summary = "the program of one thread block";
  let description = !strconcat([{
    One launch. Block arguments are memrefs (tensors of the kernel and workspaces)
    and scalars. `arg_shapes` gives each tensor's dims over the sizes, `sources`
    what the argument is: a parameter number ≥ 0 of the kernel (inputs first, then
    outputs that update no input), -1 - w for workspace w, or -2^40 - n for memory n of each block's
    own, of a constant shape, which lies in shared memory.

    - `indices`, `extents` (`()[sizes] -> ..`), `tiles`: the launch's index space.
    - `grid_dims`: the indices mapped to the grid, slowest first; the grid has
      ∏ ceil(extent / tile) blocks.
    - `unit`: what multiplies, simt, mma or wgmma (support/Unit.h).
    - `cluster_index`: an index of the grid, along which clusters lie and pairs of tiles, or that the blocks of a cluster share out.
    - `waits_last`: what a `dependent` launch may do; `followed`: a dependent launch may start once all blocks of this one have.

    What the launch's record says (ir/tile/Schedule.td):

}], scheduleDoc, [{

    What is known beside:

    - `arg_strides`, `arg_alignment` (where not all tensors are dense and aligned to 16
      bytes): per argument its strides in elements, `()[sizes] -> (strides)`, or `unit`
      for a dense one, and the bytes that its address is a multiple of. Strides that a
      launch brings are sizes behind those of the kernel.
    - `aligned_rows` (`(indices)[sizes] -> (form, index, align)`): rows lie along `index` and begin anywhere in memory; the launch's
      tiles begin where `form`, the elements from a tensor's first to a point, is a multiple of `align`, so up to `align` - 1 points
      before a row's first. Masks along the index hold from point 0 on.
    - `size_div`, `size_max`: what the variant may assume of each size (1, -1: nothing).
    - `kernel`: that of the program of which it is a launch; `number`: the launch's place in the plan (look-back's zeros have none).

    Constraints:
    - [C1] there is one name, type, shape and source per argument, a scalar or a plain memref; a shape goes from the sizes to one
      extent per dim.
    - [C2] there is one extent over the sizes and one positive tile size of 2^31 at most per index.
    - [C3] there is one divisor, 1 or more, and one bound, -1 or more, per size.
    - [C4] `grid_dims` names indices, each once; `cluster_index` names one.
    - [C5] the numbers of the schedule are in the ranges that schedule files have, and a block has 32 warps at most; `target`
      is known.
    - [C6] `arg_strides` and `arg_alignment`, where given, have one entry per argument: `unit` or a map from the sizes to one stride
      per dim; 1, 2, 4, 8 or 16 bytes.
    - [C7] a tile has one positive extent per index; one that is constant has one value. Its layout, if it has one, names indices, is
      of 32 lanes and the function's warps, and reaches just these extents.
    - [C8] an access has an argument of the function as its base, one offset per index, and a map from these (and its index tiles) and
      the sizes to the dims of the base; elements have the base's type. Nothing else takes, or makes, memory.
    - [C9] where an op names indices they are there, each once; `tile.program_id` names one of the grid.
    - [C10] what makes a tile does so as its description says: shape and type of what an elementwise op, `tile.convert`,
      `tile.convert_layout`, `tile.combine`, `tile.splat`, `tile.index`, `tile.inside` and `tile.ring_store` take and give
      fit; the map of `tile.apply` goes from its operands and the sizes to one number.
    - [C11] rings have one positive extent per index, slots of 2^20 numbers and 1024 of these at most; channels have as many at most,
      orders up to 32 teams. They are made by their ops, and a copy signals a channel of its ring's slots.
    - [C12] `tile.roles` is at the top level of the function, at most once; roles are whole warpgroups, with a producer warp for each producer.
    - [C13] control flow is `scf.for`, counting by an index, and `scf.if`.
    - [C14] `aligned_rows`, where given, goes from the indices and the sizes to a form, an index and a power of two above 1.
  }]);
  let arguments = !con((ins SymbolNameAttr:$sym_name, StrArrayAttr:$sizes,
    DenseI64ArrayAttr:$size_div, DenseI64ArrayAttr:$size_max,
    StrArrayAttr:$arg_names, StrArrayAttr:$arg_types, AffineMapArrayAttr:$arg_shapes,
    DenseI64ArrayAttr:$sources,
    StrArrayAttr:$indices, AffineMapAttr:$extents, DenseI64ArrayAttr:$tiles,
    DenseI64ArrayAttr:$grid_dims, I64Attr:$warps), scheduleNumberAttrs, scheduleFlagAttrs, (ins
    DefaultValuedAttr<Tile_UnitAttr, "::kernelc::Unit::Simt">:$unit,
    DefaultValuedAttr<BoolAttr, "false">:$waits_last,
    DefaultValuedAttr<BoolAttr, "false">:$followed,
    DefaultValuedAttr<I64Attr, "0">:$cluster_index,
    DefaultValuedAttr<StrAttr, "\"sm_80\"">:$target,
    DefaultValuedStrAttr<StrAttr, "">:$kernel, DefaultValuedAttr<I64Attr, "-1">:$number,
    DefaultValuedOptionalAttr<ArrayAttr, "{}">:$arg_strides,
    DefaultValuedOptionalAttr<DenseI64ArrayAttr, "{}">:$arg_alignment,
    DefaultValuedOptionalAttr<Tile_RowsAttr, "::mlir::AffineMapAttr()">:$aligned_rows));
  let regions = (region SizedRegion<1>:$body);
  let hasRegionVerifier = 1;
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    unsigned getRank() { return getIndices().size(); }
    ::mlir::AffineMap getArgShape(unsigned i);
    /// The extent of index d over the sizes.
    ::mlir::AffineExpr getExtent(unsigned d);
    /// How many program ids there are along index d.
    ::mlir::AffineExpr getNumPrograms(unsigned d);
    /// What `aligned_rows` says; nothing where it is not given.
    std::optional<AlignedRows> findAlignedRows();
    /// Whether tiles along index d begin where vectors do.
    bool isAlignedAlong(unsigned d) {
      std::optional<AlignedRows> rows = findAlignedRows();
      return rows && rows->index == d;
    }
    /// Whether tiles along index d may begin before its first point.
    bool mayBeginBefore(unsigned d) { return isAlignedAlong(d) && findAlignedRows()->mayBeginBefore(); }
    void setAlignedRows(const AlignedRows &rows);
    /// Warps of all teams of the consumer.
    int64_t getConsumerWarps() { return int64_t(getWarps() * getPingpong()); }
  }];
}

def Tile_ProgramIdOp : Tile_Op<"program_id", [Pure]> {
  let summary = "the number of a tile along an index of the grid";
  let description = [{
    The launch's tiles are numbered; a tile has a number along each index of the grid, too, and this is the one along index `dim`.
    `number` says which tile is meant; without it, the one tile of this block.
  }];
  let arguments = (ins I64Attr:$dim, Optional<Index>:$number);
  let results = (outs Index:$result);
  let assemblyFormat = "$dim (`of` $number^)? attr-dict";
}

def Tile_BlockIdOp : Tile_Op<"block_id", [Pure]> {
  let summary = "the number of this block";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}
def Tile_ClusterRankOp : Tile_Op<"cluster_rank", [Pure]> {
  let summary = "the number of this block in its cluster";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}
def Tile_NumBlocksOp : Tile_Op<"num_blocks", [Pure]> {
  let summary = "how many blocks run";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Tile_ApplyOp : Tile_Op<"apply", [Pure]> {
  let summary = "an affine map of index values and the sizes";
  let description = [{
    `computed`: the program uses or compares the value itself, so that no tensor's size bounds it.
    `least`: if the value counts the rounds of a loop and is no plain sum of sizes, a lower bound of it (0: none is known).
  }];
  let arguments = (ins AffineMapAttr:$map, Variadic<Index>:$operands_, UnitAttr:$computed, DefaultValuedAttr<I64Attr, "0">:$least);
  let results = (outs Index:$result);
  let hasFolder = 1;
  let assemblyFormat = "$map `(` $operands_ `)` attr-dict";
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

def Tile_LoadOp : Tile_Op<"load", [AttrSizedOperandSegments, MemoryEffects<[MemRead]>]> {
  let summary = "a box of a tensor, as a tile";
  let description = [{
    Element c of the result is `base[map(offsets + c, indices[c])]`; where a dim
    named in `mask` has `offsets + c` at or beyond its extent it is zero. `map` is
    `(d_0 .. d_{n-1}, e_0 ..)[sizes]`: the launch's indices, then index tiles for
    subscripts that are not affine. `bounds` and `padding` are those of `te.read`.
    `streaming`: nothing reads these elements again soon. `clamp`: dims of `mask` beyond whose extents an
    element may be anything that lies before them, because nothing comes of it.

    Constraints:
    - [C1] index tiles are of integers and have the result's shape.
    - [C2] `padding` is a tile of the result's type, of one element or of its shape.

    ```mlir
    %x = tile.load %a[%i0, %k0] map affine_map<(d0, d1)[s0, s1] -> (d0, d1)> mask [0, 1]
        : memref<?x?xbf16> -> tensor<128x64xbf16>
    ```
  }];
  let arguments = (ins AnyMemRef:$base, AffineMapAttr:$map, Variadic<Index>:$offsets,
    Variadic<AnyRankedTensor>:$index_tiles, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$mask,
    DefaultValuedAttr<Te_BoundsMode, "::kernelc::te::BoundsMode::InBounds">:$bounds,
    Optional<AnyType>:$padding, UnitAttr:$streaming, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$clamp);
  let results = (outs AnyRankedTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $base `[` $offsets `]` `map` $map (`indices` $index_tiles^ `:` type($index_tiles))? (`bounds` $bounds^)?
    (`padding` $padding^ `:` type($padding))? attr-dict `:` type($base) `->` type($result)
  }];
}

def Tile_StoreOp : Tile_Op<"store", [AttrSizedOperandSegments, MemoryEffects<[MemWrite]>]> {
  let summary = "writes a tile to a box of a tensor";
  let description = [{
    `base[map(offsets + c)] = value[c]` for every element whose dims in `mask` are
    below their extents and whose `condition` element, if given, is true. Subscripts in `clip`, dims of
    the tensor, may lie beyond its end: what would be there is not written. The others stay inside.

    Constraints:
    - [C1] the map goes from the launch's indices to the tensor's dims.
    - [C2] `clip` holds dims of the tensor, in rising order.
    - [C3] `condition` is a tile of i1 with the value's shape.

    ```mlir
    tile.store %t, %c[%tile, %i] map affine_map<(d0, d1)[s0] -> (d0 * 64 + d1)> {clip = array<i64: 0>} : tensor<1x64xf32>, memref<?xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, AnyMemRef:$base, AffineMapAttr:$map, Variadic<Index>:$offsets,
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$mask, Optional<AnyRankedTensor>:$condition,
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$clip);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $value `,` $base `[` $offsets `]` `map` $map (`if` $condition^ `:` type($condition))? attr-dict
    `:` type($value) `,` type($base)
  }];
}

def Tile_ScatterOp : Tile_Op<"scatter", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "combines the elements of a tile with those elements of a tensor that index tiles choose";
  let description = [{
    `base[map(offsets + c, indices[c])] ⊕= value[c]` for every element whose dims in `mask` are below
    their extents and whose `condition` element, if given, is true. It is atomic: elements of this tile
    and of others may meet. Without a `kind` the element is written, and none meet. With `guarded` a
    subscript may lie outside the tensor, which is then left alone.

    `tallies` > 0: the block combines in so many copies of the tensor in shared memory first, each of
    `elements` elements that start at the identity, and its copies with the tensor at its end.

    Constraints:
    - [C1] index tiles are of integers and have the value's shape.
    - [C2] `condition` is a tile of i1 with the value's shape.
    - [C3] elements are numbers of 32 or 64 bits that the kind combines; with tallies there is a kind, and
      there are `elements`.

    ```mlir
    tile.scatter sum %one, %h[%n] map affine_map<(d0, d1)[s0] -> (d1)> indices %x : tensor<256xindex>
        {mask = array<i64: 0>} : tensor<256xi32>, memref<?xi32>
    ```
  }];
  let arguments = (ins OptionalAttr<Te_Combiner>:$kind, AnyRankedTensor:$value, AnyMemRef:$base, AffineMapAttr:$map,
    Variadic<Index>:$offsets, Variadic<AnyRankedTensor>:$index_tiles, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$mask,
    Optional<AnyRankedTensor>:$condition, UnitAttr:$guarded, DefaultValuedAttr<I64Attr, "0">:$tallies,
    DefaultValuedAttr<I64Attr, "0">:$elements);
  let hasVerifier = 1;
  let assemblyFormat = [{
    ($kind^):(`unique`)? $value `,` $base `[` $offsets `]` `map` $map (`indices` $index_tiles^ `:` type($index_tiles))?
    (`if` $condition^ `:` type($condition))? attr-dict `:` type($value) `,` type($base)
  }];
}

def Tile_IndexOp : Tile_Op<"index", [Pure]> {
  let summary = "the coordinates along one index: offset + 0, 1, 2, ..";
  let arguments = (ins I64Attr:$dim, Index:$offset);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$dim `at` $offset attr-dict `:` type($result)";
}

def Tile_InsideOp : Tile_Op<"inside", [Pure]> {
  let summary = "whether coordinates are below the extents of the dims in mask";
  let description = [{ Element c is `∀ d in mask: offsets_d + c_d < extent_d`. }];
  let arguments = (ins Variadic<Index>:$offsets, DenseI64ArrayAttr:$mask);
  let results = (outs AnyRankedTensor:$result);
  let hasFolder = 1;
  let assemblyFormat = "`[` $offsets `]` `mask` $mask attr-dict `:` type($result)";
}

def Tile_SplatOp : Tile_Op<"splat", [Pure]> {
  let summary = "a tile of one scalar";
  let arguments = (ins AnyType:$input);
  let results = (outs AnyRankedTensor:$result);
  let hasFolder = 1;
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Tile_ElementOp : Tile_Op<"element", [Pure]> {
  let summary = "the element of a tile of one, as a scalar that all threads have";
  let description = [{
    Control flow may depend on it: a loop of that many rounds.

    Constraints:
    - [C1] the tile has one element, of the result's type.

    ```mlir
    %any = tile.reduce any %nan dims [0, 1] : tensor<64x64xi1> -> tensor<1x1xi1>
    %found = tile.element %any : tensor<1x1xi1> -> i1
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyType:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Tile_BroadcastOp : Tile_Op<"broadcast", [Pure]> {
  let summary = "repeats a tile along dims of extent 1";
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Tile_ScaleOp : Tile_Op<"scale", [Pure, SameTypeOperands, Elementwise, SameOperandsAndResultShape]> {
  let summary = "a product with factors that are mostly one";
  let description = [{
    `input * factor`, element by element. A thread whose factors are all one leaves its elements as they are: that costs it a
    branch.
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$factor);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input `by` $factor attr-dict `:` type($input) `->` type($result)";
}

def Tile_SliceOp : Tile_Op<"slice", [Pure]> {
  let summary = "a part of a tile along one dim";
  let description = [{ `result[c] = input[c + start along dim]`. Each thread keeps a part of its own registers. }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim, I64Attr:$start);
  let results = (outs AnyRankedTensor:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
  let assemblyFormat = "$input `dim` $dim `from` $start attr-dict `:` type($input) `->` type($result)";
}

def Tile_ConvertOp : Tile_Op<"convert", [Pure]> {
  let summary = "te.convert, element by element";
  let arguments = (ins AnyRankedTensor:$input, UnitAttr:$to_unsigned);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input (`to_unsigned` $to_unsigned^)? attr-dict `:` type($input) `to` type($result)";
}

def Tile_ConvertLayoutOp : Tile_Op<"convert_layout", [Pure]> {
  let summary = "the same tile in another layout";
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let hasFolder = 1;
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def Tile_ReduceOp : Tile_Op<"reduce", [Pure]> {
  let summary = "combines a tile along dims";
  let description = [{
    The dims in `dims` have extent 1 in the result. For arg kinds `keys` are
    reduced with `positions` (index tile of the same shape); the results are key
    and position, the first position among equal keys. The kind `custom` combines
    states, one component in each input, as the region says: it has the components of
    two states and gives those of one, is associative and commutative, and
    `identity` is neutral.

    Constraints:
    - [C1] a result has its input's type, but extent 1 in `dims`, which it has.
    - [C2] there is one tile, of elements that the kind reduces as in te.reduce; of arg kinds with positions.
    - [C3] `custom`, and it alone, has a region and an identity: an argument and a number per component, twice; it ends in
      `tile.state`.
  }];
  let arguments = (ins Te_Combiner:$kind, Variadic<AnyRankedTensor>:$inputs, DenseI64ArrayAttr:$dims,
    OptionalAttr<ArrayAttr>:$identity);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region AnyRegion:$combine);
  let hasRegionVerifier = 1;
  let hasCanonicalizeMethod = 1; // a sum or an extreme of NaN everywhere
  let assemblyFormat = [{
    $kind $inputs `dims` $dims (`from` $identity^)? attr-dict `:` type($inputs) `->` type($results) ($combine^)?
  }];
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$types, "::kernelc::te::Combiner":$kind, "::mlir::ValueRange":$inputs,
    "::llvm::ArrayRef<int64_t>":$dims), [{
    build($_builder, $_state, types, kind, inputs, dims, ::mlir::ArrayAttr());
  }]>];
}

def Tile_StateOp : Tile_Op<"state", [Pure, Terminator, ParentOneOf<["ReduceOp", "ScanOp", "LookBackOp"]>]> {
  let summary = "what two states combine to";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

def Tile_ScanOp : Tile_Op<"scan", [Pure, SameVariadicOperandSize, SameVariadicResultSize]> {
  let summary = "combines each element of a tile with those before it along a dim";
  let description = [{
    `result[.., i, ..] = carry ⊕ input[.., 0, ..] ⊕ .. ⊕ input[.., i, ..]` along `dim`, without the last term if
    `exclusive`; `total = carry ⊕ input[.., 0, ..] ⊕ .. ` of all of the tile. With `reverse` the tile is walked from its
    last element to its first. A loop over tiles carries the total to the next tile. The order is fixed by the layout.
    The kind `custom` combines states as in `tile.reduce`, but keeps their order.

    Constraints:
    - [C1] the result has the input's type; carry and total have its element type, extent 1 in `dim`, and its other extents.
    - [C2] there is one input that the kind reduces as in te.reduce, no arg kind.
    - [C3] `custom`, and it alone, has a region and an identity, as in `tile.reduce`.

    ```mlir
    %y, %total = tile.scan sum %x from %carry along 1
        : tensor<1x1024xf32> from tensor<1x1xf32> -> tensor<1x1024xf32> total tensor<1x1xf32>
    ```
  }];
  let arguments = (ins Te_Combiner:$kind, Variadic<AnyRankedTensor>:$inputs, Variadic<AnyRankedTensor>:$carries, I64Attr:$dim,
    UnitAttr:$reverse, UnitAttr:$exclusive, OptionalAttr<ArrayAttr>:$identity);
  let results = (outs Variadic<AnyRankedTensor>:$outs, Variadic<AnyRankedTensor>:$totals);
  let regions = (region AnyRegion:$combine);
  let hasRegionVerifier = 1;
  let assemblyFormat = [{
    $kind $inputs `from` $carries `along` $dim (`reverse` $reverse^)? (`exclusive` $exclusive^)? (`neutral` $identity^)? attr-dict
    `:` type($inputs) `from` type($carries) `->` type($outs) `total` type($totals) ($combine^)?
  }];
  let extraClassDeclaration = [{
    ::mlir::Value getInput() { return getInputs().front(); }
    ::mlir::Value getCarry() { return getCarries().front(); }
    ::mlir::Value getOut() { return getOuts().front(); }
    ::mlir::Value getTotal() { return getTotals().front(); }
  }];
}

def Tile_ClusterReduceOp : Tile_Op<"cluster_reduce"> {
  let summary = "combines what the blocks of a cluster hold, element by element";
  let description = [{
    Every block gets the same result: the tiles of block 0, 1, .. of the cluster, combined in this
    order. All blocks of the cluster execute the op. If block 0 alone stores the result, it alone
    waits for the others. For arg kinds inputs and results are keys and positions, as in `tile.reduce`.

    Constraints:
    - [C1] results have the inputs' types, and there are as many.
    - [C2] there is one tile, of elements that the kind reduces as in te.reduce; of arg kinds with positions.

    ```mlir
    %part = tile.reduce sum %x dims [0] : tensor<64x128xf32> -> tensor<1x128xf32>
    %sum = tile.cluster_reduce sum %part : tensor<1x128xf32> -> tensor<1x128xf32>
    ```
  }];
  let arguments = (ins Te_Combiner:$kind, Variadic<AnyRankedTensor>:$inputs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let hasVerifier = 1;
  let assemblyFormat = "$kind $inputs attr-dict `:` type($inputs) `->` type($results)";
}

def Tile_CombineOp : Tile_Op<"combine", [Pure]> {
  let summary = "merges two partial reductions element by element";
  let arguments = (ins Te_Combiner:$kind, Variadic<AnyRankedTensor>:$inputs);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$kind $inputs attr-dict `:` type($inputs) `->` type($results)";
}

include "ir/tile/TileRings.td"
include "ir/tile/TileMask.td"
include "ir/tile/TileSearch.td"
include "ir/tile/TileLookBack.td"

#endif
