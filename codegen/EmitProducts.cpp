// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rounds of multiply-adds on CUDA cores, as calls of a helper: the loop keeps what finds addresses, the copies into registers become
// these addresses, and what multiplies becomes the call.
#include "codegen/Emitter.h"

#include "ir/cu/Marks.h"

using namespace mlir;

namespace kernelc::codegen {

void Emitter::findProducts(cu::KernelOp kernel) {
  kernel.walk([&](scf::ForOp loop) {
    if (std::optional<ProductRounds> product = findProductRounds(loop))
      products_.push_back(*product);
  });
}

const ProductRounds *Emitter::findProduct(llvm::function_ref<bool(const ProductRounds &)> has) const {
  auto found = llvm::find_if(products_, has);
  return found == products_.end() ? nullptr : &*found;
}

void Emitter::emitProductLoop(const ProductRounds &product) {
  scf::ForOp loop = product.loop;
  StringRef wanted = cu::findName(loop.getInductionVar().getLoc());
  NameTable::Scope scope(names_);
  const std::string k = names_.declare(loop.getInductionVar(), wanted.empty() ? "k" : wanted);
  line("#pragma unroll 1");
  line("for (" + typeName(loop.getInductionVar()) + " " + k + " = 0; " + k + " < " + expr(loop.getUpperBound()).text + "; " + k +
       " += " + llvm::Twine(product.rounds) + ") {");
  ++indent_;
  for (const ProductRounds::Operand *operand : {&product.rows, &product.columns}) {
    memref::AllocaOp registers = operand->registers;
    StringRef name = cu::findName(registers.getLoc());
    name.consume_back("_frag");
    line("const float *" + names_.declare(registers, (name + "_from").str()) + "[" + llvm::Twine(operand->vectors()) + "];");
  }
  emitBlock(*loop.getBody());
  --indent_;
  line("}");
}

bool Emitter::emitProduct(Operation *op) {
  if (isa<memref::AllocaOp>(op)) // its name is declared in the loop
    return findProduct([&](auto &p) { return p.findOperand(op); });
  if (isa<cu::CommentOp>(op)) // says how the loop multiplies; the helper does
    return findProduct([&](auto &p) { return op->getParentOp() == p.loop; });
  if (auto copy = dyn_cast<cu::CopyOp>(op)) {
    const ProductRounds *product = findProduct([&](auto &p) { return p.findOperand(op); });
    if (!product)
      return false;
    const ProductRounds::Operand &operand = *product->findOperand(op);
    line(names_.get(copy.getTarget()) + "[" + (operand.vector ? names_.get(operand.vector) : "0") +
         "] = " + address(copy.getSource(), copy.getSourceIndices()) + ";");
    return true;
  }
  if (const ProductRounds *product = findProduct([&](auto &p) { return p.loop == op; }))
    return emitProductLoop(*product), true;
  if (const ProductRounds *product = findProduct([&](auto &p) { return p.multiply == op; })) {
    memref::AllocaOp rows = product->rows.registers, columns = product->columns.registers;
    return callHelper(op, product->helper(), names_.get(product->sums) + ", " + names_.get(rows) + ", " + names_.get(columns)), true;
  }
  return false;
}

} // namespace kernelc::codegen
