// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// JSON (RFC 8259) as a value tree: a strict reader with limits and a writer whose
// output is deterministic. For the artifact, tuning records and file headers. It
// knows nothing of what is written in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kernelc {

class Json;
using JsonArray = std::vector<Json>;
/// Members in the order in which they were written or added.
using JsonObject = std::vector<std::pair<std::string, Json>>;

class Json {
public:
  Json() = default; ///< null
  Json(bool b) : value_(b) {}
  Json(int v) : value_(int64_t(v)) {}
  Json(int64_t v) : value_(v) {}
  Json(uint32_t v) : value_(int64_t(v)) {}
  Json(double v) : value_(v) {}
  Json(const char *s) : value_(std::string(s)) {}
  Json(absl::string_view s) : value_(std::string(s)) {}
  Json(std::string s) : value_(std::move(s)) {}
  Json(JsonArray a) : value_(std::move(a)) {}
  Json(JsonObject o) : value_(std::move(o)) {}

  /// The content, or null when it is of another kind. Numbers without fraction and
  /// exponent are integers, all others doubles.
  const bool *asBool() const { return std::get_if<bool>(&value_); }
  const int64_t *asInt() const { return std::get_if<int64_t>(&value_); }
  const double *asDouble() const { return std::get_if<double>(&value_); }
  const std::string *asString() const { return std::get_if<std::string>(&value_); }
  const JsonArray *asArray() const { return std::get_if<JsonArray>(&value_); }
  const JsonObject *asObject() const { return std::get_if<JsonObject>(&value_); }
  bool isNull() const { return std::holds_alternative<std::monostate>(value_); }
  /// What messages call this kind of value: "an integer", "a string".
  const char *kindName() const;
  /// The member of that name, or null when this is no object or has none.
  const Json *find(absl::string_view name) const;

  friend bool operator==(const Json &a, const Json &b) { return a.value_ == b.value_; }

private:
  std::variant<std::monostate, bool, int64_t, double, std::string, JsonArray, JsonObject> value_;
};

struct JsonLimits {
  size_t maxBytes = size_t(64) << 20;
  int maxDepth = 32;
  size_t maxValues = 4 << 20;
};

/// Reads exactly one value. InvalidArgument with "line:column: ..." for anything that
/// RFC 8259 does not allow, and also for duplicate member names, bytes that are no
/// UTF-8, integers beyond 64 bits, numbers beyond double, and text beyond the limits.
absl::StatusOr<Json> parseJson(absl::string_view text, const JsonLimits &limits = {});

/// Where a value stands in a text: offsets of bytes. An element of an array has no name.
struct JsonSpan {
  size_t name = 0, nameEnd = 0, value = 0, valueEnd = 0;
};
/// The span of the value at `path`, whose steps are names of members and numbers of elements ("0"); nothing where the text, which
/// must be a value that parseJson() reads, has none there. An empty path is the whole.
std::optional<JsonSpan> findInJson(absl::string_view text, const std::vector<std::string> &path);

/// Same value, same bytes. `indent` 0 writes one line; else members stand on lines of
/// their own. InvalidArgument when a string is no UTF-8 or a number is not finite.
absl::StatusOr<std::string> printJson(const Json &value, int indent = 0);

/// Whether the bytes are well-formed UTF-8 (no surrogates, no overlong forms).
bool isUtf8(absl::string_view bytes);

} // namespace kernelc
