// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "frontend/JoinStatements.h"

#include "frontend/JointMembers.h"

using namespace mlir;

namespace kernelc::frontend {

namespace {

/// Writes a group of statements that read each other as one statement.
class Joiner {
public:
  Joiner(Diagnostics &diags, Kernel &kernel, ArrayRef<Statement> body, ArrayRef<StringRef> group)
      : diags_(diags), def_(*kernel.def), body_(body), group_(group), text_(kernel.madeExprs, kernel.texts) {
    for (StringRef name : group)
      members_.push_back(makeMember(name, body, def_));
  }

  /// The kernel's statements, with the joint statement in place of the group's; nothing after an error.
  std::optional<std::vector<Statement>> run() {
    for (Member &m : members_)
      if (!findGeneral(m))
        return std::nullopt;
    llvm::sort(members_, [](const Member &a, const Member &b) { return a.general->loc.offset < b.general->loc.offset; });
    inlineNamed(members_, text_, inlined_, named_);
    if (members_.size() == 1) {
      for (const Statement *s : members_.front().statements)
        after_.push_back(*s);
      return order(std::nullopt);
    }
    for (Member &m : members_)
      if (!matchDims(m))
        return std::nullopt;
    nameJoint();
    findExtents();
    findTurns();
    isInSteps_ = llvm::all_of(members_, [&](const Member &m) { return readsInSteps(m); });
    Statement joint;
    if (isInSteps_ ? !writeTuple(joint) : !writePhases(joint))
      return std::nullopt;
    return order(std::move(joint));
  }

private:
  bool refuse(Loc loc, const llvm::Twine &why) {
    std::string names;
    for (StringRef name : group_)
      names += (names.empty() ? "'" : name == group_.back() ? " and '" : ", '") + name.str() + "'";
    diags_.error(loc) << names << " read each other, so that they are defined together, " << why;
    return false;
  }

  unsigned rank() const { return members_.front().general->subscripts.size(); }
  Member *findMember(StringRef name) {
    auto it = llvm::find_if(members_, [&](const Member &m) { return m.name == name; });
    return it == members_.end() ? nullptr : &*it;
  }
  unsigned numberOf(const Member &m) const { return unsigned(llvm::find(turns_, &m) - turns_.begin()); }
  /// The place of `m` among the members that a step computes in turn, reversed where steps go backwards.
  unsigned turnOf(const Member &m) const { return readsAhead_ ? unsigned(members_.size()) - 1 - numberOf(m) : numberOf(m); }
  StringRef ownName(const Member &m, unsigned p) const { return m.general->subscripts[m.dims[p]]->text; }
  StringRef jointName(unsigned p) const { return ownName(members_.front(), p); }

  bool findGeneral(Member &m) {
    for (const Statement *s : m.statements) {
      llvm::StringSet<> seen;
      if (llvm::all_of(s->subscripts, [&](const Expr *e) { return e->kind == Expr::Name && seen.insert(e->text).second; })) {
        if (m.general)
          return refuse(s->loc,
                        "and '" + m.name + "' has two statements with an index in each subscript; choose by 'a if c else b' in one");
        m.general = s;
      }
    }
    return m.general ? true : refuse(m.statements.front()->loc, "and '" + m.name + "' has no statement with an index in each subscript");
  }

  /// Pairs the member's dims with those of the joint tensor: by the names of their indices, or in order where the names differ.
  bool matchDims(Member &m) {
    if (m.general->subscripts.size() != rank())
      return refuse(m.general->loc, "and have to have equally many indices");
    auto own = [&](unsigned d) { return m.general->subscripts[d]->text; };
    for (unsigned p = 0; p < rank(); ++p)
      for (unsigned d = 0; d < rank(); ++d)
        if (own(d) == members_.front().general->subscripts[p]->text)
          m.dims.push_back(d);
    if (m.dims.size() != rank())
      m.dims = llvm::to_vector(llvm::seq(0u, rank()));
    for (const Statement *s : m.statements) // what is renamed must not meet an index of that name
      for (unsigned p = 0; p < rank(); ++p)
        if (StringRef to = members_.front().general->subscripts[p]->text; to != own(m.dims[p])) {
          bool meets = false;
          visit(s->value, [&](const Expr *e) {
            if (e->kind == Expr::Call)
              meets |= llvm::is_contained(declaredNames(e, [](StringRef) { return false; }), to);
          });
          if (meets)
            return refuse(s->loc, "and have to call their indices alike");
        }
    return true;
  }

  void nameJoint() {
    std::string name;
    for (const Member &m : members_)
      name += (name.empty() ? "" : "_") + m.name.str();
    auto isTaken = [&](StringRef n) {
      return llvm::any_of(body_, [&](const Statement &s) { return s.target == n; }) ||
             llvm::any_of(def_.params, [&](const Param &p) { return p.name == n; }) ||
             llvm::any_of(def_.outputs, [&](const Param &p) { return p.name == n; });
    };
    while (isTaken(name))
      name += "_";
    joint_ = text_.keep(name);
  }

  /// Finds the extent of each index: that of an output's dim, of a range in the text, or of an input's dim that the index subscripts.
  void findExtents() {
    extents_.assign(rank(), nullptr);
    for (unsigned p = 0; p < rank(); ++p) {
      for (const Member &m : members_)
        if (m.output && m.dims[p] < m.output->type.dims.size() && !extents_[p])
          extents_[p] = m.output->type.dims[m.dims[p]];
      for (const Member &m : members_)
        for (const BracketItem &i : m.general->where)
          if (!extents_[p] && i.lo && i.expr->kind == Expr::Name && i.expr->text == ownName(m, p) && i.lo->kind == Expr::Integer)
            extents_[p] = i.hi;
      for (const Member &m : members_)
        visit(m.general->value, [&](const Expr *e) {
          if (e->kind != Expr::Access || !e->mode.empty() || extents_[p])
            return;
          for (const Param &param : def_.params)
            for (size_t d = 0; param.name == e->text && d < std::min(e->args.size(), param.type.dims.size()); ++d)
              if (e->args[d]->kind == Expr::Name && e->args[d]->text == ownName(m, p))
                extents_[p] = param.type.dims[d];
        });
    }
  }

  /// Whether `m` reads `of` at the step of index `p` that it is at itself.
  bool readsThisStep(const Member &m, const Member &of, unsigned p) {
    bool reads = false;
    for (const Statement *s : m.statements)
      visit(s->value, [&](const Expr *e) {
        reads |=
            e->kind == Expr::Access && e->text == of.name && e->args.size() == rank() && stepsFrom(e->args[of.dims[p]], ownName(m, p)) == 0;
      });
    return reads;
  }

  /// What is read of a step itself comes first in it, however the text has them; what needs each other there keeps the text's order.
  void findTurns() {
    unsigned along = findAlong();
    SmallVector<const Member *> left;
    for (const Member &m : members_)
      left.push_back(&m);
    while (!left.empty()) {
      auto isNext = [&](const Member *m) {
        return along == rank() || llvm::none_of(left, [&](const Member *of) { return of != m && readsThisStep(*m, *of, along); });
      };
      auto next = llvm::find_if(left, isNext);
      next = next == left.end() ? left.begin() : next;
      turns_.push_back(*next);
      left.erase(next);
    }
  }

  /// Whether `m` reads the group only at one fixed distance along one index, the same for all members, or at the same step.
  bool readsInSteps(const Member &m) {
    bool ok = true;
    for (const Statement *s : m.statements)
      visit(s->value, [&](const Expr *e) {
        if (e->kind == Expr::Call && e->hasBracket)
          visit(e, [&](const Expr *inner) { ok &= inner->kind != Expr::Access || !findMember(inner->text); });
        const Member *of = e->kind == Expr::Access ? findMember(e->text) : nullptr;
        if (!of || e->args.size() != rank())
          return;
        bool moves = false;
        for (unsigned p = 0; p < rank(); ++p) {
          std::optional<int64_t> steps = stepsFrom(e->args[of->dims[p]], ownName(m, p));
          if (!steps) {
            ok = false;
            return;
          }
          if (*steps == 0)
            continue;
          ok &= !moves && (!along_ || (*along_ == p && isBack_ == (*steps < 0)));
          moves = true;
          along_ = p;
          isBack_ = *steps < 0;
        }
        ok &= moves || numberOf(*of) < numberOf(m);
      });
    return ok;
  }

  /// The names that a statement of `m` gives the joint tensor's indices; `step` stands for that of index `along`, if not null.
  TextWriter::Names namesFor(const Member &m, std::optional<unsigned> along, Expr *step) {
    TextWriter::Names names;
    for (unsigned p = 0; p < rank(); ++p)
      names[ownName(m, p)] = along == p ? step : text_.name(jointName(p), m.general->loc);
    return names;
  }

  /// Whether statement `s` of `m` is the one that defines an element; null where it always is.
  Expr *conditionOf(const Member &m, const Statement &s, llvm::function_ref<Expr *(const Expr *)> copy) {
    Expr *all = nullptr;
    auto add = [&](Expr *e) {
      if (!all)
        all = text_.make(Expr::And, s.loc);
      all->args.push_back(e);
    };
    for (unsigned p = 0; p < rank(); ++p)
      if (const Expr *sub = s.subscripts[m.dims[p]]; &s != m.general && !(sub->kind == Expr::Name && sub->text == ownName(m, p)))
        add(text_.compare(copy(m.general->subscripts[m.dims[p]]), Tok::EqEq, copy(sub)));
    for (const BracketItem &i : s.where)
      if (!i.lo) {
        add(copy(i.expr));
      } else {
        add(text_.compare(copy(i.lo), Tok::Le, copy(i.expr)));
        add(text_.compare(copy(i.expr), Tok::Lt, copy(i.hi)));
      }
    return all && all->args.size() == 1 ? all->args[0] : all;
  }

  /// The value of `m` at any element: a chain of selects over its statements.
  Expr *valueOf(const Member &m, llvm::function_ref<Expr *(const Expr *)> copy) {
    SmallVector<const Statement *> order;
    llvm::copy_if(m.statements, std::back_inserter(order), [&](const Statement *s) { return s != m.general; });
    Expr *value = copy(m.general->value);
    if (Expr *condition = conditionOf(m, *m.general, copy))
      value = text_.select(condition, value, text_.number(0, m.general->loc)); // 0 is never read: no statement defines such elements
    for (const Statement *s : llvm::reverse(order))
      if (Expr *condition = conditionOf(m, *s, copy))
        value = text_.select(condition, copy(s->value), value);
    return value;
  }

  void startJoint(Statement &s) {
    const Statement &first = *members_.front().general;
    s.kind = Statement::Let;
    s.loc = first.loc;
    s.target = joint_;
    s.targetLoc = first.targetLoc;
    s.hasSubscripts = true;
    s.op = "=";
    s.opLoc = first.opLoc;
    s.anyOrder = first.anyOrder;
    for (unsigned p = 0; p < rank(); ++p)
      s.subscripts.push_back(text_.name(jointName(p), first.subscripts[members_.front().dims[p]]->loc));
  }
  void addRange(Statement &s, unsigned p, Expr *extent) {
    if (extent)
      s.where.push_back({text_.name(jointName(p), s.loc), text_.number(0, s.loc), extent, s.loc});
  }
  /// An access of the joint tensor in the place of one of `m`.
  Expr *accessOf(const Member &m, const Expr *access, Expr *copy) {
    Expr *whole = text_.make(Expr::Access, access->loc);
    *whole = *copy;
    whole->text = joint_;
    for (unsigned p = 0; p < rank(); ++p)
      whole->args[p] = copy->args[m.dims[p]];
    return whole;
  }
  Expr *fieldOf(const Member &m, Expr *access) {
    Expr *e = text_.make(Expr::Member, access->loc);
    e->text = m.name;
    e->args.push_back(access);
    return e;
  }

  bool writeTuple(Statement &s) {
    startJoint(s);
    s.type.name = "(";
    s.type.loc = s.targetLoc;
    s.value = text_.make(Expr::Tuple, s.loc);
    for (unsigned p = 0; p < rank(); ++p)
      addRange(s, p, extents_[p]);
    for (const Member *member : turns_) {
      const Member &m = *member;
      Param &field = s.type.fields.emplace_back();
      field.name = m.name;
      field.loc = m.general->targetLoc;
      field.type.name = typeOf(m, def_);
      field.type.loc = m.general->targetLoc;
      TextWriter::Names names = namesFor(m, {}, nullptr);
      auto onAccess = [&](const Expr *e, Expr *copy, const TextWriter::Names &) -> Expr * {
        Member *of = findMember(e->text);
        return of && e->args.size() == rank() ? fieldOf(*of, accessOf(*of, e, copy)) : nullptr;
      };
      s.value->args.push_back(valueOf(m, [&](const Expr *e) { return text_.copy(e, names, onAccess, [](const Expr *, Expr *) {}); }));
    }
    for (const Member &m : members_)
      rewrite(m, [&](Expr *access) { return fieldOf(m, access); }, {});
    return true;
  }

  /// The index that is counted in phases: the first one along which anything is read elsewhere.
  unsigned findAlong() {
    for (unsigned p = 0; p < rank(); ++p)
      for (const Member &m : members_)
        for (const Statement *s : m.statements) {
          bool moves = false;
          visit(s->value, [&](const Expr *e) {
            const Member *of = e->kind == Expr::Access ? findMember(e->text) : nullptr;
            moves |= of && e->args.size() == rank() && stepsFrom(e->args[of->dims[p]], ownName(m, p)) != 0;
          });
          if (moves && extents_[p])
            return p;
        }
    return rank();
  }

  /// Whether any of them reads what index `along` gets to later: then it is walked from its end.
  bool readsAhead(unsigned along) {
    bool ahead = false;
    for (const Member &m : members_)
      for (const Statement *s : m.statements) {
        StringRef own = ownName(m, along);
        auto take = [&](const Expr *e, const Expr *bracket) {
          const Member *of = e->kind == Expr::Access ? findMember(e->text) : nullptr;
          if (!of || e->args.size() != rank())
            return;
          const Expr *at = e->args[of->dims[along]];
          ahead |= stepsFrom(at, own).value_or(0) > 0 || (bracket && at->kind == Expr::Name && isBehind(bracket, at->text, own));
        };
        visit(s->value, [&](const Expr *e) {
          take(e, nullptr);
          if (e->kind == Expr::Call && e->hasBracket)
            visit(e, [&](const Expr *inner) { take(inner, e); });
        });
      }
    return ahead;
  }

  /// The type that holds what all of them store; empty after an error.
  StringRef jointType() {
    StringRef type = typeOf(members_.front(), def_);
    bool isSame = true, areFloats = true, isWide = false;
    for (const Member &m : members_) {
      auto own = elementNamed(typeOf(m, def_));
      isSame &= typeOf(m, def_) == type;
      areFloats &= own && kernelc::isFloat(*own);
      isWide |= own == ElementType::f64;
    }
    if (isSame)
      return type;
    if (!areFloats)
      refuse(members_.front().general->loc, "and have to be of one element type, or all of floats");
    return areFloats ? isWide ? "f64" : "f32" : "";
  }

  bool writePhases(Statement &s) {
    startJoint(s);
    unsigned along = findAlong(), n = members_.size();
    if (along == rank())
      return refuse(s.loc, "and nothing says how far their indices go; give one a range, as in 'where t in 0:T'");
    readsAhead_ = readsAhead(along);
    s.phases = n;
    s.type.name = jointType();
    s.type.loc = s.targetLoc;
    if (s.type.name.empty())
      return false;
    for (unsigned p = 0; p < rank(); ++p)
      addRange(s, p, p == along ? text_.binary(text_.number(n, s.loc), Tok::Star, extents_[p]) : extents_[p]);
    for (const Member *m : llvm::reverse(turns_)) {
      Expr *value = phaseOf(*m, along);
      if (typeOf(*m, def_) != s.type.name)
        value = text_.call(typeOf(*m, def_), value);
      s.value = s.value ? text_.select(isPhase(*m, along), value, s.value) : value;
    }
    for (const Member &m : members_)
      rewrite(
          m,
          [&](Expr *access) {
            access->args[along] = ofPhase(access->args[along], turnOf(m));
            return access;
          },
          along);
    return true;
  }

  /// n * t + k
  Expr *ofPhase(Expr *t, unsigned k) {
    int64_t n = int64_t(members_.size()), known;
    if (t->kind == Expr::Integer && !t->text.getAsInteger(10, known))
      return text_.number(n * known + k, t->loc);
    return text_.plus(text_.binary(text_.number(n, t->loc), Tok::Star, t), k);
  }
  /// t % n == k
  Expr *isPhase(const Member &m, unsigned along) {
    Expr *t = text_.name(jointName(along), m.general->loc), *n = text_.number(int64_t(members_.size()), t->loc);
    return text_.compare(text_.binary(t, Tok::Percent, n), Tok::EqEq, text_.number(turnOf(m), t->loc));
  }

  Expr *phaseOf(const Member &m, unsigned along) {
    int64_t n = int64_t(members_.size());
    Expr *step = text_.name(jointName(along), m.general->loc);
    TextWriter::Names names = namesFor(m, along, text_.binary(step, Tok::SlashSlash, text_.number(n, step->loc)));
    auto onAccess = [&](const Expr *e, Expr *copy, const TextWriter::Names &known) -> Expr * {
      Member *of = findMember(e->text);
      if (!of || e->args.size() != rank())
        return nullptr;
      Expr *whole = accessOf(*of, e, copy);
      int64_t gap = int64_t(turnOf(*of)) - int64_t(turnOf(m));
      std::optional<int64_t> steps = stepsFrom(e->args[of->dims[along]], ownName(m, along));
      if (steps && known.contains(ownName(m, along)))
        whole->args[along] = text_.plus(step, n * *steps + gap);
      else
        whole->args[along] = ofPhase(whole->args[along], turnOf(*of));
      return whole;
    };
    auto onBracket = [&](const Expr *e, Expr *copy) { // a reduction that reads the group runs in the phase of its own member alone
      bool reads = false;
      visit(e, [&](const Expr *inner) { reads |= inner->kind == Expr::Access && findMember(inner->text); });
      if (reads)
        copy->items.push_back({isPhase(m, along), nullptr, nullptr, e->loc});
    };
    return valueOf(m, [&](const Expr *e) { return text_.copy(e, names, onAccess, onBracket); });
  }

  /// The statements of `m` with the joint tensor on the right.
  void rewrite(const Member &m, llvm::function_ref<Expr *(Expr *)> part, std::optional<unsigned> along) {
    for (const Statement *s : m.statements) {
      Statement &made = after_.emplace_back(*s);
      Expr *access = text_.make(Expr::Access, s->value->loc);
      access->text = joint_;
      access->hasBracket = true;
      for (unsigned p = 0; p < rank(); ++p)
        access->args.push_back(s->subscripts[m.dims[p]]);
      made.value = part(access);
      for (unsigned p = 0; along && p < rank() && s->kind == Statement::Let && s->where.empty(); ++p)
        if (extents_[p])
          made.where.push_back({s->subscripts[m.dims[p]], text_.number(0, s->loc), extents_[p], s->loc});
    }
  }

  /// The kernel's statements with the joint one in the place of the group.
  std::optional<std::vector<Statement>> order(std::optional<Statement> joint) {
    auto isMember = [&](const Statement &s) { return mayJoin(s) && (findMember(s.target) || named_.contains(s.target)); };
    JointPlace place = placeJoint(body_, isMember);
    if (place.between) {
      StringRef name = place.between->target;
      refuse(place.between->loc, "and the statement of '" + name +
                                     "' among them can stand neither before nor behind all of them; name what they read of '" + name +
                                     "' with 'let' ahead of them");
      return std::nullopt;
    }
    auto isReadBeside = [&](StringRef name) {
      return llvm::any_of(body_, [&](const Statement &s) { return !isMember(s) && llvm::is_contained(readsOf(s), name); });
    };
    std::vector<Statement> all;
    for (const Statement *s : place.before)
      all.push_back(*s);
    if (joint)
      all.push_back(std::move(*joint));
    llvm::append_range(all, after_);
    for (const Statement &s : body_) // lets that others read, too
      if (isMember(s) && !findMember(s.target) && isReadBeside(s.target))
        all.push_back(s);
    for (const Statement *s : place.behind)
      all.push_back(*s);
    return all;
  }

  Diagnostics &diags_;
  const Definition &def_;
  ArrayRef<Statement> body_;
  ArrayRef<StringRef> group_; ///< the names of all that need each other
  TextWriter text_;
  std::vector<Member> members_;       ///< without those that are computed where they are read
  SmallVector<const Member *> turns_; ///< members in the order in which a step defines them
  StringRef joint_;
  SmallVector<Expr *> extents_;
  bool isInSteps_ = false;
  std::optional<unsigned> along_;
  bool isBack_ = false;
  bool readsAhead_ = false; ///< in turns
  std::vector<Statement> after_;
  llvm::StringSet<> named_;       ///< lets that the group needs no more
  std::deque<Statement> inlined_; ///< of members, with what others had named for them
};

} // namespace

std::optional<std::vector<Statement>> joinStatements(Diagnostics &diags, Kernel &kernel, ArrayRef<Statement> body,
                                                     ArrayRef<StringRef> group) {
  return Joiner(diags, kernel, body, group).run();
}

} // namespace kernelc::frontend
