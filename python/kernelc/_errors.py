# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exceptions beside Python's own and KernelcError."""


class GradientError(TypeError):
    """An argument carries gradients, which a kernel would drop in silence: kernels are not
    differentiated. The text names the parameter and the way out (detach(), torch.no_grad())."""


def nearest(name, names):
    """What a message says of a name that is none: the nearest, or all that there are."""
    import difflib
    close = difflib.get_close_matches(name, names, 1)
    return f"; did you mean '{close[0]}'?" if close else f"; there are {', '.join(names)}"
