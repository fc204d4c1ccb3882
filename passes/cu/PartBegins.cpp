// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/cu/PartBegins.h"

#include "ir/cu/Cu.h"
#include "ir/cu/Marks.h"
#include "passes/cu/AlikeParts.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc {
namespace {

/// e of an operation for which e op x and x op e are x, bit for bit, and known to be so by every compiler; null where there is none.
TypedAttr identityOf(Operation *op) {
  Type type = op->getResult(0).getType();
  auto number = [&](int64_t n) -> TypedAttr { return IntegerAttr::get(type, n); };
  return llvm::TypeSwitch<Operation *, TypedAttr>(op)
      .Case([&](arith::AddFOp) {
        return FloatAttr::get(type, APFloat::getZero(cast<FloatType>(type).getFloatSemantics(), /*Negative=*/true));
      })
      .Case([&](arith::MulFOp) { return FloatAttr::get(type, 1.0); })
      .Case<arith::AddIOp, arith::OrIOp, arith::XOrIOp>([&](Operation *) { return number(0); })
      .Case([&](arith::MulIOp) { return number(1); })
      .Case([&](arith::AndIOp) { return number(-1); })
      .Default([](Operation *) { return TypedAttr(); });
}

/// A store that adds to the element that it writes.
struct Accumulation {
  Operation *sum;
  memref::LoadOp load;
  unsigned operand; ///< of the sum: what was loaded
};
std::optional<Accumulation> findAccumulation(memref::StoreOp store) {
  Operation *sum = store.getValueToStore().getDefiningOp();
  if (!sum || sum->getBlock() != store->getBlock() || sum->getNumOperands() != 2 || !sum->hasOneUse() || !identityOf(sum))
    return std::nullopt;
  for (unsigned i : {0, 1})
    if (auto load = sum->getOperand(i).getDefiningOp<memref::LoadOp>(); load && load.getMemRef() == store.getMemRef() &&
                                                                        load.getIndices() == store.getIndices() && load->hasOneUse() &&
                                                                        load->getBlock() == store->getBlock())
      return Accumulation{sum, load, i};
  return std::nullopt;
}

SmallVector<memref::StoreOp> storesOf(Operation *statement) {
  SmallVector<memref::StoreOp> stores;
  statement->walk([&](memref::StoreOp store) { stores.push_back(store); });
  return stores;
}

/// The statements of an op's block that stand before it, and the one with that number, or the block's end.
size_t placeOf(Operation *op) {
  return llvm::count_if(llvm::make_range(op->getBlock()->begin(), op->getIterator()),
                        [](Operation &before) { return !isScalarExpression(&before); });
}
Operation *statementAt(Block &block, size_t place) {
  for (Operation &op : block)
    if (!isScalarExpression(&op) && place-- == 0)
      return &op;
  return &block.back();
}

/// Whether a thread's own array, made in the statement's block, is neither read nor written before the statement, nor read in it.
bool beginsIn(Value array, Operation *statement) {
  auto made = array.getDefiningOp<memref::AllocaOp>();
  return made && cu::spaceOf(array) == cu::Private && made->getBlock() == statement->getBlock() && made.getType().getRank() == 1 &&
         llvm::all_of(made->getUsers(), [&](Operation *user) {
           Operation *here = statement->getBlock()->findAncestorOpInBlock(*user);
           return here == statement ? isa<memref::StoreOp>(user) : statement->isBeforeInBlock(here);
         });
}

} // namespace

bool PartBegins::add(Operation *first, Operation *second) {
  SmallVector<memref::StoreOp> begins = storesOf(first), goesOn = storesOf(second);
  if (begins.size() != goesOn.size())
    return false;
  size_t before = changes_.size();
  for (auto [store, later] : llvm::zip(begins, goesOn)) {
    std::optional<Accumulation> accumulation = findAccumulation(later);
    if (!accumulation || findAccumulation(store) || store.getMemRef() != later.getMemRef() || !beginsIn(store.getMemRef(), first) ||
        !storesEachOnce(store, first))
      continue;
    // Where the second part loads: parts are compared statement by statement.
    Operation *place = statementAt(*store->getBlock(), placeOf(accumulation->load));
    bool isThere = place->isBeforeInBlock(store) || place == store.getOperation();
    for (Value index : store.getIndices())
      isThere &= index.getParentBlock() != store->getBlock() || !index.getDefiningOp() || index.getDefiningOp()->isBeforeInBlock(place);
    if (!isThere)
      continue;
    Change change{store, store.getValueToStore()};
    change.identity = identityOf(accumulation->sum);
    OpBuilder b(place);
    change.load = cast<memref::LoadOp>(b.clone(*accumulation->load));
    change.load.getIndicesMutable().assign(store.getIndices());
    b.setInsertionPoint(store);
    change.sum = b.clone(*accumulation->sum);
    change.sum->setOperand(accumulation->operand, change.load);
    change.sum->setOperand(1 - accumulation->operand, change.stored);
    store.getValueMutable().set(change.sum->getResult(0));
    changes_.push_back(change);
  }
  return changes_.size() > before;
}

void PartBegins::fill(Operation *place) {
  OpBuilder b(place);
  Location loc = cu::unnamed(place->getLoc());
  auto index = [&](int64_t n) { return arith::ConstantIndexOp::create(b, loc, n); };
  for (Change &change : changes_) {
    auto array = change.store.getMemRef().getDefiningOp<memref::AllocaOp>();
    if (place->isBeforeInBlock(array) || place == array.getOperation())
      array->moveBefore(place);
    if (isa<FloatType>(change.identity.getType()))
      cu::CommentOp::create(b, loc, "Every part adds to what is there: the first to what leaves it as it is.");
    Value identity = arith::ConstantOp::create(b, loc, change.identity);
    if (array.getType().getNumElements() == 1) {
      memref::StoreOp::create(b, loc, identity, array, ValueRange{index(0)});
      continue;
    }
    auto loop = scf::ForOp::create(b, loc, index(0), index(array.getType().getNumElements()), index(1));
    loop.getInductionVar().setLoc(NameLoc::get(b.getStringAttr("reg"), loc));
    cu::kUnroll.putAllOn(loop);
    OpBuilder inside(loop.getBody()->getTerminator());
    memref::StoreOp::create(inside, loc, identity, array, ValueRange{loop.getInductionVar()});
  }
}

void PartBegins::undo() {
  for (Change &change : llvm::reverse(changes_)) {
    change.store.getValueMutable().set(change.stored);
    change.sum->erase();
    change.load->erase();
  }
  changes_.clear();
}

} // namespace kernelc
