// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes on te, in pipeline order; those that rewrite sums of products are in passes/products, the planner in passes/plan. One entry, one .cpp, one test folder, one word.
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

def TeDeriveCascades : Pass<"te-derive-cascades", "::kernelc::te::KernelOp"> {
  let summary = "Make one te.cascade of reductions that feed each other";
  let description = [{
    Collects reductions over the same points (extents, condition and condition on data) of which one reads another at its own point, or that read a tensor
    in common, and makes a `te.cascade` of them: one walk over the points in place of one for each. Their bodies are
    written as finite sums of coefficient(earlier results) × term(index):

        m[i] = max_j x[i, j]                          component max
        l[i] = sum_j exp(x[i, j] - m[i])              component sum, times exp(m - m') where m moves to m'

    A component moves from an earlier result x to x' by one of these rules (`Separate.h`):

    | term | times, or plus |
    |---|---|
    | free of x, or that times what is free of the index | stays |
    | `exp(κ (v - x)) w(u)`, x = max v and κ > 0, or x = min v and κ < 0; `exp2` alike | · exp(κ (x - x')) |
    | `exp(κ (v - max(x, z))) w(u)`, z free of the index (a sink) | the same; exp(κ (x - max(x, z))) leaves the sum |
    | the same times `(λ (v - x))^p` (an entropy) | the same, and the binomial theorem in λ (x - x'), with the lower powers |
    | `(v / x)^p`, x = max of the absolute value of v | · (x / x')^p |
    | `(v - c s)^p`, s = Σ v, p up to 4 | binomial theorem in the mean s / n, with a count n and the lower moments |

    κ and the equality of v come from linear forms; no op and no function is looked up by name. Terms that are bounded
    whatever x has seen are a condition: a partial state neither overflows nor cancels where the program as written does not. Factors free of
    the index (`1 / l[i]`) leave the sum, and differences are summed apart. A positive constant leaves
    a maximum, also through `f * x if c else -inf`.

    Infinities and NaN: a state at the identity of x (every score -inf) is kept while x stays, and counts as zero once x moves. A sum with
    a factor w counts such terms as 0 · w, and takes the NaN of a row that stays so from the sum without w. Where every result is proved
    to have a point, that NaN is chosen at the end, once for all of its terms. So rows of which
    everything is excluded, rows of -inf and scores of +inf give what docs/language.md says. A sum over no point is zero whatever
    factor has left it: where there may be none, x says so, or a count beside sums that have no x.

    Reductions whose points one block holds in registers (32768) are left alone, or a cluster's blocks where a pointwise statement
    goes over the same points (`findHeldRow`): they are read once as they are. (Many rows of 16-bit elements that a cluster could hold
    are not: a second walk finds them in L2.) So are products, reductions of their results, columns, and points whose number is not known. `always` derives for any size.

    What is made point by point of a product's results and of reductions of them (their softmax, their norm) gets a product of its
    own first, where walking the results and multiplying once more takes less time than writing and reading them
    (`PointReaders.h`): then they need not be in memory at all.

    Of a product's results that a target's warpgroups walk where they are made (a logarithm of a sum of
    exponentials over a vocabulary), few may be read elsewhere, on a diagonal or where data says
    (`logsumexp[j](s[i, j]) - s[i, t[i]]`). They get a product of their own, over these points, so that the
    others need no memory.

    *Runs after `te-split`, before `te-reduce-in-tiles` and `te-split-reduce`, because* masks are conditions then,
    and the latter cuts the cascade as one.

    A sum over nothing is zero, also where such a factor is no number: what counts is asked before it multiplies.

    A remark names a factor that stands in the way. Not tried: arg reductions, maxima of terms that use earlier results. Numeric effect: another order of the same reductions; variances about the running mean.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let options = [
    Option<"target", "target", "std::string", "\"sm_80\"", "the architecture, as -arch takes it">,
    Option<"always", "always", "bool", "false", "whatever the sizes">,
    ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">,
    ListOption<"sizeMax", "size-max", "int64_t", "known bound of each size, -1: none">];
}

def TeReduceInTiles : Pass<"te-reduce-in-tiles", "::kernelc::te::KernelOp"> {
  let summary = "Reduce the results of a product where they are, tile by tile";
  let description = [{
    Cuts `m[i] = max_j f(p[i, j])`, a reduction over the results of a product p, at the product's tiles.
    j becomes `j_tile * C + j`, in the product and in all that reads it point by point. The reduction
    becomes one over the C points of a tile, and a second one over the tiles:

        p[i, j_tile, j], m_part[j_tile, i] = max_j f(p[i, j_tile, j])     the product's launch
        m[i] = max_{j_tile} m_part[j_tile, i]                            a small one

    So m does not need the results in memory. The same is done over i, and over both. Other indices of the same
    side (a convolution's rows of pixels beside the columns) are parts as they stand. What needs m and walks p
    again leaves the reduction alone where a block may hold a row of p for both. C is a power of two:
    what the cost model gives the product for a tile (rows and columns of te-plan; 64 for mma.sync, and
    on CUDA cores but for products of words that warps feed). Of windows that CUDA cores multiply, C is 4 to
    32 where a row would leave much of its tile empty: 46 points are three parts of 16. An index that fits one tile is not cut. f may be any expression of the point.

    *Runs after `te-split`, before `te-split-reduce` and `te-plan`, because* the first would take the
    tiles for digits, the second has to find the parts, and the third joins them to the product's launch.

    C divides what is known of the extents, where such a C exists. Otherwise the last tile is not full:

        p[i, j_tile, j] = sum_k a[i, k] · b.pad(0)[j_tile * C + j, k]
        m_part[j_tile, i] = max_{j : j_tile * C + j < N} f(p[i, j_tile, j])

    A tensor that is returned gets the condition too; `te-to-tile` turns it into the end of a store
    (`clip`), and tensor copies stop there by themselves. A tensor inside the kernel has a value
    everywhere, and nothing reads the values beyond the end.

    Not tried, with a remark: products over such extents that read what data says. Not tried: arg
    reductions; reductions over batches, or over the slower one of two row indices alone; reductions of products
    under a condition; reductions that read other results. Numeric effect: another order of the same
    reduction, fixed by the sizes.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_80\"", "the architecture, as -arch takes it">,
    ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">,
    ListOption<"sizeMax", "size-max", "int64_t", "known bound of each size, -1: none">];
}

def TeSplitReduce : Pass<"te-split-reduce", "::kernelc::te::KernelOp"> {
  let summary = "Split long reductions with few results, so that they fill the device";
  let description = [{
    Cuts a long reduction into chunks of C along its first reduced index:

        ⊕_k f(p, k)   becomes   ⊕_q ⊕_k' f(p, q·C + k')

    The partial results are one statement, their reduction another. With several reduced indices the
    outer ones serve as parts uncut until there are enough parts, and the next index is cut. A
    `te.cascade` is split into partial states and a cascade that merges them by its rescale region; one that walks a
    product's results is split together with the product, where parts take less time (`WalkParts.h`). An arg
    reduction is split as a cascade of key and position. Where no chunk divides the extent, the last part
    is shorter: a reduction or cascade gets the condition `q·C + k' < K`, and both factors of a product read zeros
    beyond it, `T.pad(0)[.., q·C + k', ..]`, which tensor copies, masked loads and matrix units take as
    padding.

    Done where sizes are bounded, or likely (`size-like`), and the results alone give too few blocks for the multiprocessors of
    the target's table. A chunk is right for any sizes: of those without a bound what is likely decides how long it is, but for
    products, whose parts are reckoned by tiles that bounds decide. Of a product, whose parts are a batch, it is done where its tiles leave three
    quarters of the multiprocessors idle; on CUDA cores whose rates are known where blocks of parts, with the
    parts' bytes, take less time. If warpgroups compute it, tensor copies can bring its rows, and
    the target's rates are known (`partRates`), the number of parts is the one that takes the least time
    by `PartCost.h`. Other such products that need nothing of it, nor it of them, count as columns of it: they
    may run beside it.

    Parts of a sum of floats that may add up in any order (`order(any)`, the mark `any_order`) are added into
    memory instead, where it is a product's and takes less time, or where a schedule says so:

        zeros[p] = 0,  part[q, p] = ⊕_k' f(p, q·C + k'),  result = te.scatter of part[q, p] to p, which starts from zeros

    The scatter joins the product's launch (`Grouping.cpp`), so that its blocks add what they have in registers.

    A reduction over many short rows of what each row is reduced to (a mean of log-sum-exps) is cut together with
    the rows' statements, whose index gets the parts' digits (`RowParts.h`):

        r[i] = ⊕_j f(i, j),  ⊕_i g(r[i])   becomes   r[q, i'] = ⊕_j f(q·C + i', j),  p[q] = ⊕_i' g(r[q, i']),  ⊕_q p[q]

    `te-plan` gives a block all C rows of a part, and r stays in its registers.

    At its end it searches ahead what walks would search long in each of their tiles (`SearchAhead.h`): of a cascade that walks
    a product's results, with a mask by data of the points walked and of the rows, the first point, and the one behind the
    last, that 64 rows may meet.

        s if doc[i] == doc[j] else -inf   becomes   s if doc[i] == doc[j] and first[i // 64] <= j else -inf

    The new comparison holds wherever the others do and has the mark `te.implied`: loops begin by it, and no point is asked.

    *Runs after `te-simplify`, before `te-plan`, because* the parts are launches of their own.

    Left whole: columns that fill nine tenths of the device as they are, in lines of 128 bytes with 512 or
    1024 threads each (`wholeColumns`). Also, on targets with clusters, a reduction that shares its launch
    with pointwise statements alone, if a cluster that divides each column keeps half of the device busy,
    or if clusters on rows that no chunk divides give each multiprocessor two blocks. `te-plan` gives
    these a cluster; then no chunk has to divide anything, and no second launch merges.

    Not tried: arg reductions whose extents no chunk divides; computed factors of such
    products; products under a condition; arg reductions
    under a condition. Numeric effect: another order of the same reduction, fixed by the sizes, and where those have no bound by the
    likely ones; of parts that are added into memory any order.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_80\"", "the architecture, as -arch takes it">,
    ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">,
    ListOption<"sizeMax", "size-max", "int64_t", "known bound of each size, -1: none">,
    ListOption<"sizeLike", "size-like", "int64_t", "what speed is reckoned by of sizes without a bound, which need not hold; -1: nothing">];
}

def TeShareReductions : Pass<"te-share-reductions", "::kernelc::te::KernelOp"> {
  let summary = "Compute a reduction once, however often and in whatever spelling it is written";
  let description = [{
    A reduction that two statements need may be written twice, with factors or reduced indices in another order, other names of
    indices, or over indices that it is free of, because a `let` had them.

    - Parallel indices that a reduction is free of leave it. Readers leave out those subscripts; an output is spread by a statement of
      its own.
    - A reduction that equals an earlier one, operands of commutative operations in either order and indices under any names, gives
      way to that one. A second output is a copy of the first one.
    - A sum of products that is no output and that a reduction walks, and such a reduction, has its dims in the order of those who
      read it, where all have the same (`TurnDims.h`): `s[j, i]` that is read by `m[i] = max_j s[j, i]` is `s[i, j]`.

    *Runs after the first `te-simplify` and CSE, because* definitions are inlined then, and before all that looks for products and
    masks, which then find each once.

    Postcondition: no reduction has a parallel index that neither its body nor its condition depends on, and no two are equal.
    Numeric effect: none.

    ```mlir
    // One reduction, and y reads it twice.
    %a = te.reduce sum ["i", "k"] .. { x[i, k] * w[k] }
    %b = te.reduce sum ["i", "j", "l"] .. { w[l] * x[i, l] }
    %y = te.compute ["i", "j"] .. { a[i] + b[i, j] }
    ```
  }];
}

def TeSplitTables : Pass<"te-split-tables", "::kernelc::te::KernelOp"> {
  let summary = "Look data up in small tables where a large one is linear over xor";
  let description = [{
    A tensor that its statement computes from indices and steady data, and that others read at a subscript that data says, is a
    table. Where each element is linear in an index v over xor, `t[a ^ b] = t[a] ^ t[b]`, the bits of v are looked up
    by parts:

        w[l] = t[d[l]]        w[l] = t_parts[0, d[l] & 15] ^ t_parts[1, d[l] >> 4]

    with `t_parts[0, v] = t[v]` and `t_parts[1, v] = t[16 v]`. The lanes of a warp choose at random: of 256 words of shared memory 32 lanes
    ask the same bank 3.4 times, of 16 words never. The proof (`LinearBits.h`) looks through shifts, masks, xor, sums and ors of bits
    that lie apart, casts, and products with, and choices by, a single bit: products over fields of 2^n elements,
    checksums, parities.

    A part has as many bits as banks of shared memory have words for. The target's costs say whether the looks take less than lanes'
    meetings in one table.

    *Runs after the first `te-simplify`, because* tables that are left then are read by data; *before products and reductions
    are shaped*, to which a look is a read like others.

    Precondition: none. Postcondition: a table that was split is gone. Not tried: tables that are an argument of the kernel, whose
    elements nobody knows; subscripts with a bounds form; constants beside the linear part. Numeric effect: none.
  }];
  let options = [Option<"target", "target", "std::string", "\"sm_80\"", "the architecture, as -arch takes it">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TeCollapseDims : Pass<"te-collapse-dims", "::kernelc::te::KernelOp"> {
  let summary = "Make one dim of dims that lie beside each other, where rows are no whole vectors";
  let description = [{
    Where all statements and tensors have two dims beside each other, as neighbours in subscripts of dense tensors, they are one:

        y[n, c, h, w] = x[n, c, h, w] + b[c]    of images of 14 × 14    =>    y[n, c, h_w] = x[n, c, h_w] + b[c]
        m[n, c] = mean[h, w](x[n, c, h, w])                             =>    m[n, c] = mean[h_w](x[n, c, h_w])

    A row of 14 halves is no vector; 196 of them are. Done from the innermost dims on, while rows of a tensor begin or end inside of 16
    bytes, or are a product's and shorter than a line of 128. The
    shapes of parameters follow, as callers pass the same memory.

    *Runs after the normal forms, before passes look for products and windows, because* these name dims one by one.

    So are the points of an image for a convolution of one tap, `y[n, o, h_w] = sum[c](x[n, c, h_w] * f[o, c])`, and what a fully connected
    layer sums, `sum[c_h_w](x[n, c_h_w] * w[o, c_h_w])`.

    Left alone are statements that go on from others or store in another order, dims of which a condition, an index as a
    number or a schedule speaks, and strided tensors. Postcondition: rows of whole vectors and lines, or dims that some statement tells apart.
    Not tried: longer rows that are shorter than a product's tile. Numeric effect: none (sums of floats are taken in another
    order).
  }];
  let options = [
    ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">,
    ListOption<"sizeMax", "size-max", "int64_t", "known bound of each size, -1: none">];
}

def TeReaderWindows : Pass<"te-reader-windows", "::kernelc::te::KernelOp"> {
  let summary = "Index a product as the pooling that reads it does";
  let description = [{
    What is reduced over windows of a product's results that do not overlap (a convolution and a pooling of it) is written as if the
    product stood there: the product gets the reader's indices, `2 * h + u` becomes h and u. Then tiles have whole windows, which they
    reduce (te-plan), and no result of the product goes to memory. Results that no window has are not computed.

    Taken are products that one reduction reads, at one place, over at most 64 points a window. Products of warpgroups come in boxes of
    memory: of these, a window's points are digits of a box's rows, so that each index has a power of two of them.

    *Runs behind `te-share-reductions`, before `te-simplify` brings the subscripts into maps again, because* products are looked for
    behind it.

    Postcondition: none. Numeric effect: none.

    ```mlir
    // max over u of sum over r of x[2 * h + u + r] * f[r]: indices h, u and r.
    %a = te.reduce sum ["h", "r"] parallel 1 .. { x[h + r] * f[r] }
    %y = te.reduce max ["h", "u"] parallel 1 .. { a[2 * h + u] }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_80\"", "the architecture, as -arch takes it">,
    ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">,
    ListOption<"sizeMax", "size-max", "int64_t", "known bound of each size, -1: none">];
}

def TeScan : Pass<"te-scan", "::kernelc::te::KernelOp"> {
  let summary = "Give scans the form that devices compute in linear work";
  let description = [{
    A reduction up to an outer index has the terms of its neighbour and some more. `te.reduce` with that condition is what a scan
    *is*; computed as it stands it takes quadratic work. This pass brings scans to the form that `te::findScan` knows: one reduced
    index k, tied by `k <= j` or `k < j` (or from the end, `k >= j`, `k > j`) to a parallel index j of the same extent that the body
    is free of.

    - Other reduced indices are summed first, in a statement of their own, and what they come to is scanned. If they are tied too, that
      is a scan again: a summed-area table is a scan of a scan.

          sum[a, b, a <= i, b <= j](x[a, b])   ->   t[a, j] = sum[b, b <= j](x[a, b]),  sum[a, a <= i](t[a, j])

    - Ends that are moved by a constant, `k <= j - 2`, and other extents move k: `k' <= j` with `k = k' - 2`, where k is inside. Where
      the end lies beyond (`k <= j + 1`) the scan goes over more points, and a statement reads the part that was asked for.

          sum[k, k <= j + 1](x[k])   ->   t[j] = sum[k, k <= j](x[k]) over one point more,  t[j + 1]

    - Positions become the second part of a fold of pairs, of which the first of the largest stays: a monoid, whose identity has
      position -1.

          argmax[k, k <= j](x[k])   ->   fold[k, k <= j]((x[k], k)).1

    *Runs after `te-mask-to-domain`, before `te-split-scan` and `te-plan`, because* masks have become conditions then
    (`x[i, k] if k <= j else 0`), and those look for scans.

    Postcondition: no reduction is tied to an outer index by factors of 1 unless its body, or another condition, depends on that
    index, or nobody knows how far its end lies from that of the index (from the end, of other extents). Numeric effect: another
    order of the same reduction.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TeSplitScan : Pass<"te-split-scan", "::kernelc::te::KernelOp"> {
  let summary = "Cut long scans of few columns into chunks that fill the device";
  let description = [{
    A block walks columns from end to end. Where there are too few for the multiprocessors of the target's table, they are cut
    into chunks of C: their totals are reduced, these are scanned, and each chunk goes on from what is before it:

        t[p, q] = ⊕_r f(p, q·C + r),   e[p, q] = ⊕_{q' < q} t[p, q'],   y[p, q·C + r] = e[p, q] ⊕ ⊕_{r' <= r} f(p, q·C + r')

    Chunks share the last launch with what goes on from them, so that the scan of a chunk stays in registers. The input is read twice,
    and a remark says so. Scans along memory, and those of one row, are left to te-plan, which gives each tile a block that asks those
    before it what they come to (`tile.look_back`), so that the input is read once: but for recurrences of which only sums
    over other indices leave the launch.

    *Runs after `te-scan`, before `te-split-reduce`, because* the totals are reductions like others.

    Sizes without a bound count for what is likely of them (`size-like`): chunks are right for any.

    Not tried: scans of whose sizes nothing is known. Numeric effect: another order of the same reduction, fixed by the sizes, and where
    those have no bound by the likely ones.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let options = [
    Option<"target", "target", "std::string", "\"sm_80\"", "the architecture, as -arch takes it">,
    ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">,
    ListOption<"sizeMax", "size-max", "int64_t", "known bound of each size, -1: none">,
    ListOption<"sizeLike", "size-like", "int64_t", "what speed is reckoned by of sizes without a bound, which need not hold; -1: nothing">];
}

def TeSearchCounts : Pass<"te-search-counts", "::kernelc::te::KernelOp"> {
  let summary = "Search for how many elements compare with a value of each point, in place of counting them";
  let description = [{
    The pass finds sums that count: a sum of ones over an index k, whose condition compares a value of k with a value of the point
    by `<`, `<=`, `>` or `>=`. In a sorted list such a count is a position, the first that the comparison does not hold for. The pass
    sorts the values of k once, and each point finds its position by binary search:

        y[b, n] = sum over k of (t[b, k] <= x[b, n])

        ranks[b, j]            = sum over i of (t[b, i] before t[b, j])
        sorted[b, ranks[b, j]] = t[b, j]
        y[b, n]                = the largest c with c = 0 or sorted[b, c - 1] <= x[b, n]

    The values of k may be in any order, and may be any expression of k and of indices of the point (b above). In `before`, a
    value that compares with more points comes first, the lower index comes first of equal values, and NaN, which compares with
    nothing, comes last. Values are compared in the type that the program compares them in, so that no rounding is added.

    Ranks take a comparison of each pair of values of k; counting takes one of each value with each point. The pass rewrites a sum
    where the target's costs say that the ranks and the searches take less time, which needs many more points than values. It leaves
    a sum alone where the number of values may be 0 or has no bound (which gives the number of steps of the search), and a count in
    f32 where it may exceed 2^24, up to which f32 is exact.

    Two kinds of sums ahead of that: one of which data chooses a single term (`sum[j](e(i, j) if j == t[i] else 0)`, a one-hot factor) reads
    that term; and sums of ones in which data names the result (`sum[k, a[k] == i](1)`) become a scatter of the points, where that takes
    less than asking each point for each result.

    *Runs before `te-sort-scatters` with `owners`, because* that pass turns the scatter into `sorted` into a sum over points that
    rows ask for; *and before `te-mask-to-domain`, because* that pass moves the comparison, which is counted here, out of the terms.
    Precondition: none. Postcondition: `sorted` is made by a `te.scatter` that is `unique`. Numeric effect: none.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_80\"", "the architecture, as -arch takes it">,
    ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">,
    ListOption<"sizeMax", "size-max", "int64_t", "known bound of each size, -1: none">,
    ListOption<"sizeLike", "size-like", "int64_t", "what speed is reckoned by of sizes without a bound, which need not hold; -1: nothing">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TeSortScatters : Pass<"te-sort-scatters", "::kernelc::te::KernelOp"> {
  let summary = "Let rows ask for the points that are scattered to them, and give sums of floats one result";
  let description = [{
    A `te.scatter` of a sum or product of floats without `any_order` must give the same bits in every run.
    Indices that are a subscript of their own, and run over all of that dim, are *carried*; the others number
    the points, and the other subscripts a point's row. The scatter becomes ordinary statements:

        keys[p]     = row(p) << 32 | p                     (points that count for nothing: behind the last row)
        ranks[c, i] = sum over q of (keys[c, q] < keys[c, i])        within chunks of 1024 points
        runs[c * 1024 + ranks[c, i]] = keys[c, i]
        runs'[group + sum over 2 to 32 runs of |{keys below}|] = runs[p]  merged by binary search until one run is left
        segments[r] = |{keys below r << 32}|
        y[r, d]     = init[r, d] + sum over segments[r] <= p < segments[r + 1] of value(runs[p] & (2^32 - 1), d)

    Many points, of a known number, are sorted by counting instead, some bits of their rows at a time, the lowest
    first; points that agree in these bits keep their order:

        counts[d, c] = how many points of block c (256 points) have digit d
        starts[d, c] = sum of all counts before, blocks next to each other
        sorted[starts[d, c] + |{points of block c before p with digit d}|] = keys[p]

    Where there may be more than 4096 points, the points of a row are shared out: of each 256 the first ones,
    which are of one row, are added up apart, and a row adds up its points before the first share and its shares:

        shares[q, d] = sum over 256 q <= p < min(256 q + 256, end of the row of point 256 q) of value(..)
        y[r, d]      = init[r, d] + sum over segments[r] <= p < ends[r] of (value(..) or shares[..])

    Keys are different, so that the order is the points' own within a row. Results of at most 32 rows need
    no order of points: each row asks all of them (`y[r] = sum[n, idx[n] == r](..)`).

    Where indices alone say where points go, a row asks the points that reach it, whatever the kind. Each
    subscript is solved for the one of its indices that leaves fewest points to ask:

        y[h + r] += c[h, r]      =>  y[r0] = init[r0] + sum over r with 0 <= r0 - r < H of c[r0 - r, r]
        y[2 * h + r] += c[h, r]  =>  the same where (r0 - r) % 2 == 0, with h = (r0 - r) / 2

    unless rows would ask more than twice as many points as there are, by the bounds of sizes and by what is likely of them
    (`size-like`).

    Where a sort would take longer, a sum of f32 is added up as integers instead: words, a result's for each few
    places of an f32's mantissa, to which points add theirs in any order:

        words[place / 14, r] += mantissa(value(p)) << place % 14     (width 14 of 2^24 points; one more word for Inf and NaN)
        y[r] = f32(init[r] + sum over w of f64(words[w, r]) * 2^(14 w - 149))

    That pays where points have few values each and rows are not many more than points. Where rows are many it pays to ask first which
    words the values use (a bit each, `or` over all points): the others are neither zeroed nor read.

    *The first run (`owners`: rows that ask) stands before `te-reader-windows`, because* what asks points is a
    sum like any other, whose conditions and residue classes later passes find; *the second one right before
    `te-copy-inouts`, because* `te-simplify` would compute keys again wherever they are read.

    Points of which data bounds an index to a segment are reduced over that index first, and scattered once.

    Precondition: none. Postcondition: no scatter is left whose order counts. Numeric effect:
    a row's points are added up in a fixed order, or to within 2^-53 of the sum of their magnitudes.
  }];
  let options = [
    Option<"owners", "owners", "bool", "false", "only scatters whose rows can ask for their points">,
    ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">,
    ListOption<"sizeMax", "size-max", "int64_t", "known bound of each size, -1: none">,
    ListOption<"sizeLike", "size-like", "int64_t", "what speed is reckoned by of sizes without a bound, which need not hold; -1: nothing">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TeCopyInouts : Pass<"te-copy-inouts", "::kernelc::te::KernelOp"> {
  let summary = "Keep what an inout held for those who still read it";
  let description = [{
    A statement reads an `inout` as it stood before the statement that writes it. Both are one memory, the
    parameter's, whether a statement writes all of it or a part. So a statement that reads old values must
    run before they are overwritten:

    - A statement that does not need the writer's result is moved before the writer.
    - A read that cannot be moved goes to a copy, which a launch of its own makes first; a remark says so.
      That is a read by the writer itself of other elements than it writes (`r[i] = r[N - 1 - i]`), and a
      read by a statement that needs the writer's result. Pointwise statements over the same points that
      update one memory in pieces, each point the elements that it reads, need none (`x[d]` and `x[d + N]`
      from both): they are one launch, which loads before it stores.

    An element that the writer reads where it writes it (`y[i] = y[i] + a * x[i]`) needs neither, nor does
    an element that the writer is known not to write (`x[i] = x[0] where i in 1:N`). Outputs and workspaces
    that several statements write (`+=`, parts) follow the same rules. A statement that overwrites all of
    what an earlier one has left, and reads none of it, stays behind that one.

    *Runs right before `te-plan`, because* all statements are there then. `te-plan` gives a writer a launch
    of its own if another statement of the launch reads or writes the same memory and another thread may
    come first; `te-verify-plan` checks the result.

    Postcondition: a statement that reads a tensor stands before the statement that overwrites what it
    reads, or is that statement or another piece of one update, and reads its own points. Numeric effect: none.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TeBlockWindows : Pass<"te-block-windows", "::kernelc::te::KernelOp"> {
  let summary = "Keep what is read at windows of points in the block that reads it";
  let description = [{
    A statement that others read at windows (a blur of a blur, corners, the steps of a stencil) is a launch of
    its own, and its result goes through memory. Here a block makes the points of it that its own results need,
    those of neighbouring blocks' results among them once more, in shared memory:

        let r[i, j] = sum[u in -1:2, v in -1:2](x.edge[i + u, j + v]) where i in 0:H, j in 0:W
        y[i, j] = sum[u in -1:2, v in -1:2](r.edge[i + u, j + v])

        r'[I, J, i, j] = sum of x around (30 * I + i - 1, 126 * J + j - 1)      32 x 128 points a block
        y[30 * I + i, 126 * J + j] = sum[u, v](r'[I, J, i + u, j + v])          30 x 126

    A set is a statement and what it reads that nothing else does, some readers away: pointwise statements, and reductions
    over windows of constant extents, which are written out. Subscripts are a dim times a constant and a window
    (steps and dilation included), outside of the tensor nothing, one constant (`.pad`) or the nearest element
    (`.edge`): the block's points outside hold what readers see there. The number of readers and what a block has of
    each dim are those that take least time by the target's table (what neighbours of a thread both read it loads once); where less than a share of the launches' time is saved,
    the set stays as it is, and a remark has both times. Sizes that have no bound count as large.

    *Runs after `te-simplify` and all that inlines or splits statements, before `te-plan`, because* that puts the marked
    statements (`in_block`) in one launch, and the others would take them in.

    Postcondition: members of a set read each other in bounds, at their own block's points. Not tried: statements that
    several of a set's results are made of, other bounds forms, quotients of integers, tensors that the kernel updates. Numeric
    effect: the order of written-out sums.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let options = [
    Option<"target", "target", "std::string", "\"sm_80\"", "the architecture, as -arch takes it">,
    ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">,
    ListOption<"sizeMax", "size-max", "int64_t", "known bound of each size, -1: none">];
}

def TeBaseTwo : Pass<"te-base-two", "::kernelc::te::KernelOp"> {
  let summary = "Compute exponentials of which few bits are kept by the instruction for powers of two";
  let description = [{
    In f32, `exp(x)` becomes `exp2(x * log2(e))`, where all that is made of it is rounded to 16 bits or
    fewer: through products, quotients, selects and sums with a positive constant, which keep how exact it is
    in proportion. The `exp2` is marked `afn`: the instruction of the unit, off by 2^-22, which gives zero
    below 2^-126. A product that x is a sum with is taken in one operation with it (`fma`).

        bf16(exp(s * c - l)) * v                                    10 instructions an element, of which one is the unit's
        bf16(exp2(fma(s, c * log2(e), l * -log2(e)))) * v            2, beside those for l, in a sum of products

    In a sum of products, which waits for its exponentials and for what stands around them most, log2(e)
    goes to the parts of a sum. Elsewhere the root of the power is computed and squared, which is never as
    small as 2^-126, but for an exponential that a constant is added to.

    *Runs after `te-derive-cascades` and all that looks for exponentials, before `te-plan`, because* statements are
    what they will be.

    Not tried: f64; values that are subtracted from another or compared. Numeric effect: of the result,
    |x| 2^-23 and 2^-22, in sums of products |y| 2^-24 of the larger operand y of x, and what is below 2^-126; all
    before it is rounded by 2^-9 or more. `check` counts it.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def TeFixSizes : Pass<"te-fix-sizes", "::kernelc::te::KernelOp"> {
  let summary = "Write constants for the sizes that a variant knows";
  let description = [{
    Writes a constant for every size that the plan's facts determine: a positive size that is a multiple
    of `size_div` and at most `size_max` is `size_div` if twice that exceeds the bound. In the variants of
    the JIT these are powers of two, and odd sizes up to 15, as windows have. Extents, strides and trip
    counts become constants. The kernel keeps the name of the size, because callers and guards use it.

    *Runs after `te-plan`, before `te-to-tile`, because* all decisions are made from the facts, and the
    plan says where constants do not pay: a product on CUDA cores uses all registers, and NVRTC keeps
    addresses in registers for constants. In such kernels only sizes up to 15 become constants: the taps of windows, by which they
    divide in each round, and which say whether rows of results are whole vectors.

    Postcondition: no map and no set of another kernel has such a size. Numeric effect: none.
  }];
}

#endif
