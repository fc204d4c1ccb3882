// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// When two scalars of a kernel are the same function of their indices, whatever the program calls
// those and in whichever statement the scalars stand: what is counted once of a program.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/te/Te.h"
#include "llvm/ADT/DenseMap.h"

namespace kernelc {

/// A scalar: number `id` of its dims `dims` (of its statement, in order of their first use).
struct ValueForm {
  int id = 0;
  std::vector<unsigned> dims;
};

/// Forms of all values of a kernel's statements. `sizes` are numbers.
class ValueForms {
public:
  ValueForms(te::KernelOp kernel, llvm::ArrayRef<int64_t> sizes) : kernel_(kernel), sizes_(sizes.begin(), sizes.end()) {}

  /// Of a result of an op, or an index, in a body.
  ValueForm of(mlir::Value v);
  /// Of a tensor: equal statements have one number.
  int tensor(mlir::Value v);

  /// `e` with numbers for sizes.
  mlir::AffineExpr fixed(mlir::AffineExpr e) const;
  std::vector<int64_t> extents(mlir::AffineMap map) const;

private:
  int number(std::string key) { return numbers_.try_emplace(std::move(key), int(numbers_.size())).first->second; }
  ValueForm make(std::string key, llvm::ArrayRef<ValueForm> operands);
  ValueForm ofRead(te::ReadOp read);
  std::string key(mlir::Operation *op);

  te::KernelOp kernel_;
  std::vector<int64_t> sizes_;
  std::map<std::string, int> numbers_;
  llvm::DenseMap<mlir::Value, ValueForm> forms_;
  llvm::DenseMap<mlir::Value, int> tensors_;
};

} // namespace kernelc
