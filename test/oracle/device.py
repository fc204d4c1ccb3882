# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler under test, through its Python package. The only module here that knows kernelc.

Arrays carry bits: bf16 and f8 travel as u16 and u8, 4-bit integers in bytes, and results are given, so that no array library's types are
met."""
import ctypes

import numpy as np

import kernelc
from kernelc import _library as lib

from .element_types import TYPES, from_bits, to_bits

_DTYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": np.uint16, "f8e4m3": np.uint8, "f8e5m2": np.uint8, "bool": np.bool_,
           **{f"{c}{bits}": getattr(np, ("int" if c == "i" else "uint") + str(bits)) for c in "iu" for bits in (8, 16, 32, 64)}}
_sessions = {}


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class _Managed(ctypes.Structure):  # DLManagedTensor
    _fields_ = [("tensor", lib.Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Halves:
    """4-bit integers, two to a byte, which no array library has: through DLPack."""

    def __init__(self, shape, values, t):
        halves = np.array([v & 15 for v in values] + [0] * (len(values) % 2), np.uint8)
        self.bytes = halves[::2] | halves[1::2] << 4
        self.shape = (ctypes.c_int64 * len(shape))(*shape)
        kind = lib.DType(0 if t.signed else 1, 4, 1)
        self.managed = _Managed(lib.Tensor(self.bytes.ctypes.data, lib.Device(lib.DEVICE_CPU, 0), len(shape), kind, self.shape, None, 0), None, None)

    def __dlpack_device__(self):
        return lib.DEVICE_CPU, 0

    def __dlpack__(self, stream=None):
        return _new_capsule(ctypes.addressof(self.managed), b"dltensor", None)


def to_array(shape, values, t):
    if t.bits == 4:
        return Halves(shape, values, t)
    if t.kind == "float":
        bits = np.array([to_bits(v, t) for v in values], dtype=f"u{t.bits // 8}")
        return bits.view(_DTYPES[t.name]).reshape(shape)
    return np.array(values, dtype=_DTYPES[t.name]).reshape(shape)


def to_values(array, t):
    """The elements in row-major order, as Python values."""
    if t.kind == "float":
        return [from_bits(int(n), t) for n in np.ascontiguousarray(array).ravel().view(f"u{t.bits // 8}")]
    return array.ravel().tolist()


def session(target):
    if target not in _sessions:
        _sessions[target] = kernelc.Session(emulator_target=target, disk_cache=False, cpu_threads=1)
    return _sessions[target]


class Refused(Exception):
    """The compiler does not take the program."""


class Failed(Exception):
    """The device does not run what was compiled."""


class Compiled:
    """A text, with some sizes and constants fixed."""

    def __init__(self, text, constants=(), target=None):
        try:
            self.program = session(target).compile(text, **dict(constants))
        except kernelc.KernelcError as e:
            raise Refused(str(e)) from None

    def run(self, params, arguments, shapes, sizes, device):
        """`params`: the kernel's (tree.Param). Returns {name: values} of what it writes."""
        kernel, named, written = self.program._only(), dict(sizes), {}
        for p in params:
            t = TYPES[p.type]
            if p.role == "const":
                continue
            if p.shape is None:
                named[p.name] = arguments[p.name]
            else:
                array = to_array(*arguments[p.name], t) if p.role != "out" else np.zeros(shapes[p.name], _DTYPES[t.name])
                named[p.name] = array
                if p.role != "in":
                    written[p.name] = (array, t)
        try:
            kernel(device=device, **named)
        except kernelc.KernelcError as e:
            raise Failed(str(e)) from None
        return {name: to_values(array, t) for name, (array, t) in written.items()}
