// Passes on te, in pipeline order. One entry, one .cpp, one test folder, one word.
#ifndef KERNELC_TE_PASSES
#define KERNELC_TE_PASSES

include "mlir/Pass/PassBase.td"

def TeEmulateNarrowTypes : Pass<"te-emulate-narrow-types", "::kernelc::te::KernelOp"> {
  let summary = "Read and write tensors of i4 and u4 as the bytes that hold them";
  let description = [{
    A parameter of i4 or u4, two elements to a byte with the even one low, becomes one of u8, and
    an element of it a nibble of a byte:

        w: i4[K, N]        w: u8[K, N / 2]
        w[k, n]            w[k, n / 2] >> 4 (n mod 2), its four bits

    where rows are whole bytes: the innermost extent is even by the variant's divisors, a `require`
    or its form, and so are the strides. Otherwise it is one row of bytes, `u8[(K * N + 1) / 2]`, read
    at the element's linear number over two: right for all sizes and strides, and slower. What lies outside
    keeps its meaning: a padding is both nibbles of a byte, `wrap` keeps the nibble (rows are even), and the
    subscripts that `edge` and `reflect` read are computed.

    Results are tensors of a byte an element, and a statement of its own makes bytes of them,

        y[i, h] = e(2 h) | e(2 h + 1) << 4

    into which `te-simplify` takes the body of e twice: one thread writes a byte. A result that is defined
    in parts, is reduced or has rows that end inside a byte stays such a tensor, in a workspace. Values inside
    bodies are an i8 of 0 to 15 each. *Runs first, because* what it reads and writes by is inlined like anything
    else, and what follows counts bytes and asks what is contiguous.

    Postcondition: no value is an i4; `arg_types` and `out_types` say u8. Not tried: reductions whose
    results are i4 (the language widens them), with an error. Numeric effect: none. The nibble behind the last of an odd number of
    elements becomes 0 (of an `inout` it stays).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let options = [ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">];
}

def TeSimplify : Pass<"te-simplify", "::kernelc::te::KernelOp"> {
  let summary = "Inline pointwise tensors into their readers and drop dead ones";
  let description = [{
    A `te.compute` without an init, a condition or an `out_map` of its own is a
    definition: wherever it is read in bounds, its body can stand instead. After
    this pass a tensor exists only where it is reduced, returned, or read outside
    its bounds. *Runs first, before `te-plan`, because* the plan counts launches and
    bytes, and a tensor that is never stored costs neither. Equal reductions and
    subexpressions merge by CSE afterwards.

    Postcondition: no `te.read` in bounds of a plain `te.compute`, unless the bodies together
    would have more than 1024 operations.
    Not tried: weighing recomputation against a store (an inlined body may be
    evaluated once per reader). Numeric effect: none.
  }];
}

def TeUpliftMath : Pass<"te-uplift-math", "::kernelc::te::KernelOp"> {
  let summary = "Compute sums that are a function of their own as that function";
  let description = [{
    `1 + erf(x)` becomes `erfc(-x)` and `1 - erf(x)` becomes `erfc(x)`, in f32, where nobody else reads the erf. The `erfc` is marked
    `afn`: beside 1 only its absolute error counts, and an erfc to 2^-22 of 1 is half as many instructions as an erf that is exact around 0
    (the GELU of an epilogue waits for them). *Runs first, before `te-simplify`, because* `check` allows
    for that where the text has both in one statement, and no further.

    Numeric effect: as many as 2^-22 in `1 + erf(x)`, where erf and the sum may be off by 2^-22.4; less where it is near 0.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def TeFactorSums : Pass<"te-factor-sums", "::kernelc::te::KernelOp"> {
  let summary = "Take sums of products in steps, over the indices that few factors have first";
  let description = [{
    Applies the distributive law: a sum of products becomes sums over the indices that a group of factors alone has, and
    a sum over the others,

        y[i, l] = sum_jk a[i, j] b[j, k] c[k, l]
        a_b[i, k] = sum_j a[i, j] b[j, k],   y[i, l] = sum_k a_b[i, k] c[k, l]

    with I J K + I K L multiply-adds instead of I J K L. All orders of up to 8 factors are compared (dynamic programming over
    their subsets), single factors with an index of their own included. An order costs its multiply-adds, 16 for each element of a partial sum, which is
    written and read, and 2^22 for each launch more; it is taken if that is at most half of the sum's own multiply-adds, of which a
    matrix unit does 16 in the time of one. Sizes count as what bounds them, those of which nothing is known as 1024: between orders of
    which none is better for all sizes that is a guess, which the remark says. Partial sums
    have the sum's type and the names of the tensors that their factors read. A `let` is a statement of its own: whoever
    writes partial sums down has them in that order.

    *Runs after `te-simplify` and CSE, before `te-group-factors`, because* factors are in sight then, and the steps are
    products for which two operands have to be found. With a precision policy it runs before `te-precision-cast` only, without
    facts of sizes: which operands are rounded is part of the program.

    Not tried: sums with a condition, an init or an `out_map`; more than 8 factors; sums in which another one is a factor;
    partial sums that several sums could share. Numeric effect: another order of
    the same sum; a partial sum may overflow where the whole would not.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let options = [
    ListOption<"sizeMax", "size-max", "int64_t", "known bound of each size, -1: none">,
    Option<"policies", "policies", "bool", "false", "only in kernels with a precision policy">];
}

def TeGroupFactors : Pass<"te-group-factors", "::kernelc::te::KernelOp"> {
  let summary = "Multiply the factors of a sum as two operands of a contraction";
  let description = [{
    A sum of products of three factors and more that is no contraction as it is written becomes one where the
    factors fall into two groups, each with a parallel index of its own and a reduced one that both share:
    `a[m, k] * b[k, n] * g[m, k]` is `(a * g) * b`. Factors join the group whose own parallel index they have; the others
    (`s[k]`) the first one that has all of their indices. Of several ways to group them that one is taken whose groups share
    most reduced indices. Where one pair of factors is a contraction and the others can scale its
    partial sums (see Contraction.h) nothing is rewritten.
    *Runs after `te-simplify` and CSE, before `te-precision-cast`, because* factors are in sight then, and a policy
    rounds operands.

    Postcondition: a sum that was rewritten is a contraction. Not tried: sums of products
    that no two groups make (`a[i, k] * b[j, k] * c[l, k]` of three rows).
    Numeric effect: floats of a product are multiplied in another order.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TePrecisionCast : Pass<"te-precision-cast", "::kernelc::te::KernelOp"> {
  let summary = "Round the operands of contractions as the kernel's policy says";
  let description = [{
    Carries out the policy in the kernel's `precision` attribute and takes it away;
    without one nothing happens. A policy is `contract = "tf32"`, `"bf16"`, `"f16"`, `"f8e4m3"`,
    `"f8e5m2"` or `"bf16x3"`, or `tolerance = 1.0e-3`. The f32 factors of sums of products are rounded
    (`te.round .. to tf32`; `arith.truncf` and `arith.extf` for bf16 and f16, `te.convert` for f8).
    `accumulate = "fast"` becomes the kernel's attribute `fast_accumulate`.
    With `bf16x3` a factor is the sum of its bf16 and the bf16 of the rest, and the sum runs
    over three `part`s first: high·high, high·low, low·high.
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
    What a condition excludes is never a value (docs/language.md, Precision): where a comparison of indices, or of summed and
    batch indices with data (`j < n[b]`), makes a factor of a sum of products zero, it becomes a condition of the sum, and
    whatever the other factors hold there does not matter. The factor may be the body's own (`(a[i, k] if k < n[0] else 0) * b[k, j]`)
    or stand in tensors that the sum reads: of `p = softmax[j](s[i, j] if j < n[b] else -inf)` the masked elements are zeros,
    and a sum of `p[i, j] * v[j, d]` passes over them. Nothing is looked up by name: a copy of the sum takes in the
    definitions of what it reads, and is evaluated over classes of values as in `te-mask-to-domain`.

    Where the masked factor may be NaN instead (`exp(-inf - m)` when m is -inf: nothing of the row is left) the result gets
    it back: `r[p] + (p has a masked point ? that factor : 0)`.

    *Runs as soon as a program is read, before a precision policy is applied, because* it says what the program means: the
    reference, the emulator and GPUs start from what it leaves.

    Postcondition: the sum's terms are as they were; its domain, or the condition of its `te.yield`, has the masks.
    Not tried: conditions on data that name a row or column (`j < n[i]`, `mask[i, j]`), whose zeros multiply what they
    meet; reductions other than sums, where only the term itself can be masked. Numeric effect: none, except that an
    infinity or NaN beside a masked factor is skipped.
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
    Not tried: conditions on data; disjunctions; arg reductions (a masked key is still
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

    *Runs after `te-mask-to-domain`, before `te-split-reduce` and `te-plan`, because*
    contractions and boxes are recognised by plain subscripts.

    Postcondition: the subscripts that were split hold no division by their radix.
    Not tried: other parallel indices (a grid index is divided once per block, which
    costs nothing); cascades; subscripts of sums, `(k + r) // c`. Numeric effect:
    another order of the same reduction.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let options = [ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">];
}

def TeThinProducts : Pass<"te-thin-products", "::kernelc::te::KernelOp"> {
  let summary = "Let products that stream one operand be sums";
  let description = [{
    A product of which one side has one point, `y[0, j] = sum[k] x[0, k] * w[k, j]`, reads every element of w once: it is a
    sum that takes as long as memory does. It gets the attribute `streamed`, with the indices of that side, and is no
    contraction any more: `te-split-reduce` and `te-plan` treat it as the reduction that `y[j] = sum[k] x[k] * w[k, j]` is.
    So does a side of up to 16 points where the target has no matrix unit for the operands, of up to 8 on targets whose tensor
    copies do not feed one, and of up to 4 where rows are no multiples of 16 bytes: a tile of such a sum has all points of the
    side, and each element that it loads of the other operand is multiplied by all of them.

    *Runs after `te-split`, before `te-reduce-in-tiles`, because* the first splits rows of products, and all that
    follows asks what a contraction is. Not tried: products under a condition that ties rows or columns to the sum, with scales of blocks, and those that a
    schedule gives a unit or a ring. Numeric effect: another order of the same sum.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_80\"", "the architecture, as -arch takes it">,
    ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">,
    ListOption<"sizeMax", "size-max", "int64_t", "known bound of each size, -1: none">];
}

def TeReduceInTiles : Pass<"te-reduce-in-tiles", "::kernelc::te::KernelOp"> {
  let summary = "Reduce the results of a product where they are, tile by tile";
  let description = [{
    `m[i] = max_j f(p[i, j])` of a product p: j becomes `j_tile * C + j`, in the product and in
    all that reads it point by point, and the reduction one over j, of which a tile has all C
    points, and a second one over j_tile:

        p[i, j_tile, j], m_part[j_tile, i] = max_j f(p[i, j_tile, j])     the product's launch
        m[i] = max_{j_tile} m_part[j_tile, i]                            a small one

    so that the results need not exist in memory for m. Likewise over i, and over both. C is
    what the cost model gives the product for a tile (rows and columns of te-plan; 64 on CUDA
    cores and for mma.sync), a power of two; an index that one tile has whole stays. What a
    reduction does is not asked: f is any expression of the point.
    *Runs after `te-split`, before `te-split-reduce` and `te-plan`, because* the first would see
    digits to split, the second must find the parts, and the last joins them to the product's
    launch.

    C is one that divides what is known of the extents, where there is one. Elsewhere the last tile is not full:

        p[i, j_tile, j] = sum_k a[i, k] · b.pad(0)[j_tile * C + j, k]
        m_part[j_tile, i] = max_{j : j_tile * C + j < N} f(p[i, j_tile, j])

    What is returned has the condition too, which `te-to-tile` makes the end of a store (`clip`), as tensor copies have it by
    themselves; what stays inside the kernel has a value everywhere, and beyond the end nobody reads it.

    Not tried, with a remark: products over such extents that read what data says. Not tried:
    arg reductions, reductions over batches or over a slower one of several rows' indices, of
    products under a condition, and those that read other results. Numeric effect: another order
    of the same reduction, fixed by the sizes.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_80\"", "the architecture, as -arch takes it">,
    ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">,
    ListOption<"sizeMax", "size-max", "int64_t", "known bound of each size, -1: none">];
}

def TeSplitReduce : Pass<"te-split-reduce", "::kernelc::te::KernelOp"> {
  let summary = "Split long reductions with few results, so that they fill the device";
  let description = [{
    `⊕_k f(p, k)` becomes `⊕_q ⊕_k' f(p, q·C + k')`: partial results over chunks of C
    of the first reduced index, then their reduction. Of several reduced indices the outer ones are parts as
    they stand, as long as there are too few, and the next one is cut. A `te.cascade` is split into
    partial states and a cascade that merges them by its rescale region; so are arg
    reductions, as cascades of key and position. Done where the results alone
    would not give every multiprocessor of the target's table enough blocks and the
    sizes are bounded; of a product, whose parts are a batch,
    where its tiles leave three quarters of the multiprocessors idle, or where warpgroups have it, tensor copies can bring its rows and
    the target's rates are known (`partRates`): into the number of parts for which the slots of a block, or the operands in memory,
    and the parts' sums take least (`PartCost.h`). Where no chunk divides
    an extent, the last part is shorter: reductions get a condition, `q·C + k' < K`; both factors of a product read zeros beyond it,
    `T.pad(0)[.., q·C + k', ..]`, which tensor copies, masked loads and matrix units take as they take padding.
    *Runs after `te-simplify`, before `te-plan`, because* the parts are launches of
    their own. Not tried: arg reductions and cascades whose extents no chunk divides; computed factors of such products; products under a condition; argmin of floats, whose keys no
    combiner orders; arg reductions under a condition. Numeric effect: another
    order of the same reduction, fixed by the sizes.

    Left whole: columns of which lines of 128 bytes, with 512 or 1024 threads each, keep nine tenths of the device busy
    (`wholeColumns`); and, where the target has clusters, what shares its launch with nothing but pointwise statements: columns of
    which lines keep half of the device busy once a cluster shares each out, and rows that no chunk divides, if clusters give every multiprocessor
    two blocks. `te-plan` gives them one (`cluster`), no chunk has to divide anything, and nothing is
    merged in a second launch.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_80\"", "the architecture, as -arch takes it">,
    ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">,
    ListOption<"sizeMax", "size-max", "int64_t", "known bound of each size, -1: none">];
}

def TeWindows : Pass<"te-windows", "::kernelc::te::KernelOp"> {
  let summary = "Make short summed indices that run along memory together one index";
  let description = [{
    A product on warpgroup units wants rows of 64 bytes and more along a summed index. A
    convolution over three channels has six. But where an operand is read at
    `x[.., a * q + s, c]`, the points of s and c are neighbours: windows that overlap.
    `x` is copied into rows in which every window starts at a multiple of 16 bytes,
    `P[.., w * C' + c] = x[.., w, c] if c < C else 0`, with what lies outside of x as zeros
    in memory, the other operand likewise, `G[.., s * C' + c] = f[.., s, c] if c < C else 0`,
    and the sum over s and c becomes one over `run`: `P[.., a * C' * q + run] · G[.., run]`. C' is
    the least that makes a · C' elements a multiple of 16 bytes. The tensor copies then bring
    overlapping windows (passes/tile/Box.h).

    The rule asks for linear subscripts only: s is a summed index beside parallel ones in one
    subscript, with any step (also backwards: a transposed convolution), c a summed index that is
    alone but for batches (groups), in any place (channels first), or there is none. Both stand
    alone in the other operand. Of several windows the last is taken. Done where the sizes are
    bounded, c's row is shorter than 64 bytes, and the product has so many multiply-adds, as a
    whole and per element copied, as the target's table asks (`repackWork`, `repackReuse`).
    *Runs after `te-simplify`, before `te-repack` and `te-plan`, because* the first would inline
    the copies, and the others ask what the operands are.

    Postcondition: the new operands are read in bounds, with aligned rows. Not tried: computed
    operands, products under a condition. Numeric effect: another order of the same sum, with zeros
    between.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let options = [
    Option<"work", "work", "int64_t", "-1", "multiply-adds from which copies pay (-1: the target's)">,
    Option<"reuse", "reuse", "int64_t", "-1", "multiply-adds per element copied (-1: the target's)">,
    Option<"target", "target", "std::string", "\"sm_80\"", "the architecture, as -arch takes it">,
    ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">,
    ListOption<"sizeMax", "size-max", "int64_t", "known bound of each size, -1: none">];
}

def TeRepack : Pass<"te-repack", "::kernelc::te::KernelOp"> {
  let summary = "Copy operands whose rows tensor copies cannot fetch into aligned workspaces";
  let description = [{
    A product on warpgroup units is fed by tensor copies, whose rows start at multiples of
    16 bytes. An operand `T` of which that is not known (rows of 4095 elements, views,
    misaligned addresses) is copied first, `P[i, j] = T[i, j] if j < J else 0` with
    rows rounded up to 128 bytes, and the product reads `P`. The unit takes types of other
    widths than 16 bits contiguous along a reduced index only, and windows of any type
    (`x[n, c, p + r, q + s]` starts anywhere): those are transposed by
    the copy, `P[j, k] = T[k, j]`, along the reduced index that asks for fewest copies of both
    operands. Operands of several
    products are copied once. CUDA cores, which multiply vectors of rows by vectors of columns, read operands of words that run along
    the summed index after such a transposing copy, too (`coresWork`, `coresReuse`): turned on their way into slots they are copied
    word by word, which costs 5 to 8 % of a long product, and no tensor copy can do it (H200). (Results need none: see `tile-stage-stores`.) Done where the sizes are bounded and the product has
    so many multiply-adds, as a whole and per element copied, as the target's table asks
    (`repackWork`, `repackReuse`; far fewer where rows begin inside 16 bytes, which units would read element by element
    otherwise: `repackRowsWork`, `repackRowsReuse`); a remark names each operand.
    *Runs after `te-simplify`, before `te-plan`, because* the first would inline the copy
    back into its reader, and the second chooses the unit by what the operands are.
    Operands that are computed (casts, scales, dequantized weights, the parts of `bf16x3`) are
    written there as well, in the type that the unit takes, under the same conditions; so are operands that
    a subscript walks backwards (`a[i, K - 1 - k]`). A reduced index that all accesses walk
    backwards is turned round.
    Not tried: masked products, operands read with clamped subscripts. Numeric effect: none, but for the order
    of such a sum.
  }];
  let options = [
    Option<"work", "work", "int64_t", "-1", "multiply-adds from which copies pay (-1: the target's)">,
    Option<"reuse", "reuse", "int64_t", "-1", "multiply-adds per element copied (-1: the target's)">,
    Option<"target", "target", "std::string", "\"sm_80\"", "the architecture, as -arch takes it">,
    ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">,
    ListOption<"sizeMax", "size-max", "int64_t", "known bound of each size, -1: none">];
}

def TeCopyInouts : Pass<"te-copy-inouts", "::kernelc::te::KernelOp"> {
  let summary = "Keep what an inout held for those who still read it";
  let description = [{
    A statement reads an `inout` as it stood before the statement that writes to it. Its memory is
    the parameter's all along, whether statements write all of it or a part, so what reads old values must run before they are overwritten:

    - a statement that does not need the writer is put before it;
    - reads that cannot be (of the writer itself, elsewhere than where it writes: `r[i] = r[N - 1 - i]`;
      of statements that need what it computes) go to a copy, which a launch of its own makes first.
      A remark says so.

    An element that the writer reads where it writes it (`y[i] = y[i] + a * x[i]`) needs neither, nor one that it is known not to
    write (`x[i] = x[0] where i in 1:N`). Outputs and workspaces that several statements write (`+=`, parts)
    are memory of the same kind. A statement that overwrites all of what an earlier one has left, and reads none of it, stays behind it.

    *Runs after all passes that make or merge statements, right before `te-plan`, which* gives a writer a launch of its own
    where a statement that reads or writes the same would share one in which another thread may come first, and has `te-verify-plan`
    look at what came of it.

    Postcondition: who reads a tensor stands before the statement that overwrites what it reads, or is that statement at
    its own points. Numeric effect: none.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TePlan : Pass<"te-plan", "::kernelc::te::KernelOp"> {
  let summary = "Decide the launches and their schedules";
  let description = [{
    Groups the statements into launches, gives each launch its index space, tile
    sizes, warps and matrix unit, and records all of it in the kernel's `plan`
    attribute; changes nothing else. Every number comes from the target's table.
    *Runs last on te, because* everything below only obeys it.

    A producer joins its reader's launch when its parallel indices are exactly the
    grid of that launch, it is read at plain indices, and no third launch stands
    between them. Otherwise it is stored in a workspace by a launch of its own.

    Precondition: size facts that hold (the variant's guard sees to that). Not tried:
    measuring; the same input always gets the same plan. Numeric effect: none by
    itself; tile sizes fix the order in which a reduction is summed.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_80\"", "the architecture, as -arch takes it">,
    ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">,
    ListOption<"sizeMax", "size-max", "int64_t", "known bound of each size, -1: none">,
    ListOption<"sizeLike", "size-like", "int64_t", "what times are reckoned for, which need not hold; -1: the bound">];
}

def TeVerifyPlan : Pass<"te-verify-plan", "::kernelc::te::KernelOp"> {
  let summary = "Hold a plan against what its launches read and write";
  let description = [{
    Launches run one after the other; within one, tiles run in any order, and so do the threads of a tile unless a value that
    one has computed is what another one needs. A plan is right if, for all sizes that its facts let through:

    - each statement is computed once, behind what it needs;
    - what a launch reads of memory no earlier launch has overwritten since it was written;
    - what a member of a launch reads of another one it reads at its own point, where one tile has all of it in registers;
    - an element that a launch writes is read in that launch only by the point that writes it, or by a reduction which that point
      waits for: its own tile's, or the merged one of a cluster that shares the reduced index out;
    - an element is written by one tile of a launch, and by one of its statements;
    - what the kernel returns nobody overwrites behind it.

    Anything else needs a launch of its own or a copy, and its absence is a fault of te-copy-inouts or te-plan: an internal error at the statement,
    where a race would have been. The pass shares no predicate with those two. It goes by the plan, the access
    maps and the statements' domains; where maps are not the same, whether points meet is a question to
    Presburger arithmetic, in which what is not linear may be any number. It relies on what te
    promises: `out_map` is injective.

    *Runs at the end of `te-plan`, and alone, because* there all statements, their launches and tiles are known. Changes nothing.

    ```mlir
    // Two launch tiles of r: one may write r[N - 1 - i] while the other one has still to read it.
    %new = te.compute ["i"] .. { %v = te.read %r[%i] map (d0)[s0] -> (s0 - 1 - d0) .. }
    te.return %new                                            // out_alias = [0]
    ```
  }];
}

def TeFixSizes : Pass<"te-fix-sizes", "::kernelc::te::KernelOp"> {
  let summary = "Write constants for the sizes that a variant knows";
  let description = [{
    A positive size that is a multiple of `size_div` and at most `size_max` (the plan has both) is
    `size_div` where twice that is more: powers of two, in the variants that the JIT makes. Extents,
    strides and trip counts become constants; the kernel keeps the name, because callers and guards
    speak of it.

    *Runs after `te-plan`, before `te-to-tile`, because* all decisions come from the facts themselves, and
    because the plan says where it does not pay: a product on CUDA cores has all registers in use, and took 5 %
    longer with constants (docs/performance.md), which NVRTC keeps addresses for. Such kernels are left alone.

    Postcondition: no map and no set of another kernel has such a size. Numeric effect: none.
  }];
}

#endif
