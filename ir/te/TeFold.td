// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te.fold: reductions that a program defines itself, and recurrences. See TeDialect.td for what
// holds of all ops of the dialect.
#ifndef KERNELC_IR_TE_TEFOLD
#define KERNELC_IR_TE_TEFOLD

def Te_FoldOp : Te_DomainOp<"fold"> {
  let summary = "a state that takes in the elements of a domain";
  let description = [{
    The first `parallel` dims are the results'; the others are reduced. A state has n
    components, which start at `identity`. The points of the reduced dims are taken in in
    their order, the last dim the fastest:

        s = identity; for r with (p, r) in the domain: s = combine(s, element(p, r))
        result_f[p] = component fields[f] of s

    `descending`: the points are those from one on to the end (a scan), and are taken from the end.

    With `monoid` the program promises that elements are states, that combine is associative
    and that `identity` is neutral on both sides; then points may be combined in groups of
    neighbours, and whatever is not in the domain may count as the identity. With
    `commutative` their order is free as well. Laws hold of reals: floats are rounded in the
    order that is chosen, as in `te.reduce`.

    Regions: `element` has the dims as arguments and yields an element, `where` c restricts by
    data; `combine` has the components of a state and then the values of an element, and yields
    the components of the next state.

    Canonical form: no result that nobody uses.

    Constraints:
    - [C1] it is a statement of a te.kernel; `indices`, the extents' results and the arguments of the element agree in
      number; 0 ≤ parallel ≤ dims.
    - [C2] `identity` has a constant per component; combine's arguments are the components, then what the element yields; it
      yields the components. Of a monoid both are of the same types.
    - [C3] `fields` names components, and there is a result for each, with one dim per parallel index.
    - [C4] what is commutative is a monoid.
    - [C5] what is descending is a scan from the end (ir/te/Scan.h).
  }] # hintsDoc # [{
    - `law_text`: what the compiler has to say of the laws of its reducer, or of why it runs in sequence.

    ```mlir
    %best = te.fold ["i", "k"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> from [0xFF800000 : f32, -1 : i64]
        fields [1] monoid {
    ^bb0(%i: index, %k: index):
      %v = te.read %x[%i, %k] : tensor<?x?xf32>
      %at = arith.index_cast %k : index to i64
      te.yield %v, %at : f32, i64
    } combine {
    ^bb0(%a: f32, %at: i64, %b: f32, %bt: i64):
      %later = arith.cmpf oge, %b, %a : f32
      %v = arith.select %later, %b, %a : f32
      %w = arith.select %later, %bt, %at : i64
      te.yield %v, %w : f32, i64
    } {name = "best"} : tensor<?xi64>
    ```
  }];
  let arguments = !con((ins StrArrayAttr:$indices, I64Attr:$parallel, AffineMapAttr:$extents,
    OptionalAttr<IntegerSetAttr>:$condition, ArrayAttr:$identity, DenseI64ArrayAttr:$fields, UnitAttr:$monoid,
    UnitAttr:$commutative, UnitAttr:$descending, OptionalAttr<StrAttr>:$name), hints,
    (ins DefaultValuedStrAttr<StrAttr, "">:$law_text));
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$element, SizedRegion<1>:$combine);
  let hasRegionVerifier = 1;
  let hasCanonicalizeMethod = 1;
  let assemblyFormat = [{
    $indices `parallel` $parallel `extents` $extents (`where` $condition^)? `from` $identity `fields` $fields
    (`monoid` $monoid^)? (`commutative` $commutative^)? (`descending` $descending^)? $element `combine` $combine attr-dict `:` type($results)
  }];
  let extraClassDeclaration = [{
    /// The element's block: what a domain op's body is elsewhere.
    ::mlir::Block &getBlock() { return getElement().front(); }
    unsigned getNumDims() { return getIndices().size(); }
    unsigned getNumParallel() { return getParallel(); }
    unsigned getNumComponents() { return getIdentity().size(); }
    ::mlir::Type getComponentType(unsigned k) { return getCombine().getArgument(k).getType(); }
    YieldOp getYield();
    /// What combine yields.
    YieldOp getCombined();
    ::mlir::AffineMap getResultShape();
    /// The identity over the parallel dims.
    ::mlir::AffineMap getOutMapOrIdentity();
  }];
}

#endif
