// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference/Check.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace kernelc::reference {
namespace {

int64_t integerAt(const TensorView &v, int64_t i) {
  const void *p = v.data;
  switch (v.type) {
  case ElementType::i64:
  case ElementType::u64: return static_cast<const int64_t *>(p)[i];
  case ElementType::i32: return static_cast<const int32_t *>(p)[i];
  case ElementType::u32: return static_cast<const uint32_t *>(p)[i];
  case ElementType::i16: return static_cast<const int16_t *>(p)[i];
  case ElementType::u16: return static_cast<const uint16_t *>(p)[i];
  case ElementType::i8: return static_cast<const int8_t *>(p)[i];
  case ElementType::u8: return static_cast<const uint8_t *>(p)[i];
  case ElementType::boolean: return static_cast<const uint8_t *>(p)[i] != 0;
  default: break;
  }
  int nibble = (static_cast<const uint8_t *>(p)[i >> 1] >> (i & 1 ? 4 : 0)) & 15;
  return v.type == ElementType::i4 && nibble > 7 ? nibble - 16 : nibble;
}

double floatAt(const TensorView &v, int64_t i) {
  const void *p = v.data;
  switch (v.type) {
  case ElementType::f64: return static_cast<const double *>(p)[i];
  case ElementType::f32: return static_cast<const float *>(p)[i];
  case ElementType::f16: return fromF16(static_cast<const uint16_t *>(p)[i]);
  case ElementType::bf16: return fromBF16(static_cast<const uint16_t *>(p)[i]);
  case ElementType::f8e4m3: return fromF8E4M3(static_cast<const uint8_t *>(p)[i]);
  default: return fromF8E5M2(static_cast<const uint8_t *>(p)[i]);
  }
}

/// |device - expected|: 0 for the same infinity or both NaN, infinity when only one is special.
double distance(double device, double expected) {
  if (device == expected || (std::isnan(device) && std::isnan(expected)))
    return 0;
  double d = std::fabs(device - expected);
  return std::isnan(d) ? HUGE_VAL : d;
}

int64_t offsetOf(const TensorView &v, const std::vector<int64_t> &index) {
  int64_t o = 0;
  for (size_t d = 0; d < index.size(); ++d)
    o += index[d] * v.strides[d];
  return o;
}

} // namespace

absl::StatusOr<OutputCheck> checkOutput(const std::string &name, const TensorView &device, const TensorView &expected,
                                        const TensorView &bound, const TensorView *admitting) {
  bool isF = isFloat(device.type);
  if (device.shape != expected.shape || device.shape != bound.shape || bound.type != ElementType::f64 ||
      expected.type != (isF ? ElementType::f64 : device.type))
    return absl::InvalidArgumentError(absl::StrCat("output '", name, "', its oracle and its bounds do not belong together"));
  OutputCheck result;
  result.name = name;
  result.elements = result.total = device.numElements();
  std::vector<int64_t> index(device.shape.size(), 0);
  double worstRatio = -1, largest = -1;
  bool failed = false;
  for (int64_t n = 0; n < result.elements; ++n) {
    double e = floatAt(bound, offsetOf(bound, index)), d, v, error;
    int64_t at = offsetOf(device, index), ref = offsetOf(expected, index);
    if (isF) {
      d = floatAt(device, at);
      v = floatAt(expected, ref);
      error = distance(d, v);
    } else {
      int64_t di = integerAt(device, at), vi = integerAt(expected, ref);
      d = double(di);
      v = double(vi);
      error = di == vi ? 0 : std::fmax(1, std::fabs(d - v)); // 64-bit integers may agree as doubles
    }
    if (isF && !std::isfinite(v) && std::isfinite(e))
      e = 0; // the same infinity, or NaN
    if (std::isinf(e) || std::isnan(e)) {
      ++result.unchecked;
    } else if (isF && admitting && std::isnan(d) && !std::isnan(v) && std::isnan(floatAt(*admitting, offsetOf(*admitting, index)))) {
      ++result.admitted;
    } else {
      bool fails = !(error <= e);
      result.special += isF && !std::isfinite(v);
      result.largestBound = std::max(result.largestBound, e);
      double ratio = error == 0 ? 0 : error / e;
      result.failures += fails;
      if (error > largest) {
        largest = error;
        result.largest = {index, d, v, error, e};
      }
      if ((fails && !failed) || (!failed && ratio > worstRatio)) {
        worstRatio = ratio;
        result.worst = {index, d, v, error, e};
      }
      failed |= fails;
    }
    for (size_t k = index.size(); k-- > 0;) {
      if (++index[k] < device.shape[k])
        break;
      index[k] = 0;
    }
  }
  return result;
}

namespace {

TensorView part(const TensorView &v, const Box &box) {
  TensorView p = v;
  p.data = static_cast<char *>(v.data) + offsetOf(v, box.lower) * (elementBits(v.type) / 8);
  for (size_t d = 0; d < p.shape.size(); ++d)
    p.shape[d] = box.upper[d] - box.lower[d];
  return p;
}

/// A box of up to 4 x 32 elements in the last dims: sample 0 and 1 at the corners, the
/// others by dim at an end, across a likely tile border, or anywhere.
Box sampleBox(const std::vector<int64_t> &shape, int sample, std::mt19937_64 &engine) {
  Box box;
  for (size_t d = 0; d < shape.size(); ++d) {
    size_t fromEnd = shape.size() - 1 - d;
    int64_t size = std::min<int64_t>(shape[d], fromEnd == 0 ? 32 : fromEnd == 1 ? 4 : 1), room = shape[d] - size, at = 0;
    int64_t tile = int64_t(64) << engine() % 3;
    switch (sample < 2 ? sample : int(engine() % 4)) {
    case 0: break;
    case 1: at = room; break;
    case 2: // the border itself, or for a single element either side of it
      at = tile * int64_t(1 + engine() % uint64_t(shape[d] / tile + 1)) - (size > 1 ? size / 2 : int64_t(engine() % 2));
      at = std::min(at, room);
      break;
    default: at = int64_t(engine() % uint64_t(room + 1)); break;
    }
    box.lower.push_back(at);
    box.upper.push_back(at + size);
  }
  return box;
}

void merge(OutputCheck &into, OutputCheck from) {
  bool worse = into.numJudged() == 0 ||
               (into.failures == 0 && (from.failures > 0 || from.worst.error * into.worst.bound > into.worst.error * from.worst.bound));
  if (from.numJudged() > 0 && worse)
    into.worst = from.worst;
  if (from.numJudged() > 0 && (into.numJudged() == 0 || from.largest.error > into.largest.error))
    into.largest = from.largest;
  into.elements += from.elements;
  into.failures += from.failures;
  into.unchecked += from.unchecked;
  into.admitted += from.admitted;
  into.special += from.special;
  into.largestBound = std::max(into.largestBound, from.largestBound);
}

/// The oracles of one call, and their arrays for all outputs.
class Oracles {
public:
  Oracles(const ReferenceKernel &oracle, absl::Span<const int64_t> sizes, absl::Span<const TensorView> args,
          absl::Span<const TensorView> outs, ThreadPool *pool, const CheckOptions &options)
      : oracle_(oracle), sizes_(sizes), args_(args), outs_(outs), pool_(pool), options_(options) {}

  /// Makes the arrays.
  absl::Status allocate() {
    for (unsigned i = 0; i < outs_.size(); ++i) {
      std::vector<int64_t> shape = oracle_.outputShape(i, sizes_);
      TensorView v{nullptr, oracle_.outputType(i), shape, denseStrides(shape)};
      if (outs_[i].shape != shape || (isFloat(outs_[i].type) ? v.type != ElementType::f64 : v.type != outs_[i].type))
        return absl::InvalidArgumentError(absl::StrCat("output '", oracle_.outputName(i), "' has the wrong type or shape"));
      packed_ |= elementBits(v.type) == 4;
      TensorView bound = v;
      bound.type = ElementType::f64;
      for (auto [list, view] : {std::pair(&values_, v), std::pair(&bounds_, bound)})
        if (absl::Status s = addArray(*list, view, i); !s.ok())
          return s;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<CheckReport> check() {
    bool whole = packed_ || oracle_.estimateWork(sizes_) <= options_.maxWork;
    if (whole)
      if (absl::Status s = oracle_.run(sizes_, args_, values_, pool_, bounds_); !s.ok())
        return s;
    CheckReport report;
    for (unsigned i = 0; i < outs_.size(); ++i) {
      absl::StatusOr<OutputCheck> result = OutputCheck{};
      if (whole)
        result = compare(i, {});
      else if (outs_[i].numElements() > 0)
        result = checkSamples(i);
      if (!result.ok())
        return result.status();
      result->name = oracle_.outputName(i);
      result->total = outs_[i].numElements();
      report.outputs.push_back(*std::move(result));
    }
    return report;
  }

private:
  absl::Status addArray(std::vector<TensorView> &list, TensorView v, unsigned output) {
    // Not initialised: where samples do, untouched pages cost nothing.
    memory_.emplace_back(new (std::nothrow) double[size_t(v.numElements()) + 1]);
    if (!memory_.back())
      return absl::ResourceExhaustedError(absl::StrCat("no memory to check '", oracle_.outputName(output), "'"));
    v.data = memory_.back().get();
    list.push_back(v);
    return absl::OkStatus();
  }

  /// Compares output i, or of it what `boxes` has, with what the oracle has left in its arrays.
  absl::StatusOr<OutputCheck> compare(unsigned i, absl::Span<const Box> boxes) {
    auto cut = [&](const TensorView &v) { return boxes.empty() ? v : part(v, boxes[i]); };
    auto check = [&](const TensorView *admitting) {
      return checkOutput(oracle_.outputName(i), cut(outs_[i]), cut(values_[i]), cut(bounds_[i]), admitting);
    };
    absl::StatusOr<OutputCheck> result = check(nullptr);
    if (!result.ok() || result->failures == 0 || !isFloat(outs_[i].type) || !options_.admitting)
      return result;
    if (absl::Status s = runAdmitting(boxes); !s.ok())
      return s;
    TensorView admitting = cut(admitted_[i]);
    return check(&admitting);
  }

  absl::Status runAdmitting(absl::Span<const Box> boxes) {
    if (!admitting_) {
      absl::StatusOr<std::shared_ptr<const ReferenceKernel>> made = options_.admitting();
      if (!made.ok())
        return made.status();
      admitting_ = *std::move(made);
      for (unsigned i = 0; i < outs_.size(); ++i)
        if (absl::Status s = addArray(admitted_, values_[i], i); !s.ok())
          return s;
    } else if (boxes.empty()) {
      return absl::OkStatus(); // has run for all outputs
    }
    return admitting_->run(sizes_, args_, admitted_, pool_, {}, boxes);
  }

  /// Compares samples of output i until its share of the work is spent.
  absl::StatusOr<OutputCheck> checkSamples(unsigned i) {
    constexpr int kMaxSamples = 256;
    std::mt19937_64 engine(options_.seed + i);
    double budget = options_.maxWork / double(outs_.size());
    OutputCheck result;
    std::vector<Box> boxes;
    for (const TensorView &v : values_)
      boxes.push_back({std::vector<int64_t>(v.shape.size(), 0), std::vector<int64_t>(v.shape.size(), 0)});
    for (int sample = 0; sample < kMaxSamples; ++sample) {
      boxes[i] = sampleBox(outs_[i].shape, sample, engine);
      budget -= oracle_.estimateWork(sizes_, boxes);
      if (sample > 1 && budget < 0)
        break;
      if (absl::Status s = oracle_.run(sizes_, args_, values_, pool_, bounds_, boxes); !s.ok())
        return s;
      absl::StatusOr<OutputCheck> one = compare(i, boxes);
      if (!one.ok())
        return one.status();
      for (CheckedElement *e : {&one->largest, &one->worst})
        for (size_t d = 0; d < e->index.size(); ++d)
          e->index[d] += boxes[i].lower[d];
      merge(result, *one);
    }
    return result;
  }

  const ReferenceKernel &oracle_;
  absl::Span<const int64_t> sizes_;
  absl::Span<const TensorView> args_, outs_;
  ThreadPool *pool_;
  const CheckOptions &options_;
  std::shared_ptr<const ReferenceKernel> admitting_;
  std::vector<std::unique_ptr<double[]>> memory_;
  std::vector<TensorView> values_, bounds_, admitted_;
  bool packed_ = false; ///< an output shares bytes between elements, which boxes cannot
};

} // namespace

absl::StatusOr<CheckReport> checkOutputs(const ReferenceKernel &oracle, absl::Span<const int64_t> sizes, absl::Span<const TensorView> args,
                                         absl::Span<const TensorView> outs, ThreadPool *pool, const CheckOptions &options) {
  if (oracle.arithmetic() != Arithmetic::F64WithError)
    return absl::InvalidArgumentError("check needs an oracle compiled with F64WithError");
  if (outs.size() != oracle.numOutputs())
    return absl::InvalidArgumentError(absl::StrCat("the kernel has ", oracle.numOutputs(), " outputs, not ", outs.size()));
  Oracles oracles(oracle, sizes, args, outs, pool, options);
  if (absl::Status s = oracles.allocate(); !s.ok())
    return s;
  return oracles.check();
}

std::string OutputCheck::toString() const {
  std::string verdict = failures ? absl::StrCat("FAILED at ", failures, " of ") : isUnbounded() ? "not checked, " : "ok, ";
  std::string s =
      absl::StrCat(name, ": ", verdict, elements, elements < total ? absl::StrCat(" sampled elements of ", total) : " elements");
  auto place = [](const CheckedElement &e) { return absl::StrCat("[", absl::StrJoin(e.index, ", "), "]"); };
  if (failures && !std::isfinite(worst.expected))
    absl::StrAppendFormat(&s, ", at %s the device has %.9g, and it has to be %s", place(worst), worst.device,
                          std::isnan(worst.expected) ? "NaN"
                          : worst.expected > 0       ? "inf"
                                                     : "-inf");
  else if (failures)
    absl::StrAppendFormat(&s, ", at %s the device has %.9g and the oracle %.17g: error %.3g, bound %.3g", place(worst), worst.device,
                          worst.expected, worst.error, worst.bound);
  else if (!isUnbounded())
    absl::StrAppendFormat(&s, ", largest error %.3g (bound %.3g) at %s", largest.error, largest.bound, place(largest));
  if (special)
    absl::StrAppend(&s, ", ", special, " infinite or NaN");
  if (admitted)
    absl::StrAppend(&s, ", ", admitted, " NaN of excluded terms that a matrix unit may let through");
  if (unchecked)
    absl::StrAppend(&s, unchecked == elements ? " without a bound" : absl::StrCat(", ", unchecked, " without a bound"));
  return s;
}

bool CheckReport::failed() const {
  return std::any_of(outputs.begin(), outputs.end(), [](const OutputCheck &o) { return o.failures > 0; });
}

int CheckReport::numUnbounded() const {
  return int(std::count_if(outputs.begin(), outputs.end(), [](const OutputCheck &o) { return o.isUnbounded(); }));
}

std::string CheckReport::toString() const {
  std::string s;
  for (const OutputCheck &o : outputs)
    absl::StrAppend(&s, o.toString(), "\n");
  return s;
}

} // namespace kernelc::reference
