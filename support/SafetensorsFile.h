// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// .safetensors files: named tensors, dense, little endian, behind a JSON header.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/FileIo.h"
#include "support/OwnedTensor.h"

namespace kernelc {

/// An open file with a checked header: offsets lie inside the file, agree with the
/// shapes (where the element type is known) and cover the data without gaps or overlaps. Tensors are read on demand.
class SafetensorsFile {
public:
  struct Entry {
    std::string name;
    std::string dtype;               ///< as the file spells it
    std::optional<ElementType> type; ///< nothing where kernelc has no such type: only read() of this tensor fails
    std::vector<int64_t> shape;
    uint64_t begin = 0, end = 0; ///< bytes after the header
  };

  static absl::StatusOr<SafetensorsFile> open(const std::string &path);
  /// In file order.
  const std::vector<Entry> &entries() const { return entries_; }
  /// Reads one tensor. `type`: what it must be; a tensor of another dtype is an error, but for
  /// I8 and U8, which hold i4 and u4 a byte each.
  absl::StatusOr<OwnedTensor> read(const std::string &name, std::optional<ElementType> type = std::nullopt) const;

private:
  SafetensorsFile(InputFile file) : file_(std::move(file)) {}
  InputFile file_;
  uint64_t dataStart_ = 0;
  std::vector<Entry> entries_;
};

/// Writes the tensors in the order given, atomically. i4 and u4 become I8 and U8.
/// Names must differ.
absl::Status writeSafetensors(const std::string &path, const std::vector<std::pair<std::string, TensorView>> &tensors);

} // namespace kernelc
