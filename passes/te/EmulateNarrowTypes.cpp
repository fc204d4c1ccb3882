// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// te-emulate-narrow-types: see Passes.td. Parameters of i4 and u4 as the bytes that hold them; inside the kernel such
// values are an i8 of 0 to 15 each.
#include "passes/Passes.h"

#include "ir/te/TeShape.h"
#include "passes/index/Affine.h"
#include "passes/index/IndexArithmetic.h"
#include "passes/index/Requirements.h"
#include "passes/index/Strides.h"
#include "passes/plan/PlanAttr.h"
#include "passes/te/NibbleValues.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace kernelc {
#define GEN_PASS_DEF_TEEMULATENARROWTYPES
#include "passes/Passes.h.inc"

using namespace te;

namespace {

/// Where the elements of a parameter are in its bytes.
struct Packing {
  enum { Rows, Linear } form = Rows; ///< whole bytes a row; or two to a byte wherever rows end
  AffineMap shape;                   ///< the tensor's, in elements
  SmallVector<AffineExpr> strides;   ///< Linear: in elements
};

class Emulator {
public:
  Emulator(KernelOp kernel, ArrayRef<int64_t> sizeDiv) : kernel_(kernel), context_(kernel.getContext()), symbols_(kernel.getNumSizes()) {
    divisors_ = requiredDivisors(kernel, {sizeDiv, {}});
  }

  LogicalResult run();

private:
  bool isEven(AffineExpr e) { return knownDivisor(e, {divisors_, {}}) % 2 == 0; }
  AffineMap sizesMap(ArrayRef<AffineExpr> results) { return AffineMap::get(0, symbols_, results, context_); }
  AffineExpr constant(int64_t v) { return getAffineConstantExpr(v, context_); }
  AffineExpr product(ArrayRef<AffineExpr> factors) {
    AffineExpr p = constant(1);
    for (AffineExpr f : factors)
      p = p * f;
    return p;
  }
  RankedTensorType bytesType(ArrayRef<AffineExpr> extents) {
    auto extentOf = [](AffineExpr e) {
      auto c = dyn_cast<AffineConstantExpr>(e);
      return c ? c.getValue() : ShapedType::kDynamic;
    };
    return RankedTensorType::get(llvm::map_to_vector(extents, extentOf), IntegerType::get(context_, 8));
  }
  Type withBytes(Type t) { return cast<RankedTensorType>(t).clone(IntegerType::get(context_, 8)); }

  Packing packingOf(int64_t param, AffineMap shape);
  AffineMap bytesShape(const Packing &p);
  void takeArguments();
  LogicalResult packOutputs();

  // Values of bodies
  LogicalResult convert(Operation *op);
  LogicalResult convertRead(ReadOp read);
  /// A byte, and by how many bits to shift it to see the nibble that is meant.
  struct Nibble {
    Value byte, shift;
  };
  /// Where a read's element lies; nothing where a subscript cannot be spelled.
  std::optional<Nibble> findInRow(OpBuilder &b, ReadOp read, const Packing &p, Value padding);
  std::optional<Nibble> findByNumber(OpBuilder &b, ReadOp read, const Packing &p, Value padding);
  /// 4 (index mod 2)
  Value shiftOf(OpBuilder &b, Location loc, Value index);
  Value packRow(OpBuilder &b, Location loc, Value elements, ValueRange dims);
  Value packByNumber(OpBuilder &b, Location loc, const Packing &p, Value elements, Value n, Value before);
  Value indexOf(OpBuilder &b, Location loc, AffineExpr e) { return SizeOp::create(b, loc, b.getIndexType(), sizesMap(e)); }
  Value inside(OpBuilder &b, Location loc, Value subscript, AffineExpr extent);
  Value resolve(OpBuilder &b, Location loc, Value subscript, AffineExpr extent, BoundsMode mode);
  Value unpacked(Value param);
  ComputeOp makeCompute(Location loc, StringRef name, ArrayRef<AffineExpr> extents);
  Value readAt(OpBuilder &b, Location loc, Value tensor, ValueRange operands, ArrayRef<AffineExpr> subscripts, Value padding);

  KernelOp kernel_;
  MLIRContext *context_;
  unsigned symbols_;
  SmallVector<int64_t> divisors_;
  NibbleValues values_;
  llvm::DenseMap<Value, Packing> params_; ///< arguments that are bytes now
  llvm::DenseMap<Value, Value> whole_;    ///< of an argument: its elements, a byte each
};

Packing Emulator::packingOf(int64_t param, AffineMap shape) {
  Packing p;
  p.shape = shape;
  AffineMap strides = getParamStrides(kernel_, param);
  ArrayRef<AffineExpr> dims = shape.getResults();
  if (dims.empty())
    return p;
  bool rows = isEven(dims.back()) && (!strides || strides.getResults().back() == constant(1));
  if (strides)
    rows &= llvm::all_of(strides.getResults().drop_back(), [&](AffineExpr s) { return isEven(s); });
  if (rows)
    return p;
  p.form = Packing::Linear;
  if (strides)
    llvm::append_range(p.strides, strides.getResults());
  else
    for (size_t d = 0; d < dims.size(); ++d)
      p.strides.push_back(product(dims.drop_front(d + 1)));
  return p;
}

/// x: i4[M, N]  →  x: u8[M, N / 2], or u8[(M * N + 1) / 2]
AffineMap Emulator::bytesShape(const Packing &p) {
  SmallVector<AffineExpr> dims(p.shape.getResults());
  if (p.form == Packing::Linear) {
    // Of a view only subscripts inside are asked for: any bound will do that holds for all of them.
    bool dense = p.strides.back() == constant(1);
    for (size_t d = 0; d + 1 < dims.size(); ++d)
      dense &= p.strides[d] == product(ArrayRef(dims).drop_front(d + 1));
    constexpr int64_t kLargest = int64_t(1) << 61;
    return sizesMap(dense ? product(dims).ceilDiv(2) : constant(kLargest));
  }
  if (!dims.empty())
    dims.back() = simplifyAffineExpr(dims.back().floorDiv(2), 0, symbols_);
  return sizesMap(dims);
}

void Emulator::takeArguments() {
  SmallVector<Attribute> types(kernel_.getArgTypes().getValue()), shapes(kernel_.getArgShapes().getValue());
  OpBuilder b(context_);
  for (BlockArgument arg : kernel_.getBlock().getArguments()) {
    unsigned i = arg.getArgNumber();
    if (!isNibble(arg.getType()))
      continue;
    types[i] = b.getStringAttr("u8");
    if (!isa<RankedTensorType>(arg.getType())) { // a scalar: what its byte holds beside it is not ours
      arg.setType(b.getI8Type());
      for (OpOperand &use : llvm::make_early_inc_range(arg.getUses())) {
        b.setInsertionPoint(use.getOwner());
        use.set(values_.lowBits(b, use.getOwner()->getLoc(), arg));
      }
      continue;
    }
    Packing p = packingOf(i, kernel_.getArgShape(i));
    AffineMap shape = bytesShape(p);
    arg.setType(bytesType(shape.getResults()));
    shapes[i] = AffineMapAttr::get(shape);
    setBytesStrides(kernel_, i, p.form == Packing::Rows);
    params_[arg] = std::move(p);
  }
  kernel_.setArgTypesAttr(b.getArrayAttr(types));
  kernel_.setArgShapesAttr(b.getArrayAttr(shapes));
}

LogicalResult Emulator::run() {
  bool any = llvm::any_of(kernel_.getBlock().getArgumentTypes(), isNibble);
  kernel_.walk([&](Operation *op) { any |= llvm::any_of(op->getResultTypes(), isNibble); });
  if (!any)
    return success();
  takeArguments();
  SmallVector<Operation *> ops;
  kernel_.walk([&](Operation *op) { ops.push_back(op); });
  for (Operation *op : ops)
    if (failed(convert(op)))
      return failure();
  return packOutputs();
}

LogicalResult Emulator::convert(Operation *op) {
  if (op == kernel_ || isa<ReturnOp, YieldOp>(op))
    return success();
  if (auto read = dyn_cast<ReadOp>(op))
    return convertRead(read);
  if (!isDomainOp(op))
    return values_.convert(op);
  bool any = llvm::any_of(op->getResultTypes(), isNibble);
  if (any && !isa<ComputeOp>(op))
    return op->emitError() << "reductions of " << getElementTypeOrSelf(op->getResult(0).getType())
                           << " are not supported by the GPU pipeline yet; the reference runs them";
  if (any) {
    auto compute = cast<ComputeOp>(op);
    if (compute.getInit() && params_.contains(compute.getInit()))
      compute.getInitMutable().assign(unpacked(compute.getInit()));
    compute.getResult().setType(cast<RankedTensorType>(withBytes(compute.getResult().getType())));
  }
  return success();
}

Value Emulator::inside(OpBuilder &b, Location loc, Value subscript, AffineExpr extent) {
  Value zero = arith::ConstantIndexOp::create(b, loc, 0);
  Value low = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, subscript, zero);
  Value high = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, subscript, indexOf(b, loc, extent));
  return arith::AndIOp::create(b, loc, low, high);
}

/// The subscript that `mode` reads in place of one that lies outside.
Value Emulator::resolve(OpBuilder &b, Location loc, Value s, AffineExpr extent, BoundsMode mode) {
  auto index = [&](int64_t v) -> Value { return arith::ConstantIndexOp::create(b, loc, v); };
  auto floorMod = [&](Value x, Value y) -> Value {
    Value q = arith::FloorDivSIOp::create(b, loc, x, y);
    return arith::SubIOp::create(b, loc, x, arith::MulIOp::create(b, loc, q, y));
  };
  if (mode == BoundsMode::Wrap)
    return floorMod(s, indexOf(b, loc, extent));
  if (mode == BoundsMode::Reflect) { // period 2 (n - 1), the second half backwards
    Value period = arith::MaxSIOp::create(b, loc, index(1), indexOf(b, loc, (extent - 1) * 2));
    Value r = floorMod(s, period);
    s = arith::MinSIOp::create(b, loc, r, arith::SubIOp::create(b, loc, period, r));
  }
  if (mode == BoundsMode::Reflect || mode == BoundsMode::Edge)
    s = arith::MaxSIOp::create(b, loc, index(0), arith::MinSIOp::create(b, loc, s, indexOf(b, loc, extent - 1)));
  return s;
}

Value Emulator::readAt(OpBuilder &b, Location loc, Value tensor, ValueRange operands, ArrayRef<AffineExpr> subscripts, Value padding) {
  SmallVector<AffineExpr> results;
  for (AffineExpr e : subscripts)
    results.push_back(simplifyAffineExpr(e, operands.size(), symbols_));
  AffineMap map = AffineMap::get(operands.size(), symbols_, results, context_);
  return ReadOp::create(b, loc, b.getI8Type(), tensor, operands, AffineMapAttr::get(map),
                        BoundsModeAttr::get(context_, padding ? BoundsMode::Pad : BoundsMode::InBounds), padding);
}

Value Emulator::shiftOf(OpBuilder &b, Location loc, Value index) {
  Type i32 = b.getI32Type();
  Value n = arith::IndexCastOp::create(b, loc, i32, index);
  Value odd = arith::AndIOp::create(b, loc, n, values_.number(b, loc, 1, i32));
  return arith::ShLIOp::create(b, loc, odd, values_.number(b, loc, 2, i32));
}

/// x[.., n]  →  x[.., n / 2], of which n mod 2 says the nibble.
std::optional<Emulator::Nibble> Emulator::findInRow(OpBuilder &b, ReadOp read, const Packing &p, Value padding) {
  Location loc = read.getLoc();
  SmallVector<Value> operands(read.getOperands_());
  SmallVector<AffineExpr> subscripts(read.getMapOrIdentity().getResults());
  BoundsMode mode = read.getBounds();
  Value shift;
  if (subscripts.empty()) {
    shift = values_.number(b, loc, 0, b.getI32Type());
  } else {
    // What lies outside is so by whole bytes; the nearest or mirrored element has a nibble of its own.
    if (mode == BoundsMode::Edge || mode == BoundsMode::Reflect) {
      Value s = materialize(b, loc, subscripts.back(), operands, symbols_);
      if (!s)
        return std::nullopt;
      subscripts.back() = getAffineDimExpr(operands.size(), context_);
      operands.push_back(resolve(b, loc, s, p.shape.getResults().back(), mode));
    }
    AffineExpr last = subscripts.back(), parity = simplifyAffineExpr(last % 2, operands.size(), symbols_);
    if (auto c = dyn_cast<AffineConstantExpr>(parity)) {
      shift = values_.number(b, loc, c.getValue() * 4, b.getI32Type());
    } else {
      Value s = materialize(b, loc, last, operands, symbols_);
      if (!s)
        return std::nullopt;
      shift = shiftOf(b, loc, s);
    }
    subscripts.back() = last.floorDiv(2);
  }
  Value byte = readAt(b, loc, read.getTensor(), operands, subscripts, padding);
  cast<ReadOp>(byte.getDefiningOp()).setBounds(mode);
  return Nibble{byte, shift};
}

/// x[i, n]  →  x[l / 2] with l = i * stride + n, where bytes hold the end of a row and the start of the next.
std::optional<Emulator::Nibble> Emulator::findByNumber(OpBuilder &b, ReadOp read, const Packing &p, Value padding) {
  Location loc = read.getLoc();
  SmallVector<Value> operands(read.getOperands_());
  BoundsMode mode = read.getBounds();
  Value linear, all;
  for (auto [e, extent, stride] : llvm::zip(read.getMapOrIdentity().getResults(), p.shape.getResults(), p.strides)) {
    Value s = materialize(b, loc, e, operands, symbols_);
    if (!s)
      return std::nullopt;
    if (padding) {
      Value in = inside(b, loc, s, extent);
      all = all ? Value(arith::AndIOp::create(b, loc, all, in)) : in;
    }
    s = resolve(b, loc, s, extent, mode);
    Value term = arith::MulIOp::create(b, loc, s, indexOf(b, loc, stride));
    linear = linear ? Value(arith::AddIOp::create(b, loc, linear, term)) : term;
  }
  // The byte before the tensor is none of its own. Nor has an empty one a nearest element.
  if (all)
    linear = arith::SelectOp::create(b, loc, all, linear, arith::ConstantIndexOp::create(b, loc, -2));
  else if (mode != BoundsMode::InBounds && mode != BoundsMode::Assume)
    padding = values_.number(b, loc, 0, b.getI8Type());
  Value shift = shiftOf(b, loc, linear);
  Value at = arith::ShRSIOp::create(b, loc, linear, arith::ConstantIndexOp::create(b, loc, 1));
  Value byte = readAt(b, loc, read.getTensor(), at, getAffineDimExpr(0, context_), padding);
  if (!padding)
    cast<ReadOp>(byte.getDefiningOp()).setBounds(BoundsMode::Assume);
  return Nibble{byte, shift};
}

LogicalResult Emulator::convertRead(ReadOp read) {
  auto packing = params_.find(read.getTensor());
  if (packing == params_.end()) {
    if (isNibble(read.getResult().getType())) {
      read.getResult().setType(IntegerType::get(context_, 8));
      values_.note(read.getResult());
    }
    return success();
  }
  const Packing &p = packing->second;
  OpBuilder b(read);
  Location loc = read.getLoc();
  Value padding = read.getPadding();
  if (padding)
    padding = values_.bothNibbles(b, loc, padding, padding);
  std::optional<Nibble> nibble = p.form == Packing::Rows ? findInRow(b, read, p, padding) : findByNumber(b, read, p, padding);
  if (!nibble)
    return read.emitError() << "a subscript of an i4 or u4 tensor rounds up, which is not supported by the GPU pipeline yet";
  read.getResult().replaceAllUsesWith(values_.nibbleOf(b, loc, nibble->byte, nibble->shift));
  read.erase();
  return success();
}

ComputeOp Emulator::makeCompute(Location loc, StringRef name, ArrayRef<AffineExpr> extents) {
  OpBuilder b(kernel_.getReturn());
  SmallVector<std::string> names;
  for (size_t d = 0; d < extents.size(); ++d)
    names.push_back("d" + std::to_string(d));
  SmallVector<StringRef> indices(names.begin(), names.end());
  auto compute = ComputeOp::create(b, loc, bytesType(extents), b.getStrArrayAttr(indices), sizesMap(extents), IntegerSetAttr(), Value(),
                                   AffineMapAttr(), AffineMapAttr(), b.getStringAttr(name), false);
  Block &body = compute.getBody().emplaceBlock();
  for (size_t d = 0; d < extents.size(); ++d)
    body.addArgument(b.getIndexType(), loc);
  return compute;
}

/// The elements of an argument that a statement updates in part.
Value Emulator::unpacked(Value param) {
  Value &whole = whole_[param];
  if (whole)
    return whole;
  const Packing &p = params_.at(param);
  unsigned i = cast<BlockArgument>(param).getArgNumber();
  ComputeOp compute =
      makeCompute(param.getLoc(), (cast<StringAttr>(kernel_.getArgNames()[i]).getValue() + "_elements").str(), p.shape.getResults());
  compute->moveBefore(&kernel_.getBlock(), kernel_.getBlock().begin());
  OpBuilder b = OpBuilder::atBlockBegin(&compute.getBlock());
  Location loc = param.getLoc();
  // As the program would read it.
  auto read = ReadOp::create(b, loc, b.getIntegerType(4), param, compute.getBlock().getArguments(), AffineMapAttr(),
                             BoundsModeAttr::get(context_, BoundsMode::InBounds), Value());
  YieldOp::create(b, loc, read.getResult(), Value());
  if (failed(convertRead(read)))
    return {};
  return whole = compute.getResult();
}

/// The byte of elements 2 n and 2 n + 1 of a row, at the point `dims`, the last of which is n.
Value Emulator::packRow(OpBuilder &b, Location loc, Value elements, ValueRange dims) {
  SmallVector<AffineExpr> low;
  for (unsigned d = 0; d < dims.size(); ++d)
    low.push_back(getAffineDimExpr(d, context_));
  SmallVector<AffineExpr> high(low);
  low.back() = low.back() * 2;
  high.back() = high.back() * 2 + 1;
  Value first = readAt(b, loc, elements, dims, low, {});
  return values_.bothNibbles(b, loc, first, readAt(b, loc, elements, dims, high, {}));
}

/// The byte of the elements of numbers 2 n and 2 n + 1, zero behind the last one, or what `before` (or null: nothing) has there.
Value Emulator::packByNumber(OpBuilder &b, Location loc, const Packing &p, Value elements, Value n, Value before) {
  ArrayRef<AffineExpr> extents = p.shape.getResults();
  AffineExpr number = getAffineDimExpr(0, context_);
  Value none = values_.number(b, loc, 0, b.getI8Type());
  auto at = [&](int64_t which) { // by the digits of its number
    SmallVector<Value> digits(extents.size());
    SmallVector<AffineExpr> identity;
    Value rest = materialize(b, loc, number * 2 + which, n, symbols_);
    for (size_t d = extents.size(); d-- > 0;) {
      digits[d] = rest;
      if (d == 0)
        break;
      Value extent = indexOf(b, loc, extents[d]);
      rest = arith::FloorDivSIOp::create(b, loc, rest, extent);
      digits[d] = arith::SubIOp::create(b, loc, digits[d], arith::MulIOp::create(b, loc, rest, extent));
    }
    for (size_t d = 0; d < extents.size(); ++d)
      identity.push_back(getAffineDimExpr(d, context_));
    return readAt(b, loc, elements, digits, identity, none);
  };
  Value first = at(0), second = at(1);
  if (before) {
    Value old = readAt(b, loc, before, n, number, {});
    Value top = arith::ShRUIOp::create(b, loc, old, values_.number(b, loc, 4, b.getI8Type()));
    Value l = materialize(b, loc, number * 2 + 1, n, symbols_);
    Value exists = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, l, indexOf(b, loc, product(extents)));
    second = arith::SelectOp::create(b, loc, exists, second, top);
  }
  return values_.bothNibbles(b, loc, first, second);
}

/// y[.., n] = e(n)  →  y[.., h] = e(2 h) | e(2 h + 1) << 4: one thread writes a byte, once te-simplify has put e in place.
LogicalResult Emulator::packOutputs() {
  SmallVector<Attribute> types(kernel_.getOutTypes().getValue()), shapes(kernel_.getOutShapes().getValue());
  ReturnOp ret = kernel_.getReturn();
  int64_t next = kernel_.getBlock().getNumArguments();
  for (auto [o, operand] : llvm::enumerate(ret->getOpOperands())) {
    int64_t alias = kernel_.getAlias(o), param = alias >= 0 ? alias : next++;
    ElementType type = getElementType(cast<StringAttr>(types[o]));
    if (type != ElementType::i4 && type != ElementType::u4)
      continue;
    OpBuilder b(ret);
    StringRef name = cast<StringAttr>(kernel_.getOutNames()[o]).getValue();
    Packing p = alias >= 0 ? params_.at(kernel_.getBlock().getArgument(alias)) : packingOf(param, kernel_.getOutShape(o));
    AffineMap shape = bytesShape(p);
    types[o] = b.getStringAttr("u8");
    shapes[o] = AffineMapAttr::get(shape);
    if (p.form == Packing::Linear && getParamStrides(kernel_, param))
      return kernel_.emitError() << "'" << name << "' is written a byte at a time, so that it has to be dense, or have rows of whole bytes";
    if (alias < 0)
      setBytesStrides(kernel_, param, p.form == Packing::Rows);
    Value elements = operand.get();
    if (isa<BlockArgument>(elements))
      continue; // as it was
    Location loc = elements.getLoc();
    ComputeOp pack = makeCompute(loc, name, shape.getResults());
    b.setInsertionPointToStart(&pack.getBlock());
    ValueRange dims = pack.getBlock().getArguments();
    Value byte = dims.empty() ? readAt(b, loc, elements, {}, {}, {})
                 : p.form == Packing::Rows
                     ? packRow(b, loc, elements, dims)
                     : packByNumber(b, loc, p, elements, dims[0], alias >= 0 ? kernel_.getBlock().getArgument(alias) : Value());
    YieldOp::create(b, loc, byte, Value());
    operand.set(pack.getResult());
  }
  OpBuilder b(context_);
  kernel_.setOutTypesAttr(b.getArrayAttr(types));
  kernel_.setOutShapesAttr(b.getArrayAttr(shapes));
  return success();
}

struct TeEmulateNarrowTypesPass : impl::TeEmulateNarrowTypesBase<TeEmulateNarrowTypesPass> {
  using Base::Base;
  void runOnOperation() override {
    SmallVector<int64_t> div(sizeDiv.begin(), sizeDiv.end());
    if (failed(checkSizeFacts(getOperation(), div, {})))
      return signalPassFailure();
    div.resize(getOperation().getNumSizes(), 1);
    if (failed(Emulator(getOperation(), div).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace kernelc
