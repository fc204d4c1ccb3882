// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes on scans and scatters of te, and on where its tensors lie, in pipeline order.
#ifndef KERNELC_TE_MEMORY_PASSES
#define KERNELC_TE_MEMORY_PASSES

include "mlir/Pass/PassBase.td"

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
