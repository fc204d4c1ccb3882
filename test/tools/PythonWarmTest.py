# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The warm path of calls and launches (python/fast): what an earlier call settled is right for the next, and nothing else is taken
for settled."""
import gc
import os
import subprocess
import sys
import threading
import unittest
from unittest import mock

import numpy as np

import kernelc
from kernelc import _warm

ADD = "def add(a: f32, x: f32[N], w: f32[N]) -> (y: f32[N]) { y[i] = a * x[i] + w[i] }"


def ones(n):
    return np.ones(n, np.float32)


class Warm(unittest.TestCase):
    def setUp(self):
        self.k = kernelc.compile(ADD).add
        self.slow = 0
        whole = kernelc.Kernel._call_slow

        def counted(kernel, *args, **named):
            self.slow += 1
            return whole(kernel, *args, **named)
        kernelc.Kernel._call_slow = counted
        self.addCleanup(setattr, kernelc.Kernel, "_call_slow", whole)
        self.k(1.0, ones(3), ones(3))
        self.slow = 0

    def is_warm(self, calls=0):
        if _warm._fast:
            self.assertEqual(self.slow, calls)

    def test_addresses_scalars_and_shapes_change(self):
        rng = np.random.default_rng(0)
        for n in [5, 0, 5, 7, 5] + list(range(70)):
            for a in (2.0, 3, True, -1.5):
                x, w, y = (rng.random(n, dtype=np.float32) for _ in range(3))
                expected = np.float32(a) * x + w
                np.testing.assert_allclose(self.k(a, x, w), expected, rtol=1e-6)
                self.assertIs(self.k(a, x, w, y), y)
                np.testing.assert_allclose(y, expected, rtol=1e-6)
                z = np.zeros(n, np.float32)
                self.assertIs(self.k(a, x, w, y=z), z)
                np.testing.assert_allclose(z, expected, rtol=1e-6)
        self.is_warm()

    def test_layouts_and_alignments(self):
        base = np.arange(200, dtype=np.float32)
        for _ in range(2):
            for start in range(5):
                for step in (1, 2, 3, -1):
                    x = base[start:][::step][:20]
                    np.testing.assert_array_equal(self.k(2.0, x, x), 3 * x)
        self.is_warm()
        frozen = base[:4]
        frozen.flags.writeable = False
        np.testing.assert_array_equal(self.k(1.0, frozen, frozen), 2 * frozen)

    def test_refusals_after_a_warm_call(self):
        x, w, y = ones(8), ones(8), ones(8)
        self.k(1.0, x, w, y)
        frozen = ones(8)
        frozen.flags.writeable = False
        cases = [((1.0, x, w, frozen), {}, ValueError, "parameter 'y': the array is read-only"),
                 ((1.0, x, w, x), {}, kernelc.KernelcError, "parameter 'y': is written, but overlaps parameter 'x'"),
                 ((1.0, np.r_[x, x][4:12], w, np.r_[x, x].astype(np.float64)[:8]), {}, kernelc.KernelcError, "parameter 'y': expected elements of type f32"),
                 ((1.0, x, ones(7), y), {}, kernelc.KernelcError, "parameter 'w': expected extent 8 "),
                 ((1.0, x.reshape(2, 4), w, y), {}, kernelc.KernelcError, "parameter 'x': expected rank 1"),
                 ((1.0, x.astype(">f4"), w, y), {}, TypeError, "'x'.*byte order"),
                 ((1.0, np.ma.masked_array(x), w, y), {}, TypeError, "parameter 'x' is a masked array"),
                 ((1e39, x, w, y), {}, kernelc.KernelcError, "'a': 1e\\+39 does not fit in f32"),
                 (("1", x, w, y), {}, TypeError, "'a' must be a number"),
                 ((1.0, x), {}, TypeError, "missing argument 'w'"),
                 ((1.0, x, w, y), {"y": y}, TypeError, "two values for 'y'"),
                 ((1.0, x, w, y), {"M": 3}, TypeError, "no parameter or size 'M'"),
                 ((1.0, x, None, y), {}, TypeError, "'w' must be an array")]
        for args, named, error, message in cases:
            y[:] = 7
            with self.assertRaisesRegex(error, message):
                self.k(*args, **named)
            self.assertTrue((y == 7).all() and (x == 1).all() and (frozen == 1).all(), "nothing is written")
        memory = ones(20)
        self.k(1.0, memory[:8], w, memory[8:16])
        with self.assertRaisesRegex(kernelc.KernelcError, "parameter 'y': is written, but overlaps parameter 'x'"):
            self.k(1.0, memory[:8], w, memory[4:12])

    def test_several_outputs_inout_and_none(self):
        k = kernelc.compile("def f(inout s: f32[N], x: f32[N]) -> (y: f32[N], z: i32[N]) {\n  s[i] = s[i] + x[i]\n  y[i] = x[i]\n  z[i] = i32(i)\n}")
        update = kernelc.compile("def f(inout s: f32[N], x: f32[N]) { s[i] = s[i] + x[i] }")
        for round in range(3):
            s, x = ones(4), ones(4)
            y, z = k(s, x)
            np.testing.assert_array_equal(s, [2, 2, 2, 2])
            np.testing.assert_array_equal(z, range(4))
            z = np.zeros(4, np.int32)
            self.assertIs(k(s, x, z=z, y=y)[1], z)
            self.assertIs(k(s, x, out=(y, z))[0], y)
            self.assertIsNone(update(s, x))
        self.assertEqual(s[0], 5)

    def test_bound_launches(self):
        x, w, y = ones(4), ones(4), ones(4)
        bound = self.k.bind(2.0, x, w, y)
        whole = kernelc.Bound._launch_slow
        with mock.patch.object(kernelc.Bound, "_launch_slow", autospec=True, side_effect=whole) as slow:
            self.assertIs(bound.launch(), y)
            np.testing.assert_array_equal(y, [3] * 4)
            x[:] = 2
            bound.launch()
            np.testing.assert_array_equal(y, [5] * 4)
            z = ones(4)
            self.assertIs(bound.replace(3.0, ones(4), w, z), z)
            self.assertIs(bound.launch(), z)
            np.testing.assert_array_equal(z, [4] * 4)
            np.testing.assert_array_equal(y, [5] * 4)
            if _warm._fast:
                slow.assert_not_called()
            self.assertIs(bound.launch(stream=None), z)
        with self.assertRaises(TypeError):
            bound.launch(1, 2)
        fresh = self.k.bind(1.0, x, w)
        self.assertIs(fresh.launch(), fresh.outputs)
        np.testing.assert_array_equal(fresh.outputs, [3] * 4)

    def test_memory_that_moved_since_it_was_bound(self):
        for slow in (False, True):
            x, w, y = ones(4), ones(4), ones(4)
            bound = self.k.bind(2.0, x, w, y)
            bound.launch()
            y[:] = 7
            w.resize(1 << 22, refcheck=False)
            with self.assertRaisesRegex(kernelc.KernelcError, "parameter 'w': the array's memory was freed or moved since"):
                bound.launch(stream=None) if slow else bound.launch()
            self.assertTrue((y == 7).all(), "nothing is written")
            bound.replace(2.0, x, ones(4), y)
            self.assertEqual(bound.launch()[0], 3)

    def test_threads(self):
        wrong = []

        def work(seed):
            rng = np.random.default_rng(seed)
            for i in range(300):
                x, w = rng.random(100, dtype=np.float32), rng.random(100, dtype=np.float32)
                if not np.allclose(self.k(float(seed), x, w), np.float32(seed) * x + w):
                    wrong.append((seed, i))
        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_kernels_and_arrays_are_let_go(self):
        import weakref
        x = ones(9)
        k = kernelc.compile(ADD).add
        k(1.0, x, x)
        k(1.0, x, x)
        gone = weakref.ref(k), weakref.ref(x)
        del k, x
        gc.collect()
        self.assertEqual([g() for g in gone], [None, None])

    def test_without_the_extension(self):
        environment = dict(os.environ, KERNELC_PYTHON_FAST="0")
        code = ("import kernelc, numpy as np; from kernelc import _warm; assert _warm._fast is None; "
                f"print(kernelc.compile({ADD!r})(2.0, np.ones(3, 'f4'), np.ones(3, 'f4')))")
        out = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True).stdout
        self.assertEqual(out.strip(), "[3. 3. 3.]")


try:
    import torch
except ImportError:
    torch = None


@unittest.skipUnless(torch, "no PyTorch")
class WarmTorch(Warm):
    def setUp(self):
        super().setUp()
        self.k(1.0, torch.ones(3), torch.ones(3))
        self.slow = 0

    def test_what_a_tensor_is_may_change(self):
        x, w, y = torch.ones(4), torch.ones(4), torch.zeros(4)
        self.k(1.0, x, w, y)
        self.assertEqual(self.k(2.0, x, w).tolist(), [3] * 4)
        self.assertEqual(y._version, 1)
        if getattr(torch.Tensor, "__dlpack_c_exchange_api__", None):
            self.is_warm()
        leaf = torch.ones(4, requires_grad=True)
        for args, name in (((1.0, leaf, w, y), "x"), ((1.0, x, w, leaf), "y")):
            with self.assertRaisesRegex(kernelc.GradientError, f"parameter '{name}' requires a gradient"):
                self.k(*args)
        self.slow = 0
        with torch.no_grad():
            self.assertEqual(self.k(1.0, leaf, w).tolist(), [2] * 4)
        if getattr(torch.Tensor, "__dlpack_c_exchange_api__", None):
            self.is_warm()
        weight = torch.nn.Parameter(torch.ones(4))
        with self.assertRaisesRegex(kernelc.GradientError, "parameter 'x' requires a gradient"):
            self.k(1.0, weight, w)
        with torch.inference_mode():
            self.k(1.0, weight, w)
            self.slow = 0
            self.assertEqual(self.k(2.0, weight, w).tolist(), [3] * 4)
        if getattr(torch.Tensor, "__dlpack_c_exchange_api__", None):
            self.is_warm()
        freed = torch.ones(4)
        bound = self.k.bind(1.0, x, freed, y)
        freed.untyped_storage().resize_(0)
        with self.assertRaisesRegex(kernelc.KernelcError, "parameter 'w': the array's memory was freed or moved"):
            bound.launch()
        with self.assertRaisesRegex(kernelc.KernelcError, "parameter 'w': is null"):
            self.k(1.0, x, freed, y)
        bound = self.k.bind(1.0, x, w)
        version = bound.outputs._version
        bound.launch()
        bound.launch()
        self.assertEqual(bound.outputs._version, version + 2, "written anew at every launch")
        pair = torch.complex(x, x).conj()
        for bad, message in ((pair.imag, "resolve_neg"), (x.to_sparse(), "to_dense"), (x.double(), "f32"), (x.bfloat16(), "f32"),
                             (x.to("meta"), "meta")):
            with self.assertRaisesRegex((TypeError, kernelc.KernelcError), f"parameter 'x'.*{message}"):
                self.k(1.0, bad, w, y)
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(torch.ones(4), torch.ones(4))
            with self.assertRaisesRegex(kernelc.GradientError, "tangent"):
                self.k(1.0, dual, w, y)
        self.assertEqual(y.tolist(), [2] * 4)
        self.assertEqual(self.k(1.0, x.expand(4), torch.ones(8)[::2]).tolist(), [2] * 4)
        self.assertIsInstance(self.k(1.0, np.ones(4, np.float32), w), np.ndarray)


try:
    import tvm_ffi
except ImportError:
    tvm_ffi = None


@unittest.skipUnless(tvm_ffi, "no apache-tvm-ffi")
class TvmFfi(unittest.TestCase):
    def test_calls_and_refusals(self):
        f = kernelc.compile(ADD).add.tvm_ffi()
        gc.collect()
        for make in (lambda n: ones(n), lambda n: torch.ones(n)):
            x, w, y = make(5), make(5), make(5)
            self.assertIsNone(f(2.0, x, w, y))
            self.assertEqual(y.tolist(), [3] * 5)
            f(3, x, w, y)
            self.assertEqual(y.tolist(), [4] * 5)
            for args, error, message in (((1.0, x, w), ValueError, "takes 4 arguments, got 3"), ((1.0, make(4), w, y), ValueError, "parameter 'w'"),
                                         ((1.0, x, "w", y), TypeError, "argument 2 is neither a tensor nor a number"),
                                         ((1.0, x, w, x), ValueError, "'y': is written, but overlaps parameter 'x'")):
                with self.assertRaisesRegex(error, message):
                    f(*args)
            self.assertEqual(y.tolist(), [4] * 5)


if __name__ == "__main__":
    unittest.main()
