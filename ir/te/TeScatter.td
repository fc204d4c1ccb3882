// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te.scatter: points that choose the element they go to. See TeDialect.td for what
// holds of all ops of the dialect.
#ifndef KERNELC_IR_TE_TESCATTER
#define KERNELC_IR_TE_TESCATTER

def Te_ScatterOp : Te_DomainOp<"scatter"> {
  let summary = "a tensor to whose elements points of a domain are combined, each where it says";
  let description = domainDoc # [{

    Every index is a parallel one. A point yields its value and one subscript per dim of
    the result:

        result = init; for d in the domain: result[subscripts(d)] ⊕= value(d)

    Of a sum and a product of floats the points are combined in an order that the compiler
    fixes, so that two runs agree; the reference takes them in the order of the indices,
    the first index the slowest. With `any_order` the order may differ from run to run. All
    other kinds have one result whatever the order.

    `unique` writes instead of combining: the program's promise is that no two points write
    one element. Without an `init` its further promise is that they write all of them.

    A point with a subscript outside the result writes nothing. With `guarded` there may be
    such points: it is a fault of the program, reported once the kernel has run. Without it the
    subscripts are proved to stay inside.

    Constraints:
    - [C1] it is a statement of a te.kernel; `indices`, the extents' results and the block arguments agree in number.
    - [C2] one value of the result's element type is yielded, and one index for each dim of the result.
    - [C3] the kind combines the element type, and is no arg reduction, `any` or `all`.
    - [C4] all kinds but `unique` have an `init`: an argument of the kernel or what another statement gives, with the
      result's type and `shape`.
    - [C5] `shape` gives the result's dims over the sizes.
  }] # hintsDoc # [{

    ```mlir
    %h = te.scatter sum ["n"] extents affine_map<()[s0] -> (s0)> init %zero : tensor<256xi32> {
    ^bb0(%n: index):
      %v = te.read %x[%n] : tensor<?xi8>
      %w = arith.extui %v : i8 to i64
      %at = arith.index_cast %w : i64 to index
      %one = arith.constant 1 : i32
      te.yield %one, %at : i32, index
    } {name = "h", shape = affine_map<()[s0] -> (256)>} : tensor<256xi32>
    ```
  }];
  let arguments = !con((ins OptionalAttr<Te_Combiner>:$kind, StrArrayAttr:$indices, AffineMapAttr:$extents,
    OptionalAttr<IntegerSetAttr>:$condition, Optional<AnyRankedTensor>:$init, AffineMapAttr:$shape,
    OptionalAttr<StrAttr>:$name, UnitAttr:$guarded, UnitAttr:$any_order), hints);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let hasRegionVerifier = 1;
  let assemblyFormat = [{
    ($kind^):(`unique`)? $indices `extents` $extents (`where` $condition^)? (`init` $init^ `:` type($init))?
    $body attr-dict `:` type($result)
  }];
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    unsigned getNumDims() { return getIndices().size(); }
    unsigned getNumParallel() { return getNumDims(); }
    YieldOp getYield();
    /// What a point writes or combines, and where.
    ::mlir::Value getValue();
    ::mlir::ValueRange getSubscripts();
    bool isUnique() { return !getKind(); }
    ::mlir::AffineMap getResultShape() { return getShape(); }
    /// Whether the result depends on the order of the points: sums and products of floats.
    bool hasOrder();
  }];
}

#endif
