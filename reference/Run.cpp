// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ReferenceKernel: checks the arguments, lays tensors out in memory and runs the
// steps. Generates no code.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "reference/Compile.h"
#include "reference/HostCopy.h"
#include "reference/Window.h"
#include "support/Interrupt.h"

namespace kernelc::reference {
namespace {

/// Stands in for the memory of empty tensors: a guarded read may look at element 0.
alignas(64) char emptyTensor[64];

struct Free {
  void operator()(void *p) const { std::free(p); }
};
using Memory = std::unique_ptr<void, Free>;

std::vector<int64_t> evaluate(const std::vector<SizeExpr> &dims, const SizeEnv &env) {
  std::vector<int64_t> shape;
  for (const SizeExpr &d : dims)
    shape.push_back(d.evaluate(env));
  return shape;
}

std::string shapeText(const std::vector<int64_t> &shape) { return absl::StrCat("[", absl::StrJoin(shape, ", "), "]"); }

/// Product of nonnegative numbers, or nothing when it does not fit comfortably.
std::optional<int64_t> product(const std::vector<int64_t> &numbers, int64_t scale = 1) {
  int64_t p = scale;
  for (int64_t n : numbers)
    if (n == 0)
      return 0;
  for (int64_t n : numbers)
    if (n < 0 || __builtin_mul_overflow(p, n, &p) || p > std::numeric_limits<int64_t>::max() / 16)
      return std::nullopt;
  return p;
}

absl::StatusOr<Memory> allocate(int64_t bytes, absl::string_view what) {
  // Rounded up: vector loads of generated code stay inside, aligned_alloc wants multiples.
  size_t size = (size_t(bytes) + 127) / 64 * 64;
  Memory m(std::aligned_alloc(64, size));
  if (!m)
    return absl::ResourceExhaustedError(absl::StrCat("the reference needs ", bytes, " bytes for '", what, "'"));
  return m;
}

/// The bytes [lo, hi) that a view may touch.
std::pair<const char *, const char *> span(const TensorView &v) {
  int64_t lo = 0, hi = 0;
  for (size_t i = 0; i < v.shape.size(); ++i) {
    if (v.shape[i] == 0)
      return {nullptr, nullptr};
    (v.strides[i] < 0 ? lo : hi) += v.strides[i] * (v.shape[i] - 1);
  }
  auto *base = static_cast<const char *>(v.data);
  int bits = elementBits(v.type);
  return {base + (lo * bits - 7) / 8, base + ((hi + 1) * bits + 7) / 8};
}

bool overlap(const TensorView &a, const TensorView &b) {
  auto [al, ah] = span(a);
  auto [bl, bh] = span(b);
  return al && bl && al < bh && bl < ah;
}

class Runner {
public:
  Runner(const ReferenceKernel::Impl &kernel, absl::Span<const int64_t> sizes, absl::Span<const TensorView> args,
         absl::Span<const TensorView> outs, absl::Span<const TensorView> errors, absl::Span<const Box> boxes, ThreadPool *pool)
      : kernel_(kernel), program_(kernel.program), env_{sizes}, args_(args), outs_(outs), errors_(errors), boxes_(boxes), pool_(pool),
        tensors_(program_.slots.size()), context_(program_.contextWords, 0) {}

  absl::Status run();

private:
  /// One slot in memory. Of results only the needed box has memory; `offset` is such
  /// that indices of the whole tensor find it.
  struct Tensor {
    HostTensor host;
    double *errors = nullptr; ///< laid out like `host`
    HostTensor errorTensor() const { return {errors, ElementType::f64, host.shape, host.strides, false, host.offset}; }
    Memory data, errorData;
  };

  absl::Status check();
  absl::Status checkView(const TensorView &v, const Program::Parameter &p, ElementType type, const char *what);
  absl::Status bindArgument(int slot);
  const TensorView *findOutMemory(int slot) const;
  absl::Status makeResult(int slot);
  void describe(int slot);
  void startResult(const Step &step);
  absl::Status runUnits(size_t index);
  absl::Status runStep(size_t index);
  absl::Status copyOutputs();
  ElementType memoryElement(const Slot &s) const;
  int root(int slot) const {
    while (program_.slots[slot].sharesWith >= 0)
      slot = program_.slots[slot].sharesWith;
    return slot;
  }

  const ReferenceKernel::Impl &kernel_;
  const Program &program_;
  SizeEnv env_;
  absl::Span<const TensorView> args_, outs_, errors_;
  absl::Span<const Box> boxes_;
  ThreadPool *pool_;
  Windows windows_;
  std::vector<Tensor> tensors_;
  std::vector<int64_t> context_;
  std::atomic<bool> stop_ = false;
};

absl::Status Runner::checkView(const TensorView &v, const Program::Parameter &p, ElementType type, const char *what) {
  auto fail = [&](std::string text) {
    return absl::InvalidArgumentError(absl::StrCat(what, " '", p.name, "' of kernel '", program_.kernel, "' ", text));
  };
  if (v.type != type)
    return fail(absl::StrCat("must be ", elementTypeName(type), ", not ", elementTypeName(v.type)));
  std::vector<int64_t> shape = evaluate(p.dims, env_);
  for (int64_t d : shape)
    if (d < 0)
      return fail(absl::StrCat("would have the negative shape ", shapeText(shape)));
  if (v.shape != shape)
    return fail(absl::StrCat("must have shape ", shapeText(shape), ", not ", shapeText(v.shape)));
  if (v.strides.size() != shape.size())
    return fail(absl::StrCat("has ", v.strides.size(), " strides for ", shape.size(), " dims"));
  auto n = product(shape, elementBits(type));
  if (!n)
    return fail(absl::StrCat("is too large: ", shapeText(shape)));
  if (*n > 0 && !v.data)
    return fail("is null");
  int64_t reach = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t term;
    if (__builtin_mul_overflow(v.strides[i], std::max<int64_t>(shape[i] - 1, 0), &term) ||
        __builtin_add_overflow(reach, term < 0 ? -term : term, &reach) || reach < 0 || reach > std::numeric_limits<int64_t>::max() / 128)
      return fail("has strides that leave the address space");
  }
  return absl::OkStatus();
}

absl::Status Runner::check() {
  if (env_.sizes.size() != program_.sizes.size() || args_.size() != program_.args.size() || outs_.size() != program_.outs.size())
    return absl::InvalidArgumentError(absl::StrCat("kernel '", program_.kernel, "' has ", program_.sizes.size(), " sizes, ",
                                                   program_.args.size(), " arguments and ", program_.outs.size(), " outputs; got ",
                                                   env_.sizes.size(), ", ", args_.size(), " and ", outs_.size()));
  bool wantsErrors = kernel_.arithmetic == Arithmetic::F64WithError;
  if (wantsErrors ? errors_.size() != outs_.size() : !errors_.empty())
    return absl::InvalidArgumentError(wantsErrors ? "one error view per output is needed" : "error views go with F64WithError only");
  for (size_t i = 0; i < env_.sizes.size(); ++i)
    if (env_.sizes[i] < 0)
      return absl::InvalidArgumentError(absl::StrCat("size ", program_.sizes[i], " is negative"));
  for (const Program::Requirement &r : program_.requirements)
    if (!r.holds.evaluate(env_))
      return absl::InvalidArgumentError(absl::StrCat("kernel '", program_.kernel, "' requires ", r.text));
  for (size_t i = 0; i < args_.size(); ++i)
    if (absl::Status s = checkView(args_[i], program_.args[i], program_.args[i].type, "argument"); !s.ok())
      return s;
  for (size_t i = 0; i < outs_.size(); ++i)
    if (absl::Status s = checkView(outs_[i], program_.outs[i], program_.outs[i].type, "output"); !s.ok())
      return s;
  if (!boxes_.empty() && boxes_.size() != outs_.size())
    return absl::InvalidArgumentError("one box per output is needed");
  for (size_t i = 0; i < boxes_.size(); ++i) {
    const std::vector<int64_t> &shape = outs_[i].shape;
    bool legal = boxes_[i].lower.size() == shape.size() && boxes_[i].upper.size() == shape.size();
    for (size_t d = 0; legal && d < shape.size(); ++d)
      legal = 0 <= boxes_[i].lower[d] && boxes_[i].lower[d] <= boxes_[i].upper[d] && boxes_[i].upper[d] <= shape[d];
    if (!legal)
      return absl::InvalidArgumentError(absl::StrCat("the box of output '", program_.outs[i].name, "' is not inside it"));
  }
  for (size_t i = 0; i < errors_.size(); ++i)
    if (absl::Status s = checkView(errors_[i], program_.outs[i], ElementType::f64, "error bound of output"); !s.ok())
      return s;
  return absl::OkStatus();
}

void Runner::describe(int slot) {
  Tensor &t = tensors_[slot];
  int64_t *word = context_.data() + program_.slots[slot].context;
  size_t rank = t.host.shape.size();
  bool empty = false;
  for (int64_t d : t.host.shape)
    empty |= d == 0;
  // Integers: the origin of a box's tensor may lie outside its memory.
  int64_t bytes = program_.slots[slot].bits / 8;
  word[0] = empty ? reinterpret_cast<int64_t>(emptyTensor) : reinterpret_cast<int64_t>(t.host.data) + t.host.offset * bytes;
  word[1] = empty ? reinterpret_cast<int64_t>(emptyTensor) : reinterpret_cast<int64_t>(t.errors) + t.host.offset * 8;
  for (size_t i = 0; i < rank; ++i) {
    word[2 + i] = empty ? 0 : t.host.strides[i];
    word[2 + rank + i] = t.host.shape[i];
  }
}

absl::Status Runner::bindArgument(int slot) {
  const TensorView &v = args_[program_.slots[slot].arg];
  Tensor &t = tensors_[slot];
  t.host = {v.data, v.type, v.shape, v.strides};
  size_t rank = v.shape.size();
  if (rank && v.shape[rank - 1] > 1 && v.strides[rank - 1] != 1 && v.numElements() > 0) {
    // Generated code wants the last dim contiguous. Dims that repeat stay repeated.
    std::vector<int64_t> distinct, strides(rank, 0);
    int64_t step = 1;
    for (size_t i = rank; i-- > 0;) {
      bool repeats = v.strides[i] == 0 && i + 1 < rank;
      distinct.insert(distinct.begin(), repeats ? 1 : v.shape[i]);
      if (!repeats) {
        strides[i] = step;
        step *= v.shape[i];
      }
    }
    auto memory = allocate((step * elementBits(v.type) + 7) / 8, program_.slots[slot].name);
    if (!memory.ok())
      return memory.status();
    HostTensor from{v.data, v.type, distinct, v.strides}, to{memory->get(), v.type, distinct, strides};
    copyTensor(to, from, pool_);
    t.host = {memory->get(), v.type, v.shape, strides};
    t.data = std::move(*memory);
  }
  describe(slot);
  return absl::OkStatus();
}

ElementType Runner::memoryElement(const Slot &s) const {
  switch (s.bits) {
  case 8: return ElementType::u8;
  case 16: return ElementType::u16;
  case 32: return ElementType::u32;
  default: return s.isFloat ? ElementType::f64 : ElementType::u64;
  }
}

/// The caller's memory for a result, straight into which it may be written: its layout allows that, and nothing is read from it.
const TensorView *Runner::findOutMemory(int slot) const {
  for (size_t i = 0; i < outs_.size(); ++i) {
    const TensorView &v = outs_[i];
    size_t rank = v.shape.size();
    if (root(program_.outs[i].slot) != slot || program_.slots[slot].hasError || elementBits(v.type) == 4 ||
        v.shape != tensors_[slot].host.shape || (rank && v.strides[rank - 1] != 1 && v.shape[rank - 1] > 1))
      continue;
    bool disjoint = true;
    for (const TensorView &a : args_)
      disjoint &= !overlap(a, v);
    for (size_t k = 0; k < outs_.size(); ++k)
      disjoint &= k == i || !overlap(outs_[k], v);
    if (disjoint)
      return &v;
  }
  return nullptr;
}

absl::Status Runner::makeResult(int slot) {
  const Slot &s = program_.slots[slot];
  Tensor &t = tensors_[slot];
  t.host.shape = evaluate(s.dims, env_);
  for (int64_t &d : t.host.shape) // a range that ends before it starts is empty
    d = std::max<int64_t>(d, 0);
  t.host.strides = denseStrides(t.host.shape);
  t.host.type = memoryElement(s);
  auto bytes = product(t.host.shape, s.bits / 8);
  if (!bytes)
    return absl::InvalidArgumentError(
        absl::StrCat("'", s.name, "' of kernel '", program_.kernel, "' would have the shape ", shapeText(t.host.shape)));
  if (s.sharesWith >= 0) {
    t.host.data = tensors_[s.sharesWith].host.data;
    t.host.strides = tensors_[s.sharesWith].host.strides;
    t.host.offset = tensors_[s.sharesWith].host.offset;
    t.errors = tensors_[s.sharesWith].errors;
    describe(slot);
    return absl::OkStatus();
  }
  if (const TensorView *v = findOutMemory(slot)) {
    t.host.data = v->data;
    t.host.strides = v->strides;
    describe(slot);
    return absl::OkStatus();
  }
  const Box &box = windows_.slots[slot];
  std::vector<int64_t> boxShape;
  for (size_t d = 0; d < box.lower.size(); ++d)
    boxShape.push_back(box.upper[d] - box.lower[d]);
  int64_t elements = *product(boxShape);
  t.host.strides = denseStrides(boxShape);
  t.host.offset = 0;
  for (size_t d = 0; d < box.lower.size(); ++d)
    t.host.offset -= box.lower[d] * t.host.strides[d];
  auto memory = allocate(elements * (s.bits / 8), s.name);
  if (!memory.ok())
    return memory.status();
  t.host.data = memory->get();
  t.data = std::move(*memory);
  if (s.hasError) {
    auto errors = allocate(elements * 8, s.name);
    if (!errors.ok())
      return errors.status();
    t.errors = static_cast<double *>(errors->get());
    t.errorData = std::move(*errors);
  }
  describe(slot);
  return absl::OkStatus();
}

/// What a step's result has before it runs: what it goes on from, or one element everywhere.
void Runner::startResult(const Step &step) {
  Tensor &out = tensors_[step.out];
  const Slot &slot = program_.slots[step.out];
  const Box &box = windows_.slots[step.out];
  HostTensor needed = out.host.part(box.lower, box.upper);
  // One element, repeated to all without further memory.
  auto repeated = [&](void *element, ElementType type) {
    return HostTensor{element, type, needed.shape, std::vector<int64_t>(needed.shape.size(), 0)};
  };
  bool ownErrors = out.errors && slot.sharesWith < 0;
  double exact = 0;
  if (step.copyFrom >= 0) {
    const Tensor &from = tensors_[step.copyFrom];
    HostTensor source = from.host.part(box.lower, box.upper);
    if (elementBits(source.type) == 4)
      source.type = ElementType::u4, needed.type = ElementType::u4, needed.unpacked = true;
    else if (!slot.isFloat || kernel_.arithmetic == Arithmetic::Own)
      source.type = needed.type; // same bits, whatever the sign
    copyTensor(needed, source, pool_);
    if (ownErrors)
      copyTensor(out.errorTensor().part(box.lower, box.upper),
                 from.errors ? from.errorTensor().part(box.lower, box.upper) : repeated(&exact, ElementType::f64), pool_);
  } else if (step.fill) {
    auto pattern = step.pattern;
    copyTensor(needed, repeated(pattern.data(), needed.type), pool_);
    if (ownErrors)
      copyTensor(out.errorTensor().part(box.lower, box.upper), repeated(&exact, ElementType::f64), pool_);
  }
}

/// All units of a step, on all threads.
absl::Status Runner::runUnits(size_t index) {
  const Step &step = program_.steps[index];
  const Box &window = windows_.steps[index];
  std::vector<int64_t> counts;
  double cost = double(step.operations);
  for (auto [d, factor] : step.units) {
    int64_t length = window.upper[d] - window.lower[d];
    counts.push_back(length / factor + (length % factor != 0));
    cost *= double(std::min(length, factor));
  }
  for (size_t d = size_t(step.parallel); d < step.extents.size(); ++d)
    cost *= double(step.extents[d].evaluate(env_));
  auto units = product(counts);
  if (!units)
    return absl::InvalidArgumentError(absl::StrCat("the domain of '", step.name, "' is too large"));
  int64_t grain = cost > 200000 ? 1 : int64_t(200000 / std::max(cost, 1.0));
  forRange(pool_, *units, grain, [&](int64_t b, int64_t e) {
    if (isInterrupted()) // asked on the caller's thread alone; the others look at what it heard
      stop_.store(true, std::memory_order_relaxed);
    if (!stop_.load(std::memory_order_relaxed))
      kernel_.functions[index](context_.data(), b, e);
  });
  return stop_.load() ? absl::CancelledError("interrupted") : absl::OkStatus();
}

absl::Status Runner::runStep(size_t index) {
  const Step &step = program_.steps[index];
  if (absl::Status s = makeResult(step.out); !s.ok())
    return s;
  startResult(step);
  const Box &window = windows_.steps[index];
  for (size_t d = 0; d < window.lower.size(); ++d) {
    context_[step.window + 2 * d] = window.lower[d];
    context_[step.window + 2 * d + 1] = window.upper[d];
  }
  Memory states;
  if (step.stateWords > 0) {
    auto bytes = product(tensors_[step.out].host.shape, step.stateWords * 8);
    auto memory = bytes ? allocate(*bytes, step.name) : absl::InvalidArgumentError(absl::StrCat("'", step.name, "' is too large"));
    if (!memory.ok())
      return memory.status();
    states = *std::move(memory);
    context_[step.states] = reinterpret_cast<int64_t>(states.get());
  }
  if (absl::Status s = runUnits(index); !s.ok())
    return s;

  for (size_t i = 0; i < tensors_.size(); ++i)
    if (program_.slots[i].lastUse == int(index)) {
      tensors_[i].data.reset();
      tensors_[i].errorData.reset();
    }
  return absl::OkStatus();
}

absl::Status Runner::copyOutputs() {
  for (size_t i = 0; i < outs_.size(); ++i) {
    const Slot &slot = program_.slots[program_.outs[i].slot];
    const Tensor &t = tensors_[program_.outs[i].slot];
    const TensorView &v = outs_[i];
    const Box box = boxes_.empty() ? Box{std::vector<int64_t>(v.shape.size(), 0), v.shape} : boxes_[i];
    auto part = [&](const HostTensor &h) { return h.part(box.lower, box.upper); };
    if (t.host.data != v.data) {
      HostTensor to{v.data, v.type, v.shape, v.strides}, from = t.host;
      if (elementBits(v.type) == 4) {
        from.unpacked = slot.arg < 0;
        from.type = v.type;
      } else if (elementBits(from.type) == elementBits(v.type)) {
        from.type = v.type;
      }
      copyTensor(part(to), part(from), pool_);
    }
    if (errors_.empty())
      continue;
    double exact = 0;
    HostTensor to{errors_[i].data, ElementType::f64, v.shape, errors_[i].strides};
    copyTensor(part(to),
               t.errors ? part(t.errorTensor())
                        : HostTensor{&exact, ElementType::f64, part(to).shape, std::vector<int64_t>(v.shape.size(), 0)},
               pool_);
  }
  return absl::OkStatus();
}

absl::Status Runner::run() {
  if (absl::Status s = check(); !s.ok())
    return s;
  windows_ = planWindows(program_, env_.sizes, boxes_);
  for (size_t i = 0; i < env_.sizes.size(); ++i)
    context_[kContextSizes + i] = env_.sizes[i];
  for (size_t i = 0; i < program_.slots.size(); ++i)
    if (program_.slots[i].arg >= 0)
      if (absl::Status s = bindArgument(int(i)); !s.ok())
        return s;
  for (size_t i = 0; i < program_.steps.size(); ++i)
    if (absl::Status s = runStep(i); !s.ok())
      return s;
  if (absl::Status s = copyOutputs(); !s.ok())
    return s;
  if (int64_t bad = context_[kContextBad]) {
    const Step &step = program_.steps[bad - 1];
    return absl::OutOfRangeError(absl::StrCat(step.location, step.location.empty() ? "" : ": ", "in statement '", step.name,
                                              "' of kernel '", program_.kernel,
                                              "' an index computed from data leaves its tensor; such data has to lie inside "
                                              "(as 't=random:0..10' on the command line does, where 10 is the size)"));
  }
  return absl::OkStatus();
}

} // namespace

ReferenceKernel::ReferenceKernel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ReferenceKernel::~ReferenceKernel() = default;

absl::StatusOr<std::unique_ptr<ReferenceKernel>> ReferenceKernel::compile(te::KernelOp kernel, Arithmetic arithmetic, Sums sums) {
  auto impl = compileKernel(kernel, arithmetic, sums);
  if (!impl.ok())
    return impl.status();
  return std::unique_ptr<ReferenceKernel>(new ReferenceKernel(std::move(*impl)));
}

absl::Status ReferenceKernel::run(absl::Span<const int64_t> sizes, absl::Span<const TensorView> args, absl::Span<const TensorView> outs,
                                  ThreadPool *pool, absl::Span<const TensorView> errors, absl::Span<const Box> boxes) const {
  return Runner(*impl_, sizes, args, outs, errors, boxes, pool).run();
}

double ReferenceKernel::estimateWork(absl::Span<const int64_t> sizes, absl::Span<const Box> boxes) const {
  return sizes.size() == impl_->program.sizes.size() ? planWindows(impl_->program, sizes, boxes).work : 0;
}

Arithmetic ReferenceKernel::arithmetic() const { return impl_->arithmetic; }
unsigned ReferenceKernel::numOutputs() const { return unsigned(impl_->program.outs.size()); }
const std::string &ReferenceKernel::outputName(unsigned i) const { return impl_->program.outs[i].name; }
ElementType ReferenceKernel::outputType(unsigned i) const { return impl_->program.outs[i].type; }
std::vector<int64_t> ReferenceKernel::outputShape(unsigned i, absl::Span<const int64_t> sizes) const {
  return evaluate(impl_->program.outs[i].dims, SizeEnv{sizes});
}

} // namespace kernelc::reference
