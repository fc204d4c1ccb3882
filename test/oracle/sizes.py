# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sizes: each is solved from the first dim a * N + b in parameter order; all other dims are checks."""
from . import tree
from .element_types import KcError

_CALLS = {"min": min, "max": max, "abs": abs}


def names_of(e):
    if isinstance(e, tree.Name):
        return {e.name}
    if isinstance(e, tree.Binary):
        return names_of(e.a) | names_of(e.b)
    if isinstance(e, tree.Unary):
        return names_of(e.e)
    return set().union(*map(names_of, e.args)) if isinstance(e, tree.Call) else set()


def linear(e, name, known):
    """(a, b) with e = a * name + b, or None."""
    if isinstance(e, tree.Number):
        return 0, e.value
    if isinstance(e, tree.Name):
        return (1, 0) if e.name == name else (0, known[e.name]) if e.name in known else None
    if isinstance(e, tree.Unary) and e.op == "-":
        a = linear(e.e, name, known)
        return a and (-a[0], -a[1])
    if isinstance(e, tree.Call) and e.name in _CALLS:
        args = [linear(a, name, known) for a in e.args]
        return None if any(a is None or a[0] for a in args) else (0, _CALLS[e.name](*(a[1] for a in args)))
    if not isinstance(e, tree.Binary):
        return None
    a, b = linear(e.a, name, known), linear(e.b, name, known)
    if a is None or b is None:
        return None
    if e.op in "+-":
        sign = 1 if e.op == "+" else -1
        return a[0] + sign * b[0], a[1] + sign * b[1]
    if e.op == "*" and (a[0] == 0 or b[0] == 0):
        return a[0] * b[1] + b[0] * a[1], a[1] * b[1]
    if a[0] or b[0]:
        return None
    if e.op in ("//", "%"):
        return 0, 0 if b[1] == 0 else a[1] // b[1] if e.op == "//" else a[1] % b[1]
    return None


def bind_sizes(kernel, shapes, given, scope):
    """Every size of the kernel by name."""
    known = {n: c.value for n, c in scope.names.items()}
    sizes = dict(given)
    known.update(sizes)
    dims = [(p.name, e, n) for p in kernel.params if p.name in shapes for e, n in zip(p.shape, shapes[p.name])]
    wanted = set().union(*(names_of(e) for p in kernel.params for e in p.shape or [])) - set(known)
    progress = True
    while progress:
        progress = False
        for _, e, extent in dims:
            unknown = names_of(e) - set(known)
            if len(unknown) != 1:
                continue
            name = unknown.pop()
            found = linear(e, name, known)
            if found and found[0]:
                value, rest = divmod(extent - found[1], found[0])
                if rest or value < 0:
                    raise KcError(f"no {name} makes the dim {extent}")
                sizes[name] = known[name] = value
                progress = True
    if wanted - set(known):
        raise KcError(f"nothing determines {wanted - set(known)}")
    if any(n < 0 for n in sizes.values()):
        raise KcError("sizes are not negative")
    return sizes
