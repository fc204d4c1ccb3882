# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Floats whose last bits the language leaves open.

A float value is one of
  - a Python float: this number and no other,
  - an `Interval`: something from lo to hi, as after a sum in any order or a math function,
  - `ANY`: anything, NaN included,
  - a `Masked`: a zero that a condition made, whose product with an infinity or NaN may be skipped.
Booleans and integers that hang on such a value are None: unknown."""
import math

INF, NAN = math.inf, math.nan


class Overflow(float):
    """An infinity that a product of numbers is rounded to, if it is rounded before it is added."""


class Masked(float):
    """A zero made by a condition."""


class Interval:
    __slots__ = ("lo", "hi")

    def __init__(self, lo, hi):
        self.lo, self.hi = lo, hi

    def __repr__(self):
        return f"[{self.lo}, {self.hi}]"


ANY = Interval(-INF, INF)
ZERO = Interval(-0.0, 0.0)  # of a sign that is left open


def interval(lo, hi):
    """The value between two numbers; ANY where one is NaN."""
    if lo == hi:
        return float(lo)
    return Interval(lo, hi) if lo < hi and not (lo == -INF and hi == INF) else ANY


def ends(x):
    return (x.lo, x.hi) if type(x) is Interval else (x, x)


def is_nan(x):
    return type(x) is not Interval and x != x


def widened(x, by):
    """`x`, off by at most `by`."""
    if x is ANY or is_nan(x):
        return x
    lo, hi = ends(x)
    if lo == hi and (by == 0 or math.isinf(lo)):
        return x
    return interval(lo - by, hi + by)


def of_monotone(f, x):
    """f(x) for an f that does not decrease."""
    if type(x) is not Interval:
        return f(x)
    return ANY if x is ANY else interval(f(x.lo), f(x.hi))


def add(a, b, r):
    if type(a) is not Interval and type(b) is not Interval:
        return r(a + b)
    if is_nan(a) or is_nan(b):
        return NAN
    if a is ANY or b is ANY:
        return ANY
    (al, ah), (bl, bh) = ends(a), ends(b)
    return interval(r(al + bl), r(ah + bh))


def negate(a):
    if type(a) is Interval:
        return a if a is ANY else Interval(-a.hi, -a.lo)
    return Masked(-a) if type(a) is Masked else -a


def sub(a, b, r):
    return add(a, negate(b), r)


def _finite(x):
    lo, hi = ends(x)
    return -INF < lo and hi < INF


def mul(a, b, r):
    if type(a) is float and type(b) is float:
        return r(a * b)
    if type(a) is Masked or type(b) is Masked:
        return Masked(0.0) if _finite(a) and _finite(b) else ANY
    if is_nan(a) or is_nan(b):
        return NAN
    if a is ANY or b is ANY:
        return ANY
    corners = [p * q for p in ends(a) for q in ends(b)]
    if any(c != c for c in corners):
        return ANY
    return interval(r(min(corners)), r(max(corners)))


def quotient(a, b):
    """a / b of two numbers, as IEEE has it."""
    if b != 0:
        return a / b
    return NAN if a == 0 or a != a else math.copysign(INF, a) * math.copysign(1, b)


def div(a, b, r):
    if type(a) is Masked:
        return Masked(0.0) if type(b) is not Interval and b == b and b != 0 else div(0.0, b, r) if type(b) is Interval else ANY
    if type(a) is not Interval and type(b) is not Interval:
        return r(quotient(a, b))
    if is_nan(a) or is_nan(b):
        return NAN
    (al, ah), (bl, bh) = ends(a), ends(b)
    if a is ANY or bl <= 0 <= bh:
        return ANY
    corners = [p / q for p in (al, ah) for q in (bl, bh)]
    if any(c != c for c in corners):
        return ANY
    return interval(r(min(corners)), r(max(corners)))


def remainder(a, b, r):
    """Python's a % b of floats: exact but for one rounding, with the sign of the divisor."""
    if type(a) is Interval or type(b) is Interval:
        return NAN if is_nan(a) or is_nan(b) else ANY
    if b == 0 or math.isinf(a) or a != a or b != b:
        return NAN
    m = math.fmod(a, b)
    if m and (m < 0) != (b < 0):
        return r(m + b)
    return m if m else ZERO


def larger(a, b):
    """max(a, b); NaN propagates."""
    if is_nan(a) or is_nan(b):
        return NAN
    if a is ANY or b is ANY:
        return ANY
    (al, ah), (bl, bh) = ends(a), ends(b)
    if al == ah and bl == bh:
        return a if al >= bl else b
    return interval(max(al, bl), max(ah, bh))


def smaller(a, b):
    return negate(larger(negate(a), negate(b)))


def less(a, b):
    """a < b: True, False or None."""
    if type(a) is not Interval and type(b) is not Interval:
        return a < b
    if is_nan(a) or is_nan(b):
        return False
    if a is ANY or b is ANY:
        return None
    (al, ah), (bl, bh) = ends(a), ends(b)
    return True if ah < bl else False if al >= bh else None


def less_equal(a, b):
    if type(a) is not Interval and type(b) is not Interval:
        return a <= b
    if is_nan(a) or is_nan(b):
        return False
    if a is ANY or b is ANY:
        return None
    (al, ah), (bl, bh) = ends(a), ends(b)
    return True if ah <= bl else False if al > bh else None


def equal(a, b):
    if type(a) is not Interval and type(b) is not Interval:
        return a == b
    if is_nan(a) or is_nan(b):
        return False
    if a is ANY or b is ANY:
        return None
    (al, ah), (bl, bh) = ends(a), ends(b)
    return False if ah < bl or bh < al else True if al == ah == bl == bh else None


def widened_ulps(x, t, ulps):
    """`x` off by some units in the last place; a number that a sum gave exactly stays off by them, too."""
    if x is ANY or is_nan(x):
        return x
    size = max(map(abs, ends(x)))
    return widened(x, ulps * math.ldexp(size, 1 - t.digits)) if math.isfinite(size) else x
