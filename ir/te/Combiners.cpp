// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/te/Combiners.h"

using namespace mlir;

namespace kernelc::te {

bool combines(Combiner kind, Type type) {
  switch (kind) {
  case Combiner::Sum:
  case Combiner::Prod: return type.isIntOrIndexOrFloat();
  case Combiner::Max:
  case Combiner::Min:
  case Combiner::ArgMax:
  case Combiner::ArgMin:
    if (auto floating = dyn_cast<FloatType>(type))
      return llvm::APFloat::semanticsHasInf(floating.getFloatSemantics());
    return type.isIntOrIndex();
  case Combiner::Any:
  case Combiner::All: return type.isInteger(1);
  case Combiner::MaxU:
  case Combiner::MinU:
  case Combiner::And:
  case Combiner::Or:
  case Combiner::Xor:
  case Combiner::ArgMaxU:
  case Combiner::ArgMinU: return type.isInteger();
  case Combiner::Custom: return false; // its region says how
  }
  return false;
}

} // namespace kernelc::te
