// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te.cascade: reductions that feed each other, as one. See TeDialect.td for what
// holds of all ops of the dialect.
#ifndef KERNELC_IR_TE_TECASCADE
#define KERNELC_IR_TE_TECASCADE

def Te_CascadeOp : Te_DomainOp<"cascade"> {
  let summary = "several reductions over one domain, each of which may use the ones before";
  let description = [{
    Component k = 0 .. n-1 reduces with ⊕_k, the combiner `kinds[k]`; its terms may use
    the final values of the components before it:

        R_k[p] = ⊕_k_{r : (p, r) in the domain} element_k(p, r, R_0[p], .., R_{k-1}[p])
        result_k[p] = finalize_k(p, R_0[p], .., R_{n-1}[p])

    These formulas are the op's meaning. Read naively they need n passes over the
    domain; `rescale` is what makes one enough. It moves a partial state
    a = (a_0, .., a_{n-1}), whose component k was built with x = (a_0, .., a_{k-1}), to
    new values x' of the earlier components. The program promises, for any set S of points,

    - [L1] rescale_k((.., ⊕_{k, S} element_k(x)), x') = ⊕_{k, S} element_k(x'), in reals;
    - [L2] rescale leaves the state of no points, each component its combiner's identity, what it
      is, for every x', identities included.

    Partial states then merge in any order, wherever they are (registers, warps, the
    chunks of another launch): x_k = the two k-th components, rescaled to x_0 .. x_{k-1},
    combined by ⊕_k. A point (p, r) is the state of its own terms.

    With `dims`, component and result k have the parallel dims `dims[k]` alone, in
    that order: m[i] and l[i] beside o[i, d]. R_k[p] is then the same for all p that
    agree in these, because nothing that it depends on has another dim ([C6]).

    Regions: `element` has the dims and then the n components as arguments;
    `rescale` the n components of a and then those of x'; `finalize` the parallel dims
    and then the components. `te.yield .. where c` in the element restricts by data.

    Canonical form: no component whose result is unused and on which nothing else
    depends.

    Constraints:
    - [C1] it is a statement of a te.kernel; `indices`, the extents' results and the element's index arguments agree in
      number; 0 ≤ parallel ≤ dims; the condition is a set over them.
    - [C2] one kind, yielded value and result per component, with the same types in
      all regions; no arg kinds (their position is a component of its own, min over
      the positions whose key is the best).
    - [C3] component k of the element depends on no component but those before k;
      component k of the rescale on a_0 .. a_k and x'_0 .. x'_{k-1} only.
    - [C4] each result has one dim per parallel index, or per entry of its `dims`, and the type that finalize yields.
    - [C5] the kinds reduce the components' types, as in te.reduce.
    - [C6] `dims`, where given, has a list of parallel dims per component, each dim once. Component k of the element, of the
      rescale and of finalize depends on parallel dims of `dims[k]` only, and on components whose dims are among them;
      the conditions depend on parallel dims that all components have.
  }] # hintsDoc # [{

    ```mlir
    %m, %y = te.cascade ["max", "sum"] ["i", "j"] parallel 1 extents affine_map<()[s0, s1] -> (s0, s1)> {
    ^bb0(%i: index, %j: index, %max: f32, %sum: f32):
      %v = te.read %x[%i, %j] : tensor<?x?xf32>
      %d = arith.subf %v, %max : f32
      %e = math.exp %d : f32
      te.yield %v, %e : f32, f32
    } rescale {
    ^bb0(%max: f32, %sum: f32, %newmax: f32, %newsum: f32):
      %d = arith.subf %max, %newmax : f32
      %e = math.exp %d : f32
      %s = arith.mulf %sum, %e : f32
      %zero = arith.constant 0.0 : f32
      %none = arith.cmpf oeq, %sum, %zero : f32
      %kept = arith.select %none, %sum, %s : f32
      te.yield %max, %kept : f32, f32
    } finalize {
    ^bb0(%i: index, %max: f32, %sum: f32):
      %l = math.log %sum : f32
      %y = arith.addf %max, %l : f32
      te.yield %max, %y : f32, f32
    } {name = "y"} : tensor<?xf32>, tensor<?xf32>
    ```
  }];
  let arguments = !con((ins StrArrayAttr:$kinds, StrArrayAttr:$indices, I64Attr:$parallel, OptionalAttr<ArrayAttr>:$dims,
    AffineMapAttr:$extents, OptionalAttr<IntegerSetAttr>:$condition, OptionalAttr<StrAttr>:$name), hints);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$element, SizedRegion<1>:$rescale, SizedRegion<1>:$finalize);
  let hasRegionVerifier = 1;
  let hasCanonicalizeMethod = 1;
  let assemblyFormat = [{
    $kinds $indices `parallel` $parallel (`dims` $dims^)? `extents` $extents (`where` $condition^)? $element
    `rescale` $rescale `finalize` $finalize attr-dict `:` type($results)
  }];
  let extraClassDeclaration = [{
    /// The element's block: what a domain op's body is elsewhere.
    ::mlir::Block &getBlock() { return getElement().front(); }
    unsigned getNumDims() { return getIndices().size(); }
    unsigned getNumParallel() { return getParallel(); }
    unsigned getNumComponents() { return getKinds().size(); }
    Combiner getComponentKind(unsigned k);
    ::mlir::Type getComponentType(unsigned k);
    /// The value of component k that a region yields.
    ::mlir::Value getElementValue(unsigned k);
    ::mlir::Value getRescaledValue(unsigned k);
    ::mlir::Value getFinalValue(unsigned k);
    YieldOp getYield();
    /// The parallel dims that component and result k have.
    ::llvm::SmallVector<unsigned> getOwnDims(unsigned k);
    /// Dims of result k over the kernel's sizes.
    ::mlir::AffineMap getResultShape(unsigned k);
  }];
}

#endif
