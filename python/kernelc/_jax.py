# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels under jax.jit, by XLA's foreign function interface (driver/capi/XlaFfi.cpp)."""
import ctypes as C
import sys

from . import _library as lib
from ._numbers import named, scalar
from ._results import _check_jax_holds, numpy_type

_kept = []  # compiled functions hold kernels by their addresses
_registered = False


def _register():
    global _registered
    import jax
    if not _registered:
        for platform, symbol in (("cpu", "kc_xla_call_cpu"), ("CUDA", "kc_xla_call_cuda")):
            jax.ffi.register_ffi_target("kernelc_call", jax.ffi.pycapsule(C.cast(getattr(lib.library(), symbol), C.c_void_p).value), platform=platform)
        _registered = True
    return jax


def _check(name, kind, rank, x):
    if not hasattr(x, "dtype") or x.dtype != numpy_type(kind):
        raise TypeError(f"parameter '{name}': expected an array of {kind}, got {getattr(x, 'dtype', type(x).__name__)}")
    if x.ndim != rank:
        raise TypeError(f"parameter '{name}': expected rank {rank}, got {x.ndim}")


def _shapes(kernel, tensors, sizes):
    """The shape of each parameter in `written`, from those of the tensors that are given."""
    values = (lib.Value * max(1, len(kernel.params)))()
    alive = []
    for i, x in tensors.items():
        extents = (C.c_int64 * max(1, x.ndim))(*x.shape)
        tensor = lib.Tensor(None, lib.Device(lib.DEVICE_CPU, 0), x.ndim, lib.DType(), extents, None, 0)
        alive.append(tensor)
        values[i].kind, values[i].tensor = lib.VALUE_TENSOR, C.pointer(tensor)
    items, count = named(sizes)
    shape = (C.c_int64 * 32)()
    for i, (_, _, role, rank) in enumerate(kernel.params):
        if role == lib.PARAM_OUTPUT:
            lib.check(lib.library().kc_kernel_shape(kernel._handle, values, len(kernel.params), items, count, i, shape))
            yield i, tuple(shape[:rank])
        elif role == lib.PARAM_INOUT:
            yield i, tuple(tensors[i].shape)


def _eager_signature(kernel, args):
    """What two calls must agree in to run the same; None for a call that is not JAX's alone: arrays of others, on CPUs, of several
    devices, deleted, traced; scalars, which jit would compile anew for; parameters that the kernel updates."""
    jax = sys.modules["jax"]
    if not args or len(args) != len(kernel.params) - sum(p[2] == lib.PARAM_OUTPUT for p in kernel.params):
        return None
    roles = {p[2] for p in kernel.params}
    if lib.PARAM_OUTPUT not in roles or roles & {lib.PARAM_SCALAR, lib.PARAM_INOUT} or not hasattr(jax, "ffi"):
        return None
    signature = []
    for x in args:
        if not isinstance(x, jax.Array) or isinstance(x, jax.core.Tracer) or x.is_deleted():
            return None
        devices = x.devices()
        device = next(iter(devices))
        if len(devices) != 1 or device.platform != "gpu":
            return None
        signature.append((x.shape, x.dtype, device))
    return tuple(signature) if len({device for _, _, device in signature}) == 1 else None


def learn_eager(kernel, args):
    """Remembers that a call with such arguments is one that the kernel takes."""
    signature = _eager_signature(kernel, args)
    if signature:
        kernel._jax_known.add(signature)


def find_eager(kernel, args):
    """What runs a call under jit, ordered by JAX itself, if it has gone the long way before and was found right; else None."""
    if not kernel._jax_known or _eager_signature(kernel, args) not in kernel._jax_known:
        return None
    if kernel._jax_eager is None:
        kernel._jax_eager = sys.modules["jax"].jit(function(kernel))
    return kernel._jax_eager


def function(kernel):
    """What Kernel.jax() returns."""
    jax = _register()
    import numpy
    _kept.append(kernel)
    inputs = [i for i, p in enumerate(kernel.params) if p[2] != lib.PARAM_OUTPUT]

    def call(*args, **sizes):
        if len(args) != len(inputs):
            raise TypeError(f"{kernel.name}() takes {len(inputs)} arguments, got {len(args)}")
        unknown = [s for s in sizes if s not in kernel.sizes]
        if unknown:
            raise TypeError(f"{kernel.name}() has no size '{unknown[0]}'")
        tensors, attributes = {}, {"kernel": numpy.int64(kernel._handle.value)}
        for i, x in zip(inputs, args):
            name, kind, role, rank = kernel.params[i]
            if role == lib.PARAM_SCALAR:
                if isinstance(x, jax.core.Tracer):
                    raise TypeError(f"parameter '{name}' is a scalar, which jit must know: make it a static argument, or a tensor f32[] of the kernel")
                value = scalar(name, kind, x)
                attributes[str(i)] = (numpy.float64(value.f) if value.kind == lib.VALUE_FLOAT
                                      else numpy.uint64(value.i % 2**64) if value.kind == lib.VALUE_UINT else numpy.int64(value.i))
            else:
                tensors[i] = jax.numpy.asarray(x)
                _check(name, kind, rank, tensors[i])
        attributes.update({"size " + name: numpy.int64(n) for name, n in sizes.items()})
        results, aliases, order = [], {}, list(tensors)
        for i, shape in _shapes(kernel, tensors, sizes):
            name, kind, role, _ = kernel.params[i]
            _check_jax_holds(name, kind)
            if role == lib.PARAM_INOUT:
                aliases[order.index(i)] = len(results)
            results.append(jax.ShapeDtypeStruct(shape, numpy_type(kind)))
        made = jax.ffi.ffi_call("kernelc_call", results, vmap_method="sequential", input_output_aliases=aliases)(*tensors.values(), **attributes)
        return None if not made else made[0] if len(made) == 1 else tuple(made)
    call.__name__ = call.__qualname__ = kernel.name
    return call
