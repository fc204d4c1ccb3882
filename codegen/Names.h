// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names in the CUDA text: taken from the source where there is one, made unique,
// never a word that C++ or CUDA reserves.
#pragma once

#include <string>
#include <vector>

#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

namespace kernelc::codegen {

/// `wanted` as a C identifier: other characters become '_', reserved words and
/// names that kernelc's own helpers use get a '_' behind.
std::string sanitizeName(llvm::StringRef wanted);

/// What the result of `op` is called where nobody has named it, by what computes it: `exponential`, `lane_div_4`; may be empty.
std::string roleOf(mlir::Operation *op);

/// A better name for an index that is part of an address than `wanted` (`swizzle`, `slot_start`): it says which memory the address is
/// in, as `x_swizzle` (the slots of x), `in_slot` (the slots of several tensors) and `next_slot_start` do. May be `wanted` itself.
std::string nameOfAddressPart(mlir::Value index, llvm::StringRef wanted);

/// Whether `op` is an index or a condition, of two or three names and numbers, whose name could only spell it: `lane % 4`, `S > 0`.
bool isSpelledByName(mlir::Operation *op);

/// The names of one function, in C's scopes: a name is unique among those that can be
/// seen where it is declared, so that none hides another, and free again behind its block.
class NameTable {
public:
  /// One `{ .. }` of the C text. Names that are declared while it lives may be used again once it is gone.
  class Scope {
  public:
    explicit Scope(NameTable &table) : table_(table), outside_(table.visible_.size()) {}
    ~Scope() { table_.leave(outside_); }
    Scope(const Scope &) = delete;

  private:
    NameTable &table_;
    size_t outside_; ///< names that were visible before
  };

  /// Gives `value` a unique name made from `wanted`.
  const std::string &declare(mlir::Value value, llvm::StringRef wanted);
  /// A unique name that belongs to no value.
  std::string fresh(llvm::StringRef wanted);
  /// The name given before; asserts that there is one.
  const std::string &get(mlir::Value value) const;
  bool has(mlir::Value value) const { return names_.contains(value); }
  /// Lets `to` go by `from`'s name (loop results and their variables).
  void alias(mlir::Value to, mlir::Value from) {
    std::string name = get(from); // a copy: inserting moves the table
    names_[to] = std::move(name);
  }

private:
  void leave(size_t outside);

  llvm::DenseMap<mlir::Value, std::string> names_;
  struct Visible {
    std::string name, base;
    unsigned number; ///< behind the base
  };
  std::vector<Visible> visible_;        ///< outer scopes first
  llvm::StringSet<> taken_;             ///< their names
  llvm::StringMap<unsigned> firstFree_; ///< per base: smaller numbers are taken
};

} // namespace kernelc::codegen
