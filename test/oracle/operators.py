# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What each operator does to values of each type, and the type of its result."""
import math

from . import functions, interval as iv
from .core import Const, Op, Reduce, Select
from .interval import Interval, Masked
from .narrow import narrowest
from .element_types import BOOL, F32, F64, I32, LIT_FLOAT, LIT_INT, TYPES, KcError, Unsupported, float_to_int, is_float, is_int, round_float, round_int, widen, wrap


def rounding(t):
    return lambda x: round_float(x, t)


def is_literal(t):
    return t in (LIT_INT, LIT_FLOAT)


# Types.
def promote(a, b, what):
    """The type in which values of `a` and `b` meet."""
    if a is b and is_literal(a):
        return a
    if is_literal(a) and is_literal(b):
        return LIT_FLOAT
    if is_literal(a):
        a, b = b, a
    if is_literal(b):
        if b is LIT_FLOAT and not is_float(a):
            if a is BOOL:
                return F32
            raise KcError(f"'{what}' mixes {a} with a float literal")
        return widen(a) if a is not BOOL else I32
    a, b = widen(a), widen(b)
    if a is BOOL and b is BOOL:
        return I32
    if a is BOOL or b is BOOL:
        return b if a is BOOL else a
    if is_float(a) != is_float(b) or is_int(a) and a.signed != b.signed:
        raise KcError(f"'{what}' mixes {a} with {b}")
    return a if a.bits >= b.bits else b


def known(f):
    return lambda *args: None if any(a is None for a in args) else f(*args)


# Conversions.
def _to_float(t):
    r = rounding(t)

    def convert(x):
        if type(x) is Masked:
            return x
        y = iv.of_monotone(r, x)
        return y
    return convert


def _float_to_int(t):
    def convert(x):
        if type(x) is not Interval:
            return float_to_int(x, t)
        lo, hi = float_to_int(x.lo, t), float_to_int(x.hi, t)
        return lo if lo == hi and x is not iv.ANY else None
    return convert


def converter(a, b):
    """Values of type `a` to values of type `b`, as a cast does."""
    if is_float(a):
        if is_float(b):
            return _to_float(b)
        if b is BOOL:
            return lambda x: (lambda e: None if e is None else not e)(iv.equal(x, 0.0))
        return _float_to_int(b)
    if is_float(b):
        if a is BOOL:
            return lambda x: iv.ANY if x is None else 1.0 if x else Masked(0.0)
        return lambda x: iv.ANY if x is None else round_int(x, b)
    if b is BOOL:
        return known(lambda x: x != 0)
    return known(lambda x: wrap(int(x), b))


def coerce(node, t):
    """`node` in the type `t`; a literal adapts."""
    if node.type is t:
        return node
    if isinstance(node, Select) and is_literal(node.type):
        c, a, b = node.children
        return Select(c, coerce(a, t), coerce(b, t), t)
    if isinstance(node, Reduce) and is_literal(node.type):
        return Reduce(node.kind, node.loops, node.conditions, coerce(node.body, t), t, t)
    if isinstance(node, Const):
        if node.type is LIT_INT and is_int(t) and t is not LIT_INT and not t.lowest <= node.value <= t.highest:
            raise KcError(f"{node.value} does not fit in {t}")
        if node.type is LIT_FLOAT and not is_float(t):
            raise KcError(f"a float literal where {t} is expected")
        if t is LIT_FLOAT:
            return Const(float(node.value), t)
        return Const(converter(node.type, t)(node.value), t)
    if is_literal(node.type) and t is not LIT_FLOAT:
        return node.again(*(coerce(c, t) for c in node.children))
    return Op(f"to {t}", converter(node.type, t), [node], t, lambda e: coerce(e, t))


def settled(node):
    """`node` with the type that a literal has where nothing says another."""
    return coerce(node, {LIT_INT: I32, LIT_FLOAT: F32}.get(node.type, node.type))


# Integers.
def _floordiv(a, b):
    return a // b if b else 0


def _mod(a, b):
    return a % b if b else 0


_INT = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "//": _floordiv, "%": _mod,
        "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b}


def _shifted(a, b):
    if b < 0:
        raise Unsupported("a literal shifted by a negative one")
    return a << b


def _int_op(op, t):
    if op in _INT:
        f = _INT[op]
        return (lambda a, b: wrap(f(a, b), t)) if t is not LIT_INT else f
    bits = t.bits or 64
    if op == "<<":
        return lambda a, b: wrap(a << b % bits, t) if t.bits else _shifted(a, b)
    if op == ">>":
        return lambda a, b: a >> b % bits
    if op == "**":
        if t is LIT_INT:
            return lambda a, b: a ** b
        return lambda a, b: wrap(pow(a, b, 1 << t.bits), t) if b >= 0 else None
    raise KcError(f"'{op}' of integers; use '//' or a cast")


# Floats.
def _float_op(op, t):
    r = rounding(t)
    simple = {"+": iv.add, "-": iv.sub, "*": iv.mul, "/": iv.div, "%": iv.remainder}
    if op in simple:
        f = simple[op]
        return lambda a, b: f(a, b, r)
    if op == "//":
        return lambda a, b: iv.of_monotone(functions.ROUNDING["floor"], iv.div(a, b, r))
    if op == "**":
        return lambda a, b: _power(a, b, t, r)
    raise KcError(f"'{op}' of floats")


def _power(x, y, t, r):
    if type(y) is Interval or y != y or math.isinf(y) or y != int(y) or abs(y) > 64:
        return functions.apply_two("pow", x, y, t, r)
    if type(x) is not Interval:
        return functions.apply_two("pow", x, y, t, r)
    if x is iv.ANY or y < 0 and x.lo <= 0 <= x.hi:
        return iv.ANY
    ends = [functions.apply_two("pow", v, y, t, r) for v in (x.lo, x.hi)]
    lo, hi = min(iv.ends(e)[0] for e in ends), max(iv.ends(e)[1] for e in ends)
    return iv.interval(0.0 if y % 2 == 0 and x.lo <= 0 <= x.hi else lo, hi)


def _shift(op, a, b):
    """Has the type of its left operand, whatever integer the count is."""
    t = widen(a.type) if a.type is not BOOL else I32
    if not is_int(t) or not is_int(b.type):
        raise KcError(f"'{op}' of {a.type} and {b.type}")
    return Op(op, known(_int_op(op, t)), [coerce(a, t), settled(b)], t)


def binary(op, a, b):
    if op in ("<<", ">>") and not is_literal(a.type):
        return _shift(op, a, b)
    t = promote(a.type, b.type, op)
    if op == "/" and t is LIT_INT:
        t = LIT_FLOAT
    if op == "**" and not is_float(t) and not (isinstance(b, Const) and b.value >= 0):
        raise KcError("'**' of integers takes a literal that is not negative")
    if op in "&|^" and a.type is BOOL and b.type is BOOL:
        t = BOOL
        f = {"&": lambda p, q: p and q, "|": lambda p, q: p or q, "^": lambda p, q: p != q}[op]
        return Op(op, known(f), [a, b], t)
    a, b = coerce(a, t), coerce(b, t)
    f = known(_int_op(op, t)) if is_int(t) else _float_op(op, F64 if is_literal(t) else t)
    if isinstance(a, Const) and isinstance(b, Const) and is_literal(t):
        return Const(f(a.value, b.value), t)
    return Op(op, f, [a, b], t, lambda x, y: binary(op, x, y))


def negation(a):
    t = widen(a.type) if a.type is not BOOL else I32
    a = coerce(a, t)
    f = iv.negate if is_float(t) else known((lambda x: wrap(-x, t)) if t.bits else lambda x: -x)
    return Const(f(a.value), t) if isinstance(a, Const) and is_literal(t) else Op("neg", f, [a], t, negation)


def inversion(a):
    t = widen(a.type)
    if t is BOOL:
        return Op("~", known(lambda x: not x), [a], BOOL)
    if is_float(t):
        raise KcError("'~' of a float")
    if isinstance(a, Const) and t is LIT_INT:
        return Const(~a.value, t)
    return Op("~", known((lambda x: wrap(~x, t)) if t.bits else lambda x: ~x), [coerce(a, t)], t, inversion)


_INT_COMPARE = {"<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
                "==": lambda a, b: a == b, "!=": lambda a, b: a != b}
_FLOAT_COMPARE = {"<": iv.less, "<=": iv.less_equal, ">": lambda a, b: iv.less(b, a), ">=": lambda a, b: iv.less_equal(b, a),
                  "==": iv.equal, "!=": lambda a, b: (lambda e: None if e is None else not e)(iv.equal(a, b))}


def comparison(op, a, b):
    t = BOOL if a.type is BOOL and b.type is BOOL else promote(a.type, b.type, op)
    t = {LIT_INT: I32, LIT_FLOAT: F32}.get(t, t)
    f = _FLOAT_COMPARE[op] if is_float(t) else known(_INT_COMPARE[op])
    return Op(op, f, [coerce(a, t), coerce(b, t)], BOOL)


def exact_comparison(op, a, b):
    """Of integers of any types, by their values."""
    return Op(op, known(_INT_COMPARE[op]), [a, b], BOOL)


def extreme(name, args):
    """min or max of two and more."""
    result = args[0]
    for b in args[1:]:
        t = promote(result.type, b.type, name)
        f = (iv.larger if name == "max" else iv.smaller) if is_float(t) else known(max if name == "max" else min)
        x, y = coerce(result, t), coerce(b, t)
        result = Const(f(x.value, y.value), t) if is_literal(t) else Op(name, f, [x, y], t, lambda *e: extreme(name, e))
    return result


def select(c, a, b):
    t = a.type if a.type is b.type else promote(a.type, b.type, "if")
    a, b = coerce(a, t), coerce(b, t)
    if is_float(t):  # a zero that the condition chose
        a, b = _marked(a), _marked(b)
    return Select(c, a, b, t)


def _marked(node):
    return Op("mark", lambda x: Masked(x) if type(x) is float and x == 0 else x, [node], node.type, _marked)


def popcount(node):
    """The ones among the bits of the narrowest type that is known to hold the value."""
    node = settled(node)
    if not is_int(node.type) and node.type is not BOOL:
        raise KcError(f"'popcount' takes an integer, not {node.type}")
    t = narrowest(node)
    mask = (1 << (t.bits or 1)) - 1
    return Op("popcount", known(lambda x: bin(int(x) & mask).count("1")), [node], I32)


def random_bits(args):
    """The first word of Philox 4x32-10 of a seed and three counters."""
    return Op("rand_bits", known(functions.philox), [a if a.type is LIT_INT else settled(a) for a in args], TYPES["u32"])


def math_call(name, args):
    """A function by its C name."""
    if name == "popcount":
        return popcount(*args)
    if name == "philox":
        return random_bits(args)
    if name == "abs":
        a = coerce(args[0], widen(args[0].type) if args[0].type is not BOOL else I32)
        f = _float_abs if is_float(a.type) else known(lambda x: wrap(abs(x), a.type) if a.type.bits else abs(x))
        return Op(name, f, [a], a.type, lambda e: math_call(name, [e]))
    t = args[0].type
    for b in args[1:]:
        t = promote(t, b.type, name)
    t = LIT_FLOAT if is_literal(t) else widen(t)
    if t is LIT_FLOAT and name in _CLASSES:
        t = F32
    if t is LIT_FLOAT:
        return Op(name, None, [coerce(a, t) for a in args], t, lambda *e: math_call(name, e))
    if not is_float(t):
        raise KcError(f"'{name}' takes floats, not {t}")
    r, args = rounding(t), [coerce(a, t) for a in args]
    if name in ("isnan", "isinf", "isfinite"):
        return Op(name, _CLASSES[name], args, BOOL)
    if name == "fma":
        return Op(name, lambda a, b, c: _fma(a, b, c, t), args, t)
    if name == "fmod":
        return Op(name, _fmod, args, t)
    if name == "copysign":
        return Op(name, _copysign, args, t)
    if name in functions.TWO:
        return Op(name, lambda a, b: functions.apply_two(name, a, b, t, r), args, t)
    if name == "exp" and t is F32 and isinstance(args[0], Op) and args[0].name in ("+", "-") and len(args[0].children) == 2:
        return Op(name, lambda a, x, y: functions.exp_of_sum(a, x, y, t, r), [*args, *args[0].children], t)
    return Op(name, lambda a: functions.apply(name, a, t, r), args, t)


MATH = {**{n: 1 for n in (*functions.INEXACT, *functions.ROUNDING, "sqrt", "abs", "isnan", "isinf", "isfinite")},
        "atan2": 2, "pow": 2, "fmod": 2, "copysign": 2, "fma": 3, "popcount": 1, "philox": 4}


def _float_abs(x):
    if type(x) is not Interval:
        return Masked(abs(x)) if type(x) is Masked else abs(x)
    if x is iv.ANY:
        return x
    lo, hi = abs(x.lo), abs(x.hi)
    return iv.interval(0.0 if x.lo <= 0 <= x.hi else min(lo, hi), max(lo, hi))


def _class(f):
    return lambda x: f(x) if type(x) is not Interval else None if x is iv.ANY or math.isinf(x.lo) or math.isinf(x.hi) else f(x.lo)


_CLASSES = {"isnan": _class(math.isnan), "isinf": _class(math.isinf), "isfinite": _class(math.isfinite)}


def _fmod(a, b):
    if type(a) is Interval or type(b) is Interval:
        return iv.ANY
    return iv.NAN if a != a or b != b or math.isinf(a) or b == 0 else math.fmod(a, b)


def _copysign(a, b):
    if type(a) is Interval or type(b) is Interval:
        return iv.ANY
    return math.copysign(a, b)


def _fma(a, b, c, t):
    if any(type(x) is Interval for x in (a, b, c)):
        return iv.add(iv.mul(a, b, lambda x: x), c, rounding(t)) if t is F32 else iv.ANY
    if all(math.isfinite(x) for x in (a, b, c)):
        from fractions import Fraction
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        x = float(exact)
        if Fraction(x) != exact and t is F32:  # round to odd, so that the second rounding decides by all bits
            n, _ = math.frexp(x)
            toward = math.nextafter(x, -math.inf if Fraction(x) > exact else math.inf)
            odd = int(math.ldexp(n, 53)) & 1
            x = x if odd else toward
        return round_float(x, t)
    return round_float(float(a) * float(b) + float(c), t)


def coerce_index(node):
    """A bound of a range, as an exact integer."""
    node = settled(node)
    if not is_int(node.type):
        raise KcError(f"a range bounded by {node.type}")
    return node
