// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rings, channels and dots of the tile dialect: how tiles travel through shared
// memory to the matrix units, and who waits for whom.
#ifndef KERNELC_IR_TILE_TILERINGS
#define KERNELC_IR_TILE_TILERINGS

include "ir/tile/TileDialect.td"
include "ir/te/TeEnums.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

def Tile_RingType : TypeDef<Tile_Dialect, "Ring"> {
  let mnemonic = "ring";
  let summary = "slots of one box each in shared memory";
  let description = [{
    `slots` boxes of `shape` (the launch's index space) in shared memory. Number n
    lives in slot n mod slots. In a slot, elements along `contiguous` are neighbours
    within rows of at most 128 bytes; 16-byte chunks of a row are exchanged by the
    128-, 64- or 32-byte swizzle of the row's width, so that neither ldmatrix nor
    16-byte copies conflict (see ir/tile/SlotLayout.h). With a `pad` rows are whole, so many
    elements further apart (`pad 0`: none), and nothing is exchanged: for plain loads. Tensor copies fill
    rows that are whole, but not further apart; ldmatrix and matrix descriptors want neither.
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType, "int64_t":$slots,
                        "int64_t":$contiguous, DefaultValuedParameter<"int64_t", "kSwizzled">:$pad);
  let builders = [TypeBuilder<(ins "::llvm::ArrayRef<int64_t>":$shape, "::mlir::Type":$elementType, "int64_t":$slots,
                                   "int64_t":$contiguous), [{ return $_get($_ctxt, shape, elementType, slots, contiguous, kSwizzled); }]>];
  let assemblyFormat = "`<` `[` $shape `]` `x` $elementType `,` `slots` $slots `,` `contiguous` $contiguous (`,` `pad` $pad^)? `>`";
}

def Tile_ChannelType : TypeDef<Tile_Dialect, "Channel"> {
  let mnemonic = "channel";
  let summary = "who may touch the slots of rings that are filled together";
  let description = [{
    Two mbarriers per slot. *full* completes when every box announced for a number
    has arrived; *empty* when all readers of a number have released it. Numbers
    count 0, 1, 2, ..; number n stands for slot n mod slots in its pass n div slots,
    whose parity the waits name. `reader` is how many threads release a number
    together: a warpgroup, whose products read slots and are waited for as one, or a
    warp, which reads them into registers. `fillers` is how many threads copy beside
    tensor copies: *full* waits for the `tile.filled` of each, too.
  }];
  let parameters = (ins "int64_t":$slots, DefaultValuedParameter<"int64_t", "128">:$reader, DefaultValuedParameter<"int64_t", "0">:$fillers);
  let assemblyFormat = "`<` `slots` $slots (`,` `reader` $reader^)? (`fillers` $fillers^)? `>`";
  let extraClassDeclaration = [{
    /// How many warps fill the slots: one, of which one thread starts tensor copies, or those that copy side by side.
    int64_t getFillingWarps() const { return std::max<int64_t>(1, getFillers() / 32); }
  }];
}

def Tile_OrderType : TypeDef<Tile_Dialect, "Order"> {
  let mnemonic = "order";
  let summary = "one after the other, for the consumer's teams";
  let description = [{
    `teams` mbarriers. Turns count 0, 1, 2, ..; turn n is that of team n mod teams and
    begins when turn n - 1 has been passed on.
  }];
  let parameters = (ins "int64_t":$teams);
  let assemblyFormat = "`<` `teams` $teams `>`";
}

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

def Tile_RingOp : Tile_Op<"ring"> {
  let summary = "makes a ring";
  let description = [{
    With `in` its slots are those of another ring, seen with the same elements along other indices of the launch: what fills one
    of the two has the other's numbers, too.
  }];
  let arguments = (ins Optional<Tile_RingType>:$of);
  let results = (outs Tile_RingType:$result);
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "RingType":$type), [{ build($_builder, $_state, type, mlir::Value()); }]>];
  let assemblyFormat = "(`in` $of^ `:` type($of) `as`)? attr-dict `:` type($result)";
}

def Tile_RingCopyOp : Tile_Op<"ring_copy", [AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "starts filling slot `number` with a box of a tensor";
  let description = [{
    As `tile.load`, without registers. Points outside the masked extents, and
    outside the tensor with bounds `pad`, are zero. With a `channel` the copy is one
    of boxes (TMA), made by one thread, and counts towards `full` of that number
    (`multicast`: every block of the cluster brings its share, to all of them), or, `by_threads`,
    made by the channel's fillers, each of which says `tile.filled` behind it;
    without, it is made by all threads and visible after `tile.async_commit`, a
    `tile.async_wait` that covers it, and a `tile.barrier`. `rounded`: elements are f32 and
    arrive rounded to tf32 (only with a channel). `streaming` is as in `tile.load`, and asks
    for nothing where a copy without registers is cp.async.

    `indices` are what data says of subscripts: dims of `map` behind the launch's indices. Where they are several
    times as many as these dims, the box comes in pieces along `along`, of equal numbers of points, each with
    subscripts of its own (pages of a table).

    `tail`: nothing is stored of points of that index beyond its extent, and the copy leaves them out, where they are the last rows of the
    slot, or whole panels: the slot has anything there. `tile.acquire` announces all the same what the whole box has.

    Constraints:
    - [C1] `indices` are a multiple of the dims that `map` has behind the launch's indices, as many as these without `along`; they need a
      channel.
    - [C2] `tail` is an index of the grid, of a copy with a channel that is not `by_threads`, and what the copy leaves out is read by
      products only. The acquire of the copy's number stands before it, in its block or in a branch beside it.

    ```mlir
    tile.ring_copy %ring at %n from %pages[%b0, %j0, %d0] map affine_map<(d0, d1, d2, d3) -> (d3, d1 mod 64, d2)>
        indices [%p0, %p1] along 1 signal %channel : !tile.channel<slots 2, reader 128>
        : !tile.ring<[1, 128, 64] x bf16, slots 2, contiguous 2>, memref<?x?x?xbf16>
    ```
  }];
  let arguments = (ins Tile_RingType:$ring, Index:$number, AnyMemRef:$base, AffineMapAttr:$map,
    Variadic<Index>:$offsets, Variadic<Index>:$indices, OptionalAttr<I64Attr>:$along,
    Optional<Tile_ChannelType>:$channel, UnitAttr:$multicast,
    DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$mask,
    DefaultValuedAttr<Te_BoundsMode, "::kernelc::te::BoundsMode::InBounds">:$bounds, UnitAttr:$rounded,
    UnitAttr:$streaming, UnitAttr:$by_threads, OptionalAttr<I64Attr>:$tail);
  let assemblyFormat = [{
    $ring `at` $number `from` $base `[` $offsets `]` `map` $map (`indices` `[` $indices^ `]`)? (`along` $along^)?
    (`signal` $channel^ `:` type($channel))? (`multicast` $multicast^)? attr-dict
    `:` type($ring) `,` type($base)
  }];
  let builders = [OpBuilder<(ins "mlir::Value":$ring, "mlir::Value":$number, "LoadOp":$load, "mlir::ValueRange":$offsets,
    "mlir::Value":$channel), [{
    build($_builder, $_state, ring, number, load.getBase(), load.getMap(), offsets, mlir::ValueRange(), mlir::IntegerAttr(), channel,
          /*multicast=*/false, load.getMask(), load.getBounds(), /*rounded=*/false, load.getStreaming(),
          /*by_threads=*/false, mlir::IntegerAttr());
  }]>];
}

def Tile_RingStoreOp : Tile_Op<"ring_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "fills slot `number` with a tile; visible after a `tile.barrier`";
  let arguments = (ins Tile_RingType:$ring, Index:$number, AnyRankedTensor:$value);
  let assemblyFormat = "$ring `at` $number `,` $value attr-dict `:` type($ring) `,` type($value)";
}

def Tile_RingLoadOp : Tile_Op<"ring_load", [MemoryEffects<[MemRead]>]> {
  let summary = "what slot `number` holds, as a tile";
  let description = [{
    `result[c]` is element c of the slot's box; where the result has p times the
    slot's extent along a dim, element `c floordiv p`: neighbours share it, as two
    nibbles a byte. It must have arrived: behind a
    `tile.await` of its channel, or what makes a `tile.ring_copy` or
    `tile.ring_store` visible.

    Constraints:
    - [C1] the result has the ring's shape and element type; with bytes its extents may be multiples of the ring's.

    ```mlir
    tile.await %channel at %n : !tile.channel<slots 2, reader 32>
    %r = tile.ring_load %ring at %n : !tile.ring<[128, 64] x bf16, slots 2, contiguous 1> -> tensor<128x64xbf16>
    tile.release %channel at %n : !tile.channel<slots 2, reader 32>
    ```
  }];
  let arguments = (ins Tile_RingType:$ring, Index:$number);
  let results = (outs AnyRankedTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$ring `at` $number attr-dict `:` type($ring) `->` type($result)";
}

def Tile_AsyncCommitOp : Tile_Op<"async_commit"> {
  let summary = "closes a group of ring_copy";
  let assemblyFormat = "attr-dict";
}
def Tile_AsyncWaitOp : Tile_Op<"async_wait"> {
  let summary = "waits until at most `pending` groups are in flight";
  let description = [{ Products of warpgroups behind it see what this thread has put into slots. }];
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}
def Tile_BarrierOp : Tile_Op<"barrier"> {
  let summary = "a barrier of the block, behind which all its writes to shared memory are seen";
  let description = [{
    `step`: it stands between the steps of a recurrence: what they tell each other lies in memory, so that no pass may take it
    away.
  }];
  let arguments = (ins UnitAttr:$step);
  let assemblyFormat = "attr-dict";
}

def Tile_BoxStoreOp : Tile_Op<"box_store", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "starts writing slot `number` to a box of a tensor";
  let description = [{
    As `tile.store` of what the role has put there with `tile.ring_store`, by a tensor
    copy: points beyond the extents of the launch's indices, or beyond the tensor's end, are not written. Warpgroups
    share the slot out along index `shared`: each stores its even share, which only its
    own threads have written, and waits for itself alone. The slot is read until a
    `tile.box_drain`.
  }];
  let arguments = (ins Tile_RingType:$ring, Index:$number, AnyMemRef:$base, AffineMapAttr:$map, Variadic<Index>:$offsets, I64Attr:$shared);
  let assemblyFormat = [{
    $ring `at` $number `to` $base `[` $offsets `]` `map` $map `shared` $shared attr-dict `:` type($ring) `,` type($base)
  }];
}

def Tile_BoxDrainOp : Tile_Op<"box_drain"> {
  let summary = "waits until at most `pending` of this warpgroup's box stores still read their slots";
  let arguments = (ins I64Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}

//===----------------------------------------------------------------------===//
// Channels and roles
//===----------------------------------------------------------------------===//

def Tile_ChannelOp : Tile_Op<"channel"> {
  let summary = "makes a channel: every slot empty";
  let results = (outs Tile_ChannelType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

class Tile_ChannelUse<string mnemonic> : Tile_Op<mnemonic> {
  let arguments = (ins Tile_ChannelType:$channel, Index:$number);
  let assemblyFormat = "$channel `at` $number attr-dict `:` type($channel)";
}

def Tile_AcquireOp : Tile_Op<"acquire"> {
  let summary = "waits until the slot of `number` is empty, and announces `bytes`";
  let description = [{ The copies that signal the channel for this number bring `bytes` in all, less what their tails leave out. }];
  let arguments = (ins Tile_ChannelType:$channel, Index:$number, I64Attr:$bytes);
  let assemblyFormat = "$channel `at` $number `bytes` $bytes attr-dict `:` type($channel)";
}
def Tile_FilledOp : Tile_ChannelUse<"filled"> {
  let summary = "what this thread has copied for `number` counts as arrived once it is there";
  let description = [{ Every filler of the channel says so once for each number, behind its copies. }];
}
def Tile_AwaitOp : Tile_ChannelUse<"await"> {
  let summary = "waits until everything announced for `number` is there";
}
def Tile_ReleaseOp : Tile_ChannelUse<"release"> {
  let summary = "this reader is done with `number`";
  let description = [{
    Every reader says so once: every warpgroup of the role, or every warp (see the channel's type). `taken`: what warps have read
    themselves has been used up, by a product that takes it from registers and was waited for, so that nothing is still being read.
  }];
  let arguments = (ins Tile_ChannelType:$channel, Index:$number, UnitAttr:$taken);
}

def Tile_OrderOp : Tile_Op<"order"> {
  let summary = "makes an order: turn 0 begins at once";
  let results = (outs Tile_OrderType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}
class Tile_OrderUse<string mnemonic> : Tile_Op<mnemonic> {
  let arguments = (ins Tile_OrderType:$order, Index:$turn);
  let assemblyFormat = "$order `at` $turn attr-dict `:` type($order)";
}
def Tile_TakeTurnOp : Tile_OrderUse<"take_turn"> {
  let summary = "waits until the turn before has been passed on";
  let description = [{
    A parity tells which of two phases is over, and no more. So no thread may wait for a slot two passes
    ahead, and teams that share a ring await its slots in turns.
  }];
}
def Tile_PassTurnOp : Tile_OrderUse<"pass_turn"> {
  let summary = "lets the next turn begin";
}

def Tile_RolesOp : Tile_Op<"roles", [NoRegionArguments, NoTerminator]> {
  let summary = "several programs side by side in one block";
  let description = [{
    The first `pingpong` · `warps` warps of the function run `consumer`, each of
    `producer_warps` more has one thread that runs a `producer`: the first warp the first
    of them, and so on. A producer that searches (`tile.find_where`) its whole warp runs; one whose channel has fillers
    is run by these, the next warps. Each thread of a role may hold so many registers. A tile value
    belongs to the consumer.

    ```mlir
    tile.roles producer registers 56 {
      // fills the rings of a product
    } producer {
      // brings what the epilogue reads
    } consumer registers 224 {
      // multiplies
    }
    ```
  }];
  let arguments = (ins I64Attr:$producer_registers, I64Attr:$consumer_registers);
  let regions = (region SizedRegion<1>:$consumer, VariadicRegion<SizedRegion<1>>:$producers);
  let hasCustomAssemblyFormat = 1;
}

def Tile_TeamOp : Tile_Op<"team", [Pure]> {
  let summary = "which of the consumer's teams this is";
  let description = [{ 0 .. `pingpong` - 1; each team of `warps` warps runs the consumer for its own tiles. }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict";
}

//===----------------------------------------------------------------------===//
// Dots
//===----------------------------------------------------------------------===//

def Tile_DotOp : Tile_Op<"dot", [MemoryEffects<[MemRead]>, AttrSizedOperandSegments]> {
  let summary = "acc + a · b, or another term combined otherwise, over the dims that acc lacks";
  let description = [{
    `result[c] = acc[c] + Σ_k a[c, k] · b[c, k]` with products exact and sums in the
    accumulator type. M dims are those of a and acc, N dims those of b and acc, K
    dims those of a and b. The operands are tiles,
    or rings read at slot `number`; a's ring at slot `a_number` where its rounds are others. 8-bit integers are signed unless `a_unsigned`,
    `b_unsigned`. A matrix unit reads f32 operands as tf32: exactly, unless
    `a_rounded`, `b_rounded` say that the value is first rounded to tf32 (nearest,
    ties away from zero).

    With a region, `by` a combiner ⊕, the unit simt computes `result[c] = acc[c] ⊕ ⊕_k term(a[c, k], b[c, k])`: the region's
    arguments are the two elements in the accumulator's type, and it ends in a `tile.term`. Of such a dot `count` says how many
    points of k count, in the order in which they lie in the tile; all do without it. (Of products the others are zeros.)
    Of a product of f32, too, the points behind so many count where `a` has a value: elements that are the mark of what is absent
    (`absentMark`, -0) have no term, whatever b is there.

    ```mlir
    %r = tile.dot %a, %b, %acc m [0] n [1] k [2] count %left by min {
    ^bb0(%x: f32, %y: f32):
      %t = arith.addf %x, %y : f32
      tile.term %t : f32
    } : tensor<128x1x32xf32>, tensor<1x128x32xf32>, tensor<128x128x1xf32> -> tensor<128x128x1xf32>
    ```

    Constraints:
    - [C1] `m`, `n` and `k` name dims of the accumulator, at least one each, no dim twice; the operands' extents are those of the
      accumulator along their rows or columns, 1 along the other's, and alike along k, where the accumulator's are 1.
    - [C2] an operand is a tile or a ring, which goes with a `number`, with the accumulator's dims; `a_number` is that of a ring a.
    - [C3] floats are summed in floats, integers in integers.
    - [C4] a term is of two scalars of the accumulator's element type, is made of them and constants by ops without effects, and ends
      in a tile.term of that type; its combiner is no arg reduction.
    - [C5] without a term a `count` is of a product whose `a` is f32.
  }];
  let arguments = (ins AnyType:$a, AnyType:$b, AnyRankedTensor:$acc, DenseI64ArrayAttr:$m,
                       DenseI64ArrayAttr:$n, DenseI64ArrayAttr:$k, Optional<Index>:$number, Optional<Index>:$a_number,
                       Optional<Index>:$count,
                       UnitAttr:$a_unsigned, UnitAttr:$b_unsigned, UnitAttr:$a_rounded, UnitAttr:$b_rounded,
                       DefaultValuedAttr<Te_Combiner, "::kernelc::te::Combiner::Sum">:$kind);
  let results = (outs AnyRankedTensor:$result);
  let regions = (region AnyRegion:$term);
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let assemblyFormat = [{
    $a `,` $b `,` $acc `m` $m `n` $n `k` $k (`at` $number^)? (`a_at` $a_number^)? (`count` $count^)? (`by` $kind $term^)? attr-dict
    `:` type($a) `,` type($b) `,` type($acc) `->` type($result)
  }];
  let extraClassDeclaration = [{
    /// The slot of a's ring.
    ::mlir::Value getNumberOfA() { return getANumber() ? getANumber() : getNumber(); }
    /// Whether it multiplies and adds, as units do.
    bool isProduct() { return getTerm().empty(); }
  }];
}

def Tile_TermOp : Tile_Op<"term", [Pure, Terminator, HasParent<"DotOp">]> {
  let summary = "what a dot combines of two elements";
  let arguments = (ins AnyType:$value);
  let assemblyFormat = "$value attr-dict `:` type($value)";
}

def Tile_DotWaitOp : Tile_Op<"dot_wait"> {
  let summary = "waits until at most `pending` dots of this warpgroup are in flight";
  let description = [{
    A dot of the wgmma unit is in flight until waited for: until then its accumulator
    and its slots are the unit's. The result is the accumulator; it may be read where at most
    `pending` dots have been started after its own.
  }];
  let arguments = (ins AnyRankedTensor:$acc, I64Attr:$pending);
  let results = (outs AnyRankedTensor:$result);
  let hasVerifier = 1;
  let assemblyFormat = "$acc `pending` $pending attr-dict `:` type($acc) `->` type($result)";
}

#endif
