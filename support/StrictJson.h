// A small strict JSON reader (RFC 8259): no comments, no trailing commas, no
// duplicate keys, valid UTF-8, bounded depth. Reads text that is not trusted;
// writes nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace kernelc {

struct JsonMember;

struct JsonValue {
  enum Kind { Null, Bool, Integer, Number, String, Array, Object } kind = Null;
  bool boolean = false;
  int64_t integer = 0; ///< Integer: no fraction or exponent, fits 64 bits
  double number = 0;   ///< Integer and Number
  std::string string;
  std::vector<JsonValue> array;
  std::vector<JsonMember> object; ///< in file order
  /// The member with that key, or null.
  const JsonValue *find(absl::string_view key) const;
};

struct JsonMember {
  std::string key;
  JsonValue value;
};

/// The whole of `text` as one value; the error names the byte.
absl::StatusOr<JsonValue> parseJson(absl::string_view text);

/// `text` as a JSON string with its quotes.
std::string quoteJson(absl::string_view text);

} // namespace kernelc
