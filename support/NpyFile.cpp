// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/NpyFile.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "support/FileIo.h"
#include "support/TensorBytes.h"

namespace kernelc {
namespace {

constexpr uint64_t kMaxHeader = 1 << 20;

/// What a header says.
struct Header {
  std::string descr;  ///< the element type as it is spelled
  char byteOrder = 0; ///< '<', '>', '|', '='
  char kind = 0;      ///< 'f', 'i', 'u', 'b', 'V', ..; 0 where the spelling is none of NumPy's simple ones
  int bytes = 0;
  bool fortran = false;
  std::vector<int64_t> shape;
};

/// Reads the Python dict literal that numpy writes: three known keys, each once.
class HeaderParser {
public:
  explicit HeaderParser(absl::string_view text) : text_(text) {}

  absl::Status parse(Header &h) {
    bool descr = false, order = false, shape = false;
    if (!eat('{'))
      return bad("a dict");
    while (!eat('}')) {
      std::string key;
      if (!string(key) || !eat(':'))
        return bad("a key");
      if (key == "descr" && peek('['))
        return absl::InvalidArgumentError("its elements are structures; save one field as an array of its own, as with x['field']");
      bool ok = false;
      if (key == "descr" && !descr)
        ok = descr = this->descr(h);
      else if (key == "fortran_order" && !order)
        ok = order = boolean(h.fortran);
      else if (key == "shape" && !shape)
        ok = shape = tuple(h.shape);
      if (!ok)
        return bad(absl::StrCat("a simple, single '", key.substr(0, 20), "'"));
      if (!eat(',') && !peek('}'))
        return bad("',' or '}'");
    }
    space();
    if (at_ != text_.size() || !descr || !order || !shape)
      return bad("descr, fortran_order and shape and nothing else");
    return absl::OkStatus();
  }

private:
  absl::Status bad(absl::string_view expected) {
    return absl::InvalidArgumentError(absl::StrCat("header: expected ", expected, " near byte ", at_));
  }
  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t'))
      ++at_;
  }
  bool peek(char c) {
    space();
    return at_ < text_.size() && text_[at_] == c;
  }
  bool eat(char c) {
    bool is = peek(c);
    at_ += is;
    return is;
  }
  bool string(std::string &to) {
    char quote = peek('\'') ? '\'' : '"';
    if (!eat(quote))
      return false;
    size_t end = text_.find(quote, at_);
    if (end == absl::string_view::npos || text_.substr(at_, end - at_).find('\\') != absl::string_view::npos)
      return false;
    to = std::string(text_.substr(at_, end - at_));
    at_ = end + 1;
    return true;
  }
  bool word(absl::string_view w) {
    space();
    if (text_.substr(at_, w.size()) != w)
      return false;
    at_ += w.size();
    return true;
  }
  bool boolean(bool &to) {
    to = word("True");
    return to || word("False");
  }
  bool descr(Header &h) {
    if (!string(h.descr))
      return false;
    const std::string &s = h.descr;
    if (s.size() < 3 || s.size() > 4 || !std::strchr("<>|=", s[0]) || s.find_first_not_of("0123456789", 2) != s.npos)
      return true;
    h.byteOrder = s[0];
    h.kind = s[1];
    for (char c : s.substr(2))
      h.bytes = h.bytes * 10 + (c - '0');
    return true;
  }
  bool tuple(std::vector<int64_t> &to) {
    if (!eat('('))
      return false;
    while (!eat(')')) {
      space();
      int64_t v = 0;
      size_t start = at_;
      for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
        if (__builtin_mul_overflow(v, int64_t(10), &v) || __builtin_add_overflow(v, int64_t(text_[at_] - '0'), &v))
          return false;
      if (at_ == start || to.size() == 64)
        return false;
      to.push_back(v);
      if (!eat(',') && !peek(')'))
        return false;
    }
    return true;
  }

  absl::string_view text_;
  size_t at_ = 0;
};

/// What an element of the file is: the type that its spelling names, or `wanted` where the spelling leaves that open
/// (bits of a type that NumPy lacks, a byte each of i4 and u4).
std::optional<ElementType> typeOf(const Header &h, std::optional<ElementType> wanted) {
  auto wants = [&](std::initializer_list<ElementType> types) {
    return wanted && std::find(types.begin(), types.end(), *wanted) != types.end();
  };
  bool isVoid = h.kind == 'V', isUnsigned = h.kind == 'u';
  if (h.bytes == 1 && (isVoid || isUnsigned) && wants({ElementType::f8e4m3, ElementType::f8e5m2}))
    return wanted;
  if (h.bytes == 2 && isUnsigned && wants({ElementType::bf16}))
    return wanted;
  if (h.bytes == 1 && ((isVoid && wants({ElementType::i4, ElementType::u4})) || (isUnsigned && wants({ElementType::u4})) ||
                       (h.kind == 'i' && wants({ElementType::i4}))))
    return wanted;
  if (isVoid)
    return h.bytes == 2 ? std::optional(ElementType::bf16) : std::nullopt;
  if (h.kind == 'b')
    return h.bytes == 1 ? std::optional(ElementType::boolean) : std::nullopt;
  if (h.kind == 'f' && h.bytes == 1)
    return ElementType::f8e5m2;
  // Not a bit count a name has when the file is hostile: findElementType refuses it.
  auto found = findElementType(absl::StrCat(std::string(1, h.kind), h.bytes * 8));
  return found && elementBits(*found) == h.bytes * 8 ? found : std::nullopt;
}

void swapBytes(uint8_t *data, size_t bytes, int width) {
  for (size_t i = 0; i + size_t(width) <= bytes; i += size_t(width))
    std::reverse(data + i, data + i + width);
}

const char *descrOf(ElementType t) {
  switch (t) {
  case ElementType::f64: return "<f8";
  case ElementType::f32: return "<f4";
  case ElementType::f16: return "<f2";
  case ElementType::bf16: return "|V2";
  case ElementType::f8e4m3:
  case ElementType::f8e5m2: return "|V1";
  case ElementType::i64: return "<i8";
  case ElementType::i32: return "<i4";
  case ElementType::i16: return "<i2";
  case ElementType::i8:
  case ElementType::i4: return "|i1";
  case ElementType::u64: return "<u8";
  case ElementType::u32: return "<u4";
  case ElementType::u16: return "<u2";
  case ElementType::u8:
  case ElementType::u4: return "|u1";
  case ElementType::boolean: return "|b1";
  }
  return "";
}

/// How `t` is spelled in Python, as the argument of astype().
std::string spelled(ElementType t) {
  switch (t) {
  case ElementType::bf16: return "ml_dtypes.bfloat16";
  case ElementType::f8e4m3: return "ml_dtypes.float8_e4m3fn";
  case ElementType::f8e5m2: return "ml_dtypes.float8_e5m2";
  default: return absl::StrCat("'", descrOf(t), "'");
  }
}

/// Why elements that the header spells so are not `wanted`, and the way out.
std::string mismatch(const std::string &path, const Header &h, std::optional<ElementType> found, ElementType wanted) {
  std::string holds = absl::CHexEscape(h.descr.substr(0, 20));
  std::string text = absl::StrCat("expected ", elementTypeName(wanted), ", '", path, "' holds '", holds, "'",
                                  found ? absl::StrCat(" (", elementTypeName(*found), ")") : std::string(),
                                  "; convert the array, as with x.astype(", spelled(wanted), ")");
  if (h.bytes == fileElementBytes(wanted) && elementBits(wanted) != 4)
    absl::StrAppend(&text, ", or if these are the bits of ", elementTypeName(wanted), ", say so with x.view(", spelled(wanted), ")");
  return text;
}

} // namespace

absl::StatusOr<OwnedTensor> readNpy(const std::string &path, std::optional<ElementType> wanted) {
  auto file = InputFile::open(path);
  if (!file.ok())
    return file.status();
  auto bad = [&](absl::string_view why) { return absl::InvalidArgumentError(absl::StrCat("'", path, "': ", why)); };
  uint8_t head[12];
  if (file->size() < 10 || !file->read(0, head, 10).ok() || std::memcmp(head, "\x93NUMPY", 6) != 0)
    return bad("not an .npy file; numpy.save writes one");
  int major = head[6];
  if (major < 1 || major > 3 || head[7] != 0)
    return bad(absl::StrCat("format version ", major, ".", head[7], " is unknown; 1.0 to 3.0 are read"));
  uint64_t start = 10, length = head[8] | head[9] << 8;
  if (major > 1) {
    if (absl::Status s = file->read(0, head, 12); !s.ok())
      return s;
    start = 12;
    length |= uint64_t(head[10]) << 16 | uint64_t(head[11]) << 24;
  }
  if (length > kMaxHeader || start + length > file->size())
    return bad(absl::StrCat("it is cut off or damaged: its header should be ", length, " bytes long"));
  std::string text(length, ' ');
  if (absl::Status s = file->read(start, text.data(), length); !s.ok())
    return s;
  Header h;
  if (absl::Status s = HeaderParser(text).parse(h); !s.ok())
    return bad(s.message());
  auto type = typeOf(h, wanted);
  if (wanted && type != wanted)
    return absl::InvalidArgumentError(mismatch(path, h, type, *wanted));
  if (!type)
    return bad(absl::StrCat("element type '", absl::CHexEscape(h.descr.substr(0, 20)), "' is not one of kernelc's",
                            h.kind == 'V' && h.bytes == 1 ? "; say which 8-bit type it is" : ""));
  ElementType stored = elementBits(*type) != 4 ? *type : h.kind == 'i' ? ElementType::i8 : ElementType::u8;
  auto bytes = denseBytes(stored, h.shape);
  if (!bytes.ok())
    return bad(bytes.status().message());
  if (file->size() - start - length != *bytes)
    return bad(absl::StrCat("shape [", absl::StrJoin(h.shape, ", "), "] of ", elementTypeName(*type), " needs ", *bytes,
                            " bytes of data, the file has ", file->size() - start - length));
  auto tensor = allocateTensor(stored, h.shape);
  if (!tensor.ok())
    return tensor;
  if (absl::Status s = file->read(start + length, tensor->data.get(), *bytes); !s.ok())
    return s;
  if (h.byteOrder == '>')
    swapBytes(tensor->data.get(), *bytes, h.bytes);
  if (h.fortran) {
    int64_t stride = 1;
    for (size_t i = 0; i < h.shape.size(); ++i) {
      tensor->strides[i] = stride;
      stride *= std::max<int64_t>(h.shape[i], 1);
    }
  }
  auto result = settleElements(std::move(*tensor), *type);
  return result.ok() ? std::move(result) : bad(result.status().message());
}

absl::Status writeNpy(const std::string &path, const TensorView &t) {
  if (auto bytes = denseBytes(t.type, t.shape); !bytes.ok())
    return bytes.status();
  std::string header = absl::StrCat("{'descr': '", descrOf(t.type), "', 'fortran_order': False, 'shape': (", absl::StrJoin(t.shape, ", "),
                                    t.shape.size() == 1 ? "," : "", "), }");
  size_t total = (10 + header.size() + 1 + 63) / 64 * 64; // the data starts aligned
  header.resize(total - 11, ' ');
  header += '\n';
  return writeFileAtomically(path, [&](OutputFile &out) {
    uint8_t head[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, uint8_t(header.size()), uint8_t(header.size() >> 8)};
    if (absl::Status s = out.write(head, sizeof head); !s.ok())
      return s;
    if (absl::Status s = out.write(header.data(), header.size()); !s.ok())
      return s;
    return forEachPiece(t, [&](const void *data, size_t n) { return out.write(data, n); });
  });
}

} // namespace kernelc
