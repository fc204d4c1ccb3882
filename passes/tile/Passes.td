// Passes on tile, in pipeline order. One entry, one .cpp, one test folder, one word.
#ifndef KERNELC_TILE_PASSES
#define KERNELC_TILE_PASSES

include "mlir/Pass/PassBase.td"

def TileStreamLoads : Pass<"tile-stream-loads", "::mlir::ModuleOp"> {
  let summary = "Let what is read once leave the cache first";
  let description = [{
    Marks a `tile.load` as `streaming` if few tiles (at most four) of its launch read each
    element, the launch reads at least four times the bytes that it writes, and nothing after it
    in the kernel reads the tensor: the input of a long sum, the weights of a product with few
    rows. Such loads take cache lines that are the first to be evicted, so that results, small
    operands and what other kernels have left to be written back stay. *Runs after CSE, which
    merges equal loads; before `tile-pipeline`, whose copies keep the mark.* Sizes count by
    their bounds, unbounded ones as very large.
    Left alone: launches that write as much as they read (measured: 4 % slower), windows,
    gathers, tensors read by two loads, workspaces. Numeric effect: none.
  }];
}

def TilePipeline : Pass<"tile-pipeline", "::kernelc::tile::FuncOp"> {
  let summary = "Feed dots from rings in shared memory, loads ahead of use";
  let description = [{
    The operands of a `tile.dot` in a loop go through rings of `stages` slots (at
    least two): while tile t is multiplied, tile t + stages - 1 is on its way. An
    operand that is a plain load of neighbours of 4 bytes or more is copied without
    registers (`tile.ring_copy`: cp.async where the target has it); any other, also
    one with a fused prologue, is computed in registers and stored
    (`tile.ring_store`). What CUDA cores multiply lies along rows (columns) in its slots: a copied
    operand of 4 or 8 bytes that runs along k is turned on its way, where the target copies asynchronously. *Runs before `tile-layouts`, because* copies need no layout.
    One barrier per tile: it both publishes tile t and says that tile t - 1 has been
    read. Products of warpgroups are waited for in their own round, and find 8- and 32-bit
    elements along k in their slots, wherever these come from.

    In a function with producer warps the rings are filled by tensor copies and a
    channel says who waits for whom: `acquire`, copies, `await`, dot, `release` of the
    tile before. The first operand may be computed from what copies bring, and masked: its
    loads are taken out of their slots by `tile.ring_load` and pass through registers; the
    product is then waited for in its own round. CUDA cores read whole rows (`pad 0`), which need no swizzle for vectors along them, and give a slot
    back in its own round. Anything else that no tensor copy can make
    is an error; the plan asks first.
  }];
}

def TileStageStores : Pass<"tile-stage-stores", "::kernelc::tile::FuncOp"> {
  let summary = "Write results through shared memory, in parts, by tensor copies";
  let description = [{
    In a function with producer warps, a store of what a product became is done `part`
    columns at a time: `tile.slice` takes the accumulator's part, the elementwise code
    between is cloned for that part (fewer values are alive at once), and a ring of two
    slots takes the part to a `tile.box_store`, which runs while the next part is
    computed. Stores that are no box (rows that are no multiples of 16 bytes) pass through a slot to other threads of the role,
    `tile.ring_store`, `tile.barrier`, `tile.ring_load`: a warp has neighbours of a row side by side then, where the unit's registers
    have two of each of eight rows. *Runs after `tile-pipeline`, because* it needs to know where a product
    ends; *before `tile-layouts`, because* parts get layouts of their own.
    Left alone: stores under conditions, along indices that are not the product's last, of results of which warpgroups share
    the columns; stores that are no box where two teams take turns; functions without producer warps. Numeric effect: none.
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
    In functions with producer warps, moves loads behind a product's loop (rows of biases and scales) before it, with their index
    arithmetic, one after the other as long as a thread has registers for what they bring beside its accumulators. An epilogue
    in parts otherwise waits for memory in each part, while the unit has nothing to do (bias, GELU and residual, bf16 4096³ on an H200: 8 waits
    a tile, 2 % of the whole).
    *Runs after `tile-stage-loads`, because* what tensor copies bring needs no registers; *before `tile-specialize-warps`*, so
    that teams that take tiles in turns ask before they wait for theirs.
    Left alone: matrices, loads that need the product's results or other loads (gathers), tensors that the launch writes, functions
    without producer warps (several blocks of a multiprocessor wait beside each other). Numeric effect: none.
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
    Where a sum may not stay in the unit's accumulators, each round of its loop starts a product from zero, waits for it and
    adds it up: the unit has nothing to do meanwhile, but for other warpgroups' products. In functions that say `in_flight` n
    such a loop takes n rounds at a time: first all that leads up to their products (waits for slots, masks), then, one
    after the other, what becomes of each, for which at most the products behind it may still be in flight.
    A second loop has the rounds that are left, where the sizes do not say that there are none.

    ```
    await 0; dot 0; wait for 0; add 0       await 0; dot 0; await 1; dot 1;
    await 1; dot 1; wait for 1; add 1   →   wait for 0, 1 pending; add 0; wait for 1; add 1
    ```

    No product is in flight from one round to the next, where ptxas would take reads of the others' accumulators for reads of its own and
    run all products one by one (C7514). *Runs after `tile-specialize-warps`, because* warps that fill slots need not go
    two rounds at a time; *before `tile-layouts`*, as every product has accumulators of its own.
    Left alone: functions with `in_flight` 1, products that go on in the loop's own accumulators (their next one is started
    anyway), operands in registers, loops whose slots depend on what they carry (searches). Numeric effect: none; terms are
    added in the same order.
  }];
}

def TilePeelRounds : Pass<"tile-peel-rounds", "::kernelc::tile::FuncOp"> {
  let summary = "Walk the full rounds of a loop without masks, ahead of the last one";
  let description = [{
    A loop over the tiles of an index whose extent no tile divides masks every load of every
    round for the sake of the last one. Where the rounds only read, compute and write, the loop
    becomes two: the first ends at `<index>_full`, behind the last round whose tile lies wholly before
    the loop's end, and its loads, stores and `tile.inside` have no mask along the index; the
    second, marked `tile.last_round`, goes round once or not at all, and is as the loop was.
    What is carried goes from one to the other. The end may depend on the block (a causal row's, that of a shorter part),
    and the blocks of a cluster may share the rounds out; comparisons of indices that the end stands for (`FullRounds.h`)
    and tests that reads stay inside go, too. *Runs after `tile-specialize-warps`, because* loops
    that feed rings or whose products are in flight are theirs; *before `tile-layouts`*, which gives both
    loops the layouts of what they carry.
    Left alone: functions that do not say `peel`, loops around other loops, loops with rings, channels, dots or searches,
    conditions on data, and bounds that differ between the rows of a tile. Numeric effect: terms are added in the same order;
    a product that a condition stood between is added by one fused multiply-add.
  }];
}
def TileClampLoads : Pass<"tile-clamp-loads", "::kernelc::tile::FuncOp"> {
  let summary = "Read rows before the end in place of those beyond it, where nothing comes of them";
  let description = [{
    A load in a loop is masked along an index of the grid whose last tile may stick out: columns of a sum, the few
    rows of a product. Where the points of a tile along that index never meet (no reduction over it) and all stores have it
    in their masks, nothing comes of what lies beyond: the load gets it in `clamp`, and reads the last point that is there
    instead of asking. Grids have no blocks where there is no point at all. Each such point of a thread costs an address of its
    own, where one address and a constant did: only where a thread has at most `clamp` of them (vectors of them).
    *Runs after `tile-layouts`, because* layouts say that; behind `tile-peel-rounds`, which drops the masks along the loop's own
    index. Left alone: functions that say no `clamp`, with products of units, rings or searches; loads outside loops, of what the
    launch writes, through other subscripts than indices, with rules for what lies outside. Numeric effect: none.
  }];
}
def TileLayouts : Pass<"tile-layouts", "::kernelc::tile::FuncOp"> {
  let summary = "Give every tile value a layout";
  let description = [{
    Values connected by elementwise ops, broadcasts, reductions and loops share one
    parent layout and each holds its slice of it. Dots fix the layout of their
    component; elsewhere the memory accesses choose: 16-byte vectors along the dim
    in which most bytes are contiguous. An access that is contiguous along another
    dim gets a layout of its own and a `tile.convert_layout`.
    *Runs last on tile, because* it needs to see what is left in registers.
    Precondition: no tile has an encoding. Postcondition: every tile has one. Not
    tried: layouts across roles; converting in registers or by shuffles. Numeric
    effect: none by itself; layouts fix the order in which a tile is reduced.
  }];
}

#endif
