# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions: every kind, with every way to say what they run over."""
import re

from ..element_types import TYPES
from .expressions import STORED, Scope, access, expression, operand
from .inputs import positions

_KINDS = {"bool": ("any", "all"), "f32": ("sum", "max", "min", "mean", "prod"), "f64": ("sum", "max", "min", "mean")}
_INT_KINDS = ("sum", "max", "min", "xor", "prod")


def entries(scope, name, dim):
    """A bracket entry for `name`, whose values lie in 0:dim; whether it leaves the range to the accesses."""
    b = scope.b
    others = [n for n in scope.indices]
    kind = b.pick("bare", "bare", "in", "chained", "data", "outer", "part", "nothing")
    if kind == "bare":
        return name, True
    if kind == "in":
        return f"{name} in 0:{dim}", False
    if kind == "chained":
        return b.pick(f"0 <= {name} < {dim}", f"1 <= {name} < {dim}", f"0 < {name} <= {dim} - 1", f"0 <= {name} <= {dim} - 2"), False
    if kind == "part":
        return b.pick(f"{name} in 1:{dim}", f"{name} in 0:{dim} - 1", f"{name} in 1:{dim} - 1", f"{name} in {dim} // 2:{dim}", f"{name} in 2:{dim}"), False
    if kind == "nothing":
        return b.pick(f"{name} in {dim}:{dim}", f"{name} in 0:0", f"{name} in 1:1", f"{name} in {dim}:0"), False
    if kind == "outer" and others:
        o = b.pick(*others)
        return b.pick(f"{name} in {o}:{dim}", f"{o} <= {name} < {dim}", f"{name} in {o} + 1:{dim}"), False
    t = b.pick("i32", "i64", "i8", "u8")
    bound = lambda: access(scope, t, pool=positions(TYPES[t])) if b.chance(70) else b.scalar(t, positions(TYPES[t]))
    lo, hi = b.pick((False, True), (True, False), (True, True))
    if b.chance(25):  # no size beside: as far as the accesses go
        return f"{name} in {bound() if lo else b.pick('0', '1')}:{bound() if hi else dim}", True
    return f"{name} in {f'max({bound()}, 0)' if lo else '0'}:{f'min({bound()}, {dim})' if hi else dim}", False


def conditions(scope, name, dim):
    b = scope.b
    others = [n for n in scope.indices if n != name]
    kind = b.pick("data", "index", "outer", "free")
    if kind == "data":
        t = b.pick("f32", "i32", "bool", "bf16")
        read = access(scope, t, force=name)
        return read if t == "bool" else f"{read} {b.pick('>', '<=', '!=')} {b.pick('0', '1')}"
    if kind == "index":
        return b.pick(f"{name} % 2 == 0", f"{name} != 1", f"{name} * 2 < {dim}", f"{name} > 0")
    if kind == "outer" and others:
        o = b.pick(*others)
        return b.pick(f"{name} != {o}", f"({name} + {o}) % 2 == 1", f"{name} * 2 != {o} + 1")
    return operand(scope, "bool", 1)


def body(scope, kind, depth, alone):
    """An expression in which each index of `alone` stands alone in a subscript."""
    b = scope.b
    text = expression(scope, kind, depth)
    for name in alone:
        read = access(scope, b.pick(*STORED[kind]), force=name)
        if kind == "bool":
            constant = re.search("True|False", text) or not re.search(r"\[|\bs\d", text)  # `x or True` reads nothing
            text = f"{read} {b.pick('and', 'or', '!=')} ({text})" if not b.chance(40) and not constant else read
        elif b.chance(40):
            text = read
        else:
            text = f"{read} {b.pick('*', '+', '*', '-')} ({text})"
    if len(alone) > 1:  # none may have gone
        text = " + ".join([text, *(access(scope, kind, force=n) for n in alone)]) if kind != "bool" else \
            " and ".join([f"({text})", *(access(scope, kind, force=n) for n in alone)])
    return text


def reduction(scope, kind, depth=1, argument=False):
    b = scope.b
    count = 1 if b.chance(70) else 2
    reducer = b.pick("argmax", "argmin") if argument else b.pick(*_KINDS.get(kind, _INT_KINDS))
    bracket, alone, inner = [], [], scope
    for _ in range(count):
        shadow = [n for n in scope.indices if n not in [e.split()[0] for e in bracket]]
        name = b.pick(*shadow) if shadow and b.chance(8) else b.fresh("k")
        dim = b.size(b.pick("K", "N", "M"))
        declared = [e.split()[0] for e in bracket]  # which bounds behind them would mean
        outer = Scope(b, {n: d for n, d in scope.indices.items() if n not in declared}, reductions=scope.reductions)
        entry, bare = entries(outer, name, dim)
        if argument and count > 1:  # positions in ranges that nothing moves
            b.size(dim, least=1)
            entry, bare = b.pick((name, True), (f"{name} in 1:{dim}", False), (f"{name} in 0:{dim} - 1", False))
        if name in scope.indices and not bare and name in entry.replace(name, "", 1):
            entry, bare = name, True
        bracket.append(entry)
        inner = inner.inside({name: dim})
        inner.reductions = scope.reductions - 1
        alone += [name] if bare else []
    if b.chance(30):
        name = b.pick(*[n for n in inner.indices if n not in scope.indices] or inner.indices)
        bracket.append(conditions(inner, name, inner.indices[name]))
    of = kind if not argument else b.pick("f32", "f32", "i32", "f64", "i64", "u32", "u64")
    text = body(inner, of, depth, alone)
    if of != "bool" and not re.search(r"\[|\bs\d|" + "|".join(rf"\b{n}\b" for n in inner.indices), text):
        text = f"{of}({text})"  # a reduction of literals alone has its type
    return f"{reducer}[{', '.join(bracket)}]({text})"


def window(scope, kind, argument=False):
    """A reduction over a range that an outer index moves."""
    b = scope.b
    name, outer = b.fresh("k"), b.pick(*scope.indices)
    width, step = b.integer(1, 3), b.pick(1, 2)
    entry = b.pick(f"{name} in {step} * {outer}:{step} * {outer} + {width}", f"{outer} - 1 <= {name} <= {outer} + 1", f"{name} in {outer}:{outer} + {width}",
                   f"{outer} - 2 < {name} < {outer}", f"{name} in {outer} - {width}:{outer}")
    reducer = b.pick("argmax", "argmin") if argument else b.pick(*_KINDS.get(kind, _INT_KINDS))
    inner = scope.inside({name: None})
    stored = b.pick(*STORED[kind if not argument else b.pick("f32", "f32", "i32", "u64")])
    form = b.pick("edge", "wrap", "reflect", "pad(1)" if stored != "bool" else "pad(True)")
    tensor = b.tensor(stored, [b.size(b.pick("N", "P"), least=form[0] != "p")])
    extra = f", {conditions_of(inner, name)}" if b.chance(25) else ""
    return f"{reducer}[{entry}{extra}]({tensor}.{form}[{b.pick(name, name, name + ' - 1')}])"


def conditions_of(scope, name):
    return scope.b.pick(f"{name} % 2 == 0", f"{name} >= 0", f"{name} != 1")


def solved(scope, kind):
    """A reduction whose range is the solution of a subscript."""
    b = scope.b
    i, (n, k) = "i", (b.size("N"), b.size("K"))
    stored = lambda: b.pick(*STORED[kind])
    reducer = b.pick(*[r for r in _KINDS.get(kind, _INT_KINDS) if r in ("sum", "max", "min", "any", "all")])
    op = b.pick("*", "+") if kind != "bool" else "and"
    how = b.pick("correlation", "convolution", "strided", "every", "block", "tail")
    if how in ("correlation", "convolution", "strided"):
        step = 2 if how == "strided" else 1
        dim = f"{step} * {n} + {k}"
        window = f"{b.tensor(stored(), [dim])}[{step} * {i} + k]" if step > 1 else f"{b.tensor(stored(), [dim])}[{i} + k]"
        tap = f"{b.tensor(stored(), [k])}[{k} - 1 - k]" if how == "convolution" else f"{b.tensor(stored(), [k])}[k]"
        return f"{reducer}[k]({window} {op} {tap})" if b.chance(50) else f"{reducer}[k]({tap} {op} {window})"
    if how == "every":
        return f"{reducer}[k]({b.tensor(stored(), [f'2 * {k}'])}[2 * k{b.pick('', ' + 1')}])"
    if how == "block":
        return f"{reducer}[k]({b.tensor(stored(), [k])}[k // 2])"
    return f"{reducer}[k]({b.tensor(stored(), [f'{k} + 2'])}[k + 2])"
