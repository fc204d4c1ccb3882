# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions of the values that the bracket lets through, in any order."""
import math

from . import interval as iv
from .interval import ANY, INF, NAN, Interval, Overflow
from .element_types import F64, is_float, round_float, wrap


def combine(kind, terms, element, result, narrow=None):
    """`terms` are (index, value); `element` is the type of the values, `result` that of the reduction, and `narrow` the narrowest that
    is known to hold the values: integer extremes of nothing are its ends."""
    if kind in ("argmax", "argmin"):
        return _position(kind, terms, is_float(element))
    values = [v for _, v in terms]
    if kind == "mean":
        return iv.widened_ulps(iv.div(_sum(values, result), float(len(values)), lambda x: round_float(x, result)), result, 2) if values else NAN
    if kind == "any":
        return True if True in values else None if None in values else False
    if kind == "all":
        return False if False in values else None if None in values else True
    if is_float(result):
        return {"sum": _sum, "prod": _product, "max": _max, "min": _min}[kind](values, result)
    return _of_integers(kind, values, result, narrow or result)


def identity(kind, t):
    """The value of a reduction of nothing."""
    if kind in ("sum", "xor", "prod"):
        one = kind == "prod"
        return float(one) if is_float(t) else int(one)
    if is_float(t):
        return -INF if kind == "max" else INF
    if t.kind == "bool":
        return 0 if kind == "max" else 1
    return t.lowest if kind == "max" else t.highest


def _of_integers(kind, values, t, narrow):
    if None in values:
        return None
    if kind in ("max", "min"):
        return (max if kind == "max" else min)(values, default=identity(kind, narrow))
    total = identity(kind, t)
    for v in values:
        total = total + v if kind == "sum" else total * v if kind == "prod" else total ^ v
    return wrap(total, t)


def _classes(values):
    """A result that the special values among `values` decide, or None."""
    if any(v is ANY for v in values):
        return ANY
    if any(iv.is_nan(v) for v in values):
        return NAN
    return None


def _unit(t):
    """What one step of a reduction may lose: a unit in the last place, as matrix units do."""
    return math.ldexp(1.0, 1 - t.digits)


def _sum(values, t):
    special = _classes(values)
    if special is not None:
        return special
    infinite = {v for v in values if type(v) is not Interval and math.isinf(v)}
    if len(infinite) == 2:
        return ANY if any(type(v) is Overflow for v in values) else NAN
    if any(type(v) is Interval and (math.isinf(v.lo) or math.isinf(v.hi)) for v in values):
        return ANY
    finite = [v for v in values if type(v) is Interval or not math.isinf(v)]
    magnitude = math.fsum(max(map(abs, iv.ends(v))) for v in finite)
    if magnitude >= t.largest * 0.999 or t is F64 and magnitude > 1e300:
        return ANY
    if infinite:
        return float(infinite.pop())
    if len(values) == 1:
        return iv.add(values[0], 0.0, lambda x: x)
    lo, hi = (math.fsum(iv.ends(v)[end] for v in values) for end in (0, 1))
    if lo == hi and _exact(values, magnitude, t):
        return lo
    slack = (len(values) + 2) * _unit(t) * magnitude
    return iv.widened(iv.interval(lo, hi), slack)


def _exact(values, magnitude, t):
    """Whether every order gives the same: all are multiples of one small unit."""
    if magnitude == 0:
        return True
    unit = math.ldexp(1.0, math.frexp(magnitude)[1] - t.digits + 3)
    return all(type(v) is not Interval and math.fmod(v, unit) == 0 for v in values)


def _product(values, t):
    special = _classes(values)
    if special is not None:
        return special
    if len(values) == 0:
        return 1.0
    large, small = 1.0, 1.0
    for v in values:
        a, b = iv.ends(v)
        high = max(abs(a), abs(b))
        large *= max(high, 1.0)
        small *= min(high, 1.0) if high else 1.0
    if large >= t.largest or small < math.ldexp(1.0, t.exponent) or any(type(v) is Interval and v.lo <= 0 <= v.hi for v in values):
        zeros = any(type(v) is not Interval and v == 0 for v in values)
        return 0.0 if zeros and large < t.largest else ANY
    result = 1.0
    for v in values:
        result = iv.mul(result, float(v) if type(v) is iv.Masked else v, lambda x: x)
    if len(values) == 1:
        return result
    if result is ANY:
        return result
    lo, hi = iv.ends(result)
    if lo == hi and math.fmod(abs(lo), 1.0) == 0 and large < 2 ** t.digits and all(type(v) is not Interval and v == int(v) for v in values):
        return lo
    return iv.widened(result, len(values) * _unit(t) * max(abs(lo), abs(hi)))


def _max(values, t):
    result = identity("max", t)
    for v in values:
        result = iv.larger(result, v)
    return result


def _min(values, t):
    result = identity("min", t)
    for v in values:
        result = iv.smaller(result, v)
    return result


def _position(kind, terms, floats):
    """The first index of the largest or smallest value; -1 of nothing. NaN is the largest."""
    if not terms:
        return -1
    if any(v is None or v is ANY for _, v in terms):
        return None
    key = (lambda v: (iv.is_nan(v), *iv.ends(v))) if floats else (lambda v: (False, v, v))
    keys = [key(v) for _, v in terms]
    if kind == "argmax":
        if any(k[0] for k in keys):
            return next(i for (i, _), k in zip(terms, keys) if k[0])
        ranked = [(lo, hi) for _, lo, hi in keys]
    else:
        ranked = [(-INF, -INF) if nan else (-hi, -lo) for nan, lo, hi in keys]
        if any(not nan for nan, _, _ in keys):  # NaN loses to every number, +inf included
            return _first([(i, r) for (i, _), r, k in zip(terms, ranked, keys) if not k[0]])
    return _first([(i, r) for (i, _), r in zip(terms, ranked)])


def _first(ranked):
    best, (lo, hi) = ranked[0]
    for i, (a, b) in ranked[1:]:
        if a > hi:
            best, lo, hi = i, a, b
        elif b > lo:
            return None
    return best
