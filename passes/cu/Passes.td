// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes on cu, in pipeline order. One entry, one .cpp, one test folder, one word.
#ifndef KERNELC_CU_PASSES
#define KERNELC_CU_PASSES

include "mlir/Pass/PassBase.td"

def CuWiden : Pass<"cu-widen", "::kernelc::cu::KernelOp"> {
  let summary = "Compute in 64 bits what 32 may not hold";
  let description = [{
    Indices are i64 to the program; with `fits32` they are printed as 32 bits, which hold all offsets
    of all tensors, but not `i * i`, `N * N`, or a subscript that comes from data before its bounds form
    has brought it inside. Such values bear the mark `cu.computed`. Where the high bits of one
    count (it is compared, divided, clamped, converted or stored, not only added up to an offset) and
    its range, from the variant's facts, is not within 32 bits, it becomes an i64, with what is
    computed from it. The marks go.

    *Runs right after `tile-to-cu`, because* no simplification has taken marks away yet; types stay
    what they are from here on.

    Postcondition: no `cu.computed`. Without `fits32` that is all: indices have 64 bits then.
    Numeric effect: none.
  }];
  let options = [Option<"fits32", "fits32", "bool", "false", "32 bits hold all offsets of all tensors">];
}

def CuForwardCopies : Pass<"cu-forward-copies", "::kernelc::cu::KernelOp"> {
  let summary = "Read and write arrays in place, not copies of them";
  let description = [{
    A thread's own arrays are registers; those that only hold what others hold are lines for the reader and
    nothing for NVRTC. An array goes where

    - a single statement fills it with one value: that value is read.
    - a single statement copies elements of another array, which nobody writes to until the copy has been read
      last: the other array is read. Subscripts are sums of multiples of loop variables, which are the digits of
      the copy's subscript.
    - all of it begins as a copy of an array and goes back to it at the end, and nobody uses that in between (a
      loop in a loop that carries on what the outer one carries): both are one array.
    - all of it is a copy of an array that nobody uses from there on, and nobody uses the copy while that array is made (a walk that
      goes on with what the one before has left; what a round has loaded and the walk carries): both are one array.

    ```mlir
    scf.for %i = %c0 to %c16 step %c1 {
      %from = arith.addi %i, %c16
      %x = memref.load %acc[%from]
      memref.store %x, %part[%i]
    }
    cu.copy %part[%at] to %y[%to] count 4
    ```

    becomes a copy from `%acc[%at + 16]` on.

    *Runs after the simplifications that follow `tile-to-cu`, because* values that a loop does not change stand
    outside of it then; *before `cu-unroll`*, which counts what is left. Arrays of one element are variables: they go by the
    name of their value in the text. Postcondition: no copy that it could take away is left.

    Left alone: accumulators of warpgroup products, which ptxas wants read at once behind them (C7514); copies of an array of which
    one condition chooses all elements, of which ptxas would keep both sides in registers; copies in branches and in loops that
    count from elsewhere than 0 or by more than 1. Numeric effect: none.
  }];
}

def CuFoldDecided : Pass<"cu-fold-decided", "::kernelc::cu::KernelOp"> {
  let summary = "Fold what numbers decide that arrays held";
  let description = [{
    The first round of a loop, taken out of it, begins with numbers: a maximum of -infinity, a factor of 1, a condition that is false.
    `cu-forward-copies` reads them in place of the arrays that held them. This pass folds what they decide:

    - expressions of numbers alone; choices by a number; `and` and `or` of a number; products with 1.
    - loads from an array to which one number is all that is ever stored: they are that number.
    - a store of what was loaded from the same place, where nobody has written to the array since.
    - `scf.if` of a number: the statements that run stand in its place.

    What is left without a reader goes: arrays that are only stored to, values, loops that do nothing.

    ```mlir
    memref.store %false, %moves[%c0]
    %m = memref.load %moves[%c0]
    %differs = arith.cmpf une, %one, %one
    %next = arith.ori %m, %differs
    memref.store %next, %moves[%c0]
    %any = memref.load %moves[%c0]
    scf.if %any {
      memref.store %v, %x[%i]
    }
    ```

    becomes nothing: `%differs` is false, `%next` is `%m`, the array holds `false` alone, and so the branch never runs.

    *Runs after `cu-forward-copies`, because* that puts the numbers where they are used, in place of loads. The canonicalizer is no
    substitute: it also writes loops and index arithmetic anew, whose form later passes and the text rely on; and it knows nothing of
    arrays, nor does SCCP. Postcondition: no expression, load or branch is left that these rules could fold. Numeric effect: none.
  }];
}

def CuMaskedBytes : Pass<"cu-masked-bytes", "::kernelc::cu::KernelOp"> {
  let summary = "Look up in tables by bits of bytes that are masked four at a time";
  let description = [{
    A table in shared memory of which some bits of a byte choose an element takes four instructions for a look beside the look itself: the
    byte, its shift, its mask, the address. The bytes of a vector lie in words, which are shifted and masked at once, and so
    that a masked byte is an address already; one instruction takes it out of its word.

    ```mlir
    %b = memref.load %d[%i] : memref<32xi8, 5>
    %x = arith.extui %b : i8 to i32
    %n = arith.shrui %x, %c4 : i32
    %j = arith.index_castui %n : i32 to index
    %at = arith.addi %row, %j : index
    %v = memref.load %table[%at] : memref<160xi32, 3>
    ```

    becomes

    ```mlir
    %v = cu.look %table[%row] by %d[%i] shift 4 mask 15 : memref<160xi32, 3> by memref<32xi8, 5> -> i32
    ```

    whatever arrays of the thread's own the bits go through. Arrays that nobody reads any more go.

    *Runs after `cu-forward-copies`, because* bytes are read where vectors have brought them then; *before `cu-unroll`*, which sees which
    loops name bytes of the array. Precondition: none. Postcondition: no such load is left.

    Not tried: bits of which an address has more than a byte (`mask * element > 255`); tables in global memory. Numeric effect: none.
  }];
}

def CuUnroll : Pass<"cu-unroll", "::kernelc::cu::KernelOp"> {
  let summary = "Say which loops NVRTC unrolls, and how far";
  let description = [{
    Marks loops with a constant number of rounds, innermost first, with how far NVRTC unrolls them:

    - *Fully, whatever it costs,* where the variable helps to name an element of a private array: only
      arrays with constant subscripts are kept in registers. Or where it is the step of a shuffle, whose
      instruction has the distance in it.
    - *Fully* while that comes to at most the target's `unrollOperations`, else by the largest divisor of
      the rounds for which it does, which may be 1. Inner loops count as often as they are unrolled;
      neither index arithmetic nor moves between registers count.
    - *Not at all (1):* loops in which threads wait for each other or for copies, because what is in flight
      in a round is the schedule's choice; and loops over tiles (`cu.tiles`) whose round has more than half
      of `unrollOperations`. NVRTC may join shorter rounds over tiles, so that their loads come together.
    - *Not at all (1), known rounds or not:* loops that carry warpgroup products from round to round. NVRTC
      would give a peeled round accumulators of its own, and move them while products still write to them.
      A known number of rounds is hidden from it for the same reason (`cu.opaque`).
    - *Not at all (1):* loops that wait at mbarriers. Unrolled, they are so much code that a block's first
      copies wait for their instructions.

    Functions of many registers stay loops over parts of them: where a nest that is unrolled fully comes to more than half of
    `unrollOperations`, counts functions as what they are made of, reads registers alone, with few reads of memory beside it (those behind it do not count in blocks of 128 threads and in persistent ones), and is long beside moves, its outer loops
    are kept, and at the end of each round the arrays turn by a part, so that every round names the same registers (TurnParts.h).

    Conversions of sums to f32 of which unrolled loops say a part are made apart: `f32(n + c)` is `f32(n)`,
    once for all rounds, and `f32(c)`, a number, where no sum exceeds 2^24 (ConvertApart.h).

    *Runs after `tile-to-cu` and the simplifications that follow it, because* those remove loops of one
    round, and would have to carry the marks along; the marks hold from here to the text. A loop that is
    marked already is left as it is, but for a prologue that comes to more than an eighth of
    `unrollOperations`: it computes what it fills slots with, and is not unrolled. Postcondition: every
    other loop with a constant number of rounds has a mark, but for short ones over tiles.

    Not tried: loops whose bounds only the launch knows (NVRTC may); unrolling in the IR (the text would be
    walls of lines). Numeric effect: none.
  }];
}

def CuBarriers : Pass<"cu-barriers", "::kernelc::cu::KernelOp"> {
  let summary = "Let threads meet where they exchange data through shared memory, and nowhere else";
  let description = [{
    Walks the kernel in program order, loops until nothing changes, and keeps the
    accesses to shared memory that no barrier has followed yet. Where another one may
    meet such an access at one address (a read after a write, a write after a read or
    a write, also of an earlier round of a loop), a `cu.sync` goes between: as late as
    it may stand, outside of every loop and branch that only the second is in, and
    where whole warps come together. Then every barrier without which nothing changes
    is taken away, also those that were there before. A barrier that only the threads
    of a role reach becomes a `cu.named_sync` with their number.

    Two accesses do not meet when their arrays or the ranges of their addresses are
    disjoint; when they are in slots of a ring whose numbers differ by a constant
    (`t mod 4`, `(t + 3) mod 4`); when only one thread makes both; or when trying out all
    threads and rounds of constant loops shows that each address is one thread's.
    What `cu.cp_async` writes is pending from each `cu.cp_async_wait` on; that its count covers
    what is read next is the pipeline's word.

    *Runs after `tile-to-cu` and the simplifications that follow it, because* equal
    addresses must look equal, and code motion does not see what other threads
    do. Precondition: barriers that are there stand where whole warps come together.
    Postcondition: no two threads meet in shared memory unordered, except in what tensor copies
    and matrix descriptors touch: boxes have mbarriers, groups and barriers of warpgroups
    (`cu.named_sync`), which stay as they are. Those accesses, and of tensors that a
    kernel both reads and writes, only keep barriers from being taken away.

    Not tried: meeting in a warp only; moving accesses so that they share a barrier; the order of
    accesses to global memory. Accesses of threads that part at a branch, with no place for a
    barrier between, are an error. Numeric effect: none.
  }];
}

def CuRoll : Pass<"cu-roll", "::kernelc::cu::KernelOp"> {
  let summary = "Write what stands several times in a row as a loop";
  let description = [{
    Looks in each block for runs of statements that are the same but for numbers in progression: parts of an
    epilogue, stages of a prologue. It writes the first part as the body of a loop over parts, which NVRTC
    unrolls fully: the text gets shorter, the machine code stays.

    Parts are alike where their statements are, operand by operand (loads with no other statement between them may
    come in another order): the same value; results of statements that are alike; numbers that grow by a constant
    from part to part, or do so and begin anew every so many parts (`part mod 2`), or halve (`512 >> part`, the
    steps of a binary search); expressions of values that are alike; such a value to which each part but the first
    adds a number. Private arrays of which each part has its own are declared in the loop where nobody else uses
    them, else become one array with the registers of all parts in order. So do arrays of shared memory that lie in
    progression. An array that a part writes and the next one reads is one array of all parts, where each element
    is written in the very round that last reads it.

    The first part may store where the others add to what is there. It is alike once it adds to the operation's
    identity, which the array is filled with ahead of the loop: -0.0 for a sum of floats, to which every x
    adds up to x.

    ```mlir
    memref.store %a, %x[%i]
    %i1 = arith.addi %i, %c64
    memref.store %a, %x[%i1]
    ```

    becomes a loop over `part` that stores to `%x[%i + part * 64]`, if it saves enough lines.

    *Runs after `cu-barriers`, because* that tells the slots of parts apart, and after `cu-unroll`, whose
    marks parts agree in. Statements that start or await products of warpgroups stay as they are: so does
    what ptxas sees of registers in flight.

    Not tried: parts that hand scalars on; parts that differ in an attribute. Numeric effect: none.
  }];
}

def CuJoinGuards : Pass<"cu-join-guards", "::kernelc::cu::KernelOp"> {
  let summary = "Ask a condition once for all that depends on it";
  let description = [{
    Loads, computations and stores of a thread whose points may lie outside have a branch each: a load that does not take place
    leaves zeros, a store does nothing. Where one condition guards 32 of them or more, and nobody sees what is computed where it does
    not hold, one branch has all of the statements from the first to the last:

    ```mlir
    scf.if %inside {
      cu.copy %x[%i] to %r[%c0] count 4
    } else {
      memref.store %zero, %r[%c0]
    }
    scf.if %inside {
      cu.copy %r[%c0] to %y[%i] count 4
    }
    ```

    becomes

    ```mlir
    scf.if %inside {
      cu.copy %x[%i] to %r[%c0] count 4
      cu.copy %r[%c0] to %y[%i] count 4
    }
    ```

    (an example of two). The text has no zeros for nobody, and NVRTC a block of statements in place of as many branches as there are
    tensors, over which the time of its passes grows with the square. Fewer branches stay as they are, with the code that ptxas makes of
    them.

    Between the branches may stand loads, stores to a thread's own arrays, loops, branches and arithmetic. Arrays that are written
    where the condition does not hold must be used by the joined statements alone. Left alone: statements by which threads wait
    for each other or hand values on (barriers, shuffles, searches), which all of them must reach; stores that other conditions guard.

    *Runs after `cu-barriers` and `cu-roll`, because* a barrier that they place or a loop that they make stands between branches;
    *after a CSE*, which makes one value of equal conditions; *before `cu-narrow`*, which takes ranges from conditions.
    Numeric effect: none.
  }];
}

def CuFlatten : Pass<"cu-flatten", "::kernelc::cu::KernelOp"> {
  let summary = "Walk registers by one loop where nothing asks for their digits";
  let description = [{
    A thread's registers are walked by a loop for each digit of their number. Where two loops, one in the
    other, use their variables for `outer * count + inner` alone, one loop over that number takes their place:

    ```mlir
    scf.for %i = %c0 to %c8 step %c1 {
      %start = arith.muli %i, %c4
      scf.for %j = %c0 to %c4 step %c1 {
        %reg = arith.addi %j, %start
        memref.store %v, %x[%reg]
      }
    }
    ```

    becomes a loop of 32 rounds that stores to `%x[%reg]`. Both loops must count from 0 by ones, carry nothing and
    agree in their marks; the outer one has nothing but index arithmetic beside the inner one.

    *Runs after `cu-roll`, because* that compares statements of parts, and loops over parts come to stand around
    loops over registers then; *before `cu-narrow`*, which marks the variables. The order of elements stays.

    Not tried: digits in another order than that of the loops, and sums with more addends in other places.
    Numeric effect: none.
  }];
}

def CuNarrow : Pass<"cu-narrow", "::kernelc::cu::KernelOp"> {
  let summary = "Compute indices in 32 bits where that is enough";
  let description = [{
    With `fits32` (the variant's guard bounds every tensor) all indices of the kernel are 32
    bits wide: `index_bits = 32`. Without it they are 64, and those which 32 bits hold
    whatever the sizes are get the mark `cu.narrow`: thread, lane and warp numbers, places in
    a tile and in shared memory, variables of constant loops. Their ranges follow from the
    constants, thread numbers and loop bounds they are made of, and from the conditions of
    the branches around them. A wide result of narrow operands is printed with a cast.

    *Runs last, because* every index value is then there that the text will declare; `index`
    stays the type, so that no pass before this one had to know. Postcondition: `index_bits` is
    set. Not tried: carried values.
    Numeric effect: none.
  }];
  let options = [Option<"fits32", "fits32", "bool", "false", "32 bits hold all offsets of all tensors">];
}

def CuSharedDivisors : Pass<"cu-shared-divisors", "::kernelc::cu::KernelOp"> {
  let summary = "Divide by a number that all rounds share as by a constant, where it is one for which that is right";
  let description = [{
    A division of f32 is some eight instructions and a branch, across which ptxas moves nothing: a thread that divides sixteen elements by
    one number does so one after the other. By a constant from 1 to 2^100 a product with its reciprocal and one correction round alike
    (`kc_divide_by`), five instructions without a branch. The pass asks once whether a number that all rounds of an unrolled loop divide by
    is such a one, and makes two of the loop:

    ```mlir
    scf.for %i = %c0 to %c8 step %c1 {
      %v = memref.load %a[%i]
      %q = arith.divf %v, %s : f32
      memref.store %q, %y[%i]
    } {cu.unroll}
    ```

    becomes

    ```mlir
    scf.if %inside {    // 1 <= %s and %s <= 2^100
      scf.for .. { .. arith.divf %v, %s fastmath<arcp> .. }
    } else {
      scf.for .. { .. arith.divf %v, %s .. }
    }
    ```

    where the flag says in the text `kc_divide_by`. The divisor may be an element of a private array that the loop does not change. It is
    the outermost loop in which it stays that is doubled, of at least four quotients.

    *Runs after `cu-flatten`, because* loops are as they will be printed; *before `cu-narrow`*, which marks every index of the text.
    Postcondition: none.

    Not tried: loops that carry values; divisors below 1, whose quotients may overflow beside the right one. Numeric effect: a quotient
    below 2^-100 may be off by 2^-123; all others have the same bits.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def CuOutline : Pass<"cu-outline", "::kernelc::cu::KernelOp"> {
  let summary = "Write once what stands in several places";
  let description = [{
    Looks in all blocks for runs of statements that are the same but for numbers: the copies that fill slots, ahead of a
    loop and in it. The statements become a lambda, with what the places differ by as its arguments, and each place calls it.
    NVRTC puts it in at each place, so that the machine code stays.

    Runs are the same where their statements are, operand by operand: the same value; results of statements that are the
    same; private arrays that nobody else uses; expressions of the same values, which the lambda has or takes from around it; or two
    numbers, an argument, that are known ahead of each place. Comments do not count: those of the first place stay.

    ```mlir
    scf.for %first = %c0 to %c3 step %c1 {
      memref.store %a, %x[%first]
      cu.cp_async_commit
    }
    scf.for %k = %c0 to %n step %c1 {
      %ahead = arith.addi %k, %c3
      memref.store %a, %x[%ahead]
      cu.cp_async_commit
    }
    ```

    becomes a lambda of one index with both statements, which the loops call with `%first` and `%ahead`, if it saves enough
    lines.

    *Runs after `cu-narrow`, because* equal index arithmetic has equal marks then, which the lambda keeps; an argument is as narrow as
    what is passed. Shuffles stay where they are, and statements that start or await products of warpgroups, as ptxas follows them
    best there. Postcondition: each lambda is called twice at least.

    Not tried: runs whose results are used behind them; arrays as arguments. Numeric effect: none.
  }];
}

def CuJoin : Pass<"cu-join", "::mlir::ModuleOp"> {
  let summary = "Make one kernel of those that run beside each other";
  let description = [{
    A kernel with an attribute `beside` runs in the launch of the one before it: other blocks have its tiles. The pass makes one
    kernel of them, whose blocks branch by their number:

        if (block < own) { .. } else { .. }      own = tiles of the first kernel

    In a branch blocks are counted from its first one, and are as many as are its own. Where blocks stay for several tiles
    (`persistent`), and there are fewer than tiles, `beside` of 1024 are the kernel's own, and the first kernel has those that are
    left. Each has at least one. Arguments of the same source are one; shared memory is that of the kernel with most, since no block
    has both.

    *Runs last, because* all other passes work on one kernel and do not expect a branch around it. Postcondition: no `beside`;
    `records` of a joined kernel counts the kernels in it.

    Not tried: kernels of different threads, clusters or blocks a multiprocessor, which te-plan does not ask for. Numeric effect:
    none.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

#endif
