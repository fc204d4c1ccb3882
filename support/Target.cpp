#include "support/Target.h"

namespace kernelc {
namespace {
constexpr Target kTargets[] = {
#include "support/targets/targets.inc"
};
} // namespace

const Target *findTarget(absl::string_view name) {
  for (const Target &t : kTargets)
    if (name == t.name)
      return &t;
  return nullptr;
}

absl::Span<const Target> allTargets() { return kTargets; }

} // namespace kernelc
