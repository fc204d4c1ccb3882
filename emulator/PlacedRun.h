// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A run of a kernel whose memory stays: launches may be run again from any one on, on what the first time left before it
// (Mutate.cpp), or once (RunKernel.cpp).
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "emulator/RunKernel.h"
#include "emulator/SparseMemory.h"
#include "emulator/TensorPages.h"

namespace kernelc::emulator {

/// What launches may write: bytes, and which of them something has written. Buffers that a launch leaves alone share theirs.
struct MemoryImage {
  using Bytes = std::shared_ptr<const std::vector<uint8_t>>;
  std::vector<Bytes> bytes, written; ///< by buffer; null where there are none
};

class PlacedRun {
public:
  /// Sizes solved, everything checked that the runtime checks, tensors and workspaces in guarded memory of their own. `kernel`,
  /// `variant` and `args` have to outlive it.
  static absl::StatusOr<std::unique_ptr<PlacedRun>> create(const Kernel &kernel, const Variant &variant, const RunArguments &args,
                                                           const EmulatorOptions &options);

  size_t launches() const { return variant_.launches.size(); }
  /// One of the variant's launches; one without blocks does nothing.
  absl::StatusOr<Report> launch(size_t number, const EmulatedModule &module, const EmulatorOptions &options);
  /// Elements of outputs that nobody wrote, as findings.
  void findUnwritten(Report &report) const;
  /// Outputs, to where the arguments want them.
  void copyBack() const;

  /// What is there now; what is as in `before` shares its memory.
  MemoryImage save(const MemoryImage *before = nullptr) const;
  void load(const MemoryImage &image);
  bool holds(const MemoryImage &image) const;
  /// Whether the outputs hold the same bytes as in `image`.
  bool hasOutputsOf(const MemoryImage &image) const;

private:
  /// Guarded memory for all buffers of a run: unmapped-looking gaps between them,
  /// each starting at 256 bytes plus its placement.
  class Arena {
  public:
    unsigned char *allocate(size_t bytes, size_t offset);

  private:
    static constexpr size_t kGap = 1 << 16;
    std::vector<SparseMemory> memory_;
  };
  struct Placed {
    unsigned char *base = nullptr; ///< where the view's data pointer lands
    std::vector<ByteRange> pages;  ///< of the view
    SparseMemory initialised;      ///< a flag for each byte of its span
  };

  PlacedRun(const Kernel &kernel, const Variant &variant, const RunArguments &args) : kernel_(kernel), variant_(variant), args_(args) {}
  absl::Status place(const EmulatorOptions &options);
  absl::Status placeParam(size_t param, bool checks);
  bool placeWorkspace(std::string name, int64_t offset, size_t bytes, bool checks);
  unsigned char *addressOf(const PointerArg &arg, const SizeEnv &env) const;
  absl::StatusOr<std::vector<uint8_t>> packTensorMap(const TensorMapArg &arg, const SizeEnv &env, const std::string &entry) const;
  bool isWritten(size_t param) const {
    return kernel_.params[param].kind == ParamKind::Output || kernel_.params[param].kind == ParamKind::InOut;
  }
  SizeEnv env() const { return {sizes_, smCount_, strides_}; }

  const Kernel &kernel_;
  const Variant &variant_;
  const RunArguments &args_;
  std::vector<int64_t> sizes_;
  std::vector<std::vector<int64_t>> strides_;
  int smCount_ = 0;
  Arena arena_;
  std::vector<GlobalBuffer> buffers_;
  std::vector<bool> ofOutput_; ///< by buffer
  std::vector<Placed> placed_;
  std::map<int64_t, Placed> workspaces_; ///< by offset
  unsigned char *spare_ = nullptr;       ///< what tensors without elements point to
};

} // namespace kernelc::emulator
