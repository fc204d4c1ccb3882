// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Asks the CPU device for more than the kernel returns: first for what every statement gives, then, at the point of the first
// value that is not finite, for all that its statement reads there. Both are kernels with further outputs; no arithmetic is done twice.
#include "driver/verify/NonFinite.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "driver/compile/SourceLocOf.h"
#include "driver/jit/JitKernelImpl.h"
#include "ir/te/TeShape.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"

namespace kernelc {
namespace {

using namespace mlir;
using te::ReadOp;
using Index = std::vector<int64_t>;

std::string indexText(const Index &at) { return absl::StrCat("[", absl::StrJoin(at, ", "), "]"); }
std::string numberText(double v) {
  return std::isnan(v) ? std::string("nan") : std::isinf(v) ? std::string(v < 0 ? "-inf" : "inf") : absl::StrFormat("%.9g", v);
}

/// The kernel with further outputs, run once.
class Probe {
public:
  explicit Probe(te::KernelOp source) : module_(ModuleOp::create(source.getLoc())) {
    kernel_ = cast<te::KernelOp>(source->clone());
    module_->push_back(kernel_);
    statements_ = te::getDomainOps(kernel_);
  }

  te::KernelOp kernel() { return kernel_; }
  ArrayRef<Operation *> statements() const { return statements_; }

  /// Has the kernel return `tensor`, of f32, f64 or i64; the number of the output.
  size_t add(Value tensor) {
    Builder b(kernel_->getContext());
    Type element = cast<RankedTensorType>(tensor.getType()).getElementType();
    auto append = [&](ArrayAttr list, Attribute a) {
      SmallVector<Attribute> all(list.getValue());
      all.push_back(a);
      return b.getArrayAttr(all);
    };
    size_t number = kernel_.getOutNames().size();
    StringRef type = element.isF64() ? "f64" : element.isF32() ? "f32" : "i64";
    if (!kernel_.getOutAlias().empty()) {
      SmallVector<int64_t> alias(kernel_.getOutAlias());
      alias.push_back(-1);
      kernel_.setOutAlias(alias);
    }
    kernel_.setOutNamesAttr(append(kernel_.getOutNames(), b.getStringAttr(absl::StrCat("probe ", number))));
    kernel_.setOutTypesAttr(append(kernel_.getOutTypes(), b.getStringAttr(type)));
    kernel_.setOutShapesAttr(append(kernel_.getOutShapes(), AffineMapAttr::get(te::getTensorShape(tensor))));
    kernel_.getReturn()->insertOperands(kernel_.getReturn().getNumOperands(), tensor);
    return number;
  }

  absl::Status run(absl::Span<const HostTensor> tensors, const Kernel &signature, absl::Span<const int64_t> sizes, ThreadPool *pool) {
    absl::StatusOr<std::shared_ptr<CpuKernel>> code = compileForCpu(kernel_, reference::Arithmetic::Own);
    if (!code.ok())
      return code.status();
    std::vector<TensorView> args, views;
    for (size_t i = 0; i < tensors.size(); ++i)
      if (signature.params[i].kind != ParamKind::Output)
        args.push_back(tensors[i].view());
    for (unsigned o = 0; o < (*code)->code->numOutputs(); ++o) {
      outs_.emplace_back((*code)->code->outputType(o), (*code)->code->outputShape(o, sizes));
      if (!outs_.back().data())
        return absl::ResourceExhaustedError("no memory for what the statements give");
      views.push_back(outs_.back().view());
    }
    return (*code)->code->run(sizes, args, views, pool);
  }

  const HostTensor &out(size_t number) const { return outs_[number]; }
  static double at(const HostTensor &t, int64_t e) {
    return t.type() == ElementType::f64 ? t.as<double>()[e] : t.type() == ElementType::f32 ? t.as<float>()[e] : double(t.as<int64_t>()[e]);
  }

private:
  OwningOpRef<ModuleOp> module_;
  te::KernelOp kernel_;
  SmallVector<Operation *> statements_;
  std::vector<HostTensor> outs_;
};

Index pointOf(int64_t element, const std::vector<int64_t> &shape) {
  Index at(shape.size());
  for (size_t d = shape.size(); d-- > 0; element /= shape[d])
    at[d] = element % shape[d];
  return at;
}

/// `v` in f32, or in f64 where it is.
Value widen(OpBuilder &b, Value v) {
  bool isWide = v.getType().isF32() || v.getType().isF64();
  return isWide ? v : Value(arith::ExtFOp::create(b, v.getLoc(), b.getF32Type(), v));
}

/// A statement behind all others over these indices; `body` gives its value.
te::ComputeOp makeCompute(te::KernelOp kernel, ArrayRef<Attribute> names, ArrayRef<AffineExpr> extents, Location loc,
                          llvm::function_ref<Value(OpBuilder &, Block &)> body) {
  OpBuilder b(kernel.getReturn());
  auto op = te::ComputeOp::create(b, loc, RankedTensorType::get(SmallVector<int64_t>(names.size(), ShapedType::kDynamic), b.getF32Type()),
                                  b.getArrayAttr(names), AffineMap::get(0, kernel.getNumSizes(), extents, b.getContext()), IntegerSetAttr(),
                                  Value(), AffineMapAttr(), AffineMapAttr(), StringAttr(), false);
  Block &block = op.getBody().emplaceBlock();
  for (size_t d = 0; d < names.size(); ++d)
    block.addArgument(b.getIndexType(), loc);
  OpBuilder inside = OpBuilder::atBlockEnd(&block);
  Value v = body(inside, block);
  te::YieldOp::create(inside, loc, v, Value());
  auto type = cast<RankedTensorType>(op.getResult().getType());
  op.getResult().setType(RankedTensorType::get(type.getShape(), v.getType()));
  return op;
}

/// What a statement gives, in a type that is read easily.
Value copyOf(te::KernelOp kernel, Value result) {
  AffineMap shape = te::getTensorShape(result);
  SmallVector<Attribute> names;
  for (unsigned d = 0; d < shape.getNumResults(); ++d)
    names.push_back(StringAttr::get(kernel->getContext(), absl::StrCat("d", d)));
  return makeCompute(kernel, names, shape.getResults(), result.getLoc(),
                     [&](OpBuilder &b, Block &block) {
                       SmallVector<Value> at(block.getArguments());
                       return widen(b, ReadOp::create(b, result.getLoc(), cast<RankedTensorType>(result.getType()).getElementType(), result,
                                                      at, AffineMapAttr(),
                                                      te::BoundsModeAttr::get(b.getContext(), te::BoundsMode::InBounds), Value()));
                     })
      .getResult();
}

bool holdsFloats(Value tensor) { return isa<FloatType>(cast<RankedTensorType>(tensor.getType()).getElementType()); }

std::string nameOf(Value tensor, te::KernelOp kernel) {
  if (te::RecurrenceOp own = te::findRecurrence(tensor))
    return own.getName().value_or("the statement's value").str();
  if (auto arg = dyn_cast<BlockArgument>(tensor))
    return cast<StringAttr>(kernel.getArgNames()[arg.getArgNumber()]).getValue().str();
  auto name = tensor.getDefiningOp()->getAttrOfType<StringAttr>("name");
  return name ? name.getValue().str() : "the statement's value";
}

/// The first element of each kind, and where a tensor's came from.
struct Found {
  size_t statement = 0;
  unsigned result = 0;
  Index at;
  double value = 0;
};

/// What a statement reads at one point: of a reduction at each point that it reduces there.
class PointProbe {
public:
  PointProbe(te::KernelOp source, const Found &found, absl::Span<const int64_t> sizes)
      : probe_(source), op_(probe_.statements()[found.statement]), sizes_(sizes) {
    if (auto compute = dyn_cast<te::ComputeOp>(op_))
      known_ = invert(compute.getOutMapOrIdentity(), found.at);
    else if (auto reduce = dyn_cast<te::ReduceOp>(op_))
      known_ = invert(reduce.getOutMapOrIdentity(), found.at);
    else if (isa<te::FoldOp>(op_))
      known_ = found.at;
  }

  /// Lines; empty where the point's reads are not known.
  absl::StatusOr<std::string> run(absl::Span<const HostTensor> tensors, const Kernel &signature, ThreadPool *pool) {
    if (!known_)
      return std::string();
    Block &body = op_->getRegion(0).front();
    for (Operation &op : body)
      if (auto read = dyn_cast<ReadOp>(op); read && holdsFloats(read.getTensor()))
        ask(read);
    if (asked_.empty())
      return std::string();
    absl::Status ran = probe_.run(tensors, signature, sizes_, pool);
    if (!ran.ok())
      return ran;
    return isReduction() ? reducedText() : pointText(0);
  }

private:
  struct Asked {
    ReadOp read;
    size_t value;
    SmallVector<size_t> operands;
  };

  bool isReduction() { return op_->getRegion(0).front().getNumArguments() > known_->size(); }

  /// The point whose element lies at `at`, where each subscript is an index and a number.
  static std::optional<Index> invert(AffineMap map, const Index &at) {
    Index point(map.getNumDims(), 0);
    llvm::SmallBitVector seen(map.getNumDims());
    for (auto [e, to] : llvm::zip(map.getResults(), at)) {
      AffineExpr left = e;
      if (auto sum = dyn_cast<AffineBinaryOpExpr>(e); sum && sum.getKind() == AffineExprKind::Add && isa<AffineConstantExpr>(sum.getRHS()))
        left = sum.getLHS();
      auto shift = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(e - left, map.getNumDims(), map.getNumSymbols()));
      if (auto dim = dyn_cast<AffineDimExpr>(left); dim && shift && !seen[dim.getPosition()]) {
        seen.set(dim.getPosition());
        point[dim.getPosition()] = to - shift.getValue();
      } else if (!isa<AffineConstantExpr>(e)) {
        return std::nullopt;
      }
    }
    return seen.all() ? std::optional(point) : std::nullopt;
  }

  /// A statement over what is reduced that gives `v` of the body; reads stay inside, whatever the point.
  size_t give(Value v, Location loc) {
    Block &body = op_->getRegion(0).front();
    SmallVector<Attribute> names;
    SmallVector<AffineExpr> extents;
    for (size_t d = known_->size(); d < body.getNumArguments(); ++d) {
      names.push_back(te::getIndices(op_)[d]);
      extents.push_back(te::getExtents(op_).getResult(unsigned(d)));
    }
    te::ComputeOp made = makeCompute(probe_.kernel(), names, extents, loc, [&](OpBuilder &b, Block &block) -> Value {
      IRMapping mapping;
      for (auto [d, arg] : llvm::enumerate(body.getArguments()))
        mapping.map(arg, d < known_->size() ? Value(arith::ConstantIndexOp::create(b, loc, (*known_)[d]))
                                            : Value(block.getArgument(unsigned(d - known_->size()))));
      for (Operation &op : body.without_terminator()) {
        Operation *copy = b.clone(op, mapping);
        if (auto read = dyn_cast<ReadOp>(copy); read && read.getBounds() != te::BoundsMode::Pad) {
          OpBuilder before(copy);
          read.setBounds(te::BoundsMode::Pad);
          read.getPaddingMutable().assign(
              arith::ConstantOp::create(before, loc, cast<TypedAttr>(before.getZeroAttr(read.getResult().getType()))));
        }
      }
      Value own = mapping.lookupOrDefault(v);
      return isa<FloatType>(own.getType()) ? widen(b, own) : Value(arith::IndexCastOp::create(b, loc, b.getI64Type(), own));
    });
    return probe_.add(made.getResult());
  }

  void ask(ReadOp read) {
    Asked a{read, give(read.getResult(), read.getLoc()), {}};
    for (Value v : read.getOperands_())
      a.operands.push_back(give(v, read.getLoc()));
    asked_.push_back(std::move(a));
  }

  /// `x[3, 17] = inf`
  std::string readText(const Asked &a, int64_t element) {
    SmallVector<Attribute> operands;
    MLIRContext *context = op_->getContext();
    SmallVector<AffineExpr> numbers, symbols;
    for (size_t number : a.operands)
      numbers.push_back(getAffineConstantExpr(int64_t(Probe::at(probe_.out(number), element)), context));
    for (int64_t s : sizes_)
      symbols.push_back(getAffineConstantExpr(s, context));
    Index at;
    ReadOp read = a.read;
    for (AffineExpr e : read.getMapOrIdentity().getResults())
      if (auto c = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(e.replaceDimsAndSymbols(numbers, symbols), 0, 0)))
        at.push_back(c.getValue());
    return absl::StrCat(nameOf(read.getTensor(), probe_.kernel()), indexText(at), " = ",
                        numberText(Probe::at(probe_.out(a.value), element)));
  }

  std::string pointText(int64_t element) {
    std::vector<std::string> texts;
    for (const Asked &a : asked_)
      if (std::string text = readText(a, element); !llvm::is_contained(texts, text))
        texts.push_back(std::move(text));
    return absl::StrCat("  it reads ", absl::StrJoin(texts, ", "), "\n");
  }

  bool counts(int64_t element, const std::vector<int64_t> &shape) {
    std::optional<IntegerSet> set = te::getCondition(op_);
    if (!set)
      return true;
    SmallVector<AffineExpr> dims, symbols;
    for (int64_t d : *known_)
      dims.push_back(getAffineConstantExpr(d, op_->getContext()));
    for (int64_t d : pointOf(element, shape))
      dims.push_back(getAffineConstantExpr(d, op_->getContext()));
    for (int64_t s : sizes_)
      symbols.push_back(getAffineConstantExpr(s, op_->getContext()));
    for (unsigned c = 0; c < set->getNumConstraints(); ++c) {
      auto v = dyn_cast<AffineConstantExpr>(simplifyAffineExpr(set->getConstraint(c).replaceDimsAndSymbols(dims, symbols), 0, 0));
      if (v && (v.getValue() < 0 || (set->isEq(c) && v.getValue())))
        return false;
    }
    return true;
  }

  /// The first term whose reads are not finite, or that all are.
  std::string reducedText() {
    const HostTensor &first = probe_.out(asked_.front().value);
    int64_t terms = 0;
    for (int64_t e = 0; e < first.numElements(); ++e) {
      bool isFinite = llvm::all_of(asked_, [&](const Asked &a) { return std::isfinite(Probe::at(probe_.out(a.value), e)); });
      if (isFinite && !te::getCondition(op_)) {
        ++terms;
        continue;
      }
      if (!counts(e, first.shape()))
        continue;
      ++terms;
      if (!isFinite)
        return absl::StrCat("  of what it reduces the first that is not finite: ", pointText(e).substr(strlen("  it reads ")));
    }
    return absl::StrCat("  all that its ", terms, " terms read is finite\n");
  }

  Probe probe_;
  Operation *op_;
  absl::Span<const int64_t> sizes_;
  std::optional<Index> known_; ///< the values of the statement's first indices
  std::vector<Asked> asked_;
};

/// Whether later statements go on from `result` in its place.
bool isUpdated(Value result) {
  return llvm::any_of(result.getUsers(), [&](Operation *user) { return te::isDomainOp(user) && te::findInit(user) == result; });
}

bool isInout(te::KernelOp kernel, BlockArgument arg) { // (what it holds is gone once the statements have run)
  return llvm::any_of(llvm::seq<unsigned>(0, kernel.getOutNames().size()),
                      [&](unsigned o) { return kernel.getAlias(o) == int64_t(arg.getArgNumber()); });
}

class Finder {
public:
  Finder(te::KernelOp source, const Kernel &signature, absl::Span<const HostTensor> tensors, absl::Span<const int64_t> sizes,
         ThreadPool *pool)
      : source_(source), signature_(signature), tensors_(tensors), sizes_(sizes), pool_(pool) {}

  absl::StatusOr<NonFiniteReport> run() {
    Probe probe(source_);
    struct Watched {
      size_t statement, out;
      unsigned result;
    };
    std::vector<Watched> watched;
    // (what is copied stands behind all statements: of a tensor that is updated in place it would be what comes last)
    for (auto [n, op] : llvm::enumerate(probe.statements()))
      for (OpResult r : op->getResults())
        if (holdsFloats(r) && !isUpdated(r))
          watched.push_back({n, probe.add(copyOf(probe.kernel(), r)), r.getResultNumber()});
    std::vector<std::pair<Value, size_t>> given;
    for (BlockArgument arg : probe.kernel().getBlock().getArguments())
      if (isa<RankedTensorType>(arg.getType()) && holdsFloats(arg) && !isInout(probe.kernel(), arg))
        given.push_back({arg, probe.add(copyOf(probe.kernel(), arg))});
    absl::Status ran = probe.run(tensors_, signature_, sizes_, pool_);
    if (!ran.ok())
      return ran;
    std::optional<Found> nan, infinite;
    for (const Watched &w : watched) {
      const HostTensor &t = probe.out(w.out);
      for (int64_t e = 0; e < t.numElements() && !(nan && infinite); ++e) {
        double v = Probe::at(t, e);
        std::optional<Found> &first = std::isnan(v) ? nan : infinite;
        if (!std::isfinite(v) && !first)
          first = Found{w.statement, w.result, pointOf(e, t.shape()), v};
      }
    }
    NonFiniteReport report;
    for (auto [arg, out] : given) {
      const HostTensor &t = probe.out(out);
      for (int64_t e = 0; e < t.numElements(); ++e)
        if (double v = Probe::at(t, e); !std::isfinite(v)) {
          absl::StrAppend(&report.text, "argument '", nameOf(arg, probe.kernel()), "' holds ", numberText(v), " at ",
                          indexText(pointOf(e, t.shape())), "\n");
          break;
        }
    }
    for (const std::optional<Found> &f : {infinite, nan})
      if (f) {
        report.found = true;
        KERNELC_RETURN_IF_ERROR(describe(*f, report.text));
      }
    if (!report.found)
      absl::StrAppend(&report.text, "all that the ", watched.size(), " statements of '", signature_.name, "' give is finite\n");
    return report;
  }

private:
  absl::Status describe(const Found &f, std::string &text) {
    Operation *op = te::getDomainOps(source_)[f.statement];
    SourceLoc loc = sourceLocOf(op->getLoc());
    absl::StrAppend(&text, loc.file, ":", loc.line, ":", loc.column, ": ", nameOf(op->getResult(f.result), source_), indexText(f.at),
                    " is ", numberText(f.value), ", the first ", std::isnan(f.value) ? "NaN" : "infinity", " that a statement gives\n");
    absl::StatusOr<std::string> reads = PointProbe(source_, f, sizes_).run(tensors_, signature_, pool_);
    if (!reads.ok())
      return reads.status();
    text += *reads;
    return absl::OkStatus();
  }

  te::KernelOp source_;
  const Kernel &signature_;
  absl::Span<const HostTensor> tensors_;
  absl::Span<const int64_t> sizes_;
  ThreadPool *pool_;
};

} // namespace

absl::StatusOr<NonFiniteReport> findNonFinite(JitKernel &kernel, absl::Span<const HostTensor> tensors, absl::Span<const int64_t> sizes) {
  absl::StatusOr<NonFiniteReport> report = absl::InternalError("no such kernel");
  absl::Status status = kernel.program().withModule([&](ModuleOp module) -> absl::Status {
    for (auto op : module.getOps<te::KernelOp>())
      if (op.getSymName() == kernel.signature().name)
        report = Finder(op, kernel.signature(), tensors, sizes, kernel.threadPool()).run();
    return report.status();
  });
  if (!status.ok())
    return status;
  return report;
}

} // namespace kernelc
