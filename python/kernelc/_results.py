# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""New arrays for results: of the framework that the arguments are of, and of its own element types."""
import functools
import sys

from . import _library as lib
from ._frameworks import jax_device, module_of

_PLAIN = {"f64": "float64", "f32": "float32", "f16": "float16", "bool": "bool"}
_NARROW = {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}
_BITS = {"bf16": "uint16", "f8e4m3": "uint8", "f8e5m2": "uint8"}


@functools.lru_cache(maxsize=None)
def _ml_dtypes():
    try:
        import ml_dtypes
    except ImportError:
        return None
    return ml_dtypes


def _type_name(kind):
    return _PLAIN.get(kind) or _NARROW.get(kind) or {"i": "int", "u": "uint"}[kind[0]] + kind[1:]


def numpy_type(kind):
    """The NumPy type of element type `kind`: for bf16 and f8 ml_dtypes', or where that is not installed
    the unsigned type that holds their bits."""
    import numpy
    if kind in _NARROW and _ml_dtypes() is None:
        return numpy.dtype(_BITS[kind])
    return numpy.dtype(getattr(_ml_dtypes(), _NARROW[kind]) if kind in _NARROW else _type_name(kind))


def framework_for(framework, device):
    """Whose arrays results are, for arguments of `framework` ("": none, or one that makes no arrays for others)."""
    if framework:
        return framework
    if device.device_type != lib.DEVICE_CUDA:
        return "numpy"
    for name in sorted(("torch", "cupy"), key=lambda n: n not in sys.modules):  # one that is loaded, else one that is installed
        try:
            __import__(name)
            return name
        except ImportError:
            pass
    raise TypeError("pass the outputs: kernelc allocates results on a GPU with PyTorch, CuPy, JAX and Numba only")


def maker(name, shape, kind, framework, like, device):
    """A function that makes a new dense array for output `name`, of element type `kind` ("bf16"). `like`: an argument of
    `framework`, or None. On the CPU JAX arrays begin as NumPy's (see `deliver`)."""
    if kind in ("i4", "u4"):
        raise TypeError(f"output '{name}': an output of 4-bit integers must be passed in")
    if framework == "torch":
        return _torch_maker(name, shape, kind, device)
    on_gpu = device.device_type == lib.DEVICE_CUDA
    if framework == "jax":
        _check_jax_holds(name, kind)
    if not on_gpu:
        import numpy
        return functools.partial(numpy.empty, shape, numpy_type(kind))
    return functools.partial({"cupy": _cupy_empty, "jax": _jax_empty, "numba": _numba_empty}[framework], shape, kind, like, device)


def deliver(array, framework, like, kind):
    """What the caller gets for a result that a maker made, once the kernel has run or is queued (with JAX: has run)."""
    if framework == "jax" and not isinstance(array, module_of("jax").Array):
        return module_of("jax").device_put(array, jax_device(like))
    if framework == "jax" and kind in _JAX_BITS:
        return array.view(numpy_type(kind))
    return array


def _torch_maker(name, shape, kind, device):
    torch = module_of("torch")
    dtype = getattr(torch, _type_name(kind), None)
    if dtype is None:
        raise TypeError(f"output '{name}' is {kind}, which this version of PyTorch has no type for; pass the output")
    place = torch.device(f"cuda:{device.device_id}" if device.device_type == lib.DEVICE_CUDA else "cpu")
    return functools.partial(torch.empty, shape, dtype=dtype, device=place)


def _cupy_empty(shape, kind, like, device):
    cupy = module_of("cupy")
    with cupy.cuda.Device(device.device_id):
        try:
            return cupy.empty(shape, dtype=numpy_type(kind))
        except (TypeError, ValueError):
            if kind not in _BITS:  # else this version has no such type
                raise
            return cupy.empty(shape, dtype=_BITS[kind])


def _numba_empty(shape, kind, like, device):
    from numba import cuda
    with cuda.gpus[device.device_id]:
        return cuda.device_array(shape, dtype=_BITS.get(kind) or numpy_type(kind))


def _check_jax_holds(name, kind):
    dtype = numpy_type(kind)
    if module_of("jax").dtypes.canonicalize_dtype(dtype) != dtype:
        raise TypeError(f"output '{name}' is {kind}, and JAX has no 64-bit types unless told so; call "
                        "jax.config.update('jax_enable_x64', True), or pass the output as an array of NumPy, PyTorch or CuPy")


_JAX_BITS = ("f8e4m3", "f8e5m2")  # not every JAX hands these out by DLPack, and a view of its arrays is a copy


def _jax_empty(shape, kind, like, device):
    # Written once, before anybody else holds it. Of rank 0 a transfer, since JAX may keep constants of that rank for others.
    jax = module_of("jax")
    dtype = "uint8" if kind in _JAX_BITS else numpy_type(kind)
    if not shape:
        import numpy
        return jax.device_put(numpy.zeros(shape, dtype), jax_device(like))
    return jax.numpy.empty(shape, dtype, device=jax_device(like))
