// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The emulator's interface: compile an emitted CUDA text, unchanged, for the
// host, and launch its entries with every thread a fiber. Findings are data in
// the Report; a Status is for misuse, a missing clang, or text it does not model.
//
// Thread safety: modules may be used from several threads; launches of one module, and
// of those compiled together with it, are serialised.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "emulator/Report.h"
#include "support/ElementType.h"

namespace kernelc::emulator {

/// Keeps host builds between runs: gives what it has stored for a build, or else what `make`
/// gives, which it may store. `toolchain` and `texts` are all that a build depends on.
using BuildCache = std::function<absl::StatusOr<std::string>(absl::string_view toolchain, absl::string_view texts,
                                                             const std::function<absl::StatusOr<std::string>()> &make)>;

struct EmulatorOptions {
  /// Races, bounds, uninitialised reads, alignment. Off: values only, faster.
  bool checks = true;
  /// Sectors per request and bank conflicts (needs checks; slows a launch down).
  bool counts = false;
  /// 0: threads in order. Else: runnable threads in a random order from this seed.
  uint64_t seed = 0;
  /// How many basic blocks the threads of a launch may run, all together, before it is stopped.
  uint64_t stepBudget = 20'000'000'000;
  /// Multiprocessors of the emulated device.
  int smCount = 3;
  /// Shared bytes a block may have.
  int64_t maxSharedBytes = 232448;
  /// Optimisation of the host build: 0 compiles several times faster, 1 runs faster.
  int optimize = 0;
  /// Findings kept per launch.
  int maxFindings = 50;
  /// The clusters (blocks, where a launch has none) that run, by number; empty: all. A sample of a launch that is too
  /// large to run, whose blocks do not wait for each other.
  absl::Span<const int64_t> onlyClusters;
  /// A launch ends at its first finding.
  bool stopAtFirst = false;
  /// Of a text with switches (Mutate.h), by number: 0 as it was written, 1 altered, 2 as it was written, and becomes 4
  /// where altered would be something else, 3 and 5 altered and what that sets made garbage (NaN, small numbers).
  absl::Span<uint8_t> switches;
  /// Empty: every module is built anew.
  BuildCache cache;
  /// Compiler; empty: $KERNELC_CLANG, then clang++-22 on PATH.
  std::string clang;
  /// Name used for the CUDA text in messages.
  std::string textName = "kernel.cu";
};

/// Global memory a launch may touch. `initialised` is kept across launches:
/// one entry per byte, nonzero = written; null: all bytes hold values.
struct GlobalBuffer {
  std::string name;
  void *base = nullptr;
  size_t bytes = 0;
  bool writable = true;
  uint8_t *initialised = nullptr;
};

/// The host's encoding of a TMA tensor map, innermost dimension first; what the
/// emulator puts into a kc_tensor_map argument.
struct HostTensorMap {
  void *base = nullptr;
  ElementType type = ElementType::bf16;
  int rank = 0;
  uint64_t dims[5] = {};
  uint64_t strides[5] = {}; ///< bytes; strides[0] is the element size
  uint32_t box[5] = {};
  uint32_t elementStrides[5] = {};
  int swizzleBytes = 0;
  bool roundsToTf32 = false; ///< f32 arrives rounded (CU_TENSOR_MAP_DATA_TYPE_TFLOAT32)
};
/// Checks `map` against the rules of cuTensorMapEncodeTiled and packs it into the
/// 128 bytes of a kc_tensor_map.
absl::Status encodeTensorMap(const HostTensorMap &map, void *out128);

struct LaunchSpec {
  std::string entry;
  uint32_t grid[3] = {1, 1, 1};
  uint32_t block[3] = {1, 1, 1};
  uint32_t cluster = 1; ///< blocks along x
  int64_t sharedBytes = 0;
  /// One per kernel parameter: its bytes (pointer, scalar or tensor map).
  std::vector<std::vector<uint8_t>> args;
  std::vector<GlobalBuffer> buffers;
};

template <class T> std::vector<uint8_t> packArg(const T &v) {
  const auto *p = reinterpret_cast<const uint8_t *>(&v);
  return std::vector<uint8_t>(p, p + sizeof(T));
}

class LoadedText;

/// One CUDA text, compiled for the host and loaded.
class EmulatedModule {
public:
  /// Errors: no clang (NotFound), text that does not compile for the host or uses
  /// what the emulator does not model (InvalidArgument, with line and construct).
  static absl::StatusOr<std::unique_ptr<EmulatedModule>> compile(absl::string_view text, const EmulatorOptions &options = {});
  /// Several texts at once, which is much faster: they share a host build where they can.
  /// One result per text, in order; a text that does not compile fails alone.
  static std::vector<absl::StatusOr<std::unique_ptr<EmulatedModule>>> compileAll(absl::Span<const std::string> texts,
                                                                                 const EmulatorOptions &options = {});
  ~EmulatedModule();

  std::vector<std::string> entries() const;
  /// Runs one launch to its end or to the first mistake that cannot be passed.
  absl::StatusOr<Report> launch(const LaunchSpec &spec) const;
  absl::StatusOr<Report> launch(const LaunchSpec &spec, const EmulatorOptions &options) const;

private:
  EmulatedModule(std::shared_ptr<LoadedText> text, EmulatorOptions options);
  std::shared_ptr<LoadedText> text_;
  EmulatorOptions options_;
};

} // namespace kernelc::emulator
