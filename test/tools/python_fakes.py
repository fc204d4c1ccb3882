# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Stand-ins for array frameworks, for tests that must not need one: the few functions of PyTorch, CuPy,
JAX and Numba that the package calls, over NumPy arrays or over memory of FakeCuda."""
import collections
import ctypes as C
import types

import numpy as np

from kernelc import _library as lib

_new_capsule = C.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = C.py_object, [C.c_void_p, C.c_char_p, C.c_void_p]


class _Managed(C.Structure):  # DLManagedTensor
    _fields_ = [("tensor", lib.Tensor), ("context", C.c_void_p), ("deleter", C.c_void_p)]


class _ManagedVersioned(C.Structure):
    _fields_ = [("major", C.c_uint32), ("minor", C.c_uint32), ("context", C.c_void_p), ("deleter", C.c_void_p),
                ("flags", C.c_uint64), ("tensor", lib.Tensor)]


class Memory:
    """Elements somewhere: `address` on GPU `gpu`, or in host memory (None)."""

    def __init__(self, shape, address=None, gpu=None):
        self.shape, self.gpu = tuple(shape), gpu
        self.host = np.ones(shape, np.float32) if gpu is None else None
        self.address = self.host.ctypes.data if gpu is None else address
        self._alive = []

    def capsule(self, version=None, flags=0):
        shape = (C.c_int64 * len(self.shape))(*self.shape)
        device = lib.Device(lib.DEVICE_CPU, 0) if self.gpu is None else lib.Device(lib.DEVICE_CUDA, self.gpu)
        tensor = lib.Tensor(self.address, device, len(self.shape), lib.DType(2, 32, 1), shape, None, 0)
        managed = _Managed(tensor, None, None) if version is None else _ManagedVersioned(*version, None, None, flags, tensor)
        self._alive += [shape, managed]
        return _new_capsule(C.addressof(managed), b"dltensor" if version is None else b"dltensor_versioned", None)

    def interface(self, **entries):
        return {"shape": self.shape, "typestr": "<f4", "data": (self.address, False), "version": 3, **entries}


class DlpackArray:
    """An array of no known framework. On a GPU its elements are made on stream `own`, and as a producer it makes
    the consumer's stream wait for that one."""

    def __init__(self, memory, own=0, version=None, flags=0):
        self.memory, self.own, self.version, self.flags, self.asked = memory, own, version, flags, []

    def __dlpack_device__(self):
        return (lib.DEVICE_CPU, 0) if self.memory.gpu is None else (lib.DEVICE_CUDA, self.memory.gpu)

    def __dlpack__(self, **named):
        if self.version is None and "max_version" in named:
            raise TypeError("unexpected keyword argument 'max_version'")
        self.asked.append(named.get("stream"))
        if self.memory.gpu is not None:
            lib.check(lib.library().kc_stream_wait(lib.Device(lib.DEVICE_CUDA, self.memory.gpu), named["stream"], self.own))
        return self.memory.capsule(self.version, self.flags)


class InterfaceArray:
    """An array that speaks the CUDA array interface alone."""

    def __init__(self, memory, **entries):
        self.memory, self.entries = memory, entries

    @property
    def __cuda_array_interface__(self):
        return self.memory.interface(**self.entries)


NumbaArray = type("DeviceNDArray", (InterfaceArray,), {"__module__": "numba.cuda.cudadrv.devicearray"})


def make_torch(new_memory=None):
    """A module like torch. `new_memory(gpu, shape)` makes what torch.empty needs on a GPU."""
    torch = types.ModuleType("torch")
    torch.strided, torch.sparse_coo, torch.grad_enabled, torch.current, torch.written = object(), "torch.sparse_coo", True, 0, []
    torch.is_grad_enabled = lambda: torch.grad_enabled
    for name in ("float32", "uint8", "bfloat16", "float8_e4m3fn", "float8_e5m2"):
        setattr(torch, name, "torch." + name)

    class Tensor:
        def __init__(self, memory, **attributes):
            self.memory = memory
            self.device = types.SimpleNamespace(type="cpu" if memory.gpu is None else "cuda", index=memory.gpu)
            self.is_cuda, self.dtype, self.layout = memory.gpu is not None, torch.float32, torch.strided
            self.requires_grad = self.is_quantized = False
            self.conj_bit = self.neg_bit = False
            self.recorded = []
            self.__dict__.update(attributes)

        def is_conj(self):
            return self.conj_bit

        def is_neg(self):
            return self.neg_bit

        def data_ptr(self):
            return self.memory.address

        def item(self):
            return float(self.memory.host)

        def detach(self):
            return Tensor(self.memory)

        def record_stream(self, stream):
            self.recorded.append(stream.cuda_stream)

    def to_dlpack(tensor):
        assert not tensor.requires_grad
        return tensor.memory.capsule()

    def empty(shape, dtype, device):
        gpu = None if device == "cpu" else int(device.removeprefix("cuda:"))
        tensor = Tensor(Memory(shape) if gpu is None else new_memory(gpu, shape))
        tensor.dtype = dtype
        return tensor

    stream = lambda handle, device=None: types.SimpleNamespace(cuda_stream=handle)
    torch.Tensor, torch.empty, torch.device = Tensor, empty, str
    torch.nn = types.SimpleNamespace(Parameter=type("Parameter", (Tensor,), {}))
    torch.utils = types.SimpleNamespace(dlpack=types.SimpleNamespace(to_dlpack=to_dlpack))
    torch.cuda = types.SimpleNamespace(current_stream=lambda device: stream(torch.current), default_stream=lambda device: stream(0),
                                       ExternalStream=stream)
    torch.autograd = types.SimpleNamespace(graph=types.SimpleNamespace(increment_version=torch.written.append))
    return torch


class _ExchangeApi(C.Structure):
    _fields_ = [("major", C.c_uint32), ("minor", C.c_uint32), ("previous", C.c_void_p), ("unused", C.c_void_p * 3), ("describe", C.c_void_p),
                ("current_stream", C.c_void_p)]


def add_exchange_api(torch):
    """Gives the tensors of such a module DLPack's C exchange API, as those of PyTorch from 2.10 on have it."""
    alive = []

    @C.PYFUNCTYPE(C.c_int, C.py_object, C.POINTER(lib.Tensor))
    def describe(x, out):
        memory = x.memory
        shape = (C.c_int64 * len(memory.shape))(*memory.shape)
        alive.append(shape)
        device = lib.Device(lib.DEVICE_CPU, 0) if memory.gpu is None else lib.Device(lib.DEVICE_CUDA, memory.gpu)
        out[0] = lib.Tensor(memory.address, device, len(shape), lib.DType(2, 32, 1), shape, None, 0)
        return 0

    @C.PYFUNCTYPE(C.c_int, C.c_int32, C.c_int32, C.POINTER(C.c_void_p))
    def current_stream(kind, ordinal, out):
        out[0] = torch.current or None
        return 0
    api = _ExchangeApi(1, 3, None, (C.c_void_p * 3)(), C.cast(describe, C.c_void_p), C.cast(current_stream, C.c_void_p))
    alive += [describe, current_stream, api]
    torch.Tensor.__dlpack_c_exchange_api__ = _new_capsule(C.addressof(api), b"dlpack_exchange_api", None)
    torch._C = types.SimpleNamespace(_increment_version=lambda tensors: torch.written.extend(tensors), alive=alive)


def make_cupy(new_memory):
    """A module like cupy."""
    cupy = types.ModuleType("cupy")
    cupy.current, cupy.devices = {}, []

    class ndarray(InterfaceArray):
        def __init__(self, memory, dtype="float32"):
            super().__init__(memory)
            self.device, self.data = types.SimpleNamespace(id=memory.gpu), types.SimpleNamespace(ptr=memory.address)
            self.dtype = np.dtype(dtype)

    class Device:
        def __init__(self, ordinal):
            self.ordinal = ordinal

        def __enter__(self):
            cupy.devices.append(self.ordinal)

        def __exit__(self, *_):
            cupy.devices.pop()

    cupy.ndarray = ndarray
    cupy.empty = lambda shape, dtype: ndarray(new_memory(cupy.devices[-1], shape), dtype)
    cupy.cuda = types.SimpleNamespace(Device=Device, get_current_stream=lambda: types.SimpleNamespace(ptr=cupy.current[cupy.devices[-1]]))
    return cupy


JaxDevice = collections.namedtuple("JaxDevice", "platform gpu")


def make_jax(new_memory=None):
    """A module like jax, with 64-bit types off."""
    jax = types.ModuleType("jax")

    class Array(DlpackArray):
        deleted = False
        dtype = np.dtype(np.float32)

        def devices(self):
            return {JaxDevice("cpu" if self.memory.gpu is None else "gpu", self.memory.gpu)}

        def is_deleted(self):
            return self.deleted

        def block_until_ready(self):
            return self

    def device_put(array, device):
        result = Array(Memory(array.shape))
        result.memory.host[...] = array
        return result

    jax.Array, jax.device_put = Array, device_put
    jax.core = types.SimpleNamespace(Tracer=type("Tracer", (Array,), {}))
    jax.numpy = types.SimpleNamespace(empty=lambda shape, dtype, device: Array(new_memory(device.gpu, shape)))
    narrow = {np.dtype(np.float64): np.dtype(np.float32), np.dtype(np.int64): np.dtype(np.int32), np.dtype(np.uint64): np.dtype(np.uint32)}
    jax.dtypes = types.SimpleNamespace(canonicalize_dtype=lambda dtype: narrow.get(dtype, dtype))
    return jax


def make_numba(new_memory):
    """A module like numba."""
    numba, current = types.ModuleType("numba"), []

    class Gpu:
        def __init__(self, ordinal):
            self.ordinal = ordinal

        def __enter__(self):
            current.append(self.ordinal)

        def __exit__(self, *_):
            current.pop()

    numba.cuda = types.SimpleNamespace(gpus=[Gpu(0), Gpu(1)], device_array=lambda shape, dtype: NumbaArray(new_memory(current[-1], shape), stream=None))
    return numba
