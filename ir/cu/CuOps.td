// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops of the cu dialect. Each names the helper or construct it is spelled with;
// the spellings are in codegen/.
#ifndef KERNELC_IR_CU_CUOPS
#define KERNELC_IR_CU_CUOPS

include "ir/cu/CuDialect.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Functions, identity
//===----------------------------------------------------------------------===//

def Cu_KernelOp : Cu_Op<"kernel", [IsolatedFromAbove, AutomaticAllocationScope, Symbol, NoTerminator, SingleBlock]> {
  let summary = "one __global__ function";
  let description = [{
    Block arguments: memrefs in address space 1, scalars, sizes (`index`), tensor maps
    (`memref<128xi8, 4>`, passed by value). `arg_sources` is what the launch passes:
    see driver/Artifact building; the printer needs only types and names. A size may have
    what the variant's guard says of it, a divisor `div` and a bound `max` (-1: none).
    `grid` (`()[sizes] -> (n)`) is the number of tiles: of blocks, unless `persistent`
    launches no more than `min_blocks` per multiprocessor. `index_bits` is how wide an
    `index` is, 32 or 64, where it is not marked `cu.narrow` (`cu-narrow` decides both).
    `kernel` is that of the program of which this is a launch. With `beside` its tiles are those of other
    blocks of the kernel before it (ir/cu/Beside.h), until `cu-join` has made one of both, which says by
    `records` of how many it is.

    Constraints:
    - [C1] `arg_sources` has a dictionary per argument; that of a size, an index, names one of the kernel's as `size`, and may have a
      positive `div` and a `max` of -1 or more.
    - [C2] `grid` goes from the sizes to one number.
    - [C3] there are 1 to 1024 threads, 0 bytes or more, 1 to 32 blocks a multiprocessor, clusters of 1 to 16; an index has 32 or 64 bits.
    - [C4] memory is plain memrefs of numbers, as arguments, or made by `cu.shared` and `memref.alloca` with known extents; only accesses
      take it. Integers have at most 64 bits.
    - [C5] an access has one index per dim of its memref.
    - [C6] counts, offsets, columns, coordinates and masks are what PTX takes; 0 or more groups are left pending.
    - [C7] control flow is `scf.for`, counting by an index, `scf.if`, lambdas and searches, with a condition over one index that ends in
      `cu.holds`.
    - [C8] `cu.most` is a number, `cu.unroll` a unit or a positive number.
    - [C9] a lambda has the arguments of its type, numbers, gives nothing, and is only called.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$sizes, ArrayAttr:$arg_sources,
    AffineMapAttr:$grid, I64Attr:$threads, I64Attr:$shared_bytes,
    DefaultValuedAttr<I64Attr, "1">:$min_blocks, DefaultValuedAttr<I64Attr, "1">:$cluster,
    DefaultValuedAttr<StrAttr, "\"\"">:$schedule, DefaultValuedAttr<BoolAttr, "false">:$persistent,
    DefaultValuedAttr<StrAttr, "\"sm_80\"">:$target, DefaultValuedAttr<I64Attr, "64">:$index_bits,
    DefaultValuedStrAttr<StrAttr, "">:$kernel, DefaultValuedAttr<I64Attr, "0">:$beside, DefaultValuedAttr<I64Attr, "0">:$records);
  let regions = (region SizedRegion<1>:$body);
  let hasRegionVerifier = 1;
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let extraClassDeclaration = [{ ::mlir::Block &getBlock() { return getBody().front(); } }];
}

def Cu_ThreadIdOp : Cu_Op<"thread_id", [Pure]> {
  let summary = "threadIdx.x";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Cu_BlockIdOp : Cu_Op<"block_id", [Pure]> {
  let summary = "blockIdx.x";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Cu_GridSizeOp : Cu_Op<"grid_size", [Pure]> {
  let summary = "gridDim.x";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Cu_CommentOp : Cu_Op<"comment"> {
  let summary = "a line for the reader of the CUDA text";
  let arguments = (ins StrAttr:$text);
  let assemblyFormat = "$text attr-dict";
}

def Cu_LambdaOp : Cu_Op<"lambda", [Pure, SingleBlock, NoTerminator]> {
  let summary = "statements that are run in several places, written once: `[&](int k_tile) { .. }`";
  let description = [{
    The arguments, numbers, are what the places differ by; all else it takes from around it. It runs where `cu.call` says so, never
    here. NVRTC puts it in at each of its places.
  }];
  let regions = (region SizedRegion<1>:$body);
  let results = (outs FunctionType:$result);
  let assemblyFormat = "$body attr-dict `:` type($result)";
  let extraClassDeclaration = [{ ::mlir::Block &getBlock() { return getBody().front(); } }];
}
def Cu_CallOp : Cu_Op<"call", [TypesMatchWith<"arguments are those of the lambda", "callee", "arguments",
                                              "::llvm::cast<::mlir::FunctionType>($_self).getInputs()">]> {
  let summary = "runs the statements of a lambda";
  let arguments = (ins FunctionType:$callee, Variadic<AnyType>:$arguments);
  let assemblyFormat = "$callee `(` $arguments `)` attr-dict `:` type($callee)";
  let extraClassDeclaration = [{ LambdaOp getLambda(); }];
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

def Cu_SharedOp : Cu_Op<"shared", [Pure]> {
  let summary = "an array at a byte offset of the block's dynamic shared memory";
  let arguments = (ins I64Attr:$offset);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$offset attr-dict `:` type($result)";
}

def Cu_CopyOp : Cu_Op<"copy", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "moves `count` neighbouring elements by one access of their joint width";
  let description = [{
    Both addresses are multiples of count * sizeof(element), which is 2, 4, 8 or 16
    bytes. One side is a private array. A `streaming` read takes lines that leave the
    cache first (as `memref.load` with `nontemporal`).
  }];
  let arguments = (ins AnyMemRef:$source, Variadic<Index>:$source_indices, AnyMemRef:$target,
    Variadic<Index>:$target_indices, I64Attr:$count, UnitAttr:$streaming);
  let assemblyFormat = [{
    $source `[` $source_indices `]` `to` $target `[` $target_indices `]` `count` $count attr-dict
    `:` type($source) `to` type($target)
  }];
}

def Cu_AtomicOp : Cu_Op<"atomic", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "combines a value with an element of global or shared memory, atomically and in no order";
  let description = [{
    `kind`: sum, prod, max, min, maxu, minu, and, or, xor, of elements of 32 or 64 bits. Floats are compared as the
    language does: NaN wins, and is always the same one; -0 is less than 0.
  }];
  let arguments = (ins StrAttr:$kind, AnyType:$value, AnyMemRef:$base, Variadic<Index>:$indices);
  let assemblyFormat = "$kind $value `,` $base `[` $indices `]` attr-dict `:` type($value) `,` type($base)";
}

def Cu_AddVectorOp : Cu_Op<"add_vector", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "adds `count` neighbours of a private array to as many of global memory, atomically and in no order";
  let description = [{
    2 or 4 words of f32, from sm_90 on. The address in memory is a multiple of their bytes. Each word is added by itself:
    another thread may see some of them without the others.
  }];
  let arguments = (ins AnyMemRef:$source, Variadic<Index>:$source_indices, AnyMemRef:$target,
    Variadic<Index>:$target_indices, I64Attr:$count);
  let assemblyFormat = [{
    $source `[` $source_indices `]` `to` $target `[` $target_indices `]` `count` $count attr-dict
    `:` type($source) `to` type($target)
  }];
}

def Cu_WriteOnceOp : Cu_Op<"write_once", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes an element of global memory that nothing else of the launch writes";
  let description = [{ By the program's promise, which the emulator checks, of one thread's writes too. }];
  let arguments = (ins AnyType:$value, AnyMemRef:$base, Variadic<Index>:$indices);
  let assemblyFormat = "$value `,` $base `[` $indices `]` attr-dict `:` type($value) `,` type($base)";
}

def Cu_LookOp : Cu_Op<"look", [MemoryEffects<[MemRead]>]> {
  let summary = "an element of a table that bits of one byte of a private array choose: `table[row + (bytes[index] >> shift & mask)]`";
  let description = [{
    Four neighbours are shifted and masked at once, as the word that they are, and so that each is its element's place in bytes: with an
    element of 2^z bytes, mask * 2^z is at most 255. The array's length is a multiple of 4.
  }];
  let arguments = (ins AnyMemRef:$table, Index:$row, AnyMemRef:$bytes, Index:$index, I64Attr:$shift, I64Attr:$mask);
  let results = (outs AnyType:$result);
  let assemblyFormat = [{
    $table `[` $row `]` `by` $bytes `[` $index `]` `shift` $shift `mask` $mask attr-dict
    `:` type($table) `by` type($bytes) `->` type($result)
  }];
}

def Cu_CpAsyncOp : Cu_Op<"cp_async", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "cp.async: `count` elements from global to shared memory, in the background";
  let description = [{
    With `valid` false nothing is read and zeros are written. `signalled`: an mbarrier tells the readers (`cu.mbarrier_arrive_copies`),
    no wait of this thread.
  }];
  let arguments = (ins AnyMemRef:$source, Variadic<Index>:$source_indices, AnyMemRef:$target,
    Variadic<Index>:$target_indices, Optional<I1>:$valid, I64Attr:$count, UnitAttr:$signalled);
  let assemblyFormat = [{
    $source `[` $source_indices `]` `to` $target `[` $target_indices `]` (`if` $valid^)? `count` $count attr-dict
    `:` type($source) `to` type($target)
  }];
}
def Cu_CpAsyncCommitOp : Cu_Op<"cp_async_commit"> {
  let summary = "closes a group of cp.async";
  let assemblyFormat = "attr-dict";
}
def Cu_CpAsyncWaitOp : Cu_Op<"cp_async_wait"> {
  let summary = "waits until at most `pending` groups of this thread are in flight";
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}

//===----------------------------------------------------------------------===//
// Synchronisation, lanes
//===----------------------------------------------------------------------===//

def Cu_SyncOp : Cu_Op<"sync"> {
  let summary = "all threads that come here together meet: __syncthreads()";
  let description = [{
    In the code of a role: the threads of that role. `cu-barriers` makes a
    `cu.named_sync` of those before anything is printed. `step`: between the steps of a
    recurrence (tile.barrier), so that `cu-barriers` leaves it.
  }];
  let arguments = (ins UnitAttr:$step);
  let assemblyFormat = "attr-dict";
}

def Cu_WarpSyncOp : Cu_Op<"warp_sync"> {
  let summary = "__syncwarp(): the lanes of this warp are here, and see each other's memory";
  let assemblyFormat = "attr-dict";
}

def Cu_ShuffleXorOp : Cu_Op<"shuffle_xor", [Pure, AllTypesMatch<["value", "result"]>]> {
  let summary = "the value held by the lane whose number differs in `mask`";
  let description = [{
    With a `step`, in the bits of `mask << step`: a loop over steps doubles the
    distance each time, `cu.shuffle_xor %v, 1 shl %step : f32`.
  }];
  let arguments = (ins AnyType:$value, I64Attr:$mask, Optional<Index>:$step);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$value `,` $mask (`shl` $step^)? attr-dict `:` type($value)";
}

class Cu_SearchOp<string mnemonic> : Cu_Op<mnemonic, [Pure, SingleBlock]> {
  let regions = (region SizedRegion<1>:$condition);
  let results = (outs Index:$result);
  let extraClassDeclaration = [{
    ::mlir::BlockArgument getCandidate() { return getCondition().getArgument(0); }
    /// What the region comes to.
    ::mlir::Value getHeld() { return getCondition().front().back().getOperand(0); }
  }];
}
def Cu_CountWhereOp : Cu_SearchOp<"count_where"> {
  let summary = "how many numbers below `end` a condition holds for; by whole warps";
  let description = [{ The condition, a lambda, reads what the kernel does not write. Each lane asks for every 32nd number. }];
  let arguments = (ins Index:$end);
  let assemblyFormat = "`below` $end $condition attr-dict";
}
def Cu_FindWhereOp : Cu_SearchOp<"find_where"> {
  let summary = "the first number from `from` on that a condition holds for, else `end`; by whole warps";
  let description = [{ Where `found` holds it is `from`, and nothing is searched. }];
  let arguments = (ins Index:$from, Index:$end, Optional<I1>:$found);
  let assemblyFormat = "`from` $from `below` $end (`unless` $found^)? $condition attr-dict";
}
def Cu_ExtremeOp : Cu_SearchOp<"extreme"> {
  let summary = "the largest (`smallest`: the smallest) of `start` and what a region says of the numbers below `end`; by whole warps";
  let description = [{ Each lane asks for every 32nd number. }];
  let arguments = (ins Index:$start, Index:$end, UnitAttr:$smallest);
  let assemblyFormat = "(`smallest` $smallest^)? `of` $start `below` $end $condition attr-dict";
}
def Cu_GivesOp : Cu_Op<"gives", [Pure, Terminator, ParentOneOf<["ExtremeOp"]>]> {
  let summary = "what a search says of a number";
  let arguments = (ins Index:$value);
  let assemblyFormat = "$value attr-dict";
}
def Cu_HoldsOp : Cu_Op<"holds", [Pure, Terminator, ParentOneOf<["CountWhereOp", "FindWhereOp"]>]> {
  let summary = "what the condition of a search comes to";
  let arguments = (ins I1:$value);
  let assemblyFormat = "$value attr-dict";
}

//===----------------------------------------------------------------------===//
// Matrix units
//===----------------------------------------------------------------------===//

def Cu_LdmatrixOp : Cu_Op<"ldmatrix", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "ldmatrix: `count` 8x8 matrices of 16-bit elements into as many words of a private array";
  let description = [{ `source` is the address of the row this lane names; `trans` transposes each matrix. }];
  let arguments = (ins AnyMemRef:$source, Variadic<Index>:$source_indices, AnyMemRef:$target,
    Variadic<Index>:$target_indices, I64Attr:$count, UnitAttr:$trans);
  let assemblyFormat = [{
    $source `[` $source_indices `]` `to` $target `[` $target_indices `]` `count` $count (`trans` $trans^)? attr-dict
    `:` type($source) `to` type($target)
  }];
}

def Cu_GatherOp : Cu_Op<"gather", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "one 32-bit register of a fragment from single elements";
  let description = [{
    `target = elements source[e_0], source[e_1], ..` in memory order: four of 8 bits,
    two of 16 or one of 32. What ldmatrix cannot do: 8- and 32-bit elements that
    lie across K, and rows shorter than 16 bytes.
  }];
  let arguments = (ins AnyMemRef:$source, Variadic<Index>:$elements, AnyMemRef:$target, Variadic<Index>:$target_indices);
  let assemblyFormat = [{
    $source `[` $elements `]` `to` $target `[` $target_indices `]` attr-dict `:` type($source) `to` type($target)
  }];
}

def Cu_DealBytesOp : Cu_Op<"deal_bytes", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "(x, y) becomes (even bytes of x and y, odd bytes of x and y)";
  let arguments = (ins AnyMemRef:$fragment, Index:$x, Index:$y);
  let assemblyFormat = "$fragment `[` $x `,` $y `]` attr-dict `:` type($fragment)";
}

def Cu_RoundTf32Op : Cu_Op<"round_tf32", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "rounds an f32 in a fragment's register to tf32: nearest, ties away from zero";
  let arguments = (ins AnyMemRef:$fragment, Variadic<Index>:$indices);
  let assemblyFormat = "$fragment `[` $indices `]` attr-dict `:` type($fragment)";
}

def Cu_StmatrixOp : Cu_Op<"stmatrix", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "stmatrix: four 8x8 matrices of 16-bit elements from a private array to shared memory";
  let description = [{
    The inverse of ldmatrix: eight neighbours from `source_index` go to the rows that lanes name; `trans` transposes each matrix.
  }];
  let arguments = (ins AnyMemRef:$source, Index:$source_index, AnyMemRef:$target, Index:$target_index, UnitAttr:$trans);
  let assemblyFormat = [{
    $source `[` $source_index `]` `to` $target `[` $target_index `]` (`trans` $trans^)? attr-dict `:` type($source) `to` type($target)
  }];
}

def Cu_MmaOp : Cu_Op<"mma", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "mma.sync on private arrays: acc += a * b";
  let description = [{
    `shape` is the spelling's suffix: "m16n8k16_bf16", "m16n8k16_f16", "m16n8k8_tf32", "m16n8k32_s8"
    ("_u8", "_s8u8", "_u8s8").
    Fragments are those of PTX; a and b are i32 registers.
  }];
  let arguments = (ins AnyMemRef:$acc, Variadic<Index>:$acc_indices, AnyMemRef:$a,
    Variadic<Index>:$a_indices, AnyMemRef:$b, Variadic<Index>:$b_indices, StrAttr:$shape);
  let assemblyFormat = [{
    $shape $acc `[` $acc_indices `]` `,` $a `[` $a_indices `]` `,` $b `[` $b_indices `]` attr-dict
    `:` type($acc) `,` type($a) `,` type($b)
  }];
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

def Cu_ConvertOp : Cu_Op<"convert", [Pure]> {
  let summary = "te.convert on a scalar";
  let arguments = (ins AnyFloat:$input, UnitAttr:$to_unsigned);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$input (`to_unsigned` $to_unsigned^)? attr-dict `:` type($input) `to` type($result)";
}

include "ir/cu/CuHopper.td"
include "ir/cu/CuFlags.td"

#endif
