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
                                        const TensorView &bound) {
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
    if (std::isinf(e) || std::isnan(e)) {
      ++result.unchecked;
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
  bool worse = into.elements == into.unchecked ||
               (into.failures == 0 && (from.failures > 0 || from.worst.error * into.worst.bound > into.worst.error * from.worst.bound));
  if (from.elements > from.unchecked && worse)
    into.worst = from.worst;
  if (from.elements > from.unchecked && (into.elements == into.unchecked || from.largest.error > into.largest.error))
    into.largest = from.largest;
  into.elements += from.elements;
  into.failures += from.failures;
  into.unchecked += from.unchecked;
  into.special += from.special;
  into.largestBound = std::max(into.largestBound, from.largestBound);
}

/// The oracle's arrays for all outputs.
struct Expected {
  std::vector<std::unique_ptr<double[]>> memory;
  std::vector<TensorView> values, bounds;
};

/// Compares samples of output i until the work is spent.
absl::Status checkSamples(const ReferenceKernel &oracle, absl::Span<const int64_t> sizes, absl::Span<const TensorView> args,
                          const TensorView &device, size_t i, const Expected &expected, ThreadPool *pool,
                          const CheckOptions &options, double budget, OutputCheck &result) {
  constexpr int kMaxSamples = 256;
  std::mt19937_64 engine(options.seed + i);
  std::vector<Box> boxes;
  for (const TensorView &v : expected.values)
    boxes.push_back({std::vector<int64_t>(v.shape.size(), 0), std::vector<int64_t>(v.shape.size(), 0)});
  for (int sample = 0; sample < kMaxSamples; ++sample) {
    boxes[i] = sampleBox(device.shape, sample, engine);
    budget -= oracle.estimateWork(sizes, boxes);
    if (sample > 1 && budget < 0)
      break;
    if (absl::Status s = oracle.run(sizes, args, expected.values, pool, expected.bounds, boxes); !s.ok())
      return s;
    auto one = checkOutput(result.name, part(device, boxes[i]), part(expected.values[i], boxes[i]), part(expected.bounds[i], boxes[i]));
    if (!one.ok())
      return one.status();
    for (CheckedElement *e : {&one->largest, &one->worst})
      for (size_t d = 0; d < e->index.size(); ++d)
        e->index[d] += boxes[i].lower[d];
    merge(result, *one);
  }
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<CheckReport> checkOutputs(const ReferenceKernel &oracle, absl::Span<const int64_t> sizes,
                                         absl::Span<const TensorView> args, absl::Span<const TensorView> outs,
                                         ThreadPool *pool, const CheckOptions &options) {
  if (oracle.arithmetic() != Arithmetic::F64WithError)
    return absl::InvalidArgumentError("check needs an oracle compiled with F64WithError");
  if (outs.size() != oracle.numOutputs())
    return absl::InvalidArgumentError(absl::StrCat("the kernel has ", oracle.numOutputs(), " outputs, not ", outs.size()));
  Expected expected;
  bool packed = false;
  for (size_t i = 0; i < outs.size(); ++i) {
    std::vector<int64_t> shape = oracle.outputShape(unsigned(i), sizes);
    TensorView v{nullptr, oracle.outputType(unsigned(i)), shape, denseStrides(shape)};
    if (outs[i].shape != shape || (isFloat(outs[i].type) ? v.type != ElementType::f64 : v.type != outs[i].type))
      return absl::InvalidArgumentError(absl::StrCat("output '", oracle.outputName(unsigned(i)), "' has the wrong type or shape"));
    packed |= elementBits(v.type) == 4;
    for (auto *list : {&expected.values, &expected.bounds}) {
      // Not initialised: where samples do, untouched pages cost nothing.
      expected.memory.emplace_back(new (std::nothrow) double[size_t(v.numElements()) + 1]);
      if (!expected.memory.back())
        return absl::ResourceExhaustedError(absl::StrCat("no memory to check '", oracle.outputName(unsigned(i)), "'"));
      v.data = expected.memory.back().get();
      list->push_back(v);
      v.type = ElementType::f64;
    }
  }
  bool whole = packed || oracle.estimateWork(sizes) <= options.maxWork;
  if (whole)
    if (absl::Status s = oracle.run(sizes, args, expected.values, pool, expected.bounds); !s.ok())
      return s;
  CheckReport report;
  for (size_t i = 0; i < outs.size(); ++i) {
    OutputCheck result;
    result.name = oracle.outputName(unsigned(i));
    if (whole) {
      auto output = checkOutput(result.name, outs[i], expected.values[i], expected.bounds[i]);
      if (!output.ok())
        return output.status();
      result = std::move(*output);
    } else if (outs[i].numElements() > 0) {
      absl::Status s = checkSamples(oracle, sizes, args, outs[i], i, expected, pool, options,
                                    options.maxWork / double(outs.size()), result);
      if (!s.ok())
        return s;
    }
    result.total = outs[i].numElements();
    report.outputs.push_back(std::move(result));
  }
  return report;
}

std::string OutputCheck::toString() const {
  std::string verdict = failures ? absl::StrCat("FAILED at ", failures, " of ") : isUnbounded() ? "not checked, " : "ok, ";
  std::string s = absl::StrCat(name, ": ", verdict, elements, elements < total ? absl::StrCat(" sampled elements of ", total) : " elements");
  auto place = [](const CheckedElement &e) { return absl::StrCat("[", absl::StrJoin(e.index, ", "), "]"); };
  if (failures)
    absl::StrAppendFormat(&s, ", at %s the device has %.9g and the oracle %.17g: error %.3g, bound %.3g", place(worst),
                          worst.device, worst.expected, worst.error, worst.bound);
  else if (unchecked < elements)
    absl::StrAppendFormat(&s, ", largest error %.3g (bound %.3g) at %s", largest.error, largest.bound, place(largest));
  if (special)
    absl::StrAppend(&s, ", ", special, " infinite or NaN");
  if (unchecked)
    absl::StrAppend(&s, isUnbounded() ? " without a bound" : absl::StrCat(", ", unchecked, " without a bound"));
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
