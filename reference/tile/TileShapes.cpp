// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers of a block, constants, and tiles that are others in another shape, of the tile interpreter.
#include "reference/tile/TileProgram.h"

using namespace mlir;

namespace kernelc::reference {

int64_t TileProgram::programId(tile::ProgramIdOp id) {
  // Any order of the tiles will do, so without the raster.
  int64_t number = id.getNumber() ? index(id.getNumber()) : block_ / int64_t(launch_.func.getCluster());
  for (int64_t g : llvm::reverse(launch_.func.getGridDims())) {
    if (g == int64_t(id.getDim()))
      return number % launch_.programs[g];
    number /= launch_.programs[g];
  }
  return 0;
}

absl::Status TileProgram::runScalar(Operation *op) {
  int64_t n = 0;
  if (auto id = dyn_cast<tile::ProgramIdOp>(op))
    n = programId(id);
  else if (isa<tile::BlockIdOp>(op))
    n = block_;
  else if (isa<tile::ClusterRankOp>(op))
    n = block_ % int64_t(launch_.func.getCluster());
  else if (isa<tile::TeamOp>(op))
    n = team_;
  else if (isa<tile::NumBlocksOp>(op))
    n = launch_.numBlocks;
  else if (isa<tile::LeaderOp>(op)) // one thread does what its warp does
    n = 1;
  else if (auto apply = dyn_cast<tile::ApplyOp>(op))
    n = launch_.evaluate(apply.getMap().getResult(0), indices(apply.getOperands_()));
  else
    return unsupported(op);
  values_[op->getResult(0)] = TileValue::scalar(n);
  return absl::OkStatus();
}

absl::Status TileProgram::runConstant(arith::ConstantOp constant) {
  auto type = dyn_cast<RankedTensorType>(constant.getType());
  auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
  TileElement e;
  if ((type && !splat) || !findConstant(splat ? splat.getSplatValue<Attribute>() : Attribute(constant.getValue()), launch_.arithmetic, e))
    return unsupported(constant);
  values_[constant.getResult()] = TileValue(type ? type.getShape() : ArrayRef<int64_t>(), e);
  return absl::OkStatus();
}

absl::Status TileProgram::runShape(Operation *op) {
  if (isa<tile::ConvertLayoutOp, tile::DotWaitOp>(op)) {
    values_[op->getResult(0)] = TileValue(value(op->getOperand(0)));
    return absl::OkStatus();
  }
  if (auto only = dyn_cast<tile::ElementOp>(op)) {
    values_[only.getResult()] = TileValue({}, value(only.getInput()).elements[0]);
    return absl::OkStatus();
  }
  TileValue result(cast<RankedTensorType>(op->getResult(0).getType()).getShape());
  SmallVector<int64_t> at(result.shape.size(), 0);
  size_t flat = 0;
  do {
    TileElement &e = result.elements[flat++];
    if (auto coordinates = dyn_cast<tile::IndexOp>(op)) {
      e.i = index(coordinates.getOffset()) + at[coordinates.getDim()];
    } else if (auto inside = dyn_cast<tile::InsideOp>(op)) {
      SmallVector<int64_t> point = indices(inside.getOffsets());
      for (auto [p, a] : llvm::zip(point, at))
        p += a;
      e.i = launch_.isInside(inside.getMask(), point);
    } else if (auto slice = dyn_cast<tile::SliceOp>(op)) {
      SmallVector<int64_t> from(at);
      from[slice.getDim()] += slice.getStart();
      e = value(slice.getInput()).at(from);
    } else { // splat, broadcast
      const TileValue &input = value(op->getOperand(0));
      e = input.shape.empty() ? input.elements[0] : input.at(at);
    }
  } while (advance(at, result.shape));
  values_[op->getResult(0)] = std::move(result);
  return absl::OkStatus();
}

} // namespace kernelc::reference
