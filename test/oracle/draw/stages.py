# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of stages, each of which reads what the one before has left: windows with steps and dilation under several reductions,
products with norms between them, scatters whose results are gathered, and rows that data sends to one of several matrices."""
from ..element_types import TYPES, is_float
from .inputs import elements, positions, whole

_FLOATS = ("f32", "bf16", "f16", "f32", "f8e4m3", "f8e5m2")
_INTEGERS = ("i32", "i8", "u8", "i16", "i4", "u4")


class _Stages:
    """What there is: tensors with the indices that they are over, by class."""

    def __init__(self, b, kind, dims, sizes):
        self.b, self.kind, self.dims, self.halves = b, kind, dims, True
        for name, options in sizes.items():
            b.sizes[name] = b.pick(*options)
            b.size(name, least=1)

    @property
    def isFloat(self):
        return self.kind in ("f32", "f64")

    def stored(self):
        return self.b.pick(*{"f32": _FLOATS, "i32": _INTEGERS}.get(self.kind, (self.kind,)))

    def input(self, dims, t=None):
        """A new parameter; mostly with whole numbers, which no order of sums changes."""
        t = t or self.stored()
        small = is_float(TYPES[t]) and not (self.b.special and self.b.chance(40)) and self.b.chance(70)
        return self.b.tensor(t, list(dims), pool=whole(TYPES[t]) if small else elements(TYPES[t], self.b.special))

    def over(self, indices, t=None):
        """A new parameter, read at indices."""
        return f"{self.input([self.dims[i] for i in indices], t)}[{', '.join(indices)}]"

    def at(self, value, **instead):
        name, indices = value
        return f"{name}[{', '.join(instead.get(i, i) for i in indices)}]"

    def define(self, indices, text, kind=None):
        """As a `let`, perhaps rounded, or as an output."""
        b, kind = self.b, kind or self.kind
        at, dims = ", ".join(indices), [self.dims[i] for i in indices]
        if b.chance(50):
            name, t = b.fresh("t"), b.pick("", "", "bf16", "f16" if self.halves else "bf16") if kind == "f32" else ""
            ranges = ", ".join(f"{i} in 0:{d}" for i, d in zip(indices, dims))
            b.say(f"let {name}[{at}]{': ' + t if t else ''} = {text}" + (f" where {ranges}" if indices else ""))
        else:
            t = b.pick("f32", "f32", "bf16", "f16" if self.halves else "bf16", "f8e5m2") if kind == "f32" else b.pick(kind, kind, "i8", "u16") if kind == "i32" else kind
            name = b.tensor(t, dims, "out")
            b.say(f"{name}[{at}] = {text if t == kind or kind == 'f32' else f'{t}({text})'}")
        return name, tuple(indices)

    def finish(self, value, kind=None):
        """An output, if there is none."""
        if not self.b.results and not any(p.startswith("inout") for p in self.b.params.values()):
            name, indices = value
            out = self.b.tensor(kind or self.kind, [self.dims[i] for i in indices], "out")
            self.b.say(f"{out}[{', '.join(indices)}] = {self.at(value)}")


def _reduce(s, value, over, where=""):
    """Some reduction of a value over indices, as a text."""
    b, own = s.b, ", ".join(over)
    term = s.at(value)
    if b.chance(20):
        term = f"({term} if {s.over(over, 'bool')} else {b.pick('0', '1')})"
    if s.isFloat and s.kind == "f32" and b.chance(20):
        return f"{b.pick('var', 'logsumexp', 'norm2')}[{own}]({term})"
    return f"{b.pick('sum', 'max', 'min', 'sum', *(['mean'] if s.isFloat else ['xor']))}[{own}{where}]({term})"


def _norm(s, value, over):
    """A value with something of its row taken out, as a text."""
    b, own = s.b, ", ".join(over)
    here = s.at(value)
    if s.kind == "f32" and b.chance(60):
        return b.pick(f"softmax[{own}]({here})", f"layernorm[{own}]({here})", f"rmsnorm[{own}]({here})", f"{here} / (1 + norm1[{own}]({here}))")
    return b.pick(f"{here} - {b.pick('max', 'min')}[{own}]({here})", f"{here} * 2 - sum[{own}]({here})", f"max({here}, {b.pick('sum', 'max')}[{own}]({here}))")


def _axis(b, dim, i, r):
    """A subscript of a dim with steps and dilation, now and then from the end."""
    step, dilation, shift = b.pick(2, 3, 1, 4), b.pick(1, 2, 3), b.pick(1, 0, 2, 4)
    place = f"{step} * {i} + {dilation} * {r} - {shift}"
    return f"{dim} - 1 - ({place})" if b.chance(15) else place


def images(b):
    """Windows of an image by steps, with dilation and a bounds form, as products with a filter or as they are; then reductions over
    channels, rows and all points, norms, and windows of what came out."""
    two, kind = b.chance(65), b.pick("f32", "f32", "f32", "i32", "f64")
    s = _Stages(b, kind, {"c": "C", "o": "O", "i": "P", "j": "Q"},
                {"C": (2, 1, 3, 4), "O": (3, 1, 2, 5, 8), "H": (7, 5, 1, 9, 12, 17), "W": (6, 3, 1, 11, 16), "P": (4, 3, 1, 7, 9), "Q": (5, 2, 1, 8)})
    taps = [str(b.pick(3, 2, 1, 5)), str(b.pick(3, 2, 1, 4))][:1 + two]
    form = b.pick(".pad(0)", ".pad(0)", ".pad(0)", ".edge", ".reflect", ".wrap", ".pad(1)")
    window, names = ["r", "q"][:1 + two], ["i", "j"][:1 + two]
    at = [_axis(b, dim, i, r) for dim, i, r in zip("HW", names, window)]
    ranges = [f"{r} in 0:{n}" for r, n in zip(window, taps)]
    condition = b.pick("", "", "", "", f", {window[-1]} != 1", f", ({names[0]} + {window[0]}) % 2 == 0", f", {window[0]} <= {names[-1]}")
    style = b.pick("full", "full", "depth", "groups", "plain", "plain")
    if style == "full":
        x, f = s.input(["C", *"HW"[:1 + two]]), s.input(["O", "C", *taps])
        text = f"sum[c, {', '.join(window)}{condition}]({x}{form}[c, {', '.join(at)}] * {f}[o, c, {', '.join(window)}])"
    elif style == "groups":
        x, f = s.input(["2 * C", *"HW"[:1 + two]]), s.input(["O", "C", *taps])
        text = f"sum[c, {', '.join(window)}{condition}]({x}{form}[o % 2 * C + c, {', '.join(at)}] * {f}[o, c, {', '.join(window)}])"
    else:
        x = s.input(["O", *"HW"[:1 + two]])
        term = f"{x}{form}[o, {', '.join(at)}]"
        if style == "depth":
            term += f" * {s.input(['O', *taps])}[o, {', '.join(window)}]"
        reducer = b.pick("sum", "max", "min", *(["mean"] if s.isFloat else [])) if style == "plain" else "sum"
        text = f"{reducer}[{', '.join(ranges)}{condition}]({term})"
    value = s.define(["o", *names], text)
    for _ in range(b.pick(1, 2, 2, 3)):
        value = _behind(s, value, two) or value
    s.finish(value)


def _behind(s, value, two):
    """A stage behind windows: the value that goes on, or None."""
    b, indices = s.b, list(value[1])
    points = indices[1:]
    what = b.pick("channels", "points", "row", "norm", "pool", "scan", "place")
    if what == "channels":
        s.define(points, _reduce(s, value, ["o"]))
    elif what == "points":
        row = s.define(["o"], _reduce(s, value, points))
        return s.define(indices, f"{s.at(value)} {b.pick('-', '*', '+')} {s.at(row)}")
    elif what == "row" and two:
        s.define(["o", "i"], _reduce(s, value, ["j"], b.pick("", ", j <= i", ", j != 1")))
    elif what == "norm":
        return s.define(indices, _norm(s, value, b.pick(["o"], points, indices)))
    elif what == "pool":
        step, n = b.pick(2, 1, 3), b.pick(2, 3)
        at = {p: f"{step} * {p} + {w} - {b.pick(0, 1)}" for p, w in zip(points, "uv")}
        read = s.at((value[0] + b.pick(".pad(0)", ".edge", ".wrap"), value[1]), **at)
        return s.define(indices, f"{b.pick('max', 'sum', 'min')}[{', '.join(f'{w} in 0:{n}' for w in 'uv'[:len(points)])}]({read})")
    elif what == "scan":
        along = b.pick(*points)
        return s.define(indices, f"{b.pick('sum', 'max')}[k, k {b.pick('<=', '>=', '<')} {along}]({s.at(value, **{along: 'k'})})")
    elif what == "place":
        s.define(["o"], f"{b.pick('argmax', 'argmin')}[{points[-1]}]({s.at(value, i='0') if two else s.at(value)})", "i64")
    return None


def layers(b):
    """Two to four products in a row, with norms, masks by index and by length, biases, residues and positions between them."""
    kind = b.pick("f32", "f32", "f32", "i32")
    s = _Stages(b, kind, {"i": "M", "j": "N", "k": "K", "l": "L"}, {"M": (5, 1, 9, 17, 33), "N": (7, 3, 16, 1, 20), "K": (4, 8, 1, 13), "L": (6, 2, 16, 11)})
    value, length = (s.input(["M", "K"]), ("i", "k")), None
    # What a row's own end excludes may show on a matrix unit where it is infinite or NaN: such programs have neither, and no type that overflows.
    s.halves = b.special or b.chance(50)
    for _ in range(b.pick(2, 2, 3, 4)):
        own = value[1][1]
        other = b.pick(*[i for i in "jkl" if i != own])
        term, where = s.at(value), ""
        what = b.pick("", "", "", "index", "length", "point", "factor")
        if what == "index":
            where = f", {own} {b.pick('% 3 != 1', '> 1', *([] if s.halves else ['<= i', '< i', '>= i', f'<= {other}']))}"
        elif what == "length" and not s.halves:
            length = length or b.tensor("i32", ["M"], pool=positions(TYPES["i32"], around=20))
            where = f", {own} < {length}[i]"
        elif what == "point":
            term = f"({term} if {s.over(['i', own], 'bool')} else 0)"
        elif what == "factor":
            term = f"{term} * {s.over([own])}"
        weight = s.over([own, other]) if b.chance(60) else s.over([other, own])
        text = f"sum[{own}{where}]({term} * {weight})"
        if b.chance(30):
            text += f" + {s.over([other])}"
        if kind == "f32" and b.chance(25):
            text = f"{b.pick('relu', 'relu', 'abs')}({text})"
        if b.chance(20):
            text += f" - {s.over(['i', other])}"
        value = s.define(["i", other], text)
        if b.chance(45):
            value = s.define(value[1], _norm(s, value, [b.pick(other, other, "i")]))
        if b.chance(15):
            s.define(["i"], f"{b.pick('argmax', 'argmin')}[{other}]({s.at(value)})", "i64")
        if b.chance(20):
            s.define(["i"], _reduce(s, value, [other]))
    s.finish(value)


def flows(b):
    """Points that are scattered, and read again where they went, by data of another type: counts, starts, ranks and places of a sort,
    sums of rows, extremes; then sums, gathers and second scatters of these."""
    kind = b.pick("f32", "f32", "i32", "i64", "f64")
    s = _Stages(b, kind, {"n": "N", "r": "R", "d": "D", "m": "M"}, {"N": (9, 1, 17, 33, 5, 64), "R": (4, 1, 7, 3, 16), "D": (3, 1, 8, 5), "M": (6, 2, 11)})
    t = b.pick("i32", "i64", "u8", "i16", "u32")
    keys = b.tensor(t, ["N"], pool=positions(TYPES[t], around=12))
    key = lambda n: f"i64({keys}[{n}]) % R" if t[0] == "i" else f"i64({keys}[{n}] % 64) % R"
    here = key("n")
    form, order = b.pick("+=", "+=", "max=", "min="), b.pick("", "", "", " order(any)")
    rows = b.chance(60)
    y, x = b.tensor(kind, ["R", "D"] if rows else ["R"], b.pick("out", "out", "inout"), pool=whole(TYPES[kind]) if s.isFloat else None), s.input(["N", "D"] if rows else ["N"])
    cast = "" if kind in ("f32", "i32") else kind
    d = ", d" if rows else ""
    for _ in range(b.pick(1, 1, 2)):
        where = b.pick("", "", " where n % 2 == 0", " where n > 1")
        b.say(f"{y}[{here}{d}] {form} {cast + '(' if cast else ''}{x}[n{d}]{')' if cast else ''}{where}{order}")
    for _ in range(b.pick(1, 2, 2, 3)):
        what = b.pick("back", "back", "far", "sort", "total", "again", "norm")
        own = ["n", "d"] if rows else ["n"]
        if what == "back":  # what its row has become, at each point
            other = b.pick("n", "n - 1", "R - 1 - n", f"{here} + 1")
            s.define(own, f"{y}[{here}{d}] {b.pick('-', '*', '+')} {y}{b.pick('.edge', '.wrap', '.pad(0)')}[{other}{d}]")
        elif what == "far":
            u = b.pick("i32", "i64", "u64", "u32", "i8")
            at = f"{b.tensor(u, ['M'], pool=positions(TYPES[u], around=9))}[m]"
            s.define(["m", *own[1:]], f"{y}{b.pick('.edge', '.wrap', '.pad(1)', '.reflect')}[{at}{d}]")
        elif what == "sort":
            _sort(s, key)
        elif what == "total":
            s.define(["r"], f"{b.pick('sum', 'max', 'min')}[{'q, d, ' if rows else 'q, '}q {b.pick('<=', '<', '!=')} r]({y}[q{d}])")
        elif what == "again":  # of what was gathered, by other keys
            other = b.tensor("i32", ["N"], pool=positions(TYPES["i32"], around=12))
            again = b.tensor(kind, ["M", "D"] if rows else ["M"], "out")
            b.say(f"{again}[i64({other}[n]) % M{d}] {b.pick('+=', 'max=', '+=')} {y}[{here}{d}]{b.pick('', ' * 2', ' where n > 0')}{b.pick('', '', ' order(any)')}")
        elif rows:
            s.define(["r", "d"], _norm(s, (y, ("r", "d")), [b.pick("d", "r")]))
    b.size("R")


def _sort(s, key):
    """Counts, starts, and places of points in the order of their keys."""
    b, here, count, start, place = s.b, key("n"), *(s.b.fresh(n) for n in ("count", "start", "place"))
    out = b.tensor("i64", ["N"], "out")
    b.say(f"let {count}[r] = " + b.pick(f"sum[n](i32({here} == r))", f"sum[n, {here} == r](i32(1))") + " where r in 0:R")
    b.say(f"let {start}[r] = sum[q, q < r]({count}[q]) where r in 0:R")
    b.say(f"let {place}[n] = {start}[{here}] + sum[q, q < n](i32({key('q')} == {here})) where n in 0:N")
    what = b.pick("places", "unique", "inverse")
    if what == "places":
        b.say(f"{out}[n] = i64({place}[n])")
    elif what == "unique":
        b.say(f"{out}.unique[min(max({place}[n], 0), N - 1)] = n * 10 + {here}")
    else:
        b.say(f"{out}[q] = sum[n](n if i64({place}[n]) == q else 0)")


def routed(b):
    """Rows that are multiplied by the matrix that their data chooses, by a bound, a form or a condition, or that groups of bounds hold;
    results weighed, normed, put back where the rows came from."""
    kind = b.pick("f32", "f32", "i32")
    s = _Stages(b, kind, {"p": "P", "x": "X", "k": "K", "j": "J", "t": "T"},
                {"P": (9, 1, 17, 33, 5, 40), "X": (3, 1, 2, 5), "K": (4, 1, 8, 16), "J": (5, 1, 8, 3), "T": (6, 1, 11)})
    rows, t = s.over(["p", "k"]), b.pick("i32", "i64", "u8", "i8", "u32")
    turned = b.chance(50)
    w = s.input(["X", "J", "K"] if turned else ["X", "K", "J"])
    weight = lambda x, form="": f"{w}{form}[{x}, {'j, k' if turned else 'k, j'}]"
    how = b.pick("modulo", "form", "form", "if", "if", "around", "bounds", "bounds", "clamp")
    if how == "bounds":
        off = b.tensor("i32", ["X + 1"], pool=positions(TYPES["i32"], around=30))
        bounds = b.pick(f"{off}[x] <= p < {off}[x + 1]", f"{off}[x] < p <= {off}[x + 1]", f"{off}[x] <= p, p < {off}[x + 1]")
        scale = f" * {s.over(['x'])}" if b.chance(30) else ""
        name = b.tensor(kind, ["P", "J"], "out")
        b.say(f"{name}[p, j] = sum[k]({rows} * {weight('x')}{scale}) where {bounds}")
        value = (name, ("p", "j"))
    else:
        keys = b.tensor(t, ["P"], pool=positions(TYPES[t], around=8))
        key, one = f"{keys}[p]", "1" if kind == "i32" else "1.0"
        product = lambda x, form="": f"sum[k]({rows} * {weight(x, form)})"
        signed = t[0] == "i"
        held = f"0 <= {key} < X" if signed else f"{key} < 3"
        text = {"modulo": lambda: product(f"i64({key}) % X" if signed else f"i64({key} % 64) % X"),
                "form": lambda: product(key, b.pick(".pad(0)", ".pad(1)", ".edge", ".wrap", ".reflect")),
                "if": lambda: f"({product(key)} if {held} else {one})" if signed else product(key, ".pad(2)"),
                "around": lambda: f"sum[k]({rows} * ({weight(key)} if {held} else 0))" if signed else product(key, ".edge"),
                "clamp": lambda: product(f"min(max({key}, 0), X - 1)" if signed else f"min(i64({key} % 64), X - 1)")}[how]()
        if b.chance(25) and how in ("form",):
            text += f" * {s.input(['X'])}.pad(1)[{key}]"
        value = s.define(["p", "j"], text)
    for _ in range(b.pick(0, 1, 1, 2)):
        what = b.pick("norm", "weigh", "back", "reduce")
        if what == "norm":
            value = s.define(value[1], _norm(s, value, [b.pick("j", "p")]))
        elif what == "weigh":
            value = s.define(value[1], f"{s.at(value)} * {s.over(['p'])}")
        elif what == "back":
            to, out = b.tensor("i32", ["P"], pool=positions(TYPES["i32"], around=12)), b.tensor(kind, ["T", "J"], b.pick("out", "inout"))
            b.say(f"{out}[i64({to}[p]) % T, j] {b.pick('+=', '+=', 'max=')} {s.at(value)}{b.pick('', '', ' order(any)')}")
        else:
            s.define([value[1][1]], _reduce(s, value, ["p"]))
    s.finish(value)
