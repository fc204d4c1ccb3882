# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A user's first minutes with an installed wheel: no NumPy, no build, no environment. Run by wheel.sh."""
import array
import os
import subprocess
import sys

import kernelc

assert "site-packages" in kernelc.__file__ or "dist-packages" in kernelc.__file__, kernelc.__file__
assert kernelc.library_path().startswith(os.path.dirname(kernelc.__file__)), kernelc.library_path()
from importlib.metadata import version
assert kernelc.__version__ == version("kernelc"), kernelc.__version__


class Floats:
    """The least that a kernel takes: memory that tells of itself."""

    def __init__(self, values):
        self.memory = array.array("f", values)
        address, length = self.memory.buffer_info()
        self.__array_interface__ = {"shape": (length,), "typestr": "<f4", "data": (address, False), "version": 3}


k = kernelc.compile("def scale(a: f32, x: f32[N]) -> (y: f32[N]) { y[i] = a * x[i] }")
y = Floats([0] * 4)
k(2.0, Floats([1, 2, 3, 4]), y=y)
assert list(y.memory) == [2, 4, 6, 8], list(y.memory)
assert "kc_scale" in k.scale.cuda_text(2.0, Floats([0] * 4), y=Floats([0] * 4))
for command in ([sys.executable, "-m", "kernelc"], [os.path.join(os.path.dirname(sys.executable), "kernelc")]):
    if os.path.exists(command[0]):
        text = subprocess.run([*command, "--version"], check=True, capture_output=True, text=True).stdout
        assert "kernelc " + kernelc.__version__ in text, text
print("ok", sys.version.split()[0], kernelc.__version__)
