// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/SafetensorsFile.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "support/Json.h"
#include "support/TensorBytes.h"

namespace kernelc {
namespace {

/// The format's own limit.
constexpr uint64_t kMaxHeader = 100000000;

constexpr std::pair<const char *, ElementType> kTypes[] = {
    {"F64", ElementType::f64},        {"F32", ElementType::f32},        {"F16", ElementType::f16},     {"BF16", ElementType::bf16},
    {"F8_E4M3", ElementType::f8e4m3}, {"F8_E5M2", ElementType::f8e5m2}, {"I64", ElementType::i64},     {"I32", ElementType::i32},
    {"I16", ElementType::i16},        {"I8", ElementType::i8},          {"U64", ElementType::u64},     {"U32", ElementType::u32},
    {"U16", ElementType::u16},        {"U8", ElementType::u8},          {"BOOL", ElementType::boolean}};

const char *dtypeOf(ElementType t) {
  if (elementBits(t) == 4)
    return t == ElementType::i4 ? "I8" : "U8";
  for (auto [name, type] : kTypes)
    if (type == t)
      return name;
  return "";
}

absl::Status bad(absl::string_view name, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("tensor '", name, "': ", why));
}

absl::StatusOr<SafetensorsFile::Entry> parseEntry(const std::string &name, const Json &v) {
  SafetensorsFile::Entry e;
  e.name = name;
  const Json *dtype = v.find("dtype"), *shape = v.find("shape"), *offsets = v.find("data_offsets");
  if (!dtype || !shape || !offsets || v.asObject()->size() != 3)
    return bad(name, "expected dtype, shape and data_offsets");
  const std::string *spelled = dtype->asString();
  auto *known = std::find_if(std::begin(kTypes), std::end(kTypes), [&](auto &t) { return spelled && *spelled == t.first; });
  if (!spelled)
    return bad(name, absl::StrCat("unknown dtype ", dtype->kindName()));
  e.dtype = *spelled;
  if (known != std::end(kTypes))
    e.type = known->second;
  const JsonArray *dims = shape->asArray(), *range = offsets->asArray();
  if (!dims || dims->size() > 64)
    return bad(name, "the shape must be a list");
  for (const Json &d : *dims) {
    if (!d.asInt() || *d.asInt() < 0)
      return bad(name, "the shape must be nonnegative integers");
    e.shape.push_back(*d.asInt());
  }
  const int64_t *begin = range && range->size() == 2 ? (*range)[0].asInt() : nullptr;
  const int64_t *end = begin ? (*range)[1].asInt() : nullptr;
  if (!end || *begin < 0 || *end < *begin)
    return bad(name, "data_offsets must be two growing integers");
  e.begin = uint64_t(*begin);
  e.end = uint64_t(*end);
  if (!e.type)
    return e;
  auto bytes = denseBytes(*e.type, e.shape);
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
    return fail(absl::StrCat("its header should be ", length, " bytes long"));
  std::string text(length, ' ');
  if (absl::Status s = file.file_.read(8, text.data(), length); !s.ok())
    return s;
  JsonLimits limits;
  limits.maxBytes = kMaxHeader;
  auto header = parseJson(text, limits);
  if (!header.ok())
    return fail(absl::StrCat("header ", header.status().message()));
  if (!header->asObject())
    return fail("the header must be a JSON object");
  file.dataStart_ = 8 + length;
  for (auto &[name, value] : *header->asObject()) {
    if (name == "__metadata__") {
      if (!value.asObject())
        return fail("__metadata__ must be an object");
      for (auto &[key, entry] : *value.asObject())
        if (!entry.asString())
          return fail("__metadata__ must map strings to strings");
      continue;
    }
    auto e = parseEntry(name, value);
    if (!e.ok())
      return fail(e.status().message());
    file.entries_.push_back(std::move(*e));
  }
  // One after the other, without gaps, up to the end of the file.
  std::sort(file.entries_.begin(), file.entries_.end(),
            [](const Entry &a, const Entry &b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
  uint64_t at = 0;
  for (const Entry &e : file.entries_) {
    if (e.begin != at)
      return fail(absl::StrCat("tensor ", "'", e.name, "'", " starts at byte ", e.begin, " where ", at, " was due"));
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
    if (!e.type)
      return bad(name, absl::StrCat("'", file_.path(), "' holds ", e.dtype.substr(0, 20), ", which is no element type of kernelc",
                                    type ? absl::StrCat("; save it as ", dtypeOf(*type)) : ""));
    ElementType wanted = type.value_or(*e.type);
    bool nibbles = elementBits(wanted) == 4;
    if (absl::string_view(dtypeOf(wanted)) != e.dtype)
      return bad(name, absl::StrCat("expected ", elementTypeName(wanted), ", '", file_.path(), "' holds ", e.dtype, " (",
                                    elementTypeName(*e.type), "); save it as ", dtypeOf(wanted), nibbles ? ", a byte an element" : ""));
    auto tensor = allocateTensor(*e.type, e.shape);
    if (!tensor.ok())
      return tensor;
    if (absl::Status s = file_.read(dataStart_ + e.begin, tensor->data.get(), e.end - e.begin); !s.ok())
      return s;
    auto result = settleElements(std::move(*tensor), wanted);
    return result.ok() ? std::move(result) : bad(name, result.status().message());
  }
  return absl::NotFoundError(absl::StrCat("'", file_.path(), "' has no tensor '", name, "'"));
}

absl::Status writeSafetensors(const std::string &path, const std::vector<std::pair<std::string, TensorView>> &tensors) {
  JsonObject entries;
  uint64_t at = 0;
  std::set<std::string> names;
  for (auto &[name, t] : tensors) {
    if (!names.insert(name).second || name == "__metadata__")
      return bad(name, "the name is taken");
    auto bytes = denseBytes(elementBits(t.type) == 4 ? ElementType::u8 : t.type, t.shape);
    if (!bytes.ok())
      return bad(name, bytes.status().message());
    JsonArray shape(t.shape.begin(), t.shape.end());
    JsonArray offsets = {int64_t(at), int64_t(at + *bytes)};
    entries.emplace_back(name, JsonObject{{"dtype", dtypeOf(t.type)}, {"shape", shape}, {"data_offsets", offsets}});
    at += *bytes;
  }
  auto printed = printJson(Json(std::move(entries)));
  if (!printed.ok())
    return printed.status();
  std::string header = std::move(*printed);
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
