#include "reference/Check.h"

#include <cmath>
#include <new>

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
  result.elements = device.numElements();
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

absl::StatusOr<CheckReport> checkOutputs(const ReferenceKernel &oracle, absl::Span<const int64_t> sizes,
                                         absl::Span<const TensorView> args, absl::Span<const TensorView> outs,
                                         ThreadPool *pool) {
  if (oracle.arithmetic() != Arithmetic::F64WithError)
    return absl::InvalidArgumentError("check needs an oracle compiled with F64WithError");
  if (outs.size() != oracle.numOutputs())
    return absl::InvalidArgumentError(absl::StrCat("the kernel has ", oracle.numOutputs(), " outputs, not ", outs.size()));
  std::vector<std::unique_ptr<double[]>> memory;
  std::vector<TensorView> expected, bounds;
  for (size_t i = 0; i < outs.size(); ++i) {
    std::vector<int64_t> shape = oracle.outputShape(unsigned(i), sizes);
    TensorView v{nullptr, oracle.outputType(unsigned(i)), shape, denseStrides(shape)};
    if (outs[i].shape != shape || (isFloat(outs[i].type) ? v.type != ElementType::f64 : v.type != outs[i].type))
      return absl::InvalidArgumentError(absl::StrCat("output '", oracle.outputName(unsigned(i)), "' has the wrong type or shape"));
    for (auto *list : {&expected, &bounds}) {
      memory.emplace_back(new (std::nothrow) double[size_t(v.numElements()) + 1]);
      if (!memory.back())
        return absl::ResourceExhaustedError(absl::StrCat("no memory to check '", oracle.outputName(unsigned(i)), "'"));
      v.data = memory.back().get();
      list->push_back(v);
      v.type = ElementType::f64;
    }
  }
  if (absl::Status s = oracle.run(sizes, args, expected, pool, bounds); !s.ok())
    return s;
  CheckReport report;
  for (size_t i = 0; i < outs.size(); ++i) {
    auto output = checkOutput(oracle.outputName(unsigned(i)), outs[i], expected[i], bounds[i]);
    if (!output.ok())
      return output.status();
    report.outputs.push_back(std::move(*output));
  }
  return report;
}

std::string OutputCheck::toString() const {
  std::string s = absl::StrCat(name, ": ", passed() ? "ok, " : absl::StrCat("FAILED at ", failures, " of "), elements, " elements");
  auto place = [](const CheckedElement &e) { return absl::StrCat("[", absl::StrJoin(e.index, ", "), "]"); };
  if (!passed())
    absl::StrAppendFormat(&s, ", at %s the device has %.9g and the oracle %.17g: error %.3g, bound %.3g", place(worst),
                          worst.device, worst.expected, worst.error, worst.bound);
  else if (unchecked < elements)
    absl::StrAppendFormat(&s, ", largest error %.3g (bound %.3g) at %s", largest.error, largest.bound, place(largest));
  if (unchecked)
    absl::StrAppend(&s, ", ", unchecked, " without a bound");
  return s;
}

bool CheckReport::passed() const {
  for (const OutputCheck &o : outputs)
    if (!o.passed())
      return false;
  return true;
}

std::string CheckReport::toString() const {
  std::string s;
  for (const OutputCheck &o : outputs)
    absl::StrAppend(&s, o.toString(), "\n");
  return s;
}

} // namespace kernelc::reference
