// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/helpers/HelperCase.h"

#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <sstream>

#include "codegen/Helpers.h"

namespace kernelc::helpers {
namespace {

const char *cudaType(ElementType t) {
  switch (t) {
  case ElementType::u8: return "unsigned char";
  case ElementType::u16: return "unsigned short";
  case ElementType::i32: return "int";
  case ElementType::u32: return "unsigned";
  case ElementType::i64: return "long long";
  case ElementType::u64: return "unsigned long long";
  case ElementType::f32: return "float";
  default: return "double";
  }
}

} // namespace

CaseBuilder::CaseBuilder(const HelperCaseMaker &about) {
  case_.kernel.name = about.name;
  case_.kernel.loc = {about.name + ".kc", 1, 1};
  Variant v;
  v.name = "default";
  v.target = about.capability >= 90 ? "sm_90a" : "sm_" + std::to_string(about.capability);
  case_.kernel.variants = {v};
  text_ = codegen::helperText(std::set<std::string>(about.helpers.begin(), about.helpers.end()), about.generation);
}

CaseBuilder &CaseBuilder::add(const std::string &name, ElementType type, ParamKind kind, std::vector<uint8_t> before, Expected after,
                              size_t count) {
  case_.kernel.params.push_back({name, type, kind, {SizeExpr(int64_t(count))}, case_.kernel.loc});
  case_.kernel.variants[0].params.push_back({LayoutClass::Dense, 16});
  case_.before.push_back(std::move(before));
  case_.after.push_back(std::move(after));
  return *this;
}

CaseBuilder &CaseBuilder::preamble(const std::string &text) {
  text_ += text;
  return *this;
}

CaseBuilder &CaseBuilder::launch(const std::string &entry, uint32_t threads, const std::string &body, int64_t sharedBytes, int64_t blocks,
                                 uint32_t cluster, std::vector<TensorMapArg> maps) {
  Launch l;
  l.entry = "kc_case_" + entry;
  l.grid = blocks;
  l.block = threads;
  l.cluster = cluster;
  l.sharedBytes = sharedBytes;
  std::string params;
  for (size_t i = 0; i < case_.kernel.params.size(); i++) {
    const Param &p = case_.kernel.params[i];
    l.args.push_back(PointerArg{int(i), {}});
    params += (i ? ", " : "") + std::string(p.kind == ParamKind::Input ? "const " : "") + cudaType(p.type) + " *" + p.name;
  }
  for (size_t i = 0; i < maps.size(); i++) {
    l.args.push_back(maps[i]);
    params += ", const __grid_constant__ kc_tensor_map m" + std::to_string(i);
  }
  // One block a multiprocessor: setmaxnreg wants to know the registers at entry.
  text_ += "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(threads) + ", 1) " + l.entry + "(" + params + ") {\n" + body +
           "\n}\n";
  case_.kernel.variants[0].launches.push_back(std::move(l));
  return *this;
}

CaseBuilder &CaseBuilder::dependent() {
  case_.kernel.variants[0].launches.back().dependent = true;
  return *this;
}

HelperCase CaseBuilder::build() {
  case_.kernel.variants[0].cudaText = text_;
  return std::move(case_);
}

namespace {

/// Element `i` of a buffer: its bits, its value where it is a float.
struct Element {
  uint64_t bits = 0;
  double value = 0;
};
Element elementAt(ElementType type, const uint8_t *p) {
  Element e;
  size_t bytes = size_t(elementBits(type)) / 8;
  std::memcpy(&e.bits, p, bytes);
  if (type == ElementType::f32) {
    float f;
    std::memcpy(&f, p, 4);
    e.value = f;
  } else if (type == ElementType::f64) {
    std::memcpy(&e.value, p, 8);
  }
  return e;
}

} // namespace

std::string explainDifference(const HelperCase &c, size_t param, const std::vector<uint8_t> &got) {
  const Expected &want = c.after[param];
  const Param &p = c.kernel.params[param];
  if (got.size() != want.bytes.size())
    return p.name + ": " + std::to_string(got.size()) + " bytes, not " + std::to_string(want.bytes.size());
  size_t bytes = size_t(elementBits(p.type)) / 8, wrong = 0;
  std::ostringstream out;
  for (size_t i = 0; i * bytes < got.size(); i++) {
    Element g = elementAt(p.type, &got[i * bytes]), w = elementAt(p.type, &want.bytes[i * bytes]);
    bool same = g.bits == w.bits;
    if (!same && want.compare == Compare::BitsButAnyNan)
      same = std::isnan(g.value) && std::isnan(w.value);
    if (!same && !want.bound.empty())
      same = std::fabs(g.value - w.value) <= want.bound[i];
    if (same)
      continue;
    if (wrong++ < 8) {
      out << "\n  [" << i << "] is " << std::hex << "0x" << g.bits << ", expected 0x" << w.bits << std::dec;
      if (isFloat(p.type))
        out << " (" << g.value << ", expected " << w.value << ")";
      // The inputs of elementwise cases stand at the same index.
      for (size_t k = 0; k < c.kernel.params.size(); k++) {
        size_t each = size_t(elementBits(c.kernel.params[k].type)) / 8;
        if (c.kernel.params[k].kind == ParamKind::Input && c.before[k].size() / each == got.size() / bytes)
          out << " " << c.kernel.params[k].name << " 0x" << std::hex << elementAt(c.kernel.params[k].type, &c.before[k][i * each]).bits
              << std::dec;
      }
    }
  }
  return wrong ? p.name + ": " + std::to_string(wrong) + " of " + std::to_string(got.size() / bytes) + " elements differ" + out.str() : "";
}

template <class T> std::vector<T> randomBits(size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> v(count);
  for (T &x : v)
    x = T(random());
  return v;
}
template std::vector<uint8_t> randomBits(size_t, unsigned);
template std::vector<uint16_t> randomBits(size_t, unsigned);
template std::vector<int32_t> randomBits(size_t, unsigned);
template std::vector<uint32_t> randomBits(size_t, unsigned);
template std::vector<int64_t> randomBits(size_t, unsigned);
template std::vector<uint64_t> randomBits(size_t, unsigned);

namespace {

template <class To, class From> To bitsAs(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

std::vector<double> specialValues() {
  std::vector<double> v = {0.0,
                           1.0,
                           0.5,
                           1.5,
                           2.5,
                           3.5,
                           447.0,
                           448.0,
                           464.0,
                           479.0,
                           480.0,
                           65504.0,
                           65519.0,
                           65520.0,
                           57344.0,
                           61440.0,
                           2147483647.0,
                           2147483648.0,
                           4294967295.0,
                           4294967296.0,
                           9223372036854775807.0,
                           18446744073709551615.0,
                           127.0,
                           127.5,
                           128.0,
                           255.0,
                           256.0,
                           32767.0,
                           32768.0,
                           1e-40,
                           1e-45,
                           3.3895314e38,
                           3.4028235e38,
                           std::numeric_limits<double>::infinity()};
  for (int e = -30; e <= 20; e++) // ties of every narrow type
    for (int m : {5, 9, 17, 33, 129, 257, 1025, 2049})
      v.push_back(std::ldexp(double(m), e));
  size_t n = v.size();
  for (size_t i = 0; i < n; i++)
    v.push_back(-v[i]);
  return v;
}

} // namespace

std::vector<float> awkwardFloats(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> v;
  for (double x : specialValues())
    v.push_back(float(x));
  for (uint32_t bits : {0x7fc00000u, 0x7fffffffu, 0xffc00000u, 0x7f800001u, 0xff812345u, 1u, 0x80000001u, 0x007fffffu, 0x00800000u})
    v.push_back(bitsAs<float>(bits));
  while (v.size() < count) {
    uint32_t bits = random();
    if (v.size() % 2) // exponents where the narrow types end
      bits = (bits & 0x807fffffu) | (100u + random() % 50u) << 23;
    if (v.size() % 3 == 0) // near a tie
      bits &= ~0u << (random() % 20);
    v.push_back(bitsAs<float>(bits));
  }
  v.resize(count);
  return v;
}

std::vector<double> awkwardDoubles(size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<double> v = specialValues();
  for (uint64_t bits :
       {0x7ff8000000000000ull, 0xfff8000000000000ull, 0x7ff0000000000001ull, 1ull, 0x47efffffe0000001ull, 0x7fefffffffffffffull})
    v.push_back(bitsAs<double>(uint64_t(bits)));
  while (v.size() < count) {
    uint64_t bits = random();
    if (v.size() % 2) // around the range of f32 and below
      bits = (bits & 0x800fffffffffffffull) | (uint64_t(1023 - 160) + random() % 300) << 52;
    if (v.size() % 3 == 0)
      bits &= ~0ull << (random() % 50);
    v.push_back(bitsAs<double>(bits));
  }
  v.resize(count);
  return v;
}

std::vector<float> smallIntegers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> v(count);
  for (float &x : v)
    x = float(int(random() % 9) - 4);
  return v;
}

std::vector<float> uniform(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> v(count);
  for (float &x : v)
    x = float(int32_t(random())) * 0x1p-31f;
  return v;
}

std::string fill(std::string text, const std::vector<std::pair<std::string, std::string>> &values) {
  for (const auto &[name, value] : values) {
    std::string mark = "$" + name + "$";
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + value.size()))
      text.replace(at, mark.size(), value);
  }
  return text;
}

} // namespace kernelc::helpers
