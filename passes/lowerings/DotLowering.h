// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A dot whose operands lie in slots, as threads of mma.sync and of CUDA cores see it: where
// their parts start, how addresses follow from rows, columns and k. Not for wgmma, which
// reads slots through descriptors (WgmmaToCu.cpp).
#pragma once

#include "ir/tile/Accumulator.h"
#include "passes/lowerings/DotToCu.h"
#include "passes/lowerings/SlotAddress.h"

namespace kernelc {

/// Bytes of an element in memory.
int64_t bytesOf(mlir::Type t);
/// Digits of a linear number over `dims`, the last fastest, into `coords`.
void spreadLinear(ThreadCode &c, mlir::Value linear, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> shape,
                  llvm::SmallVectorImpl<mlir::Value> &coords, mlir::Location loc);

class DotLowering {
public:
  /// `acc`: the private array that the products are added to.
  DotLowering(ThreadCode &c, tile::DotOp op, mlir::Value acc);

  // MmaToCu.cpp
  void runMma();
  /// Of a dot whose fragments are read a step ahead, across rounds (ReadAhead): the arrays, and the first step's of a tile that `exists`.
  void readFirst(ReadAhead &ahead, mlir::Value exists);
  void readSecond(const ReadAhead &ahead);
  /// The products of all steps but the last, whose fragments are read.
  void runAllButLast(const ReadAhead &ahead);
  /// The first fragments of tile `next`, if it `exists`, and the last step's products.
  void runLast(const ReadAhead &ahead, mlir::Value next, mlir::Value exists);
  /// Multiply-adds on registers; a step takes as many k as make a 16-byte vector
  /// of the operand that is contiguous along k.
  void runSimt(); // SimtToCu.cpp

private:
  // SimtToCu.cpp
  struct Patch;
  Patch placePatch(char axis);
  /// All steps over k; `skips`: without terms of what is absent.
  void runSteps(Patch a, Patch b, int64_t step, bool skips);
  /// The sum of a private array, of `rows` independent ones.
  mlir::Value sumOfRegisters(mlir::Value array, int64_t rows);
  /// How many k are multiplied before the next ones are fetched.
  int64_t stepOverK(const Patch &a, const Patch &b) const;
  /// The patch's vectors from k on, to registers.
  void fetch(const Patch &p, mlir::Value k);
  /// Where a row (column) and one of its k are in registers.
  mlir::Value registerOf(const Patch &p, mlir::Value row, mlir::Value k);
  /// Adds the products of one k; every second row's columns come backwards where it `turns`.
  void multiply(const Patch &a, const Patch &b, mlir::Value k, bool turns, bool skips);
  /// `before` with what the dot makes of two elements.
  mlir::Value addTerm(mlir::Value before, mlir::Value x, mlir::Value y);
  /// What a lane or warp number contributes to the linear row or column.
  mlir::Value start(char axis, llvm::ArrayRef<std::pair<char, tile::Digit>> digits, mlir::Value number, llvm::StringRef name);
  /// Address in the ring of (linear row or column, linear k).
  mlir::Value element(SlotAddress &address, mlir::Value slotStart, tile::RingType ring, llvm::ArrayRef<int64_t> outer, mlir::Value mn,
                      mlir::Value k);
  // MmaToCu.cpp
  /// An operand of mma.sync: where it lies, where its fragments go, and what of it this lane names.
  struct MmaOperand {
    tile::RingType ring;
    SlotAddress &address;
    mlir::Value start;
    llvm::ArrayRef<int64_t> outer;
    tile::Fetch fetch;
    mlir::Value warp; ///< the warp's first row (of b: column)
    llvm::StringRef rowName, setName, kName;
    mlir::Value lane;
    llvm::StringRef repName;
    mlir::Value row, k; ///< that the lane names, from the first ones of 16 on
    mlir::Value slots, fragments;
    int rowBit = 0;               ///< of a register's number: which half of 16 rows it holds
    std::array<int64_t, 4> dealt; ///< pairs of registers that hold bytes of two rows
    bool isRounded = false;
    int64_t reps = 0; ///< of 16 rows
    int64_t perSet() const { return reps * 4; }
  };
  /// Both operands of an mma, and the arrays of their fragments (null: to be made, `sets` of each).
  std::pair<MmaOperand, MmaOperand> placeOperands(const ReadAhead *made, int64_t sets);
  MmaOperand placeOperand(bool isA, mlir::Value lane);
  void placeBytes(MmaOperand &o, int64_t second, int64_t upper);
  void gatherWords(MmaOperand &o, mlir::Value first, mlir::Value k, mlir::Value at);
  void loadFragments(MmaOperand &o, mlir::Value k, mlir::Value set);
  /// Those of both operands.
  void loadOf(MmaOperand &a, MmaOperand &b, mlir::Value k, mlir::Value set);
  void multiplySet(const MmaOperand &a, const MmaOperand &b, mlir::Value set, mlir::Value step);
  /// The instruction: operands of b bytes take 32 / b of K.
  std::string mmaShape();
  mlir::Value mod(mlir::Value v, int64_t n) { return mlir::arith::RemSIOp::create(b_, loc_, v, c_.index(n, loc_)); }
  mlir::Value div(mlir::Value v, int64_t n) { return mlir::arith::DivSIOp::create(b_, loc_, v, c_.index(n, loc_)); }
  mlir::Location named(llvm::StringRef n) { return c_.named(n, loc_); }
  mlir::Value widen(mlir::Value v, mlir::Type to, bool isUnsigned);
  void inLoop(int64_t reps, llvm::StringRef name, llvm::function_ref<void(mlir::Value)> body);

  ThreadCode &c_;
  tile::DotOp op_;
  mlir::OpBuilder &b_;
  mlir::Location loc_;
  mlir::Value acc_;
  tile::RingType aRing_, bRing_;
  SlotAddress aAddress_, bAddress_;
  tile::Supply aSupply_, bSupply_;
  tile::AccumulatorShape shape_;
  mlir::Value aStart_, bStart_, warpM_, warpN_;
  llvm::SmallVector<int64_t> sizesOfK_; ///< walkedSizes
  int64_t m_, n_, k_;
};

} // namespace kernelc
