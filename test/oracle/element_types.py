# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Element types: their ranges, how values are rounded to them, and their bits.

Values are Python's: `bool`, `int` (exact) and `float` (an f64 that the type can hold)."""
import math
import struct
from dataclasses import dataclass


class KcError(Exception):
    """The program, or the call, is not what docs/language.md allows."""


class Unsupported(Exception):
    """The oracle leaves this out."""


@dataclass(frozen=True)
class Type:
    name: str
    kind: str  # "bool", "int", "float"; "litint" and "litfloat" for literals that no context has typed yet
    bits: int = 0
    signed: bool = True
    digits: int = 0  # of the significand, the hidden one included
    exponent: int = 0  # of the smallest normal number
    largest: float = math.inf
    saturates: bool = False

    @property
    def lowest(self):
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def highest(self):
        return (1 << (self.bits - self.signed)) - 1

    def __repr__(self):
        return self.name


BOOL = Type("bool", "bool", 1)
LIT_INT = Type("an integer literal", "litint")
LIT_FLOAT = Type("a literal", "litfloat")
F64 = Type("f64", "float", 64, digits=53, exponent=-1022)
F32 = Type("f32", "float", 32, digits=24, exponent=-126, largest=float.fromhex("0x1.fffffep127"))
TYPES = {t.name: t for t in [
    BOOL, F64, F32,
    Type("f16", "float", 16, digits=11, exponent=-14, largest=65504.0),
    Type("bf16", "float", 16, digits=8, exponent=-126, largest=float.fromhex("0x1.fep127")),
    Type("f8e4m3", "float", 8, digits=4, exponent=-6, largest=448.0, saturates=True),
    Type("f8e5m2", "float", 8, digits=3, exponent=-14, largest=57344.0, saturates=True),
    *(Type(f"{c}{bits}", "int", bits, c == "i") for c in "iu" for bits in (64, 32, 16, 8, 4))]}
I32, I64 = TYPES["i32"], TYPES["i64"]


def is_int(t):
    return t.kind in ("int", "litint")


def is_float(t):
    return t.kind in ("float", "litfloat")


def widen(t):
    """What a value of `t` is computed in once it is read."""
    if t.kind == "int" and t.bits < 32:
        return I32
    return F32 if t.kind == "float" and t.bits < 32 else t


def wrap(n, t):
    """The integer of type `t` that is `n` modulo 2^bits."""
    n &= (1 << t.bits) - 1
    return n - (1 << t.bits) if t.signed and n >> (t.bits - 1) else n


_F32 = struct.Struct("<f")


def round_float(x, t):
    """`x`, an f64, to the nearest number of `t`, ties to even."""
    if t is F64 or t.kind == "litfloat" or x != x or x == 0:
        return x
    if t.saturates and abs(x) >= t.largest:
        return math.copysign(t.largest, x)
    if math.isinf(x):
        return x
    if t is F32:
        try:
            return _F32.unpack(_F32.pack(x))[0]
        except OverflowError:
            return math.copysign(math.inf, x)
    q = max(math.frexp(x)[1] - t.digits, t.exponent - t.digits + 1)
    r = math.ldexp(round(math.ldexp(x, -q)), q)
    return math.copysign(r if abs(r) <= t.largest else math.inf, x)


def round_int(n, t):
    """`n`, an exact integer, to the nearest number of the float type `t`."""
    q = max(n.bit_length() - t.digits, 0)
    half, rest = (1 << q) >> 1, abs(n) & ((1 << q) - 1)
    m = abs(n) >> q
    m += rest > half or (q > 0 and rest == half and m & 1)
    try:
        x = math.ldexp(float(m), q)
    except OverflowError:
        x = math.inf
    if x > t.largest:
        x = t.largest if t.saturates else math.inf
    return -x if n < 0 else x


def float_to_int(x, t):
    if x != x:
        return 0
    if math.isinf(x):
        return t.highest if x > 0 else t.lowest
    return min(max(math.trunc(x), t.lowest), t.highest)


def to_bits(x, t):
    """The bits of `x`, a number of the float type `t`, as an unsigned integer."""
    if t.bits == 64:
        return struct.unpack("<Q", struct.pack("<d", x))[0]
    if t is F32:
        return struct.unpack("<I", _F32.pack(x))[0]
    fraction = t.digits - 1
    top = (1 << (t.bits - 1 - fraction)) - 1
    sign = (math.copysign(1, x) < 0) << (t.bits - 1)
    if x != x:
        return sign | (1 << (t.bits - 1)) - 1 if t.name == "f8e4m3" else sign | top << fraction | 1 << (fraction - 1)
    if math.isinf(x):
        return sign | top << fraction
    m, e = math.frexp(abs(x))
    if x == 0 or e - 1 < t.exponent:
        return sign | int(math.ldexp(abs(x), fraction - t.exponent))
    return sign | (e - t.exponent) << fraction | int(math.ldexp(m, t.digits)) - (1 << fraction)


def from_bits(n, t):
    if t.bits == 64:
        return struct.unpack("<d", struct.pack("<Q", n))[0]
    if t is F32:
        return _F32.unpack(struct.pack("<I", n))[0]
    fraction = t.digits - 1
    top = (1 << (t.bits - 1 - fraction)) - 1
    sign = -1.0 if n >> (t.bits - 1) else 1.0
    e, m = n >> fraction & top, n & ((1 << fraction) - 1)
    if t.name == "f8e4m3":
        if e == top and m == 7:
            return math.nan
    elif e == top:
        return math.nan if m else sign * math.inf
    if e == 0:
        return sign * math.ldexp(m, t.exponent - fraction)
    return sign * math.ldexp(m | 1 << fraction, e - 1 + t.exponent - fraction)
