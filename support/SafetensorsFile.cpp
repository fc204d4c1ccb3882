#include "support/SafetensorsFile.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "support/StrictJson.h"
#include "support/TensorBytes.h"

namespace kernelc {
namespace {

/// The format's own limit.
constexpr uint64_t kMaxHeader = 100000000;

constexpr std::pair<const char *, ElementType> kTypes[] = {
    {"F64", ElementType::f64}, {"F32", ElementType::f32}, {"F16", ElementType::f16}, {"BF16", ElementType::bf16},
    {"F8_E4M3", ElementType::f8e4m3}, {"F8_E5M2", ElementType::f8e5m2},
    {"I64", ElementType::i64}, {"I32", ElementType::i32}, {"I16", ElementType::i16}, {"I8", ElementType::i8},
    {"U64", ElementType::u64}, {"U32", ElementType::u32}, {"U16", ElementType::u16}, {"U8", ElementType::u8},
    {"BOOL", ElementType::boolean}};

const char *dtypeOf(ElementType t) {
  if (elementBits(t) == 4)
    return t == ElementType::i4 ? "I8" : "U8";
  for (auto [name, type] : kTypes)
    if (type == t)
      return name;
  return "";
}

absl::Status bad(absl::string_view name, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("tensor ", quoteJson(name), ": ", why));
}

absl::StatusOr<SafetensorsFile::Entry> parseEntry(const std::string &name, const JsonValue &v) {
  SafetensorsFile::Entry e;
  e.name = name;
  const JsonValue *dtype = v.find("dtype"), *shape = v.find("shape"), *offsets = v.find("data_offsets");
  if (v.kind != JsonValue::Object || v.object.size() != 3 || !dtype || !shape || !offsets)
    return bad(name, "expected dtype, shape and data_offsets");
  auto *known = std::find_if(std::begin(kTypes), std::end(kTypes), [&](auto &t) { return dtype->string == t.first; });
  if (dtype->kind != JsonValue::String || known == std::end(kTypes))
    return bad(name, absl::StrCat("unknown dtype '", dtype->string.substr(0, 20), "'"));
  e.type = known->second;
  if (shape->kind != JsonValue::Array || shape->array.size() > 64)
    return bad(name, "the shape must be a list");
  for (const JsonValue &d : shape->array) {
    if (d.kind != JsonValue::Integer || d.integer < 0)
      return bad(name, "the shape must be nonnegative integers");
    e.shape.push_back(d.integer);
  }
  if (offsets->kind != JsonValue::Array || offsets->array.size() != 2 || offsets->array[0].kind != JsonValue::Integer ||
      offsets->array[1].kind != JsonValue::Integer || offsets->array[0].integer < 0 ||
      offsets->array[1].integer < offsets->array[0].integer)
    return bad(name, "data_offsets must be two growing integers");
  e.begin = uint64_t(offsets->array[0].integer);
  e.end = uint64_t(offsets->array[1].integer);
  auto bytes = denseBytes(e.type, e.shape);
  if (!bytes.ok())
    return bad(name, bytes.status().message());
  if (*bytes != e.end - e.begin)
    return bad(name, absl::StrCat("the shape needs ", *bytes, " bytes, data_offsets give ", e.end - e.begin));
  return e;
}

} // namespace

absl::StatusOr<SafetensorsFile> SafetensorsFile::open(const std::string &path) {
  auto input = InputFile::open(path);
  if (!input.ok())
    return input.status();
  SafetensorsFile file(std::move(*input));
  auto fail = [&](absl::string_view why) { return absl::InvalidArgumentError(absl::StrCat("'", path, "': ", why)); };
  uint8_t head[8];
  if (file.file_.size() < 8 || !file.file_.read(0, head, 8).ok())
    return fail("not a .safetensors file");
  uint64_t length = 0;
  for (int i = 0; i < 8; ++i)
    length |= uint64_t(head[i]) << (8 * i);
  if (length > kMaxHeader || length > file.file_.size() - 8)
    return fail(absl::StrCat("its header says to be ", length, " bytes long"));
  std::string text(length, ' ');
  if (absl::Status s = file.file_.read(8, text.data(), length); !s.ok())
    return s;
  auto header = parseJson(text);
  if (!header.ok())
    return fail(header.status().message());
  if (header->kind != JsonValue::Object)
    return fail("the header must be a JSON object");
  file.dataStart_ = 8 + length;
  for (auto &[name, value] : header->object) {
    if (name == "__metadata__") {
      for (auto &[key, text] : value.object)
        if (text.kind != JsonValue::String)
          return fail("__metadata__ must map strings to strings");
      if (value.kind != JsonValue::Object)
        return fail("__metadata__ must be an object");
      continue;
    }
    auto e = parseEntry(name, value);
    if (!e.ok())
      return fail(e.status().message());
    file.entries_.push_back(std::move(*e));
  }
  // One after the other, without gaps, up to the end of the file.
  std::sort(file.entries_.begin(), file.entries_.end(), [](const Entry &a, const Entry &b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  uint64_t at = 0;
  for (const Entry &e : file.entries_) {
    if (e.begin != at)
      return fail(absl::StrCat("tensor ", quoteJson(e.name), " starts at byte ", e.begin, " where ", at, " was due"));
    at = e.end;
  }
  if (at != file.file_.size() - file.dataStart_)
    return fail(absl::StrCat("the tensors take ", at, " bytes, the file has ", file.file_.size() - file.dataStart_));
  return file;
}

absl::StatusOr<OwnedTensor> SafetensorsFile::read(const std::string &name, std::optional<ElementType> type) const {
  for (const Entry &e : entries_) {
    if (e.name != name)
      continue;
    auto tensor = allocateTensor(e.type, e.shape);
    if (!tensor.ok())
      return tensor;
    if (absl::Status s = file_.read(dataStart_ + e.begin, tensor->data.get(), e.end - e.begin); !s.ok())
      return s;
    if (!type)
      return tensor;
    auto result = reinterpretTensor(std::move(*tensor), *type);
    return result.ok() ? std::move(result) : bad(name, result.status().message());
  }
  return absl::NotFoundError(absl::StrCat("'", file_.path(), "' has no tensor ", quoteJson(name)));
}

absl::Status writeSafetensors(const std::string &path, const std::vector<std::pair<std::string, TensorView>> &tensors) {
  std::string header = "{";
  uint64_t at = 0;
  std::set<std::string> names;
  for (auto &[name, t] : tensors) {
    if (!names.insert(name).second || name == "__metadata__")
      return bad(name, "the name is taken");
    auto bytes = denseBytes(elementBits(t.type) == 4 ? ElementType::u8 : t.type, t.shape);
    if (!bytes.ok())
      return bad(name, bytes.status().message());
    absl::StrAppend(&header, header.size() > 1 ? "," : "", quoteJson(name), ":{\"dtype\":\"", dtypeOf(t.type), "\",\"shape\":[");
    for (size_t i = 0; i < t.shape.size(); ++i)
      absl::StrAppend(&header, i ? "," : "", t.shape[i]);
    absl::StrAppend(&header, "],\"data_offsets\":[", at, ",", at + *bytes, "]}");
    at += *bytes;
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' '); // keeps the data aligned
  if (header.size() > kMaxHeader)
    return absl::InvalidArgumentError("too many tensors for one .safetensors file");
  return writeFileAtomically(path, [&](OutputFile &out) {
    uint8_t head[8];
    for (int i = 0; i < 8; ++i)
      head[i] = uint8_t(uint64_t(header.size()) >> (8 * i));
    if (absl::Status s = out.write(head, sizeof head); !s.ok())
      return s;
    if (absl::Status s = out.write(header.data(), header.size()); !s.ok())
      return s;
    for (auto &[name, t] : tensors)
      if (absl::Status s = forEachPiece(t, [&](const void *data, size_t n) { return out.write(data, n); }); !s.ok())
        return s;
    return absl::OkStatus();
  });
}

} // namespace kernelc
