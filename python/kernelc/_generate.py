# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Made-up data, the same as the command line makes."""
import ctypes as C

from . import _arrays
from . import _library as lib
from ._frameworks import framework_of


def fill(array, value):
    """Fills `array` (dense, in host memory) with "zeros", "ones", "iota" or "random[:SEED][:LO..HI][:specials]" and returns it:
    `kernelc.fill(np.empty(64, np.float32), "random:0..1")`. Without a range floats are uniform in [-1, 1), integers small."""
    tensor, alive = _arrays.describe("array", array, framework_of(array), writable=True, stream=None)
    lib.check(lib.library().kc_fill(C.byref(tensor), value.encode()))
    del alive
    return array
