# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The narrowest integer type that is known to hold the values of an expression: integer extremes of nothing are its ends."""
from .core import Const, Op, Read, Reduce, Select
from .element_types import BOOL, TYPES, is_int, widen

_MASKS = [TYPES[n] for n in ("u4", "u8", "u16")]


def narrowest(node):
    """A type of fewer than 32 bits, bool, or the node's own."""
    t = _known(node)
    return t if t is not None else node.type


def _is_small(t):
    return t is BOOL or t.kind == "int" and t.bits < 32


def _known(node):
    if node.type is BOOL or _is_small(node.type):
        return node.type
    if not is_int(node.type):
        return None
    if isinstance(node, Read):
        return node.tensor.narrow if _is_small(node.tensor.narrow) else None
    if isinstance(node, Reduce):
        return node.narrow if node.kind in ("max", "min", "xor") and node.narrow is not None and _is_small(node.narrow) else None
    if isinstance(node, Select):
        a, b = map(_known, node.children[1:])
        return a if a is b else None
    return _of_operation(node) if isinstance(node, Op) else None


def _of_operation(node):
    if node.name.startswith("to "):  # what widens a value for arithmetic keeps what is known of it; a cast does not
        return None if node.is_cast else _known(node.children[0]) if node.type is widen(node.type) else None
    if node.name == "popcount":
        return TYPES["u8"]
    if len(node.children) != 2:
        return None
    sides = [(_known(c) if not isinstance(c, Const) else None, c.value if isinstance(c, Const) else None) for c in node.children]
    (a, m), (b, n) = sides
    if node.name in ("&", "|", "^", "min", "max"):
        if a is not None and a is b:
            return a
        for t, literal in ((a, n), (b, m)):
            if t is not None and literal is not None and 0 <= literal <= (1 if t is BOOL else t.highest):
                return t
        literal = n if n is not None else m
        if node.name == "&" and literal is not None and literal >= 0:
            return next((t for t in _MASKS if literal <= t.highest), None)
    if node.name in (">>", "//", "%") and a is not None and a.kind == "int" and not a.signed and n is not None and n > 0:
        return a
    return None
