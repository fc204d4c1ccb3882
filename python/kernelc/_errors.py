# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exceptions beside Python's own and KernelcError."""


class GradientError(TypeError):
    """An argument carries gradients, which a kernel would drop in silence: kernels are not
    differentiated. The text names the parameter and the way out (detach(), torch.no_grad())."""
