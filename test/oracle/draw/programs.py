# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels: what kinds there are, and the statements of each."""
from hypothesis import strategies as st

from ..element_types import TYPES
from .case import Builder
from .covers import covers
from .expressions import FLOATS, INTS, STORED, Scope, access, expression, gather, guarded_gather, operand, proved_gather
from .folds import among, folds, mutual, named, orders, recurrences, tuples
from .functions import functions, prelude
from .inouts import assignments, inouts, races
from .mixed import mixed
from .scatters import scatters
from .stages import flows, images, layers, routed
from .steps import bands, pages, phases
from .inputs import floats, positions, whole
from .wrong import wrong
from .reductions import reduction, solved, window

_CLASSES = ("f32", "i32", "f32", "i64", "u32", "u64", "f64", "bool")


def _left(b, rank=None):
    """Indices of a left side with their dims."""
    dims = [("i", "M"), ("j", "N"), ("l", "K")][:b.pick(0, 1, 1, 2, 2, 3) if rank is None else rank]
    return [(n, b.size(d)) for n, d in dims]


def store(b, kind, text):
    """An output type for a value of class `kind`, and the value with the cast that it needs."""
    if kind in FLOATS and b.chance(25):
        t = b.pick("u8", "u32", "i8", "u16", "i32", "u64", "i64", "i16")
        return t, f"{t}({text})"
    if kind in FLOATS:
        t = b.pick(*STORED[kind]) if kind == "f32" else b.pick("f64", "f32")
        return t, text
    if kind == "bool":
        return "bool", text
    t = b.pick(kind, kind, "i8", "u8", "i16", "f32")
    return t, text if t == kind else f"{t}({text})"


def define(b, left, kind, text, name=None):
    t, value = store(b, kind, text)
    out = b.tensor(t, [d for _, d in left], "out")
    b.say(f"{out}[{', '.join(n for n, _ in left)}] = {value}")
    return out


def pointwise(b):
    for _ in range(b.pick(1, 1, 2)):
        left, kind = _left(b), b.pick(*_CLASSES)
        define(b, left, kind, expression(Scope(b, left, reductions=0), kind, 3))


def gathers(b):
    left, kind = _left(b, b.pick(1, 2)), b.pick(*_CLASSES)
    scope = Scope(b, left, reductions=0)
    if b.chance(15):
        return _far(b)
    if b.chance(20):
        return define(b, left, kind, guarded_gather(scope, kind))
    text = gather(scope, kind)
    if kind != "bool" and b.chance(50):
        text = f"{text} + {gather(scope, kind)}"
    define(b, left, kind, text)


def proofs(b):
    """Gathers that need no bounds form, alone and in a sum."""
    left, kind = _left(b, b.pick(1, 2)), b.pick(*_CLASSES)
    scope = Scope(b, left, reductions=0)
    if kind in INTS and b.chance(30):
        inner = scope.inside({"k": b.size("K")})
        return define(b, left, kind, f"sum[k in 0:K]({proved_gather(inner, kind)})")
    define(b, left, kind, proved_gather(scope, kind))


def views(b):
    """A tensor by other indices, read at plain ones and in a sum."""
    m, n, kind = b.size("M"), b.size("N"), b.pick("f32", "i32", "f64")
    pattern, sizes, dims, shape = b.pick(
        ("a b -> b a", "", [m, n], [n, m]), ("a (h d) -> a h d", ", h=2", [m, f"2 * {n}"], [m, "2", n]), ("a b -> (a b)", "", [m, n], [f"{m} * {n}"]),
        ("(h d) a -> (d a) h", ", d=3", [f"3 * {m}", n], [f"3 * {n}", m]), ("(a b) -> b a", f", a={m}", [f"{m} * {n}"], [n, m]), ("a b -> a b", ", a=2", ["2", n], ["2", n]))
    if "a=M" in sizes:  # a quotient by a size
        b.size("M", least=1)
    x, names = b.tensor(kind, dims), ["i", "j", "l"][:len(shape)]
    view = lambda subscripts: f'view({x}, "{pattern}"{sizes})[{", ".join(subscripts)}]'
    scope = Scope(b, list(zip(names, shape)), reductions=0)
    if len(shape) > 1 and b.chance(40):
        return define(b, list(zip(names, shape))[1:], kind, f"sum[i]({view(names)})")
    define(b, list(zip(names, shape)), kind, f"{view(names)} {b.pick('+', '*', '-')} {access(scope, kind)}")


def _far(b):
    """Subscripts far beyond a tensor, of every integer type; results that tell where they read."""
    left, t = [("i", b.size("M", least=2))], b.pick("u64", "u64", "i64", "u32", "i32")
    far = [TYPES[t].highest, TYPES[t].highest // 2 + 1, 0, TYPES[t].highest - 1, TYPES[t].lowest, 1]
    at = access(Scope(b, left), t, 1, pool=st.sampled_from(far))
    x = b.tensor("i32", [b.size("P", least=3)], pool=st.integers(-50, 50))
    _exact(b, left, "i32", f"{x}.{b.pick('edge', 'wrap', 'reflect')}[{at}]")


def reduced(b):
    left, kind = _left(b), b.pick(*_CLASSES)
    scope = Scope(b, left, reductions=2)
    text = reduction(scope, kind, b.pick(1, 2))
    if kind not in ("bool",) and b.chance(30):
        text = f"{text} {b.pick('+', '*', '-')} {operand(Scope(b, left, reductions=0), kind, 1)}"
    define(b, left, kind, text)


def arguments(b):
    left = _left(b, b.pick(1, 1, 2, 0))
    b.special = b.special or b.chance(60)  # NaN has its place, too
    if b.chance(40):  # NaN among numbers, and nothing else to go wrong
        t, dim, reducer = b.pick("f32", "f16", "f64", "bf16"), b.size("K"), b.pick("argmin", "argmax")
        x = b.tensor(t, [d for _, d in left] + [dim], pool=floats(TYPES[t], True))
        return define(b, left, "i64", f"{reducer}[k{b.pick('', ', k != 1')}]({x}[{', '.join([n for n, _ in left] + ['k'])}])")
    scope = Scope(b, left, reductions=1)
    text = window(scope, "f32", True) if left and b.chance(50) else reduction(scope, "i64", 1, True)
    define(b, left, "i64", text)


def windows(b):
    left, kind = _left(b, b.pick(1, 2)), b.pick(*_CLASSES)
    define(b, left, kind, window(Scope(b, left, reductions=1), kind))


def solutions(b):
    kind = b.pick("f32", "i32", "i64", "bool", "u32")
    left = [("i", b.size("N"))]
    define(b, left, kind, solved(Scope(b, left), kind))


def narrow_extremes(b):
    """max and min of nothing, stored in their own narrow types."""
    left = _left(b, b.pick(0, 1))
    t = b.pick("i8", "u8", "i16", "u16", "i8", "u16", "f16", "bf16", "f8e4m3", "f8e5m2", "i32", "u64", "i64", "u32")
    dim = b.size("K")
    entry = b.pick(f"k in {dim}:{dim}", "k", f"k in 1:{dim}", f"k in 0:{dim} - 1", "k, k % 2 == 1", "k, k > 5", f"k, {access(Scope(b, [('k', dim)]), 'bool', force='k')}")
    at, reducer, read = ", ".join(n for n, _ in left), b.pick("max", "min"), access(Scope(b, [*left, ("k", dim)]), t, force="k")
    out = b.tensor(t, [d for _, d in left], "out")
    if b.chance(20):
        b.say(f"{out}[{at}] {reducer}= {read}" + (f" where {entry[3:]}" if entry.startswith("k,") else ""))
    else:
        b.say(f"{out}[{at}] = {t}({reducer}[{entry}]({read}))")


def masked(b):
    """Sums of products in which a condition excludes infinities and NaN."""
    m, n, k = b.size("M"), b.size("N"), b.size("K")
    kind = b.pick("f32", "f32", "f64")
    strange = floats(TYPES[kind], True)
    dims = [("i", m), ("j", n)][:b.pick(1, 2, 2)]
    first = b.tensor(kind, [m, k], pool=b.pick(strange, floats(TYPES[kind])))
    rhs = f"{first}[i, k]"
    if len(dims) == 2:
        second = b.tensor(kind, [k, n], pool=strange)
        rhs = f"{rhs} * {second}[k, j]"
    length = b.tensor("i32", [m], pool=positions(TYPES["i32"]))
    flag = b.tensor("bool", [k])
    condition = b.pick(f"k < {length}[i]", f"{flag}[k]", "k <= i", "k >= i", "k % 2 == 0", f"k < {length}[i] and {flag}[k]", f"k != {length}[i]")
    reducer = b.pick("sum", "sum", "sum", "max", "min", "mean")
    define(b, dims, kind, f"{reducer}[k, {condition}]({rhs})")


def scans(b):
    """Reductions up to, from and between outer indices: along any dim, several of them, masked, of tables."""
    rank = b.pick(1, 1, 2, 2, 3)
    left = _left(b, rank)
    kind = b.pick("f32", "f32", "i32", "i64", "bool", "f64")
    pool = whole(TYPES[kind]) if kind in FLOATS and b.chance(50) else None
    reducers = ("any", "all") if kind == "bool" else ("sum", "sum", "max", "min", "prod", "mean") if kind in FLOATS else ("sum", "max", "xor", "min")

    def one():
        along = b.integer(0, rank - 1)
        outer, dim = left[along]
        x = b.tensor(kind, [d for _, d in left], pool=pool)
        subscripts = [n for n, _ in left]
        subscripts[along] = "k"
        read = f"{x}[{', '.join(subscripts)}]"
        if b.chance(25):
            flag = b.tensor("bool", [d for _, d in left])
            mask = f"{flag}[{', '.join(subscripts)}]"
            read = f"({read} {'and' if kind == 'bool' else '*'} {mask})" if kind in ("bool", "i32") else f"({read} if {mask} else 0)"
        entry = b.pick(f"k, k <= {outer}", f"k, k < {outer}", f"k, k >= {outer}", f"k, k > {outer}", f"k, k <= {outer} - 2", f"k, k <= {outer} + 1", f"k, k >= {outer} - 1",
                       f"k in 0:{outer} + 1", f"k in {outer}:{dim}", f"k, {outer} >= k, k >= 1", f"k, k <= {outer}, k % 2 == 0", f"k, 2 * k <= {outer}")
        if rank > 1 and b.chance(30):
            across = (along + 1) % rank
            subscripts[across] = "l2"
            read = f"{x}[{', '.join(subscripts)}]"
            entry = f"k, l2, k <= {outer}, l2 {b.pick('<=', '<', '>=')} {left[across][0]}"
        return f"{b.pick(*reducers)}[{entry}]({read})"

    text = one()
    if kind != "bool" and b.chance(30):
        text = f"{text} + {one()}"
    define(b, left, kind, text)


def constants(b):
    """`const` parameters, by their defaults and given."""
    n = b.size("N", least=1)
    kind = b.pick("f32", "i32")
    x = b.tensor(kind, [n])
    step, flag = b.constant("i64", b.integer(1, 3)), b.constant("bool", b.chance(50))
    dim = f"({n} - 1) // {step} + 1"
    y = b.tensor(kind, [dim], "out")
    value = b.pick(f"{x}[{step} * i]", f"{x}.edge[{step} * i - 1]", f"sum[r in 0:{step}]({x}.pad(0)[{step} * i + r])", f"{x}[i // {step}]", f"{x}[{step} * i] * {kind}({step} - 2)",
                   f"sum[r in 0:{step}, r != i]({x}.wrap[i - r])")
    b.say(f"{y}[i] = {value}" if b.chance(50) else f"{y}[i] = {value} if {flag} and i {b.pick('>', '<=')} {step} else {x}.pad(1)[i + {step}]")


def grouped(b):
    g, m, k = b.size("G"), b.size("M"), b.size("K")
    kind = b.pick("f32", "i32")
    pool = whole(TYPES["f32"]) if kind == "f32" else None
    off = b.tensor("i32", [f"{g} + 1"], pool=st.integers(-1, 6))
    x, w = b.tensor(kind, [m, k], pool=pool), b.tensor(kind, [g, k], pool=pool)
    bounds = b.pick(f"{off}[g] <= i < {off}[g + 1]", f"{off}[g] < i <= {off}[g + 1]")
    left = [("i", m)]
    out = b.tensor(kind, [m], "out")
    b.say(f"{out}[i] = sum[k]({x}[i, k] * {w}[g, k]) where {bounds}")


def chained(b):
    """lets, typed and not, and outputs that later statements read."""
    left, kind = _left(b, b.pick(1, 2)), b.pick("f32", "f32", "i32", "i64")
    names, dims = ", ".join(n for n, _ in left), [d for _, d in left]
    known = []
    for _ in range(b.pick(1, 2)):
        scope = Scope(b, left, reductions=1)
        text = f"{access(scope, kind, rank=len(left))} + ({expression(scope, kind, 2)})"
        text = " + ".join([text, *(access(scope, kind, force=n) for n, _ in left)])
        if b.chance(60):
            name = b.fresh("t")
            t = b.pick("", "", *(["f16", "bf16", "f8e4m3"] if kind == "f32" else ["i64", "f32"] if kind == "x" else []))
            b.say(f"let {name}[{names}]{': ' + t if t else ''} = {text}")
            known.append(name)
        else:
            known.append(define(b, left, kind, text) if kind == "f32" else _exact(b, left, kind, text))
    name = b.pick(*known)
    read = f"{name}[{names}]"
    inner, d = left[-1]
    other = f"{name}[{', '.join([n for n, _ in left[:-1]] + ['q'])}]"
    text = b.pick(read, f"{read} + {access(Scope(b, left), kind)}", f"{read} * {b.pick('sum', 'max', 'min')}[q]({other})", f"{b.pick('sum', 'max')}[q]({other})",
                  f"{name}.edge[{', '.join([n for n, _ in left[:-1]] + [inner + ' + 1'])}]", f"{name}.pad(0)[{', '.join([n for n, _ in left[:-1]] + [inner + ' - 1'])}]",
                  f"sum[q, q != {inner}]({other} * {other})")
    if ".edge" in text:
        b.size(d, least=1)
    define(b, left, kind, text)


def _exact(b, left, kind, text):
    out = b.tensor(kind, [d for _, d in left], "out")
    b.say(f"{out}[{', '.join(n for n, _ in left)}] = {text}")
    return out


def asserted(b):
    """A result beside assertions on data, most of which hold."""
    left, kind = _left(b, b.pick(1, 2)), b.pick("f32", "i32", "i64", "u32")
    scope = Scope(b, left, reductions=0)
    for _ in range(b.pick(1, 1, 2)):
        condition = f"{access(scope, kind, b.pick(0, 1, 2))} {b.pick('<', '>=', '!=')} {b.pick('100', '0', '1')}"
        text = b.pick("", ', "it holds"')
        b.say(f"assert {b.pick(condition, condition, f'{condition} or {access(scope, kind, 1)} > 1')}{text}")
    define(b, left, kind, access(scope, kind))


KINDS = {f.__name__: f for f in (pointwise, gathers, reduced, arguments, windows, solutions, narrow_extremes, masked, scans, constants, grouped, chained, inouts, assignments, scatters,
                                 covers, functions, prelude, wrong, proofs, views, asserted, folds, orders, recurrences, phases, pages, mixed, bands, images, layers, flows, routed, mutual, tuples, named, among)}
LARGE = {"races": races}  # for devices whose blocks run beside each other


@st.composite
def cases(draw, kinds=tuple(KINDS)):
    """A case of one of the kinds."""
    kind = draw(st.sampled_from(kinds))
    b = Builder(draw, special=draw(st.integers(0, 3)) == 3)
    {**KINDS, **LARGE}[kind](b)
    case = b.finish()
    case.kind = kind
    return case
