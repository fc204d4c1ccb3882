// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops of the cu dialect for what came with sm_90: mbarriers, tensor copies,
// warpgroup products, roles. (PTX ISA 8.0, sections "mbarrier", "cp.async.bulk.tensor",
// "wgmma".) An op that takes a memref and an index names the address of that element.
#ifndef KERNELC_IR_CU_CUHOPPER
#define KERNELC_IR_CU_CUHOPPER

include "ir/cu/CuDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

def Cu_NamedSyncOp : Cu_Op<"named_sync"> {
  let summary = "bar.sync: `threads` threads of the block meet at barrier `id`";
  let arguments = (ins Index:$id, I64Attr:$threads);
  let assemblyFormat = "$id `threads` $threads attr-dict";
}

def Cu_MbarrierInitOp : Cu_Op<"mbarrier_init"> {
  let summary = "makes an mbarrier whose phases take `count` arrivals";
  let arguments = (ins AnyMemRef:$barrier, Index:$index, I64Attr:$count);
  let assemblyFormat = "$barrier `[` $index `]` `count` $count attr-dict `:` type($barrier)";
}
def Cu_MbarrierFenceOp : Cu_Op<"mbarrier_fence"> {
  let summary = "makes initialised mbarriers visible to tensor copies and to the cluster";
  let assemblyFormat = "attr-dict";
}
def Cu_MbarrierExpectOp : Cu_Op<"mbarrier_expect"> {
  let summary = "arrives, and makes the phase wait for `bytes` of copies too, less those of `absent`";
  let arguments = (ins AnyMemRef:$barrier, Index:$index, I64Attr:$bytes, Optional<Index>:$absent);
  let assemblyFormat = "$barrier `[` $index `]` `bytes` $bytes (`less` $absent^)? attr-dict `:` type($barrier)";
}
def Cu_MbarrierArriveOp : Cu_Op<"mbarrier_arrive"> {
  let summary = "one arrival, at the barrier of another `block` of the cluster if that is given";
  let arguments = (ins AnyMemRef:$barrier, Index:$index, Optional<Index>:$block);
  let assemblyFormat = "$barrier `[` $index `]` (`block` $block^)? attr-dict `:` type($barrier)";
}
def Cu_MbarrierArriveCopiesOp : Cu_Op<"mbarrier_arrive_copies"> {
  let summary = "one arrival, once every cp.async that this thread has started is done";
  let arguments = (ins AnyMemRef:$barrier, Index:$index);
  let assemblyFormat = "$barrier `[` $index `]` attr-dict `:` type($barrier)";
}
def Cu_MbarrierWaitOp : Cu_Op<"mbarrier_wait"> {
  let summary = "waits until the phase of this parity is complete";
  let description = [{ The parity of the phase before the first is 1, so that a wait for it returns at once. }];
  let arguments = (ins AnyMemRef:$barrier, Index:$index, Index:$parity);
  let assemblyFormat = "$barrier `[` $index `]` `parity` $parity attr-dict `:` type($barrier)";
}

def Cu_LaunchWaitOp : Cu_Op<"launch_wait"> {
  let summary = "griddepcontrol.wait: the launches before this one have ended and their writes are seen";
  let description = [{ A kernel with this op may be launched before the one before it has ended. }];
  let assemblyFormat = "attr-dict";
}
def Cu_LaunchReleaseOp : Cu_Op<"launch_release"> {
  let summary = "griddepcontrol.launch_dependents: the next launch may start once every block has come here";
  let assemblyFormat = "attr-dict";
}

def Cu_ClusterSyncOp : Cu_Op<"cluster_sync"> {
  let summary = "every thread of the cluster is here";
  let assemblyFormat = "attr-dict";
}
def Cu_ClusterArriveOp : Cu_Op<"cluster_arrive"> {
  let summary = "this thread is here: what it wrote is seen by those of the cluster that wait";
  let description = [{ The first half of `cluster_sync`. Every thread of the cluster arrives before one arrives again. }];
  let assemblyFormat = "attr-dict";
}
def Cu_ClusterWaitOp : Cu_Op<"cluster_wait"> {
  let summary = "waits for every thread of the cluster to arrive";
  let description = [{ The second half of `cluster_sync`. A thread may end without it. }];
  let assemblyFormat = "attr-dict";
}
def Cu_ClusterRankOp : Cu_Op<"cluster_rank", [Pure]> {
  let summary = "the number of this block in its cluster";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Cu_ClusterLoadOp : Cu_Op<"cluster_load", [MemoryEffects<[MemRead]>]> {
  let summary = "what another block of the cluster holds at this place of its shared memory";
  let description = [{ A `cluster_sync` comes between that block's write and this, and another before it may write there again or end. }];
  let arguments = (ins MemRefOf<[F32, F64, I32, I64]>:$source, Index:$index, Index:$block);
  let results = (outs AnyTypeOf<[F32, F64, I32, I64]>:$result);
  let assemblyFormat = "$source `[` $index `]` `block` $block attr-dict `:` type($source) `->` type($result)";
}

def Cu_ClusterStoreOp : Cu_Op<"cluster_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes to the shared memory of another block of the cluster, at this place of its own";
  let description = [{ That block must have arrived at the cluster's barrier before, and may end only after it has waited for what comes after this. }];
  let arguments = (ins AnyTypeOf<[F32, F64, I32, I64]>:$value, MemRefOf<[F32, F64, I32, I64]>:$destination, Index:$index, Index:$block);
  let assemblyFormat = "$value `,` $destination `[` $index `]` `block` $block attr-dict `:` type($value) `,` type($destination)";
}

//===----------------------------------------------------------------------===//
// Tensor copies
//===----------------------------------------------------------------------===//

def Cu_PrefetchTensorMapOp : Cu_Op<"prefetch_tensor_map"> {
  let summary = "fetches a tensor map, so that the first copy by it need not wait";
  let arguments = (ins AnyMemRef:$map);
  let assemblyFormat = "$map attr-dict `:` type($map)";
}
def Cu_TmaLoadOp : Cu_Op<"tma_load", [AttrSizedOperandSegments]> {
  let summary = "starts copying a box of a tensor to shared memory";
  let description = [{
    `map` is a tensor map parameter, `coordinates` the box's first element, innermost
    dim first (one to five). Its bytes count towards the current phase of the barrier.
    With `blocks` (a bit per block of the cluster) all of those receive it, at the same
    place, and their barriers count it. `streaming`: cache lines that leave first.
    Where `ends` holds, `last` takes the map's place: its box has what is there of a tensor's last tile.
  }];
  let arguments = (ins AnyMemRef:$map, AnyMemRef:$target, Index:$target_index, AnyMemRef:$barrier,
                       Index:$barrier_index, Variadic<Index>:$coordinates, Optional<AnyMemRef>:$last, Optional<I1>:$ends,
                       DefaultValuedAttr<I64Attr, "0">:$blocks, UnitAttr:$streaming);
  let assemblyFormat = [{
    $map (`or` $last^ `:` type($last) `if` $ends)? `[` $coordinates `]` `to` $target `[` $target_index `]` `signal` $barrier `[` $barrier_index `]` attr-dict
    `:` type($map) `,` type($target) `,` type($barrier)
  }];
}

def Cu_TmaStoreOp : Cu_Op<"tma_store"> {
  let summary = "starts copying a box from shared memory to a tensor";
  let arguments = (ins AnyMemRef:$map, AnyMemRef:$source, Index:$source_index, Variadic<Index>:$coordinates);
  let assemblyFormat = [{
    $source `[` $source_index `]` `to` $map `[` $coordinates `]` attr-dict `:` type($source) `,` type($map)
  }];
}
def Cu_TmaCommitOp : Cu_Op<"tma_commit"> {
  let summary = "closes a group of tma_store";
  let assemblyFormat = "attr-dict";
}
def Cu_TmaWaitReadOp : Cu_Op<"tma_wait_read"> {
  let summary = "waits until at most `pending` groups of this thread still read shared memory";
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}
def Cu_ProxyFenceOp : Cu_Op<"proxy_fence"> {
  let summary = "this thread's writes to shared memory come before tensor copies and products of warpgroups that read it";
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

def Cu_WarpgroupOp : Cu_Op<"warpgroup", [Pure]> {
  let summary = "threadIdx.x / 128, known to be the same in a warp";
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

def Cu_LeaderOp : Cu_Op<"leader", [MemoryEffects<[MemRead]>]> {
  let summary = "true for one thread of a warp (elect.sync)";
  let description = [{
    All threads of the warp execute the op together. It stands right before the branch that it is for, and
    stays there: ptxas then knows that one thread of a converged warp runs the branch, and keeps the branch's
    values in uniform registers. It does not know that of `threadIdx.x % 32 == 0`, and puts a loop over the
    lanes around each tensor copy.
  }];
  let results = (outs I1:$result);
  let assemblyFormat = "attr-dict";
}

def Cu_OpaqueOp : Cu_Op<"opaque", [Pure]> {
  let summary = "a number below 2^31 that NVRTC cannot see";
  let description = [{
    `result = value`. It hides the number of rounds of a loop that carries products. If NVRTC knows that
    number, it moves reads of the accumulators into the loop, and ptxas then runs the products one by one
    (C7514).

    ```mlir
    %rounds = cu.opaque %c16
    ```
  }];
  let arguments = (ins Index:$value);
  let results = (outs Index:$result);
  let assemblyFormat = "$value attr-dict";
}

def Cu_SetRegistersOp : Cu_Op<"set_registers"> {
  let summary = "setmaxnreg: this warpgroup takes or gives back registers";
  let arguments = (ins I64Attr:$count, BoolAttr:$increase);
  let assemblyFormat = "$count `increase` $increase attr-dict";
}

//===----------------------------------------------------------------------===//
// Warpgroup products
//===----------------------------------------------------------------------===//

def Cu_SmemDescOp : Cu_Op<"smem_desc", [Pure]> {
  let summary = "the wgmma matrix descriptor of an operand in shared memory";
  let description = [{
    `leading` and `stride` are the byte offsets of the PTX ISA's "matrix descriptor",
    `swizzle` is 128, 64, 32 or 0.
  }];
  let arguments = (ins AnyMemRef:$source, Index:$index, I64Attr:$leading, I64Attr:$stride, I64Attr:$swizzle);
  let results = (outs UI64:$result);
  let assemblyFormat = [{
    $source `[` $index `]` `leading` $leading `stride` $stride `swizzle` $swizzle attr-dict `:` type($source)
  }];
}
def Cu_DescAdvanceOp : Cu_Op<"desc_advance", [Pure]> {
  let summary = "the descriptor of the operand `bytes` further on";
  let arguments = (ins UI64:$descriptor, Index:$bytes);
  let results = (outs UI64:$result);
  let hasFolder = 1;
  let assemblyFormat = "$descriptor `by` $bytes attr-dict";
}

def Cu_WgmmaFenceOp : Cu_Op<"wgmma_fence"> {
  let summary = "what was written to the registers of the products comes before them";
  let description = [{ The accumulator's, and those of a first operand in registers. `fresh`: the products start by setting
    the accumulator, whose registers hold nothing yet. }];
  let arguments = (ins AnyMemRef:$acc, Optional<AnyMemRef>:$a, UnitAttr:$fresh);
  let assemblyFormat = "$acc (`,` $a^)? attr-dict `:` type($acc) (`,` type($a)^)?";
}
def Cu_WgmmaOp : Cu_Op<"wgmma"> {
  let summary = "starts acc += a * b on 64 rows, `n` columns and 32 bytes of k";
  let description = [{
    `type` is bf16, f16, tf32, e4m3, e5m2, s8 or u8, of both operands, or e4m3e5m2, e5m2e4m3; `transpose_a` and `transpose_b`
    (16-bit types only): the operand is contiguous along its rows or columns, not along k. acc holds n / 2 registers from `acc_index`.
    `fresh`: acc = a * b, whatever it held; with `accumulate`, where that does not hold.
  }];
  let arguments = (ins AnyMemRef:$acc, Index:$acc_index, UI64:$a, UI64:$b, Optional<I1>:$accumulate, StrAttr:$type, I64Attr:$n,
                       BoolAttr:$transpose_a, BoolAttr:$transpose_b, UnitAttr:$fresh);
  let assemblyFormat = "$type $acc `[` $acc_index `]` `,` $a `,` $b (`if` $accumulate^)? attr-dict `:` type($acc)";
}
def Cu_WgmmaRegistersOp : Cu_Op<"wgmma_registers"> {
  let summary = "the same with a in registers";
  let description = [{
    As `cu.wgmma`; `a` holds, from `a_index`, four words of this thread's fragment (PTX ISA,
    "register fragments for wgmma.mma_async"). They stay as they are until the product has been waited for.
  }];
  let arguments = (ins AnyMemRef:$acc, Index:$acc_index, AnyMemRef:$a, Index:$a_index, UI64:$b, Optional<I1>:$accumulate, StrAttr:$type, I64Attr:$n,
                       BoolAttr:$transpose_b, UnitAttr:$fresh);
  let assemblyFormat = [{
    $type $acc `[` $acc_index `]` `,` $a `[` $a_index `]` `,` $b (`if` $accumulate^)? attr-dict `:` type($acc) `,` type($a)
  }];
}
def Cu_WgmmaCommitOp : Cu_Op<"wgmma_commit"> {
  let summary = "closes a group of products";
  let assemblyFormat = "attr-dict";
}
def Cu_WgmmaWaitOp : Cu_Op<"wgmma_wait"> {
  let summary = "waits until at most `pending` groups of products are in flight";
  let arguments = (ins AnyMemRef:$acc, I64Attr:$pending);
  let assemblyFormat = "$acc `pending` $pending attr-dict `:` type($acc)";
}

#endif
