// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Accesses of tensors, lets and scalars. See Elaborate.h.
#include "frontend/Elaborate.h"
#include "frontend/Habits.h"
#include "frontend/Sema.h"

#include <limits>

#include "llvm/ADT/StringExtras.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace kernelc::frontend {

std::string Elaborator::castOf(const Expr *e, StringRef type) const {
  StringRef text = e->loc.file == 0 && e->end > e->begin ? diags.file(0).text.slice(e->begin, e->end) : "";
  bool isShort = !text.empty() && text.size() <= 24 && !text.contains('\n');
  return "; write '" + type.str() + "(" + (isShort ? text.str() : "..") + ")'";
}

static std::optional<te::BoundsMode> boundsModeNamed(StringRef name) {
  return llvm::StringSwitch<std::optional<te::BoundsMode>>(name)
      .Case("pad", te::BoundsMode::Pad)
      .Case("edge", te::BoundsMode::Edge)
      .Case("reflect", te::BoundsMode::Reflect)
      .Case("wrap", te::BoundsMode::Wrap)
      .Case("assume_inbounds", te::BoundsMode::Assume)
      .Default(std::nullopt);
}

void Elaborator::reportUnknownMode(const Tensor *t, const Expr *e) {
  auto d = error(e->modeLoc);
  if (llvm::is_contained({"shape", "size", "dim", "strides"}, e->mode)) {
    d << "a tensor has no '." << e->mode << "'; the sizes of '" << t->name << "' have the names of its shape";
    SmallVector<std::string> dims;
    for (AffineExpr dim : t->dims)
      dims.push_back("'" + print(dim, kernel) + "'");
    if (!dims.empty())
      d << ", " << llvm::join(dims, ", ");
    return;
  }
  if (StringRef hint = hintForFunction(e->mode == "T" ? "transpose" : e->mode); !hint.empty()) {
    d << "a tensor has no '." << e->mode << "'; " << hint;
    return;
  }
  std::string near = llvm::is_contained({"clamp", "nearest", "replicate", "border"}, e->mode) ? "edge"
                     : llvm::is_contained({"mirror", "symmetric"}, e->mode)                   ? "reflect"
                     : llvm::is_contained({"circular", "periodic", "roll"}, e->mode)          ? "wrap"
                     : llvm::is_contained({"zero", "zeros", "fill"}, e->mode)                 ? "pad(0)"
                                                                                              : "";
  if (near.empty())
    near = findNearest(e->mode, {"pad", "edge", "reflect", "wrap", "assume_inbounds"});
  d << "unknown bounds form '." << e->mode << "'";
  if (!near.empty())
    d << "; did you mean '." << near << "'?";
  else
    d << "; there are .pad(v), .edge, .reflect, .wrap and .assume_inbounds";
}

bool Elaborator::elaborateMode(Node *read, const Expr *e, const Scope *scope) {
  if (e->mode.empty())
    return true;
  std::optional<te::BoundsMode> mode = boundsModeNamed(e->mode);
  read->bounds = *mode;
  unsigned wanted = *mode == te::BoundsMode::Pad ? 1 : 0;
  if (e->modeArgs.size() != wanted || (wanted && !e->modeArgs[0].name.empty())) {
    error(e->modeLoc) << "." << e->mode << " takes " << (wanted ? "one value, as in .pad(0)" : "no arguments");
    return false;
  }
  if (!wanted)
    return true;
  if (const Expr *given = e->modeArgs[0].value; given->kind == Expr::String) {
    error(given->loc) << "the padding is a value, as in .pad(0); the other bounds forms are .edge, .reflect and .wrap";
    return false;
  }
  Node *v = elaborate(e->modeArgs[0].value, scope);
  const Tensor &t = *read->tensor;
  if (v)
    v = t.declared ? convertAsStored(v, *t.declared, "the padding") : convertForStore(v, t.element, "the padding");
  if (!v)
    return false;
  read->padding = v;
  if (read->narrow && !isOfType(v, *read->narrow)) // a let's elements fit what the padding does not
    read->narrow.reset();
  return true;
}

Node *Elaborator::asIndex(Node *s, StringRef mode, AffineExpr dim) {
  if (s->type == Ty::U32)
    return convert(s, Ty::I64);
  if (mode == "wrap" || mode == "reflect") { // their period; of nothing to mirror it is 0, and so is the remainder
    AffineExpr period = mode == "wrap" ? dim : (dim - 1) * 2;
    s = makeBinary(Node::Mod, s, castTo(makeAffine(period, s->loc), ElementType::u64, s->loc), s->loc);
  } else if (mode != "assume_inbounds") { // beyond every tensor either way
    s = makeBinary(Node::Min, s, makeInt(std::numeric_limits<int64_t>::max(), Ty::U64, s->loc), s->loc);
  }
  return convert(s, Ty::I64);
}

Node *Elaborator::elaborateSubscript(const Expr *e, const Scope *scope, StringRef mode, AffineExpr dim) {
  bool saved = std::exchange(inSubscript, true);
  Node *s = elaborate(e, scope);
  inSubscript = saved;
  if (s && !isInt(s->type)) {
    error(e->loc) << "a subscript must be an integer, not " << name(s->type) << castOf(e, "i32");
    return nullptr;
  }
  if (!s)
    return nullptr;
  return s->type == Ty::U64 ? asIndex(s, mode, dim) : convert(s, Ty::I64);
}

/// "i, j": an index for each dim, those of the left side that go over dims of the same sizes if there are such.
std::string Elaborator::subscriptsFor(const Tensor &t) const {
  SmallVector<StringRef> names;
  for (AffineExpr dim : t.dims) {
    if (dim == getAffineConstantExpr(1, dim.getContext())) {
      names.push_back("0");
      continue;
    }
    for (auto [name, other] : llvm::zip(leftNames, leftDims))
      if (other == dim && !llvm::is_contained(names, name)) {
        names.push_back(name);
        break;
      }
  }
  return names.size() == t.dims.size() ? llvm::join(names, ", ") : exampleIndices(t.dims.size());
}

Node *Elaborator::readTensor(Tensor *t, const Expr *e, const Scope *scope) {
  if (t->poisoned)
    return nullptr;
  if (!t->parts.empty()) { // the fields' tensors at one place
    SmallVector<Node *> values;
    for (Tensor *part : t->parts) {
      Node *n = readTensor(part, e, scope);
      if (!n)
        return nullptr;
      values.push_back(n);
    }
    return makeTuple(values, *t->fields, e->loc);
  }
  if (t->kind == Tensor::Scalar) {
    if (e->hasBracket) {
      auto d = error(e->loc);
      d << "'" << t->name << "' is a scalar and takes no subscripts; a tensor has a shape, as in '" << t->name << ": "
        << StringRef(elementTypeName(t->element).data(), elementTypeName(t->element).size()) << "[N]'";
      if (t->loc.file == 0)
        diags.note(d, t->loc) << "'" << t->name << "' is declared here";
      return nullptr;
    }
    Node *n = make(Node::ScalarParam, widened(t->element), e->loc);
    n->tensor = t;
    if (!kernelc::isFloat(t->element) && t->element != ElementType::boolean && elementBits(t->element) < 32)
      n->narrow = t->element;
    return n;
  }
  if (!e->hasBracket && !t->dims.empty()) {
    error(e->loc) << "tensors are never whole operands; write '" << t->name << "[" << subscriptsFor(*t) << "]'";
    return nullptr;
  }
  if (!e->mode.empty() && !boundsModeNamed(e->mode)) {
    reportUnknownMode(t, e);
    return nullptr;
  }
  if (e->hasBracket && e->args.size() != t->dims.size()) {
    auto d = error(e->whole());
    d << "'" << t->name << "' has " << describeRank(t->dims.size(), e->args.size());
    if (llvm::any_of(e->args, [](const Expr *a) { return a->kind == Expr::Name && (a->text == "None" || a->text == "newaxis"); }))
      d << "; what is the same along an index does not name it: leave it out";
    else
      d << "; write '" << t->name << "[" << subscriptsFor(*t) << "]'";
    if (t->loc.file == 0)
      diags.note(d, t->loc) << "'" << t->name << "' is declared here";
    return nullptr;
  }
  Node *n = makeRead(t, e);
  if (!n)
    return nullptr;
  bool ok = true;
  for (const Expr *a : e->args) {
    Node *s = elaborateSubscript(a, e->mode, t->dims[n->ops.size()], scope);
    n->ops.push_back(s);
    ok &= s != nullptr;
  }
  return elaborateMode(n, e, scope) && ok ? n : nullptr;
}

Node *Elaborator::makeRead(Tensor *t, const Expr *e) {
  bool isOwn = own && (t == own || llvm::is_contained(own->parts, t));
  if (!t->isReadable && !isOwn) {
    error(e->loc) << "output '" << t->name
                  << "' is read before its statements have defined it; name what they need with 'let', or declare '" << t->name
                  << "' an 'inout' parameter to read what memory holds";
    return nullptr;
  }
  Node *n = make(Node::Read, widened(t->element), e->loc);
  n->tensor = t;
  n->readsOwn = isOwn;
  n->access = e;
  if (!kernelc::isFloat(t->element) && t->element != ElementType::boolean && elementBits(t->element) < 32)
    n->narrow = t->element;
  if (t->narrow)
    n->narrow = t->narrow;
  return n;
}

Node *Elaborator::elaborateSubscript(const Expr *e, StringRef mode, AffineExpr dim, const Scope *scope) {
  bool saved = std::exchange(inSubscript, true);
  Node *s = elaborate(e, scope);
  inSubscript = saved;
  if (!s)
    return nullptr;
  if (!isInt(s->type) && s->type != Ty::Bool) {
    error(e->loc) << "a subscript must be an integer, not " << name(s->type) << castOf(e, "i32");
    return nullptr;
  }
  return s->type == Ty::U64 ? asIndex(s, mode, dim) : convert(s, Ty::I64);
}

Node *Elaborator::elaborateAccess(const Expr *e, const Scope *scope) {
  if (const Binding *b = scope->find(e->text)) {
    if (b->kind == Binding::Lambda)
      return elaborateLambda(*b, e, scope);
    if (Tensor *t = b->kind == Binding::Thunk ? findTensor(b->expr, b->scope) : nullptr)
      return readTensor(t, e, scope);
    error(e->loc) << "'" << e->text << "' is " << (b->kind == Binding::Key ? "an index" : "a parameter of the function")
                  << " and takes no subscripts";
    return nullptr;
  }
  const Scope *root = scope;
  while (root->parent)
    root = root->parent;
  if (root->kernelLevel)
    if (auto it = tensors.find(e->text); it != tensors.end())
      return readTensor(it->second, e, scope);
  if (fns.contains(e->text) || reducers.contains(e->text)) {
    error(e->loc) << "expected '(' and the argument after '" << e->text << "[..]'";
    return nullptr;
  }
  if (isKernelName(e->text) && root->kernelLevel) {
    error(e->loc) << "'" << e->text << "' is not a tensor";
    return nullptr;
  }
  if (reductionNamed(e->text) && !e->args.empty()) { // sum[j, x[i, j]]
    StringRef text = diags.file(e->loc.file).text;
    auto of = [&](const Expr *x) { return text.slice(x->begin, x->end); };
    StringRef indices = e->args.size() > 1 ? text.slice(e->args.front()->begin, e->args[e->args.size() - 2]->end) : "k";
    error(e->loc) << "what '" << e->text << "' reduces stands in parentheses behind its bracket; write '" << e->text << "[" << indices
                  << "](" << of(e->args.back()) << ")'";
    return nullptr;
  }
  SmallVector<StringRef> known;
  for (auto &t : tensors)
    known.push_back(t.getKey());
  std::string near = findNearest(e->text, known);
  auto d = error(e->loc);
  d << "unknown tensor '" << e->text << "'";
  const Statement *later = nullptr; // (all that was defined before is known)
  if (root->kernelLevel && e->loc.file == 0)
    for (const Statement &s : kernel.def->body)
      if (!later && s.kind == Statement::Let && s.target == e->text)
        later = &s;
  if (later)
    d << "; it is defined on line " << diags.location(later->loc).getLine() << ", and statements run in order";
  else if (!near.empty())
    d << "; did you mean '" << near << "'?";
  else if (root->kernelLevel && e->loc.file == 0)
    d << "; an input stands among the parameters, as in '" << e->text << ": f32[N]', what is computed here behind 'let'";
  return nullptr;
}

} // namespace kernelc::frontend
