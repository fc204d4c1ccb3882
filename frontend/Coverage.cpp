// All `=` statements of an output together cover it exactly once. See Sema.h.
#include "frontend/Sema.h"

using namespace mlir;

namespace kernelc::frontend {
namespace {

/// Element [i, j, ..] at (i, j, ..), every one of them.
bool isWhole(const CoreStatement &s, MLIRContext *context) {
  if (!s.conditions.empty() || s.vars.size() != s.target->dims.size())
    return false;
  for (auto [i, v] : llvm::enumerate(s.vars))
    if (s.subscripts[i]->affine != getAffineDimExpr(v->id, context) || v->lo != getAffineConstantExpr(0, context) ||
        v->extent != s.target->dims[i])
      return false;
  return true;
}

} // namespace

bool Sema::checkCoverage() {
  for (CoreStatement &s : statements)
    if (!s.isLet)
      s.whole = isWhole(s, context());
  for (Tensor *t : kernel.outs) {
    SmallVector<CoreStatement *> list;
    for (CoreStatement &s : statements)
      if (s.target == t)
        list.push_back(&s);
    if (list.empty() && !t->isInout) {
      diags.error(t->loc) << "output '" << t->name << "' is never assigned";
      continue;
    }
    if (list.size() == 1 && list[0]->whole)
      continue;
    for (CoreStatement *s : list)
      diags.error(s->loc) << "statements that cover a part of '" << t->name << "' are not supported yet";
  }
  return true;
}

} // namespace kernelc::frontend
