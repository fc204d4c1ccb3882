# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tensors by other indices than their own: the elements of a view, counted through."""
import math
import re
from itertools import product

from .element_types import KcError


def _side(text):
    return [group.strip("()").split() for group in re.findall(r"\([^()]*\)|\w+", text)]


class ViewTensor:
    """What view(tensor, pattern, sizes) is; `data` follows that of the tensor."""

    def __init__(self, tensor, pattern, sizes):
        self.tensor, self.name, self.type, self.narrow = tensor, tensor.name, tensor.type, tensor.narrow
        source, target = map(_side, pattern.split("->"))
        names = [n for g in source for n in g]
        if sorted(names) != sorted(n for g in target for n in g) or len(set(names)) != len(names) or len(source) != len(tensor.shape):
            raise KcError(f"no pattern of '{tensor.name}': {pattern}")
        for group, dim in zip(source, tensor.shape):
            open_names = [n for n in group if n not in sizes]
            known = math.prod(sizes[n] for n in group if n in sizes)
            if len(open_names) > 1 or (dim % known if known else dim) or not open_names and known != dim:
                raise KcError(f"sizes of {group} are not known")
            if open_names:
                sizes[open_names[0]] = dim // known if known else 0
        self.shape = tuple(math.prod(sizes[n] for n in g) for g in target)
        self.order = []  # the place of each element in the tensor
        for digits in product(*(range(sizes[n]) for g in target for n in g)):
            at = dict(zip((n for g in target for n in g), digits))
            flat = 0
            for n in names:
                flat = flat * sizes[n] + at[n]
            self.order.append(flat)
        self.source = self.copy = None

    @property
    def data(self):
        if self.source is not self.tensor.data:
            self.source = self.tensor.data
            self.copy = [self.source[i] for i in self.order]
        return self.copy
