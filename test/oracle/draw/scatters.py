# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Points that choose their element by data, or meet in one."""
from ..element_types import TYPES
from .inputs import positions, whole

_INDEX = ("i32", "i64", "u8", "i16", "u32", "u64")


def _subscript(b, dim, inside):
    """One that stays in a dim: data taken modulo it, or an index that folds; with a range where it needs one."""
    kind = b.pick("data", "data", "data", "mod", "half", "free")
    if kind == "mod":
        return f"n % {dim}", "n"
    if kind == "half":
        return f"n // 2 % {dim}", "n"
    t = b.pick(*_INDEX)
    p = b.tensor(t, ["N"], pool=positions(TYPES[t], around=8))
    if kind == "free":
        return f"{b.tensor(t, ['N'], pool=positions(TYPES[t], around=2))}[n]", "n"
    return {"i": f"{p}[n] % {dim}", "u": f"i64({p}[n] % 64) % {dim}"}[t[0]], "n"


def scatters(b):
    """All assignment forms with points that meet, on outputs and inouts, once and again; `.unique` on rotations."""
    b.size("N")
    b.size("R", least=1)
    kind = b.pick("f32", "i32", "f16", "i8", "i64", "u32", "bool", "f64")
    pool = whole(TYPES[kind]) if TYPES[kind].kind == "float" else None
    rows = b.chance(50)
    dims = ["R", "D"] if rows else ["R"]
    if rows:
        b.size("D")
    y = b.tensor(kind, dims, b.pick("out", "inout"), pool=pool)
    if b.chance(15):
        shift = b.integer(0, 3)
        x = b.tensor(kind, dims, pool=pool)
        at = "r, d" if rows else "r"
        return b.say(f"{y}.unique[(r * 1 + abs(0 - {shift})) % R{', d' if rows else ''}] = {x}[{at}]")
    forms = ("or=", "and=", "xor=") if kind == "bool" else ("+=", "min=", "max=", *(("*=",) if kind[0] == "f" else ("xor=",)))
    form = b.pick(*forms)
    for _ in range(b.pick(1, 1, 2)):
        at, _ = _subscript(b, "R", "N")
        x = b.tensor(kind, ["N", "D"] if rows else ["N"], pool=pool)
        value = f"{x}[n, d]" if rows else f"{x}[n]"
        if kind == "i8" and form == "+=":
            value = f"{value} * 3"
        where = b.pick("", "", "", "where n < 3", f"where {x}[n{', 0' if rows else ''}] != {x}[n{', 0' if rows else ''}]" if False else "where n in 0:N")
        order = b.pick("", "", " order(any)")
        b.say(f"{y}[{at}{', d' if rows else ''}] {form} {value} {where}{order}".rstrip())
