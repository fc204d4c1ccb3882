"""Foreign arrays as kc_tensor, without copies, and new arrays of the same kind as others."""
import ctypes as C
import sys

from . import _library as lib

_pointer = C.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = C.c_void_p, [C.py_object, C.c_char_p]
_is_valid = C.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = C.c_int, [C.py_object, C.c_char_p]


class _VersionedHead(C.Structure):  # DLManagedTensorVersioned up to the tensor
    _fields_ = [("major", C.c_uint32), ("minor", C.c_uint32), ("context", C.c_void_p), ("deleter", C.c_void_p),
                ("flags", C.c_uint64), ("tensor", lib.Tensor)]


def is_array(x):
    return hasattr(x, "__dlpack__") or hasattr(x, "__array_interface__")


def is_torch(x):
    return type(x).__module__.partition(".")[0] == "torch"


def describe(x, writable):
    """(kc_tensor, objects that must live as long as it)."""
    numpy = sys.modules.get("numpy")
    if numpy and isinstance(x, numpy.generic):  # a scalar's own interface points at a temporary
        x = numpy.asarray(x)
        x.flags.writeable = False
    interface = getattr(x, "__array_interface__", None) if not is_torch(x) else None
    if interface is not None:
        return _from_interface(x, interface, writable)
    if is_torch(x):
        if x.requires_grad:
            x = x.detach()
        code = _FLOAT8.get(str(x.dtype).rpartition(".")[2])
        if code:  # DLPack of some versions of PyTorch has no f8
            return _as_float8(x, code)
        # -1: no synchronisation; the kernel is queued on the stream that the data is on.
        capsule = x.__dlpack__(stream=-1) if x.is_cuda else x.__dlpack__()
    else:
        capsule = x.__dlpack__()
    if _is_valid(capsule, b"dltensor_versioned"):
        head = _VersionedHead.from_address(_pointer(capsule, b"dltensor_versioned"))
        if writable and head.flags & 1:
            raise ValueError("the array is read-only, but the kernel writes it")
        return head.tensor, (capsule, x)
    return lib.Tensor.from_address(_pointer(capsule, b"dltensor")), (capsule, x)


_FLOAT8 = {"float8_e4m3fn": 10, "float8_e5m2": 12}


def _as_float8(x, code):
    import torch
    tensor, alive = describe(x.view(torch.uint8), False)
    tensor = lib.Tensor.from_buffer_copy(tensor)
    tensor.dtype = lib.DType(code, 8, 1)
    return tensor, alive


_KINDS = {"i": 0, "u": 1, "f": 2, "b": 6}


def _from_interface(x, interface, writable):
    typestr = interface["typestr"]
    kind, size = typestr[1], int(typestr[2:])
    name = getattr(getattr(x, "dtype", None), "name", "")
    if name == "bfloat16":
        dtype = lib.DType(4, 16, 1)
    elif name.startswith("float8_e4m3"):
        dtype = lib.DType(10, 8, 1)
    elif name.startswith("float8_e5m2"):
        dtype = lib.DType(12, 8, 1)
    elif kind in _KINDS and typestr[0] != ">":
        dtype = lib.DType(_KINDS[kind], size * 8, 1)
    elif kind in _KINDS:
        raise TypeError(f"arrays of {name or typestr} in the byte order of other machines cannot be passed to a kernel; "
                        f"convert it, as with x.astype('{typestr[1:]}')")
    else:
        raise TypeError(f"arrays of type {name or typestr} cannot be passed to a kernel")
    address, read_only = interface["data"]
    if writable and read_only:
        raise ValueError("the array is read-only, but the kernel writes it")
    shape = interface["shape"]
    rank = len(shape)
    strides = interface.get("strides")
    if strides is not None:
        if any(s % size for s in strides):
            raise ValueError("the array's strides are not multiples of its element size")
        strides = (C.c_int64 * rank)(*(s // size for s in strides))
    shape = (C.c_int64 * rank)(*shape)
    tensor = lib.Tensor(address or None, lib.Device(lib.DEVICE_CPU, 0), rank, dtype, shape, strides, 0)
    return tensor, (shape, strides, x)


_NUMPY = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "uint16", "f8e4m3": "uint8", "f8e5m2": "uint8",
          "bool": "bool_"}
_TORCH = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "f8e4m3": "float8_e4m3fn",
          "f8e5m2": "float8_e5m2", "bool": "bool"}


def _integer_name(kind):
    return {"i": "int", "u": "uint"}[kind[0]] + kind[1:]


def empty(shape, kind, like, device):
    """A new dense array of element type `kind` ("bf16"), of the framework of `like`."""
    if kind in ("i4", "u4"):
        raise TypeError("an output of 4-bit integers must be passed in")
    if like is not None and is_torch(like) or like is None and device.device_type == lib.DEVICE_CUDA:
        import torch
        where = like.device if like is not None else f"cuda:{device.device_id}"
        return torch.empty(shape, dtype=getattr(torch, _TORCH.get(kind) or _integer_name(kind)), device=where)
    if device.device_type == lib.DEVICE_CUDA:
        if type(like).__module__.partition(".")[0] == "cupy":
            import cupy
            return cupy.empty(shape, dtype=_NUMPY.get(kind) or _integer_name(kind))
        if hasattr(like, "__array_interface__"):
            raise TypeError(f"the arrays lie in host memory, and device 'cuda:{device.device_id}' reads its own; pass arrays that lie there")
        raise TypeError("pass the outputs: kernelc can allocate them with NumPy, PyTorch and CuPy only")
    import numpy
    return numpy.empty(shape, dtype=_NUMPY.get(kind) or _integer_name(kind))


def current_stream(device):
    """The stream that PyTorch queues on, as an address; None: the default stream."""
    torch = sys.modules.get("torch")
    if torch is None or device.device_type != lib.DEVICE_CUDA or not torch.cuda.is_initialized():
        return None
    return torch.cuda.current_stream(device.device_id).cuda_stream or None
