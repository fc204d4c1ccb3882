# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A call of a kernel: sizes from arguments, checks, statements in order."""
import math
from itertools import product

from . import operators as ops, tree
from .core import Const, Index, Loop, Op, Read, Symbol, Tensor, Tuple, mentions, walk
from .elaborate import Scope, Thunk, chained, clamped, elaborate, fold_node, group, of_data_alone, reduce_node, typed
from .evaluate import UNDEFINED, Budget, Limit, compiled, unknown
from .narrow import narrowest
from .order import Order
from .parser import parse
from .prelude import PRELUDE
from .ranges import infer
from .recurrence import define, define_together
from .reduce import combine
from .sizes import bind_sizes
from .element_types import BOOL, F32, I64, TYPES, KcError, Unsupported, is_float, is_int, round_float, widen

_REDUCES = {"+=": "sum", "*=": "prod", "min=": "min", "max=": "max", "and=": "all", "or=": "any", "xor=": "xor"}


class Call:
    """One run of one kernel. `arguments`: a scalar's value, or (shape, values in row-major order)."""

    def __init__(self, text, arguments, sizes=(), constants=(), name=None, budget=1_000_000):
        Budget.left = budget
        kernels, functions = parse(text)
        self.kernel = kernels[name] if name else next(iter(kernels.values()))
        scope = Scope(None, {**parse(PRELUDE)[1], **functions})
        self.top, self.outputs, self.counts, self.continued = scope, {}, {}, set()
        self.waiting, self.deferred = [], []  # statements that read what later ones define, and the 'let's among them
        constants = dict(constants)
        for p in self.kernel.params:
            if p.role == "const":
                value = elaborate(p.default, scope) if p.name not in constants else None
                t = TYPES[p.type]
                scope.names[p.name] = ops.coerce(value, t) if value is not None else Const(ops.converter(_python_type(constants[p.name]), t)(constants[p.name]), t)
        shapes = {p.name: arguments[p.name][0] for p in self.kernel.params if p.shape is not None and p.name in arguments}
        for name, value in bind_sizes(self.kernel, shapes, dict(sizes), scope).items():
            scope.names[name] = Const(value, I64)
        for requirement in self.kernel.requires:
            if not compiled(elaborate(requirement, scope))({}):
                raise KcError("a requirement does not hold")
        for p in self.kernel.params:
            self._bind(p, arguments)

    def _bind(self, p, arguments):
        t = TYPES[p.type]
        if p.role == "const":
            return
        if p.shape is None:
            self.top.names[p.name] = Const(arguments[p.name], t)
            self.top.names[p.name].is_scalar = True
            return
        shape = [compiled(ops.settled(elaborate(d, self.top)))({}) for d in p.shape]
        if any(n < 0 for n in shape):
            raise KcError(f"'{p.name}' has a negative dim")
        count = 1
        for n in shape:
            count *= n
        data = [UNDEFINED] * count
        if p.role != "out":
            if list(arguments[p.name][0]) != shape or len(arguments[p.name][1]) != count:
                raise KcError(f"'{p.name}' is {arguments[p.name][0]}, not {shape}")
            data = list(arguments[p.name][1])
        tensor = self.top.names[p.name] = Tensor(p.name, t, shape, data)
        if p.role != "in":
            self.outputs[p.name] = tensor
            self.counts[p.name] = [0] * count if p.role == "out" else None

    def run(self):
        """The outputs and inouts by name, as Tensors."""
        Order(self._execute, self._is_whole, lambda name: self.counts.get(name) is not None, self._is_open, lambda: bool(self.waiting)).run(self.kernel.body)
        if self.waiting:
            define_together(self.waiting, complete=True)
        for name, counts in self.counts.items():
            if counts is not None and name not in self.continued and any(c != 1 for c in counts):
                raise KcError(f"'{name}' is written {counts} times; once is what covers it")
        return self.outputs

    def _execute(self, statement):
        return self._let(statement) if isinstance(statement, tree.Let) else self._assign(statement)

    def _is_whole(self, statement):
        """Whether a statement is evaluated at once; the elements of others as what they read is there."""
        return not isinstance(statement, tree.Let) and not (statement.op == "=" and not statement.unique and self.counts.get(statement.name) is not None)

    def _is_open(self, name):
        tensor = self.outputs.get(name) or next((t for t in self.deferred if t.name == name), None)
        return tensor is not None and UNDEFINED in tensor.data

    def _scope(self, statement):
        """The scope of a statement: indices of its left side, and those that it meets on the way."""
        scope = Scope(self.top)
        indices = {}

        def new(name):
            indices[name] = scope.names[name] = Symbol(name)
            return scope.names[name]
        scope.implicit = new
        subscripts = [ops.settled(elaborate(s, scope, True)) for s in statement.subscripts]
        scope.left = set(indices)
        return scope, indices, subscripts

    def _where(self, statement, scope, indices):
        """Ranges and conditions of a `where`; and the conditions that group."""
        ranges, conditions = {}, []
        for entry in statement.where:
            around = chained(entry)
            if isinstance(entry, tree.Range):
                if entry.name not in indices:
                    scope.implicit(entry.name)
                lo, hi = (ops.coerce_index(elaborate(b, scope, True)) for b in (entry.lo, entry.hi))
                sides = [of_data_alone(entry.lo, scope, "max"), of_data_alone(entry.hi, scope, "min")]
                loop = clamped(indices[entry.name], lo, hi, sides, conditions)
                ranges[indices[entry.name]] = (loop.lo, loop.hi)
                continue
            condition = elaborate(entry, scope, True)
            conditions.append(condition)
            if around and around[0] in scope.left:
                bounds = [ops.coerce_index(elaborate(b, scope)) for b in around[1:]]
                if not any(mentions(b, s) for b in bounds for s in indices.values()):
                    ranges[indices[around[0]]] = tuple(bounds)
        return ranges, conditions

    def _let(self, statement):
        scope, indices, subscripts = self._scope(statement)
        ranges, conditions = self._where(statement, scope, indices)
        scope.implicit = None
        own = _own(statement, scope)
        self.top.names.setdefault(statement.name, own)
        node = elaborate(statement.value, scope)
        if isinstance(node, Tuple):
            return self._let_tuple(statement, node, subscripts, ranges, own)
        value = typed(ops.settled(node), TYPES[statement.type] if statement.type else None)
        shape = self._shape(statement, value, subscripts, ranges)
        points = [[(s.symbol.slot, i) for s, i in zip(subscripts, point)] for point in product(*map(range, shape))]
        reads_itself, waits = _reads(value, [own]), self._waits(value, own)
        if reads_itself or waits:
            if conditions:
                raise KcError("conditions on a recurrence")
            _open(own, own.type if reads_itself else value.type, shape)
        if waits:  # a part of several that need each other
            self.top.names[statement.name] = own
            self.deferred.append(own)
            self._define_together([(compiled(value), list(zip(points, range(len(points)))), own)])
            return
        if reads_itself:
            define(compiled(value), value, own, points, range(len(points)), own.data)
            return
        evaluate, at, data, holds = compiled(value), {}, [], [compiled(c) for c in conditions]
        for point in product(*map(range, shape)):
            for s, i in zip(subscripts, point):
                at[s.symbol.slot] = i
            data.append(evaluate(at) if all(c(at) for c in holds) else UNDEFINED)  # (a read elsewhere is refused)
        narrow = narrowest(value) if is_int(value.type) else None
        self.top.names[statement.name] = Tensor(statement.name, value.type, shape, data, narrow)

    def _waits(self, value, own):
        """Whether a value reads what later statements define."""
        return _reads(value, [t for t in (*self.outputs.values(), *self.deferred) if t is not own and UNDEFINED in t.data])

    def _define_together(self, statements):
        self.waiting = define_together([*self.waiting, *statements])

    def _let_tuple(self, statement, node, subscripts, ranges, own):
        node = typed(Tuple(node.names, [ops.settled(f) for f in node.fields]), statement.type)
        shape, tensors = self._shape(statement, node, subscripts, ranges), []
        if isinstance(own, Tuple) and _reads(node, own.fields):
            points = [[(s.symbol.slot, i) for s, i in zip(subscripts, point)] for point in product(*map(range, shape))]
            for field in own.fields:
                _open(field, field.type, shape)
            together = [(compiled(f), list(zip(points, range(len(points)))), t) for f, t in zip(node.fields, own.fields, strict=True)]
            define_together(together, complete=True)
            return
        for field in node.fields:
            evaluate = compiled(field)
            data = [evaluate({s.symbol.slot: i for s, i in zip(subscripts, point)}) for point in product(*map(range, shape))]
            tensors.append(Tensor(statement.name, field.type, shape, data, narrowest(field) if is_int(field.type) else None))
        self.top.names[statement.name] = Tuple(node.names, tensors)

    @staticmethod
    def _shape(statement, value, subscripts, ranges):
        shape = []
        for s in subscripts:
            given = ranges.get(s.symbol)
            try:
                lo, hi = (compiled(bound)({}) for bound in given or infer(s.symbol, [value]))
            except (KcError, KeyError) as e:  # (a range that moves with an index of the right side)
                raise Unsupported(f"a 'let' may go as far as it is read: {e}") from None
            lo = lo if given else max(lo, 0)
            if lo != 0:
                raise KcError(f"an index of the 'let' {statement.name} starts at {lo}")
            shape.append(max(hi - lo, 0))
        return shape

    def _assert(self, statement):
        scope, indices, _ = self._scope(statement)
        ranges, conditions = self._where(statement, scope, indices)
        value = elaborate(statement.value, scope)
        loops = []
        for name, symbol in indices.items():
            known = ranges.get(symbol) or (None, None)
            if None in known:
                known = [k or f for k, f in zip(known, infer(symbol, [value, *conditions]))]
            loops.append(Loop(symbol, *known))
        checks, holds = [compiled(c) for c in conditions], compiled(value)
        for at in _points(loops):
            if all(check(at) for check in checks) and holds(at) is False:
                raise KcError("an assertion fails")

    def _assign(self, statement):
        if statement.op == "assert":
            return self._assert(statement)
        tensor = self.outputs.get(statement.name)
        if tensor is None:
            raise KcError(f"'{statement.name}' is no output")
        scope, indices, subscripts = self._scope(statement)
        targets = [(subscripts, tensor.shape)]
        ranges, conditions = self._where(statement, scope, indices)
        if statement.op != "=":
            value = elaborate(statement.value, scope)
            literal = value.type in (ops.LIT_INT, ops.LIT_FLOAT) and tensor.type is not BOOL
            value = ops.coerce(value, widen(tensor.type)) if literal else ops.settled(value)
        else:
            scope.implicit = None
            value = elaborate(statement.value, scope)
            value, conditions = self._grouped(value, scope, indices, ranges, conditions)
        outer, inner = [], []
        for name, symbol in indices.items():
            known = ranges.get(symbol) or (None, None)
            if None in known:
                known = [k or f for k, f in zip(known, infer(symbol, [value, *conditions, *subscripts], targets))]
            (outer if name in scope.left else inner).append(Loop(symbol, *known))
        reducer = self.top.functions.get(statement.op[:-1])
        if statement.op != "=" and statement.op not in _REDUCES:
            return self._fold(reducer, tensor, subscripts, outer, inner, conditions, value)
        if statement.unique or statement.op != "=" and self._meet(subscripts, outer):
            return self._scatter(statement, tensor, subscripts, outer + inner, conditions, value)
        if statement.op == "=" and inner:
            return self._write(statement, tensor, subscripts, outer, conditions, typed(value, tensor.type), None)
        return self._write(statement, tensor, subscripts, outer, conditions, value, inner)

    def _fold(self, reducer, tensor, subscripts, outer, inner, conditions, value):
        """By a reducer of the program: every point in order, with the element that it names."""
        wide = widen(TYPES[reducer.fields[0][1]])
        value = ops.coerce(typed(value, TYPES[reducer.fields[0][1]]), wide)
        loops = outer + inner
        places, checks, data = [compiled(s) for s in subscripts], [compiled(c) for c in conditions], list(tensor.data)
        points = {}
        for at in _points(loops):
            if not all(check(at) for check in checks):
                continue
            place = tuple(p(at) for p in places)
            if all(0 <= i < n for i, n in zip(place, tensor.shape)):
                points.setdefault(place, []).append(dict(at))
        fresh = tensor.name not in self.continued and self.counts[tensor.name] is not None
        self.continued.add(tensor.name)
        out, into = ops.converter(wide, tensor.type), ops.converter(tensor.type, wide)
        evaluate = compiled(value)
        for flat, place in enumerate(product(*map(range, tensor.shape))):
            terms = [evaluate(at) for at in points.get(place, ())]
            state = _folded(reducer, terms if fresh or not terms else [into(data[flat]), *terms], self.top.functions)
            data[flat] = out(state) if fresh or terms else data[flat]
        tensor.data = data

    def _meet(self, subscripts, outer):
        """Whether two points name one element, or data says which."""
        if any(isinstance(n, Read) for s in subscripts for n in walk(s)):
            return True
        places, seen = [compiled(s) for s in subscripts], set()
        for at in _points(outer):
            place = tuple(p(at) for p in places)
            if place in seen:
                return True
            seen.add(place)
        return False

    def _scatter(self, statement, tensor, subscripts, loops, conditions, value):
        """Every point goes to the element that it names; what meets there is combined, in any order."""
        kind, fresh = _REDUCES.get(statement.op), tensor.name not in self.continued and self.counts[tensor.name] is not None
        self.continued.add(tensor.name)
        if kind and not is_float(tensor.type) and tensor.type is not BOOL and kind in ("max", "min") or not kind:
            value = typed(value, tensor.type)
        value = ops.settled(value)
        evaluate, places, checks = compiled(value), [compiled(s) for s in subscripts], [compiled(c) for c in conditions]
        zero = False if tensor.type is BOOL else 0.0 if is_float(tensor.type) else 0
        start = tensor.data
        if fresh:
            start = self._identities(kind, tensor, value, start) if kind else [zero if v is UNDEFINED else v for v in start]
        if tensor.type is BOOL:
            start = [None if v is None else bool(v) for v in start]
        met, vague = {}, set()
        for at in _points(loops):
            chosen = [check(at) for check in checks]
            if False in chosen:
                continue
            flat = 0
            for place, n in zip(places, tensor.shape):
                i = place(at)
                if i is None or (None in chosen and not 0 <= i < n):
                    raise Limit
                if not 0 <= i < n:
                    raise KcError(f"'{tensor.name}' is written at {i}, outside of {tensor.shape}")
                flat = flat * n + i
            if None in chosen:
                vague.add(flat)
            met.setdefault(flat, []).append(evaluate(at))
        data = list(start)
        if not kind and any(len(values) > 1 for values in met.values()):
            raise Limit  # a promise that the call breaks
        merge = self._merge_all(kind, value.type, tensor.type) if kind else None
        for flat, values in met.items():
            data[flat] = unknown(tensor.type) if flat in vague else merge(start[flat], values) if kind else values[0]
        tensor.data = data

    @staticmethod
    def _merge_all(kind, value_type, t):
        """As _merge, of all values at once: rounded once, when all are there."""
        wide = ops.promote(value_type, t, kind) if BOOL not in (value_type, t) else t
        into, out, lift = ops.converter(t, wide), ops.converter(wide, t), ops.converter(value_type, wide)
        return lambda old, values: out(combine(kind, [(0, into(old)), *((0, lift(v)) for v in values)], wide, wide))

    def _grouped(self, value, scope, indices, ranges, conditions):
        """Conditions with an index that is not on the left go into the sums that speak of it."""
        extra = [s for n, s in indices.items() if n not in scope.left]
        own = [c for c in conditions if any(mentions(c, s) for s in extra)]
        kept = [c for c in conditions if c not in own]
        if own:
            group(value, extra, own)
        for s in extra:
            del indices[s.name]
        return value, kept

    def _write(self, statement, tensor, subscripts, outer, conditions, value, inner):
        reduces = _REDUCES.get(statement.op)
        if reduces:
            own = [c for c in conditions if any(mentions(c, loop.symbol) for loop in inner)]
            conditions = [c for c in conditions if c not in own]
            value = reduce_node(reduces, inner, own, value) if inner else value
            if inner:
                value.narrow = widen(value.type)  # nothing is added to what stands there
            start = tensor.name in self.continued or self.counts[tensor.name] is None
            self.continued.add(tensor.name)
        else:
            value = typed(value, tensor.type)
        evaluate, places = compiled(value), [compiled(s) for s in subscripts]
        if getattr(tensor.type, "saturates", False) and not reduces:  # a maximum of nothing is -inf, which no f8e4m3 holds
            wide, saturated = evaluate, ops.converter(F32, tensor.type)
            evaluate = lambda at: saturated(wide(at))  # noqa: E731
        checks, counts = [compiled(c) for c in conditions], self.counts[tensor.name]
        new, old = list(tensor.data), tensor.data
        if reduces and not start:  # the first of an output starts at the identity, what a condition leaves out included
            old = new = self._identities(reduces, tensor, value, old)
            new = list(new)
        merge = self._merge(reduces, value.type, tensor.type) if reduces else None
        is_plain = statement.op == "=" and counts is not None
        own = is_plain and any(isinstance(n, Read) and n.tensor is tensor for n in walk(value))
        if is_plain and self._waits(value, tensor):  # a part of several that need each other
            points = []
            for at in _points(outer):
                if all(check(at) for check in checks):
                    points.append(([*at.items()], _flat(places, at, tensor)))
                    counts[points[-1][1]] += 1
            self._define_together([(evaluate, points, tensor)])
            return
        if own:  # a recurrence
            tensor.data, points = new, []
            for at in _points(outer):
                if not all(check(at) for check in checks):
                    continue
                points.append(([*at.items()], _flat(places, at, tensor)))
                counts[points[-1][1]] += 1
            define(evaluate, value, tensor, [p for p, _ in points], [place for _, place in points], new)
            return
        for at in _points(outer):
            chosen = True
            for check in checks:
                c = check(at)
                chosen = False if c is False else chosen and c
                if c is False:
                    break
            if chosen is False:
                continue
            flat = 0
            for place, n in zip(places, tensor.shape):
                i = place(at)
                if not 0 <= i < n:
                    raise KcError(f"'{tensor.name}' is written at {i} of 0:{n}")
                flat = flat * n + i
            if merge:
                new[flat] = merge(old[flat], evaluate(at)) if chosen else unknown(tensor.type)
            else:
                new[flat] = evaluate(at) if chosen else unknown(tensor.type)
            if counts is not None:
                counts[flat] += 1
        tensor.data = new

    def _identities(self, kind, tensor, value, old):
        from .reduce import identity
        one = identity(kind, tensor.type) if kind not in ("any", "all") else kind == "all"
        one = round_float(one, tensor.type) if is_float(tensor.type) else bool(one) if tensor.type is BOOL else one
        return [one if v is UNDEFINED else v for v in old]

    @staticmethod
    def _merge(kind, value_type, t):
        """What continues a reduction that stands in memory: computed wide, rounded once."""
        wide = ops.promote(value_type, t, kind) if BOOL not in (value_type, t) else t
        into, out = ops.converter(t, wide), ops.converter(wide, t)
        lift = ops.converter(value_type, wide)
        return lambda old, new: out(combine(kind, [(0, into(old)), (0, lift(new))], wide, wide))


def _own(statement, scope):
    """What stands for a 'let' in its own text: it may read itself."""
    if isinstance(statement.type, list):
        fields = [Tensor(statement.name, TYPES[kind], ()) for _, kind in statement.type]
        own = Tuple([name for name, _ in statement.type], fields)
    else:
        own = Tensor(statement.name, TYPES[statement.type] if statement.type else _likely(statement, scope), ())
        fields = [own]
    for field in fields:
        field.is_own = True
    return own


def _open(tensor, kind, shape):
    tensor.type, tensor.shape, tensor.data, tensor.is_own = kind, tuple(shape), [UNDEFINED] * math.prod(shape), False


def _reads(value, tensors):
    wanted = {id(t) for t in tensors}
    return any(isinstance(n, Read) and id(n.tensor) in wanted for n in walk(value))


def _likely(statement, scope):
    """The type of a let that reads itself and has none: that of the other tensors in its text."""
    found, work = [], [statement.value]
    while work:
        e = work.pop()
        name = getattr(e, "tensor", None)
        tensor = scope.find(name) if isinstance(name, str) and name != statement.name else None
        found += [widen(tensor.type)] if isinstance(tensor, Tensor) else []
        for part in vars(e).values() if hasattr(e, "__dataclass_fields__") else ():
            work += part if isinstance(part, list) else [part] if hasattr(part, "__dataclass_fields__") else []
    floats = [t for t in found if is_float(t)]
    return max(floats or found, key=lambda t: t.bits or 64, default=F32)


def _flat(places, at, tensor):
    flat = 0
    for place, n in zip(places, tensor.shape):
        flat = flat * n + place(at)
    return flat


def _folded(reducer, terms, functions):
    """What these states come to, from the identity on."""
    wide = widen(TYPES[reducer.fields[0][1]])
    symbol = Symbol("n")
    value = Op("term", lambda n: terms[n], [Index(symbol, I64)], wide)
    loop = Loop(symbol, Const(0, I64), Const(len(terms), I64))
    return compiled(fold_node(reducer, [loop], [], [value], functions))({})


def _points(loops):
    at = {}

    def nest(depth):
        if depth == len(loops):
            yield at
            return
        loop = loops[depth]
        for i in range(compiled(loop.lo)(at), compiled(loop.hi)(at)):
            at[loop.symbol.slot] = i
            yield from nest(depth + 1)
    yield from nest(0)


def _python_type(value):
    return BOOL if isinstance(value, bool) else TYPES["i64"] if isinstance(value, int) else TYPES["f64"]


def run(text, arguments, sizes=(), constants=(), name=None):
    """The outputs of a kernel: {name: Tensor}."""
    return Call(text, arguments, sizes, constants, name).run()
