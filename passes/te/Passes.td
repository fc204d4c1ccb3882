// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The normal forms of te, in pipeline order. Its reductions and windows: ReductionPasses.td; its scans, scatters and memory: MemoryPasses.td; sums of
// products: passes/products; the planner: passes/plan. One entry, one .cpp, one test folder, one word.
#ifndef KERNELC_TE_PASSES
#define KERNELC_TE_PASSES

include "mlir/Pass/PassBase.td"

def TeEmulateNarrowTypes : Pass<"te-emulate-narrow-types", "::kernelc::te::KernelOp"> {
  let summary = "Read and write tensors of i4 and u4 as the bytes that hold them";
  let description = [{
    A parameter of i4 or u4 holds two elements in a byte, the even one in the low bits. The pass makes
    it a parameter of u8, and an element of it one nibble of a byte:

        w: i4[K, N]        w: u8[K, N / 2]
        w[k, n]            w[k, n / 2] >> 4 (n mod 2), its four bits

    This form needs rows of whole bytes: the innermost extent and the strides are even by the variant's
    divisors, a `require`, or their form. Any other parameter becomes one row of bytes,
    `u8[(K * N + 1) / 2]`, read at the element's linear number over two. That is right for all sizes and
    strides, and slower. Bounds forms keep their meaning: a padding is both nibbles of a byte, `wrap`
    keeps the nibble (rows are even), and the subscripts of `edge` and `reflect` are computed.

    A result becomes a tensor of one byte an element, and a statement of its own packs the bytes:

        y[i, h] = e(2 h) | e(2 h + 1) << 4

    `te-simplify` then inlines the body of e twice, so that one thread writes a byte. A result that is
    defined in parts, is reduced, or has rows that end inside a byte stays a tensor of bytes in a
    workspace. Inside bodies a value is an i8 from 0 to 15.

    *Runs first, because* the reads and writes that it makes are inlined like all others, and the passes
    behind it count bytes and ask what is contiguous.

    Postcondition: no value is an i4; `arg_types` and `out_types` say u8. Not tried: reductions whose
    results are i4 (the language widens them), with an error. Numeric effect: none. With an odd number of
    elements the last nibble becomes 0 (in an `inout` it stays).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let options = [ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">];
}

def TeSimplify : Pass<"te-simplify", "::kernelc::te::KernelOp"> {
  let summary = "Inline pointwise tensors into their readers and drop dead ones";
  let description = [{
    A `te.compute` without an init, a condition or an `out_map` of its own is a
    definition: wherever it is read in bounds, its body can stand instead. A pointwise
    statement that no reduction needs takes it in where it reads the nearest element
    (`edge`), too, or a value in place of those outside (`pad`), up to 16 loads for a
    window. So is a sum of up to four terms of pairs of what is read (the squared distance of two points
    in space) that only reductions over one of its indices read: they compute it once more, and no tensor
    of all pairs is stored. A definition that an update of an `inout` stores as it is, and a reduction reads, is
    read where it is stored, by all that read it at their own points. An index that is summed over one point, beside others, is none: it
    is 0. After this pass a tensor exists only where it is reduced, returned,
    or read outside its bounds. A size that the program requires to be one number (`require C == 32`) is that number. *Runs first, before
    `te-plan`, because* the plan counts launches and
    bytes, and a tensor that is never stored costs neither. Equal reductions and
    subexpressions merge by CSE afterwards. Subscripts that are index arithmetic become part of the map; a division by a size in a
    body over a multiple of it needs no care of zero, since there is no point then.

    Definitions that several statements read stay tensors where with all that they take in they come to more than 64 operations; and
    links of a chain, each read by the next one and by another statement, where more than 64 operations of the chain, counted for each
    statement but one that takes them in, would be computed again: memory brings an element faster.

    Postcondition: no other `te.read` in bounds of a plain `te.compute`, unless the bodies together
    would have more than 1024 operations.
    Not tried: weighing by sizes what is computed again. Numeric effect: none.
  }];
}

def TeUpliftMath : Pass<"te-uplift-math", "::kernelc::te::KernelOp"> {
  let summary = "Compute sums that are a function of their own as that function";
  let description = [{
    In f32, `1 + erf(x)` becomes `erfc(-x)` and `1 - erf(x)` becomes `erfc(x)`, where nothing else reads
    the erf. The `erfc` is marked `afn`: next to 1 only its absolute error counts. An erfc that is right
    to 2^-22 of 1 takes half as many instructions as an erf that is exact around 0, and the GELU of an
    epilogue waits for them.

    In f32, `exp(x * c)` where c is free of an index of the statement becomes `exp2(x * (c * log2 e))`: the
    instruction that units have, and a factor that is computed once for several points.

    In f32, a `tanh` of which only exponentials are taken, with all that comes of these rounded to 16 bits
    (`te::isOfRoundedExponents`: the soft-cap of attention's scores), is marked `afn`: 2^-21 that it is off
    by are nothing to them, however small it is. It takes a power of two and a reciprocal, which is a
    quarter of the instructions of one that is exact around 0. Factors and divisors of its argument that
    all points have become one factor.

    *Runs first, before `te-simplify`, because* `check` allows for the difference where the text has both
    operations in one statement, and nowhere else, and follows a tanh through the text's own statements.

    Numeric effect: such a `tanh` is off by up to 2^-21. `1 + erf(x)` is off by up to 2^-22, where erf and the sum may be off by 2^-22.4; by
    less where the result is near 0. `exp(x * c)` is off by |x c| 2^-23 of itself, of which half is the
    rounding of the exponent that it has anyway.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def TePrecisionCast : Pass<"te-precision-cast", "::kernelc::te::KernelOp"> {
  let summary = "Round the operands of contractions as the kernel's policy says";
  let description = [{
    Carries out the policy in the kernel's `precision` attribute and takes it away.
    Without one, factors of a product that are computed in 32 bits, and of which every value is known to
    be one of a matrix unit's type (`1.0 if m[k] else -1.0`, `f32(w[j, k] & 15) - 8`, beside bf16), are cast
    to it, which changes no value. A policy is `contract = "tf32"`, `"bf16"`, `"f16"`, `"f8e4m3"`,
    `"f8e5m2"` or `"bf16x3"`, or `tolerance = 1.0e-3`. The f32 factors of sums of products are rounded
    (`te.round .. to tf32`; `arith.truncf` and `arith.extf` for bf16 and f16, `te.convert` for f8).
    `accumulate = "fast"` becomes the kernel's attribute `fast_accumulate`.
    With `bf16x3` a factor is the sum of its bf16 and the bf16 of the rest, and the sum runs
    over three `part`s first: high·high, high·low, low·high. The kernel's attribute `rounded_accumulate`
    asks for sums that leave a unit's accumulators before what it cuts of them shows (te-plan's `promote`).
    Everything else stays as wide as it is: accumulators, exponentials, norms,
    pointwise code, and products that a matrix unit takes exactly already.
    *Runs after `te-simplify`, before `te-plan`, because* only then are the factors of
    every product in sight, and the plan chooses the unit by their types.

    With a tolerance the cheapest of bf16, tf32 and f32 is taken for which
    `(1 + u)^n - 1 + K · 2^-23 ≤ tolerance`: n operands rounded with unit roundoff u
    (2^-8, 2^-11), K terms, each addition exact to one unit in the last place of an
    f32. That bounds the error relative to Σ|a||b|, barring underflow; f16 and f8 are never
    chosen, because they may overflow. K comes from constant extents and from
    requirements; where it has no bound the product stays f32. The `precision`
    attribute of the reduction says what was done and why; te-plan remarks it.

    Numeric effect: that of the policy. The reference sees it too: it runs on the
    result of this pass.
  }];
  let options = [
    Option<"given", "policy", "std::string", "\"\"", "a policy that replaces the kernel's, as contract=tf32 or rel=1e-3">];
}

def TeExcludeMasked : Pass<"te-exclude-masked", "::kernelc::te::KernelOp"> {
  let summary = "Let conditions that make a factor zero exclude the term";
  let description = [{
    What a condition excludes is never a value (docs/language.md, Expressions and types). The pass finds
    comparisons that make a factor of a sum of products zero, and makes them conditions of the sum, so
    that the other factors may hold anything there. It takes comparisons of indices, and comparisons of
    summed and batch indices with data (`j < n[b]`). The zero factor may stand in the body
    (`(a[i, k] if k < n[0] else 0) * b[k, j]`) or in a tensor that the sum reads: the masked elements of
    `p = softmax[j](s[i, j] if j < n[b] else -inf)` are zeros, and a sum of `p[i, j] * v[j, d]` passes
    over them. No function is known by name: the pass inlines the definitions that the sum reads into a
    copy, and evaluates the copy over classes of values, as `te-mask-to-domain` does.

    The masked factor may be NaN instead of zero (`exp(-inf - m)` where m is -inf: nothing of the row is
    left). The result then gets that NaN back: `r[p] + (p has a masked point ? that factor : 0)`.

    *Runs as soon as a program is read, before a precision policy is applied, because* it says what the
    program means: the reference, the emulator and GPUs all start from its result.

    Postcondition: the sum's terms are unchanged; its domain, or the condition of its `te.yield`, holds
    the masks. Not tried: conditions on data that name a row or column (`j < n[i]`, `mask[i, j]`), whose
    zeros multiply what they meet; reductions other than sums, where only the term itself can be masked.
    Numeric effect: none, except that an infinity or NaN beside a masked factor is skipped.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TeAdmitExcluded : Pass<"te-admit-excluded", "::kernelc::te::KernelOp"> {
  let summary = "Let excluded terms of products on matrix units show an infinity or NaN of the other factor";
  let description = [{
    Where a condition ties a row or column to the summed index (`k <= i`), a matrix unit multiplies the zeros of one factor
    by what the other holds there, for the border's tile. This pass makes a program that does so everywhere: the terms that
    such conditions exclude become `0 * term`, NaN where the term is infinite or NaN, instead of nothing.

        sum[k, k <= i](a[i, k] * b[k, j])   ->   sum[k](t if k <= i else 0 * t), t = a[i, k] * b[k, j]

    Reads that the condition kept inside their tensors give zero outside. Sums that no matrix unit takes, and conditions that
    both factors can apply (`k < n[b]`), stay as they are.

    *No part of a pipeline*: `check` runs it for a second reference where a device gave a NaN that the first does not
    have, to tell what docs/language.md allows (Precision) from an error.

    Numeric effect: none on finite inputs.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TeMaskToDomain : Pass<"te-mask-to-domain", "::kernelc::te::KernelOp"> {
  let summary = "Turn masks into conditions of the reduction's domain";
  let description = [{
    A comparison of affine index expressions that decides whether a term counts moves
    from the body into the reduction's condition set: `max_j (c ? x : -inf)` becomes
    `max_{j : c} x`. A term counts for nothing when the body, evaluated over classes of
    values (zero, one, the infinities, NaN, anything else) with the comparison decided,
    can only come to the identity of the reduction. So `(c ? x : 0) * y` in a sum,
    `exp((c ? s : -inf) - m)` and `x * f32(c)` are all found; nothing is looked up by
    name. *Runs after `te-simplify` and CSE, which bring masks into the bodies of their
    reductions, before `te-split-reduce` and `te-plan`, because* those and the
    tile loops obey domains, not bodies. A comparison that the domain decides already, or a part of the condition on data
    (`te-exclude-masked`), is decided in the body.

    A comparison of such an expression with data that is free of what is reduced (`j < n[i]`) becomes a part of the condition of the
    reduction's `te.yield`: loops end where the data says, and `j < n[i]` as a condition and in a select plan alike.

    Where the masked term may be NaN (`exp(-inf - m)` when m is -inf: every element of
    the row is masked) the result gets it back: `r[p] + (p has a masked point ? that
    term : 0)`, which asks that the condition of having one is affine; else nothing is
    done. A product with a factor that the mask makes zero counts as zero, whatever the
    other factor: reductions are sums of reals (docs/language.md, precision).

    Results of a product that nobody asks for are left out likewise: where all that reads it
    are outputs, under an affine condition each (`c[i, j] = p[i, j] if j <= i else 0`), what these
    conditions agree on about rows and columns becomes one of the product's domain. Its tiles
    outside have nothing to sum; a select between the product and zero goes with its condition.

    Postcondition: the comparisons that moved are gone from the bodies.
    Not tried: other conditions on data; disjunctions; arg reductions (a masked key is still
    a key). Numeric effect: none, except that a masked NaN or infinite factor is skipped.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TeSplit : Pass<"te-split", "::kernelc::te::KernelOp"> {
  let summary = "Split indices into the digits that accesses ask for";
  let description = [{
    An index k of which accesses read `k floordiv r` or `k mod r` becomes two,
    `k = k_high * r + k_low`, and those subscripts plain ones. r is a constant that
    divides the extent (by the variant's divisors, a `require`, or the extent's form),
    or given by sizes: with `require H % G == 0` an index below H has the digits
    G · (H // G), whichever of the two is asked for. H // G stays an expression of
    sizes, as every extent is; no size is new at a launch.

    *Reduced indices*: a scale that is shared by groups of 64, `s[k // 64, j]`, then
    depends on k_high alone: one load for a tile instead of one per element; and
    `x[i, k // 4, k % 4]` is a box again. Several constants are split from the smallest
    up where each divides the next. Where another access walks k itself, only if runs
    of neighbours stay long (32).

    *Parallel indices of products*: attention's `k[b, h // (H // G), j, d]` becomes
    `k[b, h_high, j, d]`. The query heads of a group, h_low, then are rows of the
    product beside i: the keys are brought once for all of them. The statements that
    such a product reads and that read it follow, so that all have the same indices;
    tensors inside the kernel get a dim more, outputs are written through an
    `out_map`. Left alone are indices that run along memory where they stay whole, but for
    those without whose digits there is no product: of a grouped convolution,
    `x[n, p + r, (o // Q) * C + c] * w[o, r, c]`, the groups o_high become a batch and o_low columns.

    *Parallel indices by which a product's condition picks points*: the transpose of a convolution in steps of S sums the
    r with `(i + P - D * r) mod S == 0`. By the low digit of i, a batch, these are one residue class, r = S' * r' + first(i_low)
    with S' = S / gcd(D, S); what is left of the condition ends the window by the phase (`Residues.h`). S need not divide
    the index's extent. Other reductions walk the residue class of each result's own phase, i mod S.

    *Parallel indices of what is written with a group's statistics*: `(x[i, c, n] - mu[i, c // 4])`, where mu
    is reduced over the 4 and n, gets the group's digits for indices, if c is not the one along memory. It has
    the points of that reduction then, and a block that holds them reads them once for both.

    *Runs after `te-mask-to-domain`, before `te-split-reduce` and `te-plan`, because*
    contractions and boxes are recognised by plain subscripts.

    Postcondition: the subscripts that were split hold no division by their radix.
    Not tried: other parallel indices (a grid index is divided once per block, which
    costs nothing); statistics that are cascades; subscripts of sums, `(k + r) // c`. Numeric effect:
    another order of the same reduction.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let options = [ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">];
}

def TeJoinDigits : Pass<"te-join-digits", "::kernelc::te::KernelOp"> {
  let summary = "Make one index of two that are summed together over a product's results";
  let description = [{
    Where every reader of a product's results reduces two of its indices, n and c, and one of the readers is a product with these
    results in a factor, n and c become one index, j = n * C + c:

        s[b, i, n, c] = sum[d](q[b, i, d] * k[table[b, n], c, d])
        m[b, i]       = max[n, c](s[b, i, n, c])
        o[b, i, d]    = sum[n, c](exp(s[b, i, n, c] - m[b, i]) * v[table[b, n], c, d])

    A launch with chained products then walks one index, as it has to, and a tile of it is one page or several:
    `k[table[b, j floordiv C], j mod C, d]`. Bounds by data that compare `n * C + c` compare j.

    *Runs after `te-split`, before `te-derive-cascades`, because* `te-split` makes digits of `j // C`, which are joined again here: both
    ways to write pages are one form.

    Required: C is known, a multiple of 8 that divides 64 or that 64 divides, so that tiles and pages fit each other; data in subscripts
    depends on n, and not on c; both are on one side of the product (a head and its columns are a batch and a side). Left alone are products
    with other readers, and conditions that compare n or c by itself.

    Postcondition: each product that was joined has one index less, and so have its readers.
    Not tried: three digits; products that nothing takes as a factor. Numeric effect: none.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let options = [
    ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">,
    ListOption<"sizeMax", "size-max", "int64_t", "known bound of each size, -1: none">];
}

#endif
