// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The printer's state, private to codegen/. Each emit function of a kind of statements says whether the op is of that kind.
#pragma once

#include <set>
#include <string>

#include "codegen/EmitCuda.h"
#include "codegen/Names.h"
#include "codegen/Operators.h"
#include "codegen/ProductRounds.h"
#include "codegen/SlotNames.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/raw_ostream.h"

namespace kernelc::codegen {

class Emitter {
public:
  /// `typedefs`, `helpers`: what the texts of all kernels need.
  Emitter(const EmitOptions &options, std::set<std::string> &typedefs, std::set<std::string> &helpers)
      : options_(options), typedefs_(typedefs), helpers_(helpers) {}
  mlir::LogicalResult emitKernel(cu::KernelOp kernel);
  std::string take() { return std::move(out_); }

private:
  // Expressions.cpp
  Expr expr(mlir::Value value);
  std::string operand(mlir::Value value, int atLeast);
  /// As `expr` of the operand's value; constants of slots go by their names here.
  Expr exprOf(mlir::OpOperand &use);
  Expr makeExpr(mlir::Operation *op);
  Expr arithmeticExpr(mlir::Operation *op);
  Expr memoryExpr(mlir::Operation *op);
  Expr deviceExpr(mlir::Operation *op);
  Expr binary(mlir::Operation *op, const Infix &infix);
  /// `target = value;`, or `target += x;` where that is what it says.
  std::string assignment(const std::string &target, mlir::Value value);
  Expr negatedComparison(mlir::arith::CmpFOp op);
  Expr shuffle(cu::ShuffleXorOp op);
  Expr look(cu::LookOp op);
  Expr sharedArray(cu::SharedOp array);
  /// The array in front of `array` in shared memory, if its name can be seen there.
  cu::SharedOp findBefore(cu::SharedOp array);
  Expr call(llvm::StringRef function, mlir::ValueRange args);
  Expr helper(llvm::StringRef name, mlir::ValueRange args);
  Expr mathCall(mlir::Operation *op);
  std::string magnitude(mlir::Operation *op);
  Expr constant(mlir::Attribute value);
  Expr infinity(bool single, bool isNegative);
  std::string infinityFor(mlir::Operation *op);
  std::string element(mlir::Value memref, mlir::ValueRange indices);
  std::string address(mlir::Value memref, mlir::ValueRange indices);
  /// The same where loops that are unrolled add a number to what stands before it: an address, computed once, and the number.
  std::string addressAndNumber(mlir::Value memref, mlir::ValueRange indices);
  std::string typeName(mlir::Type type);
  /// What an array has elements of.
  std::string elementName(mlir::Value memref);
  /// A type that travels as its bits, under its name.
  std::string bitsType(const char *name, const char *bits);
  /// As typeName of its type; for an index, what cu-narrow has decided.
  std::string typeName(mlir::Value v);
  static const char *unsignedName(unsigned bits);
  unsigned bitsOf(mlir::Value v);
  unsigned bitsOfElement(mlir::Value memref);
  /// Of an index as C sees it: an expression is as wide as its operands are.
  unsigned bitsInC(mlir::Value v);
  mlir::Value beneathCasts(mlir::Value v, unsigned bits);
  bool isNarrowInC(mlir::Value v, unsigned bits);

  // Conversions.cpp
  Expr conversion(mlir::Operation *op);
  Expr cast(mlir::Operation *op, llvm::StringRef type);
  Expr convert(cu::ConvertOp op);
  Expr widened(mlir::Value v);
  Expr integerToHalf(mlir::Operation *op, bool isUnsigned);
  Expr unsignedToFloat(mlir::arith::UIToFPOp op);
  Expr extendFloat(mlir::arith::ExtFOp op);
  Expr truncateFloat(mlir::arith::TruncFOp op);
  Expr bitcast(mlir::arith::BitcastOp op);
  Expr truncateInteger(mlir::Operation *op);

  // EmitBarriers.cpp
  bool emitBarrier(mlir::Operation *op);
  bool emitMbarrier(mlir::Operation *op);
  /// How many bytes tensor copies bring, as a sum of slots where they fill whole ones.
  std::string bytesOfCopies(cu::MbarrierExpectOp op);
  bool emitTensorCopy(mlir::Operation *op);
  bool emitTicket(mlir::Operation *op);
  std::string coordinates(mlir::ValueRange values);

  // EmitUnits.cpp
  bool emitUnit(mlir::Operation *op);
  bool emitWarpUnit(mlir::Operation *op);
  bool emitWarpgroupUnit(mlir::Operation *op);
  void hold(mlir::Value accumulators);
  void holdOperand(mlir::Value registers);
  std::string accumulates(bool fresh, mlir::Value accumulate);

  // EmitProducts.cpp
  void findProducts(cu::KernelOp kernel);
  bool emitProduct(mlir::Operation *op);
  void emitProductLoop(const ProductRounds &product);
  const ProductRounds *findProduct(llvm::function_ref<bool(const ProductRounds &)> has) const;

  // EmitMemory.cpp
  bool emitMemory(mlir::Operation *op);
  void emitAlloca(mlir::memref::AllocaOp op);
  void emitStore(mlir::memref::StoreOp op);
  void emitLoad(mlir::memref::LoadOp op);
  void emitCopy(cu::CopyOp op);
  void emitCpAsync(cu::CpAsyncOp op);
  void emitGather(cu::GatherOp op);
  void emitAtomic(cu::AtomicOp op);
  void emitAddVector(cu::AddVectorOp op);
  bool isCopy(mlir::memref::StoreOp only);
  /// The variable that begins with what a loop or branch leaves, if nobody else reads that: both are one variable.
  static mlir::memref::AllocaOp findBegun(mlir::Value left);
  /// The variable that takes what a loop leaves as soon as that is over, and that nothing in the loop knows: the loop goes by its name.
  static mlir::memref::AllocaOp findTaker(mlir::Value left);
  /// Whether no store to the variable that `load` reads stands between it and where its users, all in its block, are printed.
  bool keepsValue(mlir::memref::LoadOp load);

  // Inlining.cpp
  bool isPlain(mlir::Operation *op);
  bool canInline(mlir::Operation *op);
  void planInlining(mlir::Block &block);

  // EmitBranches.cpp
  void emitIf(mlir::scf::IfOp op);
  /// The branch that is all that `op` does beside computing indices and conditions, if neither has an else and both may be asked at once.
  mlir::scf::IfOp findOnlyBranch(mlir::scf::IfOp op);
  /// A branch of an if that gives `results` their values.
  void emitBranch(mlir::Block &block, mlir::ValueRange results);

  // EmitCuda.cpp
  void emitBlock(mlir::Block &block);
  void emitOp(mlir::Operation *op);
  bool emitControl(mlir::Operation *op);
  void emitFor(mlir::scf::ForOp op);
  /// Declares the variable that ends up as what a loop or branch leaves.
  const std::string &declareLeft(mlir::Value left, mlir::Value declared, llvm::StringRef otherwise);
  /// `helper(arguments.., [&](i) { return condition; })`
  void emitAskLanes(cu::FindWhereOp op);
  void emitSearch(mlir::Operation *op, llvm::StringRef helper, mlir::BlockArgument candidate, mlir::Value condition);
  void emitLambda(cu::LambdaOp op);
  void declareSlotNames();
  void emitCall(cu::CallOp op);
  void declareResult(mlir::Operation *op);
  void assignYield(mlir::Operation *yield, mlir::ValueRange targets);
  /// Whether the text of `value` has the variable in it.
  bool mentions(mlir::Value value, mlir::Value variable);
  void line(const llvm::Twine &text);
  /// Writes a `#line` mark if what follows comes from another line than what was
  /// printed last. Without a position in a file: nothing, the last mark holds.
  void mark(mlir::Location loc);
  /// `name(arguments);`, or the error that the target has no such helper, with what it was wanted of.
  void callHelper(mlir::Operation *op, const llvm::Twine &name, const llvm::Twine &arguments, const llvm::Twine &of = "");
  void use(llvm::StringRef helper) { helpers_.insert(helper.str()); }
  mlir::InFlightDiagnostic unsupported(mlir::Operation *op);

  const EmitOptions &options_;
  std::set<std::string> &typedefs_, &helpers_;
  NameTable names_;
  std::optional<SlotNames> slots_;
  std::vector<ProductRounds> products_; ///< of the kernel being printed
  llvm::DenseSet<mlir::Operation *> inlined_;
  llvm::DenseMap<mlir::Operation *, bool> declares_; ///< stores that declare their variable; whether as a constant
  llvm::DenseSet<mlir::Operation *> copies_;         ///< stores of a value to a variable that goes by the value's name
  std::string out_;
  std::string markedFile_; ///< of the last mark
  unsigned markedLine_ = 0;
  int indent_ = 0;
  unsigned indexBits_ = 64; ///< of the kernel being printed
  bool failed_ = false;
};

} // namespace kernelc::codegen
