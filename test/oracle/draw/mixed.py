# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of several statements of unlike kinds, each of which reads what those before have left: products, scans, recurrences, gathers,
windows, reductions, scatters and an inout, in wide and narrow types, at odd sizes."""
from ..element_types import TYPES, is_float
from .inputs import elements, positions, whole

_SIZES = (3, 7, 5, 8, 1, 13, 9, 16, 2, 17, 31, 33)
_INDEX = {"M": "i", "N": "j", "K": "k"}
_STORED = {"f32": ("f32", "bf16", "f16", "f8e4m3", "f32", "f8e5m2"), "i32": ("i32", "i8", "u8", "i4", "i16", "u4")}


class _Mix:
    """The statements so far: `values` are tensors with numbers by class and dims."""

    def __init__(self, b):
        self.b, self.values, self.inout = b, [], None
        for name in _INDEX:
            b.sizes[name] = b.pick(*_SIZES)
            b.size(name, least=1)

    def pool(self, t):
        return whole(TYPES[t]) if is_float(TYPES[t]) and self.b.chance(60) else elements(TYPES[t], self.b.special)

    def read(self, kind, dims, at, form=""):
        """A value of that class over `dims`, a new parameter or an earlier result, at subscripts."""
        found = [name for name, *of in self.values if of == [kind, dims]]
        turned = [name for name, *of in self.values if of == [kind, dims[::-1]]] if len(dims) == 2 and not form else []
        if found and self.b.chance(65):
            return f"{self.b.pick(*found)}{form}[{', '.join(at)}]"
        if turned and self.b.chance(50):
            return f"{self.b.pick(*turned)}[{', '.join(at[::-1])}]"
        t = self.b.pick(*_STORED[kind])
        name = self.b.tensor(t, list(dims), pool=self.pool(t))
        self.values.append([name, kind, dims])
        return f"{name}{form}[{', '.join(at)}]"

    def positions(self, dim, of):
        """Numbers along `dim` that are meant as subscripts of `of`; no parameter can say so, a form or `%` has to."""
        found = [name for name, *known in self.values if known == ["i64", (dim,)]]
        if found and self.b.chance(60):
            return f"{self.b.pick(*found)}[{_INDEX[dim]}]"
        t = self.b.pick("i32", "i64", "i16")
        return f"{self.b.tensor(t, [dim], pool=positions(TYPES[t], around=12))}[{_INDEX[dim]}]"

    def define(self, kind, dims, value, own=None):
        """As a `let`, perhaps rounded, or as an output."""
        b, at = self.b, ", ".join(_INDEX[d] for d in dims)
        if own or b.chance(45):
            name = own or b.fresh("t")
            kept = b.pick("", "", "bf16", "f16", "f32") if kind == "f32" and not own else ""
            ranges = ", ".join(f"{_INDEX[d]} in 0:{d}" for d in dims)
            b.say(f"let {name}[{at}]{': ' + kept if kept else ''} = {value}" + (f" where {ranges}" if not own else ""))
        else:
            t = b.pick(*_STORED[kind]) if kind in _STORED else kind
            t = t if t not in ("i4", "u4") else "i8"
            name = b.tensor(t, list(dims), "out")
            b.say(f"{name}[{at}] = {value if t == kind or kind == 'f32' else f'{t}({value})'}")
        self.values.append([name, kind, dims])


def _dims(b):
    """Two different dims, and the third one."""
    return b.pick(("M", "N", "K"), ("M", "K", "N"), ("N", "M", "K"), ("K", "M", "N"), ("N", "K", "M"))


def _product(m, kind):
    b, (x, y, z) = m.b, _dims(m.b)
    i, j, k = _INDEX[x], _INDEX[y], _INDEX[z]
    where = b.pick("", "", "", f", {k} <= {i}", f", {k} < {j}", f", {k} % 2 == 0")
    if b.chance(15):
        where = f", {k} < {b.tensor('i32', [x], pool=positions(TYPES['i32'], around=20))}[{i}]"
    first = m.read(kind, (x, z), (i, k))
    if b.chance(20):
        first = f"({first} if {b.tensor('bool', [x, z])}[{i}, {k}] else 0)"
    value = f"sum[{k}{where}]({first} * {m.read(kind, (z, y), (k, j))})"
    if b.chance(30):
        value += f" + {m.read(kind, (y,), (j,))}"
    m.define(kind, (x, y), value)


def _scan(m, kind):
    b, (x, y, _) = m.b, _dims(m.b)
    along = b.pick(0, 1)
    at = [_INDEX[x], _INDEX[y]]
    outer = at[along]
    at[along] = "q"
    condition = b.pick(f"q <= {outer}", f"q < {outer}", f"q >= {outer}", f"q <= {outer}, q > {outer} - 3")
    m.define(kind, (x, y), f"{b.pick('sum', 'sum', 'max', 'min')}[q, {condition}]({m.read(kind, (x, y), at)})")


def _recurrence(m, kind):
    b, (x, y, _) = m.b, _dims(m.b)
    i, j, name = _INDEX[x], _INDEX[y], m.b.fresh("h")
    step = b.pick("- 1", "- 1", "+ 1")
    factor = b.pick("0.5", m.read(kind, (x, y), (i, j))) if kind == "f32" else "3"
    m.define(kind, (x, y), f"{factor} * {name}.pad({b.pick(0, 1)})[{i}, {j} {step}] + {m.read(kind, (x, y), (i, j))}", name)


def _gather(m, kind):
    b, (x, y, z) = m.b, _dims(m.b)
    at = m.positions(x, z)
    if b.chance(30):
        at, form = f"i64({at}) % {z}", ""
    else:
        form = b.pick(".edge", ".wrap", ".pad(1)", ".reflect")
    m.define(kind, (x, y), m.read(kind, (z, y), (at, _INDEX[y]), form))


def _window(m, kind):
    b, (x, y, _) = m.b, _dims(m.b)
    i, j, taps = _INDEX[x], _INDEX[y], b.pick(3, 2, 5)
    form, shift = b.pick(".pad(0)", ".pad(0)", ".edge", ".wrap", ".reflect"), b.pick(1, 0, 2)
    terms = m.read(kind, (x, y), (i, f"{j} + w - {shift}"), form)
    if b.chance(40):
        terms = f"{terms} * {b.tensor(kind, [str(taps)], pool=m.pool(kind))}[w]"
    m.define(kind, (x, y), f"{b.pick('sum', 'sum', 'max', 'mean' if kind == 'f32' else 'min')}[w in 0:{taps}]({terms})")


def _row(m, kind):
    b, (x, y, _) = m.b, _dims(m.b)
    i, j = _INDEX[x], _INDEX[y]
    terms = m.read(kind, (x, y), (i, j))
    if b.chance(30):
        return m.define("i64", (x,), f"{b.pick('argmax', 'argmin')}[{j}]({terms})")
    where = b.pick("", "", f", {j} != {i}", f", {j} > {i}")
    m.define(kind, (x,), f"{b.pick('sum', 'max', 'min', *(['mean', 'logsumexp'] if kind == 'f32' else ['xor']))}[{j}{where}]({terms})")


def _point(m, kind):
    b, (x, y, _) = m.b, _dims(m.b)
    i, j = _INDEX[x], _INDEX[y]
    value, row = m.read(kind, (x, y), (i, j)), m.read(kind, (x,), (i,))
    other = m.read(kind, (x, y), (i, j))
    if kind == "f32" and b.chance(30):
        return m.define(kind, (x, y), f"softmax[{j}]({value})")
    m.define(kind, (x, y), b.pick(f"{value} - {row}", f"{value} * {row} + {other}", f"max({value}, {row})", f"({value} if {other} > {row} else {row})",
                                  f"({value} if {i} <= {j} else 0) + {other}"))


def _scatter(m, kind):
    b, (x, y, z) = m.b, _dims(m.b)
    out = b.tensor(kind, [z, y], b.pick("out", "inout"), pool=m.pool(kind))
    form = b.pick("+=", "+=", "max=", "min=")
    for _ in range(b.pick(1, 1, 2)):
        at = b.pick(f"i64({m.positions(x, z)}) % {z}", f"{_INDEX[x]} % {z}", f"{_INDEX[x]} // 2 % {z}")
        order = b.pick("", "", "", " order(any)")
        b.say(f"{out}[{at}, {_INDEX[y]}] {form} {m.read(kind, (x, y), (_INDEX[x], _INDEX[y]))}{order}")
    m.values.append([out, kind, (z, y)])


def _inout(m, kind):
    b, (x, y) = m.b, ("M", "N")
    if m.inout is None:
        m.inout = (b.tensor(kind, [x, y], "inout", pool=m.pool(kind)), kind)
        m.values.append([m.inout[0], kind, (x, y)])
    z, kind = m.inout
    read = b.pick(f"{z}[i, j]", f"{z}[M - 1 - i, j]", f"{z}[i, N - 1 - j]", f"{z}.edge[i, j + 1]", f"{z}.pad(0)[i - 1, j]", f"max[q]({z}[i, q])", f"sum[q]({z}[q, j])")
    where = b.pick("", "", " where i in 1:M", " where i < M - 1 - i", " where j % 2 == 0", f" where {b.tensor('bool', ['M'])}[i]")
    b.say(f"{z}[i, j] = {read} + {m.read(kind, (x, y), ('i', 'j'))}{where}")


_STATEMENTS = (_product, _scan, _gather, _window, _row, _point, _scatter, _inout, _recurrence, _product, _scatter)


def mixed(b):
    m, count = _Mix(b), b.integer(3, 6)
    for _ in range(count):
        b.pick(*_STATEMENTS)(m, b.pick("f32", "f32", "i32"))
    if m.inout is None and not b.results:
        name, kind, dims = m.values[-1]
        at = ", ".join(_INDEX[d] for d in dims)
        b.say(f"{b.tensor(kind, list(dims), 'out')}[{at}] = {name}[{at}]")
