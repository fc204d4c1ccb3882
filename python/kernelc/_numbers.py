# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers for the C interface: exact, or refused by name."""
import ctypes as C
import operator

from . import _library as lib
from ._refusals import check_scalar


def number(name, value):
    """`value`, a number of Python, NumPy, PyTorch, .., as an int or a float. TypeError for anything else."""
    check_scalar(f"'{name}'", value)
    try:
        result = value.item() if hasattr(value, "item") else value
        return result if isinstance(result, float) else operator.index(result)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"'{name}' must be a number, got {type(value).__name__}") from None


def named(values, struct=lib.Named):
    """Sizes and constants given by name: (array of `struct`, their number)."""
    items = (struct * max(1, len(values)))()
    for i, (name, value) in enumerate(values.items()):
        if struct is lib.Named:
            value = number(name, value)
            if isinstance(value, float):
                raise TypeError(f"'{name}' must be an integer, got {value}")
            if not -2**63 <= value < 2**63:
                raise ValueError(f"'{name}': {value} does not fit in i64")
        elif struct is lib.NamedUnsigned and value >= 2**64:
            raise ValueError(f"'{name}': {value} does not fit in u64")
        items[i] = struct(name.encode(), value)
    return items, len(values)


def scalar(name, kind, value):
    """A scalar argument of element type `kind`. ValueError where no C number holds it; whether the
    type does is the library's to say."""
    value = number(name, value)
    if isinstance(value, int) and not -2**63 <= value < 2**64:
        try:
            value = float(value) if "f" in kind else None
        except OverflowError:
            value = None
        if value is None:
            raise ValueError(f"'{name}': the number does not fit in {kind}")
    if isinstance(value, float):
        return lib.Value(lib.VALUE_FLOAT, None, 0, value)
    return lib.Value(lib.VALUE_INT if value < 2**63 else lib.VALUE_UINT, None, value, 0)


def device(text):
    """"cpu", "emulator", "cuda" or "cuda:1" as a Device."""
    kind, _, ordinal = str(text).partition(":")
    kinds = {"cpu": lib.DEVICE_CPU, "cuda": lib.DEVICE_CUDA, "emulator": lib.DEVICE_EMULATOR}
    if kind not in kinds or (ordinal and not ordinal.isdecimal()):
        raise ValueError(f"unknown device '{text}'; devices are cpu, emulator, cuda and cuda:N")
    return lib.Device(kinds[kind], int(ordinal or 0))
