// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The planner: which statements share a launch, and the tiles, warps and unit of each, and what holds the decision against the
// statements. One entry, one .cpp, one test folder, one word.
#ifndef KERNELC_PLAN_PASSES
#define KERNELC_PLAN_PASSES

include "mlir/Pass/PassBase.td"

def TePlan : Pass<"te-plan", "::kernelc::te::KernelOp"> {
  let summary = "Decide the launches and their schedules";
  let description = [{
    Decides which statements share a launch, and for each launch its indices, tile sizes, warps and matrix
    unit. Writes the decisions into the kernel's `plan` attribute and changes nothing else. Limits and
    rates of the GPU come from the target's table.
    *Runs last on te, because* the passes behind it carry the plan out and decide nothing of it again.

    A producer joins its reader's launch when its parallel indices are exactly the
    grid of that launch, it is read at plain indices, and no third launch stands
    between them. Otherwise it is stored in a workspace by a launch of its own.
    Products that read one box of a factor, or that one statement reads, share a launch where that takes
    less time (`passes/plan/Siblings.h`); a remark says where it takes more, with the two times.

    Then launches without products merge, the pairs first that save most time. Launches over the same points
    become one: what both read is loaded once, and what one reads and the other one writes at the same point
    is loaded before anything is stored. A pointwise launch beside a reduction over what it reads joins that
    one, where blocks hold rows. What few values an earlier launch merges from parts, a pointwise launch
    merges in each of its blocks, and its first block stores them.

    ```mlir
    // One launch over i, j: a block holds a row of x and s.
    %r = te.compute ["i", "j"] .. { s[i, j] + x[i, j] }
    %q = te.reduce sum ["i", "j"] parallel 1 .. { (s[i, j] + x[i, j]) * (s[i, j] + x[i, j]) }
    ```

    Precondition: the facts about sizes hold; the variant's guard checks them at the call. Not tried:
    measuring; the same input always gets the same plan. Numeric effect: none by itself, but tile sizes
    decide the order in which a reduction is summed.
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
    Launches run one after the other. Within a launch, tiles run in any order, and so do the threads of a
    tile, unless one needs a value that another one has computed. A plan is right if, for all sizes that
    its facts allow:

    - each statement is computed once, behind what it needs;
    - no earlier launch has overwritten what a launch reads since it was written;
    - a member of a launch reads another member at its own point, where one tile holds all of it in
      registers;
    - an element that a launch writes is read in that launch by the point that writes it alone (of pointwise
      statements over the grid: of any of them), or by a reduction which that point waits for: its own tile's,
      or the merged one of a cluster that shares the reduced index out;
    - one tile of a launch, and one of its statements, writes an element: of what all tiles along an index make
      the first one, and the launch overwrites nothing that the others read for it;
    - nothing overwrites what the kernel returns.

    A plan that breaks one of these rules would race or give wrong values. It comes from a fault in
    te-copy-inouts (a copy is missing) or te-plan (a launch is missing), and is reported as an internal
    error at the statement. To find what those two overlook, the pass shares no code with them: it asks the
    plan, the access maps and the statements' domains. Where two maps differ, Presburger arithmetic decides
    whether two points can meet; a term that is not linear counts as any number. It relies on te's promise
    that `out_map` is injective.

    *Runs at the end of `te-plan`, and alone, because* all statements, launches and tiles are known there.
    Changes nothing.

    ```mlir
    // Two launch tiles of r: one may write r[N - 1 - i] while the other one has still to read it.
    %new = te.compute ["i"] .. { %v = te.read %r[%i] map (d0)[s0] -> (s0 - 1 - d0) .. }
    te.return %new                                            // out_alias = [0]
    ```
  }];
}

#endif
