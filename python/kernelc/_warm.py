# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python's side of the warm path of a call (_fast.c): loads the extension where there is one, and tells it which arrays
it may read. Without it every call goes the whole way through _call.py."""
import ctypes as C
import importlib.machinery
import importlib.util
import os
import sys

from . import _arrays
from . import _library as lib
from ._frameworks import framework_of


def _load():
    """The extension beside the library, or None: $KERNELC_PYTHON_FAST=0, a Python without the stable ABI, a foreign build."""
    path = os.path.join(os.path.dirname(lib.library_path()), "_fast.abi3.so")
    if os.environ.get("KERNELC_PYTHON_FAST") == "0" or not os.path.exists(path) or sys.implementation.name != "cpython":
        return None
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None
    try:
        spec = importlib.util.spec_from_file_location("kernelc._fast", path, loader=importlib.machinery.ExtensionFileLoader("kernelc._fast", path))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    except ImportError:
        return None


class _SlowCaller:
    """What stands in for the extension's class."""

    def __call__(self, *args, **named):
        return self._call_slow(*args, **named)

    def _setup(self, inputs, positions, names):
        return False


_fast = _load()
Caller = _fast.Caller if _fast else _SlowCaller
_linked = False
_seen = set()  # types and dtypes that were looked at; their number is small


def link():
    """Gives the extension the library's functions: once the library is loaded."""
    global _linked
    if _fast and not _linked:
        address = lambda name: C.cast(getattr(lib.library(), name), C.c_void_p).value
        _fast.link(address("kc_bound_call"), address("kc_bound_destroy"), address("kc_set_interrupt"))
        lib.raise_interrupt = _fast.raise_interrupt
        _linked = True


def learn(x):
    """Lets the extension read arrays such as `x`, if it can. For those whose every property is in what it reads: NumPy's
    own class, and frameworks with DLPack's C exchange API; JAX's arrays, which are not to be written, are none."""
    if _fast is None:
        return
    kind, framework = type(x), framework_of(x)
    if framework == "numpy" and kind is sys.modules["numpy"].ndarray:
        if x.dtype not in _seen and x.dtype.isnative:
            _seen.add(x.dtype)
            dtype, _ = _arrays._element_type("", x, x.dtype.str)
            _fast.know_dtype(x.dtype, dtype.code, dtype.bits)
        if kind not in _seen:
            _seen.add(kind)
            _fast.know_type(kind, None, None, None)
    elif framework in ("torch", "cupy") and kind not in _seen:
        _seen.add(kind)
        api = kind.__dict__.get("__dlpack_c_exchange_api__")
        torch = sys.modules["torch"] if framework == "torch" else None
        if api is not None and (torch is None or kind is torch.Tensor):
            increment = getattr(torch._C, "_increment_version", None) if torch else None
            if torch is None or increment is not None:
                _fast.know_type(kind, api, torch and torch.Tensor.is_neg, increment)
