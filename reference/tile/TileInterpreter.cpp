// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/tile/TileInterpreter.h"

#include "absl/strings/str_cat.h"
#include "ir/te/TeShape.h"
#include "reference/tile/TileProgram.h"

using namespace mlir;

namespace kernelc::reference {

std::string whereIs(Operation *op) {
  if (auto file = op->getLoc()->findInstanceOf<FileLineColLoc>())
    return absl::StrCat(file.getFilename().str(), ":", file.getLine(), ": ");
  return "";
}

int64_t TileLaunch::evaluate(AffineExpr e, ArrayRef<int64_t> dims) const {
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    return c.getValue();
  if (auto d = dyn_cast<AffineDimExpr>(e))
    return dims[d.getPosition()];
  if (auto s = dyn_cast<AffineSymbolExpr>(e))
    return sizes[s.getPosition()];
  auto pair = cast<AffineBinaryOpExpr>(e);
  int64_t x = evaluate(pair.getLHS(), dims), y = evaluate(pair.getRHS(), dims);
  switch (e.getKind()) {
  case AffineExprKind::Add: return x + y;
  case AffineExprKind::Mul: return x * y;
  default: break;
  }
  if (y == 0)
    return 0;
  int64_t q = x / y, r = x % y;
  bool apart = r != 0 && (r < 0) != (y < 0);
  if (e.getKind() == AffineExprKind::FloorDiv)
    return q - apart;
  if (e.getKind() == AffineExprKind::CeilDiv)
    return q + (r != 0 && !apart);
  return apart ? r + y : r;
}

/// The type of an argument's elements.
static ElementType elementOf(tile::FuncOp func, unsigned i) {
  auto spelled = cast<StringAttr>(func.getArgTypes()[i]);
  if (!spelled.empty())
    return te::getElementType(spelled);
  // Workspaces have no spelled type; that of their elements says enough.
  if (auto memref = dyn_cast<MemRefType>(func.getBlock().getArgument(i).getType()))
    for (int t = 0; t < kNumElementTypes; ++t)
      if (te::getStorageType(func.getContext(), ElementType(t)) == memref.getElementType())
        return ElementType(t);
  return ElementType::i32;
}

static TileLaunch makeLaunch(tile::FuncOp func, absl::Span<const int64_t> sizes, TileMemory &memory, TileArithmetic arithmetic) {
  TileLaunch launch;
  launch.func = func;
  launch.sizes = sizes;
  launch.arithmetic = arithmetic;
  for (unsigned i = 0; i < func.getBlock().getNumArguments(); ++i) {
    auto memref = dyn_cast<MemRefType>(func.getBlock().getArgument(i).getType());
    std::vector<int64_t> shape;
    if (memref)
      for (AffineExpr e : func.getArgShape(i).getResults())
        shape.push_back(launch.evaluate(e, {}));
    ElementType type = elementOf(func, i);
    if (arithmetic == TileArithmetic::Ring && isFloat(type))
      type = ElementType::i32;
    launch.tensors.push_back(memory.tensor(func.getSources()[i], type, shape));
  }
  for (unsigned d = 0; d < func.getRank(); ++d) {
    launch.extents.push_back(launch.evaluate(func.getExtent(d), {}));
    launch.programs.push_back(launch.evaluate(func.getNumPrograms(d), {}));
  }
  int64_t clusters = 1;
  for (int64_t g : func.getGridDims())
    clusters *= launch.programs[g];
  // Few enough that persistent blocks walk more than one tile.
  if (func.getPersistent())
    clusters = std::min<int64_t>(clusters, 3);
  launch.numBlocks = clusters * int64_t(func.getCluster());
  return launch;
}

static absl::Status runBlocks(TileLaunch &launch, TileMemory &memory) {
  tile::FuncOp func = launch.func;
  bool meets = func.walk([](tile::ClusterReduceOp) { return WalkResult::interrupt(); }).wasInterrupted();
  if (meets) {
    int64_t blocks = func.getCluster();
    for (int64_t first = 0; first < launch.numBlocks; first += blocks) {
      TileCluster cluster(blocks);
      absl::Status s = cluster.run([&](int64_t rank) { return TileProgram(launch, first + rank, &cluster).run(); });
      if (!s.ok())
        return s;
    }
    return absl::OkStatus();
  }
  for (int64_t block = 0; block < launch.numBlocks; ++block) {
    memory.forgetOwn();
    if (absl::Status s = TileProgram(launch, block).run(); !s.ok())
      return s;
  }
  return absl::OkStatus();
}

absl::Status runTileFunctions(ModuleOp module, StringRef kernel, absl::Span<const int64_t> sizes, absl::Span<const TensorView> params,
                              TileArithmetic arithmetic) {
  TileMemory memory(params);
  for (auto func : module.getOps<tile::FuncOp>()) {
    if (!func.getKernel().empty() && func.getKernel() != kernel)
      continue;
    if (func.getSizes().size() != sizes.size())
      return absl::UnimplementedError(absl::StrCat(whereIs(func), func.getSymName().str(), " has sizes that the kernel has not"));
    TileLaunch launch = makeLaunch(func, sizes, memory, arithmetic);
    if (absl::Status s = runBlocks(launch, memory); !s.ok())
      return s;
  }
  return absl::OkStatus();
}

} // namespace kernelc::reference
