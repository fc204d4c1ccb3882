// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes that arrange reductions and windows of te for blocks, in pipeline order.
#ifndef KERNELC_TE_REDUCTION_PASSES
#define KERNELC_TE_REDUCTION_PASSES

include "mlir/Pass/PassBase.td"

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
    - Equal terms of a recurrence are one (`RecurrenceTerms.h`): a gate that is read twice has one sum in every step.

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
    meetings in one table. Of tables that shared memory holds: with an extent that is no number they lie in caches, and stay whole.

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

#endif
