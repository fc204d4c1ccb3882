# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Python's side of the warm path of calls and launches (python/fast): loads the extension where there is one, and tells it
which arrays it may read. Without it every call goes the whole way through _call.py."""
import ctypes as C
import importlib.machinery
import importlib.util
import os
import sys
import threading

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


class _SlowBound:
    """The same for bound calls."""

    def launch(self, stream=None):
        """Queues the call, as Kernel says of `stream` and of the order; returns `outputs`."""
        return self._launch_slow(stream)

    def _arm(self, handle, lead, device_id, hearer):
        return False


_fast = _load()
Caller = _fast.Caller if _fast else _SlowCaller
Bound = _fast.Bound if _fast else _SlowBound
_linked = False
_seen = set()  # types and dtypes that were looked at; their number is small


def link():
    """Gives the extension the library's functions: once the library is loaded."""
    global _linked
    if _fast and not _linked:
        address = lambda name: C.cast(getattr(lib.library(), name), C.c_void_p).value
        _fast.link(*map(address, ("kc_bound_call", "kc_bound_launch", "kc_bound_destroy", "kc_set_interrupt")))
        lib.raise_interrupt = _fast.raise_interrupt
        _fast.set_main_thread(threading.main_thread().ident)
        os.register_at_fork(after_in_child=lambda: _fast.set_main_thread(threading.get_ident()))
        _linked = True


def learn(x):
    """Lets the extension read arrays such as `x`, if it can. For those whose every property is in what it reads: NumPy's
    own class, and frameworks' own classes with DLPack's C exchange API; JAX's arrays, which are not to be written, are none."""
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
            _fast.know_type(kind, None, None)
    elif framework in ("torch", "cupy") and kind not in _seen:
        _seen.add(kind)
        torch = sys.modules["torch"] if framework == "torch" else None
        if torch and kind not in (torch.Tensor, torch.nn.Parameter):
            return  # a subclass, which may be anything
        api = getattr(kind, "__dlpack_c_exchange_api__", None)
        functions = _torch_functions() if torch and api is not None else None
        if api is not None and (functions or not torch):
            _fast.know_type(kind, api, functions)


def _torch_functions():
    """What the extension asks and tells PyTorch; None where that has no such functions."""
    torch = sys.modules["torch"]
    increment = getattr(torch._C, "_increment_version", None)
    return increment and (torch.Tensor.is_neg, torch.is_grad_enabled, increment)
