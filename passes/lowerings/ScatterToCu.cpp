// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// tile.scatter: additions and writes that data places, by atomics, vectors or into the copies of a block.
#include "passes/lowerings/AccessLowering.h"

#include "passes/lowerings/MaskNames.h"
#include "passes/lowerings/Tallies.h"

using namespace mlir;

namespace kernelc {

/// Whether neighbours of a tile that are neighbours in memory, too, are added by one instruction: what says where they go, and whether,
/// is the same of all of them.
static bool addsVectors(ThreadCode &c, tile::ScatterOp op, const AccessLowering &access) {
  RegTile value = c.tiles.lookup(op.getValue());
  bool hasRegisters = isAlikeEverywhere(op.getValue()) || (value.array && !value.first);
  auto isAlike = [&](Value tile) {
    auto broadcast = tile.getDefiningOp<tile::BroadcastOp>();
    return isAlikeEverywhere(tile) ||
           (broadcast && cast<RankedTensorType>(broadcast.getInput().getType()).getDimSize(access.run().dim) == 1);
  };
  return c.hasVectorAdds && access.vector() > 1 && op.getKind() == te::Combiner::Sum && op.getValue().getType().getElementType().isF32() &&
         hasRegisters && !c.tallies.lookup(op.getBase()) && access.straddlesNoBorder() && llvm::all_of(op.getIndexTiles(), isAlike) &&
         (!op.getCondition() || isAlike(op.getCondition()));
}

/// Adds vectors of registers that lie side by side; false where there are none.
static bool addSideBySide(ThreadCode &c, tile::ScatterOp op, AccessLowering &access, Location loc) {
  RegTile value = c.tiles.lookup(op.getValue());
  if (!c.hasVectorAdds || op.getKind() != te::Combiner::Sum || !op.getValue().getType().getElementType().isF32() || !value.array ||
      value.first || !op.getIndexTiles().empty() || op.getCondition() || op.getGuarded() || c.tallies.lookup(op.getBase()))
    return false;
  std::optional<AccessLowering::SideBySideVectors> vectors = access.findSideBySide(4);
  if (!vectors)
    return false;
  guarded(c.b, loc, c.isFirstReplica(access.layout(), loc), [&] {
    access.forEachSideBySide(*vectors, [&](Value r, const OpenDigits &open) {
      guarded(c.b, loc, access.inside(access.coordinates(open)), [&] {
        Value address = access.address(access.subscriptsByParts(open));
        cu::AddVectorOp::create(c.b, loc, value.array, r, access.base(), address, vectors->count);
      });
    });
  });
  return true;
}

void lowerScatter(ThreadCode &c, tile::ScatterOp op) {
  Location loc = cu::unnamed(op.getLoc());
  AccessLowering access(c, op.getMap(), op.getBase(), op.getValue(), op.getOffsets(), op.getMask(), loc);
  if (!addsVectors(c, op, access)) {
    access.scalarOnly();
    if (addSideBySide(c, op, access, loc))
      return;
  }
  RegTile value = registersOf(c, op.getValue(), access, loc);
  guarded(c.b, loc, c.isFirstReplica(access.layout(), loc), [&] {
    access.forEachVector([&](Value r, OpenDigits &open) {
      SmallVector<Value> coords = access.coordinates(open);
      Value inside = access.inside(coords);
      if (op.getCondition())
        inside = access.conjunction(inside, c.element(op.getCondition(), open, loc));
      guarded(c.b, loc, inside, [&] {
        for (Value t : op.getIndexTiles())
          coords.push_back(c.element(t, open, loc));
        SmallVector<Value> subscripts = access.subscripts(coords);
        Value within = op.getGuarded() ? access.applyBounds(te::BoundsMode::Pad, subscripts) : Value();
        guarded(c.b, loc, within, [&] {
          if (access.vector() > 1) {
            cu::AddVectorOp::create(c.b, loc, value.array, r, access.base(), access.address(subscripts), access.vector());
            return;
          }
          Value v = c.element(op.getValue(), open, loc);
          if (!op.getKind())
            cu::WriteOnceOp::create(c.b, loc, v, access.base(), access.address(subscripts));
          else if (Value copies = c.tallies.lookup(op.getBase()))
            cu::AtomicOp::create(c.b, loc, te::stringifyCombiner(*op.getKind()), v, copies, tallyAddress(c, op, subscripts));
          else
            cu::AtomicOp::create(c.b, loc, te::stringifyCombiner(*op.getKind()), v, access.base(), access.address(subscripts));
        });
      });
    });
  });
}

} // namespace kernelc
