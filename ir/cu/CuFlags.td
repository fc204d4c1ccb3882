// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What blocks of a launch tell each other through global memory.
#ifndef KERNELC_IR_CU_CUFLAGS
#define KERNELC_IR_CU_CUFLAGS

include "ir/cu/CuDialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Cu_TakeNumberOp : Cu_Op<"take_number", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "adds one to a word of global memory, and gives what it was: each thread that comes has a number of its own";
  let arguments = (ins AnyMemRef:$base, Index:$index);
  let results = (outs I32:$result);
  let assemblyFormat = "$base `[` $index `]` attr-dict `:` type($base)";
}
def Cu_TellOp : Cu_Op<"tell", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "says a number of 32 bits to whoever asks for this word";
  let description = [{
    The word, of 64 bits, has the number and a mark in one store, so that neither is seen without the other and nothing
    else need be ordered.
  }];
  let arguments = (ins I32:$value, AnyMemRef:$base, Index:$index);
  let assemblyFormat = "$value `,` $base `[` $index `]` attr-dict `:` type($base)";
}
def Cu_AskOp : Cu_Op<"ask", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "waits until a word, which was 0, has a number, and gives it";
  let arguments = (ins AnyMemRef:$base, Index:$index);
  let results = (outs I32:$result);
  let assemblyFormat = "$base `[` $index `]` attr-dict `:` type($base)";
}

#endif
