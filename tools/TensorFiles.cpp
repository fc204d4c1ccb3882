// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/TensorFiles.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "support/NpyFile.h"
#include "support/SafetensorsFile.h"

namespace kernelc::tools {
namespace {

/// FILE.safetensors:TENSOR, split; nothing for other names.
bool splitSafetensors(const std::string &path, std::string &file, std::string &tensor) {
  size_t at = path.rfind(".safetensors:");
  if (at == std::string::npos)
    return false;
  file = path.substr(0, at + 12);
  tensor = path.substr(at + 13);
  return true;
}

/// Copies row by row where the file's order is another one (Fortran).
absl::StatusOr<HostTensor> toHost(const OwnedTensor &t) {
  HostTensor h(t.type, t.shape);
  if (!h.data())
    return absl::ResourceExhaustedError("no memory for the tensor");
  if (t.strides == denseStrides(t.shape) || h.numElements() == 0) {
    __builtin_memcpy(h.data(), t.data.get(), h.bytes());
    return h;
  }
  size_t bytes = size_t(elementBits(t.type)) / 8; // nibbles are always dense
  std::vector<int64_t> index(t.shape.size(), 0);
  for (int64_t i = 0; i < h.numElements(); ++i) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d)
      offset += index[d] * t.strides[d];
    __builtin_memcpy(h.as<char>() + size_t(i) * bytes, t.data.get() + offset * int64_t(bytes), bytes);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < t.shape[d])
        break;
      index[d] = 0;
    }
  }
  return h;
}

} // namespace

absl::StatusOr<HostTensor> loadTensor(const std::string &path, ElementType type) {
  std::string file, name;
  if (splitSafetensors(path, file, name)) {
    absl::StatusOr<SafetensorsFile> open = SafetensorsFile::open(file);
    if (!open.ok())
      return open.status();
    absl::StatusOr<OwnedTensor> tensor = open->read(name, type);
    return tensor.ok() ? toHost(*tensor) : absl::StatusOr<HostTensor>(tensor.status());
  }
  if (absl::EndsWith(path, ".npz"))
    return absl::InvalidArgumentError("an .npz file is an archive of arrays; save one as FILE.npy by numpy.save");
  if (!absl::EndsWith(path, ".npy"))
    return absl::InvalidArgumentError(
        "expected FILE.npy, FILE.safetensors:TENSOR, random[:SEED][:LO..HI][:specials], zeros, ones, iota or a number");
  absl::StatusOr<OwnedTensor> tensor = readNpy(path, type);
  return tensor.ok() ? toHost(*tensor) : absl::StatusOr<HostTensor>(tensor.status());
}

absl::Status checkTargets(const std::vector<std::string> &paths) {
  std::set<std::pair<std::string, std::string>> targets;
  for (const std::string &path : paths) {
    std::string file = path, name;
    if (!splitSafetensors(path, file, name) && !absl::EndsWith(path, ".npy"))
      return absl::InvalidArgumentError(absl::StrCat("'", path, "' is neither FILE.npy nor FILE.safetensors:TENSOR"));
    std::error_code ec;
    std::string canonical = std::filesystem::weakly_canonical(file, ec).string();
    if (!targets.emplace(ec ? file : canonical, name).second)
      return absl::InvalidArgumentError(absl::StrCat("two outputs go to '", path, "'"));
    size_t slash = file.rfind('/');
    if (::access(slash == std::string::npos ? "." : file.substr(0, slash + 1).c_str(), W_OK | X_OK) != 0)
      return absl::UnavailableError(absl::StrCat("cannot create a file beside '", file, "': ", std::strerror(errno)));
  }
  return absl::OkStatus();
}

absl::Status storeTensors(const std::vector<std::pair<std::string, const HostTensor *>> &tensors) {
  std::map<std::string, std::vector<std::pair<std::string, TensorView>>> archives;
  for (const auto &[path, tensor] : tensors) {
    std::string file, name;
    if (splitSafetensors(path, file, name))
      archives[file].push_back({name, tensor->view()});
  }
  std::string file, name;
  for (const auto &[path, tensor] : tensors)
    if (!splitSafetensors(path, file, name))
      if (absl::Status s = writeNpy(path, tensor->view()); !s.ok())
        return s;
  for (const auto &[path, entries] : archives)
    if (absl::Status s = writeSafetensors(path, entries); !s.ok())
      return s;
  return absl::OkStatus();
}

} // namespace kernelc::tools
