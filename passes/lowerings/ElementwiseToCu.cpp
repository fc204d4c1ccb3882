// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elementwise ops, copies and slices of tiles: runs of ops with one layout become one loop over a
// thread's registers.
#include "ir/cu/Marks.h"
#include "ir/tile/Marks.h"
#include "ir/tile/States.h"
#include "passes/analysis/Reduction.h"
#include "passes/lowerings/FunctionLowering.h"
#include "support/Target.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace kernelc {

using namespace tile;

bool isMostlyNeutral(Operation *op) { return isa<ScaleOp>(op) || kMostlyZero.isOn(op); }

bool isElementwise(Operation *op) {
  if (op->getNumResults() == 0 || !isa<RankedTensorType>(op->getResult(0).getType()) || isRematerialized(op))
    return false;
  return isa<BroadcastOp, tile::ConvertOp, CombineOp>(op) || (op->hasTrait<OpTrait::Elementwise>() && !isMostlyNeutral(op));
}

/// The element of `tile` at the open digits, once a run: it stores behind all that it reads.
Value FunctionLowering::fetch(Value tile, const OpenDigits &open, llvm::DenseMap<Value, Value> &inRun) {
  auto [known, isNew] = inRun.try_emplace(tile);
  if (isNew)
    known->second = c_.element(tile, open, tile.getLoc());
  return known->second;
}

void FunctionLowering::scalarOp(Operation *op, const OpenDigits &open, llvm::DenseMap<Value, Value> &inRun) {
  SmallVector<Value> operands;
  for (Value v : op->getOperands())
    operands.push_back(fetch(v, open, inRun));
  if (isa<BroadcastOp>(op)) {
    inRun[op->getResult(0)] = operands[0];
  } else if (auto convert = dyn_cast<tile::ConvertOp>(op)) {
    inRun[convert] =
        cu::ConvertOp::create(b_, op->getLoc(), convert.getResult().getType().getElementType(), operands[0], convert.getToUnsigned());
  } else if (auto combine = dyn_cast<CombineOp>(op)) {
    if (operands.size() == 2) {
      inRun[op->getResult(0)] = te::combine(combine.getKind(), operands[0], operands[1], b_, op->getLoc());
    } else {
      auto [key, position] = te::combineArg(combine.getKind(), operands[0], operands[1], operands[2], operands[3], b_, op->getLoc());
      inRun[op->getResult(0)] = key;
      inRun[op->getResult(1)] = position;
    }
  } else {
    OperationState state(op->getLoc(), op->getName());
    state.addOperands(operands);
    state.addAttributes(op->getAttrs());
    for (Type t : op->getResultTypes())
      state.addTypes(cast<RankedTensorType>(t).getElementType());
    Operation *scalar = b_.create(state);
    if (scalar->getNumResults() == 1 && scalar->getResult(0).getType().isIndex())
      cu::kComputed.putOn(scalar);
    for (auto [from, to] : llvm::zip(op->getResults(), scalar->getResults()))
      inRun[from] = to;
  }
}

/// What the registers of `v` are called: by the source's name, else by where they are stored.
std::string FunctionLowering::nameOf(Value v) {
  if (StringRef name = cu::findName(v.getLoc()); !name.empty()) {
    std::string type;
    llvm::raw_string_ostream(type) << cast<RankedTensorType>(v.getType()).getElementType();
    return c_.registerName(name, "_" + type);
  }
  for (Operation *user : v.getUsers()) {
    auto store = dyn_cast<StoreOp>(user);
    auto stage = dyn_cast<RingStoreOp>(user);
    if (auto scatter = dyn_cast<ScatterOp>(user); scatter && scatter.getValue() == v)
      if (StringRef name = cu::findName(scatter.getBase().getLoc()); !name.empty())
        return (name + "_r").str();
    StringRef name = store ? cu::findName(store.getBase().getLoc()) : stage ? cu::findName(stage.getRing().getLoc()) : StringRef();
    if (!name.empty())
      return (name + "_r").str();
  }
  return ""; // by what computes it (codegen/Roles.cpp)
}

/// Whether `op` masks a product's results that fill more than half of a thread's registers: beside them there is no place for others.
static bool masksMostRegisters(arith::SelectOp op, const Layout &layout) {
  const Target *target = findTarget(op->getParentOfType<FuncOp>().getTarget().str());
  return op.getTrueValue().getDefiningOp<DotWaitOp>() && target && 2 * layout.numRegisters() > target->maxRegistersPerThread;
}

/// The registers that a sum, or a mask of many, goes on in: those of what it adds to or masks, which nobody reads later. Null where there
/// are none.
RegTile FunctionLowering::registersToGoOnIn(Operation *op, const Layout &layout) {
  auto combine = dyn_cast<CombineOp>(op);
  auto mask = dyn_cast<arith::SelectOp>(op);
  bool isMask = mask && masksMostRegisters(mask, layout);
  Value sum = isMask ? mask.getTrueValue() : combine && combine.getInputs().size() == 2 ? combine.getInputs()[0] : Value();
  Operation *before = sum ? sum.getDefiningOp() : nullptr;
  if (!before || c_.readAs.contains(sum) || !sum.hasOneUse() || before->getBlock() != op->getBlock() || inPlace_.contains(sum) ||
      (!isElementwise(before) && !isMask))
    return {};
  RegTile registers = c_.tiles.lookup(sum);
  return registers.array && !registers.first && registers.layout == layout ? registers : RegTile();
}

/// Whether products of the block may run while `op` is computed: one behind it, or of the round before. Behind a loop of products, and a
/// last round that was taken out of it, none does.
static bool isBesideProducts(Operation *op) {
  auto multiplies = [](Operation &inner) { return isa<DotOp, DotWaitOp>(inner); };
  Block &block = *op->getBlock();
  bool isBehindLoop = llvm::any_of(block.getOps<scf::ForOp>(),
                                   [&](scf::ForOp loop) { return loop->isBeforeInBlock(op) && llvm::any_of(*loop.getBody(), multiplies); });
  return llvm::any_of(block, [&](Operation &other) { return multiplies(other) && (!isBehindLoop || op->isBeforeInBlock(&other)); });
}

/// Whether all who read `op` behind its run take one element at a time, while what it repeats still is where it was: then that needs
/// no registers of its own. Beside products it keeps its run, so that the loop behind waits has one thing to do.
static bool isReadAtItsSource(BroadcastOp op, const llvm::SmallPtrSetImpl<Operation *> &run, bool isInRegisters) {
  if (isBesideProducts(op))
    return false;
  Operation *last = op;
  for (Operation *user : op->getUsers()) {
    if (run.contains(user))
      continue;
    if (!isElementwise(user) && !isa<ScatterOp>(user))
      return false;
    if (isInRegisters && user->getBlock() != op->getBlock())
      return false;
    last = last->getBlock() == user->getBlock() && last->isBeforeInBlock(user) ? user : last;
  }
  for (Operation *between = op; isInRegisters && between != last; between = between->getNextNode())
    if (!isStraight(between) || isa<DotOp>(between))
      return false;
  return true;
}

/// Elementwise ops of one layout, one loop.
void FunctionLowering::lowerRun(ArrayRef<Operation *> run) {
  llvm::SmallPtrSet<Operation *, 16> members(run.begin(), run.end());
  Layout layout = getLayout(run.front()->getResult(0));
  std::vector<std::pair<Value, RegTile>> kept;
  for (Operation *op : run)
    for (Value result : op->getResults()) {
      if (llvm::all_of(result.getUsers(), [&](Operation *u) { return members.contains(u); }))
        continue;
      if (auto broadcast = dyn_cast<BroadcastOp>(op); broadcast && !inPlace_.contains(result)) {
        Value input = broadcast.getInput();
        bool isInRegisters = c_.tiles.lookup(input).array && !inPlace_.contains(input) && !isa<BlockArgument>(input);
        if ((isInRegisters || isRematerialized(input.getDefiningOp())) && isReadAtItsSource(broadcast, members, isInRegisters)) {
          c_.readAs[result] = input;
          continue;
        }
      }
      RegTile registers = inPlace_.lookup(result);
      if (!registers.array)
        registers = registersToGoOnIn(op, layout);
      if (!registers.array)
        registers = {layout, c_.allocate(layout.numRegisters(), cast<RankedTensorType>(result.getType()).getElementType(),
                                         c_.named(nameOf(result), op->getLoc()))};
      kept.push_back({result, registers});
    }
  if (kept.empty())
    return;
  Location loc = cu::unnamed(run.back()->getLoc());
  OpenDigits open;
  c_.overDigits(layout.reg, loc, open, [&] {
    llvm::DenseMap<Value, Value> inRun;
    for (Operation *op : run)
      scalarOp(op, open, inRun);
    for (auto &[value, tile] : kept)
      memref::StoreOp::create(b_, loc, inRun.lookup(value), tile.array, c_.registerIndex(tile.layout, open, loc));
  });
  for (auto &[value, tile] : kept)
    c_.tiles[value] = tile;
}

void FunctionLowering::lowerMostlyNeutral(Operation *op) {
  Location loc = cu::unnamed(op->getLoc());
  Value whole = op->getResult(0), by = op->getOperand(1);
  Layout layout = getLayout(whole);
  Type type = cast<RankedTensorType>(whole.getType()).getElementType();
  RegTile result = inPlace_.lookup(whole);
  if (!result.array)
    result = {layout, c_.allocate(layout.numRegisters(), type, c_.named(nameOf(whole), op->getLoc()))};
  copyTile(op->getOperand(0), result.array, loc, layout);
  auto over = [&](llvm::function_ref<void(Value, Value)> body) { // of a register's place, and its factor
    OpenDigits open;
    c_.overDigits(layout.reg, loc, open, [&] {
      llvm::DenseMap<Value, Value> none;
      body(c_.registerIndex(layout, open, loc), fetch(by, open, none));
    });
  };
  Value neutral = arith::ConstantOp::create(b_, loc, cast<TypedAttr>(b_.getFloatAttr(type, isa<ScaleOp>(op) ? 1 : 0)));
  Value zero = c_.index(0, loc), moves = c_.allocate(1, b_.getI1Type(), c_.named("moves", loc));
  memref::StoreOp::create(b_, loc, arith::ConstantOp::create(b_, loc, b_.getBoolAttr(false)), moves, zero);
  over([&](Value, Value factor) {
    Value differs = arith::CmpFOp::create(b_, loc, arith::CmpFPredicate::UNE, factor, neutral);
    Value before = memref::LoadOp::create(b_, loc, moves, zero);
    memref::StoreOp::create(b_, loc, arith::OrIOp::create(b_, loc, before, differs), moves, zero);
  });
  OpBuilder::InsertionGuard guard(b_);
  auto branch = scf::IfOp::create(b_, loc, memref::LoadOp::create(b_, loc, moves, zero), false);
  b_.setInsertionPoint(branch.thenBlock()->getTerminator());
  over([&](Value place, Value factor) {
    Value from = memref::LoadOp::create(b_, loc, result.array, place);
    Value moved = isa<ScaleOp>(op) ? arith::MulFOp::create(b_, loc, from, factor).getResult()
                                   : arith::SubFOp::create(b_, loc, from, factor).getResult();
    memref::StoreOp::create(b_, loc, moved, result.array, place);
  });
  c_.tiles[whole] = result;
}

void FunctionLowering::copyTile(Value from, Value toArray, Location loc, std::optional<Layout> given) {
  Layout layout = given ? *given : getLayout(from);
  OpenDigits open;
  c_.overDigits(layout.reg, loc, open, [&] {
    llvm::DenseMap<Value, Value> none;
    memref::StoreOp::create(b_, loc, fetch(from, open, none), toArray, c_.registerIndex(layout, open, loc));
  });
}

/// Whether only elementwise code reads a part, before anything may write what it is a part of.
static bool isReadInPlace(SliceOp slice) {
  Operation *last = slice;
  for (Operation *user : slice->getUsers()) {
    if (user->getBlock() != slice->getBlock() || !isElementwise(user))
      return false;
    last = last->isBeforeInBlock(user) ? user : last;
  }
  for (Operation *between = slice; between != last; between = between->getNextNode())
    if (!isStraight(between) || isa<DotOp>(between))
      return false;
  return true;
}

/// A part is read where it is. Else its registers are copied: the compiler sees through it once loops are unrolled.
void FunctionLowering::lowerSlice(SliceOp slice) {
  Location loc = cu::unnamed(slice.getLoc());
  RegTile from = c_.tiles.lookup(slice.getInput());
  Layout layout = getLayout(slice.getResult());
  if (isReadInPlace(slice) && !from.first) {
    RegTile part{{}, from.array};
    int64_t weight = 1;
    for (const Digit &d : from.layout.reg) {
      const Digit *own = llvm::find_if(layout.reg, [&](const Digit &p) { return p.dim == d.dim && p.stride == d.stride; });
      int64_t size = own == layout.reg.end() ? 1 : own->size;
      if (size > 1)
        part.layout.reg.push_back(*own);
      if (size < d.size) // what is not walked of the whole's digit
        part.layout.reg.push_back({-1, 0, d.size / size});
      if (d.dim == int64_t(slice.getDim()))
        part.first += slice.getStart() / d.stride % d.size * weight;
      weight *= d.size;
    }
    c_.tiles[slice.getResult()] = part;
    return;
  }
  Value array = c_.allocate(layout.numRegisters(), slice.getResult().getType().getElementType(),
                            c_.named(cu::findName(slice.getLoc()) + "_part", loc));
  OpenDigits open;
  c_.overDigits(layout.reg, loc, open, [&] {
    Value r;
    int64_t weight = 1;
    for (const Digit &d : from.layout.reg) {
      // A digit of the part is the low end of the whole's.
      for (const auto &[digit, v] : open.digits)
        if (digit.dim == d.dim && digit.stride == d.stride)
          r = c_.add(r, c_.mul(v, weight, loc), c_.named("reg", loc));
      if (d.dim == int64_t(slice.getDim()))
        if (int64_t start = slice.getStart() / d.stride % d.size * weight)
          r = c_.add(r, c_.index(start, loc), loc);
      weight *= d.size;
    }
    Value value = memref::LoadOp::create(b_, loc, from.array, r ? r : c_.index(0, loc));
    memref::StoreOp::create(b_, loc, value, array, c_.registerIndex(layout, open, loc));
  });
  c_.tiles[slice.getResult()] = {layout, array};
}

} // namespace kernelc
