// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ir/Mark.h"

using namespace mlir;

namespace kernelc {

/// The mark of that name that `op` may have, or else another one of that name; null where there is none.
static const Mark *findMark(ArrayRef<ArrayRef<const Mark *>> marks, StringRef name, Operation *op) {
  const Mark *found = nullptr;
  for (ArrayRef<const Mark *> table : marks)
    for (const Mark *mark : table)
      if (mark->name == name && (!found || mark->mayBeOn(op)))
        found = mark;
  return found;
}

LogicalResult verifyMarks(Operation *op, ArrayRef<ArrayRef<const Mark *>> marks, StringRef tables, StringRef label) {
  for (NamedAttribute a : op->getDiscardableAttrs()) {
    StringRef name = a.getName().getValue();
    const Mark *mark = findMark(marks, name, op);
    if (!mark)
      return op->emitOpError() << label << "has no attribute '" << name << "', and there is no such mark; " << tables << " lists marks";
    if (!mark->mayBeOn(op))
      return op->emitOpError() << label << "has the mark '" << name << "', which is for " << mark->onWhat;
    if (!mark->isValue(op, a.getValue()))
      return op->emitOpError() << label << "has the mark '" << name << "' with " << a.getValue() << "; it must be " << mark->isWhat;
  }
  return success();
}

} // namespace kernelc
