# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Foreign arrays as kc_tensor, without copies: DLPack, NumPy's array interface and Numba's CUDA
array interface."""
import ctypes as C

from . import _library as lib
from ._frameworks import jax_device, module_of

_pointer = C.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = C.c_void_p, [C.py_object, C.c_char_p]
_is_valid = C.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = C.c_int, [C.py_object, C.c_char_p]

DEFAULT_STREAM = 1  # how both protocols spell it; 0 is ambiguous there
_READ_ONLY, _COPIED = 1, 2  # flags of a versioned DLPack tensor


class _VersionedHead(C.Structure):  # DLManagedTensorVersioned up to the tensor
    _fields_ = [("major", C.c_uint32), ("minor", C.c_uint32), ("context", C.c_void_p), ("deleter", C.c_void_p),
                ("flags", C.c_uint64), ("tensor", lib.Tensor)]


def is_array(x):
    return any(hasattr(x, protocol) for protocol in ("__dlpack__", "__array_interface__", "__cuda_array_interface__"))


def cuda_interface(x):
    """The CUDA array interface of an array, or None."""
    return getattr(x, "__cuda_array_interface__", None)


def gpu_of(name, x, framework):
    """The ordinal of the GPU that an array lies on; None: host memory."""
    if framework == "numpy":
        return None
    if framework == "torch":
        return x.device.index if x.device.type == "cuda" else None
    if framework == "cupy":
        return x.device.id
    if framework == "jax":
        kind, ordinal = _ask(name, x.__dlpack_device__)
        return ordinal if kind in (lib.DEVICE_CUDA, lib.DEVICE_CUDA_MANAGED) else None
    interface = cuda_interface(x)
    if interface is not None:
        return _gpu_of_memory(name, (interface.get("data") or (0,))[0])
    if hasattr(x, "__dlpack_device__"):
        kind, ordinal = _ask(name, x.__dlpack_device__)
        return int(ordinal) if int(kind) in (lib.DEVICE_CUDA, lib.DEVICE_CUDA_MANAGED) else None
    return None


def _gpu_of_memory(name, address):
    device = lib.Device(lib.DEVICE_CUDA, 0)
    if address:  # no elements: any device will do
        try:
            lib.check(lib.library().kc_memory_device(address, C.byref(device)))
        except lib.KernelcError as error:
            raise lib.KernelcError(error.code, f"parameter '{name}': {error}") from None
    return device.device_id


def address_of(x, framework):
    """Where an array's elements lie now; 0: nowhere any more; None: its maker does not tell."""
    if framework == "torch":
        return x.data_ptr()
    if framework == "cupy":
        return x.data.ptr
    if framework == "numpy" and not isinstance(x, module_of("numpy").generic):
        return x.__array_interface__["data"][0]
    return 0 if framework == "jax" and x.is_deleted() else None


def describe(name, x, framework, writable, stream):
    """(kc_tensor, objects that must live as long as it). `stream`: for arrays on a GPU the address of
    the stream that will read them, which a producer that knows of streams makes wait for itself."""
    if framework == "torch":
        return _describe_torch(name, x, writable)
    if framework == "jax":
        return _describe_jax(name, x, stream)
    if framework == "numpy":
        x = _steady(x)
    gpu = gpu_of(name, x, framework)
    interface = getattr(x, "__array_interface__", None) if gpu is None else cuda_interface(x)
    if interface is not None:
        return _from_interface(name, x, interface, writable, lib.Device(lib.DEVICE_CPU, 0) if gpu is None else lib.Device(lib.DEVICE_CUDA, gpu))
    return _from_capsule(name, x, _ask(name, _export, x, None if gpu is None else stream or DEFAULT_STREAM), writable)


def _steady(x):
    """A NumPy scalar as an array: the scalar's own interface points at a temporary."""
    numpy = module_of("numpy")
    if isinstance(x, numpy.generic):
        x = numpy.asarray(x)
        x.flags.writeable = False
    return x


def _ask(name, function, *args, **named):
    """What an array's own protocol answers; its refusals name the parameter."""
    try:
        return function(*args, **named)
    except Exception as error:
        raise TypeError(f"parameter '{name}' cannot be passed to a kernel: {error}") from error


def _export(x, stream):
    """A DLPack capsule, with flags where the producer has them."""
    named = {} if stream is None else {"stream": stream}
    try:
        return x.__dlpack__(max_version=(1, 0), **named)
    except TypeError:  # a producer of before there were versions
        return x.__dlpack__(**named)


def _from_capsule(name, x, capsule, writable):
    if not _is_valid(capsule, b"dltensor_versioned"):
        return lib.Tensor.from_address(_pointer(capsule, b"dltensor")), (capsule, x)
    head = _VersionedHead.from_address(_pointer(capsule, b"dltensor_versioned"))
    if head.major != 1:
        raise TypeError(f"parameter '{name}' speaks DLPack {head.major}.{head.minor}, and kernelc 1")
    if writable and head.flags & _READ_ONLY:
        raise ValueError(f"parameter '{name}': the array is read-only, but the kernel writes it; pass a copy, as with numpy.array(x)")
    if writable and head.flags & _COPIED:
        raise ValueError(f"parameter '{name}' hands out a copy of itself, but the kernel writes it")
    return head.tensor, (capsule, x)


_FLOAT8 = {"float8_e4m3fn": 10, "float8_e5m2": 12}


def _describe_torch(name, x, writable):
    if x.requires_grad:
        x = x.detach()
    code = _FLOAT8.get(str(x.dtype).rpartition(".")[2])
    if code:  # DLPack of some versions of PyTorch has no f8
        x = x.view(module_of("torch").uint8)
    # Not by its __dlpack__, which would order the streams of the current device, not of the tensor's: _streams.py does.
    tensor, alive = _from_capsule(name, x, _ask(name, module_of("torch").utils.dlpack.to_dlpack, x), writable)
    return (_retyped(tensor, code) if code else tensor), alive


def _describe_jax(name, x, stream):
    on_gpu = _ask(name, jax_device, x).platform != "cpu"
    if not on_gpu:
        _ask(name, x.block_until_ready)
    code = _FLOAT8.get(x.dtype.name)
    if code:  # nor has that of some versions of JAX
        x = _ask(name, x.view, "uint8")
        _ask(name, x.block_until_ready)
    named = {"stream": stream or DEFAULT_STREAM} if on_gpu else {}
    tensor, alive = _from_capsule(name, x, _ask(name, x.__dlpack__, **named), False)
    return (_retyped(tensor, code) if code else tensor), alive


def _retyped(tensor, code):
    tensor = lib.Tensor.from_buffer_copy(tensor)
    tensor.dtype = lib.DType(code, 8, 1)
    return tensor


_NAMED = {"bfloat16": (4, 16), "float8_e4m3fn": (10, 8), "float8_e5m2": (12, 8)}  # of ml_dtypes
_KINDS = {"i": (0, (1, 2, 4, 8)), "u": (1, (1, 2, 4, 8)), "f": (2, (2, 4, 8)), "b": (6, (1,))}


def _element_type(where, x, typestr):
    name = getattr(getattr(x, "dtype", None), "name", "")
    kind, size = typestr[1], int(typestr[2:] if typestr[2:].isdecimal() else 0)
    if name in _NAMED:
        return lib.DType(*_NAMED[name], 1), _NAMED[name][1] // 8
    code, sizes = _KINDS.get(kind, (0, ()))
    if size not in sizes:
        raise TypeError(f"{where}: arrays of type {name or typestr} cannot be passed to a kernel{'; pass x.real and x.imag' if kind == 'c' else ''}")
    if typestr[0] == ">":
        raise TypeError(f"{where}: arrays of {name or typestr} in the byte order of other machines cannot be passed to a kernel; "
                        f"convert it, as with x.astype('{typestr[1:]}')")
    return lib.DType(code, size * 8, 1), size


def _from_interface(name, x, interface, writable, device):
    where = f"parameter '{name}'"
    dtype, size = _element_type(where, x, interface["typestr"])
    if interface.get("mask") is not None:
        raise TypeError(f"{where} has a mask, which would be dropped")
    if interface.get("data") is None or not isinstance(interface["data"], tuple):
        raise TypeError(f"{where} does not tell where its elements lie")
    address, read_only = interface["data"]
    if writable and read_only:
        raise ValueError(f"{where}: the array is read-only, but the kernel writes it; pass a copy, as with numpy.array(x)")
    shape, strides = interface["shape"], interface.get("strides")
    rank = len(shape)
    if strides is not None:
        if any(s % size for s in strides):
            raise ValueError(f"{where}: the array's strides are not multiples of its element size")
        strides = (C.c_int64 * rank)(*(s // size for s in strides))
    shape = (C.c_int64 * rank)(*shape)
    tensor = lib.Tensor(address or None, device, rank, dtype, shape, strides, 0)
    return tensor, (shape, strides, x)
