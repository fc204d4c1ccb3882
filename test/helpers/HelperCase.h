// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One small kernel per device helper, with inputs and the outputs that plain C++
// expects: the same case runs on the emulator (HelperModelsTest.cpp) and on a GPU
// (HelperDeviceTest.cpp), so where both agree with what is expected bit for bit,
// they agree with each other. A case must not compute its expectation with the
// text or the model it is about.
#pragma once

#include <cstring>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "support/Artifact.h"

namespace kernelc::helpers {

/// How an output is compared.
enum class Compare {
  Bits,
  BitsButAnyNan, ///< any NaN for any NaN: the payload is nobody's promise
};

/// What one written parameter must hold; `bound` empty: bit for bit, else one
/// absolute error per element.
struct Expected {
  std::vector<uint8_t> bytes;
  Compare compare = Compare::Bits;
  std::vector<double> bound;
};

/// Parallel to kernel.params: bytes before the launch (empty for pure outputs) and
/// after it (empty for inputs). Every tensor is of rank 1.
struct HelperCase {
  Kernel kernel;
  std::vector<std::vector<uint8_t>> before;
  std::vector<Expected> after;
  const Variant &variant() const { return kernel.variants.front(); }
};

/// A case that can be made. `helpers` are those it is about, in the newest spelling
/// of `generation`; it runs on devices from `capability` (75, 80, 90) on.
struct HelperCaseMaker {
  std::string name;
  int generation = 75, capability = 75;
  std::vector<std::string> helpers;
  std::function<HelperCase()> make;
};

/// For test names.
inline void PrintTo(const HelperCaseMaker &m, std::ostream *os) { *os << m.name; }

/// All cases; names are unique and fit for test names.
std::vector<HelperCaseMaker> allHelperCases();

/// Empty when `got`, the bytes of parameter `param` after the run, are as expected;
/// else how many elements differ and the first few of them.
std::string explainDifference(const HelperCase &c, size_t param, const std::vector<uint8_t> &got);

/// Makes a HelperCase: parameters first, then launches, which all take every
/// parameter as a pointer, in order, and the tensor maps they name, m0, m1, ..
class CaseBuilder {
public:
  CaseBuilder(const HelperCaseMaker &about);

  template <class T> CaseBuilder &input(const std::string &name, const std::vector<T> &values) {
    return add(name, elementOf(T()), ParamKind::Input, bytesOf(values), {}, values.size());
  }
  template <class T>
  CaseBuilder &output(const std::string &name, const std::vector<T> &expected, Compare compare = Compare::Bits,
                      std::vector<double> bound = {}) {
    return add(name, elementOf(T()), ParamKind::Output, {}, {bytesOf(expected), compare, std::move(bound)}, expected.size());
  }
  /// For what is written in part only.
  template <class T> CaseBuilder &inout(const std::string &name, const std::vector<T> &values, const std::vector<T> &expected) {
    return add(name, elementOf(T()), ParamKind::InOut, bytesOf(values), {bytesOf(expected), Compare::Bits, {}}, values.size());
  }
  /// `body` is the kernel's body; it may use what `preamble` declares.
  CaseBuilder &launch(const std::string &entry, uint32_t threads, const std::string &body, int64_t sharedBytes = 0, int64_t blocks = 1,
                      uint32_t cluster = 1, std::vector<TensorMapArg> maps = {});
  /// The last launch may start while the one before it runs.
  CaseBuilder &dependent();
  CaseBuilder &preamble(const std::string &text);
  HelperCase build();

  static ElementType elementOf(uint8_t) { return ElementType::u8; }
  static ElementType elementOf(uint16_t) { return ElementType::u16; }
  static ElementType elementOf(int32_t) { return ElementType::i32; }
  static ElementType elementOf(uint32_t) { return ElementType::u32; }
  static ElementType elementOf(int64_t) { return ElementType::i64; }
  static ElementType elementOf(uint64_t) { return ElementType::u64; }
  static ElementType elementOf(float) { return ElementType::f32; }
  static ElementType elementOf(double) { return ElementType::f64; }

private:
  template <class T> static std::vector<uint8_t> bytesOf(const std::vector<T> &values) {
    std::vector<uint8_t> bytes(values.size() * sizeof(T));
    if (!bytes.empty())
      std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }
  CaseBuilder &add(const std::string &name, ElementType type, ParamKind kind, std::vector<uint8_t> before, Expected after, size_t count);

  HelperCase case_;
  std::string text_;
};

/// `count` values from `seed`, every bit random.
template <class T> std::vector<T> randomBits(size_t count, unsigned seed);
/// Random f32 and f64 with the values that conversions trip over in front: zeros,
/// infinities, NaNs, subnormals, limits of the integers and of narrow floats, ties.
std::vector<float> awkwardFloats(size_t count, unsigned seed);
std::vector<double> awkwardDoubles(size_t count, unsigned seed);
/// Whole numbers in [-4, 4]; uniform values in [-1, 1].
std::vector<float> smallIntegers(size_t count, unsigned seed);
std::vector<float> uniform(size_t count, unsigned seed);

/// `text` with every `$name$` replaced.
std::string fill(std::string text, const std::vector<std::pair<std::string, std::string>> &values);

} // namespace kernelc::helpers
