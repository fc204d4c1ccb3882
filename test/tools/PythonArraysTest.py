# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the Python package takes, gives and refuses of NumPy and of array frameworks. Frameworks are the fakes of
python_fakes.py; where the real one is installed it is tried too, and a skip says where it is not."""
import importlib.util
import os
import shutil
import sys
import unittest
from unittest import mock

import numpy as np

import kernelc
from kernelc import _results
from python_fakes import DlpackArray, Memory, make_jax, make_torch

HOST_DEVICES = ("cpu", "emulator") if shutil.which("clang++-22") or os.environ.get("KERNELC_CLANG") else ("cpu",)
COPY = kernelc.compile("def f(x: f32[N]) -> (y: f32[N]) { y[i] = 2 * x[i] }")
INOUT = kernelc.compile("def f(inout x: f32[N]) { x[i] = 2 * x[i] }")
SCALAR = kernelc.compile("def f(a: f32, x: f32[N]) -> (y: f32[N]) { y[i] = a * x[i] }")
REAL = os.environ.get("KERNELC_TEST_FRAMEWORKS", "1") != "0"


def has(module):
    return REAL and importlib.util.find_spec(module) is not None


def loaded(**modules):
    """The modules, and no other framework, for a while."""
    absent = {name: None for name in ("torch", "jax", "cupy") if name not in modules}
    return mock.patch.dict(sys.modules, {**absent, **modules})


def narrow_type(name):
    return np.dtype(getattr(__import__("ml_dtypes"), name))


class NumpyTypes(unittest.TestCase):
    def test_every_pair_of_types_is_exact_or_refused(self):
        same = {"f64": "float64", "f32": "float32", "f16": "float16", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8",
                "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8", "bool": "bool"}
        bits = {"bf16": "uint16", "f8e4m3": "uint8", "f8e5m2": "uint8"}
        others = ("complex64", "longdouble", "S4", "U3", "datetime64[s]", "V4", [("a", "f4")], object)
        for kind in [*same, *bits, "i4", "u4"]:
            value = "i64(1) if x[i] else i64(0)" if kind == "bool" else "i64(x[i])"
            k = kernelc.compile("def f(x: %s[N]) -> (y: i64[N]) { y[i] = %s }" % (kind, value))
            for dtype in [*same.values(), *others]:
                x = np.zeros(3, dtype)
                if dtype in (same.get(kind), bits.get(kind)):
                    np.testing.assert_array_equal(k(x), np.zeros(3), f"{dtype} for {kind}")
                    continue
                with self.assertRaisesRegex((TypeError, kernelc.KernelcError), "parameter 'x'", msg=f"{dtype} for {kind}"):
                    k(x)
            if same.get(kind, "bool") not in ("bool", "int8", "uint8"):
                with self.assertRaisesRegex(TypeError, "parameter 'x': arrays of .* in the byte order of other machines"):
                    k(np.zeros(3, np.dtype(same[kind]).newbyteorder()))

    def test_an_output_of_another_type_is_refused(self):
        for dtype in ("float64", "int32", "uint32", "float16"):
            with self.assertRaisesRegex(kernelc.KernelcError, "parameter 'y': expected elements of type f32"):
                COPY(np.ones(3, np.float32), y=np.ones(3, dtype))

    def test_numbers_out_of_range_are_refused(self):
        for kind, good, bad in (("i4", (-8, 7), (-9, 8)), ("u4", (0, 15), (-1, 16)), ("i8", (-128, 127), (-129, 128)),
                                ("u8", (0, 255), (-1, 256)), ("i32", (-2**31, 2**31 - 1), (-2**31 - 1, 2**31, 2.0**31, float("nan"))),
                                ("bool", (0, 1, True), (2, -1)), ("f32", (3.4e38, float("inf"), -float("inf")), (3.5e38, -1e300, 2**200)),
                                ("f16", (65504, 65519.0), (65520.0, -70000)), ("bf16", (3.38e38,), (3.4e38,)),
                                ("f8e4m3", (448, 464), (465, -500)), ("f8e5m2", (57344, 61439.0), (61441.0,))):
            k = kernelc.compile("def f(n: %s) -> (y: bool[]) { y[] = n == n }" % kind)
            for value in good:
                k(value)
            for value in bad:
                with self.assertRaisesRegex(kernelc.KernelcError, "parameter 'n': .*(does not fit in|expected an integer)", msg=f"{value} for {kind}"):
                    k(value)

    def test_results_of_narrow_types(self):
        for kind, bits, name in (("bf16", "uint16", "bfloat16"), ("f8e4m3", "uint8", "float8_e4m3fn"), ("f8e5m2", "uint8", "float8_e5m2")):
            k = kernelc.compile("def f(x: f32[N]) -> (y: %s[N]) { y[i] = %s(x[i]) }" % (kind, kind))
            x = np.array([0.5, 1, -2], np.float32)
            with mock.patch.object(_results, "_ml_dtypes", lambda: None):
                self.assertEqual(k(x).dtype, bits)
            if not has("ml_dtypes"):
                self.skipTest("no ml_dtypes: results of its types were not tried")
            k = kernelc.compile("def f(x: f32[N]) -> (y: %s[N]) { y[i] = %s(x[i]) }" % (kind, kind))  # without what the call above has kept
            y = k(x)
            self.assertEqual(y.dtype, narrow_type(name))
            np.testing.assert_array_equal(y.astype(np.float32), x)
            np.testing.assert_array_equal(kernelc.compile("def f(x: %s[N]) -> (y: f32[N]) { y[i] = f32(x[i]) }" % kind)(y), x)

    @unittest.skipUnless(has("ml_dtypes"), "no ml_dtypes")
    def test_narrow_types_of_the_same_width_are_told_apart(self):
        for kind in ("bf16", "f8e4m3", "f8e5m2"):
            k = kernelc.compile("def f(x: %s[N]) -> (y: f32[N]) { y[i] = f32(x[i]) }" % kind)
            for name in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3", "float8_e4m3fnuz", "float8_e5m2fnuz", "int4"):
                if {"bf16": "bfloat16", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}[kind] == name:
                    np.testing.assert_array_equal(k(np.ones(3, narrow_type(name))), np.ones(3))
                else:
                    with self.assertRaisesRegex((TypeError, kernelc.KernelcError), "parameter 'x'"):
                        k(np.ones(3, narrow_type(name)))


class NumpyArrays(unittest.TestCase):
    def test_masks_are_not_dropped(self):
        for array in (np.ma.masked_array(np.ones(3, np.float32), [0, 1, 0]), np.ma.masked_array(np.ones(3, np.float32))):
            with self.assertRaisesRegex(TypeError, r"parameter 'x' is a masked array, .* pass x.filled\(value\)"):
                COPY(array)
        with self.assertRaisesRegex(TypeError, "'a' is a masked array"):
            SCALAR(np.ma.masked, np.ones(3, np.float32))

    def test_read_only_arrays_are_read_but_not_written(self):
        x = np.ones(3, np.float32)
        x.flags.writeable = False
        np.testing.assert_array_equal(COPY(x), [2, 2, 2])
        for call in (lambda: COPY(np.ones(3, np.float32), y=x), lambda: INOUT(x)):
            with self.assertRaisesRegex(ValueError, "parameter '[xy]': the array is read-only, but the kernel writes it"):
                call()

    def test_subclasses_that_add_nothing_to_the_elements(self):
        matrix = kernelc.compile("def f(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = 2 * x[i, j] }")
        np.testing.assert_array_equal(matrix(np.asmatrix(np.ones((2, 3), np.float32))), np.full((2, 3), 2))
        np.testing.assert_array_equal(COPY(np.ones(3, np.float32).view(np.recarray)), [2, 2, 2])

    def test_overlapping_outputs_and_a_wrong_number_of_them(self):
        both = kernelc.compile("def f(x: f32[N]) -> (y: f32[N], z: f32[N]) {\n  y[i] = x[i]\n  z[i] = x[i]\n}")
        x, out = np.ones(4, np.float32), np.zeros(6, np.float32)
        for y, z in ((out[:4], out[:4]), (out[:4], out[2:])):
            with self.assertRaisesRegex(kernelc.KernelcError, "overlaps parameter"):
                both(x, y=y, z=z)
        for given, message in ((out[:4], "has 2 outputs, and 'out' gives 1"), ((out, out, out), "'out' gives 3")):
            with self.assertRaisesRegex(TypeError, message):
                both(x, out=given)
        with self.assertRaisesRegex(TypeError, "got two values for 'y'"):
            COPY(x, x, out=x)

    def test_other_producers(self):
        k, x = COPY, np.ones(3, np.float32)
        self.assertEqual(list(k(DlpackArray(Memory([3])))), [2, 2, 2])
        self.assertEqual(list(k(DlpackArray(Memory([3]), version=(1, 0)))), [2, 2, 2])
        self.assertEqual(list(k(DlpackArray(Memory([3]), version=(1, 0), flags=1))), [2, 2, 2])
        odd = DlpackArray(Memory([3]))
        odd.shape = [3]  # no tuple
        self.assertEqual(list(k(odd)), [2, 2, 2])
        for version, flags, error, message in (((1, 0), 1, ValueError, "parameter 'y': the array is read-only"),
                                               ((1, 0), 2, ValueError, "parameter 'y' hands out a copy of itself"),
                                               ((2, 0), 0, TypeError, "parameter 'y' speaks DLPack 2.0, and kernelc 1")):
            with self.assertRaisesRegex(error, message):
                k(x, y=DlpackArray(Memory([3]), version=version, flags=flags))

        class Interface:
            def __init__(self, **entries):
                self.__array_interface__ = {**x.__array_interface__, **entries}
        self.assertEqual(list(k(Interface())), [2, 2, 2])
        for entries, message in (({"mask": np.ones(3, bool)}, "parameter 'x' has a mask"), ({"data": None}, "does not tell where its elements lie")):
            with self.assertRaisesRegex(TypeError, message):
                k(Interface(**entries))


class Schedules(unittest.TestCase):
    def test_typos_are_named_on_every_device(self):
        text = "def s(x: f32[M, N]) -> (y: f32[M]) { y[i] = sum[j](x[i, j]) }"
        x = np.ones((4, 8), np.float32)
        record = {"kernel": "s", "launch": "y"}
        for device in HOST_DEVICES:
            np.testing.assert_array_equal(kernelc.compile(text, schedule=[{**record, "warps": 4}])(x, device=device), np.full(4, 8))
            for wrong, message in (({**record, "warp": 4}, "schedule of launch 'y': unknown key 'warp'"), ({**record, "warps": 64}, "'warps' must be"),
                                   ({**record, "tiles": {"q": 2}}, "there is no index 'q'"), ({**record, "launch": "z"}, "the schedule names launch 'z'"),
                                   ({**record, "unit": "mna"}, "'unit' must be"), ({"kernel": "s", "copies": "nevre"}, "'copies' must be always or never"),
                                   ({**record, "target": "sm90"}, "unknown target \"sm90\""), ({**record, "kernel": "t"}, "there is no kernel 't'"),
                                   ({**record, "target": "sm_80" if device == "cpu" else "sm_90a", "warp": 4}, "unknown key 'warp'")):
                with self.assertRaisesRegex(kernelc.KernelcError, message, msg=f"{wrong} on {device}"):
                    kernelc.compile(text, schedule=[wrong])(x, device=device)


class Torch(unittest.TestCase):
    """On a module like torch; `RealTorch` runs the same on PyTorch."""

    def setUp(self):
        self.torch = make_torch()
        modules = loaded(torch=self.torch)
        modules.start()
        self.addCleanup(modules.stop)

    def tensor(self, **attributes):
        return self.torch.Tensor(Memory([3]), **attributes)

    def without_gradients(self):
        return mock.patch.object(self.torch, "grad_enabled", False)

    def version(self, x):
        return self.torch.written.count(x)

    def test_gradients_are_not_dropped(self):
        x, leaf = self.tensor(), self.tensor(requires_grad=True)
        self.assertIsInstance(COPY(x), self.torch.Tensor)
        for call, name in ((lambda: COPY(leaf), "parameter 'x'"), (lambda: INOUT(leaf), "parameter 'x'"), (lambda: COPY(x, y=leaf), "parameter 'y'")):
            with self.assertRaisesRegex(kernelc.GradientError, name + r" requires a gradient, .* pass x.detach\(\), or .* torch.no_grad\(\)"):
                call()
        self.assertIsInstance(COPY(leaf.detach()), self.torch.Tensor)
        with self.without_gradients():
            result = COPY(leaf)
        self.assertIsInstance(result, self.torch.Tensor)
        self.assertFalse(result.requires_grad)

    def test_elements_that_are_not_the_values(self):
        for attributes, message in ((dict(neg_bit=True), r"x.resolve_neg\(\)"), (dict(conj_bit=True), r"x.resolve_conj\(\)"),
                                    (dict(is_quantized=True), r"x.dequantize\(\)"), (dict(layout="torch.sparse_coo"), r"x.to_dense\(\)")):
            with self.assertRaisesRegex(TypeError, "parameter 'x' .*" + message):
                COPY(self.tensor(**attributes))

    def test_what_is_written_is_marked(self):
        x, y, z = self.tensor(), self.tensor(), self.tensor()
        COPY(x, y=y)
        INOUT(z)
        self.assertEqual([self.version(t) for t in (x, y, z)], [0, 1, 1])


@unittest.skipUnless(has("torch"), "no PyTorch")
class RealTorch(Torch):
    def setUp(self):
        import torch
        self.torch = torch

    def tensor(self, **attributes):
        torch, x = self.torch, self.torch.ones(3)
        if attributes.get("neg_bit"):
            return torch.complex(x, x).conj().imag
        if attributes.get("is_quantized"):
            return torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)
        if "layout" in attributes:
            return x.to_sparse()
        if attributes.get("conj_bit"):
            return torch.complex(x, x).conj()
        return x.requires_grad_(attributes.get("requires_grad", False))

    def without_gradients(self):
        return self.torch.inference_mode()

    def version(self, x):
        return x._version

    def test_scalars_and_tangents(self):
        torch = self.torch
        with self.assertRaisesRegex(kernelc.GradientError, "'a' requires a gradient"):
            SCALAR(torch.tensor(2.0, requires_grad=True), torch.ones(3))
        with torch.autograd.forward_ad.dual_level():
            with self.assertRaisesRegex(kernelc.GradientError, r"tangent of forward-mode .*unpack_dual\(x\).primal"):
                COPY(torch.autograd.forward_ad.make_dual(torch.ones(3), torch.ones(3)))
        for transform in (torch.func.grad(lambda x: COPY(x).sum()), torch.func.vmap(COPY)):
            with self.assertRaisesRegex(TypeError, "parameter 'x'"):
                transform(torch.ones(3))

    def test_a_gradient_that_needs_overwritten_values_fails(self):
        x = self.torch.ones(3, requires_grad=True)
        z = x * 1
        squares = (z * z).sum()
        with self.torch.no_grad():
            INOUT(z)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            squares.backward()

    def test_narrow_types(self):
        for kind, name in (("bf16", "bfloat16"), ("f8e4m3", "float8_e4m3fn"), ("f8e5m2", "float8_e5m2")):
            x = self.torch.tensor([0.5, 1, -2]).to(getattr(self.torch, name))
            y = kernelc.compile("def f(x: %s[N]) -> (y: %s[N]) { y[i] = x[i] }" % (kind, kind))(x)
            self.assertEqual(y.dtype, x.dtype)
            self.assertEqual(y.float().tolist(), [0.5, 1, -2])


class Jax(unittest.TestCase):
    """On a module like jax; `RealJax` runs the same on JAX."""

    def setUp(self):
        self.jax = make_jax()
        modules = loaded(jax=self.jax)
        modules.start()
        self.addCleanup(modules.stop)

    def array(self):
        return self.jax.Array(Memory([3]))

    def values(self, x):
        return list(x.memory.host)

    def test_results_are_jax_arrays(self):
        for device in HOST_DEVICES:
            y = COPY(self.array(), device=device)
            self.assertIsInstance(y, self.jax.Array)
            self.assertEqual(self.values(y), [2, 2, 2])

    def test_jax_arrays_are_not_written(self):
        for call, name in ((lambda: INOUT(self.array()), "x"), (lambda: COPY(self.array(), y=self.array()), "y"),
                           (lambda: COPY(np.ones(3, np.float32), out=self.array()), "y")):
            with self.assertRaisesRegex(ValueError, f"parameter '{name}' is written by the kernel, and JAX arrays are immutable; pass a copy"):
                call()

    def test_results_that_jax_has_no_type_for(self):
        for kind, dtype in (("f64", np.float64), ("i64", np.int64), ("u64", np.uint64)):
            k = kernelc.compile("def f(x: f32[N]) -> (y: %s[N]) { y[i] = %s(x[i]) }" % (kind, kind))
            with self.assertRaisesRegex(TypeError, f"output 'y' is {kind}, and JAX has no 64-bit types unless told so"):
                k(self.array())
            np.testing.assert_array_equal(k(self.array(), y=np.zeros(3, dtype)), [1, 1, 1])

    def test_arrays_that_are_gone(self):
        x = self.array()
        x.deleted = True
        with self.assertRaisesRegex(TypeError, "parameter 'x' was deleted"):
            COPY(x)

    def test_tracers(self):
        with self.assertRaisesRegex(TypeError, "parameter 'x' is traced by JAX"):
            COPY(self.jax.core.Tracer(Memory([3])))


@unittest.skipUnless(has("jax"), "no JAX")
class RealJax(Jax):
    def setUp(self):
        import jax
        self.jax = jax
        cpu = jax.default_device(jax.devices("cpu")[0])  # PythonGpuTest has those on a GPU
        cpu.__enter__()
        self.addCleanup(cpu.__exit__, None, None, None)

    def array(self):
        return self.jax.numpy.ones(3)

    def values(self, x):
        return x.tolist()

    def test_arrays_that_are_gone(self):
        x = self.array()
        x.delete()
        with self.assertRaisesRegex(TypeError, "parameter 'x' was deleted"):
            COPY(x)

    def test_tracers(self):
        jax, ones = self.jax, self.jax.numpy.ones
        for call in (lambda: jax.jit(COPY)(ones(3)), lambda: jax.grad(lambda x: COPY(x).sum())(ones(3)), lambda: jax.vmap(COPY)(ones((2, 3)))):
            with self.assertRaisesRegex(TypeError, "parameter 'x' is traced by JAX"):
                call()

    def test_narrow_types(self):
        for kind, name in (("bf16", "bfloat16"), ("f8e4m3", "float8_e4m3fn"), ("f8e5m2", "float8_e5m2")):
            x = self.jax.numpy.asarray([0.5, 1, -2], name)
            y = kernelc.compile("def f(x: %s[N]) -> (y: %s[N]) { y[i] = x[i] }" % (kind, kind))(x)
            self.assertIsInstance(y, self.jax.Array)
            self.assertEqual(y.dtype, x.dtype)
            self.assertEqual(y.astype("float32").tolist(), [0.5, 1, -2])


if __name__ == "__main__":
    unittest.main()
