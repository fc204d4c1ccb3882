# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outputs that several statements cover, each element once."""
from .expressions import Scope, access, expression


def covers(b):
    kind = b.pick("f32", "i32")
    n, m = b.size("N"), b.size("M")
    how = b.pick("concat", "interleave", "split", "diagonal", "triangles", "mirror", "rows", "shifted", "merge", "cases")

    def value(indices):
        scope = Scope(b, indices, reductions=1)
        return f"{access(scope, kind, rank=2)} + {expression(scope, kind, 1)}" if not b.chance(30) else access(scope, kind, rank=2)
    i, j = ("i", n), ("j", m)
    if how == "concat":
        y = b.tensor(kind, [f"{n} + {m}"], "out")
        b.say(f"{y}[i] = {value([i])} where i in 0:{n}")
        b.say(f"{y}[j + {n}] = {value([j])} where j in 0:{m}")
    elif how == "shifted":
        y = b.tensor(kind, [f"{n} + {m} + 1", m], "out")
        b.say(f"{y}[i + 1, j] = {value([i, j])} where i in 0:{n}")
        b.say(f"{y}[0, j] = {value([j])}")
        b.say(f"{y}[i + {n} + 1, j] = {value([('i', m), j])} where i in 0:{m}")
    elif how == "interleave":
        y = b.tensor(kind, [f"2 * {n}"], "out")
        b.say(f"{y}[2 * i] = {value([i])} where i in 0:{n}")
        b.say(f"{y}[2 * i + 1] = {value([i])} where i in 0:{n}")
    elif how == "merge":
        y = b.tensor(kind, [f"{n} * {m}"], "out")
        b.say(f"{y}[i * {m} + j] = {value([i, j])} where i in 0:{n}, j in 0:{m}")
    elif how == "split":
        y = b.tensor(kind, [n, m], "out")
        c = b.pick("i < 2", f"i < {n} // 2", "i % 2 == 0", "j < i", f"i + j < {n}", "i > 0 and not i > 2")
        negated = {"i < 2": "i >= 2", "i % 2 == 0": "i % 2 != 0", "j < i": "j >= i"}.get(c, f"not ({c})")
        b.say(f"{y}[i, j] = {value([i, j])} where {c}")
        b.say(f"{y}[i, j] = {value([i, j])} where {negated}")
    elif how == "rows":
        y = b.tensor(kind, [f"{n} + 1", m], "out")
        b.say(f"{y}[i, j] = {value([i, j])} where i in 0:{n}")
        b.say(f"{y}[{n}, j] = {value([j])}")
    elif how == "diagonal":
        y = b.tensor(kind, [n, n], "out")
        b.say(f"{y}[i, j] = {value([i, ('j', n)])} where i != j")
        b.say(f"{y}[i, i] = {value([i])}")
    elif how == "triangles":
        y = b.tensor(kind, [n, n], "out")
        for c in ("i < j", "i == j", "i > j"):
            b.say(f"{y}[i, j] = {value([i, ('j', n)])} where {c}")
    elif how == "mirror":
        y = b.tensor(kind, [n, m], "out")
        b.say(f"{y}[{n} - 1 - i, j] = {value([i, j])} where i in 0:{n}")
    else:
        y = b.tensor(kind, [n], "out")
        for c in ("i < 1", "i > 0 and i < 3", "i >= 3"):
            b.say(f"{y}[i] = {value([i])} where {c}")
