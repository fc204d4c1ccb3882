// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes on tile, in pipeline order. One entry, one .cpp, one test folder, one word.
#ifndef KERNELC_TILE_PASSES
#define KERNELC_TILE_PASSES

include "mlir/Pass/PassBase.td"

def TileStreamLoads : Pass<"tile-stream-loads", "::mlir::ModuleOp"> {
  let summary = "Let what is read once leave the cache first";
  let description = [{
    Marks a `tile.load` as `streaming` if at most four tiles of its launch read each element, the launch
    reads at least four times the bytes that it writes, and nothing after it in the kernel reads the
    tensor. Examples are the input of a long sum and the weights of a product with few rows. The cache
    evicts the lines of such loads first, so that results, small operands and lines that other kernels
    have left to be written back stay.

    *Runs after CSE, which merges equal loads; before `tile-pipeline`, because* its copies keep the mark.
    A size counts as its bound, an unbounded one as very large.

    Left alone: launches that write as much as they read (they lose by it), windows, gathers, tensors read
    by two loads, workspaces. Numeric effect: none.
  }];
}

def TileHoistLoads : Pass<"tile-hoist-loads", "::kernelc::tile::FuncOp"> {
  let summary = "Load once what rounds of a product do not change";
  let description = [{
    Moves loads out of loops that hold products: boxes that products take as they are, rows, columns and
    single elements, if neither the place nor the mask depends on the loop and nothing in the launch writes
    the tensor; and arithmetic on such rows. In a loop that two products share, the rows of the first one
    are then filled once for each of the block's tiles (`tile-pipeline` fills a ring where the load
    stands). In a function with `ahead`, whose loops go from state to state, boxes as large as a state leave
    them, too. The loop over a block's tiles keeps what it has: registers and slots are a tile's.

    *Runs after CSE, which merges equal loads; before `tile-pipeline`.*

    Left alone: gathers, padded reads, matrices that are computed with in registers. Numeric effect: none.
  }];
}

def TilePipeline : Pass<"tile-pipeline", "::kernelc::tile::FuncOp"> {
  let summary = "Feed dots from rings in shared memory, loads ahead of use";
  let description = [{
    The operands of a `tile.dot` in a loop go through rings of `stages` slots (at least two): while tile t
    is multiplied, tile t + stages - 1 is on its way. An operand that is a plain load of neighbours of 4
    bytes or more is copied without registers (`tile.ring_copy`: cp.async where the target has it). Any
    other operand, also one with a fused prologue, is computed in registers and stored
    (`tile.ring_store`). One barrier per tile publishes tile t and says that tile t - 1 has been read.
    A product on warpgroups is waited for in its own round; its 8- and 32-bit elements lie along k in
    their slots, wherever they come from. An operand of CUDA cores lies along rows (columns) in its slots;
    a copied one of 4 or 8 bytes that runs along k is turned on its way, where the target copies
    asynchronously.

    In a function with producer warps, tensor copies fill the rings and a channel says who waits for whom:
    `acquire`, copies, `await`, dot, `release` of the tile before. The first operand may be computed from
    what copies bring, and masked: `tile.ring_load` takes its loads out of their slots into registers, and
    the product is waited for in its own round. CUDA cores read whole rows (`pad 0`), which need no swizzle
    for vectors along them, and release a slot in its own round. Products side by side in one round are
    filled together, issued one after the other and waited for a round later. Products that add to one
    accumulator in turn are issued together as well, and the last one is waited for. A product that takes another's
    result waits for that one first. With `held`, a first operand that is brought once for all rounds, alone,
    goes to registers before the loop, and its slot is free for what the next tile brings. A loop behind another one with slots like its goes
    on in these (`tile.ring in`). What no tensor copy brings to slots of CUDA cores, as windows that begin inside
    16 bytes of a row, the threads of all producer warps copy element by element (`by_threads`), and each says `tile.filled`.
    Anything else that no tensor copy can make is an error; the plan asks first.

    *Runs before `tile-layouts`, because* copies need no layout.
  }];
}

def TileStageStores : Pass<"tile-stage-stores", "::kernelc::tile::FuncOp"> {
  let summary = "Write results through shared memory, in parts, by tensor copies";
  let description = [{
    Stores the result of a product `part` columns at a time, in functions with producer warps. For each
    part, `tile.slice` takes the accumulator's columns, and a copy of the elementwise code between product
    and store computes them, so that fewer values are alive at once. The part goes into one of the two
    slots of a ring, from which `tile.box_store` stores it while the next part is computed.

    A store that is no box (its rows are not multiples of 16 bytes) goes through a slot as well:
    `tile.ring_store`, `tile.barrier`, `tile.ring_load` deal the elements out to the role's threads anew.
    The accumulator gives a thread two elements of each of eight rows; afterwards neighbouring threads have
    neighbouring elements of one row, which are stored side by side.

    *Runs after `tile-pipeline`, because* it needs to know where a product ends; *before `tile-layouts`,
    because* parts get layouts of their own.

    Left alone: stores under conditions; stores along an index that is not the product's last; results
    whose columns warpgroups share; stores that are no box where two teams take turns; functions without
    producer warps. Numeric effect: none.
  }];
}

def TileStageLoads : Pass<"tile-stage-loads", "::kernelc::tile::FuncOp"> {
  let summary = "Fetch what an epilogue reads by tensor copies, ahead of it";
  let description = [{
    In a function with producer warps, a load behind a product that is a box of at least
    2 KiB (a residual, a gate) is made by the producer: a ring of two slots and a channel
    of its own, `acquire`, copy, `await`, `tile.ring_load`, `release`. It is on its way
    while the product still runs. Each ring takes a producer warp: the largest loads come first,
    and what there is no warp or no shared memory for stays a load. *Runs after `tile-stage-stores`, which cuts the
    epilogue and its loads into parts that fit small slots; before
    `tile-specialize-warps`, which gives the copies to the producer.*
    Left alone: rows of biases, loads of other shapes and rules, loads in loops over
    reduced indices, functions without producer warps. Numeric effect: none.
  }];
}

def TileLoadEarly : Pass<"tile-load-early", "::kernelc::tile::FuncOp"> {
  let summary = "Ask for what an epilogue reads before its product";
  let description = [{
    In a function with producer warps, moves loads from behind a product's loop (rows of biases and
    scales) to the place before it, with their index arithmetic, one after the other, as long as a thread
    has registers for the loaded values beside its accumulators. An epilogue in parts would otherwise wait
    for memory in each part, while the unit is idle. Where a loop has several products, rows and columns
    that are read between them (a mask by data) are loaded at the start of the round, while the first
    product runs.

    Without a product, a block's first reduction by several warps takes the product's place: warps meet in it, and what they read behind it (moments
    and parameters behind the parts of a flag, gains behind a row's statistics) would wait for it, and for memory behind that. Such
    loads, also of what the launch writes later, start before it as long as a thread has registers beside what lies across it.

    *Runs after `tile-stage-loads`, because* what tensor copies bring needs no registers; *before
    `tile-specialize-warps`*, so that a team that waits for its turn has issued its loads by then.

    Where rows end inside vectors, each thread's load of a tensor is a branch, across which ptxas moves nothing. Such loads of a block stand
    before what is computed of the first of them, so that all of them are on their way together.

    Left alone: behind a product, matrices, tensors that the launch writes, and functions without producer warps, where the other blocks
    of a multiprocessor run meanwhile; loads that need results or other loads (gathers); what may have been written before, in an
    earlier round too. Numeric effect: none.
  }];
}

def TileSpecializeWarps : Pass<"tile-specialize-warps", "::kernelc::tile::FuncOp"> {
  let summary = "Give filling rings and reading them to different warps";
  let description = [{
    Clones the loop nest of a function with producer warps once per role into
    `tile.roles`: the producer keeps `acquire` and the copies with the index
    arithmetic they need, the consumer everything else. Index arithmetic outside
    loops, rings and channels stand before both. *Runs after `tile-pipeline`, before
    `tile-layouts`, because* layouts never span roles. A function without producer
    warps is left alone. Numeric effect: none.
  }];
}

def TileOverlapDots : Pass<"tile-overlap-dots", "::kernelc::tile::FuncOp"> {
  let summary = "Start the next products before what the last ones gave is added up";
  let description = [{
    Keeps several products in flight where a sum may not stay in the unit's accumulators. Each round of
    such a loop starts a product from zero, waits for it and adds it up, and the unit is idle meanwhile
    unless other warpgroups use it. In a function with `in_flight` n the loop takes n rounds at a time:
    first all that leads up to their products (waits for slots, masks), then the products' results one
    after the other, each waited for while the products behind it may still be in flight. A second loop
    takes the remaining rounds, unless the sizes say that there are none.

    ```
    await 0; dot 0; wait for 0; add 0       await 0; dot 0; await 1; dot 1;
    await 1; dot 1; wait for 1; add 1   →   wait for 0, 1 pending; add 0; wait for 1; add 1
    ```

    No product is in flight from one round of the new loop to the next: ptxas would mistake reads of other
    accumulators for reads of its own, and run all products one by one (C7514). So a wait for
    the sum behind the loops has nothing to wait for, and goes.

    *Runs after `tile-specialize-warps`, because* warps that fill slots need not take n rounds at a time;
    *before `tile-layouts`*, because every product has accumulators of its own.

    Left alone: functions with `in_flight` 1; products that continue in the loop's own accumulators (their
    next one is started anyway); operands in registers; loops whose slots depend on what they carry
    (searches). Numeric effect: none; terms are added in the same order.
  }];
}

def TileSkewDots : Pass<"tile-skew-dots", "::kernelc::tile::FuncOp"> {
  let summary = "Multiply what one round has made while the next round is worked on";
  let description = [{
    Keeps the unit busy in loops of two products of which the second takes what the first has given, worked
    on in registers (attention, products in a chain). Round n waits for its first product, works on it,
    and waits for its second product: the unit is idle meanwhile, but for other warpgroups. In a function
    with `in_flight` above 1 the pass skews such a loop by one: a round starts its own first product and
    the second product of the round before, and works on the first while the second is in flight.

    ```
    first 0; work 0; second 0          first 0; work 0
    first 1; work 1; second 1     →    first 1; second 0; work 1
    first 2; work 2; second 2          first 2; second 1; work 2
                                       second 2
    ```

    A factor in registers belongs to the unit until its product is done, and so do its accumulators:
    the last operation that makes the next factor, and what moves the accumulators (the factor of a row
    by which a maximum has grown), stand behind the wait for the second product. Only the second product's
    slots are held for longer, from one round into the next. Slots of the whole loop that the first products alone read are let go
    of before the last of the second products.

    Where exponentials of a round take as long as its products by the target's rates (heads of 64 columns), warpgroups start the products
    of their rounds in turns (`tile.take_turn`) if tiles differ in rounds, so that the unit has those of one while another's scores are
    worked on.

    *Runs after `tile-specialize-warps`, because* warps that fill slots walk the rounds as they were;
    *before `tile-layouts`*, which gives what is carried the layout of the accumulators.

    Left alone: functions with `in_flight` 1; loops that may have no round; second products of which
    something else in the round uses what they give; first products that are loops of their own. First products that go on from each other
    are one: the last is waited for.
    Numeric effect: none; terms are added in the same order.
  }];
}

def TileSplitRounds : Pass<"tile-split-rounds", "::kernelc::tile::FuncOp"> {
  let summary = "Walk the rounds of chained products in which masks hold at all points without them";
  let description = [{
    Takes masks out of those rounds of a loop of several products in which they hold at every point of the
    tile. A condition between a row and what is summed (`j <= i + T - S`, `j > i - W`), or the end of an index,
    is false somewhere in a few rounds only, and every round pays for it. Where a mask compares linear forms,
    which may have data that is one number for the whole tile (`j < n[b]`), one number before the loop says
    from which round on, or up to which round, it holds everywhere; copies into slots lose the same mask in
    these rounds. The loop becomes up to three, each of which starts with what the one before has carried:

    ```
    for r in begin : first { masked }     rounds that a lower bound cuts
    for r in first : full  { }            rounds whose points all count
    for r in full : end    { masked }     rounds that an upper bound cuts
    ```

    *Runs after `tile-skew-dots`, because* what fills slots walks all rounds alike, and the rounds of a
    skewed loop are split as they are; *before `tile-layouts`*, which gives all loops the layouts of what
    they carry.

    Left alone: functions with `in_flight` 1, whose rounds wait for their products anyway; loops without
    products (tile-peel-rounds), and with a single one, whose masks are applied to slots or are few; masks of
    data that differs between points of a tile, or that depends on the round otherwise. Numeric effect: none.
  }];
}

def TilePeelRounds : Pass<"tile-peel-rounds", "::kernelc::tile::FuncOp"> {
  let summary = "Walk the full rounds of a loop without masks, ahead of the last one";
  let description = [{
    Takes the masks out of all rounds of a loop but the last. Where an index's extent is no multiple of its
    tile, the last round of the loop over its tiles reaches beyond the end, and every round pays for the
    masks that only this one needs. The pass makes two loops of such a loop, if its rounds do nothing but
    read, compute and write:

    - the first one has the rounds whose tile lies wholly before the end. It stops at `<index>_full`, and
      its loads, stores and `tile.inside` have no mask along the index;
    - the second one, marked `tile.last_round`, is the loop as it was, and runs once or not at all.

    Values that the loop carries go from the first to the second. The end may depend on the block (in a
    causal row, or in a shorter part of a sum), and the blocks of a cluster may share the rounds. The first
    loop also loses comparisons of indices that are true before the end (`FullRounds.h`) and tests that
    reads stay inside.

    *Runs after `tile-specialize-warps`, because* loops that feed rings or have products in flight are its
    business; *before `tile-layouts`*, which gives both loops the layouts of what they carry.

    Left alone: functions without `peel`; loops around other loops; loops with rings, channels, dots or
    searches; conditions on data; bounds that differ between the rows of a tile. Numeric effect: terms are
    added in the same order; a product that a condition stood between is added by one fused multiply-add.
  }];
}

def TileInsideRounds : Pass<"tile-inside-rounds", "::kernelc::tile::FuncOp"> {
  let summary = "Give rounds inside all tensors a version without tests";
  let description = [{
    Where a block makes windows of points in memory of its own (`te-block-windows`), each of a window's reads asks whether it
    leaves the tensor, and what lies beyond an end is computed from the point nearest to it. Only the blocks at a tensor's
    border need this. The pass has the round of a loop twice, behind one question to the block:

    ```
    for i { t = load x[i + u] bounds edge }    →    for i { if 0 <= i + u of the tile's first and i + u of its last < H
                                                              { t = load x[i + u] } else { t = load x[i + u] bounds edge } }
    ```

    In the first version reads do without bounds and masks that always hold there, subscripts by clamped index tiles are affine
    again, so that neighbours of a thread are seen to read the same elements, and conditions on indices are true. What a
    thread alone must ask, because a tile is wider than what a block has of an index, stays.

    *Runs after `tile-peel-rounds`, because* rounds apart for other reasons are loops of their own by then; *before
    `tile-layouts`*, which gives both versions their layouts.

    Left alone: functions without memory of the block's own; loops that carry values, with products or other loops; forms that
    are not affine; rounds with a single such test. Numeric effect: none.
  }];
}

def TileLoadAhead : Pass<"tile-load-ahead", "::kernelc::tile::FuncOp"> {
  let summary = "Ask for what later rounds of a walk read while this one is worked on";
  let description = [{
    In a function with `ahead` n, takes 2 n rounds at a time of a loop that goes from state to state in order (a scan
    within threads, a recurrence in registers or by steps with a barrier behind each): while n of them are worked in, what the other n read is on its way. Without it every
    round waits for memory. The loads of n rounds are made together, since a thread waits for loads by few counters.

    ```
    for l { x = load l; h = f(h, x) }    →    x0 = load 0
                                              for l step 2 { x1 = load l + 1; h = f(h, x0); x0 = load l + 2; h = f(h, x1) }
    ```

    The last turn loads once more what it has, so that no place is outside. Where there may be no round, a loop of one
    round at most makes the first loads. Rounds that are left over stand in a loop behind it, as they were.

    *Runs after `tile-peel-rounds`, before `tile-layouts`, because* what is carried gets its layout from there.

    Left alone: functions without `ahead`; loops with products, rings or other loops, and those that carry no tile and have no
    step's barrier; loops of fewer than 4 n rounds; gathers, padded reads, tensors that the launch writes. Numeric effect: none.
  }];
}

def TileCutTails : Pass<"tile-cut-tails", "::kernelc::tile::FuncOp"> {
  let summary = "Leave out of tensor copies what lies beyond the end of the last tile";
  let description = [{
    A tensor copy fills what it does not find with zeros, and takes twice as long for such a row as for one that is there. Where an index
    of the grid ends inside a tile, points along it do not meet (no product sums over it, no reduction or scan runs along it) and products
    alone read the slot, nobody needs what lies beyond: stores leave it out. The copy gets the index as its `tail`:

    ```
    acquire bytes 24576; ring_copy a[i0, k0]    →    acquire bytes 24576; ring_copy a[i0, k0] {tail = 0}
    ```

    The lowering makes such a copy by a second tensor map in the last tile, with a box of the rows that are there, or leaves out the
    panels that lie beyond as a whole, and the barrier expects so many bytes less.

    *Runs after all passes that make readers of slots, before `tile-to-cu`, because* slots that somebody else reads keep their zeros.

    Left alone: other units, whose fragments are loaded; pieces (pages); rows where the blocks of a cluster bring some each; rows that are
    not the slowest dim of the box. Numeric effect: none.
  }];
}

def TileClampLoads : Pass<"tile-clamp-loads", "::kernelc::tile::FuncOp"> {
  let summary = "Read rows before the end in place of those beyond it, where nothing comes of them";
  let description = [{
    A load in a loop is masked along an index of the grid whose last tile may reach beyond the extent:
    columns of a sum, the few rows of a product. If the points of a tile along that index never meet (no
    reduction runs over it), and all stores have the index in their masks, then values beyond the extent
    are never used. The load gets the index in `clamp`: there it reads the last point of the extent, and
    asks nothing. (A grid has no block where the extent is 0.) Each such point of a thread costs an address
    of its own, where one address and a constant were enough; so a thread may have at most `clamp` of them
    (vectors of them).

    Where a load's bounds form (`pad`, `edge`) keeps its subscripts inside wherever the point is, such an index leaves the mask: a search
    asks whether its place is inside, and not whether its point is one, too. It stays where it spares the form a question.

    *Runs after `tile-layouts`, because* layouts say how many points a thread has; behind
    `tile-peel-rounds`, which drops the masks along the loop's own index.

    Left alone: functions with products on units, rings or searches; loads of tensors that the launch writes; without a bounds form,
    functions without `clamp`, loads outside loops or through subscripts that are no plain indices. Numeric effect: none.
  }];
}

def TileLayouts : Pass<"tile-layouts", "::kernelc::tile::FuncOp"> {
  let summary = "Give every tile value a layout";
  let description = [{
    Values connected by elementwise ops, broadcasts, reductions and loops share one
    parent layout and each holds its slice of it. Dots fix the layout of their
    component; elsewhere the memory accesses choose: 16-byte vectors along the dim
    in which most bytes are contiguous. An access that is contiguous along another
    dim gets a layout of its own and a `tile.convert_layout`. A row that connects two tiles may force them into
    one layout although each has an index that the other lacks (a maximum over o that is spread over results
    along another o). Where a thread would then hold four times as much or more, the row is converted instead.
    *Runs last on tile, because* it needs to see what is left in registers.
    Precondition: no tile has an encoding. Postcondition: every tile has one. Not
    tried: layouts across roles; converting in registers or by shuffles. Numeric
    effect: none by itself; layouts fix the order in which a tile is reduced.
  }];
}

#endif
