# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tree to core: resolves names, inlines functions, gives every expression its type.

Function arguments are kept as text and scope and elaborated where they are used, so that a reduction over an index
parameter reduces the caller's index of the caller's expression, and no name inside meets one outside."""
import math

from . import operators as ops, tree
from .core import Const, Field, Fold, Index, Loop, Op, Param, Read, Reduce, Select, Symbol, Tensor, Tuple, mentions, walk
from .narrow import narrowest
from .ranges import infer
from .views import ViewTensor
from .element_types import BOOL, I32, I64, LIT_FLOAT, LIT_INT, TYPES, KcError, Unsupported, is_float, is_int, widen

REDUCTIONS = ("sum", "prod", "max", "min", "any", "all", "xor", "argmax", "argmin", "mean")
_CONSTANTS = {"inf": (math.inf, LIT_FLOAT), "nan": (math.nan, LIT_FLOAT), "pi": (math.pi, LIT_FLOAT),
              "True": (True, BOOL), "False": (False, BOOL)}


class Thunk:
    """An argument or a function's `let`, elaborated where it is used."""

    def __init__(self, value, scope, type=None):
        self.value, self.scope, self.type = value, scope, type


class Macro:
    """A function's `let` with indices."""

    def __init__(self, let, scope):
        self.let, self.scope = let, scope


class Scope:
    """What names mean. `implicit`: unknown names in subscripts become indices of the statement."""

    def __init__(self, parent=None, functions=None, implicit=None):
        self.names, self.parent, self.implicit = {}, parent, implicit if implicit is not None or parent is None else parent.implicit
        self.functions = functions if functions is not None else parent.functions

    def find(self, name):
        scope = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    def index(self, name):
        """An index of this scope: the one of that name, or None."""
        found = self.find(name)
        return found if isinstance(found, Symbol) else None


def elaborate(e, scope, subscript=False):
    return _CASES[type(e)](e, scope, subscript)


def _number(e, scope, subscript):
    return Const(float(e.value), LIT_FLOAT) if isinstance(e.value, str) else Const(e.value, LIT_INT)


def _name(e, scope, subscript):
    found = scope.find(e.name)
    if found is None and e.name in _CONSTANTS:
        return Const(*_CONSTANTS[e.name])
    if found is None and subscript and scope.implicit is not None:
        found = scope.implicit(e.name)
    if isinstance(found, Symbol):
        return Index(found, I64)
    if isinstance(found, Const):
        return found
    if isinstance(found, Thunk):
        return typed(elaborate(found.value, found.scope, subscript), found.type)
    if isinstance(found, Macro) and not found.let.subscripts or isinstance(found, (Tensor, Tuple)) and not getattr(found, "shape", ()):
        return _access(tree.Access(e.name, None, None, []), scope, subscript)
    raise KcError(f"unknown name '{e.name}'")


def typed(node, t):
    """As a store into `t` would convert; of tuples a list of (name, type)."""
    if t is None:
        return node
    if isinstance(t, list):
        return Tuple([n for n, _ in t], [typed(f, TYPES[k]) for f, (_, k) in zip(node.fields, t, strict=True)])
    if node.type not in (LIT_INT, LIT_FLOAT, BOOL, t) and is_float(node.type) != is_float(t):
        raise KcError(f"cannot store {node.type} into {t}")
    return ops.coerce(node, t)


def _unary(e, scope, subscript):
    a = elaborate(e.e, scope, subscript)
    if e.op == "not":
        return Op("not", ops.known(lambda x: not x), [a], BOOL)
    return ops.negation(a) if e.op == "-" else ops.inversion(a) if e.op == "~" else a


def _binary(e, scope, subscript):
    a, b = elaborate(e.a, scope, subscript), elaborate(e.b, scope, subscript)
    if e.op in ("and", "or"):
        if a.type is not BOOL or b.type is not BOOL:
            raise KcError(f"'{e.op}' takes bools")
        return Select(a, b, Const(False, BOOL), BOOL) if e.op == "and" else Select(a, Const(True, BOOL), b, BOOL)
    return ops.binary(e.op, a, b)


def _compare(e, scope, subscript):
    result, left = None, elaborate(e.first, scope, subscript)
    for op, operand in e.rest:
        right = elaborate(operand, scope, subscript)
        one = ops.comparison(op, left, right)
        result = one if result is None else Select(result, one, Const(False, BOOL), BOOL)
        left = right
    return result


def _select(e, scope, subscript):
    return _choose(elaborate(e.condition, scope, subscript), elaborate(e.then, scope, subscript), elaborate(e.other, scope, subscript))


def _tuple(e, scope, subscript):
    return Tuple([None] * len(e.fields), [elaborate(f, scope, subscript) for f in e.fields])


def _member(e, scope, subscript):
    node = elaborate(e.e, scope, subscript)
    if not isinstance(node, Tuple) or e.field not in node.names:
        raise KcError(f"no field '{e.field}'")
    return node.fields[node.names.index(e.field)]


def _choose(condition, then, other):
    if isinstance(then, Tuple):
        names = then.names if then.names[0] else other.names
        return Tuple(names, [ops.select(condition, a, b) for a, b in zip(then.fields, other.fields, strict=True)])
    return ops.select(condition, then, other)


def _access(e, scope, subscript):
    found = scope.find(e.tensor)
    if isinstance(found, Macro):
        inner = Scope(found.scope)
        for formal, actual in zip(found.let.subscripts, e.subscripts, strict=True):
            inner.names[formal.name] = Thunk(actual, scope)
        return typed(elaborate(found.let.value, inner), _type_of(found.let))
    if isinstance(found, Tuple):  # a let of tuples: a tensor for each field
        subscripts = [ops.settled(elaborate(s, scope, True)) for s in e.subscripts]
        pads = [ops.coerce(elaborate(e.value, scope), t.type) if e.form == "pad" else None for t in found.fields]
        return Tuple(found.names, [Read(t, e.form, pad, subscripts) for t, pad in zip(found.fields, pads, strict=True)])
    found = _tensor(e.tensor, scope)
    if found is None:
        raise KcError(f"unknown tensor '{e.tensor}'")
    if len(e.subscripts) != len(found.shape) and not found.is_own:
        raise KcError(f"'{e.tensor}' has rank {len(found.shape)}")
    subscripts = [ops.settled(elaborate(s, scope, True)) for s in e.subscripts]
    pad = ops.coerce(elaborate(e.value, scope), found.type) if e.form == "pad" else None
    return Read(found, e.form, pad, subscripts)


def _call(e, scope, subscript):
    args = e.args
    if e.bracket is None and e.name in TYPES:
        return _cast(ops.settled(elaborate(args[0], scope, subscript)), TYPES[e.name])
    function = scope.functions.get(e.name)
    if isinstance(function, tree.Reducer):
        return _own_reduction(function, e.bracket, args, scope)
    if function is not None:
        return _inline(function, e, scope, subscript)
    if e.bracket is not None and e.name in REDUCTIONS:
        return reduction(e.name, e.bracket, args[0], scope)
    nodes = [elaborate(a, scope, subscript) for a in args]
    if e.name in ("min", "max") and len(nodes) >= 2:
        return ops.extreme(e.name, nodes)
    if ops.MATH.get(e.name) == len(nodes) and e.bracket is None:
        return ops.math_call(e.name, nodes)
    raise KcError(f"unknown function '{e.name}' of {len(nodes)}")


def _cast(node, t):
    if node.type is t and not isinstance(node, (Op, Read, Reduce, Select)):
        return node
    cast = Op(f"to {t}", ops.converter(node.type, t), [node], t, lambda e: _cast(e, t))
    cast.is_cast = True
    return cast


def _inline(function, e, scope, subscript):
    caller, inner = Scope(scope), Scope(None, scope.functions)
    packs = _packs(function, e.bracket or [], scope, caller)
    for formal, pack in zip(function.indices, packs):
        inner.names[formal] = pack.loops[0][0] if len(pack.loops) == 1 else pack
    inner.own = dict(zip(function.indices, packs))
    for formal, actual in zip(function.params, _arguments(function, e.args), strict=True):
        of_tensor = formal.shape is not None
        inner.names[formal.name] = Thunk(actual, caller, TYPES[formal.type] if formal.type and not of_tensor else None)
        if of_tensor:
            _bind_shape(formal, inner)
    for let in function.lets:
        nested = Scope(inner)
        t = _type_of(let)
        inner_names = Thunk(let.value, inner, t) if not let.subscripts else Macro(let, inner)
        nested.names[let.name] = inner_names
        inner = nested
    return typed(elaborate(function.value, inner, subscript), TYPES[function.result] if function.result else None)


def _type_of(let):
    return let.type if isinstance(let.type, list) else TYPES[let.type] if let.type else None


def _state(reducer, node):
    """The fields of a state, as they are stored."""
    fields = node.fields if isinstance(node, Tuple) else [node]
    if isinstance(node, Tuple) and set(node.names) == {n for n, _ in reducer.fields}:
        fields = [node.fields[node.names.index(n)] for n, _ in reducer.fields]
    return [ops.coerce(typed(f, TYPES[t]), widen(TYPES[t])) for f, (_, t) in zip(fields, reducer.fields, strict=True)]


def combine_states(reducer, before, behind, functions):
    inner = Scope(None, functions)
    for name, state in zip(reducer.params, (before, behind)):
        inner.names[name] = Thunk(_Done(Tuple([n for n, _ in reducer.fields], state) if reducer.fields[0][0] else state[0]), inner)
    for let in reducer.lets:
        nested = Scope(inner)
        nested.names[let.name] = Thunk(let.value, inner, _type_of(let)) if not let.subscripts else Macro(let, inner)
        inner = nested
    return _state(reducer, elaborate(reducer.value, inner))


class _Done:
    """A tree that has been elaborated."""

    def __init__(self, node):
        self.node = node


def fold_node(reducer, loops, conditions, elements, functions):
    types = [widen(TYPES[t]) for _, t in reducer.fields]
    params = [Param(t) for t in types * 2]
    combined = combine_states(reducer, params[:len(types)], params[len(types):], functions)
    identity = _state(reducer, elaborate(reducer.identity, Scope(None, functions)))
    for loop in loops:
        if loop.lo is None or loop.hi is None:
            lo, hi = infer(loop.symbol, [*conditions, *elements, *(b for o in loops for b in (o.lo, o.hi) if b is not None)])
            loop.lo, loop.hi = loop.lo or lo, loop.hi or hi
    fold = Fold(_ordered(loops), conditions, elements, identity, params, combined)
    fields = [Field(fold, k, t) for k, t in enumerate(types)]
    return Tuple([n for n, _ in reducer.fields], fields) if reducer.fields[0][0] else fields[0]


def _own_reduction(reducer, bracket, args, scope):
    inner, loops, conditions = _opened(reducer.name, bracket, scope)
    if len(args) == 1 and not isinstance(args[0], tree.Named):
        node = elaborate(args[0], inner)
    else:
        given = {a.name: a.value for a in args if isinstance(a, tree.Named)}
        placed = [a for a in args if not isinstance(a, tree.Named)]
        given.update({n: a for (n, _), a in zip(reducer.fields, placed)})
        node = Tuple([n for n, _ in reducer.fields], [elaborate(given[n], inner) for n, _ in reducer.fields])
    return fold_node(reducer, loops, conditions, _state(reducer, node), scope.functions)


class Pack:
    """What an index parameter stands for: [(symbol, lo, hi, scope)] and [(condition, scope)] of the call."""

    def __init__(self):
        self.loops, self.conditions = [], []


def _packs(function, bracket, scope, caller):
    packs, bare = [], {e.name for e in bracket if isinstance(e, (tree.Name, tree.Range))}
    for entry in bracket:
        around = chained(entry)
        names, conditions = ({}, [entry]) if around and around[0] in bare else declared([entry], scope)
        if len(function.indices) > 1 and names or not packs:
            packs.append(Pack())
        pack = packs[-1]
        for name, (lo, hi) in names.items():
            outer = _alias(scope, name)
            if outer and lo is None:
                pack.loops += outer.loops
                pack.conditions += outer.conditions
                continue
            if scope.index(name) is None:
                caller.names[name] = Symbol(name)
            pack.loops.append((scope.index(name) or caller.names[name], lo, hi, caller))
        pack.conditions += [(c, caller) for c in conditions]
    if len(packs) != len(function.indices) or not all(p.loops for p in packs):
        raise KcError(f"'{function.name}' takes {len(function.indices)} indices")
    return packs


def _tensor(name, scope):
    """The tensor that a name, or a parameter of the function around, stands for."""
    found = scope.find(name)
    while isinstance(found, Thunk) and isinstance(found.value, tree.Name):
        found = found.scope.find(found.value.name)
    return found if isinstance(found, Tensor) else None


def _bind_shape(formal, inner):
    tensor = _tensor(formal.name, inner)
    if tensor is None or tensor.type is not TYPES[formal.type] or len(tensor.shape) != len(formal.shape):
        raise KcError(f"'{formal.name}' is a tensor of {formal.type} with {len(formal.shape)} dims")
    for dim, size in zip(formal.shape, tensor.shape):
        if isinstance(dim, tree.Name) and inner.find(dim.name) is None:
            inner.names[dim.name] = Const(size, I64)
        elif elaborate(dim, inner).value != size:
            raise KcError(f"'{formal.name}' has a dim of {size}")


def _arguments(function, args):
    """An expression for every parameter: by place, by name, or the default."""
    given = {a.name: a.value for a in args if isinstance(a, tree.Named)}
    placed = [a for a in args if not isinstance(a, tree.Named)]
    if len(placed) > len(function.params):
        raise KcError(f"'{function.name}' takes {len(function.params)} arguments")
    for formal, actual in zip(function.params, placed):
        given[formal.name] = actual
    for formal in function.params:
        if given.get(formal.name, formal.default) is None:
            raise KcError(f"'{function.name}' is called without its parameter '{formal.name}'")
    return [given.get(p.name, p.default) for p in function.params]


def _alias(scope, name):
    """What of the caller's an index parameter of the function around stands for."""
    while scope is not None:
        if name in scope.names:
            return getattr(scope, "own", {}).get(name)
        scope = scope.parent
    return None


def chained(entry):
    """(name, lo, hi) of a chained comparison around a name."""
    if isinstance(entry, tree.Compare) and len(entry.rest) == 2 and isinstance(entry.rest[0][1], tree.Name):
        (first, name), (second, hi) = entry.rest
        if first in ("<", "<=") and second in ("<", "<="):
            one = tree.Number(1)
            lo = entry.first if first == "<=" else tree.Binary("+", entry.first, one)
            return name.name, lo, hi if second == "<" else tree.Binary("+", hi, one)
    return None


def declared(bracket, scope):
    """The entries of a bracket apart: [(name, lo, hi)] and conditions."""
    names, conditions = {}, []
    left = getattr(_statement(scope), "left", ())
    for entry in bracket:
        around = chained(entry)
        if isinstance(entry, tree.Name) and entry.name not in _CONSTANTS:
            if isinstance(scope.find(entry.name), (Const, Thunk, Tensor)):
                raise KcError(f"'{entry.name}' already names something else")
            names[entry.name] = (None, None)
        elif isinstance(entry, tree.Range):
            names[entry.name] = (entry.lo, entry.hi)
        elif around and around[0] not in names and around[0] not in left and not isinstance(scope.find(around[0]), (Const, Thunk, Tensor)):
            names[around[0]] = around[1:]
        else:
            conditions.append(entry)
    return names, conditions


def _statement(scope):
    while scope.parent is not None and not hasattr(scope, "left"):
        scope = scope.parent
    return scope


def of_data_alone(e, scope, joined):
    """Whether a bound, or each that min or max joins, depends on data or a scalar."""
    if isinstance(e, tree.Call) and e.name == joined and e.bracket is None and len(e.args) > 1:
        return all(of_data_alone(a, scope, joined) for a in e.args)
    return _speaks_of_data(e, scope)


def _speaks_of_data(e, scope):
    if isinstance(e, tree.Access):
        return True
    if isinstance(e, tree.Name):
        found = scope.find(e.name)
        return isinstance(found, Tensor) or getattr(found, "is_scalar", False) or \
            isinstance(found, Thunk) and _speaks_of_data(found.value, found.scope)
    parts = [getattr(e, n) for n in ("e", "a", "b", "first", "then", "condition", "other", "value") if hasattr(e, n)]
    parts += [o for _, o in getattr(e, "rest", ())] + list(getattr(e, "args", ()))
    return any(_speaks_of_data(p, scope) for p in parts if not isinstance(p, (int, str, float)))


def clamped(symbol, lo, hi, open_sides, conditions):
    """The loop of lo:hi; a side of data alone is a condition, and goes as far as accesses allow."""
    index = Index(symbol, I64)
    for side, bound, op in ((0, lo, ">="), (1, hi, "<")):
        if open_sides[side]:
            conditions.append(ops.exact_comparison(op, index, bound))
    return Loop(symbol, None if open_sides[0] else lo, None if open_sides[1] else hi)


def reduction(kind, bracket, value, scope):
    inner, loops, conditions = _opened(kind, bracket, scope)
    body = elaborate(value, inner)
    if kind not in ("sum", "prod", "max", "min"):
        body = ops.settled(body)
    return reduce_node(kind, loops, conditions, body)


def _opened(kind, bracket, scope):
    """The scope inside a bracket, its loops and its conditions."""
    names, conditions = declared(bracket, scope)
    if not names:
        raise KcError(f"'{kind}' needs an index to reduce")
    inner, loops, thinned = Scope(scope), [], []
    parts = []
    for name, (lo, hi) in names.items():
        pack = _alias(scope, name)
        if pack and lo is None:
            parts += pack.loops
            conditions = conditions + pack.conditions
        elif pack and len(pack.loops) != 1:
            raise KcError(f"'{name}' stands for several indices")
        else:
            parts.append((pack.loops[0][0] if pack else Symbol(name), lo, hi, None if pack else name))
    for symbol, lo, hi, of in parts:
        bounds = of if isinstance(of, Scope) else Scope(inner)  # a bound may speak of the indices before it
        open_sides = [b is not None and of_data_alone(b, bounds, joined) for b, joined in ((lo, "max"), (hi, "min"))]
        lo, hi = ((ops.coerce_index(elaborate(b, bounds)) if b is not None else None) for b in (lo, hi))
        if isinstance(of, str):
            inner.names[of] = symbol
        loops.append(clamped(symbol, lo, hi, open_sides, thinned))
    return inner, loops, thinned + [elaborate(c[0], c[1]) if isinstance(c, tuple) else elaborate(c, inner) for c in conditions]


def reduce_node(kind, loops, conditions, body):
    t = body.type
    if kind in ("sum", "prod", "xor", "mean"):
        t = widen(t)
        if t is BOOL:
            t = I32
        if kind == "mean" and not is_float(t):
            raise KcError("mean of integers")
        body = ops.coerce(body, t)
    if kind in ("argmax", "argmin"):
        t = I64
    if kind in ("max", "min") and body.type is BOOL:
        t = I32
        node = Reduce(kind, loops, conditions, ops.coerce(body, t), t, BOOL)
    else:
        node = Reduce(kind, loops, conditions, body, t, narrowest(body) if is_int(body.type) else None)
    for loop in loops:
        if loop.lo is None or loop.hi is None:
            lo, hi = infer(loop.symbol, [*conditions, body, *(b for o in loops for b in (o.lo, o.hi) if b is not None)])
            loop.lo, loop.hi = loop.lo or lo, loop.hi or hi
    node.loops, node.order = _ordered(loops), loops
    if kind in ("argmax", "argmin") and len(loops) > 1 and any(mentions(b, o.symbol) for loop in loops for b in (loop.lo, loop.hi) for o in loops):
        raise Unsupported("positions in ranges that move with each other")
    return node


def _ordered(loops):
    """Loops so that bounds speak of indices further out only."""
    ordered, rest = [], list(loops)
    while rest:
        for loop in rest:
            others = [o.symbol for o in rest if o is not loop]
            if not any(mentions(b, s) for b in (loop.lo, loop.hi) for s in others):
                break
        ordered.append(loop)
        rest.remove(loop)
    return ordered


def group(node, symbols, conditions):
    """Every outermost reduction that speaks of an index of `symbols` runs over it, too, where the conditions hold."""
    for n in walk(node):
        if isinstance(n, Reduce) and n.kind == "sum":
            mine = [s for s in symbols if mentions(n, s)]
            if mine and not any(loop.symbol in mine for loop in n.loops):
                n.conditions = n.conditions + conditions
                loops = [Loop(s) for s in mine]
                for loop in loops:
                    loop.lo, loop.hi = infer(loop.symbol, [n.body, *n.conditions])
                n.loops = loops + n.loops


def _view(e, scope, subscript):
    tensor = _tensor(e.tensor, scope)
    if tensor is None:
        raise KcError(f"unknown tensor '{e.tensor}'")
    sizes = {a.name: elaborate(a.value, scope).value for a in e.sizes}
    view = ViewTensor(tensor, e.pattern, sizes)
    if len(e.subscripts) != len(view.shape):
        raise KcError(f"the view has rank {len(view.shape)}")
    return Read(view, None, None, [ops.settled(elaborate(s, scope, True)) for s in e.subscripts])


_CASES = {tree.View: _view, tree.Number: _number, tree.Name: _name, tree.Unary: _unary, tree.Binary: _binary, tree.Compare: _compare,
          tree.Select: _select, tree.Access: _access, tree.Call: _call, tree.Tuple: _tuple, tree.Member: _member,
          _Done: lambda e, scope, subscript: e.node}
