// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Statements of memory: variables and arrays, loads and stores, copies, atomics.
#include "codegen/Emitter.h"
#include "codegen/Helpers.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc::codegen {

/// Bytes of one element in memory.
static int64_t bytesOf(Type type) { return type.isIndex() ? 8 : std::max(8u, type.getIntOrFloatBitWidth()) / 8; }

static const char *wordOf(int64_t bytes) {
  switch (bytes) {
  case 16: return "uint4";
  case 8: return "uint2";
  case 4: return "unsigned";
  case 2: return "unsigned short";
  case 1: return "unsigned char";
  }
  return nullptr;
}

void Emitter::emitCopy(cu::CopyOp op) {
  auto type = llvm::cast<MemRefType>(op.getSource().getType());
  int64_t bytes = op.getCount() * bytesOf(type.getElementType());
  const char *word = wordOf(bytes);
  if (!word) {
    unsupported(op) << ": no access is " << bytes << " bytes wide";
    return;
  }
  std::string from = address(op.getSource(), op.getSourceIndices()), to = address(op.getTarget(), op.getTargetIndices());
  std::string value =
      op.getStreaming() ? "__ldcs((const " + std::string(word) + " *)" + from + ")" : "*(const " + std::string(word) + " *)" + from;
  line("*(" + std::string(word) + " *)" + to + " = " + value + ";");
}

void Emitter::emitCpAsync(cu::CpAsyncOp op) {
  auto type = llvm::cast<MemRefType>(op.getSource().getType());
  std::string bytes = std::to_string(op.getCount() * bytesOf(type.getElementType()));
  std::string name = std::string("kc_cp_async_") + (op.getValid() ? "zfill_" : "") + bytes;
  // A thread's copies differ by numbers. Inside an index, which is extended to an address, NVVM takes long to find that.
  std::string args =
      addressAndNumber(op.getTarget(), op.getTargetIndices()) + ", " + addressAndNumber(op.getSource(), op.getSourceIndices());
  if (op.getValid())
    args += ", " + operand(op.getValid(), kLogicalOr) + " ? " + bytes + " : 0";
  callHelper(op, name, args, " of " + bytes + " bytes");
}

void Emitter::emitAtomic(cu::AtomicOp op) {
  Type type = op.getValue().getType();
  unsigned bits = type.getIntOrFloatBitWidth();
  StringRef kind = op.getKind();
  std::string to = address(op.getBase(), op.getIndices()), value = expr(op.getValue()).text;
  bool isFloat = llvm::isa<FloatType>(type);
  if (kind == "prod" || (isFloat && kind != "sum")) { // which no instruction does
    bool isUnsigned = kind.consume_back("u");
    std::string name = "kc_atomic_" + kind.str() + (isFloat ? "_f" : isUnsigned ? "_u" : "_i") + std::to_string(bits);
    if (!hasHelper(name, options_.target->generation)) {
      unsupported(op) << " of " << kind << " on " << type;
      return;
    }
    use(name);
    line(name + "(" + to + ", " + value + ");");
    return;
  }
  bool isUnsigned = kind.consume_back("u");
  StringRef name = llvm::StringSwitch<StringRef>(kind)
                       .Case("sum", "atomicAdd")
                       .Case("max", "atomicMax")
                       .Case("min", "atomicMin")
                       .Case("and", "atomicAnd")
                       .Case("or", "atomicOr")
                       .Case("xor", "atomicXor")
                       .Default("");
  if (name.empty() || (bits != 32 && bits != 64)) {
    unsupported(op) << " of " << kind << " on " << type;
    return;
  }
  // Of 64 bits there are unsigned ones, and signed extremes.
  std::string as = isFloat      ? ""
                   : bits == 64 ? (!isUnsigned && (kind == "max" || kind == "min") ? "long long" : "unsigned long long")
                   : isUnsigned ? "unsigned"
                                : "";
  if (!as.empty()) {
    to = "(" + as + " *)" + to;
    value = "(" + as + ")(" + value + ")";
  }
  line(name + "(" + to + ", " + value + ");");
}

void Emitter::emitAddVector(cu::AddVectorOp op) {
  Type element = llvm::cast<MemRefType>(op.getSource().getType()).getElementType();
  std::string name = "kc_reduce_add_f32x" + std::to_string(op.getCount());
  if (!element.isF32() || !hasHelper(name, options_.target->generation)) {
    unsupported(op) << " of " << op.getCount() << " elements of " << element;
    return;
  }
  use(name);
  line(name + "(" + address(op.getTarget(), op.getTargetIndices()) + ", " + address(op.getSource(), op.getSourceIndices()) + ");");
}

void Emitter::emitGather(cu::GatherOp op) {
  int64_t bytes = bytesOf(llvm::cast<MemRefType>(op.getSource().getType()).getElementType());
  if (bytes * int64_t(op.getElements().size()) != 4) {
    unsupported(op) << " of " << op.getElements().size() << " elements of " << bytes << " bytes";
    return;
  }
  std::string name = bytes == 1 ? "kc_pack_8" : bytes == 2 ? "kc_pack_16" : "__float_as_uint", args;
  if (bytes < 4)
    use(name);
  for (Value e : op.getElements())
    args += (args.empty() ? "" : ", ") + element(op.getSource(), e);
  line(element(op.getTarget(), op.getTargetIndices()) + " = " + name + "(" + args + ");");
}

cu::SharedOp Emitter::findBefore(cu::SharedOp array) {
  cu::SharedOp before;
  array->getParentOfType<cu::KernelOp>().walk([&](cu::SharedOp other) {
    Operation *place = other->getBlock()->findAncestorOpInBlock(*array);
    bool isSeen = place && names_.has(other) && other->isBeforeInBlock(place);
    if (isSeen && other.getOffset() < array.getOffset() && (!before || before.getOffset() < other.getOffset()))
      before = other;
  });
  return before;
}

/// Where an array lies in shared memory: behind another one, or by the byte.
Expr Emitter::sharedArray(cu::SharedOp array) {
  const std::string type = elementName(array), cast = "(" + type + " *)";
  constexpr int64_t kAligned = 128;
  if (cu::SharedOp before = findBefore(array)) {
    const std::string typeBefore = elementName(before), name = names_.get(before);
    const int64_t elements = llvm::cast<MemRefType>(before.getType()).getNumElements(), bytes = elements * bitsOfElement(before) / 8;
    const int64_t distance = int64_t(array.getOffset() - before.getOffset());
    std::string all = distance == bytes ? slots_->allOf(before) : "";
    if (all.empty() && distance == bytes)
      all = std::to_string(elements);
    if (all.empty() && distance == kAligned && type == typeBefore)
      all = std::to_string(kAligned) + " / sizeof(" + type + ")";
    if (!all.empty())
      return type == typeBefore ? Expr{name + " + " + all, kAdditive} : Expr{cast + "(" + name + " + " + all + ")", kUnary};
  }
  use("kc_shared");
  return array.getOffset() ? Expr{cast + "(kc_shared() + " + std::to_string(array.getOffset()) + ")", kUnary}
                           : Expr{cast + "kc_shared()", kUnary};
}

/// A private array of one element is a variable.
static bool isVariable(Value memref) {
  auto variable = memref.getDefiningOp<memref::AllocaOp>();
  return variable && variable.getType().getNumElements() == 1;
}

/// The store in its own block that a variable begins with, which then declares it.
static memref::StoreOp startsWithStore(memref::AllocaOp variable) {
  if (!isVariable(variable))
    return {};
  Operation *first = nullptr;
  for (Operation *user : variable->getUsers()) {
    Operation *here = variable->getBlock()->findAncestorOpInBlock(*user);
    first = !first || here->isBeforeInBlock(first) ? here : first;
  }
  auto store = dyn_cast_or_null<memref::StoreOp>(first);
  return store && store.getMemRef() == variable ? store : memref::StoreOp();
}

memref::AllocaOp Emitter::findBegun(Value left) {
  if (!left.hasOneUse() || left.getType().isIndex()) // (an index of the array may have other bits)
    return {};
  auto store = dyn_cast<memref::StoreOp>(*left.getUsers().begin());
  auto variable = store && store.getValueToStore() == left ? store.getMemRef().getDefiningOp<memref::AllocaOp>() : memref::AllocaOp();
  bool isLeft = variable && isa_and_nonnull<scf::ForOp, scf::IfOp>(left.getDefiningOp());
  return isLeft && store->getBlock() == left.getDefiningOp()->getBlock() && startsWithStore(variable) == store ? variable
                                                                                                               : memref::AllocaOp();
}

memref::AllocaOp Emitter::findTaker(Value left) {
  auto loop = left.getDefiningOp<scf::ForOp>();
  auto store = loop && left.hasOneUse() ? dyn_cast<memref::StoreOp>(loop->getNextNode()) : memref::StoreOp();
  if (!store || store.getValueToStore() != left || loop.getNumResults() != 1 || left.getType().isIndex() || !isVariable(store.getMemRef()))
    return {};
  auto variable = store.getMemRef().getDefiningOp<memref::AllocaOp>();
  auto isApart = [&](Operation *user) { return !loop->isAncestor(user) && !user->getParentOfType<cu::LambdaOp>(); };
  bool isTaken = startsWithStore(variable) != store && llvm::all_of(variable->getUsers(), isApart);
  return isTaken ? variable : memref::AllocaOp();
}

/// What computes the elements of a thread's own array, where a single statement stores them.
static Operation *storedIn(memref::AllocaOp array) {
  Operation *only = nullptr;
  for (Operation *user : array->getUsers())
    if (auto store = dyn_cast<memref::StoreOp>(user); store && std::exchange(only, store.getValueToStore().getDefiningOp()))
      return nullptr;
  return only;
}

/// Whether `op`, or what it calls, may write to `variable`.
static bool mayWrite(Operation *op, Value variable) {
  return op
      ->walk([&](Operation *inner) {
        bool writes = llvm::is_contained(inner->getOperands(), variable) && !isa<memref::LoadOp>(inner);
        auto call = dyn_cast<cu::CallOp>(inner);
        return writes || (call && mayWrite(call.getLambda(), variable)) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool Emitter::keepsValue(memref::LoadOp load) {
  Operation *last = load;
  for (Operation *user : load->getUsers()) {
    if (user->getBlock() != load->getBlock())
      return false;
    while (inlined_.contains(user) && user->hasOneUse()) // is evaluated where it is printed
      user = *user->getUsers().begin();
    if (user->getBlock() != load->getBlock() || inlined_.contains(user))
      return false;
    last = last->isBeforeInBlock(user) ? user : last;
  }
  for (Operation *between = load->getNextNode(); between != last && between; between = between->getNextNode())
    if (mayWrite(between, load.getMemRef()))
      return false;
  return true;
}

/// Whether a variable that is only read has a value of a name of its own, which never changes: it goes by that.
bool Emitter::isCopy(memref::StoreOp only) {
  Operation *op = only.getValueToStore().getDefiningOp();
  return op && op->getNumRegions() == 0 && !isa<memref::LoadOp, arith::ConstantOp>(op) && !inlined_.contains(op);
}

/// Whether a variable is only read once it has been declared by `first`.
static bool isConstant(memref::AllocaOp variable, memref::StoreOp first) {
  return first && llvm::all_of(variable->getUsers(), [&](Operation *user) { return isa<memref::LoadOp>(user) || user == first; });
}

void Emitter::emitAlloca(memref::AllocaOp o) {
  auto type = o.getType();
  memref::StoreOp first = startsWithStore(o);
  if (isConstant(o, first) && isCopy(first)) {
    copies_.insert(first);
    return;
  }
  if (first && findBegun(first.getValueToStore()) == o)
    return; // has its name from then on
  std::string wanted = cu::findName(o.getLoc()).str();
  if (wanted.empty())
    wanted = roleOf(storedIn(o));
  const std::string &name = names_.declare(o, wanted.empty() ? "r" : wanted);
  int64_t bytes = type.getNumElements() * bytesOf(type.getElementType());
  if (type.getNumElements() == 1) {
    if (first)
      declares_[first] = isConstant(o, first);
    else
      line(elementName(o) + " " + name + ";");
    return;
  }
  std::string dims;
  for (int64_t d : type.getShape())
    dims += "[" + std::to_string(d) + "]";
  bool isLooked = llvm::any_of(o->getUsers(), llvm::IsaPred<cu::LookOp>); // by words
  line((bytes >= 16 ? "alignas(16) " : isLooked ? "alignas(4) " : "") + elementName(o) + " " + name + dims + ";");
}

void Emitter::emitStore(memref::StoreOp o) {
  if (copies_.contains(o)) {
    names_.alias(o.getMemRef(), o.getValueToStore());
    return;
  }
  if (memref::AllocaOp begun = findBegun(o.getValueToStore()); begun && o.getMemRef() == begun) {
    names_.alias(begun, o.getValueToStore());
    return;
  }
  if (findTaker(o.getValueToStore()))
    return;
  std::string target = element(o.getMemRef(), o.getIndices());
  if (auto first = declares_.find(o); first != declares_.end())
    line((first->second ? "const " : "") + elementName(o.getMemRef()) + " " + target + " = " + expr(o.getValueToStore()).text + ";");
  else
    line(assignment(target, o.getValueToStore()));
}

void Emitter::emitLoad(memref::LoadOp o) {
  // A variable that keeps its value until this has been used goes by its own name.
  auto variable = o.getMemRef().getDefiningOp<memref::AllocaOp>();
  if (isVariable(o.getMemRef()) && (keepsValue(o) || isConstant(variable, startsWithStore(variable))))
    names_.alias(o.getResult(), o.getMemRef());
  else
    declareResult(o);
}

bool Emitter::emitMemory(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<memref::AllocaOp>([&](auto o) { return emitAlloca(o), true; })
      .Case<memref::StoreOp>([&](auto o) { return emitStore(o), true; })
      .Case<memref::LoadOp>([&](auto o) { return emitLoad(o), true; })
      .Case<cu::CopyOp>([&](auto o) { return emitCopy(o), true; })
      .Case<cu::GatherOp>([&](auto o) { return emitGather(o), true; })
      .Case<cu::AtomicOp>([&](auto o) { return emitAtomic(o), true; })
      .Case<cu::AddVectorOp>([&](auto o) { return emitAddVector(o), true; })
      .Case<cu::WriteOnceOp>([&](cu::WriteOnceOp o) {
        return callHelper(o, "kc_write_once", address(o.getBase(), o.getIndices()) + ", " + expr(o.getValue()).text), true;
      })
      .Case<cu::CpAsyncOp>([&](auto o) { return emitCpAsync(o), true; })
      .Case<cu::CpAsyncCommitOp>([&](auto o) { return callHelper(o, "kc_cp_async_commit", ""), true; })
      .Case<cu::CpAsyncWaitOp>([&](cu::CpAsyncWaitOp o) {
        use("kc_cp_async_wait");
        return line("kc_cp_async_wait<" + llvm::Twine(o.getPending()) + ">();"), true;
      })
      .Default(false);
}

} // namespace kernelc::codegen
