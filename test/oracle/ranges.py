# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The range of an index that no bracket or `where` gives: from the accesses."""
from functools import reduce

from .core import Const, Index, Op, Read, mentions, walk
from .element_types import I64, KcError, is_int


def _sum(a, b, sign=1):
    """a + sign * b of exact integers; constants are folded."""
    if isinstance(a, Const) and isinstance(b, Const):
        return Const(a.value + sign * b.value, I64)
    return Op("range", lambda x, y: None if x is None or y is None else x + sign * y, [a, b], I64)


def _scaled(a, f):
    return Const(f(a.value), I64) if isinstance(a, Const) else Op("range", lambda x: None if x is None else f(x), [a], I64)


def solve(node, symbol, lo, hi):
    """The range of `symbol` in which lo <= node < hi, or None where that is no range."""
    if isinstance(node, Index):
        return (lo, hi) if node.symbol is symbol else None
    if not isinstance(node, Op) or not is_int(node.type):
        return None
    if node.name.startswith("to "):
        return solve(node.children[0], symbol, lo, hi)
    if len(node.children) != 2:
        return None
    a, b = node.children
    inside, outside = (a, b) if mentions(a, symbol) else (b, a)
    if mentions(outside, symbol):
        return None
    if node.name == "+":
        return solve(inside, symbol, _sum(lo, outside, -1), _sum(hi, outside, -1))
    if node.name == "-" and inside is a:
        return solve(a, symbol, _sum(lo, b), _sum(hi, b))
    if node.name == "-":  # lo <= a - e < hi
        return solve(b, symbol, _sum(_sum(a, hi, -1), Const(1, I64)), _sum(_sum(a, lo, -1), Const(1, I64)))
    if not isinstance(outside, Const) or outside.value <= 0:
        return None
    c = outside.value
    if node.name == "*":
        return solve(inside, symbol, _scaled(lo, lambda x: -(-x // c)), _scaled(hi, lambda x: -(-x // c)))
    if node.name == "//" and inside is a:
        return solve(inside, symbol, _scaled(lo, lambda x: x * c), _scaled(hi, lambda x: x * c))
    return None


def infer(symbol, nodes, targets=()):
    """(lo, hi) of `symbol` from the reads in `nodes`; `targets`: left sides as (subscripts, shape), whose dims come first."""
    left = [_Use(s, n) for subscripts, shape in targets for s, n in zip(subscripts, shape)]
    right = [_Use(s, n, read.form) for node in nodes for read in walk(node, symbol) if isinstance(read, Read)
             for s, n in zip(read.children, read.tensor.shape)]
    for uses in (left, right):
        alone = [u.size for u in uses if isinstance(u.node, Index) and u.node.symbol is symbol]
        if alone:
            return Const(0, I64), Const(min(alone), I64)
    uses = [u for u in right + left if mentions(u.node, symbol)]
    for group in ([u for u in uses if not u.form], [u for u in uses if u.form]):
        found = [solve(u.node, symbol, Const(0, I64), Const(u.size, I64)) for u in group]
        found = [f for f in found if f is not None]
        if found:  # every access has to stay in bounds: where several solve it, the order does not matter
            return reduce(_larger, [lo for lo, _ in found]), reduce(_smaller, [hi for _, hi in found])
    raise KcError(f"nothing says the range of '{symbol.name}'")


def _extreme(f, a, b):
    return Const(f(a.value, b.value), I64) if isinstance(a, Const) and isinstance(b, Const) else \
        Op("range", lambda x, y: None if x is None or y is None else f(x, y), [a, b], I64)


def _larger(a, b):
    return _extreme(max, a, b)


def _smaller(a, b):
    return _extreme(min, a, b)


class _Use:
    """A subscript, and the dim that it meets."""

    def __init__(self, node, size, form=None):
        self.node, self.size, self.form = node, size, form
