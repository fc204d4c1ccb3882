#include "support/Target.h"

namespace kernelc {
namespace {
constexpr Target kTargets[] = {
#include "support/targets/targets.inc"
};
constexpr ProductTile kWgmmaTiles[] = {
#include "support/targets/wgmma_tiles.inc"
};
} // namespace

absl::Span<const ProductTile> wgmmaTiles() { return kWgmmaTiles; }

const Target *findTarget(absl::string_view name) {
  for (const Target &t : kTargets)
    if (name == t.name)
      return &t;
  return nullptr;
}

absl::Span<const Target> allTargets() { return kTargets; }

} // namespace kernelc
