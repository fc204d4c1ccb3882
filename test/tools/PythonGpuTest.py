# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Races with the streams of PyTorch, CuPy and JAX on a GPU: producers that are slow on streams of their own, kernels behind
them, and writers behind the kernels. Values tell; every wait that is missing shows as an old or a later value.

On a machine with the bundle: PYTHONPATH=kernelc/python python3 test/tools/PythonGpuTest.py"""
import importlib.util
import sys
import unittest

import kernelc

N = 1 << 20
SLOW = 200_000_000  # clocks, a tenth of a second


def missing():
    if importlib.util.find_spec("torch") is None:
        return "no PyTorch"
    import torch
    return "" if torch.cuda.is_available() else "no GPU"


class OnGpu(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import torch
        cls.torch, cls.s = torch, torch.cuda.Stream()
        cls.double = kernelc.compile("def double(x: f32[N]) -> (y: f32[N]) { y[i] = 2 * x[i] }").double
        cls.add = kernelc.compile("def add(x: f32[N], w: f32[N]) -> (y: f32[N]) { y[i] = x[i] + w[i] }").add
        warm = torch.zeros(N, device="cuda")
        cls.double(warm), cls.add(warm, warm)
        torch.cuda.synchronize()

    def slowly(self, stream, write):
        """Queues `write` on a stream of PyTorch behind work that takes a while."""
        with self.torch.cuda.stream(stream):
            self.torch.cuda._sleep(SLOW)
            write()

    def assertAll(self, x, value):
        self.assertEqual((float(x.min()), float(x.max())), (value, value))


class TorchRaces(OnGpu):
    def test_pytorch_on_a_side_stream(self):
        torch, x = self.torch, self.torch.zeros(N, device="cuda")
        torch.cuda.synchronize()
        self.slowly(self.s, lambda: x.fill_(3))
        with torch.cuda.stream(self.s):
            y = self.double(x)
            x.fill_(5)  # behind the kernel
            self.assertAll(y, 6)

    def test_a_stream_of_the_caller_s_waits_for_the_current_one(self):
        torch, x, other = self.torch, self.torch.zeros(N, device="cuda"), self.torch.cuda.Stream()
        torch.cuda.synchronize()
        self.slowly(self.s, lambda: x.fill_(3))
        with torch.cuda.stream(self.s):
            y = self.double(x, stream=other)
        other.synchronize()
        self.assertAll(y, 6)

    def test_gradients(self):
        x = self.torch.ones(4, device="cuda", requires_grad=True)
        with self.assertRaisesRegex(kernelc.GradientError, "parameter 'x' requires a gradient"):
            self.double(x)


@unittest.skipUnless(importlib.util.find_spec("cupy"), "no CuPy")
class CupyRaces(OnGpu):
    def test_cupy_on_a_side_stream(self):
        import cupy
        stream = cupy.cuda.Stream(non_blocking=True)
        x = cupy.zeros(N, dtype=cupy.float32)
        cupy.cuda.Device().synchronize()
        as_torch = self.torch.cuda.ExternalStream(stream.ptr)
        self.slowly(as_torch, lambda: self.torch.from_dlpack(x).fill_(3))
        with stream:
            y = self.double(x)
            x.fill(5)
            self.assertIsInstance(y, cupy.ndarray)
            self.assertAll(y, 6)

    def test_both_streams_wait(self):
        import cupy
        torch, stream = self.torch, cupy.cuda.Stream(non_blocking=True)
        x, w = torch.zeros(N, device="cuda"), cupy.zeros(N, dtype=cupy.float32)
        torch.cuda.synchronize()
        self.slowly(torch.cuda.ExternalStream(stream.ptr), lambda: torch.from_dlpack(w).fill_(3))
        with torch.cuda.stream(self.s), stream:
            self.torch.cuda._sleep(SLOW)  # the kernel is late, and what CuPy queues next must not come before it
            y = self.add(x, w)
            w.fill(100)
            self.assertAll(y, 3)

    def test_narrow_results(self):
        import cupy
        y = kernelc.compile("def f(x: f32[N]) -> (y: bf16[N]) { y[i] = bf16(x[i]) }")(cupy.ones(8, dtype=cupy.float32))
        self.assertIn(y.dtype.name, ("bfloat16", "uint16"))


@unittest.skipUnless(importlib.util.find_spec("jax"), "no JAX")
class JaxRaces(OnGpu):
    def test_jax_makes_the_launch_wait(self):
        import jax
        slow = jax.jit(lambda a: jax.lax.fori_loop(0, 200, lambda i, b: (b @ b) * 0 + 1, a)[0, 0] + jax.numpy.zeros(N) + 2)
        a = jax.numpy.ones((4096, 4096))
        slow(a).block_until_ready()
        x = slow(a)  # not ready
        y = self.double(x)
        self.assertIsInstance(y, jax.Array)
        self.assertAll(jax.numpy.asarray(y), 6)

    def test_results_do_not_alias(self):
        import jax
        results = [self.double(jax.numpy.full(N, float(i))) for i in range(4)]
        for i, y in enumerate(results):
            self.assertAll(y, 2 * i)

    def test_results_of_narrow_types(self):
        import jax
        for kind, name in (("bf16", "bfloat16"), ("f8e4m3", "float8_e4m3fn"), ("f8e5m2", "float8_e5m2")):
            k = kernelc.compile("def f(x: %s[N], c: f32) -> (y: %s[N]) { y[i] = %s(f32(x[i]) * c) }" % (kind, kind, kind))
            for factor in (1.0, 2.0, -0.5):  # results that differ, in memory that is used again
                y = k(jax.numpy.asarray([0.5, 1, -2], name), factor)
                self.assertIsInstance(y, jax.Array)
                self.assertEqual(y.dtype.name, name)
                self.assertEqual(y.astype("float32").tolist(), [0.5 * factor, factor, -2 * factor])

    def test_jax_beside_pytorch(self):
        import jax
        torch, w = self.torch, self.torch.zeros(N, device="cuda")
        torch.cuda.synchronize()
        self.slowly(self.s, lambda: w.fill_(3))
        with torch.cuda.stream(self.s):
            self.assertAll(self.add(jax.numpy.ones(N), w), 4)


if __name__ == "__main__":
    why = missing()
    if why:
        print("SKIP:", why)
        sys.exit(77)
    unittest.main()
