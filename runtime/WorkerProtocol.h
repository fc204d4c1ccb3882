// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a process and its kernelc-nvrtc-worker say to each other: messages of strings over
// pipes, each string and each message a 64-bit little-endian length and its bytes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace kernelc::worker {

/// Exit status for want of memory.
constexpr int kOutOfMemoryStatus = 3;
/// First string of a reply: a log and a cubin follow, or a status code (one byte) and a message.
constexpr absl::string_view kOk = "ok", kFailed = "failed";

/// The limits travel with each request, then text, program name, architecture, options.
struct Request {
  int64_t memoryBytes = 0, cpuSeconds = 0;
  std::string text, programName, arch;
  std::vector<std::string> options;
};
std::string encode(const Request &request);
std::optional<Request> decodeRequest(absl::string_view message);

/// A message of these strings, with its length ahead.
std::string encodeStrings(const std::vector<absl::string_view> &strings);
/// The strings of a message without its length; nothing when it is malformed.
std::optional<std::vector<std::string>> decodeStrings(absl::string_view message);

constexpr size_t kLengthBytes = 8;
/// The length in front of a message.
uint64_t decodeLength(absl::string_view bytes);

} // namespace kernelc::worker
