# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Statements that read what they define: their elements in an order, and what may be lost where steps are composed as a scan."""
import math

from . import interval as iv
from .core import Op, Read, Select, walk
from .element_types import F32, F64, KcError, is_float
from .evaluate import compiled, place_in


def define(evaluate, value, own, points, places, data):
    """Evaluates `value` at all `points` (pairs of slots and indices), each when what it reads of `own` is there, and puts it into `data`
    (the elements of `own`) at its place."""
    left, order = list(range(len(points))), []
    while left:
        waiting = []
        for n in left:
            try:
                data[places[n]] = evaluate(dict(points[n]))
            except KcError:
                waiting.append(n)
                continue
            order.append(n)
        if len(waiting) == len(left):
            evaluate(dict(points[left[0]]))  # says what is not there
        left = waiting[::-1]
    if own.type in (F32, F64):
        _compose(value, own, [(dict(points[n]), places[n]) for n in order], data)


def define_together(statements, complete=False):
    """The same of several statements (what evaluates, points with their places, and the tensor) that read each other, as far as what they
    read is there; returns what is left of them."""
    moves = True
    while moves:
        moves, left = False, []
        for evaluate, points, tensor in statements:
            waiting = []
            for point, place in points:
                try:
                    tensor.data[place] = evaluate(dict(point))
                    moves = True
                except KcError:
                    waiting.append((point, place))
            if waiting:
                left.append((evaluate, waiting, tensor))
        statements = left
    if complete and statements:
        evaluate, points, _ = statements[0]
        evaluate(dict(points[0][0]))  # says what is not there
    return statements


def _compose(value, own, steps, data):
    """Steps h -> a h + b, one back, may be composed in any grouping: each result may be off by the roundings of all steps before it, of the
    magnitudes that the steps add up to."""
    step = _step(value, own)
    if step is None:
        return
    found = []
    for at, place in steps:
        a, b, reads = step(at)
        if len(reads) > 1:
            return
        found.append((place, a, b, next(iter(reads), None)))
    strides = {math.prod(own.shape[d + 1:]) for d in range(len(own.shape))}
    distances = {place - read for place, _, _, read in found if read is not None}
    if len(distances) != 1 or abs(*distances) not in strides:
        return
    operations = sum(isinstance(n, Op) and is_float(n.type) and n.name != "mark" for n in walk(value))
    size, product, roundings, strange = {}, {}, {}, set()
    for place, a, b, read in found:
        before = 0.0 if read is None else size.get(read, _magnitude(data[read]))
        size[place] = a * before + b if a else b
        product[place] = max(1.0, a * product.get(read, 1.0))  # of the a's of a stretch, whatever h is
        roundings[place] = roundings.get(read, 0) + operations
        if read in strange or not max(size[place], product[place]) < own.type.largest and not math.isnan(size[place]) or math.inf in (a, b):
            strange.add(place)
    for place, *_ in found:
        if place in strange:  # an infinite product of a's meets an h of 0
            data[place] = iv.ANY
        else:
            tiny = math.ldexp(product[place], own.type.exponent - own.type.digits)
            data[place] = iv.widened(data[place], 3 * roundings[place] * (math.ldexp(size[place], -own.type.digits) + tiny) if size[place] else 0.0)


def _magnitude(value):
    return math.inf if value is iv.ANY else max(map(abs, iv.ends(value)))


def _step(node, own):
    """at -> (|a|, |b|, the places read) of a node that is a h + b, or None where it is none."""
    if not any(isinstance(n, Read) and n.tensor is own for n in walk(node)):
        value = compiled(node)
        return lambda at: (0.0, _magnitude(value(at)), frozenset())
    if isinstance(node, Read):
        return _read(node, own)
    if isinstance(node, Select):
        parts = [_step(c, own) for c in node.children[1:]]
        if _mentions(node.children[0], own) or None in parts:
            return None
        condition, (then, other) = compiled(node.children[0]), parts
        return lambda at: _either(then(at), other(at)) if condition(at) is None else then(at) if condition(at) else other(at)
    if not isinstance(node, Op) or node.name not in ("+", "-", "*", "/", "neg", "mark"):
        return None
    parts = [_step(c, own) for c in node.children]
    if None in parts:
        return None
    if len(parts) == 1:
        return parts[0]
    left, right = parts
    if node.name in "+-":
        return lambda at: _sum(left(at), right(at))
    own_side = [_mentions(c, own) for c in node.children]
    if all(own_side) or node.name == "/" and own_side[1]:
        return None
    if node.name == "*":
        step, factor = (left, right) if own_side[0] else (right, left)
        return lambda at: _scaled(step(at), factor(at)[1])
    divisor = compiled(node.children[1])
    return lambda at: _scaled(left(at), iv.quotient(1.0, min(map(abs, iv.ends(divisor(at))))))


def _mentions(node, own):
    return any(isinstance(n, Read) and n.tensor is own for n in walk(node))


def _read(node, own):
    subscripts = [compiled(c) for c in node.children]
    if any(_mentions(c, own) for c in node.children):
        return None
    pad = compiled(node.pad) if node.pad is not None else None

    def read(at):
        flat = 0
        for subscript, size in zip(subscripts, own.shape):
            place = place_in(node.form, subscript(at), size)
            if place is None:
                return 0.0, _magnitude(pad(at)) if pad else math.nan, frozenset()
            flat = flat * size + place
        return 1.0, 0.0, frozenset([flat])
    return read


def _sum(x, y):
    return x[0] + y[0], x[1] + y[1], x[2] | y[2]


def _either(x, y):
    return max(x[0], y[0]), max(x[1], y[1]), x[2] | y[2]


def _scaled(x, by):
    return x[0] * by if x[0] else 0.0, x[1] * by if x[1] else 0.0, x[2]
