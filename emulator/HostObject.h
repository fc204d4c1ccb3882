// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A shared object made from CUDA texts, loaded. Internal to emulator/.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "emulator/HostApi.h"

namespace kernelc::emulator {

class HostObject {
public:
  /// Loads `path`; `temporaryDirectory` goes with the object.
  static absl::StatusOr<std::shared_ptr<HostObject>> open(const std::string &path, const std::string &temporaryDirectory);
  ~HostObject();
  /// One per text, in the order in which the build has them.
  const kce::Module *modules() const { return modules_; }
  uintptr_t imageBase() const { return imageBase_; }
  bool inImage(const void *p) const { return uintptr_t(p) - imageBase_ < imageBytes_; }
  /// The line of the innermost inlined frame in file `name` at the instruction before
  /// return address `pc`; 0 if there is none.
  int lineIn(const std::string &name, const void *pc) const;
  std::mutex inUse;

private:
  HostObject() = default;
  std::string path_, temporaryDirectory_;
  void *handle_ = nullptr;
  uintptr_t imageBase_ = 0, imageBytes_ = 0;
  const kce::Module *modules_ = nullptr;
};

} // namespace kernelc::emulator
