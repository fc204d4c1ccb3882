# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Expressions of a given class ("f32", "i64", "bool", ..), over the indices and tensors in scope."""
from hypothesis import strategies as st

from ..element_types import TYPES
from .inputs import positions

STORED = {"f32": ("f32", "f16", "bf16", "f8e4m3", "f8e5m2"), "f64": ("f64",), "i32": ("i32", "i8", "u8", "i16", "u16"),
          "i64": ("i64",), "u32": ("u32",), "u64": ("u64",), "bool": ("bool",)}
FLOATS, INTS = ("f32", "f64"), ("i32", "i64", "u32", "u64")
_TAME = ("exp", "sqrt", "tanh", "sin", "log1p", "floor", "ceil", "round", "rint", "trunc", "rsqrt", "exp2", "erf", "expm1")


class Scope:
    """Indices by name, each with the dim it runs over (a text: 0 <= index < dim), or None."""

    def __init__(self, builder, indices, special=False, reductions=1):
        self.b, self.indices, self.reductions = builder, dict(indices), reductions

    def inside(self, more):
        inner = Scope(self.b, self.indices, reductions=self.reductions - 1)
        inner.indices.update(more)
        return inner


def literal(b, kind):
    if kind == "bool":
        return b.pick("True", "False")
    if kind in FLOATS:
        return b.pick("1.0", "2", "0.5", "3", "-1.5", "0.25", "0", "1e-3", "100.0")
    signed = kind[0] == "i"
    return b.pick("1", "2", "3", "7", "0", "5", *(("-1", "-3", "-4") if signed else ("12", "31")), "100")


def plain_subscripts(scope, dims):
    """A subscript inside each dim, or None."""
    found = []
    for dim in dims:
        names = [n for n, d in scope.indices.items() if d == dim]
        if not names:
            return None
        name = scope.b.pick(*names)
        found.append(name if not scope.b.chance(15) else f"{dim} - 1 - {name}")
    return found


def loose_subscript(scope, data=True):
    """Anything that may leave a dim; never an index alone, which would say its range."""
    b = scope.b
    names = list(scope.indices)
    kinds = ["shift", "scale", "constant", "pair"] if names else ["constant"]
    kind = b.pick(*kinds, *(["data"] * 3 if data else []))
    if kind == "data":
        return position(scope)
    if kind == "constant":
        return str(b.integer(-1, 3))
    name = b.pick(*names)
    if kind == "shift":
        return f"{name} {b.pick('+', '-')} {b.integer(1, 3)}"
    if kind == "scale":
        return b.pick(f"2 * {name} - 1", f"3 - {name}", f"{name} // 2 - 1", f"5 - 2 * {name}", f"{name} % 2 + 1", f"-{name}")
    return f"{name} {b.pick('+', '-')} {b.pick(*names)} + 1"


def position(scope):
    """A subscript that is read from a tensor of integers."""
    b = scope.b
    t = b.pick("i32", "i64", "u64", "i8", "u8", "u32", "u64", "i16")
    read = access(scope, t, b.pick(0, 1, 1, 2), pool=positions(TYPES[t]))
    if t in ("i32", "i64", "i8", "i16") and b.chance(30):
        return f"{read} {b.pick('- 1', '+ 1', '* 2', '// 2', '% 3')}"
    return read


def access(scope, stored, rank=None, pool=None, force=None):
    """A read of a new tensor, by plain subscripts, or by a bounds form. `force`: an index that stands alone in one."""
    b = scope.b
    names = list(scope.indices.items())
    known = [(n, d) for n, d in names if d is not None]
    rank = b.integer(0, min(len(known), 2)) if rank is None else min(rank, len(known))
    chosen = [b.pick(*known) for _ in range(rank)]
    if force is not None and force not in [n for n, _ in chosen]:
        chosen.append((force, scope.indices[force]))
    dims = [d for _, d in chosen]
    subscripts = [n if n == force or not b.chance(10) else f"{d} - 1 - {n}" for n, d in chosen]
    form = ".assume_inbounds" if dims and b.chance(3) else ""
    return f"{b.tensor(stored, dims, pool=pool)}{form}[{', '.join(subscripts)}]"


def gather(scope, kind):
    """A read of a new tensor through a bounds form."""
    b = scope.b
    stored = b.pick(*STORED[kind])
    form = b.pick("pad", "edge", "reflect", "wrap")
    dims = [b.size(b.pick("P", "N", "M"), least=form != "pad") for _ in range(b.pick(1, 1, 2))]
    shown = form
    if form == "pad":
        value = {"bool": ("False", "True")}.get(kind, ("0", "1", "2") if kind in INTS else ("0", "-1", "0.5", "-inf"))
        shown = f"pad({b.pick(*value)})"
    subscripts = []
    for dim in dims:
        names = [n for n, d in scope.indices.items() if d == dim]
        subscripts.append(b.pick(*names) if names and b.chance(40) else loose_subscript(scope))
    return f"{b.tensor(stored, dims)}.{shown}[{', '.join(subscripts)}]"


def guarded_gather(scope, kind):
    """A read of a new tensor by data that may lead anywhere, here and there behind a condition on other data."""
    b = scope.b
    t = b.pick("i32", "i64", "u8", "u64", "i16")
    near = positions(TYPES[t], around=3) if b.chance(70) else positions(TYPES[t])
    read = f"{b.tensor(b.pick(*STORED[kind]), [b.size(b.pick('P', 'N', 'M'))])}[{access(scope, t, b.pick(0, 1, 1), pool=near)}]"
    return f"({read} if {access(scope, 'bool', 1)} else {literal(b, kind)})" if b.chance(50) else read


def proved_gather(scope, kind):
    """A read of a new tensor without a bounds form, whose subscripts are data of a range that fits."""
    b = scope.b
    stored = b.pick(*STORED[kind])
    dims, subscripts, guards = [], [], []
    for _ in range(b.pick(1, 1, 2)):
        dim, subscript, guard = _inside(scope)
        dims.append(dim)
        subscripts.append(subscript)
        guards += guard
    read = f"{b.tensor(stored, dims)}[{', '.join(subscripts)}]"
    return f"({read} if {' and '.join(guards)} else {literal(b, kind)})" if guards else read


def _inside(scope):
    """(dim, a subscript that data decide, what has to hold for it to stay inside)."""
    b = scope.b
    t = b.pick("i32", "u8", "i64", "u64", "i8", "u32", "bool", "i16")
    rank = b.pick(0, 1, 1)
    if t == "bool":
        return "2", access(scope, t, rank), []
    read = access(scope, t, rank, pool=positions(TYPES[t]))
    kind = b.pick("clamp", "mask", "modulo", "if", "shift")
    if kind == "mask":
        return "8", f"{read} & 7", []
    if kind == "modulo":
        return "5", b.pick(f"{read} % 5", f"({read} % 4 + 1)", f"5 - 1 - {read} % 5"), []
    if kind == "shift" and t in ("u8", "i8", "i16"):
        return {"u8": ("16", f"{read} >> 4", []), "i8": ("16", f"({read} >> 4) + 8", []), "i16": ("9", f"({read} >> 13) + 4", [])}[t]
    if t[0] == "u":
        return "7", f"min({read}, 6)", []
    if kind == "if":
        dim = b.size(b.pick("P", "N", "M"))
        return dim, read, [b.pick(f"0 <= {read} < {dim}", f"{read} >= 0 and {read} <= {dim} - 1")]
    dim = b.size(b.pick("P", "N", "M"), least=1)
    return dim, b.pick(f"min(max({read}, 0), {dim} - 1)", f"max(min({read}, {dim} - 1), 0)"), []


def leaf(scope, kind):
    b = scope.b
    what = b.pick("read", "read", "read", "literal", "literal", "gather", "gather", "index", "scalar")
    if what == "scalar":
        return b.scalar(kind)
    if what == "literal":
        return literal(b, kind)
    if what == "gather":
        return gather(scope, kind)
    if what == "index" and scope.indices and kind != "bool":
        name = b.pick(*scope.indices)
        return name if kind == "i64" else f"{kind}({name})"
    return access(scope, b.pick(*STORED[kind]))


def operand(scope, kind, depth):
    """An operand, bare at times: then the parsers have to agree about precedence."""
    text = expression(scope, kind, depth)
    return f"({text})" if " if " in text or " or " in text or " and " in text or "not " in text or not scope.b.chance(25) else text


def expression(scope, kind, depth=2):
    b = scope.b
    if depth <= 0 or b.chance(20):
        return leaf(scope, kind)
    if scope.reductions > 0 and b.chance(15):
        from .reductions import reduction
        return reduction(scope, kind, depth - 1)
    if b.chance(12):
        a, c = operand(scope, kind, depth - 1), operand(scope, kind, depth - 1)
        return f"({a} if {operand(scope, 'bool', depth - 1)} else {c})"
    return {"bool": _bool, "f32": _float, "f64": _float}.get(kind, _int)(scope, kind, depth - 1)


def _float(scope, kind, depth):
    b = scope.b
    what = b.pick("binary", "binary", "binary", "minmax", "unary", "math", "cast", "power", "divide")
    if what == "binary":
        return f"{operand(scope, kind, depth)} {b.pick('+', '-', '*')} {operand(scope, kind, depth)}"
    if what == "divide":
        op = b.pick("/", "//", "%")
        return f"{operand(scope, kind, depth) if op == '/' else access(scope, kind)} {op} {operand(scope, kind, depth)}"
    if what == "minmax":
        return f"{b.pick('min', 'max')}({expression(scope, kind, depth)}, {expression(scope, kind, depth)})"
    if what == "unary":
        return f"-{operand(scope, kind, depth)}" if b.chance(50) else f"abs({expression(scope, kind, depth)})"
    if what == "math":
        return f"{b.pick(*_TAME)}({access(scope, kind)})"
    if what == "power":
        return f"({expression(scope, kind, depth)}) ** 2"
    source = b.pick("i32", "i64", "u32", "bool", "narrow", "f64" if kind == "f32" else "f32")
    if source == "narrow":
        return f"{kind}({b.pick('bf16', 'f16', 'f8e4m3', 'f8e5m2')}({expression(scope, kind, depth)}))"
    return f"{kind}({expression(scope, source, depth)})"


def _int(scope, kind, depth):
    b = scope.b
    what = b.pick("binary", "binary", "divide", "divide", "bits", "shift", "minmax", "unary", "cast", "narrow")
    one, two = (lambda: operand(scope, kind, depth)), (lambda: operand(scope, kind, depth))
    if what == "binary":
        return f"{one()} {b.pick('+', '-', '*')} {two()}"
    if what == "divide":
        return f"{one()} {b.pick('//', '%')} {two()}"
    if what == "bits":
        return f"{one()} {b.pick('&', '|', '^')} {two()}"
    if what == "shift":
        count = expression(scope, b.pick(kind, kind, "i32"), depth)
        left = f"{kind}({expression(scope, kind, depth)})" if b.chance(75) else str(b.integer(0, 9))  # a literal takes the count's type
        return f"{left} {b.pick('<<', '>>')} ({count})" if left[0] == kind[0] else f"{kind}({left} {b.pick('<<', '>>')} ({count}))"
    if what == "minmax":
        return f"{b.pick('min', 'max')}({expression(scope, kind, depth)}, {expression(scope, kind, depth)})"
    if what == "unary":
        return f"abs({expression(scope, kind, depth)})" if kind[0] == "i" and b.chance(33) else b.pick("~", "-") + one()
    if what == "narrow":
        to = b.pick("i8", "u8", "i16", "u16")
        inner = f"{to}({expression(scope, b.pick(kind, 'f32'), depth)})"
        return inner if kind == "i32" and b.chance(50) else f"{kind}({inner})"
    return f"{kind}({expression(scope, b.pick('f32', 'i64', 'u32', 'i32', 'bool', 'f64', 'u64'), depth)})"


def _bool(scope, kind, depth):
    b = scope.b
    what = b.pick("compare", "compare", "chain", "and", "not", "test")
    if what in ("and", "not"):
        a = operand(scope, "bool", depth)
        return f"not {a}" if what == "not" else f"{a} {b.pick('and', 'or')} {operand(scope, 'bool', depth)}"
    if what == "test":
        return f"{b.pick('isnan', 'isinf', 'isfinite')}({expression(scope, 'f32', depth)})"
    of = b.pick("f32", "i32", "i64", "u32", "u64")
    compare = lambda: b.pick("<", "<=", ">", ">=", "==", "!=")
    text = f"{operand(scope, of, depth)} {compare()} {operand(scope, of, depth)}"
    return text if what == "compare" else f"{text} {compare()} {operand(scope, of, depth)}"
