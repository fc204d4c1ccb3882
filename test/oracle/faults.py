"""Faults to plant in the compiler, for plant.py: (file, text, text in its place). The oracle itself never looks here."""
from typing import NamedTuple


class Fault(NamedTuple):
    name: str
    what: str
    edits: list
    device: str = "cpu"


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
          [("reference/ScalarMemory.cpp", "Value in = cmp(arith::CmpIPredicate::ult, i, extent);", "Value in = cmp(arith::CmpIPredicate::slt, i, extent);")]),
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

# The mends of items 1, 2 and 4 of the issue, taken out again: an entry each as above.
MENDS = []
