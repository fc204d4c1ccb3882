// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes on te that rewrite sums of products, in pipeline order; between which others they run is in Pipelines.cpp. One entry, one .cpp, one test folder, one word.
#ifndef KERNELC_PRODUCTS_PASSES
#define KERNELC_PRODUCTS_PASSES

include "mlir/Pass/PassBase.td"

def TeStoreOperands : Pass<"te-store-operands", "::kernelc::te::KernelOp"> {
  let summary = "Keep in memory what the products of a chain take as operands";
  let description = [{
    Two products are a chain if one takes the results of the other by rows, through reductions of these rows: scores, their softmax, and the
    values that it weighs. One launch has both (`te-derive-cascades`), and takes their operands from memory, by tensor copies. An operand that
    is a definition of 16-bit floats (projections of x, heads that are rotated, keys that are normalised) would be inlined into the product,
    which would compute each element once for each result. The pass gives the definition a `shape`, so that it is a tensor; its rows begin
    where those of other workspaces do, unless it is a result. What only reads an element of another tensor stays a definition.

        q[b, i, h, d] = bf16(x[b, i, h, d] * cos[i, d] + ..)
        s[b, h, i, j] = sum_d q[b, i, h, d] * k[b, j, h, d]
        p[b, h, i, j] = softmax_j s[b, h, i, j]
        o[b, i, h, d] = sum_j p[b, h, i, j] * v[b, j, h, d]               q is kept

    An operand is kept only if several results of its product take each of its elements (keys that one query reads once are computed on their
    way), and if the columns that it takes of flat rows, `q[b, i, h * D + d]`, begin at whole rows of a slot: D is a multiple of 64.

    *Runs before the first `te-simplify`, because* that inlines definitions; *in a kernel with a precision policy before that pipeline's,* for
    the same reason.

    A square of results (the sum of a norm behind two chained products) is no reader that asks for them in memory.

    Postcondition: the operands of such a chain are tensors, or elements of tensors read elsewhere.
    Not tried: columns of other heads in flat rows, chains without a reduction in between, operands that the text leaves in f32.
    Numeric effect: none.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_80\"", "the architecture, as -arch takes it">,
    ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">,
    ListOption<"sizeMax", "size-max", "int64_t", "known bound of each size, -1: none">];
}

def TeFactorSums : Pass<"te-factor-sums", "::kernelc::te::KernelOp"> {
  let summary = "Take sums of products in steps, over the indices that few factors have first";
  let description = [{
    Applies the distributive law. A sum of products becomes one sum over the indices that a group of
    factors alone has, and another one over the rest:

        y[i, l] = sum_jk a[i, j] b[j, k] c[k, l]
        a_b[i, k] = sum_j a[i, j] b[j, k],   y[i, l] = sum_k a_b[i, k] c[k, l]

    That takes I J K + I K L multiply-adds instead of I J K L. The pass compares all orders of up to 8
    factors (dynamic programming over their subsets), also those in which a single factor is summed over
    an index of its own, unless that makes more sums than its tensors have elements (windows overlap, and a
    convolution's tile reads its box once). An order costs its multiply-adds, 16 for each element of a partial sum (it is
    written and read), and 2^22 for each additional launch. The best order is taken if it costs at most
    half of the multiply-adds of the sum as written, of which a matrix unit does 16 in the time of one.
    A size counts as its bound, or as 1024 without one; where no order is best for all sizes that is a
    guess, and the remark says so. A partial sum has the type of the sum and the names of the tensors
    that its factors read. A `let` that is a factor of another sum is never regrouped: an author who
    writes partial sums fixes the order.

    A sum of another sum's results that nobody else reads, whose terms are a linear function of it, is one
    sum, too, which is taken if its steps cost at most half of the inner sum:

        y[i] = sum_j (sum_k x[i, k] w[j, k]) / 2 + b[j]
        w_sum[k] = sum_j w[j, k],   y[i] = (sum_k x[i, k] w_sum[k]) / 2 + sum_j b[j]

    Where the terms are the inner results times scales (of blocks of k and of columns), and the matrix
    unit takes the operands, it is one product whose partial sums are scaled as they are added.

    A window of several dims is taken a dim at a time, where what it multiplies along one of them depends
    on no other one, if that costs at most half, by the same measure:

        y[h, w] = sum_rs a[r] b[s] x[h + r, w + s]
        t[h, p] = sum_r a[r] x[h + r, p],   y[h, w] = sum_s b[s] t[h, w + s]

    So are largest and smallest elements of windows.

    *Runs after `te-simplify` and CSE, before `te-group-factors`, because* the factors are in one body
    then, and each step is a product whose two operands have to be found. In a kernel with a precision
    policy it runs before `te-precision-cast`, without facts of sizes: which operands are rounded is part
    of the program.

    Integer factors less an offset that no summed index tells apart (zero points) are multiplied without it, beside sums of the other
    factor: `sum[k]((x[i, k] - z[i]) * w[j, k])` as `sum[k](x[i, k] * w[j, k]) - z[i] * sum[k](w[j, k])`. Rows of a factor that data
    chooses (`x[t[e], k]`) are multiplied before they are chosen, where they are fewer.

    Not tried: sums with a condition, an init or an `out_map`; more than 8 factors; a sum that is a factor
    of another one's; partial sums that several sums could share. Numeric effect: another order of the same sum;
    a partial sum may overflow where the whole would not.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let options = [
    ListOption<"sizeMax", "size-max", "int64_t", "known bound of each size, -1: none">,
    Option<"policies", "policies", "bool", "false", "only in kernels with a precision policy">];
}

def TeGroupFactors : Pass<"te-group-factors", "::kernelc::te::KernelOp"> {
  let summary = "Multiply the factors of a sum as two operands of a contraction";
  let description = [{
    A sum of products of three or more factors, which is no contraction as it is written, becomes one if
    its factors fall into two groups. Each group has a parallel index of its own, and both share a reduced
    index: `a[m, k] * b[k, n] * g[m, k]` is `(a * g) * b`. A factor joins the group whose own parallel
    index it has; a factor without one (`s[k]`) joins the first group that has all of its indices. Of
    several groupings the pass takes the one whose groups share the most reduced indices. Nothing is
    rewritten if one pair of factors is a contraction and the others can scale its partial sums (see
    Contraction.h).

    *Runs after `te-simplify` and CSE, before `te-precision-cast`, because* the factors are in one body
    then, and a policy rounds operands.

    Postcondition: a sum that was rewritten is a contraction. Not tried: sums that no two groups make
    (`a[i, k] * b[j, k] * c[l, k]`, with three rows). Numeric effect: the floats of a product are
    multiplied in another order.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TeLiftFactors : Pass<"te-lift-factors", "::kernelc::te::KernelOp"> {
  let summary = "Multiply the results of a sum of products by what its rounded factors have in common";
  let description = [{
    A factor that no summed index has leaves the sum, also where it stands before a rounding to bf16:

        sum_k bf16(x[i, k] * c) * w[k, j]                 c * sum_k bf16(x[i, k]) * w[k, j]
        sum_k bf16(x[i, k] * r[i]) * w[k, j]              r[i] * sum_k x[i, k] * w[k, j],   x of bf16

    A number (a constant, what follows from sizes) always does: that is an operation a result in place of one
    a term. What rows have does where the tensor is left as it lies: a norm without a gain then needs no copy
    of x, and the product does not wait for it. Reads of the sums multiply.

    *Runs after `te-derive-cascades`, which moves factors of its own, before `te-chain-products` and `te-repack`, because* they look
    at what an operand is computed from.

    Not tried: quotients; f16, whose range is small; factors beside a gain along the summed index; means; sums that
    are outputs as they are. Numeric effect: what is rounded is the term without the factor, by as much in proportion; it may
    overflow where the program does not.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TeGroupRows : Pass<"te-group-rows", "::kernelc::te::KernelOp"> {
  let summary = "Multiply rows by operands that data of each row chooses in tiles of rows that choose alike";
  let description = [{
    Each row of such a sum has an operand of its own, so that it is no contraction; with the rows in groups it is one for each tile:

        y[p, j]     = sum_i x[p, i] * w[key(p), i, j]

        counts[g, p] = sum_{q <= p} (key(q) == g)                   rows of the group up to each row
        ends[g]      = sum_{h <= g} ceildiv(counts[h, P - 1], R)    the tile behind which the group's end
        places[p]    = (ends[key(p)] - ceildiv(counts[key(p), P - 1], R)) * R + counts[key(p), p] - 1
        rows[places[p]] = p, P elsewhere
        groups[t, r, j] = sum_i x[rows[t * R + r], i] * w[chosen[t], i, j]
        y[rows[t * R + r], j] = groups[t, r, j]                     where there is such a row

    What alone reads y, point by point, is computed with the product and put back itself. `te-repack` may write the rows of x to memory in
    their new order.

    A tile has rows of one group only, so that nothing another operand holds, infinities say, reaches them. There are
    P floordiv R + G tiles, some of which may have no rows. A row may be numbered by several indices, and several tensors may be
    chosen by one key (weights and their scales). A key that may lie outside (`pad`) makes one group more.

    R is 16 to 128, by the rows that a group has on the average; the product has to take half of the time that loads of an operand
    for each row take, by likely sizes.

    *Runs after `te-split`, before `te-thin-products`, because* the passes from there on ask what a contraction is.

    Not tried: rows under a condition; two keys; numbers of rows that may be 0; chains of products that share an order of rows.
    Numeric effect: another order of the same sum.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let options = [
    Option<"target", "target", "std::string", "\"sm_80\"", "the architecture, as -arch takes it">,
    ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">,
    ListOption<"sizeMax", "size-max", "int64_t", "known bound of each size, -1: none">,
    ListOption<"sizeLike", "size-like", "int64_t", "what speed is reckoned by of sizes without a bound, which need not hold; -1: nothing">];
}

def TeThinProducts : Pass<"te-thin-products", "::kernelc::te::KernelOp"> {
  let summary = "Let products that stream one operand be sums";
  let description = [{
    A product with one point on one side, `y[0, j] = sum[k] x[0, k] * w[k, j]`, reads each element of w
    once: it takes as long as memory does, like a sum. The pass gives such a product the attribute
    `streamed`, which names the indices of that side. It then counts as a reduction, no longer as a
    contraction: `te-split-reduce` and `te-plan` treat it as they treat `y[j] = sum[k] x[k] * w[k, j]`.

    The same holds for a side of up to 16 points if the target has no matrix unit for the operands, of up
    to 8 if its tensor copies feed none, and of up to 4 if the rows are not multiples of 16 bytes. A tile
    of such a sum has all points of the thin side, and multiplies each element that it loads of the other
    operand by all of them. Where no unit takes the operands and the streamed one is read through windows,
    an element meets all points once for each tap, and so many count.

    *Runs after `te-split`, before `te-reduce-in-tiles`, because* the first splits rows of products, and
    the passes from the second on ask what a contraction is.

    The same holds for convolutions of groups of few channels that lie beside each other, with up to 16
    results of a group (`GroupWindows.h`): a thread has all of these, and sums windows.

    Not tried: products under a condition that ties rows or columns to the sum; scales of blocks;
    products that a schedule gives a unit or a ring. Numeric effect: another order of the same sum.
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

def TeLayBatches : Pass<"te-lay-batches", "::kernelc::te::KernelOp"> {
  let summary = "Lay a product's results in memory with the indices outermost of which a tile has one point";
  let description = [{
    The phases of a transposed convolution are batches: `p[n, o, h, w, h_low, w_low]` is a product for each
    (h_low, w_low), whose tiles have one point of both. Where the results stay in memory, they lie as
    `p[h_low, w_low, n, o, h, w]` there, so that a tile's rows are contiguous and may leave by tensor copies.
    A statement with the product's indices, an `out_map` and a `shape` stores them so, and their readers' maps follow.

    Done where the last index of the results is a batch, and a reduction goes over a batch: it does not stand in
    the product's launch, which leaves the results in memory. What a launch returns lies as the kernel says, and
    pointwise readers stand in the product's launch.

    *Runs after `te-reduce-in-tiles` and `te-repack`, before `te-plan`, because* a reduction that the product's tile
    holds, or parts of it, want the indices as they are, and the plan asks along which of them memory runs.

    Postcondition: the same values at the same points. Numeric effect: none.
  }];
}

def TeTurnResults : Pass<"te-turn-results", "::kernelc::te::KernelOp"> {
  let summary = "Write results in the order of their product's tiles, and turn them in a launch of their own";
  let description = [{
    Where a batch of a product lies along the memory of what is returned, `o[b, d, i, w]` of an attention along i, each w its own, a tile has
    one point of what runs along memory, and stores each result into a sector of its own. The pass has the product's launch write

        laid[b, w, i, d] = f(p[b, w, i, d])

    with the batches outermost and the columns of the tile beside each other, and a launch behind it turns them, `o[b, d, i, w] =
    laid[b, w, i, d]`. Where f reads other tensors that run along w (gates, residuals), it is the product that is laid, and the second
    launch computes f.

    Done where that takes less time by the target's table: sectors that one element is stored into beside one more write and one more read.
    What `te-repack` does for operands, this does for results.

    *Runs after `te-repack` and `te-lay-batches`, before `te-plan`, because* nothing is inlined any more, and the plan asks how results lie.

    Not tried: results that others read, too, or that are a product's with no function of it in between; conditions on results; products on
    CUDA cores and on mma.sync. Numeric effect: none.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_80\"", "the architecture, as -arch takes it">,
    ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">,
    ListOption<"sizeMax", "size-max", "int64_t", "known bound of each size, -1: none">];
}

def TeRepack : Pass<"te-repack", "::kernelc::te::KernelOp"> {
  let summary = "Copy operands whose rows tensor copies cannot fetch into aligned workspaces";
  let description = [{
    Copies an operand into a workspace with aligned rows where tensor copies cannot load it as it lies.
    Tensor copies feed the products of warpgroups and need rows that start at multiples of 16 bytes. Where
    an operand `T` is not known to have such rows (rows of 4095 elements, views, misaligned addresses), the
    pass adds

        P[i, j] = T[i, j] if j < J else 0

    with rows rounded up to 128 bytes, and the product reads `P`. A remark names each operand.

    The copy may also do more than align:

    - It transposes, `P[j, k] = T[k, j]`. The unit takes types that are not 16 bits wide, and windows of
      any type (`x[n, c, p + r, q + s]` starts anywhere), only if they are contiguous along a reduced
      index. Of several reduced indices the pass takes the one for which fewest operands have to be copied.
    - It transposes words for CUDA cores (`coresWork`, `coresReuse`), which multiply vectors of rows by
      vectors of columns. An operand that runs along the summed index would otherwise be turned word by
      word on its way into a slot, which no tensor copy can do. Where tensor copies feed CUDA cores,
      operands whose rows begin inside 16 bytes are copied for them, too.
    - It transposes the weights of windows that lie beside each other in vectors, `f[c, r, s]` of
      `x[n, h + r, w + s, c]` (`WindowWeights.h`): a thread has a vector of results, and asks for one of
      weights, in place of eight numbers that lie as far apart as all taps of a channel.
    - It gathers: rows that data chooses one by one (`x[rows[p], k]`) become neighbours.
    - It computes: casts, scales, dequantized weights, the parts of `bf16x3`, in the type that the unit
      takes; f32 for CUDA cores, too, with rows along the product's. It turns operands that a subscript walks backwards (`a[i, K - 1 - k]`). A reduced index that
      all accesses walk backwards is turned round instead.

    An operand of several products is copied once. Results need no copy: see `tile-stage-stores`.

    The pass acts where the sizes are bounded and the product is large enough to pay for the copy: the
    target's table says how many multiply-adds it needs as a whole (`repackWork`) and per element copied
    (`repackReuse`). Far fewer are enough where rows begin inside 16 bytes, or where a batch runs along memory (`q[b, d, i, w]` of an
    attention along i, each w its own), because a unit would read such rows element by element (`repackRowsWork`, `repackRowsReuse`).
    What components of a cascade take beside their factor in registers is turned for that, too, so that its columns lie along memory.

    *Runs after `te-simplify`, because* that pass would inline the copy into its reader again; *before
    `te-plan`, because* it chooses the unit by how the operands lie.

    Not tried: masked products, operands read with clamped subscripts. Numeric effect: none, but for the
    order of a sum whose index was turned round.
  }];
  let options = [
    Option<"work", "work", "int64_t", "-1", "multiply-adds from which copies pay (-1: the target's)">,
    Option<"reuse", "reuse", "int64_t", "-1", "multiply-adds per element copied (-1: the target's)">,
    Option<"target", "target", "std::string", "\"sm_80\"", "the architecture, as -arch takes it">,
    ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">,
    ListOption<"sizeMax", "size-max", "int64_t", "known bound of each size, -1: none">];
}

def TeChainProducts : Pass<"te-chain-products", "::kernelc::te::KernelOp"> {
  let summary = "Compute a product once more for one that takes its results from registers";
  let description = [{
    A product o[i, n] = Σ_j f(s[i, j], ..) · v[j, n] can take s, another product, from registers in one launch (`passes/plan/Chain.h`),
    where nobody else needs s. Where others do (row maxima and sums of a softmax), this pass lets the second product compute s
    once more, if that takes less time than writing s to memory and reading it back. Then s need not be in memory at all.
    Several products may take several others' results so (`passes/plan/ChainSets.h`): those that sum along one index of
    them are a set, marked `in_set`, and each set has producers of its own, if all sets together take less time.
    A set whose sums may come in any order may stand in the launch of another one that walks what it has in rows: there each block has a
    part of its sums, which it adds to memory. Such a sum goes on from zeros (`init`) that a statement ahead of both makes.

    *Runs after `te-reduce-in-tiles`, because* what is reduced of s in its own launch is known then; before `te-split-reduce` and
    `te-repack`, which leave chains alone. A remark says so. Where a chain does not fit or does not pay, a remark says
    why, with numbers, and each product has a launch of its own.

    Left alone: targets without warpgroup products; products that no tile holds. Numeric effect: none, but for the order of sums that
    may come in any.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"sm_80\"", "the architecture, as -arch takes it">,
    ListOption<"sizeDiv", "size-div", "int64_t", "known divisor of each size">,
    ListOption<"sizeMax", "size-max", "int64_t", "known bound of each size, -1: none">];
}

#endif
