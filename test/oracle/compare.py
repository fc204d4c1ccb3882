# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a device's results are among those that the language allows."""
import math

from . import interval as iv
from .interval import Interval


def agrees(value, got):
    """`value`: the oracle's; `got`: the device's number."""
    if value is None or value is iv.ANY:
        return True
    if type(value) is Interval:
        return value.lo <= got <= value.hi
    if isinstance(value, float):
        return math.isnan(got) if value != value else got == value
    return value == got and isinstance(got, bool) == isinstance(value, bool)


def differences(expected, got):
    """[(output, flat place, the oracle's value, the device's)] of Tensors by name and values by name."""
    found = []
    for name, tensor in expected.items():
        for place, (a, b) in enumerate(zip(tensor.data, got[name], strict=True)):
            if not agrees(a, b):
                found.append((name, place, a, b))
    return found


def decided(expected):
    """How many elements the oracle has something to say about, of how many."""
    values = [v for tensor in expected.values() for v in tensor.data]
    return sum(v is not None and v is not iv.ANY for v in values), len(values)
