# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The math functions of the language, by their C names, over floats and intervals.

Their last bits are the device's own: a result that is no exact value is off by a few units in the last place."""
import math

from .interval import ANY, INF, NAN, Interval, Masked, ends, interval, is_nan, of_monotone, widened

# Units in the last place by which a function of a device may be off.
ULPS = 16


def _guarded(f):
    """`f` of Python's math, with C's answers where Python raises."""
    def g(*args):
        if any(a != a for a in args):
            return NAN
        try:
            return float(f(*args))
        except OverflowError:
            return INF
        except ValueError:
            return NAN
    return g


def _log(f, zero):
    return lambda x: -INF if x == zero else NAN if x < zero else x if x == INF else f(x)


def _odd_overflow(f):
    def g(x):
        try:
            return f(x)
        except OverflowError:
            return math.copysign(INF, x)
    return g


def _pow(x, y):
    if y == 0 or x == 1:
        return 1.0
    if x == 0 and y < 0:
        odd = math.isfinite(y) and y == int(y) and int(y) % 2 == 1
        return math.copysign(INF, x) if odd else INF
    try:
        return math.pow(x, y)
    except OverflowError:
        return -INF if x < 0 and int(y) % 2 else INF


def _atanh(x):
    return math.copysign(INF, x) if abs(x) == 1 else math.atanh(x)


def _cbrt(x):
    if x == 0 or math.isinf(x):
        return x
    root = math.copysign(abs(x) ** (1 / 3), x)
    return root - (root * root * root - x) / (3 * root * root)


def _floor(x):
    return x if math.isinf(x) or x == 0 else math.copysign(math.floor(x), x)


def _ceil(x):
    return x if math.isinf(x) or x == 0 else math.copysign(math.ceil(x), x)


def _trunc(x):
    return x if math.isinf(x) else math.copysign(math.trunc(x), x)


def _rint(x):
    return x if math.isinf(x) else math.copysign(round(x), x)


def _round(x):
    """C's round: halves away from zero."""
    return x if math.isinf(x) else math.copysign(math.floor(abs(x)) + (abs(x) - math.floor(abs(x)) >= 0.5), x)


# Exact, and never falling: rounding of the argument carries over.
ROUNDING = {n: _guarded(f) for n, f in [("floor", _floor), ("ceil", _ceil), ("trunc", _trunc), ("rint", _rint), ("round", _round)]}
# Correctly rounded.
SQRT = _guarded(math.sqrt)
_RISING = {"exp": math.exp, "exp2": lambda x: _pow(2.0, x), "expm1": math.expm1, "log": _log(math.log, 0), "log2": _log(math.log2, 0),
           "log10": _log(math.log10, 0), "log1p": _log(math.log1p, -1), "cbrt": _cbrt, "asin": math.asin, "atan": math.atan,
           "sinh": _odd_overflow(math.sinh), "tanh": math.tanh, "asinh": math.asinh, "acosh": math.acosh, "atanh": _atanh,
           "erf": math.erf}
_FALLING = {"acos": math.acos, "erfc": math.erfc, "rsqrt": lambda x: math.copysign(INF, x) if x == 0 else 1 / math.sqrt(x)}
_OTHER = {"sin": math.sin, "cos": math.cos, "tan": math.tan, "cosh": math.cosh}
INEXACT = {n: _guarded(f) for n, f in {**_RISING, **_FALLING, **_OTHER}.items()}
TWO = {"atan2": _guarded(math.atan2), "pow": _guarded(_pow)}
_LIPSCHITZ = {"sin": 1, "cos": 1}


def _ulp(x, t):
    if x == 0 or not math.isfinite(x):
        return 0.0
    return math.ldexp(1.0, max(math.frexp(x)[1] - t.digits, t.exponent - t.digits + 1))


def _loose(x, t, r, ulps):
    """`x`, an interval or a number, rounded to `t` and off by some units in the last place."""
    if x is ANY or is_nan(x):
        return x
    lo, hi = ends(x)
    if lo == hi and (math.isinf(lo) or lo == 0 and type(x) is not Interval):
        return r(lo)
    by = ulps * max(_ulp(lo, t), _ulp(hi, t), math.ldexp(1.0, t.exponent - t.digits + 1))
    lo, hi = lo - by, hi + by
    return interval(r(lo), r(hi))


_EXACT = {("exp", 0.0), ("cos", 0.0), ("exp2", 0.0), ("log", 1.0), ("log2", 1.0), ("log10", 1.0), ("cosh", 0.0), ("erfc", 0.0),
          ("rsqrt", 1.0)}


def apply(name, x, t, r):
    """name(x) in the type `t`, whose rounding is `r`."""
    if name in ROUNDING:
        return of_monotone(ROUNDING[name], x)
    if name == "sqrt":
        if type(x) is Interval and x is not ANY and x.lo < 0:
            return ANY
        return of_monotone(lambda v: r(SQRT(v)), x)
    f = INEXACT[name]
    if type(x) is not Interval:
        value = f(x)
        if name == "exp" and value == 0 and x == -INF:
            return Masked(0.0)
        # Large arguments carry the rounding of an argument that was scaled first (exp as exp2).
        scaled = abs(x) if name in ("exp", "exp2", "expm1", "sinh", "cosh") and math.isfinite(x) else 0
        return r(value) if (name, float(x)) in _EXACT else _loose(value, t, r, ULPS + 2 * scaled)
    if x is ANY:
        return ANY
    if name in _LIPSCHITZ:
        return _loose(widened(f(x.lo), x.hi - x.lo), t, r, ULPS)
    if name in _OTHER and not (name == "cosh" and x.lo >= 0):
        return ANY
    a, b = f(x.lo), f(x.hi)
    if a != a or b != b:
        return ANY
    scaled = max(abs(x.lo), abs(x.hi)) if name in ("exp", "exp2", "expm1", "sinh", "cosh") else 0
    if not math.isfinite(scaled):
        return ANY
    return _loose(interval(min(a, b), max(a, b)), t, r, ULPS + 2 * scaled)


def exp_of_sum(total, x, y, t, r):
    """exp(x + y) in f32: a power of two whose exponent may be made of either part, off by half a unit in the larger one's last place."""
    size = 0.0 if x is ANY or y is ANY else max(abs(e) for v in (x, y) for e in ends(v))
    if total is ANY or is_nan(total) or not 0 < size < INF:
        return apply("exp", total, t, r)
    return apply("exp", widened(total, math.ldexp(size, -t.digits)), t, r)


def apply_two(name, x, y, t, r):
    if type(x) is Interval or type(y) is Interval:
        if name == "pow" and type(y) is not Interval and x is not ANY and x.lo > 0:
            a, b = TWO[name](x.lo, y), TWO[name](x.hi, y)
            return _loose(interval(min(a, b), max(a, b)), t, r, ULPS + 4 * abs(y))
        return ANY
    value = _pow(x, y) if name == "pow" and (y == 0 or x == 1) else TWO[name](x, y)
    return _loose(value, t, r, ULPS)


def philox(seed, i, j, k):
    """Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (2011)."""
    low = (1 << 32) - 1
    counter = [i & low, i >> 32 & low, j & low, k & low]
    key = [seed & low, seed >> 32 & low]
    for _ in range(10):
        p, q = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [q >> 32 ^ counter[1] ^ key[0], q & low, p >> 32 ^ counter[3] ^ key[1], p & low]
        key = [key[0] + 0x9E3779B9 & low, key[1] + 0xBB67AE85 & low]
    return counter[0]
