# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults to plant in the compiler, for plant.py: (file, text, text in its place). The oracle itself never looks here."""
from typing import NamedTuple


class Fault(NamedTuple):
    name: str
    what: str
    edits: list  # a header is found in the build, too
    device: str = "cpu"
    through: tuple = ()  # what is compiled anew where a header changes


FAULTS = [
    Fault("range", "`a <= k <= b` ends before b",
          [("frontend/WrittenRange.cpp", "range.hi = last->affine + (closedHi ? 1 : 0);", "range.hi = last->affine;")]),
    Fault("identity", "a maximum of floats starts at the lowest number instead of -inf",
          [("reference/Combine.cpp", "default: return isMax(k) ? -std::numeric_limits<double>::infinity()", "default: return isMax(k) ? -std::numeric_limits<float>::max()")]),
    Fault("nan-order", "NaN wins argmin, too",
          [("reference/Combine.cpp", "Value fresh = isMax(kind_) ? keyNan : oldNan, stale = isMax(kind_) ? oldNan : keyNan;", "Value fresh = keyNan, stale = oldNan;")]),
    Fault("cast", "floats saturate to signed types, whatever the cast says",
          [("frontend/EmitScalar.cpp", "isUnsignedInteger(to) ? builder.getUnitAttr() : UnitAttr()", "UnitAttr()")]),
    Fault("division", "`//` of integers rounds towards zero",
          [("frontend/EmitRegion.cpp", ": arith::FloorDivSIOp::create(builder, loc, a, divisor).getResult();",
            ": arith::DivSIOp::create(builder, loc, a, divisor).getResult();")]),
    Fault("pad-side", "`pad` reads the first element left of the tensor",
          [("reference/ScalarMemory.cpp", "arith::CmpIPredicate::ult, i, extent);", "arith::CmpIPredicate::slt, i, extent);")]),
    Fault("window", "a window that an outer index moves stands one further",
          [("frontend/ElaborateReduce.cpp", "n->affine = self + v->declLo;", "n->affine = self + v->declLo + 1;")]),
    Fault("inout-order", "a statement writes where it still reads what stood before",
          [("reference/Compile.cpp", "init && init.getDefiningOp() && init.hasOneUse()", "init && init.getDefiningOp()")]),
    Fault("shadowing", "the outermost of indices of one name counts",
          [("frontend/Elaborate.cpp", """  for (const Scope *s = this; s; s = s->parent)
    for (auto it = s->names.rbegin(); it != s->names.rend(); ++it)
      if (it->first == name)
        return &it->second;
  return nullptr;""", """  const Binding *found = nullptr;
  for (const Scope *s = this; s; s = s->parent)
    for (auto it = s->names.rbegin(); it != s->names.rend(); ++it)
      if (it->first == name)
        found = &it->second;
  return found;""")]),
    Fault("cover", "the last element of a dim need not be written",
          [("frontend/Coverage.cpp", "    add(d - 1 - y);\n  }", "    add(d - 2 - y);\n  }")]),
]

# The mends of items 1, 2 and 4 of issue 24, taken out again. plant.py passes over those whose text is not there.
MENDS = [
    Fault("item 1, partial writers", "only the last writer of an inout is looked at, as the walk over writers did",
          [("passes/analysis/Memories.cpp", "    if (m.versions.size() < 2)\n      continue;",
            "    if (m.versions.size() > 2)\n      m.versions.erase(m.versions.begin() + 1, m.versions.end() - 1);\n    if (m.versions.size() < 2)\n      continue;")], "emulator"),
    Fault("item 2, windows", "argmax gives the place in a window that an outer index moves",
          [("frontend/EmitRegion.cpp", "    start = start + window;", "    (void)window;")]),
    Fault("item 2, of nothing", "argmax of nothing is L - 1",
          [("frontend/EmitRegion.cpp", "  return arith::SelectOp::create(builder, loc, isNone, none, value);", "  return (void)isNone, value;")]),
    Fault("item 4, logsumexp", "without the choice for infinities",
          [("frontend/Prelude.h", "(0 if isinf(max[j](e)) else log(sum[j](exp(e - max[j](e)))))", "log(sum[j](exp(e - max[j](e))))")], "cpu", ("frontend/Import.cpp",)),
    Fault("item 4, u64", "subscripts of u64 become i64 before their bounds form",
          [("frontend/ElaborateAccess.cpp", "Node *Elaborator::asIndex(Node *s, StringRef mode, AffineExpr dim) {\n",
            "Node *Elaborator::asIndex(Node *s, StringRef mode, AffineExpr dim) {\n  return convert(s, Ty::I64);\n")]),
    Fault("item 4, narrow", "extremes of nothing are the ends of the widened type",
          [("frontend/EmitRegion.cpp", "  return isMax ? arith::MaxSIOp::create(builder, loc, v, bound).getResult() : arith::MinSIOp::create(builder, loc, v, bound).getResult();",
            "  return (void)isMax, (void)bound, v;")]),
]
