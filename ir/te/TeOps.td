// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops of the te dialect. See TeDialect.td for what holds of all of them.
#ifndef KERNELC_IR_TE_TEOPS
#define KERNELC_IR_TE_TEOPS

include "ir/te/TeDialect.td"
include "ir/te/TeEnums.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Te_Op<string mnemonic, list<Trait> traits = []> : Op<Te_Dialect, mnemonic, traits>;

def Te_KernelOp : Te_Op<"kernel", [IsolatedFromAbove, Symbol,
    SingleBlockImplicitTerminator<"ReturnOp">]> {
  let summary = "one kernel: parameters, sizes, requirements and statements";
  let description = [{
    The entry block's arguments are the inputs, `inout` tensors and scalars in
    source order; the operands of `te.return` are the outputs in source order.

    - `sizes`: names of the symbols of every map inside.
    - `arg_names`, `arg_types`: one each per block argument; the type as spelled in
      the source ("u8", "bf16", "bool").
    - `arg_shapes`: one affine map `()[sizes] -> (dims)` per argument; no results
      for scalars and rank 0 (a scalar's block argument is not a tensor).
    - `out_names`, `out_types`, `out_shapes`: the same per output.
    - `out_alias`: per output, the index of the `inout` argument it updates, or -1.
    - `requirements`: an array of integer sets `()[sizes]` that hold at every launch
      (semi-affine ones, `s0 mod s1 == 0`, allowed); `requirement_texts`: their source.

    What else is known of it, where it is:

    - `plan`: what te-plan has decided, and the lowerings obey (passes/plan/PlanAttr.h).
    - `schedule`: records of the text or of a file; `schedule_at`: where they stand in the text (ir/te/ScheduleLoc.h).
    - `faults`: where data may be at fault (ir/te/Faults.h); `limits`: counts that a variant keeps below numbers (ir/te/Limits.h).
    - `param_strides`, `param_alignment`: of a variant whose tensors are not all dense and aligned to 16 bytes.
    - `precision`: the policy, with contract, accumulate or tolerance; `precision_applied`, `fast_accumulate`,
      `rounded_accumulate`: what te-precision-cast has made of it (ir/te/Precision.h).
    - `sums_in_f32`: its sums of f32 are f32 sums, on whatever unit: the oracle's copy has it.

    Constraints:
    - [C1] the arrays of one group have one length, equal to the number of block
      arguments (or returned values); `out_alias` may be empty.
    - [C2] every map and set has no dims and exactly `sizes` symbols; that of a `te.size` one result.
    - [C3] tensor ranks agree with the shapes.
    - [C4] an aliased output has the type and shape of its argument.
    - [C5] beside its statements, which make the tensors, there are scalars that they share, made
      without regions. It returns arguments and what statements give.
    - [C6] bodies of statements are straight lines of scalar code: constants, elementwise ops and the
      scalar ops of this dialect, with one result each: an index, an integer of
      at most 64 bits or a float that tensors can have.
    - [C7] in every map and set inside, what is divided by (`floordiv`, `ceildiv`, `mod`) is positive
      where it is a constant.
    - [C8] `param_strides`, `param_alignment`, where a variant has them, have one entry per parameter
      (arguments, then outputs that update none): `unit`, or a map from the sizes to a stride per dim;
      1, 2, 4, 8 or 16 bytes.
    - [C9] `faults`, where a kernel has a record of them, is a list of `at`, `what`, `indices`, `lows` and `extents`, the maps
      with a result per index (ir/te/Faults.h).

    ```mlir
    te.kernel @scale sizes ["N"] args ["x"] : ["f32"] [affine_map<()[s0] -> (s0)>]
        outs ["y"] : ["f32"] [affine_map<()[s0] -> (s0)>] {
    ^bb0(%x: tensor<?xf32>):
      ...
      te.return %y : tensor<?xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$sizes,
    StrArrayAttr:$arg_names, StrArrayAttr:$arg_types, AffineMapArrayAttr:$arg_shapes,
    StrArrayAttr:$out_names, StrArrayAttr:$out_types, AffineMapArrayAttr:$out_shapes,
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$out_alias,
    DefaultValuedAttr<ArrayAttr, "{}">:$requirements,
    DefaultValuedAttr<StrArrayAttr, "{}">:$requirement_texts,
    DefaultValuedOptionalAttr<DictionaryAttr, "{}">:$plan,
    DefaultValuedOptionalAttr<ArrayAttr, "{}">:$schedule, DefaultValuedOptionalAttr<DictionaryAttr, "{}">:$schedule_at,
    DefaultValuedOptionalAttr<ArrayAttr, "{}">:$faults, DefaultValuedOptionalAttr<ArrayAttr, "{}">:$limits,
    DefaultValuedOptionalAttr<ArrayAttr, "{}">:$param_strides,
    DefaultValuedOptionalAttr<DenseI64ArrayAttr, "{}">:$param_alignment,
    DefaultValuedOptionalAttr<DictionaryAttr, "{}">:$precision, DefaultValuedOptionalStrAttr<StrAttr, "">:$precision_applied,
    UnitAttr:$fast_accumulate, UnitAttr:$rounded_accumulate, UnitAttr:$sums_in_f32);
  let regions = (region SizedRegion<1>:$body);
  let hasRegionVerifier = 1;
  let assemblyFormat = [{
    $sym_name `sizes` $sizes `args` $arg_names `:` $arg_types $arg_shapes
    `outs` $out_names `:` $out_types $out_shapes attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    ReturnOp getReturn();
    unsigned getNumSizes() { return getSizes().size(); }
    ::llvm::StringRef getSizeName(unsigned i);
    /// Dims of argument / output i over the kernel's sizes.
    ::mlir::AffineMap getArgShape(unsigned i);
    ::mlir::AffineMap getOutShape(unsigned i);
    /// The argument that output i updates, or -1.
    int64_t getAlias(unsigned out);
  }];
}

def Te_ReturnOp : Te_Op<"return", [Terminator, HasParent<"KernelOp">, Pure]> {
  let summary = "ends a kernel with the values of its outputs";
  let arguments = (ins Variadic<AnyRankedTensor>:$outs);
  let assemblyFormat = "($outs^ `:` type($outs))? attr-dict";
  let builders = [OpBuilder<(ins)>];
}

class Te_DomainOp<string mnemonic, list<Trait> traits = []>
    : Te_Op<mnemonic, !listconcat(traits, [Pure, SingleBlock])> {
  string domainDoc = [{
    The *domain*: `indices` names its dims in order; `extents`
    (`()[sizes] -> (e_0, ..)`) bounds them, 0 ≤ d_i < e_i; `where`
    (`(dims)[sizes]`) restricts them; `te.yield v where c` restricts by data. The
    region has one `index` argument per dim.
  }];
  string hintsDoc = [{

    What passes leave for later ones, of any statement (ir/te/Hints.h):

    - `own_launch`: it keeps a launch of its own: what it reads comes from memory, wherever it was made.
    - `point_by_point`: long straight-line code, of which a thread computes one point at a time.
    - `behind_parts`: a pointwise statement over many more points than the launch has that merges parts of a reduction for it.
    - `block_text`: what te-block-windows has to say, in words, of the times of a set of statements that it ends, or why it ends none.
  }];
  dag hints = (ins UnitAttr:$own_launch, UnitAttr:$point_by_point, UnitAttr:$behind_parts,
               DefaultValuedStrAttr<StrAttr, "">:$block_text);
}

def Te_ComputeOp : Te_DomainOp<"compute"> {
  let summary = "a tensor given element by element";
  let description = domainDoc # [{

    `result[out_map(d)] = body(d)` for every point d of the domain; elements that no
    point writes keep their value in `init` (absent: the verifier's promise is that
    the domain covers the result). `out_map` defaults to the identity, `shape` to
    `extents`.

    Constraints:
    - [C1] it is a statement of a te.kernel; `indices`, the extents' results and the block arguments agree in number.
    - [C2] `out_map` is injective on the domain and has as many results as the
      result has dims.
    - [C3] with a `where`, a data condition or an `out_map` that does not cover, `init` is given or
      the op's `partial` flag says that a later statement completes it. A `where` that only cuts `out_map` off where
      the result ends (`shape_r - 1 - out_map_r(d) >= 0`) leaves out nothing: the extents may be rounded up.
    - [C4] one value is yielded, of the result's element type.
    - [C5] `init` is an argument of the kernel or what another statement gives, with the result's type and shape.
    - [C6] `in_block` is empty, or a set's number and a number of dims, at least one.
  }] # hintsDoc # [{
    - `in_block`: its launch is a set of such statements (te-block-windows), which no other joins: the set's number, and how many of its
      first dims are numbers of blocks. What only the set reads stays in a block's shared memory.

    ```mlir
    %y = te.compute ["i"] extents affine_map<()[s0] -> (s0)> {
    ^bb0(%i: index):
      %v = te.read %x[%i] : tensor<?xf32>
      %w = arith.mulf %v, %v : f32
      te.yield %w : f32
    } {name = "y"} : tensor<?xf32>
    ```
  }];
  let arguments = !con((ins StrArrayAttr:$indices, AffineMapAttr:$extents,
    OptionalAttr<IntegerSetAttr>:$condition, Optional<AnyRankedTensor>:$init,
    OptionalAttr<AffineMapAttr>:$out_map, OptionalAttr<AffineMapAttr>:$shape,
    OptionalAttr<StrAttr>:$name, UnitAttr:$partial), hints, (ins DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$in_block));
  let results = (outs AnyRankedTensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let hasRegionVerifier = 1;
  let assemblyFormat = [{
    $indices `extents` $extents (`where` $condition^)? (`init` $init^ `:` type($init))?
    $body attr-dict `:` type($result)
  }];
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    unsigned getNumDims() { return getIndices().size(); }
    unsigned getNumParallel() { return getNumDims(); }
    YieldOp getYield();
    /// out_map, or the identity over the dims.
    ::mlir::AffineMap getOutMapOrIdentity();
    /// Dims of the result over the kernel's sizes.
    ::mlir::AffineMap getResultShape();
    /// The dim of the result at whose end constraint i of the condition cuts `out_map` off; nothing for other ones.
    ::std::optional<unsigned> findClippedDim(unsigned i);
  }];
}

def Te_ReduceOp : Te_DomainOp<"reduce"> {
  let summary = "a tensor whose elements are reductions";
  let description = domainDoc # [{

    The first `parallel` dims are the result's; the others are reduced:
    `result[out_map(p)] = init[..] ⊕ ⊕_{r : (p, r) in the domain} body(p, r)`, where a
    missing `init` is the identity of ⊕. The order of reduction is free; a
    floating sum is a sum of reals rounded in the accumulator (`language.md`,
    precision). Floats of 32 bits and fewer accumulate in f32, which is the yielded
    type. `max` and `min` propagate NaN. `argmax` and `argmin` yield the key and give
    the first i64 index along the one reduced dim (the NaN's, if any, in argmax).

    Constraints:
    - [C1] it is a statement of a te.kernel; `indices`, the extents' results and the block arguments agree in number;
      0 ≤ parallel ≤ dims.
    - [C2] the yielded type is the result's element type; with arg reductions the
      result is i64 and exactly one dim is reduced.
    - [C3] `any`, `all` yield i1; `and`, `or`, `xor` integers; `maxu` .. integers; `max`, `min` and
      arg reductions of floats a type that has infinities.
    - [C4] one value is yielded.
    - [C5] `init` as in te.compute.
    - [C6] `streamed` names parallel dims.
  }] # hintsDoc # [{
    - `segmented`: data bounds its last index, for each result, to a segment that is short as a rule; `all_exist`: and
      its other conditions, if any, hold at all points of the segments, so that what is read there lies inside.
    - `in_tile`: it reduces what one tile of a product has.
    - `walks`: it walks a product's results, which are made once more for others who read them.
    - `in_set`: a set's reader, once te-chain-products has found that the set pays.
    - `no_sibling`: a product that shares no launch with another one: why, as no tile holds both, or two launches take less time.
    - `streamed`: a sum of products that is no contraction although it looks like one, because it reads one of its operands
      once (te-thin-products): the parallel dims that the other operand alone has.
    - `any_order`: a sum of floats that the program lets add up in any order, which may differ from run to run (`order(any)`).
    - `precision`: what a precision policy did to it, in words.

    ```mlir
    %s = te.reduce sum ["i", "k"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
    ^bb0(%i: index, %k: index):
      %v = te.read %x[%i, %k] : tensor<?x?xf32>
      te.yield %v : f32
    } {name = "s"} : tensor<?xf32>
    ```
  }];
  let arguments = !con((ins Te_Combiner:$kind, StrArrayAttr:$indices, I64Attr:$parallel,
    AffineMapAttr:$extents, OptionalAttr<IntegerSetAttr>:$condition,
    Optional<AnyRankedTensor>:$init,
    OptionalAttr<AffineMapAttr>:$out_map, OptionalAttr<AffineMapAttr>:$shape,
    OptionalAttr<StrAttr>:$name), hints, (ins
    UnitAttr:$segmented, UnitAttr:$all_exist, UnitAttr:$in_tile, UnitAttr:$walks, UnitAttr:$in_set, UnitAttr:$any_order,
    DefaultValuedStrAttr<StrAttr, "">:$no_sibling, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$streamed,
    DefaultValuedStrAttr<StrAttr, "">:$precision));
  let results = (outs AnyRankedTensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let hasRegionVerifier = 1;
  let assemblyFormat = [{
    $kind $indices `parallel` $parallel `extents` $extents (`where` $condition^)?
    (`init` $init^ `:` type($init))? $body attr-dict `:` type($result)
  }];
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    unsigned getNumDims() { return getIndices().size(); }
    unsigned getNumParallel() { return getParallel(); }
    YieldOp getYield();
    /// out_map, or the identity over the parallel dims.
    ::mlir::AffineMap getOutMapOrIdentity();
    ::mlir::AffineMap getResultShape();
    bool isArg() {
      return getKind() == Combiner::ArgMax || getKind() == Combiner::ArgMin ||
             getKind() == Combiner::ArgMaxU || getKind() == Combiner::ArgMinU;
    }
  }];
}

include "ir/te/TeCascade.td"
include "ir/te/TeFold.td"
include "ir/te/TeRecurrence.td"
include "ir/te/TeScatter.td"

def Te_YieldOp : Te_Op<"yield", [Terminator, Pure, AttrSizedOperandSegments]> {
  let summary = "the value of one element, and whether the point counts";
  let description = [{
    `te.yield %v where %c`: a point whose `%c` is false is outside the domain.

    ```mlir
    te.yield %v where %c : f32
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values, Optional<I1>:$condition);
  let assemblyFormat = "$values (`where` $condition^)? attr-dict `:` type($values)";
}

def Te_ReadOp : Te_Op<"read", [Pure, AttrSizedOperandSegments]> {
  let summary = "one element of a tensor";
  let description = [{
    `tensor[map(operands)]`; `map` (`(operands)[sizes] -> (subscripts)`) defaults to
    the identity. `bounds` says why the access stays inside: proved `in_bounds`,
    `assume`d by the user, or a rule that replaces what lies outside: `pad` with
    the value `padding`, `edge` (clamp), `reflect` (mirror without repeating the
    edge), `wrap` (modulo). Narrow types come as stored; widening is explicit.

    Constraints:
    - [C1] the map has as many dims as operands, as many symbols as the kernel has sizes, and as many results as the
      tensor has dims.
    - [C2] `padding` is given exactly with `pad`, of the element type.
    - [C3] it stands in the body of a statement, and the tensor is an argument of the kernel or what one of its statements
      gives.

    ```mlir
    %v = te.read %x[%i, %j] map affine_map<(d0, d1)[s0] -> (d0, d1 + 1)> pad %zero : tensor<?x?xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$tensor, Variadic<Index>:$operands_,
    OptionalAttr<AffineMapAttr>:$map,
    DefaultValuedAttr<Te_BoundsMode, "::kernelc::te::BoundsMode::InBounds">:$bounds,
    Optional<AnyType>:$padding);
  let results = (outs AnyType:$result);
  let hasVerifier = 1;
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// map, or the identity over the operands.
    ::mlir::AffineMap getMapOrIdentity();
  }];
}

def Te_SizeOp : Te_Op<"size", [Pure]> {
  let summary = "the value of one of the kernel's sizes, or an affine expression of them";
  let description = [{
    `map` is `()[sizes] -> (e)`.

    ```mlir
    %n = te.size affine_map<()[s0] -> (s0)>
    ```
  }];
  let arguments = (ins AffineMapAttr:$map);
  let results = (outs Index:$result);
  let hasFolder = 1;
  let assemblyFormat = "$map attr-dict";
}

def Te_ConvertOp : Te_Op<"convert", [Pure]> {
  let summary = "a cast that arith does not define as the language does";
  let description = [{
    Float to integer truncates and saturates, NaN gives 0; float to f8 rounds to
    nearest even and saturates to the largest finite value (NaN stays NaN);
    `to_unsigned` tells the integer's sign. Casts that arith defines (extf, truncf
    to f16/bf16/f32, sitofp, uitofp, extsi, extui, trunci) are not spelled so.

    ```mlir
    %q = te.convert %v to_unsigned : f32 to i8
    ```
  }];
  let arguments = (ins AnyFloat:$input, UnitAttr:$to_unsigned);
  let results = (outs AnyType:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$input (`to_unsigned` $to_unsigned^)? attr-dict `:` type($input) `to` type($result)";
}

def Te_RoundOp : Te_Op<"round", [Pure, SameOperandsAndResultType]> {
  let summary = "an f32 with the precision of a narrower type";
  let description = [{
    The value of `to` nearest to `input`, ties away from zero, as an f32. `to` is a
    type that exists as an operand of matrix units only and never in memory: tf32
    (8 bits of exponent, 10 of fraction). For bf16 and f16 this is spelled
    `arith.truncf` and `arith.extf`.

    `high_part`: it rounds a factor a to its high part h where the rest a - h is rounded and multiplied, too: over the sum of
    h·h', h·l' and l·h' the factors are off by the square of the type's unit roundoff u, not by u. The bounds of `check`
    count it so. (Roundings of arith have it as a mark: ir/te/Marks.h.)

    Constraints:
    - [C1] `to` is tf32 and the input an f32.

    ```mlir
    %r = te.round %v to tf32 : f32
    ```
  }];
  let arguments = (ins AnyFloat:$input, TypeAttr:$to, UnitAttr:$high_part);
  let results = (outs AnyFloat:$result);
  let hasVerifier = 1;
  let hasFolder = 1;
  let assemblyFormat = "$input `to` $to attr-dict `:` type($input)";
}

#endif
