# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whose array an object is, and what its framework says of it. No framework is imported here:
who holds an array of one has loaded it."""
import sys

_CLASSES = (("torch", "Tensor"), ("jax", "Array"), ("cupy", "ndarray"), ("numpy", "ndarray"), ("numpy", "generic"))


def framework_of(x):
    """"torch", "jax", "cupy", "numpy", "numba", or "" for any other."""
    for name, cls in _CLASSES:
        module = sys.modules.get(name)
        if module is not None and isinstance(x, getattr(module, cls, ())):
            return name
    return "numba" if type(x).__module__.startswith("numba.cuda.") else ""


def module_of(framework):
    return sys.modules[framework]


def jax_device(x):
    """The one device that a JAX array lies on; TypeError where it is spread over several."""
    devices = x.devices()
    if len(devices) != 1:
        raise TypeError(f"the array is spread over {len(devices)} devices; pass the shard of one of them")
    return next(iter(devices))


def torch_stream(device_id):
    """PyTorch's current stream on a GPU, as an address; 0: the default one."""
    return module_of("torch").cuda.current_stream(device_id).cuda_stream


def cupy_stream(device_id):
    """CuPy's current stream on a GPU, as an address; 0: the default one."""
    cupy = module_of("cupy")
    with cupy.cuda.Device(device_id):
        return cupy.cuda.get_current_stream().ptr
