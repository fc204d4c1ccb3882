// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// view(x, "b s (h d) -> b h s d", h=8)[..]: a tensor by other indices than its own, as an access of the tensor itself.
// See Elaborate.h.
#include "frontend/Elaborate.h"
#include "frontend/Sema.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace kernelc::frontend {
namespace {

/// "b s (h d)": for each dim the names whose product it is.
using Side = SmallVector<SmallVector<StringRef, 2>>;

bool parseSide(StringRef text, Side &side) {
  bool inGroup = false;
  while (!(text = text.ltrim()).empty()) {
    if (text.consume_front("(")) {
      if (inGroup)
        return false;
      inGroup = true;
      side.emplace_back();
    } else if (text.consume_front(")")) {
      if (!inGroup || side.back().empty())
        return false;
      inGroup = false;
    } else {
      StringRef name = text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
      if (name.empty() || llvm::isDigit(name[0]))
        return false;
      text = text.drop_front(name.size());
      if (!inGroup)
        side.emplace_back();
      side.back().push_back(name);
    }
  }
  return !inGroup && !side.empty();
}

SmallVector<StringRef> namesOf(const Side &side) {
  SmallVector<StringRef> names;
  for (const auto &group : side)
    names.append(group.begin(), group.end());
  return names;
}

/// Whether both have the same names, each once.
bool areSameNames(const Side &a, const Side &b) {
  SmallVector<StringRef> x = namesOf(a), y = namesOf(b);
  llvm::sort(x);
  llvm::sort(y);
  return x == y && std::adjacent_find(x.begin(), x.end()) == x.end();
}

/// The factors of a product; its number in `constant`.
SmallVector<AffineExpr> factorsOf(AffineExpr e, int64_t &constant) {
  if (auto c = dyn_cast<AffineConstantExpr>(e)) {
    constant *= c.getValue();
    return {};
  }
  auto b = dyn_cast<AffineBinaryOpExpr>(e);
  if (!b || e.getKind() != AffineExprKind::Mul)
    return {e};
  SmallVector<AffineExpr> factors = factorsOf(b.getLHS(), constant);
  factors.append(factorsOf(b.getRHS(), constant));
  return factors;
}

/// `dim` without the factors of `by`; null where it does not have them all in its text.
AffineExpr withoutFactors(AffineExpr dim, AffineExpr by) {
  int64_t all = 1, part = 1;
  SmallVector<AffineExpr> factors = factorsOf(dim, all);
  for (AffineExpr f : factorsOf(by, part)) {
    auto *at = llvm::find(factors, f);
    if (at == factors.end())
      return {};
    factors.erase(at);
  }
  if (part <= 0 || all % part)
    return {};
  AffineExpr rest = getAffineConstantExpr(all / part, dim.getContext());
  for (AffineExpr f : factors)
    rest = f * rest;
  return rest;
}

} // namespace

struct Elaborator::View {
  const Expr *call, *pattern = nullptr;
  Tensor *tensor = nullptr;
  Side from, to;
  llvm::StringMap<AffineExpr> sizes;
};

bool Elaborator::parseView(View &view, const Scope *scope) {
  const Expr *call = view.call;
  bool fits = !call->hasBracket && call->named.size() >= 2 && call->named[0].name.empty() && call->named[1].name.empty() &&
              call->named[1].value->kind == Expr::String;
  view.tensor = fits ? findTensor(call->named[0].value, scope) : nullptr;
  if (!view.tensor || view.tensor->kind == Tensor::Scalar) {
    error(call->loc) << "'view' takes a tensor and a pattern, as in 'view(x, \"b s (h d) -> b h s d\", h=8)'";
    return false;
  }
  view.pattern = call->named[1].value;
  auto [from, to] = view.pattern->text.drop_front().drop_back().split("->");
  if (!parseSide(from, view.from) || !parseSide(to, view.to)) {
    error(view.pattern->loc)
        << "a pattern is names of dims, those of one dim in parentheses, on both sides of '->', as in \"b s (h d) -> b h s d\"";
    return false;
  }
  if (!areSameNames(view.from, view.to)) {
    auto d = error(view.pattern->loc);
    d << "each name of a pattern stands once on either side of '->'";
    SmallVector<StringRef> from = namesOf(view.from), to = namesOf(view.to);
    for (StringRef name : from)
      if (llvm::count(from, name) > 1 || llvm::count(to, name) != 1) {
        d << "; '" << name << "' stands " << llvm::count(from, name) << " times before it, and " << llvm::count(to, name) << " behind it";
        return false;
      }
    d << "; '" << *llvm::find_if(to, [&](StringRef name) { return !llvm::is_contained(from, name); }) << "' stands behind it alone";
    return false;
  }
  if (view.from.size() != view.tensor->dims.size()) {
    size_t rank = view.tensor->dims.size(), named = view.from.size();
    error(view.pattern->loc) << "'" << view.tensor->name << "' has " << rank << (rank == 1 ? " dim" : " dims") << ", and the pattern has "
                             << named << " before '->'; each stands there, or several names of one in parentheses";
    return false;
  }
  return !view.tensor->poisoned;
}

/// The sizes of the names: given, those of dims, or of one name in a dim what the others leave.
bool Elaborator::findViewSizes(View &view, const Scope *scope) {
  for (const NamedArg &a : ArrayRef(view.call->named).drop_front(2)) {
    if (!llvm::is_contained(namesOf(view.from), a.name)) {
      error(a.loc) << "the pattern has no '" << a.name << "'";
      return false;
    }
    Node *n = elaborateInteger(a.value, scope, "a size");
    if (!n)
      return false;
    view.sizes[a.name] = n->affine;
  }
  AffineExpr one = getAffineConstantExpr(1, context());
  auto agree = [&](AffineExpr a, AffineExpr b) { return a == b || sizesAgree(a, b); };
  for (auto [group, dim] : llvm::zip(view.from, view.tensor->dims)) {
    AffineExpr product = one;
    SmallVector<StringRef> open;
    for (StringRef name : group)
      if (AffineExpr size = view.sizes.lookup(name))
        product = product * size;
      else
        open.push_back(name);
    if (open.size() > 1) {
      error(view.pattern->loc) << "the sizes of '" << open[0] << "' and '" << open[1] << "' are not known; give one, as in '" << open[0]
                               << "=8'";
      return false;
    }
    AffineExpr rest = withoutFactors(dim, product);
    bool fits = open.empty() ? agree(product, dim) : rest || agree(dim % product, getAffineConstantExpr(0, context()));
    if (!fits) {
      std::string p = print(product, kernel), d = print(dim, kernel);
      error(view.pattern->loc) << "a dim of " << d << " of '" << view.tensor->name << "' is not known to be "
                               << (open.empty() ? p : "a multiple of " + p) << "; add 'require "
                               << (open.empty() ? d + " == " + p : d + " % " + p + " == 0") << "'";
      return false;
    }
    if (!open.empty())
      view.sizes[open[0]] = rest ? rest : simplifyAffineExpr(dim.floorDiv(product), 0, kernel.sizes.size());
  }
  return true;
}

/// view(..)[e, f]: splits each subscript into one digit for each name of its dim, and joins the digits to the tensor's subscripts.
Node *Elaborator::elaborateView(const Expr *e, const Scope *scope) {
  View view;
  view.call = e->args[0];
  if (!parseView(view, scope) || !findViewSizes(view, scope))
    return nullptr;
  ArrayRef<Expr *> given = ArrayRef(e->args).drop_front();
  if (given.size() != view.to.size()) {
    error(e->whole()) << "this view has " << describeRank(view.to.size(), given.size());
    return nullptr;
  }
  Node *read = makeRead(view.tensor, e);
  if (!read)
    return nullptr;
  auto sizeOf = [&](StringRef name) { return makeAffine(view.sizes.lookup(name), view.pattern->loc); };
  llvm::StringMap<Node *> digits;
  for (auto [text, group] : llvm::zip(given, view.to)) {
    Node *s = elaborateSubscript(text, "", AffineExpr(), scope);
    if (!s)
      return nullptr;
    AffineExpr dim = getAffineConstantExpr(1, context());
    Node *rest = s;
    for (StringRef name : llvm::reverse(group)) {
      bool isLast = name == group.front(); // what is left
      digits[name] = isLast ? rest : makeBinary(Node::Mod, rest, sizeOf(name), text->loc);
      rest = isLast ? rest : makeBinary(Node::FloorDiv, rest, sizeOf(name), text->loc);
      dim = view.sizes.lookup(name) * dim;
    }
    read->views.push_back({s, simplifyAffineExpr(dim, 0, kernel.sizes.size())});
  }
  for (const auto &group : view.from) {
    Node *s = digits.lookup(group.front());
    for (StringRef name : ArrayRef(group).drop_front())
      s = makeBinary(Node::Add, makeBinary(Node::Mul, s, sizeOf(name), e->loc), digits.lookup(name), e->loc);
    read->ops.push_back(s);
  }
  return read;
}

} // namespace kernelc::frontend
