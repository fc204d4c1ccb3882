// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The code of a variant: its compile units, each as a cubin.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/Nvrtc.h"
#include "support/CompileUnits.h"

namespace kernelc {

struct VariantCode {
  std::vector<CompileUnit> units;
  std::vector<Cubin> cubins; ///< of the units

  /// For each launch the cubin with its entry, as LoadedKernel::loadVariant takes them: units that launches share stand there
  /// several times. Points into this.
  std::vector<absl::string_view> images(const Variant &variant) const {
    std::vector<absl::string_view> images;
    for (const Launch &launch : variant.launches)
      for (size_t u = 0; u < units.size(); ++u)
        if (std::count(units[u].entries.begin(), units[u].entries.end(), launch.entry)) {
          images.push_back(cubins[u].bytes);
          break;
        }
    return images;
  }
};

} // namespace kernelc
