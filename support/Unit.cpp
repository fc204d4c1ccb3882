// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/Unit.h"

#include "support/Target.h"

namespace kernelc {

bool hasInstructions(Unit unit, const Target &target) {
  switch (unit) {
  case Unit::Simt: return true;
  case Unit::Mma: return target.mmaF16;
  case Unit::Wgmma: return target.wgmma;
  }
  return false;
}

bool takesF8(Unit unit, const Target &target) { return unit == Unit::Wgmma ? target.wgmma : unit == Unit::Mma && target.mmaF8; }

} // namespace kernelc
