# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`@kernelc.fn`. What reads functions' sources (_spelling.py) is loaded when a kernel is spelled in Python."""
import functools


class Function:
    """A pure function for kernels, from `@kernelc.fn`: inlined where a kernel calls it."""

    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function = function

    def __call__(self, *args, **named):
        raise TypeError(f"'{self.__name__}' is a function of kernels; it is called in their text alone")

    def __getitem__(self, indices):
        return self
