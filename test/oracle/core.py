# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a right-hand side means: names resolved, functions inlined, every node with its type."""
import itertools


class Symbol:
    """An index. Two indices of one name are two symbols."""
    _slots = itertools.count()

    def __init__(self, name):
        self.name, self.slot = name, next(Symbol._slots)


class Tensor:
    """A parameter, output or `let`; `narrow` is the narrowest type that is known to hold the elements."""

    def __init__(self, name, type, shape, data=None, narrow=None):
        self.name, self.type, self.shape, self.data, self.narrow = name, type, tuple(shape), data, narrow or type
        self.is_own = False  # what a statement defines and reads; without a shape until that is known


class Const:
    children = ()

    def __init__(self, value, type):
        self.value, self.type = value, type


class Index:
    children = ()

    def __init__(self, symbol, type):
        self.symbol, self.type = symbol, type


class Op:
    """A pointwise operation; `f` takes the values of the operands. `again` makes it of other operands: an operation on
    literals is done anew in the type that its context turns out to have."""

    def __init__(self, name, f, operands, type, again=None):
        self.name, self.f, self.children, self.type, self.again = name, f, tuple(operands), type, again
        self.is_cast = False  # one that the program writes


class Select:
    """Only the branch that is taken is evaluated. `and` and `or` are selects."""

    def __init__(self, condition, then, other, type):
        self.children, self.type = (condition, then, other), type


class Read:
    def __init__(self, tensor, form, pad, subscripts):
        self.tensor, self.form, self.pad, self.children, self.type = tensor, form, pad, tuple(subscripts), tensor.type


class Loop:
    """An index of a reduction; without bounds until they are inferred."""

    def __init__(self, symbol, lo=None, hi=None):
        self.symbol, self.lo, self.hi = symbol, lo, hi


class Reduce:
    """`narrow`: the narrowest integer type that is known to hold the terms."""

    def __init__(self, kind, loops, conditions, body, type, narrow=None):
        self.kind, self.loops, self.conditions, self.body, self.type, self.narrow = kind, loops, conditions, body, type, narrow
        self.order = loops  # as in the bracket

    @property
    def children(self):
        bounds = [b for loop in self.loops for b in (loop.lo, loop.hi) if b is not None]
        return (*bounds, *self.conditions, self.body)


class Param:
    """A component of one of the two states that a reducer combines; its value stands where an index's would."""
    children = ()

    def __init__(self, type):
        self.slot, self.type = next(Symbol._slots), type


class Fold:
    """A reduction by a reducer of the program, in the order of its loops. `combined`: the next state, over `params`."""

    def __init__(self, loops, conditions, elements, identity, params, combined):
        self.loops, self.conditions, self.elements, self.identity = loops, conditions, elements, identity
        self.params, self.combined = params, combined

    @property
    def children(self):
        bounds = [b for loop in self.loops for b in (loop.lo, loop.hi) if b is not None]
        return (*bounds, *self.conditions, *self.elements)


class Field:
    """Component k of what a fold comes to."""

    def __init__(self, fold, k, type):
        self.children, self.k, self.type = (fold,), k, type


class Tuple:
    """No value of its own: fields are."""

    def __init__(self, names, fields):
        self.names, self.fields, self.children, self.type = names, fields, tuple(fields), None


def walk(node, symbol=None):
    """The node and all below it in which `symbol` is the same index."""
    yield node
    for child in node.children:
        if isinstance(node, (Reduce, Fold)) and symbol is not None and any(loop.symbol is symbol for loop in node.loops):
            continue
        yield from walk(child, symbol)


def mentions(node, symbol):
    return any(isinstance(n, Index) and n.symbol is symbol for n in walk(node, symbol))
