// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tile dialect itself, and the text of layouts.
#include "ir/tile/Tile.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace kernelc;
using namespace kernelc::tile;

#include "ir/tile/TileDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "ir/tile/TileTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/tile/TileAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "ir/tile/TileOps.cpp.inc"

namespace {
/// Blocks of a cluster read what the others hold, and write nothing that a program sees: what is loaded before they meet is still the
/// same behind, so that a row which several statements go over is loaded once.
struct MeetingEffects : MemoryEffectOpInterface::ExternalModel<MeetingEffects, ClusterReduceOp> {
  void getEffects(Operation *, SmallVectorImpl<MemoryEffects::EffectInstance> &effects) const {
    effects.emplace_back(MemoryEffects::Read::get());
  }
};
} // namespace

void TileDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "ir/tile/TileOps.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "ir/tile/TileTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "ir/tile/TileAttrs.cpp.inc"
      >();
  ClusterReduceOp::attachInterface<MeetingEffects>(*getContext());
}

//===----------------------------------------------------------------------===//
// Layout attribute
//===----------------------------------------------------------------------===//

namespace {
SmallVector<int64_t> flatten(const Digits &digits) {
  SmallVector<int64_t> out;
  for (const Digit &d : digits)
    out.append({d.dim, d.stride, d.size});
  return out;
}
Digits unflatten(ArrayRef<int64_t> flat) {
  Digits out;
  for (size_t i = 0; i + 2 < flat.size(); i += 3)
    out.push_back({flat[i], flat[i + 1], flat[i + 2]});
  return out;
}
} // namespace

// #tile.layout<reg = [[1, 1, 4], [0, 8, 2]] lane = [...] warp = [...]>
static void printDigits(AsmPrinter &p, StringRef name, ArrayRef<int64_t> flat) {
  p << name << " = [";
  for (size_t i = 0; i + 2 < flat.size(); i += 3)
    p << (i ? ", " : "") << "[" << flat[i] << ", " << flat[i + 1] << ", " << flat[i + 2] << "]";
  p << "]";
}

void LayoutAttr::print(AsmPrinter &p) const {
  p << "<";
  printDigits(p, "reg", getReg());
  printDigits(p, " lane", getLane());
  printDigits(p, " warp", getWarp());
  p << ">";
}

static ParseResult parseDigits(AsmParser &p, StringRef name, SmallVectorImpl<int64_t> &flat) {
  if (p.parseKeyword(name) || p.parseEqual())
    return failure();
  return p.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
    size_t before = flat.size();
    auto one = [&]() { return p.parseInteger(flat.emplace_back()); };
    if (p.parseCommaSeparatedList(AsmParser::Delimiter::Square, one))
      return failure();
    if (flat.size() - before != 3)
      return p.emitError(p.getCurrentLocation(), "a digit is [dim, stride, size]");
    return success();
  });
}

Attribute LayoutAttr::parse(AsmParser &p, Type) {
  SmallVector<int64_t> reg, lane, warp;
  if (p.parseLess() || parseDigits(p, "reg", reg) || parseDigits(p, "lane", lane) || parseDigits(p, "warp", warp) || p.parseGreater())
    return {};
  return LayoutAttr::get(p.getContext(), reg, lane, warp);
}

LayoutAttr tile::toAttr(MLIRContext *context, const Layout &l) {
  return LayoutAttr::get(context, flatten(l.reg), flatten(l.lane), flatten(l.warp));
}
Layout tile::fromAttr(LayoutAttr a) { return {unflatten(a.getReg()), unflatten(a.getLane()), unflatten(a.getWarp())}; }
Layout tile::getLayout(Value v) { return fromAttr(cast<LayoutAttr>(cast<RankedTensorType>(v.getType()).getEncoding())); }
RankedTensorType tile::withLayout(RankedTensorType type, const Layout &layout) {
  return RankedTensorType::get(type.getShape(), type.getElementType(), toAttr(type.getContext(), layout));
}
