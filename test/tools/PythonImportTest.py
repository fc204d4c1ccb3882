# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Import in every order with packages that bring LLVM or C++ libraries of their own, each in a process of its own, and what
an import costs. Packages that are not installed are left out, and named."""
import importlib.util
import subprocess
import sys
import unittest

USE = {"kernelc": "import kernelc, numpy as np; assert kernelc.compile('def f(x: f32[N]) -> (y: f32[N]) { y[i] = exp(x[i]) }')(np.zeros(3, 'f4'))[0] == 1",
       "torch": "import torch; assert torch.ones(2).sum() == 2",
       "llvmlite": "import llvmlite.binding as b; b.initialize_native_target(); b.initialize_native_asmprinter(); "
                   "b.parse_assembly('define i32 @f() { ret i32 1 }').verify()",
       "jax": "import jax; assert jax.numpy.ones(2).sum() == 2", "triton": "import triton", "cupy": "import cupy",
       "numba": "import numba; assert numba.njit(lambda x: x + 1)(1) == 2"}


class Imports(unittest.TestCase):
    def test_orders(self):
        lacking = [name for name in USE if name != "kernelc" and importlib.util.find_spec(name) is None]
        if lacking:
            print("not installed:", ", ".join(lacking), file=sys.stderr)
        for name in sorted(set(USE) - set(lacking) - {"kernelc"}):
            for order in (("kernelc", name), (name, "kernelc"), ("kernelc", name, "kernelc")):
                result = subprocess.run([sys.executable, "-W", "ignore", "-c", "\n".join(USE[n] for n in order)], capture_output=True, text=True)
                self.assertEqual(result.returncode, 0, f"{order}: {result.stderr}")

    def test_an_import_loads_nothing_large(self):
        code = ("import sys, time; before = set(sys.modules); t = time.process_time(); import kernelc; t = time.process_time() - t; "
                "large = {'numpy', 'torch', 'jax', 'cupy', 'tvm_ffi', 'inspect', 'subprocess', 'json'}; "
                "print(t, sorted(large & (set(sys.modules) - before)))")  # (a machine's site may load some by itself)
        # Time of the processor, which other processes use, too.
        runs = [subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split(" ", 1) for _ in range(5)]
        self.assertLess(min(float(seconds) for seconds, _ in runs), 0.06)
        self.assertEqual({rest.strip() for _, rest in runs}, {"[]"})


if __name__ == "__main__":
    unittest.main()
