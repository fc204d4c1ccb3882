// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The te dialect: what is computed. Value semantics on builtin ranked tensors,
// sizes are symbols of the kernel, nothing speaks of threads or memory.
#ifndef KERNELC_IR_TE_TEDIALECT
#define KERNELC_IR_TE_TEDIALECT

include "mlir/IR/DialectBase.td"

def Te_Dialect : Dialect {
  let name = "te";
  let cppNamespace = "::kernelc::te";
  let summary = "Tensor expressions: what every output element is";
  let description = [{
    A `te.kernel` holds a straight line of `te.compute`, `te.reduce` and `te.scatter`
    ops and ends in `te.return`. Each of them defines one tensor over
    a *domain*: index ranges from zero to an extent, an optional integer set, and
    an optional condition on data. Its region gives the scalar value of one
    element; scalar bodies are upstream `arith` and `math`.

    **Sizes are symbols.** The kernel lists its sizes; in every affine map and
    integer set inside the kernel, symbol `s_i` is size number i, and every map has
    exactly that many symbols. A body reads a size with `te.size`.

    **Types are signless**, as in all of MLIR. Where the sign matters the op says so
    (`arith.divsi` or `arith.divui`, the flags of `te.convert`), and the kernel's
    `arg_types` and `out_types` keep the source spelling for argument passing.

    **Index values** are of type `index` and stand for i64.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif
