// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/helpers/Cases.h"

namespace kernelc::helpers {

std::vector<HelperCaseMaker> allHelperCases() {
  std::vector<HelperCaseMaker> cases;
  addScalarCases(cases);
  addSearchCases(cases);
  addCopyCases(cases);
  addMatrixCases(cases);
  addBarrierCases(cases);
  addClusterCases(cases);
  addAtomicCases(cases);
  addTmaCases(cases);
  addWgmmaCases(cases);
  return cases;
}

} // namespace kernelc::helpers
