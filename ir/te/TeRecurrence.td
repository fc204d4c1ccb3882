// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te.recurrence: statements that read what they have defined themselves. See TeDialect.td for what
// holds of all ops of the dialect.
#ifndef KERNELC_IR_TE_TERECURRENCE
#define KERNELC_IR_TE_TERECURRENCE

def Te_RecurrenceOp : Te_DomainOp<"recurrence"> {
  let summary = "a tensor whose elements are computed from earlier ones";
  let description = [{
    The first `parallel` dims are those of points, the others are reduced. Of the points' dims the first `free` stand for
    systems that have nothing to do with each other; then comes the *step*, and what is left are points of one step, which
    do not need each other:

        for each free f: for step s = 0, 1, ..: for all points p = (f, s, ..) in the domain:
            result[out_map(p)] = body(p, terms_0(p), .., self)
        terms_k(p) = ⊕_k of term_k(p, r, terms_0(p), .., self) over the r in the k-th domain

    `self` is the result as far as it is defined: what earlier steps have written, and what `init` holds. It is the last
    argument of every region, and reads of it name only such elements: that is the frontend's proof.

    `kinds` names the ⊕ of each reduction, `counts` how many dims it reduces: they are the dims behind `parallel`, in
    order, each of one reduction. `ranges` has a set for each, over all dims: what it leaves out is no term. Regions: the
    body has the dims, a value for each reduction and `self` as arguments; a term has the dims, a value for each reduction
    before its own and `self`.

    Constraints:
    - [C1] it is a statement of a te.kernel; 0 ≤ free < parallel ≤ dims; extents, conditions and index arguments agree.
    - [C2] `kinds`, `counts`, `ranges` and the terms agree in number, the counts with the dims; no arg reductions.
    - [C3] `out_map`, `shape` and `init` as in te.compute; a result that is not covered has an init or is `partial`.
    - [C4] the body yields one value of the result's element type, without a condition; a term one of the type that its ⊕
      reduces.
    - [C5] the arguments behind the dims are as said above.
  }] # hintsDoc # [{
    - `law_text`: what the compiler has to say of why it runs in sequence.

    ```mlir
    %x = te.recurrence ["i", "j"] parallel 1 free 0 extents affine_map<()[s0] -> (s0, s0)> kinds ["sum"] counts [1]
        ranges [affine_set<(d0, d1)[s0] : (d0 - d1 - 1 >= 0)>] {
    ^bb0(%i: index, %j: index, %t: f32, %self: tensor<?xf32>):
      %b = te.read %rhs[%i] : tensor<?xf32>
      %v = arith.subf %b, %t : f32
      te.yield %v : f32
    } terms {
    ^bb0(%i: index, %j: index, %self: tensor<?xf32>):
      %l = te.read %m[%i, %j] : tensor<?x?xf32>
      %o = te.read %self[%j] : tensor<?xf32>
      %p = arith.mulf %l, %o : f32
      te.yield %p : f32
    } {name = "x"} : tensor<?xf32>
    ```
  }];
  let arguments = !con((ins StrArrayAttr:$indices, I64Attr:$parallel, I64Attr:$free, AffineMapAttr:$extents,
    OptionalAttr<IntegerSetAttr>:$condition, Optional<AnyRankedTensor>:$init, StrArrayAttr:$kinds,
    DenseI64ArrayAttr:$counts, ArrayAttr:$ranges, OptionalAttr<AffineMapAttr>:$out_map,
    OptionalAttr<AffineMapAttr>:$shape, OptionalAttr<StrAttr>:$name, UnitAttr:$partial), hints,
    (ins DefaultValuedStrAttr<StrAttr, "">:$law_text));
  let results = (outs AnyRankedTensor:$result);
  let regions = (region SizedRegion<1>:$body, VariadicRegion<SizedRegion<1>>:$terms);
  let hasRegionVerifier = 1;
  let assemblyFormat = [{
    $indices `parallel` $parallel `free` $free `extents` $extents (`where` $condition^)? (`init` $init^ `:` type($init))?
    `kinds` $kinds `counts` $counts `ranges` $ranges $body (`terms` $terms^)? attr-dict `:` type($result)
  }];
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    unsigned getNumDims() { return getIndices().size(); }
    unsigned getNumParallel() { return getParallel(); }
    unsigned getNumTerms() { return getKinds().size(); }
    Combiner getKind(unsigned k);
    ::mlir::IntegerSet getRange(unsigned k);
    /// The dims that reduction k reduces.
    ::llvm::SmallVector<unsigned> getReducedDims(unsigned k);
    YieldOp getYield();
    /// What term k yields.
    YieldOp getTermYield(unsigned k);
    ::mlir::AffineMap getOutMapOrIdentity();
    ::mlir::AffineMap getResultShape();
  }];
}

#endif
