// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/WorkerProtocol.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace kernelc::worker {

static void putLength(std::string *out, uint64_t n) {
  for (size_t i = 0; i < kLengthBytes; ++i)
    out->push_back(char(n >> (8 * i)));
}

uint64_t decodeLength(absl::string_view bytes) {
  uint64_t n = 0;
  for (size_t i = 0; i < kLengthBytes; ++i)
    n |= uint64_t(uint8_t(bytes[i])) << (8 * i);
  return n;
}

std::string encodeStrings(const std::vector<absl::string_view> &strings) {
  uint64_t total = 0;
  for (absl::string_view s : strings)
    total += kLengthBytes + s.size();
  std::string message;
  message.reserve(kLengthBytes + total);
  putLength(&message, total);
  for (absl::string_view s : strings) {
    putLength(&message, s.size());
    message.append(s.data(), s.size());
  }
  return message;
}

std::optional<std::vector<std::string>> decodeStrings(absl::string_view message) {
  std::vector<std::string> strings;
  while (!message.empty()) {
    if (message.size() < kLengthBytes)
      return std::nullopt;
    uint64_t n = decodeLength(message);
    message.remove_prefix(kLengthBytes);
    if (n > message.size())
      return std::nullopt;
    strings.emplace_back(message.substr(0, n));
    message.remove_prefix(n);
  }
  return strings;
}

std::string encode(const Request &request) {
  std::string memory = absl::StrCat(request.memoryBytes), seconds = absl::StrCat(request.cpuSeconds);
  std::vector<absl::string_view> strings = {memory, seconds, request.text, request.programName, request.arch};
  strings.insert(strings.end(), request.options.begin(), request.options.end());
  return encodeStrings(strings);
}

std::optional<Request> decodeRequest(absl::string_view message) {
  std::optional<std::vector<std::string>> strings = decodeStrings(message);
  Request request;
  if (!strings || strings->size() < 5 || !absl::SimpleAtoi((*strings)[0], &request.memoryBytes) ||
      !absl::SimpleAtoi((*strings)[1], &request.cpuSeconds))
    return std::nullopt;
  request.text = std::move((*strings)[2]);
  request.programName = std::move((*strings)[3]);
  request.arch = std::move((*strings)[4]);
  request.options.assign(strings->begin() + 5, strings->end());
  return request;
}

} // namespace kernelc::worker
