// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of allHelperCases(), one per file. A new helper gets its case in the
// file of its kind; HelperCompleteness (HelperModelsTest.cpp) names those without.
#pragma once

#include "test/helpers/HelperCase.h"

namespace kernelc::helpers {

void addScalarCases(std::vector<HelperCaseMaker> &cases);  ///< conversions, rounding, packing
void addSearchCases(std::vector<HelperCaseMaker> &cases);  ///< numbers a condition holds for
void addCopyCases(std::vector<HelperCaseMaker> &cases);    ///< shared memory, cp.async
void addMatrixCases(std::vector<HelperCaseMaker> &cases);  ///< ldmatrix, stmatrix, mma.sync
void addBarrierCases(std::vector<HelperCaseMaker> &cases); ///< barriers, mbarriers, clusters, registers
void addClusterCases(std::vector<HelperCaseMaker> &cases); ///< shared memory of other blocks
void addAtomicCases(std::vector<HelperCaseMaker> &cases);  ///< atomics on global memory
void addTmaCases(std::vector<HelperCaseMaker> &cases);     ///< tensor copies
void addWgmmaCases(std::vector<HelperCaseMaker> &cases);   ///< descriptors, wgmma of every shape

} // namespace kernelc::helpers
