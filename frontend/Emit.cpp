// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels and statements to te ops. See Emit.h.
#include "frontend/Emit.h"

#include "ir/te/Faults.h"
#include "ir/te/Precision.h"
#include "ir/te/TeShape.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace kernelc::frontend {
namespace {

StringRef typeName(ElementType t) {
  auto n = elementTypeName(t);
  return StringRef(n.data(), n.size());
}

/// Reductions in `n` that stand in no other reduction.
void findReductions(Node *root, SmallVectorImpl<Node *> &found) {
  llvm::DenseSet<Node *> seen;
  SmallVector<Node *> work = {root};
  while (!work.empty()) {
    Node *n = work.pop_back_val();
    if (!seen.insert(n).second)
      continue;
    if (n->kind == Node::Reduce) {
      found.push_back(n);
      continue;
    }
    for (Node *o : llvm::reverse(n->ops))
      work.push_back(o);
    if (n->padding)
      work.push_back(n->padding);
  }
}

bool isPlainCount(Node *n) { return n->isCount && n->conditions.empty() && n->rangeConditions.empty(); }

/// Whether te.reduce gives the value itself: positions are counted from 0 there, and integers start at the identity of a wide type.
bool isPlainResult(Node *n) {
  if (n->givesPosition())
    return n->vars.size() > 1 || (!n->vars[0]->window && n->vars[0]->lo == getAffineConstantExpr(0, n->vars[0]->lo.getContext()));
  return !n->mayBeEmpty || !n->narrow || (n->combiner != te::Combiner::Max && n->combiner != te::Combiner::Min);
}

} // namespace

Location KernelEmitter::location(Loc loc, StringRef name) {
  Location l = diags.location(loc);
  return name.empty() ? l : NameLoc::get(builder.getStringAttr(name), l);
}

AffineMap KernelEmitter::sizesMap(ArrayRef<AffineExpr> exprs) {
  return AffineMap::get(0, kernel.sizes.size(), exprs, builder.getContext());
}

RankedTensorType KernelEmitter::tensorType(ArrayRef<AffineExpr> dims, Type element) {
  SmallVector<int64_t> shape;
  for (AffineExpr d : dims) {
    auto c = dyn_cast<AffineConstantExpr>(d);
    shape.push_back(c && c.getValue() >= 0 ? c.getValue() : ShapedType::kDynamic);
  }
  return RankedTensorType::get(shape, element);
}

Type KernelEmitter::storageType(ElementType t) { return te::getStorageType(builder.getContext(), t); }
Type KernelEmitter::valueType(Ty t) { return storageType(elementOf(t)); }

IndexVar *KernelEmitter::joinIndices(Node *reduce) {
  IndexVar &all = kernel.indices.emplace_back();
  all.id = kernel.indices.size() - 1;
  all.name = reduce->vars.front()->name;
  all.loc = reduce->vars.front()->loc;
  all.lo = builder.getAffineConstantExpr(0);
  AffineExpr rest = builder.getAffineDimExpr(all.id), behind = builder.getAffineConstantExpr(1);
  for (IndexVar *v : llvm::reverse(reduce->vars)) {
    AffineExpr extent = v->extent;
    auto number = dyn_cast<AffineConstantExpr>(extent);
    AffineExpr divisor = number && number.getValue() < 1 ? builder.getAffineConstantExpr(1) : extent;
    bool isFirst = v == reduce->vars.front();
    joined[v] = isFirst ? rest.floorDiv(behind) : rest.floorDiv(behind) % divisor;
    behind = behind * divisor;
    AffineExpr terms = number ? builder.getAffineConstantExpr(std::max<int64_t>(number.getValue(), 0)) : extent;
    all.extent = all.extent ? terms * all.extent : terms;
  }
  all.extent = simplifyAffineExpr(all.extent, 0, kernel.sizes.size());
  return &all;
}

AffineExpr KernelEmitter::ofJoined(AffineExpr e, ArrayRef<IndexVar *> domain) {
  llvm::DenseMap<AffineExpr, AffineExpr> map;
  for (auto [v, expr] : joined)
    if (!llvm::is_contained(domain, v))
      map[builder.getAffineDimExpr(v->id)] = expr + v->lo;
  return map.empty() ? e : e.replace(map);
}

AffineExpr KernelEmitter::toDomain(AffineExpr e, ArrayRef<IndexVar *> domain) {
  e = ofJoined(e, domain);
  llvm::DenseMap<AffineExpr, AffineExpr> map;
  for (auto [i, v] : llvm::enumerate(domain))
    map[getAffineDimExpr(v->id, builder.getContext())] = getAffineDimExpr(i, builder.getContext()) + v->lo;
  return simplifyAffineExpr(e.replace(map), domain.size(), kernel.sizes.size());
}

IntegerSetAttr KernelEmitter::conditionSet(ArrayRef<Constraint> constraints, ArrayRef<IndexVar *> domain) {
  SmallVector<AffineExpr> exprs;
  SmallVector<bool> eqs;
  for (const Constraint &c : constraints) {
    AffineExpr form = toDomain(c.expr, domain);
    auto number = dyn_cast<AffineConstantExpr>(form);
    if (number && (c.isEq ? number.getValue() == 0 : number.getValue() >= 0)) // always so: a step of 1
      continue;
    exprs.push_back(form);
    eqs.push_back(c.isEq);
  }
  if (exprs.empty())
    return {};
  return IntegerSetAttr::get(IntegerSet::get(domain.size(), kernel.sizes.size(), exprs, eqs));
}

KernelEmitter::DomainParts KernelEmitter::prepare(ArrayRef<Node *> conditions, ArrayRef<Node *> values, ArrayRef<IndexVar *> domain,
                                                  SmallVector<Constraint> affine, RegionEmitter::Reductions known) {
  DomainParts parts;
  parts.reductions = std::move(known);
  parts.affine = std::move(affine);
  for (Node *c : conditions)
    splitCondition(c, parts.affine, parts.data);
  for (Node *c : parts.data)
    hoist(c, domain, parts.reductions);
  for (Node *v : values)
    hoist(v, domain, parts.reductions);
  return parts;
}

SmallVector<AffineExpr> KernelEmitter::extentsOf(ArrayRef<IndexVar *> domain) {
  return llvm::map_to_vector(domain, [](IndexVar *v) { return v->extent; });
}

ArrayAttr KernelEmitter::namesOf(ArrayRef<IndexVar *> domain) {
  return builder.getArrayAttr(llvm::map_to_vector(domain, [&](IndexVar *v) -> Attribute { return builder.getStringAttr(v->name); }));
}

Block *KernelEmitter::openBody(Region &region, ArrayRef<IndexVar *> domain) {
  SmallVector<Location> locations = llvm::map_to_vector(domain, [&](IndexVar *v) { return location(v->loc, v->name); });
  return builder.createBlock(&region, {}, SmallVector<Type>(domain.size(), builder.getIndexType()), locations);
}

Value KernelEmitter::emitReduce(Node *reduce, ArrayRef<IndexVar *> outer, StringRef name, ElementType element) {
  SmallVector<IndexVar *> named(outer); // as the text has them
  named.append(reduce->vars.begin(), reduce->vars.end());
  SmallVector<IndexVar *> domain(named);
  if (reduce->givesPosition() && reduce->vars.size() > 1) {
    domain.truncate(outer.size());
    domain.push_back(joinIndices(reduce));
  }
  SmallVector<Constraint> affine;
  for (AffineExpr e : reduce->rangeConditions)
    affine.push_back({e, false});
  DomainParts parts = prepare(reduce->conditions, reduce->ops[0], named, std::move(affine));
  auto type = tensorType(extentsOf(outer), storageType(element));
  auto op = te::ReduceOp::create(builder, location(reduce->loc, name), type, reduce->combiner, namesOf(domain), outer.size(),
                                 sizesMap(extentsOf(domain)), conditionSet(parts.affine, domain), Value(), AffineMapAttr(), AffineMapAttr(),
                                 name.empty() ? StringAttr() : builder.getStringAttr(name));
  if (anyOrder && reduce->combiner == te::Combiner::Sum && isa<FloatType>(type.getElementType()))
    op.setAnyOrder(true);
  Block *block = openBody(op.getBody(), domain);
  RegionEmitter region(*this, builder, domain, block->getArguments(), parts.reductions);
  Value value = region.emit(reduce->ops[0]);
  te::YieldOp::create(builder, location(reduce->loc), ValueRange{value}, region.emitAll(parts.data));
  builder.setInsertionPointAfter(op);
  return op.getResult();
}

void KernelEmitter::hoist(Node *n, ArrayRef<IndexVar *> domain, RegionEmitter::Reductions &reductions) {
  SmallVector<Node *> found;
  findReductions(n, found);
  for (Node *r : found) {
    if (isPlainCount(r) || reductions.contains(r))
      continue;
    SmallVector<IndexVar *> outer = usedOuter(r, domain);
    if (r->scanned && !llvm::is_contained(outer, r->scanned))
      outer.push_back(r->scanned);
    // An index of the enclosing domain that this reduction binds itself is its own.
    llvm::erase_if(outer, [&](IndexVar *v) { return llvm::is_contained(r->vars, v); });
    Value v = r->reducer ? emitFold(r, outer, "").getResult(0) : emitReduce(r, outer, "", elementOf(r->type));
    reductions[r] = {v, outer};
  }
}

Value KernelEmitter::emitPointwise(Tensor *t, ElementType element, Loc loc, llvm::function_ref<Value(RegionEmitter &, ValueRange)> value) {
  SmallVector<Attribute> names;
  SmallVector<Location> argLocs;
  for (size_t i = 0; i < t->dims.size(); ++i) {
    names.push_back(builder.getStringAttr("d" + std::to_string(i)));
    argLocs.push_back(location(loc));
  }
  auto op = te::ComputeOp::create(builder, location(loc, t->name), tensorType(t->dims, storageType(element)), builder.getArrayAttr(names),
                                  AffineMapAttr::get(sizesMap(t->dims)), IntegerSetAttr(), Value(), AffineMapAttr(), AffineMapAttr(),
                                  builder.getStringAttr(t->name), UnitAttr());
  Block *block = builder.createBlock(&op.getBody(), {}, SmallVector<Type>(t->dims.size(), builder.getIndexType()), argLocs);
  RegionEmitter::Reductions none;
  RegionEmitter region(*this, builder, {}, block->getArguments(), none);
  te::YieldOp::create(builder, location(loc), ValueRange{value(region, block->getArguments())}, Value());
  builder.setInsertionPointAfter(op);
  return op.getResult();
}

Value KernelEmitter::emitFill(Tensor *t, ElementType element, Node *value, Loc loc) {
  return emitPointwise(t, element, loc, [&](RegionEmitter &region, ValueRange) {
    return region.emitConverted(region.emitStored(value, t->element), t->element, element, location(loc));
  });
}

Value KernelEmitter::emitConverted(Value from, ElementType have, ElementType want, Tensor *t, Loc loc) {
  if (have == want)
    return from;
  return emitPointwise(t, want, loc, [&](RegionEmitter &region, ValueRange indices) {
    Value v = te::ReadOp::create(builder, location(loc, t->name), storageType(have), from, indices, AffineMapAttr(),
                                 te::BoundsModeAttr::get(builder.getContext(), te::BoundsMode::InBounds), Value());
    return region.emitConverted(v, have, want, location(loc));
  });
}

void KernelEmitter::emitScatter(const CoreStatement &s) {
  Tensor *t = s.target;
  const ScatterForm &form = *s.scatter;
  SmallVector<IndexVar *> vars(s.vars);
  DomainParts parts = prepare(s.conditions, form.term, vars);
  Value init = t->value ? emitConverted(t->value, t->element, form.element, t, s.loc) : emitFill(t, form.element, s.fill, s.loc);
  auto kind = form.kind ? te::CombinerAttr::get(builder.getContext(), *form.kind) : te::CombinerAttr();
  auto op = te::ScatterOp::create(builder, location(s.loc, t->name), tensorType(t->dims, storageType(form.element)), kind, namesOf(vars),
                                  AffineMapAttr::get(sizesMap(extentsOf(vars))), conditionSet(parts.affine, vars), init,
                                  AffineMapAttr::get(sizesMap(t->dims)), builder.getStringAttr(t->name),
                                  form.guarded ? builder.getUnitAttr() : UnitAttr(), s.anyOrder ? builder.getUnitAttr() : UnitAttr());
  Block *block = openBody(op.getBody(), vars);
  RegionEmitter region(*this, builder, vars, block->getArguments(), parts.reductions);
  SmallVector<Value> yielded = {region.emitStored(form.term, form.element)};
  for (Node *n : s.subscripts)
    yielded.push_back(region.emitIndex(n));
  te::YieldOp::create(builder, location(s.loc), yielded, region.emitAll(parts.data));
  builder.setInsertionPointAfter(op);
  t->value = emitConverted(op.getResult(), form.element, t->element, t, s.loc);
}

void KernelEmitter::emitStatement(const CoreStatement &s) {
  if (!s.isLet)
    folds.clear(); // what they read may be written
  anyOrder = s.anyOrder;
  if (s.scatter)
    return emitScatter(s);
  if (s.order)
    return emitRecurrence(s);
  Tensor *t = s.target;
  Node *value = s.value;
  SmallVector<IndexVar *> vars(s.vars);
  Node *reduce = value->kind == Node::Field ? value->ops[0] : value;
  if (s.whole && reduce->kind == Node::Reduce && reduce->reducer && usedOuter(reduce, vars).size() == vars.size()) {
    size_t field = value->kind == Node::Field ? size_t(value->intValue) : 0;
    if (reduce->reducer->heldAs(field) == t->element) {
      t->value = emitFold(reduce, vars, t->name).getResult(field);
      return;
    }
  }
  if (s.whole && value->kind == Node::Reduce && !value->reducer && !isPlainCount(value) && elementOf(value->type) == t->element &&
      usedOuter(value, vars).size() == vars.size() && isPlainResult(value)) {
    t->value = emitReduce(value, vars, t->name, t->element);
    return;
  }
  DomainParts parts = prepare(s.conditions, value, vars);
  Value init = s.whole ? Value() : t->value;
  if (!s.whole && !init && s.fill)
    init = emitFill(t, s.fill, s.loc);
  AffineMapAttr outMap, shape;
  if (!s.whole) {
    SmallVector<AffineExpr> subs;
    for (Node *n : s.subscripts)
      subs.push_back(toDomain(n->affine, vars));
    outMap = AffineMapAttr::get(AffineMap::get(vars.size(), kernel.sizes.size(), subs, builder.getContext()));
    shape = AffineMapAttr::get(sizesMap(t->dims));
  }
  auto op = te::ComputeOp::create(builder, location(s.loc, t->name), tensorType(t->dims, storageType(t->element)), namesOf(vars),
                                  AffineMapAttr::get(sizesMap(extentsOf(vars))), conditionSet(parts.affine, vars), init, outMap, shape,
                                  builder.getStringAttr(t->name),
                                  !s.whole && !init && (s.completed || !s.conditions.empty()) ? builder.getUnitAttr() : UnitAttr());
  Block *block = openBody(op.getBody(), vars);
  RegionEmitter region(*this, builder, vars, block->getArguments(), parts.reductions);
  Value result = region.emitStored(value, t->element);
  te::YieldOp::create(builder, location(s.loc), ValueRange{result}, region.emitAll(parts.data));
  builder.setInsertionPointAfter(op);
  t->value = op.getResult();
}

/// What the numbers of the record mean: for describeKernel.
void KernelEmitter::emitRecord(te::KernelOp op) {
  SmallVector<te::Fault> faults;
  for (const FaultRecord::Entry &e : kernel.faults.entries) {
    SmallVector<std::string> names;
    SmallVector<AffineExpr> lows, extents;
    for (IndexVar *v : e.vars) {
      names.push_back(v->name.str());
      lows.push_back(v->lo);
      extents.push_back(v->extent);
    }
    faults.push_back({location(e.loc), e.what, names, sizesMap(lows), sizesMap(extents)});
  }
  te::setFaults(op, faults);
}

te::KernelOp KernelEmitter::createKernel() {
  auto strings = [&](auto &&list, auto get) {
    SmallVector<Attribute> out;
    for (auto &&x : list)
      out.push_back(builder.getStringAttr(get(x)));
    return builder.getArrayAttr(out);
  };
  auto nameOf = [](Tensor *t) { return t->name; };
  auto typeOf = [](Tensor *t) { return typeName(t->element); };
  auto shapes = [&](ArrayRef<Tensor *> list) {
    SmallVector<AffineMap> out;
    for (Tensor *t : list)
      out.push_back(sizesMap(t->dims));
    return builder.getAffineMapArrayAttr(out);
  };
  SmallVector<int64_t> alias;
  bool anyAlias = false;
  for (Tensor *o : kernel.outs) {
    auto it = llvm::find(kernel.args, o);
    alias.push_back(it == kernel.args.end() ? -1 : it - kernel.args.begin());
    anyAlias |= alias.back() >= 0;
  }
  SmallVector<Attribute> requirements, texts;
  for (const Requirement &r : kernel.requirements) {
    SmallVector<AffineExpr> exprs;
    SmallVector<bool> eqs;
    for (const Constraint &c : r.constraints) {
      exprs.push_back(c.expr);
      eqs.push_back(c.isEq);
    }
    requirements.push_back(IntegerSetAttr::get(IntegerSet::get(0, kernel.sizes.size(), exprs, eqs)));
    texts.push_back(builder.getStringAttr(r.text));
  }
  if (!anyAlias)
    alias.clear();
  return te::KernelOp::create(builder, location(kernel.def->nameLoc, kernel.def->name), builder.getStringAttr(kernel.def->name),
                              strings(kernel.sizes, [](const std::string &s) { return s; }), strings(kernel.args, nameOf),
                              strings(kernel.args, typeOf), shapes(kernel.args), strings(kernel.outs, nameOf), strings(kernel.outs, typeOf),
                              shapes(kernel.outs), builder.getDenseI64ArrayAttr(alias), builder.getArrayAttr(requirements),
                              builder.getArrayAttr(texts));
}

te::KernelOp KernelEmitter::emit(ArrayRef<CoreStatement> statements) {
  OpBuilder::InsertionGuard guard(builder);
  te::KernelOp op = createKernel();
  te::setPrecision(op, kernel.precision);
  emitRecord(op);
  SmallVector<Type> argTypes;
  SmallVector<Location> argLocs;
  for (Tensor *t : kernel.args) {
    Type element = storageType(t->element);
    argTypes.push_back(t->kind == Tensor::Scalar ? element : tensorType(t->dims, element));
    argLocs.push_back(location(t->loc, t->name));
  }
  Block *block = builder.createBlock(&op.getBody(), {}, argTypes, argLocs);
  for (auto [t, v] : llvm::zip(kernel.args, block->getArguments()))
    t->value = v;
  for (const CoreStatement &s : statements)
    emitStatement(s);
  SmallVector<Value> outs;
  SmallVector<Location> outLocs; // results have no place of their own
  for (Tensor *o : kernel.outs) {
    outs.push_back(o->value);
    outLocs.push_back(location(o->loc, o->name));
  }
  te::ReturnOp::create(builder, builder.getFusedLoc(outLocs), outs);
  return op;
}

} // namespace kernelc::frontend
