# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Core to values: a node becomes a function of the indices' values, a dict from symbols' slots to integers."""
import math
from fractions import Fraction

from . import interval as iv
from .core import Const, Field, Fold, Index, Op, Param, Read, Reduce, Select, walk
from .reduce import combine
from .element_types import F64, KcError, is_float

UNDEFINED = object()  # an element that no statement has written


class Limit(Exception):
    """The program is too large for the oracle."""


class Budget:
    """Bounds the work on one program."""
    left = 0

    @classmethod
    def spend(cls):
        cls.left -= 1
        if cls.left < 0:
            raise Limit


def compiled(node):
    return _CASES[type(node)](node)


def unknown(t):
    return iv.ANY if is_float(t) else None


def _const(node):
    value = node.value
    return lambda at: value


def _index(node):
    slot = node.symbol.slot
    return lambda at: at[slot]


def _op(node):
    f, operands = node.f, [compiled(c) for c in node.children]
    if len(operands) == 1:
        a, = operands
        return lambda at: f(a(at))
    if len(operands) == 2:
        a, b = operands
        return lambda at: f(a(at), b(at))
    return lambda at: f(*(o(at) for o in operands))


def _select(node):
    condition, then, other = map(compiled, node.children)
    lost = unknown(node.type)

    def select(at):
        c = condition(at)
        return lost if c is None else then(at) if c else other(at)
    return select


def place_in(form, i, size):
    """Where `i` reads in a dim, or None outside of it."""
    if 0 <= i < size:
        return i
    if form == "pad" or size == 0:
        return None
    if form == "edge":
        return 0 if i < 0 else size - 1
    if form == "wrap":
        return i % size
    if form == "reflect":
        period = max(2 * (size - 1), 1)
        m = i % period
        return m if m < size else period - m
    return None


def _read(node):
    tensor, form = node.tensor, node.form
    subscripts = [compiled(c) for c in node.children]
    pad = compiled(node.pad) if node.pad is not None else None
    lost, dims = unknown(node.type), tensor.shape

    def read(at):
        Budget.spend()
        flat, outside, blurred = 0, False, False
        for subscript, size in zip(subscripts, dims):
            i = subscript(at)
            if i is None:
                blurred = True
                continue
            place = place_in(form, i, size)
            if place is None:
                outside = True
                place = 0
            flat = flat * size + place
        if outside:
            if form == "pad":
                v = pad(at)
                return iv.Masked(v) if type(v) is float and v == 0 else v
            if form in ("edge", "reflect", "wrap"):
                return lost  # of a tensor without elements
            raise KcError(f"'{tensor.name}' is read at {[s(at) for s in subscripts]}, outside of {tensor.shape}")
        if blurred:
            return lost
        value = tensor.data[flat]
        if value is UNDEFINED:
            raise KcError(f"'{tensor.name}' is read at {flat} before it is written")
        return value
    return read


def _ranges(loops):
    return [(loop.symbol.slot, compiled(loop.lo), compiled(loop.hi)) for loop in loops]


def _walker(node):
    """The points of a reduction or fold: `points(at, visit)` puts each into `at` and calls visit(); False where they are unknown."""
    loops, conditions = _ranges(node.loops), [compiled(c) for c in node.conditions]

    def walk_from(depth, at, visit):
        if depth < len(loops):
            slot, lo, hi = loops[depth]
            a, b = lo(at), hi(at)
            if a is None or b is None:
                return False
            for i in range(a, b):
                at[slot] = i
                if not walk_from(depth + 1, at, visit):
                    return False
            return True
        Budget.spend()
        for condition in conditions:
            c = condition(at)
            if c is None:
                return False
            if not c:
                return True
        visit()
        return True
    return lambda at, visit: walk_from(0, at, visit)


def _unrounded(node):
    """As compiled; a product may be rounded, or be what it is over the reals."""
    if not (isinstance(node, Op) and node.name == "*" and is_float(node.type)):
        return compiled(node)
    f, left, right = node.f, *(_unrounded(c) for c in node.children)

    def product(at):
        a, b = left(at), right(at)
        rounded = f(a, b)
        if type(a) is not float or type(b) is not float or type(rounded) is not float:
            return rounded
        if not math.isfinite(rounded):
            return iv.Overflow(rounded) if math.isfinite(a) and math.isfinite(b) else rounded
        rest = Fraction(a) * Fraction(b) - Fraction(rounded)
        toward = math.nextafter(rounded, math.inf if rest > 0 else -math.inf) if node.type is F64 else a * b  # (exact, of narrower ones)
        return iv.interval(min(rounded, toward), max(rounded, toward)) if rest else rounded
    return product


def _reduce(node):
    points, order = _walker(node), _ranges(node.order)
    body, lost = (_unrounded if node.kind in ("sum", "mean") else compiled)(node.body), unknown(node.type)
    kind, element, result, narrow = node.kind, node.body.type, node.type, node.narrow

    def place(at):
        """The position of an arg reduction: over one index its value, over several the row-major one in their ranges."""
        if len(order) == 1:
            return at[order[0][0]]
        position = 0
        for slot, lo, hi in order:
            position = position * (hi(at) - lo(at)) + at[slot] - lo(at)
        return position

    def reduce(at):
        terms, at = [], dict(at)
        known = points(at, lambda: terms.append((place(at), body(at))))
        return combine(kind, terms, element, result, narrow) if known else lost
    return reduce


def _param(node):
    slot = node.slot
    return lambda at: at[slot]


_EXACT = ("mark", "neg", "min", "max", "abs", "fabs", "copysign")  # operations that give one of their operands, but for its sign


def _rounds(nodes):
    """Whether floats are added, multiplied or the like: then another order of a fold gives other last bits."""
    return any(isinstance(n, Op) and is_float(n.type) and not n.name.startswith("to ") and n.name not in _EXACT
               for node in nodes for n in walk(node))


def _magnitude(values):
    finite = [abs(e) for v in values if type(v) in (float, iv.Interval, iv.Masked) for e in iv.ends(v) if math.isfinite(e)]
    return max(finite, default=0.0)


def _fold(node):
    points = _walker(node)
    elements, step = [compiled(e) for e in node.elements], [compiled(c) for c in node.combined]
    identity, slots, types = [compiled(i)({}) for i in node.identity], [p.slot for p in node.params], [i.type for i in node.identity]
    rounds = _rounds(node.combined)

    def fold(at):
        state, at, terms, most, strange = list(identity), dict(at), 0, 0.0, False

        def take():
            nonlocal state, terms, most, strange
            both = [*state, *(e(at) for e in elements)]
            most = max(most, _magnitude(both))
            strange = strange or any(type(v) is float and not math.isfinite(v) or v is iv.ANY for v in both)
            inner = dict(zip(slots, both))
            state = [s(inner) for s in step]
            terms += 1
        if not points(at, take):
            return [unknown(t) for t in types]
        if rounds and terms > 1 and strange:  # inf - inf depends on the order
            return [iv.ANY if is_float(t) else s for s, t in zip(state, types)]
        if rounds and terms > 1:
            most = max(most, _magnitude(state))
            state = [iv.widened(s, 8 * (terms + 2) * math.ldexp(1.0, 1 - t.digits) * most) if is_float(t) else s for s, t in zip(state, types)]
        return state
    return fold


def _field(node):
    fold, k = compiled(node.children[0]), node.k
    return lambda at: fold(at)[k]


_CASES = {Const: _const, Index: _index, Op: _op, Select: _select, Read: _read, Reduce: _reduce, Param: _param, Fold: _fold, Field: _field}
