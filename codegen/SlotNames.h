// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the numbers of arrays of slots are called: how many elements a slot has, and how many slots there are. Private to codegen/.
#pragma once

#include <string>

#include "codegen/Names.h"
#include "codegen/Operators.h"
#include "ir/cu/Cu.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace kernelc::codegen {

/// Finds the constants of a kernel that are multiples of a slot's size, or the number of slots, by what its arrays are read and written
/// at. Arrays that have such a constant in common, as where one index counts the slots of two, have one name for it.
class SlotNames {
public:
  explicit SlotNames(cu::KernelOp kernel);
  /// Takes the names that the text may use.
  void reserve(NameTable &names);
  /// How `use` of a constant is written; empty text for a number that is none of these. What has been asked for gets declared.
  Expr find(mlir::OpOperand &use);
  /// How many slots an array has; 0 where that does not show.
  int64_t slotsOf(cu::SharedOp array) const { return slotsOf_.lookup(array); }
  /// The elements of one slot of `array`, and of all of them. Empty for arrays without slots.
  std::string sizeOf(cu::SharedOp array);
  std::string allOf(cu::SharedOp array);
  /// The names that were asked for: `x_slot_size = 8192, w_slot_size = 16384`.
  std::string declaredSizes() const { return declared(sizes_); }
  std::string declaredStages() const { return declared(stages_); }

private:
  /// A number of arrays that share it.
  struct Number {
    mlir::SmallVector<cu::SharedOp> arrays;
    int64_t value = 0;
    std::string name;
    bool isUsed = false;
  };
  /// The numbers of one kind, and who uses them.
  struct Numbers {
    mlir::SmallVector<Number> all;
    llvm::DenseMap<mlir::OpOperand *, unsigned> uses;
    llvm::DenseMap<mlir::Operation *, unsigned> ofArray;
    std::string single, several; ///< `_slot_size` behind an array's name; `slot_size` of several arrays
  };
  void findSlots(cu::SharedOp array, mlir::Value slot, int64_t size);
  void trace(cu::SharedOp array, mlir::Value index);
  void traceOperand(cu::SharedOp array, mlir::OpOperand &operand);
  void claimStages(cu::SharedOp array, mlir::Value slot);
  static void claim(Numbers &numbers, cu::SharedOp array, mlir::OpOperand &use);
  static void add(Numbers &numbers, cu::SharedOp array, int64_t value);
  static void reserve(Numbers &numbers, NameTable &names);
  static std::string declared(const Numbers &numbers);
  static std::string ask(Numbers &numbers, unsigned number);

  Numbers sizes_, stages_;
  llvm::DenseMap<mlir::Operation *, int64_t> slotsOf_;
  llvm::DenseSet<mlir::Value> traced_; ///< for one array
};

} // namespace kernelc::codegen
