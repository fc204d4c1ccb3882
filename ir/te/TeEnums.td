// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Enumerations that te and the dialects below it share.
#ifndef KERNELC_IR_TE_TEENUMS
#define KERNELC_IR_TE_TEENUMS

include "mlir/IR/EnumAttr.td"

def Te_Combiner : I32EnumAttr<"Combiner", "how the elements of a reduction combine", [
  I32EnumAttrCase<"Sum", 0, "sum">,
  I32EnumAttrCase<"Prod", 1, "prod">,
  I32EnumAttrCase<"Max", 2, "max">,
  I32EnumAttrCase<"Min", 3, "min">,
  I32EnumAttrCase<"MaxU", 4, "maxu">,
  I32EnumAttrCase<"MinU", 5, "minu">,
  I32EnumAttrCase<"Any", 6, "any">,
  I32EnumAttrCase<"All", 7, "all">,
  I32EnumAttrCase<"And", 8, "and">,
  I32EnumAttrCase<"Or", 9, "or">,
  I32EnumAttrCase<"Xor", 10, "xor">,
  I32EnumAttrCase<"ArgMax", 11, "argmax">,
  I32EnumAttrCase<"ArgMin", 12, "argmin">,
  I32EnumAttrCase<"ArgMaxU", 13, "argmaxu">,
  I32EnumAttrCase<"ArgMinU", 14, "argminu">,
  I32EnumAttrCase<"Custom", 15, "custom">]> {
  let cppNamespace = "::kernelc::te";
}

def Te_BoundsMode : I32EnumAttr<"BoundsMode", "why an access cannot leave its tensor", [
  I32EnumAttrCase<"InBounds", 0, "in_bounds">,
  I32EnumAttrCase<"Pad", 1, "pad">,
  I32EnumAttrCase<"Edge", 2, "edge">,
  I32EnumAttrCase<"Reflect", 3, "reflect">,
  I32EnumAttrCase<"Wrap", 4, "wrap">,
  I32EnumAttrCase<"Assume", 5, "assume">]> {
  let cppNamespace = "::kernelc::te";
}

#endif
