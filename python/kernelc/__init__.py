"""kernelc: GPU kernels from index notation.

    import kernelc, numpy as np
    k = kernelc.compile("def scale(a: f32, x: f32[N]) -> (y: f32[N]) { y[i] = a * x[i] }")
    y = k(2.0, np.ones(8, np.float32))

Arrays are anything that speaks DLPack or NumPy's array interface (NumPy, PyTorch, CuPy,
JAX, Numba); none is copied. The device is where the arrays lie.
"""
from ._errors import GradientError
from ._generate import fill
from ._library import KernelcError, KernelcWarning, library_path
from ._kernel import Bound, Kernel, Program, Session, compile, default_session

__all__ = ["Bound", "GradientError", "Kernel", "KernelcError", "KernelcWarning", "Program", "Session", "compile", "default_session", "fill",
           "library_path"]


def __getattr__(name):
    if name == "__version__":  # the library's own, and thereby that of CMakeLists.txt
        from ._library import library
        return library().kc_version().decode()
    raise AttributeError(f"module 'kernelc' has no attribute '{name}'")
