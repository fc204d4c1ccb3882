// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Statements of the CUDA text: functions, loops, branches.
#include "codegen/EmitCuda.h"

#include "codegen/Emitter.h"
#include "codegen/Helpers.h"
#include "codegen/Lines.h"
#include "ir/cu/Marks.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace kernelc::codegen {

void Emitter::line(const llvm::Twine &text) { out_ += breakLine(text.str(), size_t(indent_) * 2); }

/// The last part of a path, as it may stand between quotes.
static std::string baseName(StringRef path) {
  std::string name = path.substr(path.rfind('/') + 1).str();
  for (char &c : name)
    if (!llvm::isPrint(c) || c == '"' || c == '\\')
      c = '_';
  return name;
}

void Emitter::mark(Location loc) {
  auto position = loc->findInstanceOf<FileLineColLoc>();
  if (!position || position.getLine() == 0)
    return;
  std::string file = baseName(position.getFilename());
  if (file.empty() || (file == markedFile_ && position.getLine() == markedLine_))
    return;
  out_ += "#line " + std::to_string(position.getLine()) + " \"" + file + "\"\n";
  markedFile_ = std::move(file);
  markedLine_ = position.getLine();
}

/// Declarations and index arithmetic: CSE and hoisting have carried them away from
/// where they were written, so a mark for each would be noise.
static bool isBookkeeping(Operation *op) {
  if (isa<memref::AllocaOp, cu::CommentOp, cu::SharedOp>(op))
    return true;
  return op->getNumResults() == 1 && op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         (op->getResult(0).getType().isIndex() || op->getResult(0).getType().isInteger(1));
}

InFlightDiagnostic Emitter::unsupported(Operation *op) {
  failed_ = true;
  return op->emitOpError() << "has no CUDA C spelling";
}

void Emitter::callHelper(Operation *op, const llvm::Twine &name, const llvm::Twine &arguments, const llvm::Twine &of) {
  std::string helper = name.str();
  if (!hasHelper(helper, options_.target->generation)) {
    unsupported(op) << of << " on " << options_.target->name;
    return;
  }
  use(helper);
  line(llvm::Twine(helper) + "(" + arguments + ");");
}

void Emitter::declareResult(Operation *op) {
  Expr e = makeExpr(op);
  if (e.text.empty()) {
    unsupported(op) << " for " << op->getResultTypes();
    names_.declare(op->getResult(0), "unsupported");
    return;
  }
  Value v = op->getResult(0);
  std::string wanted = cu::findName(op->getLoc()).str();
  Type type = v.getType();
  if (isa<MemRefType>(type)) {
    const std::string &name = names_.declare(v, wanted.empty() ? "buffer" : wanted);
    line(elementName(v) + " *const " + name + " = " + e.text + ";");
    return;
  }
  if (wanted.empty())
    wanted = isa<cu::ThreadIdOp>(op) ? "tid" : roleOf(op);
  const std::string &name = names_.declare(v, wanted.empty() ? "t" : nameOfAddressPart(v, wanted));
  line("const " + typeName(v) + " " + name + " = " + e.text + ";");
}

bool Emitter::mentions(Value value, Value variable) {
  if (value == variable || (names_.has(value) && names_.get(value) == names_.get(variable)))
    return true;
  Operation *op = value.getDefiningOp();
  return op && inlined_.contains(op) && llvm::any_of(op->getOperands(), [&](Value v) { return mentions(v, variable); });
}

void Emitter::assignYield(Operation *yield, ValueRange targets) {
  // What reads a target that has been assigned to by then is computed first.
  SmallVector<std::string> values;
  for (auto [i, v] : llvm::enumerate(yield->getOperands())) {
    values.push_back(expr(v).text);
    bool late = llvm::any_of(targets.take_front(i), [&](Value before) { return mentions(v, before); });
    if (!late || values[i] == names_.get(targets[i]))
      continue;
    std::string temp = names_.fresh(names_.get(targets[i]) + "_next");
    line("const " + typeName(targets[i].getType()) + " " + temp + " = " + values[i] + ";");
    values[i] = temp;
  }
  for (auto [i, target] : llvm::enumerate(targets)) {
    const std::string &name = names_.get(target);
    if (values[i] != name)
      line(values[i] == expr(yield->getOperand(i)).text ? assignment(name, yield->getOperand(i)) : name + " = " + values[i] + ";");
  }
}

/// Whether a loop goes on with what another one has carried, in that one's variable: nobody else reads it, in the loop around it
/// but to carry it on.
static bool goesOn(scf::ForOp loop, Value init, Value result) {
  if (!init.hasOneUse())
    return false;
  if (auto before = init.getDefiningOp<scf::ForOp>())
    return before->getBlock() == loop->getBlock();
  auto carried = dyn_cast<BlockArgument>(init);
  auto outer = carried ? dyn_cast<scf::ForOp>(carried.getOwner()->getParentOp()) : scf::ForOp();
  if (!outer || loop->getParentOp() != outer || carried == outer.getInductionVar() || !result.hasOneUse())
    return false;
  OpOperand &use = *result.getUses().begin();
  return isa<scf::YieldOp>(use.getOwner()) && use.getOperandNumber() + 1 == carried.getArgNumber();
}

const std::string &Emitter::declareLeft(Value left, Value declared, StringRef otherwise) {
  while (left.hasOneUse()) { // to the last loop that goes on with it
    OpOperand &use = *left.getUses().begin();
    auto next = dyn_cast<scf::ForOp>(use.getOwner());
    Value result = next && next.getTiedLoopResult(&use) ? Value(next.getTiedLoopResult(&use)) : Value();
    if (!result || !goesOn(next, left, result))
      break;
    left = result;
  }
  memref::AllocaOp begun = findBegun(left);
  StringRef wanted = begun ? cu::findName(begun.getLoc()) : StringRef();
  if (wanted.empty())
    wanted = cu::findName(declared.getLoc());
  return names_.declare(declared, wanted.empty() ? otherwise : wanted);
}

void Emitter::emitFor(scf::ForOp op) {
  for (auto [init, arg, result] : llvm::zip(op.getInitArgs(), op.getRegionIterArgs(), op.getResults())) {
    if (goesOn(op, init, result)) {
      names_.alias(arg, init);
      names_.alias(result, arg);
      continue;
    }
    if (memref::AllocaOp taker = findTaker(result)) {
      names_.alias(arg, taker);
      names_.alias(result, arg);
      line(assignment(names_.get(taker), init));
      continue;
    }
    const std::string &name = declareLeft(result, arg, "carried");
    line(typeName(arg.getType()) + " " + name + " = " + expr(init).text + ";");
    names_.alias(result, arg);
  }
  StringRef wanted = cu::findName(op.getInductionVar().getLoc());
  if (cu::kUnroll.isOn(op)) {
    std::optional<int64_t> rounds = cu::kUnroll.findRoundsOn(op);
    line("#pragma unroll" + (rounds ? " " + std::to_string(*rounds) : std::string()));
  }
  NameTable::Scope scope(names_);
  const std::string &iv = names_.declare(op.getInductionVar(), wanted.empty() ? "i" : wanted);
  std::string step = expr(op.getStep()).text;
  line("for (" + typeName(op.getInductionVar()) + " " + iv + " = " + expr(op.getLowerBound()).text + "; " + iv + " < " +
       parenthesize(exprOf(op.getUpperBoundMutable()), kAdditive) + "; " + (step == "1" ? "++" + iv : iv + " += " + step) + ") {");
  ++indent_;
  emitBlock(*op.getBody());
  assignYield(op.getBody()->getTerminator(), op.getRegionIterArgs());
  --indent_;
  line("}");
}

void Emitter::emitSearch(Operation *op, StringRef helper, BlockArgument candidate, Value condition) {
  use(helper);
  Value result = op->getResult(0);
  std::string type = typeName(result), arguments, known;
  auto find = dyn_cast<cu::FindWhereOp>(op);
  for (Value v : op->getOperands())
    if (find && v == find.getFound())
      known = operand(v, kConditional) + " ? " + operand(find.getFrom(), kConditional) + " : ";
    else
      arguments += expr(v).text + ", ";
  StringRef wanted = cu::findName(op->getLoc()), wantedCandidate = cu::findName(candidate.getLoc());
  const std::string name = names_.declare(result, wanted.empty() ? "found" : wanted);
  NameTable::Scope scope(names_);
  const std::string number = names_.declare(candidate, wantedCandidate.empty() ? "i" : wantedCandidate);
  line("const " + type + " " + name + " = " + known + helper + "<" + type + ">(" + arguments + "[&](const " + type + " " + number + ") {");
  ++indent_;
  emitBlock(*candidate.getOwner());
  line("return " + expr(condition).text + ";");
  --indent_;
  line("});");
}

/// Whether a search among 32 numbers does not ask for them: the first of them is found where a lane says that the condition holds.
static bool asksLanes(cu::FindWhereOp op) {
  return getConstantIntValue(op.getFrom()) == 0 && getConstantIntValue(op.getEnd()) == 32 && !op.getFound() &&
         op.getCandidate().use_empty() && llvm::hasSingleElement(op.getCondition().front());
}

void Emitter::emitAskLanes(cu::FindWhereOp op) {
  use("kc_find_lane");
  StringRef wanted = cu::findName(op.getLoc());
  std::string holds = expr(op.getHeld()).text;
  line("const int " + names_.declare(op.getResult(), wanted.empty() ? "found" : wanted) + " = kc_find_lane(" + holds + ");");
}

/// Whether `user` may change what `array` holds.
static bool mayChange(Operation *user, Value array) {
  auto copy = dyn_cast<cu::CopyOp>(user);
  return !isa<memref::LoadOp>(user) && !(copy && copy.getTarget() != array);
}

/// Whether an argument of `lambda` says which element `access` is about.
static bool isByArgument(cu::LambdaOp lambda, Operation *access) {
  SmallVector<Value> work(access->getOperands());
  llvm::SmallPtrSet<Value, 16> seen;
  while (!work.empty()) {
    Value v = work.pop_back_val();
    if (!seen.insert(v).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(v)) {
      if (argument.getOwner() == &lambda.getBlock())
        return true;
    } else if (lambda->isProperAncestor(v.getDefiningOp())) {
      llvm::append_range(work, v.getDefiningOp()->getOperands());
    }
  }
  return false;
}

/// Whether a lambda takes copies of the arrays that it reads, which nobody changes from its definition on: as long as nothing has their
/// addresses, NVRTC moves what is computed of their elements to where it is needed. Of few registers it does so anyway. Not where its
/// arguments choose the elements: the copy could not be in registers until each call is in its place, and stays on the stack.
static bool takesCopies(cu::LambdaOp lambda) {
  llvm::SetVector<Value> arrays;
  lambda.walk([&](Operation *op) {
    for (Value v : op->getOperands())
      if (auto array = v.getDefiningOp<memref::AllocaOp>(); array && !lambda->isAncestor(array))
        arrays.insert(v);
  });
  auto isDoneBefore = [&](Operation *user) {
    Operation *place = lambda->getBlock()->findAncestorOpInBlock(*user);
    return !user->getParentOfType<cu::LambdaOp>() && (!place || place->isBeforeInBlock(lambda));
  };
  constexpr int64_t kFew = 64;
  int64_t registers = 0;
  for (Value array : arrays)
    registers += llvm::cast<MemRefType>(array.getType()).getNumElements();
  bool isChosen = false;
  lambda.walk([&](memref::LoadOp load) { isChosen |= arrays.contains(load.getMemRef()) && isByArgument(lambda, load); });
  return registers > kFew && !isChosen && llvm::all_of(arrays, [&](Value array) {
           return llvm::all_of(array.getUsers(), [&](Operation *user) { return !mayChange(user, array) || isDoneBefore(user); });
         });
}

void Emitter::emitLambda(cu::LambdaOp op) {
  StringRef wanted = cu::findName(op.getLoc());
  const std::string name = names_.declare(op.getResult(), wanted.empty() ? "part" : wanted);
  NameTable::Scope scope(names_);
  std::string parameters;
  for (BlockArgument arg : op.getBlock().getArguments()) {
    StringRef wanted = cu::findName(arg.getLoc());
    parameters += (parameters.empty() ? "const " : ", const ") + typeName(arg) + " " +
                  names_.declare(arg, wanted.empty() ? "i" : nameOfAddressPart(arg, wanted));
  }
  line("const auto " + name + (takesCopies(op) ? " = [=](" : " = [&](") + parameters + ") {");
  ++indent_;
  emitBlock(op.getBlock());
  --indent_;
  line("};");
}

void Emitter::emitCall(cu::CallOp op) {
  std::string arguments;
  for (OpOperand &v : op.getArgumentsMutable())
    arguments += (arguments.empty() ? "" : ", ") + exprOf(v).text;
  line(names_.get(op.getCallee()) + "(" + arguments + ");");
}

/// Loops, branches, lambdas, searches, comments and the barriers of a whole block or warp.
bool Emitter::emitControl(Operation *op) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<scf::ForOp>([&](auto o) { return emitFor(o), true; })
      .Case<scf::IfOp>([&](auto o) { return emitIf(o), true; })
      .Case<cu::CountWhereOp>([&](auto o) { return emitSearch(o, "kc_count_where", o.getCandidate(), o.getHeld()), true; })
      .Case<cu::FindWhereOp>(
          [&](auto o) { return asksLanes(o) ? emitAskLanes(o) : emitSearch(o, "kc_find_where", o.getCandidate(), o.getHeld()), true; })
      .Case<cu::ExtremeOp>(
          [&](auto o) { return emitSearch(o, o.getSmallest() ? "kc_smallest" : "kc_largest", o.getCandidate(), o.getHeld()), true; })
      .Case<cu::LambdaOp>([&](auto o) { return emitLambda(o), true; })
      .Case<cu::CallOp>([&](auto o) { return emitCall(o), true; })
      .Case<cu::CommentOp>([&](cu::CommentOp o) { return line("// " + o.getText()), true; })
      .Case<cu::SyncOp>([&](auto) { return line("__syncthreads();"), true; })
      .Case<cu::WarpSyncOp>([&](auto) { return line("__syncwarp();"), true; })
      .Default(false);
}

void Emitter::emitOp(Operation *op) {
  if (inlined_.contains(op) || op->hasTrait<OpTrait::IsTerminator>())
    return;
  if (!isBookkeeping(op))
    mark(op->getLoc());
  for (auto emit : {&Emitter::emitProduct, &Emitter::emitControl, &Emitter::emitMemory, &Emitter::emitUnit, &Emitter::emitBarrier})
    if ((this->*emit)(op))
      return;
  if (op->getNumResults() == 1 && op->getNumRegions() == 0)
    declareResult(op);
  else
    unsupported(op);
}

void Emitter::emitBlock(Block &block) {
  planInlining(block);
  for (Operation &op : block)
    emitOp(&op);
}

/// Whether a kernel only loads from the memory of a parameter.
static bool isOnlyRead(Value memory) {
  return llvm::all_of(memory.getUsers(), [&](Operation *user) {
    auto copy = dyn_cast<cu::CopyOp>(user);
    return isa<memref::LoadOp, cu::CpAsyncOp>(user) || (copy && copy.getTarget() != memory);
  });
}

/// Whether a product's rounds on CUDA cores have a multiprocessor to themselves: their shared memory leaves no room for a second block.
/// ptxas does not see it, and would leave registers for one.
static bool hasMultiprocessorToItself(cu::KernelOp kernel, const Target &target) {
  return int64_t(kernel.getSharedBytes()) > target.maxSharedPerBlock / 2 &&
         kernel.walk([](scf::ForOp loop) { return findProductRounds(loop) ? WalkResult::interrupt() : WalkResult::advance(); })
             .wasInterrupted();
}

LogicalResult Emitter::emitKernel(cu::KernelOp kernel) {
  names_ = NameTable();
  indexBits_ = unsigned(kernel.getIndexBits());
  SmallVector<std::string> params;
  for (BlockArgument arg : kernel.getBlock().getArguments()) {
    StringRef wanted = cu::findName(arg.getLoc());
    const std::string &name = names_.declare(arg, wanted.empty() ? "arg" : wanted);
    if (isa<MemRefType>(arg.getType()) && cu::spaceOf(arg) == cu::Param) {
      use("kc_tensor_map");
      params.push_back("const __grid_constant__ kc_tensor_map " + name);
    } else if (auto memref = dyn_cast<MemRefType>(arg.getType()))
      params.push_back((isOnlyRead(arg) ? "const " : "") + typeName(memref.getElementType()) + " *__restrict__ " + name);
    else
      params.push_back("const " + typeName(arg.getType()) + " " + name);
  }
  if (!kernel.getSchedule().empty())
    out_ += ("// " + kernel.getSchedule() + "\n").str(); // one line, however long: it is searched for
  mark(kernel.getLoc());
  // setmaxnreg counts from the registers at entry: ptxas must know how many blocks share them (C7508).
  bool exact = boundsRegisters(kernel) || hasMultiprocessorToItself(kernel, *options_.target);
  std::string head = "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(kernel.getThreads()) +
                     (exact ? ", " + std::to_string(kernel.getMinBlocks()) : "") + ") " + kernel.getSymName().str() + "(";
  for (auto [i, param] : llvm::enumerate(params)) {
    StringRef before = StringRef(head).rtrim();
    if (!before.empty() && head.size() + param.size() + 3 > kColumns) {
      line(before);
      head = "    ";
    }
    head += param + (i + 1 < params.size() ? ", " : "");
  }
  line(head + ") {");
  ++indent_;
  slots_.emplace(kernel);
  slots_->reserve(names_);
  findProducts(kernel);
  std::string before = std::exchange(out_, std::string());
  emitBlock(kernel.getBlock());
  std::string body = std::exchange(out_, std::move(before));
  declareSlotNames();
  out_ += body;
  --indent_;
  line("}");
  return failure(failed_);
}

void Emitter::declareSlotNames() {
  std::string sizes = slots_->declaredSizes(), stages = slots_->declaredStages();
  if (!sizes.empty())
    line("constexpr int " + sizes + "; // elements");
  if (!stages.empty())
    line("constexpr int " + stages + "; // slots");
}

std::string calledText(const std::set<std::string> &typedefs, const std::set<std::string> &helpers, int generation) {
  std::string text;
  if (!typedefs.empty())
    text += "\n// Types that travel as their bits.\n" + llvm::join(typedefs, "\n") + "\n";
  if (!helpers.empty())
    text += "\n" + helperText(helpers, generation);
  return text;
}

FailureOr<std::string> emitCuda(ModuleOp module, const EmitOptions &options) {
  std::set<std::string> typedefs, helpers;
  std::string bodies;
  bool ok = true;
  for (auto kernel : module.getOps<cu::KernelOp>()) {
    Emitter emitter(options, typedefs, helpers);
    ok &= succeeded(emitter.emitKernel(kernel));
    bodies += "\n" + emitter.take();
  }
  if (!ok)
    return failure();
  std::string text;
  SmallVector<StringRef> header;
  StringRef(options.header).split(header, '\n', -1, false);
  for (StringRef h : header)
    text += ("// " + h + "\n").str();
  return text + calledText(typedefs, helpers, options.target->generation) + bodies;
}

} // namespace kernelc::codegen
