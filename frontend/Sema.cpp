// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parameters, sizes and requirements of a kernel. See Sema.h.
#include "frontend/Sema.h"

#include <cmath>

#include "frontend/Rounding.h"
#include "ir/te/TeShape.h"

using namespace mlir;

namespace kernelc::frontend {
bool Sema::run() {
  unsigned before = diags.numErrors();
  if (!declareParams() || !joinMutual())
    return false;
  // Requirements hold throughout, wherever they stand.
  for (const Statement &s : kernel.def->body)
    if (s.kind == Statement::Require)
      requirementsAreKnown &= addRequirement(s);
  seedProver();
  reached = requirementsAreKnown;
  bool complete = true; // a statement that uses a broken function fails without a word of its own
  for (const Statement &s : kernel.def->body) {
    if (diags.full())
      break;
    if (s.kind != Statement::Require)
      complete &= checkStatement(s);
  }
  if (complete && diags.numErrors() == before)
    checkCoverage();
  finishRecord();
  return complete && diags.numErrors() == before;
}

bool Sema::checkFreshName(StringRef name, Loc loc) {
  if (elementNamed(name)) {
    diags.error(loc) << "'" << name << "' is a type and cannot be a name";
    return false;
  }
  auto clash = [&](StringRef what) {
    diags.error(loc) << "'" << name << "' already names " << what << " of this kernel";
    return false;
  };
  if (elab.constValues.contains(name))
    return clash("a constant");
  if (auto it = elab.tensors.find(name); it != elab.tensors.end())
    return clash(it->second->kind == Tensor::Let ? "a 'let'" : "a parameter");
  if (elab.sizeIndex.contains(name))
    return clash("a size");
  return true;
}

Node *Sema::makeConstant(const Param &p, const Constant &set, ElementType type) {
  if (const double *f = std::get_if<double>(&set); f && kernelc::isFloat(type))
    return elab.makeFloat(*f, Ty::FloatLit, p.loc);
  if (const uint64_t *u = std::get_if<uint64_t>(&set)) {
    if (kernelc::isFloat(type))
      return elab.makeFloat(double(*u), Ty::FloatLit, p.loc);
    if (type == ElementType::u64)
      return elab.makeInt(int64_t(*u), Ty::U64, p.loc);
  }
  const int64_t *i = std::get_if<int64_t>(&set);
  bool isBool = type == ElementType::boolean;
  if (i && (!isBool || *i == 0 || *i == 1))
    return elab.makeInt(*i, Ty::IntLit, p.loc);
  diags.error(p.loc) << "const parameter '" << p.name << "' is set to " << toString(set) << "; it takes "
                     << (isBool                     ? "True or False"
                         : type == ElementType::u64 ? "an integer that fits in u64"
                                                    : "an integer that fits in i64");
  return nullptr;
}

Node *Sema::roundConstant(Node *value, ElementType type) {
  auto t = cast<FloatType>(te::getStorageType(elab.context(), type));
  llvm::APFloat rounded = roundTo(t, value->floatValue);
  if (std::string loss = describeLoss(t, value->floatValue, rounded); !loss.empty())
    diags.warning(value->loc) << loss;
  bool lossy;
  rounded.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lossy);
  return elab.makeFloat(rounded.convertToDouble(), value->type, value->loc);
}

bool Sema::declareConst(const Param &p) {
  auto type = elementNamed(p.type.name);
  if (p.type.isTensor || !type) {
    diags.error(p.type.loc) << "a 'const' parameter is a scalar, as in 'const causal: bool = False'";
    return false;
  }
  if (!checkFreshName(p.name, p.loc))
    return false;
  Node *value = nullptr;
  if (auto it = constants.find(p.name.str()); it != constants.end()) {
    value = makeConstant(p, it->second, *type);
    if (!value)
      return false;
  } else if (p.defaultValue) {
    value = elab.elaborate(p.defaultValue, elab.openStatement());
    if (!value)
      return false;
    if (!value->isConst()) {
      diags.error(p.defaultValue->loc) << "the default of '" << p.name << "' must be a constant";
      return false;
    }
  } else {
    diags.error(p.loc) << "const parameter '" << p.name << "' needs a value; give one with '--set " << p.name
                       << "=..' or a default, as in 'const " << p.name << ": " << p.type.name << " = ..'";
    return false;
  }
  if (*type == ElementType::boolean && value->kind == Node::ConstInt && (value->intValue | 1) == 1)
    value = elab.makeBool(value->intValue, p.loc);
  value = elab.convertForStore(value, *type, ("'" + p.name + "'").str());
  if (value && !value->isConst())
    value = value->kind == Node::Cast && value->ops[0]->isConst() ? value->ops[0] : nullptr;
  if (!value)
    return false;
  if (value->kind == Node::ConstFloat)
    value = roundConstant(value, *type);
  elab.constValues[p.name] = value;
  return true;
}

/// "; write 1000": of 1e3, which is a float.
static std::string wholeNumber(const Constant &c) {
  const double *f = std::get_if<double>(&c);
  bool isWhole = f && *f >= 0 && *f < 1e15 && *f == std::floor(*f);
  return isWhole ? "; write " + std::to_string(int64_t(*f)) : "";
}

bool Sema::declareSizes(const TypeRef &type) {
  SmallVector<const Expr *> names;
  for (const Expr *dim : type.dims)
    collectFreeNames(dim, names);
  for (const Expr *n : names) {
    if (elab.constValues.contains(n->text) || elab.sizeIndex.contains(n->text))
      continue;
    if (elementNamed(n->text)) {
      if (!elementNamed(type.name)) { // Tensor[f32, N]
        elab.reportUnknownType(type.name, type.loc);
        return false;
      }
      diags.error(n->loc) << "'" << n->text << "' is a type and cannot be a size";
      return false;
    }
    if (auto it = constants.find(n->text.str()); it != constants.end()) {
      const int64_t *size = std::get_if<int64_t>(&it->second);
      if (!size || *size < 0) {
        diags.error(n->loc) << "size '" << n->text << "' is set to " << toString(it->second) << "; sizes are "
                            << (size                                           ? "not negative"
                                : std::holds_alternative<uint64_t>(it->second) ? "less than 2^63"
                                                                               : "integers" + wholeNumber(it->second));
        elab.constValues[n->text] = elab.makeInt(0, Ty::I64, n->loc); // said once
        return false;
      }
      elab.constValues[n->text] = elab.makeInt(*size, Ty::I64, n->loc);
      continue;
    }
    elab.addSize(n->text);
  }
  return true;
}

/// What does not depend on the dims.
bool Sema::checkParam(const Param &p, Tensor::Kind kind) {
  if (!elementNamed(p.type.name)) {
    if (p.type.name == "(")
      diags.error(p.type.loc) << "a parameter cannot be a tuple";
    else
      elab.reportUnknownType(p.type.name, p.type.loc);
    return false;
  }
  if (kind == Tensor::Input && elab.sizeIndex.contains(p.name)) { // n: i32, y: f32[n]
    diags.error(p.loc) << "'" << p.name
                       << "' names a size of this kernel: it comes from the tensors or by name, and is no parameter; take '" << p.name
                       << "' out of the list";
    return false;
  }
  if (auto it = elab.tensors.find(p.name); kind == Tensor::Output && it != elab.tensors.end() && it->second->isInout) {
    diags.error(p.loc) << "'" << p.name << "' already names an 'inout' parameter, which is an output as well; take it out of the outputs";
    return false;
  }
  if (!checkFreshName(p.name, p.loc))
    return false;
  if (!p.type.isTensor && (kind != Tensor::Input || p.isInout)) {
    diags.error(p.type.loc) << "an output is a tensor; write '" << p.type.name << "[]' for a single value";
    return false;
  }
  if (p.defaultValue) {
    auto d = diags.error(p.defaultValue->loc);
    d << "only 'const' parameters have defaults";
    if (!p.type.isTensor && !p.isInout)
      d << "; write 'const " << p.name << ": " << p.type.name << " = ..'";
    return false;
  }
  return true;
}

/// Of sizes, which are not negative, by the signs of its terms alone.
static bool isNeverNegative(AffineExpr e) {
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    return c.getValue() >= 0;
  auto both = dyn_cast<AffineBinaryOpExpr>(e);
  return !both || (isNeverNegative(both.getLHS()) && isNeverNegative(both.getRHS()));
}

bool Sema::checkDims(const Param &p, Tensor &t) {
  Scope *scope = elab.openStatement();
  for (const Expr *dim : p.type.dims) {
    Node *n = elab.elaborateInteger(dim, scope, "a size");
    if (!n)
      return false;
    if (auto c = dyn_cast<AffineConstantExpr>(n->affine); c && c.getValue() < 0) {
      diags.error(dim->loc) << "this dim is " << c.getValue()
                            << "; dims are not negative, and a size that the call tells has a name, as in 'N'";
      return false;
    }
    AffineExpr less = simplifyAffineExpr(-n->affine, 0, kernel.sizes.size());
    if (!isa<AffineConstantExpr>(less) && isNeverNegative(less)) {
      diags.error(dim->loc) << "this dim is 0 at most, since sizes are not negative; write it without the minus, as in 'f32[N]'";
      return false;
    }
    t.dims.push_back(n->affine);
  }
  return true;
}

bool Sema::declareTensor(const Param &p, Tensor::Kind kind) {
  if (!checkParam(p, kind))
    return false;
  Tensor &t = kernel.tensors.emplace_back();
  t.kind = p.type.isTensor ? kind : Tensor::Scalar;
  t.name = p.name;
  t.loc = p.loc;
  t.element = *elementNamed(p.type.name);
  t.isInout = p.isInout;
  if (!checkDims(p, t))
    return false;
  if (kind == Tensor::Output || p.isInout) {
    t.outIndex = kernel.outs.size();
    kernel.outs.push_back(&t);
    t.isReadable = p.isInout;
  }
  if (kind == Tensor::Input)
    kernel.args.push_back(&t);
  elab.tensors[p.name] = &t;
  return true;
}

void Sema::reportNoOutput() {
  const Definition &def = *kernel.def;
  for (const Param &p : def.params)
    for (const Statement &s : def.body)
      if (s.kind == Statement::Assign && s.target == p.name && p.type.isTensor) { // def f(x: f32[N], y: f32[N]) { y[i] = .. }
        diags.error(p.loc) << "kernel '" << def.name << "' has no output, and writes its input '" << p.name << "'; declare it 'inout "
                           << p.name << ": ..', or behind the parameters, '-> (" << p.name << ": ..)'";
        return;
      }
  diags.error(def.nameLoc) << "kernel '" << def.name << "' has no output; add '-> (y: f32[..])' or an 'inout' parameter";
}

bool Sema::declareParams() {
  bool ok = true;
  const Definition &def = *kernel.def;
  for (const Param &p : def.params)
    if (p.isConst)
      ok &= declareConst(p);
  for (const Param &p : def.params)
    if (!p.isConst)
      ok &= declareSizes(p.type);
  for (const Param &p : def.outputs)
    ok &= declareSizes(p.type);
  if (!ok)
    return false;
  for (const Param &p : def.params)
    if (!p.isConst)
      ok &= declareTensor(p, Tensor::Input);
  for (const Param &p : def.outputs) {
    if (p.isConst || p.isInout) {
      diags.error(p.loc) << "an output is neither 'const' nor 'inout'; 'inout' stands among the parameters";
      ok = false;
      continue;
    }
    ok &= declareTensor(p, Tensor::Output);
  }
  if (ok && kernel.outs.empty()) {
    reportNoOutput();
    ok = false;
  }
  return ok;
}

bool Sema::addRequirement(const Statement &s) {
  Node *n = elab.elaborateCondition(s.value, elab.openStatement());
  if (!n)
    return false;
  if (n->kind == Node::ConstBool) {
    if (n->intValue)
      return true;
    diags.error(s.value->loc) << "this requirement never holds with the sizes that are set";
    return false;
  }
  SmallVector<Constraint> affine;
  SmallVector<Node *> rest;
  splitCondition(n, affine, rest);
  if (!rest.empty()) {
    diags.error(s.value->loc) << "a requirement is a comparison of integer expressions of sizes, or several joined by "
                                 "'and'";
    return false;
  }
  // Divisibility by a size is meant of positive ones; x % 0 would be 0. It is
  // checked at launch like what is written.
  for (const Constraint &c : affine)
    c.expr.walk([&](AffineExpr x) {
      if (x.getKind() != AffineExprKind::Mod && x.getKind() != AffineExprKind::FloorDiv)
        return;
      AffineExpr d = cast<AffineBinaryOpExpr>(x).getRHS();
      if (!isa<AffineConstantExpr>(d))
        kernel.requirements.push_back({{{d - 1, false}}, print(d, kernel) + " >= 1", s.loc});
    });
  kernel.requirements.push_back({affine, s.sourceText.str(), s.loc});
  return true;
}

void Sema::seedProver() {
  SmallVector<Constraint> known;
  for (unsigned i = 0; i < kernel.sizes.size(); ++i)
    known.push_back({getAffineSymbolExpr(i, context())});
  for (Tensor &t : kernel.tensors)
    for (AffineExpr d : t.dims)
      known.push_back({d});
  size_t given = known.size();
  for (Requirement &r : kernel.requirements)
    known.append(r.constraints.begin(), r.constraints.end());
  prover.assumeAll(known);
  if (!prover.contradictory())
    return;
  // Which one is the first that does not go with those before it?
  for (Requirement &r : kernel.requirements) {
    given += r.constraints.size();
    Prover stated;
    stated.assumeAll(ArrayRef(known).take_front(given));
    if (stated.contradictory()) {
      diags.warning(r.loc) << "no sizes satisfy 'require " << r.text
                           << "' and what is known and required before it: this kernel never runs";
      return;
    }
  }
}

} // namespace kernelc::frontend
