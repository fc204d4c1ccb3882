# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions by reducers of the program, lawful ones and others, in all places that take one; and recurrences."""
from ..element_types import TYPES
from .inputs import positions, whole

# Name, text, the types of the fields that an element gives, and elements over x (floats), n (integers), c (bools).
_REDUCERS = [
    ("last_max", "(a, b: (v: f32, i: i64)) identity (-inf, -1) { b if b.v >= a.v else a }", "x, i64(AT)", "v i"),
    ("saturating", "(a, b: i8) identity 0 { i8(min(max(a + b, -128), 127)) }", "i8(n)", ""),
    ("largest", "(a, b: f32) identity -inf { max(a, b) }", "x", ""),
    ("total", "(a, b: f32) identity 0 { a + b }", "x", ""),
    ("bits", "(a, b: u32) identity 0 { a ^ b }", "u32(n)", ""),
    ("welford", "(a, b: (n: f32, mean: f32, m2: f32)) identity (0, 0, 0) { let n = a.n + b.n\n  let d = b.mean - a.mean\n  let w = b.n / n if n > 0 else 0"
     "\n  (n, a.mean + d * w, a.m2 + b.m2 + d * d * a.n * w) }", "1, x, 0", "n mean m2"),
    ("product", "(a, b: (re: f32, im: f32)) identity (1, 0) { (a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re) }", "x, 1 - x", "re im"),
    ("affine", "(a, b: (a: i32, b: i32)) identity (1, 0) { (a.a * b.a, b.a * a.b + b.b) }", "n, 1", "a b"),
    ("segments", "(a, b: (f: bool, v: i64)) identity (False, 0) { (a.f or b.f, b.v if b.f else a.v + b.v) }", "c, i64(n)", "f v"),
    ("brackets", "(a, b: (close: i32, open: i32)) identity (0, 0) { let m = min(a.open, b.close)\n  (a.close + b.close - m, a.open + b.open - m) }",
     "i32(c), i32(not c)", "close open"),
    ("minus", "(a, b: i32) identity 0 { a - b }", "n", ""),
    ("mean", "(a, b: f32) identity 0 { (a + b) * 0.5 }", "x", ""),
    ("matrix", "(a, b: (p: i32, q: i32, r: i32, s: i32)) identity (1, 0, 0, 1) { (a.p * b.p + a.q * b.r, a.p * b.q + a.q * b.s,"
     " a.r * b.p + a.s * b.r, a.r * b.q + a.s * b.s) }", "n, 1, 1, 0", "p q r s"),
]
_OUT = {"v": "f32", "i": "i64"}


def _element(b, text, dims, at):
    """The element's fields with tensors over `dims`, read at `at`."""
    for letter, kind in (("x", "f32"), ("n", "i32"), ("c", "bool")):
        if any(word == letter for word in text.replace("(", " ").replace(")", " ").replace(",", " ").split()):
            pool = whole(TYPES["f32"]) if kind == "f32" and b.chance(60) else None
            name = b.tensor(kind, dims, pool=pool)
            text = " ".join(f"{name}[{at}]" if word == letter else word for word in _split(text)).replace(" (", "(").replace("( ", "(").replace(" )", ")")
    return text.replace("AT", at.split(", ")[-1])


def _split(text):
    for mark in "(),":
        text = text.replace(mark, f" {mark} ")
    return text.split()


def folds(b):
    name, text, element, fields = b.pick(*_REDUCERS)
    b.functions.append(f"reducer {name}{text}")
    place = b.pick("row", "row", "column", "all", "scan", "reverse", "thinned", "assigned", "scattered")
    if fields and place in ("assigned", "scattered"):
        place = "row"
    kinds = {n: k for n, k in zip(fields.split(), _types(text))} if fields else {"": _types(text)[0]}
    b.size("M"), b.size("N")
    dims, at = (["N", "M"], "k, i") if place == "column" else (["M", "N"], "i, k")
    value = _element(b, element, dims, at)
    if place in ("assigned", "scattered"):
        kind = kinds[""]
        y = b.tensor(kind, ["M"] if place == "assigned" else ["R"], "out")
        if place == "assigned":
            return b.say(f"{y}[i] {name}= {value}")
        b.size("R", least=1)
        p = b.tensor("u8", ["N"], pool=positions(TYPES["u8"], around=8))
        return b.say(f"{y}[{p}[k] % R] {name}= {value}")
    bracket, left = {"row": ("k", "i"), "column": ("k", "i"), "all": ("i, k", ""), "scan": ("k, k <= j", "i, j"), "reverse": ("k, j <= k", "i, j"),
                     "thinned": ("k, k != 1", "i")}[place]
    shape = {"i": ["M"], "": [], "i, j": ["M", "N"]}[left]
    ranges = " where j in 0:N" if "j" in left else ""
    if not fields:
        y = b.tensor(kinds[""], shape, "out")
        return b.say(f"{y}[{left}] = {name}[{bracket}]({value})")
    b.say(f"let w[{left}] = {name}[{bracket}]({value}){ranges}")
    for n, k in kinds.items():
        if b.chance(70) or n == list(kinds)[-1]:
            y = b.tensor(k, shape, "out")
            b.say(f"{y}[{left}] = w[{left}].{n}")


def _types(text):
    inside = text[text.index(":") + 1:text.index("identity")]
    return [part.split(":")[-1].strip(" ()") for part in inside.split(",")]


def recurrences(b):
    """Results of the steps before: one, two, from the end, along any dim, with padding, a choice, or a first statement."""
    kind = b.pick("f32", "f32", "i32", "f16", "u32", "i64")
    rank = b.pick(1, 2, 2)
    b.size("M"), b.size("N")
    dims = ["M", "N"][:rank]
    along = b.integer(0, rank - 1)
    names = ["i", "j"][:rank]
    t, size = names[along], dims[along]
    pool = whole(TYPES[kind]) if TYPES[kind].kind == "float" and b.chance(50) else None
    x, y = b.tensor(kind, dims, pool=pool), b.tensor(kind, dims, "out")
    form, back = b.pick("pad", "pad", "choice", "first", "let"), b.pick(1, 1, 2)
    sign = "+" if form != "first" and b.chance(25) else "-"
    at = lambda steps: ", ".join(f"{n} {sign} {steps}" if n == t else n for n in names)  # noqa: E731
    here, half = ", ".join(names), "0.5 * " if TYPES[kind].kind == "float" else ""
    if b.chance(40):
        half = f"{b.tensor(kind, dims, pool=pool)}[{here}] * "
    if form == "first":
        b.size(size, least=1)
        b.say(f"{y}[{', '.join('0' if n == t else n for n in names)}] = {x}[{', '.join('0' if n == t else n for n in names)}]")
        return b.say(f"{y}[{here}] = {half}{y}[{at(1)}] + {x}[{here}] where {t} in 1:{size}")
    own = "h" if form == "let" else y
    if form == "choice":
        inside = f"{t} > 0" if sign == "-" else f"{t} < {size} - 1"
        value = f"({half}{own}[{at(1)}] if {inside} else {x}[{here}]) + {x}[{here}]"
    else:
        value = f"{half}{own}.pad({b.integer(0, 3)})[{at(1)}] + {x}[{here}]"
        if back == 2:
            value += f" - {half}{own}.pad(0)[{at(2)}]"
    if form == "let":
        b.say(f"let h[{here}] = {value}")
        value = f"h[{here}]"
    cast = f"{kind}({value})" if kind == "f16" and form == "let" else value
    b.say(f"{y}[{here}] = {cast}")


def mutual(b):
    """Two or three results that read each other: a step back along one index, all of the step before, or a table; with padding or first
    statements."""
    kind = b.pick("f32", "f32", "i32", "u32")
    b.size("M"), b.size("N")
    half = "0.25 * " if TYPES[kind].kind == "float" else ""
    pool = whole(TYPES[kind]) if TYPES[kind].kind == "float" else None
    x = b.tensor(kind, ["M", "N"], pool=pool)
    names = [b.tensor(kind, ["M", "N"], "out") for _ in range(b.integer(2, 3))]
    form = b.pick("steps", "steps", "first", "all", "table")
    if form == "first":
        b.size("M", least=1)
        for y in names:
            b.say(f"{y}[0, j] = {x}[0, j]")
    back = "+ 1" if form in ("steps", "all") and b.chance(30) else "- 1"
    for n, y in enumerate(names):
        terms = [f"{x}[i, j]"]
        for k, z in enumerate(names):
            if k < n and b.chance(50):
                terms.append(f"{half}{z}[i, {'k' if form == 'all' else 'j'}]")
            elif k > n or k == 0 or b.chance(60):  # (each needs the first, which needs all)
                pad = "" if form == "first" else f".pad({b.integer(0, 2)})"
                terms.append(f"{half}{z}{pad}[i {back}, {'k' if form == 'all' else 'j - 1' if form == 'table' and b.chance(40) else 'j'}]")
            if form == "table" and k >= n:
                terms.append(f"{half}{z}.pad(0)[i, j - 1]")
        value = " + ".join(terms)
        if form == "all":
            reads = [t for t in terms[1:]]
            value = f"{terms[0]} + {b.pick('sum', 'max')}[k in 0:N]({' + '.join(reads)})" if reads else terms[0]
        b.say(f"{y}[i, j] = {value}" + (" where i in 1:M" if form == "first" else ""))


def tuples(b):
    """A 'let' of tuples that reads itself: a field reads those before it of its own element, and all of elements a fixed number of
    steps back."""
    rank = b.integer(1, 2)
    dims, names = ["M", "N"][:rank], ["i", "j"][:rank]
    for d in dims:
        b.size(d)
    along, back = b.integer(0, rank - 1), b.pick("- 1", "- 1", "- 2", "+ 1")
    here, before = ", ".join(names), ", ".join(f"{n} {back}" if k == along else n for k, n in enumerate(names))
    kinds = [b.pick("f32", "i32", "i32", "u32") for _ in range(b.integer(2, 3))]
    fields, values = [f"f{k}" for k in range(len(kinds))], []
    x = {kind: b.tensor(kind, dims, pool=whole(TYPES[kind]) if kind == "f32" else None) for kind in kinds}
    for n, (field, kind) in enumerate(zip(fields, kinds)):
        half = "0.25 * " if kind == "f32" else ""
        terms = [f"{x[kind]}[{here}]"]
        for k, (other, type_) in enumerate(zip(fields, kinds)):
            read = lambda at, pad="": f"{kind}(t{pad}[{at}].{other})" if type_ != kind else f"t{pad}[{at}].{other}"  # noqa: B023, E731
            if type_ == "f32" != kind:  # (casts of what is large saturate)
                continue
            if k < n and b.chance(50):
                terms.append(half + read(here))
            if k >= n and (k == n or b.chance(60)) or k < n and b.chance(40):
                terms.append(half + read(before, f".pad({b.integer(0, 2)})"))
        value = " + ".join(terms)
        if b.chance(30):
            value = f"({value}) if {x[kind]}[{here}] > 0 else {b.pick('max', 'min')}({terms[-1]}, {terms[0]})"
        values.append(value)
    b.say(f"let t[{here}]: ({', '.join(f'{f}: {k}' for f, k in zip(fields, kinds))}) = ({', '.join(values)})")
    for field, kind in zip(fields, kinds):
        b.say(f"{b.tensor(kind, dims, 'out')}[{here}] = t[{here}].{field}")


def named(b):
    """Two results that read each other through 'let's: at the same element, one step back, or all of the step before."""
    kind = b.pick("f32", "f32", "i32", "u32")
    b.size("M"), b.size("N")
    half = "0.25 * " if TYPES[kind].kind == "float" else ""
    pool = whole(TYPES[kind]) if TYPES[kind].kind == "float" else None
    x = b.tensor(kind, ["M", "N"], pool=pool)
    y, z = (b.tensor(kind, ["M", "N"], "out") for _ in range(2))
    back, form = b.pick("- 1", "- 1", "+ 1"), b.pick("point", "sum", "chain")
    before = f"{y}.pad({b.integer(0, 2)})[i {back}, j]"
    if form == "sum":
        w = b.tensor(kind, ["N", "N"], pool=pool)
        before = f"{b.pick('sum', 'max')}[k]({w}[j, k] * {y}.pad(0)[i {back}, k])"
    typed = f": {kind}" if b.chance(50) else ""
    statements = [f"let a[i, j]{typed} = {x}[i, j] + {half}{before}"]
    a = "a[i, j]"
    if form == "chain":
        statements.append(f"let c[i, j] = {half}{a} + {x}[i, j]")
        a = "c[i, j]"
    statements.append(f"{z}[i, j] = {a} + {half}{z}.pad(1)[i {back}, j]")
    statements.append(f"{y}[i, j] = {half}{z}[i, j] - {a}")
    for statement in statements:
        b.say(statement)


def among(b):
    """Sums and changed memory among statements that read each other: of what these define, or of what they read."""
    kind = b.pick("f32", "f32", "i32", "u32")
    b.size("M"), b.size("N")
    half = "0.25 * " if TYPES[kind].kind == "float" else ""
    pool = whole(TYPES[kind]) if TYPES[kind].kind == "float" else None
    x = b.tensor(kind, ["M", "N"], pool=pool)
    y, z = (b.tensor(kind, ["M", "N"], "out") for _ in range(2))
    back, role = b.pick("- 1", "- 1", "+ 1"), b.pick("out", "out", "inout")
    s = b.tensor(kind, ["M", "N"], role, pool=pool) if b.chance(50) else b.tensor(kind, ["N"], role, pool=pool)
    at = "[j]" if len(b.tensors[s][1]) == 1 else "[i, j]"
    of = lambda *names: b.pick(*[f"{n}[i, j]" for n in names])  # noqa: E731
    read = f" + {half}{s}{at}"
    first = f"{y}[i, j] = {half}{z}.pad({b.integer(0, 2)})[i {back}, j] + {x}[i, j]" + (read if b.chance(30) else "")
    second = f"{z}[i, j] = {half}{y}[i, j] + {x}[i, j]" + (read if b.chance(30) else "")
    sums = [f"{s}{at} {b.pick('+=', '+=', 'max=')} {of(x, y, z)}" for _ in range(b.integer(1, 3))]
    if role == "inout" and at == "[i, j]" and b.chance(50):
        sums[0] = f"{s}{at} = {of(y, z)} + {half}{s}{at}"
    statements = [first, second]
    for statement in sums:
        statements.insert(b.integer(0, len(statements)), statement)
    for statement in statements:
        b.say(statement)


def orders(b):
    """Elements computed from earlier ones in an order of several indices, from sums of what is there, in a triangle, or with the rest
    defined by another statement."""
    kind = b.pick("f32", "f32", "i32", "u32", "i64")
    b.size("M"), b.size("N")
    half = "0.25 * " if TYPES[kind].kind == "float" else ""
    pool = whole(TYPES[kind]) if TYPES[kind].kind == "float" else None
    form = b.pick("solve", "solve", "table", "table", "states", "triangle", "end")
    if form == "solve":  # one system, or several beside each other
        extra = ["N"] * b.integer(0, 1)
        l, x, y = b.tensor(kind, ["M", "M"], pool=pool), b.tensor(kind, ["M", *extra], pool=pool), b.tensor(kind, ["M", *extra], "out")
        n, order = ", n" * len(extra), b.pick("j < i", "j > i", "0 <= j < i")
        return b.say(f"{y}[i{n}] = {x}[i{n}] - {half}sum[j, {order}]({l}[i, j] * {y}[j{n}])")
    x, y = b.tensor(kind, ["M", "N"], pool=pool), b.tensor(kind, ["M", "N"], "out")
    if form == "table":
        reads = ["i - 1, j", "i, j - 1", "i - 1, j - 1", "i - 2, j + 1"]
        if b.chance(30):
            reads = ["i + 1, j", "i, j - 1", "i + 1, j - 1"]
        chosen = reads[:b.integer(2, len(reads))]
        both = [f"{half}{y}.pad({b.integer(0, 2)})[{r}]" for r in chosen]
        return b.say(f"{y}[i, j] = {b.pick('max', 'min')}({both[0]}, {both[1]}) + {' + '.join([*both[2:], x + '[i, j]'])}")
    if form == "states":
        a = b.tensor(kind, ["N", "N"], pool=pool)
        sums = b.pick("sum", "max")
        return b.say(f"{y}[i, j] = {half}{sums}[k]({a}[j, k] * {y}.pad(0)[i - 1, k]) + {x}[i, j]")
    if form == "triangle":
        b.say(f"{y}[i, j] = {x}[i, j] where j > i")
        return b.say(f"{y}[i, j] = {x}[i, j] - {half}sum[k, k < j]({y}[i, k]) where j <= i")
    b.say(f"{y}[i, j] = {x}[i, j] + ({half}{y}[i + 1, N - 1 - j] if i < M - 1 else 1)")
