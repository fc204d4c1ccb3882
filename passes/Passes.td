// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every pass of the project: each level's, and the two that lower one to the next. One entry, one .cpp, one test folder, one word.
#ifndef KERNELC_PASSES
#define KERNELC_PASSES

include "mlir/Pass/PassBase.td"
include "passes/te/Passes.td"
include "passes/te/ReductionPasses.td"
include "passes/te/MemoryPasses.td"
include "passes/products/Passes.td"
include "passes/plan/Passes.td"

def TeToTile : Pass<"te-to-tile", "::mlir::ModuleOp"> {
  let summary = "Turn each planned launch into a block program";
  let description = [{
    One `tile.func` per launch of the `plan` attribute. A reduction whose indices
    fit their tiles is straight-line code (so that equal loads merge by CSE);
    otherwise it is a loop over tiles that carries the partial result. The loop starts
    and ends at the tiles that can hold a point of the domain, computed from the offsets
    of the block (of a product's reduced indices only the slowest is so bounded); what
    the domain excludes of the rest is masked, in a product on the factor whose indices
    the constraint speaks of. Where terms of a cascade are exponentials that are zero for an excluded maximum's
    term (`exp2(c v - c m)` of v = -inf, c a number above zero), they take the masked v and need no mask of their
    own. With `backward`, the loop that several products share goes from its last tile to its first, so that what an
    upper end cuts comes first. An access that is inside only where the condition holds
    reads zero elsewhere. Requires `te-plan`. The kernel itself stays in the module: it
    is the launch's contract.
    *Runs before every tile pass, because* they work on one launch at a time. Numeric
    effect: sums of products become fused multiply-adds.
  }];
  let dependentDialects = ["::kernelc::tile::TileDialect"];
}

include "passes/tile/Passes.td"

def TileToCu : Pass<"tile-to-cu", "::mlir::ModuleOp"> {
  let summary = "Say what each thread does";
  let description = [{
    Register digits of a layout become loops over private arrays, lane and warp
    digits parts of the coordinate; runs of elementwise ops with equal layouts
    become one loop. Reductions go through registers, shuffles and shared memory,
    in that order and always in the same order (bitwise repeatable). What a loop carries for a reduction behind it
    is combined at once: elements that share a thread share a register, but for neighbours in memory.
    Requires `tile-layouts`. Not tried: tidy index arithmetic; canonicalize, CSE and
    loop-invariant code motion follow. Threads that exchange data through shared memory do
    not wait for each other yet: `cu-barriers` sees to that. Numeric effect: none beyond that order.
  }];
  let dependentDialects = ["::kernelc::cu::CuDialect"];
}

include "passes/cu/Passes.td"

#endif
