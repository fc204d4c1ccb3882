# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kernelc: GPU kernels from index notation.

    import kernelc, numpy as np
    k = kernelc.compile("def scale(a: f32, x: f32[N]) -> (y: f32[N]) { y[i] = a * x[i] }")
    y = k(2.0, np.ones(8, np.float32))

Arrays are anything that speaks DLPack or NumPy's array interface (NumPy, PyTorch, CuPy,
JAX, Numba); none is copied. The device is where the arrays lie. docs/python.md has the rest.
"""
from ._decorator import Function as fn
from ._errors import GradientError
from ._generate import fill
from ._library import Diagnostic, KernelcError, KernelcWarning, library_path
from ._bound import Bound
from ._kernel import Kernel, Program, Session, compile, default_session, kernel, load

__all__ = ["Bound", "Diagnostic", "GradientError", "Kernel", "KernelcError", "KernelcWarning", "Program", "Session", "compile", "default_session",
           "fill", "fn", "kernel", "library_path", "load"]


def __getattr__(name):
    if name == "__version__":  # the library's own, and thereby that of CMakeLists.txt
        from ._library import library
        return library().kc_version().decode()
    from ._errors import nearest
    meant = {"jit": "kernel", "function": "fn", "compile_file": "load", "read": "load"}.get(name)
    raise AttributeError(f"module 'kernelc' has no attribute '{name}'" + (f"; did you mean '{meant}'?" if meant else nearest(name, __all__)))
