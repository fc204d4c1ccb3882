# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a kernel would read or write wrongly without anybody noticing: refused here by the
parameter's name, with the way out. Looks at arrays, never changes one."""
import sys

from ._errors import GradientError
from ._frameworks import framework_of, module_of


def check_array(name, x, framework, writable):
    """Raises where kernel code cannot stand for what `x` is. `writable`: the kernel writes it.

    GradientError: gradients would be lost. TypeError: the elements in memory are not the array's
    values (masks, negation bits, layouts). ValueError: it is to be written and may not be."""
    where = f"parameter '{name}'"
    if framework == "torch":
        _check_torch(where, x)
        check_gradient(where, x)
    elif framework == "jax":
        _check_jax(where, x, writable)
    elif framework == "numpy":
        _check_mask(where, x)


def check_scalar(where, value):
    """The same for what is passed as a number."""
    framework = framework_of(value)
    if framework == "torch":
        check_gradient(where, value)
    elif framework == "numpy":
        _check_mask(where, value)


def check_gradient(where, x):
    torch = module_of("torch")
    if x.requires_grad and torch.is_grad_enabled():
        raise GradientError(f"{where} requires a gradient, which kernelc does not compute, so that it would be lost in silence; "
                            "pass x.detach(), or call the kernel under torch.no_grad()")
    forward = sys.modules.get("torch.autograd.forward_ad")
    if forward is not None and getattr(forward, "_current_level", -1) >= 0 and forward.unpack_dual(x).tangent is not None:
        raise GradientError(f"{where} has a tangent of forward-mode differentiation, which would be lost in silence; "
                            "pass torch.autograd.forward_ad.unpack_dual(x).primal")


def _check_torch(where, x):
    torch = module_of("torch")
    if x.layout is not torch.strided:
        raise TypeError(f"{where} has the layout {x.layout}, and kernels read dense tensors; pass x.to_dense()")
    if x.is_quantized:
        raise TypeError(f"{where} is quantized, and a kernel would read its numbers without scale and zero point; "
                        "pass x.dequantize() or x.int_repr()")
    if x.device.type not in ("cpu", "cuda"):
        raise TypeError(f"{where} lies on device '{x.device}'; kernels run on cpu and cuda")
    if x.is_conj():
        raise TypeError(f"{where} is conjugated lazily; pass x.resolve_conj()")
    if x.is_neg():
        raise TypeError(f"{where} is negated lazily: memory holds the values with the other sign; pass x.resolve_neg()")


def _check_jax(where, x, writable):
    jax = module_of("jax")
    if isinstance(x, jax.core.Tracer):
        raise TypeError(f"{where} is traced by JAX (jit, grad, vmap, ..), and has no values yet; call the kernel outside, "
                        "or what its jax() returns inside")
    if x.is_deleted():
        raise TypeError(f"{where} was deleted, or donated to a function of JAX")
    if writable:
        raise ValueError(f"{where} is written by the kernel, and JAX arrays are immutable; pass a copy that may be written, "
                         "as numpy.array(x) or a tensor of PyTorch or CuPy")


def _check_mask(where, x):
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(x, masked.MaskedArray):
        raise TypeError(f"{where} is a masked array, whose mask would be dropped; pass x.filled(value), or x.data for all elements")
