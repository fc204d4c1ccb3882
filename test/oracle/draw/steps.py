# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums whose terms come in steps: transposed convolutions, products of windows that begin and end by a batch or a row, and rows of pages
that a table names."""
from ..element_types import TYPES
from .inputs import positions, whole


def phases(b):
    """A transposed convolution; of C channels, or one of O groups."""
    stride, dilation, pad = b.pick(2, 3, 1, 4), b.pick(1, 2, 3), b.pick(1, 0, 2)
    extra, grouped = b.integer(0, stride - 1), b.chance(30)
    more = 1 + extra - 2 * pad - stride - dilation
    b.size("C"), b.size("O"), b.size("R", least=1)
    b.size("L", least=max(1, -(-(2 * pad - 1 - extra) // stride) + 1))  # some result is left
    kind = b.pick("f32", "i32", "bf16", "f64")
    x = b.tensor(kind, ["O" if grouped else "C", "L"])
    f = b.tensor(kind, ["O", "R"] if grouped else ["C", "O", "R"])
    y = b.tensor("f32" if kind == "bf16" else kind, ["O", f"{stride} * L + {dilation} * R {'-' if more < 0 else '+'} {abs(more)}"], "out")
    at = f"l + {pad} - {dilation} * r"
    indices, channel, taps = ("r", "o", "o, r") if grouped else ("c, r", "c", "c, o, r")
    b.say(f"{y}[o, l] = sum[{indices}, ({at}) % {stride} == 0]({x}.pad(0)[{channel}, ({at}) // {stride}] * {f}[{taps}])")


def bands(b):
    """A product of rows and columns of each batch, of which a condition says where its summed indices begin and end."""
    kind = b.pick("f32", "bf16", "f32", "i32")
    for name in "BMNC":
        b.size(name, least=1)
    summed = {"c": "C", **{i: d for i, d in (("s", "S"), ("t", "T")) if b.chance(75)}}
    for dim in summed.values():
        b.size(dim)
    order = sorted(summed, key=lambda _: b.integer(0, 9))
    dims = [summed[i] for i in order]
    pool = None if kind == "i32" else whole(TYPES[kind])
    x, w = (b.tensor(kind, ["B", d, *dims], pool=pool) for d in "MN")
    y = b.tensor("f32" if kind == "bf16" else kind, ["B", "M", "N"], "out")
    ends = []
    for i in order:
        ends += [f"{i} {b.pick('>= b', '<= b', '< b + 2', '>= b - 1', '>= 2 * b - 1', '<= b // 2 + 1', '>= m', '<= n + 1', '>= b % 2', '!= b', '< C - b')}"
                 for _ in range(b.pick(0, 1, 1, 2))]
    if len(order) > 1 and b.chance(25):
        ends.append(f"{order[0]} + {order[1]} {b.pick('<= b + 1', '>= b', '< C')}")
    at = ", ".join(order)
    b.say(f"{y}[b, m, n] = sum[{', '.join(order + ends)}]({x}[b, m, {at}] * {w}[b, n, {at}])")


def pages(b):
    """Products of rows that lie in pages of C, of which a row of B has the first `length`."""
    b.size("B"), b.size("N"), b.size("C"), b.size("D"), b.size("P")
    kind = b.pick("f32", "i32", "bf16")
    out = "f32" if kind == "bf16" else kind
    q, k = b.tensor(kind, ["B", "D"]), b.tensor(kind, ["P", "C", "D"])
    table, length = b.tensor("i32", ["B", "N"], pool=positions(TYPES["i32"])), b.tensor("i32", ["B"], pool=positions(TYPES["i32"], around=12))
    within = b.pick(f"n * C + c < {length}[b]", f"n * C + c >= {length}[b]", "c <= n")
    if b.chance(50):
        s = b.fresh("t")
        b.say(f"let {s}[b, n, c] = sum[d]({q}[b, d] * {k}[{table}[b, n], c, d])")
        y = b.tensor(out, ["B", "D"], "out")
        return b.say(f"{y}[b, d] = sum[n, c, {within}]({s}[b, n, c] * {out}({k}[{table}[b, n], c, d]))")
    y = b.tensor(out, ["B"], "out")
    b.say(f"{y}[b] = {b.pick('sum', 'max')}[n, c, d, {within}]({q}[b, d] * {k}[{table}[b, n], c, d])")
