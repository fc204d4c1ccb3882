# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A program with its inputs, and what builds one out of draws."""
import math
import re
from dataclasses import dataclass, field

from hypothesis import strategies as st

from ..element_types import TYPES
from .inputs import elements

SIZES = st.sampled_from([3, 2, 0, 4, 1, 5, 0, 3, 2, 1])


@dataclass
class Case:
    text: str
    arguments: dict  # name -> (shape, values), or a scalar's value
    shapes: dict  # of every tensor, outputs included
    sizes: dict
    constants: dict = field(default_factory=dict)
    fixed: bool = False  # whether the sizes are known at compile time
    kind: str = ""

    def replay(self):
        """The case as Python text."""
        return (f"Case(text={self.text!r},\n     arguments={self.arguments!r},\n     shapes={self.shapes!r}, sizes={self.sizes!r}, "
                f"constants={self.constants!r}, fixed={self.fixed!r})")


class Builder:
    """A kernel under construction: parameters come with the first use."""

    def __init__(self, draw, special=False):
        self.draw, self.special = draw, special
        self.sizes, self.params, self.results, self.lines, self.functions = {}, {}, {}, [], []
        self.least = {}  # what the kernel requires of a size
        self.tensors = {}  # name -> (type name, dims as texts)
        self.arguments, self.shapes, self.constants, self.pools = {}, {}, {}, {}
        self.known = {}  # constants by name
        self.count = 0

    def pick(self, *options):
        return self.draw(st.sampled_from(options))

    def chance(self, percent):
        """Shrinks to False."""
        return self.draw(st.integers(0, 99)) >= 100 - percent

    def integer(self, lo, hi):
        return self.draw(st.integers(lo, hi))

    def size(self, name, least=0):
        if name not in self.sizes:
            self.sizes[name] = self.draw(SIZES)
        least = int(least)
        if least > self.least.get(name, 0):
            self.least[name] = least
            self.sizes[name] = max(self.sizes[name], least)
        return name

    def extent(self, dim):
        return eval(dim, {"max": max, "min": min}, {**self.sizes, **self.known})

    def fresh(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def tensor(self, type, dims, role="in", pool=None, stem=None):
        """A new tensor; `pool`: a strategy for its elements."""
        name = self.fresh(stem or {"in": "x", "inout": "z", "out": "y"}[role])
        text = f"{name}: {type}[{', '.join(dims)}]"
        (self.results if role == "out" else self.params)[name] = ("inout " if role == "inout" else "") + text
        self.tensors[name] = (type, tuple(dims))
        if role != "out":
            self.pools[name] = pool if pool is not None else elements(TYPES[type], self.special)
        return name

    def scalar(self, type, pool=None):
        name = self.fresh("s")
        self.params[name] = f"{name}: {type}"
        self.arguments[name] = self.draw(pool if pool is not None else elements(TYPES[type], self.special))
        return name

    def constant(self, type, default):
        """A `const` parameter; the call gives it another value now and then."""
        name = self.fresh("c")
        value = self.integer(1, 3) if type == "i64" else self.chance(50)
        self.params[name] = f"const {name}: {type} = {default}"
        self.known[name] = default
        if self.chance(50):
            self.constants[name] = self.known[name] = value
        return name

    def say(self, line):
        self.lines.append(line)

    def finish(self):
        lines = self._settle([f"require {name} >= {least}" for name, least in self.least.items()] + self.lines)
        for name, (_, dims) in self.tensors.items():
            shape = [self.extent(d) for d in dims]
            self.shapes[name] = shape
            if name in self.pools:
                count = math.prod(shape)
                self.arguments[name] = (shape, self._elements(self.pools[name], count))
        show = lambda texts: ", ".join(texts.values())
        results = f" -> ({show(self.results)})" if self.results else ""
        body = "\n".join("  " + line for line in lines)
        text = "\n".join([*self.functions, f"def f({show(self.params)}){results} {{\n{body}\n}}"])
        sizes = {n: v for n, v in self.sizes.items() if n in self._determined()}
        return Case(text, self.arguments, self.shapes, sizes, self.constants, self.chance(30))

    def _elements(self, pool, count):
        """So many draws; of a large tensor, a few that it repeats out of step."""
        few = min(count, 64 if count <= 64 else 23)
        drawn = self.draw(st.lists(pool, min_size=few, max_size=few))
        return drawn if few == count else [drawn[(i * 7 + i // 23 * 5) % few] for i in range(count)]

    def _determined(self):
        return {n for _, dims in self.tensors.values() for d in dims for n in re.findall(r"\w+", d)}

    def _settle(self, lines):
        """Drops what draws have left unused; sizes that no shape has become numbers."""
        used = set(re.findall(r"\w+", " ".join(lines)))
        for name in [n for n in self.tensors if n not in used]:
            for table in (self.tensors, self.pools, self.params):
                table.pop(name, None)
        for name in [n for n in self.params if n[0] == "s" and n not in used]:
            del self.params[name], self.arguments[name]
        known = self._determined()
        lost = [n for n in self.sizes if n not in known]
        lines = [line for line in lines if not (line.startswith("require") and line.split()[1] in lost)]
        for name in lost:
            lines = [re.sub(rf"\b{name}\b", str(self.sizes[name]), line) for line in lines]
        return lines
