// Rings and dots, as tile-to-cu lowers them.
#pragma once

#include "passes/lowerings/ThreadCode.h"

namespace kernelc {

void lowerRing(ThreadCode &code, tile::RingOp op);
void lowerRingCopy(ThreadCode &code, tile::RingCopyOp op);
void lowerRingStore(ThreadCode &code, tile::RingStoreOp op);
/// acc += a · b, in the private array `acc`.
void lowerDot(ThreadCode &code, tile::DotOp op, mlir::Value acc);

} // namespace kernelc
