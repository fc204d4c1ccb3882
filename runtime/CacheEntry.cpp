// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/CacheEntry.h"

#include "absl/strings/str_cat.h"
#include "support/Checksum.h"
#include "support/StableHash.h"

namespace kernelc {
namespace {

// Format: magic, part count, parts, note count, notes, payload, checksum of all before.
// Counts and lengths are 64-bit little endian; a string is its length and its bytes.
constexpr absl::string_view kMagic = "kernelc-cache-2\n";
constexpr uint64_t kMaxParts = 64;
/// Longer values are kept as digests: `why` names them, but need not print them.
constexpr size_t kMaxValue = 512;

void putNumber(std::string *out, uint64_t v) {
  for (int i = 0; i < 8; ++i)
    out->push_back(char(v >> (8 * i)));
}
void putString(std::string *out, absl::string_view s) {
  putNumber(out, s.size());
  out->append(s.data(), s.size());
}
bool takeNumber(absl::string_view *in, uint64_t *v) {
  if (in->size() < 8)
    return false;
  *v = 0;
  for (int i = 0; i < 8; ++i)
    *v |= uint64_t(uint8_t((*in)[i])) << (8 * i);
  in->remove_prefix(8);
  return true;
}
bool takeString(absl::string_view *in, std::string *s) {
  uint64_t n = 0;
  if (!takeNumber(in, &n) || n > in->size())
    return false;
  *s = std::string(in->substr(0, n));
  in->remove_prefix(n);
  return true;
}
void putParts(std::string *out, const std::vector<CacheKey::Part> &parts) {
  putNumber(out, parts.size());
  for (const auto &[name, value] : parts) {
    putString(out, name);
    putString(out, value);
  }
}
bool takeParts(absl::string_view *in, std::vector<CacheKey::Part> *parts) {
  uint64_t n = 0;
  if (!takeNumber(in, &n) || n > kMaxParts)
    return false;
  parts->resize(n);
  for (auto &[name, value] : *parts)
    if (!takeString(in, &name) || !takeString(in, &value))
      return false;
  return true;
}
} // namespace

std::string CacheKey::shorten(absl::string_view value) {
  if (value.size() <= kMaxValue)
    return std::string(value);
  return absl::StrCat("sha256:", toHex(Sha256::of(value)), " (", value.size(), " bytes)");
}

CacheKey &CacheKey::add(absl::string_view name, absl::string_view value) {
  parts_.emplace_back(std::string(name), shorten(value));
  return *this;
}

CacheKey &CacheKey::note(absl::string_view name, absl::string_view value) {
  notes_.emplace_back(std::string(name), shorten(value));
  return *this;
}

std::string CacheKey::hash() const {
  StableHash h;
  for (const auto &[name, value] : parts_)
    h.add(name).add(value);
  return h.hex();
}

CacheKey CacheKey::request(absl::string_view text, absl::string_view options, absl::string_view target, absl::string_view build) {
  return CacheKey().add("text", text).add("options", options).add("target", target).add("kernelc build", build);
}

CacheKey CacheKey::content(absl::string_view cudaText, absl::string_view target, absl::string_view options, absl::string_view nvrtcVersion,
                           absl::string_view nvrtcBuild) {
  return CacheKey()
      .add("CUDA text", cudaText)
      .add("target", target)
      .add("NVRTC options", options)
      .add("NVRTC version", nvrtcVersion)
      .add("NVRTC build", nvrtcBuild);
}

std::string CacheEntry::encode() const {
  std::string out(kMagic);
  putParts(&out, key.parts_);
  putParts(&out, key.notes_);
  putString(&out, payload);
  Checksum sum = checksumOf(out);
  out.append(reinterpret_cast<const char *>(sum.data()), sum.size());
  return out;
}

std::optional<CacheEntry> CacheEntry::decode(absl::string_view bytes) {
  if (bytes.size() < kMagic.size() + sizeof(Checksum) || bytes.substr(0, kMagic.size()) != kMagic)
    return std::nullopt;
  absl::string_view body = bytes.substr(0, bytes.size() - sizeof(Checksum));
  Checksum sum = checksumOf(body);
  if (bytes.substr(body.size()) != absl::string_view(reinterpret_cast<const char *>(sum.data()), sum.size()))
    return std::nullopt;
  body.remove_prefix(kMagic.size());
  CacheEntry entry;
  if (!takeParts(&body, &entry.key.parts_) || !takeParts(&body, &entry.key.notes_) || !takeString(&body, &entry.payload) || !body.empty())
    return std::nullopt;
  return entry;
}

} // namespace kernelc
