// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cu dialect: which thread does what.
#ifndef KERNELC_IR_CU_CUDIALECT
#define KERNELC_IR_CU_CUDIALECT

include "mlir/IR/DialectBase.td"
include "mlir/IR/OpBase.td"

def Cu_Dialect : Dialect {
  let name = "cu";
  let cppNamespace = "::kernelc::cu";
  let summary = "Threads: what CUDA C says";
  let description = [{
    Scalars, `scf` control flow, memrefs in address spaces (1 global, 3 shared, 5
    private register arrays) and one op per construct of CUDA C or PTX in use. The
    rest is upstream `arith`, `math`, `scf` and `memref`; `index` is the kernel's
    index type: `int` where the variant's guard proves that 32 bits are enough,
    `long long` otherwise.

    Names come from NameLocs: of an op for its result, of a block argument for a
    loop variable or parameter.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect"];
}

class Cu_Op<string mnemonic, list<Trait> traits = []> : Op<Cu_Dialect, mnemonic, traits>;

#endif
