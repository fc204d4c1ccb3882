# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sequences of statements on one inout, and the forms that reduce into what stands there."""
import re

from ..element_types import TYPES
from .expressions import STORED, Scope, access, expression
from .inputs import whole

_OPS = ("+=", "min=", "max=", "*=")


def _read(b, z, square):
    """What a statement reads of the inout: the own point, elsewhere, broadcast, or reduced."""
    if not square:
        return b.pick(f"{z}[N - 1 - i]", f"{z}[i]", f"{z}.wrap[i - 1]", f"{z}.edge[i + 1]", f"{z}.edge[0]", f"sum[q]({z}[q])", f"max[q]({z}[q])", f"{z}.pad(0)[i - 1]",
                      "2", f"sum[q, q != i]({z}[q])", f"{z}[N - 1 - i]")
    return b.pick(f"{z}[j, i]", f"{z}[i, j]", f"{z}[N - 1 - i, j]", f"{z}[N - 1 - i, N - 1 - j]", f"{z}.edge[i, j + 1]", f"{z}.edge[i, 0]", f"{z}[i, i]", f"sum[q]({z}[i, q])",
                  f"sum[q]({z}[q, j])", f"max[q]({z}[i, q])", "3", f"{z}.pad(0)[i - 1, j]", f"sum[p, q]({z}[p, q])")


def races(b):
    """As `inouts`, at sizes of several tiles and blocks, where threads run beside each other."""
    square = b.chance(60)
    b.sizes["N"] = b.pick(40, 33) if square else b.pick(520, 515)
    inouts(b, square, b.pick(True, True, False))


def _left(b, m, square, part):
    """A left side and its `where`: full, partial, on data, mirrored, permuted, diagonal."""
    at = "i, j" if square else "i"
    parts = [(at, "i in 1:N"), (at, "i in 0:N - 1"), (at, f"{m}[i]"), (at, "i % 2 == 0"), (at, "i < 2"), (at, "i != j" if square else "i != 1"),
             ("i, i" if square else "0", ""), ("i, 0" if square else "0", "")]
    wholes = [(at, ""), (at, ""), ("N - 1 - i, j" if square else "N - 1 - i", "i in 0:N"), ("j, i" if square else "i", "")]
    if part is None:
        part = b.chance(50)
    return b.pick(*parts) if part else b.pick(*wholes)


def inouts(b, square=None, partial_first=None):
    b.sizes.setdefault("N", b.pick(5, 4, 3, 6, 2, 1))
    b.size("N", least=1)
    square, kind = b.chance(40) if square is None else square, b.pick("i32", "f32")
    pool = whole(TYPES["f32"]) if kind == "f32" else None
    dims = ["N", "N"] if square else ["N"]
    z = b.tensor(kind, dims, "inout", pool=pool)
    x, m = b.tensor(kind, dims, pool=pool), b.tensor("bool", ["N"])
    for n in range(b.pick(2, 2, 3, 1) if not partial_first else b.pick(2, 2, 3)):
        left, where = _left(b, m, square, None if not partial_first else n == 0)
        named = re.findall(r"\b[ij]\b", left)
        own = lambda text: text if all(k in named for k in re.findall(r"\b[ij]\b", text)) else "1"  # speaks of indices of the left only
        read, at = own(_read(b, z, square)), ", ".join(dict.fromkeys(named)) if len(named) == len(dims) and len(set(named)) == len(dims) else None
        given = f"{x}[{at}]" if at else "3"
        value = b.pick(f"{read} + {given}", read, f"{read} * 2", f"{given} - {read}", given, f"{read} + {own(_read(b, z, square))}")
        b.say(f"{z}[{left}] = {value}" + (f" where {where}" if where else ""))
    if b.chance(30):
        y, at = b.tensor(kind, dims, "out"), "i, j" if square else "i"
        b.say(f"{y}[{at}] = {_read(b, z, square)}")


def assignments(b):
    """`+=` and its like, on outputs and inouts, once and again."""
    kind = b.pick("f32", "i32", "i64", "u32", "bool")
    dims = [("j", b.size("N"))][:b.pick(1, 1, 0)]
    op = b.pick(*_OPS, *(["xor="] if kind not in ("f32", "bool") else [])) if kind != "bool" else b.pick("and=", "or=")
    role = b.pick("out", "inout")
    pool = whole(TYPES["f32"]) if kind == "f32" else None
    y = b.tensor(kind, [d for _, d in dims], role, pool=pool)
    at = ", ".join(n for n, _ in dims)
    if b.chance(25):  # what it continues
        b.say(f"{y}[{at}] = {access(Scope(b, dims), kind, pool=pool)}")
    for _ in range(b.pick(1, 2)):
        scope = Scope(b, [*dims, ("k", b.size("K"))], reductions=0)
        value = access(scope, b.pick(*[s for s in STORED[kind] if s in ("f32", "i32", "i8", "u8", "i64", "u32", "bool", "bf16")]), force="k",
                       pool=pool if kind == "f32" else None)
        if kind != "bool" and b.chance(30):
            value = f"{value} * {access(scope, kind, pool=pool)}"
        where = b.pick("", "", "", "k in 1:K", "k % 2 == 0", *(["k != j", "j < 2"] if at and role == "inout" else []))
        b.say(f"{y}[{at}] {op} {value}" + (f" where {where}" if where else ""))
