# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Python package over NumPy on the CPU device and the emulator."""
import mmap
import os
import unittest

import numpy as np

import kernelc

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")
SEVERAL = """
def scale(a: f32, x: f32[N]) -> (y: f32[N]) { y[i] = a * x[i] }
def ramp() -> (y: f32[N]) { y[i] = f32(i) }
def both(x: f32[N]) -> (y: f32[N], z: i32[N]) {
  y[i] = x[i] + 1.0
  z[i] = i32(i)
}
def half(x: bf16[N]) -> (y: bf16[N]) { y[i] = x[i] * 0.5 }
"""


def example(name):
    with open(os.path.join(EXAMPLES, name)) as f:
        return kernelc.compile(f.read(), name)


class Calls(unittest.TestCase):
    def test_softmax_equals_numpy(self):
        x = np.random.default_rng(0).standard_normal((5, 70), dtype=np.float32)
        e = np.exp(x - x.max(1, keepdims=True))
        for device in (None, "emulator"):
            np.testing.assert_allclose(example("softmax.kc")(x, device=device), e / e.sum(1, keepdims=True), rtol=1e-5)

    def test_strided_input_is_not_copied_but_read(self):
        x = np.arange(24, dtype=np.float32).reshape(4, 6)
        k = kernelc.compile("def t(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = x[i, j] }")
        np.testing.assert_array_equal(k(x.T), x.T)
        np.testing.assert_array_equal(k(x[::2, ::-1]), x[::2, ::-1])

    def test_tensors_that_are_not_dense_run_on_the_emulator(self):
        x = np.arange(48, dtype=np.float32).reshape(6, 8)
        k = kernelc.compile("def t(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = 2 * x[i, j] }")
        for view in (x.T, x[:, ::2], x[1:, 1:], x[::2], x[:, 4:], x[:, ::-1], x.ravel()[1:41].reshape(5, 8),
                     np.broadcast_to(x[0], (3, 8))):
            np.testing.assert_array_equal(k(view, device="emulator"), 2 * view)
        out = np.zeros((6, 20), np.float32)
        k(x, y=out[:, 1:17:2], device="emulator")
        np.testing.assert_array_equal(out[:, 1:17:2], 2 * x)
        self.assertEqual(out[:, ::2].any() or out[:, 17:].any(), False)
        repeated = np.lib.stride_tricks.as_strided(np.zeros(8, np.float32), (6, 8), (0, 4))
        with self.assertRaisesRegex(kernelc.KernelcError, "parameter 'y': is written, but elements of it overlap"):
            k(x, y=repeated, device="emulator")

    def test_rows_far_apart_take_no_more_than_their_pages(self):
        # 24 GiB of addresses, of which a few pages are touched; more than the machine has of memory, copied row by row.
        length = (1 << 32) + 4096
        memory = mmap.mmap(-1, 4 * length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)  # MAP_NORESERVE
        flat = np.frombuffer(memory, np.float32)
        k = kernelc.compile("def f(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = x[i, j] * 2 + 1 }")
        for step in (1 << 20, (1 << 31) - 1, 1 << 31, (1 << 31) + 17, (1 << 32) - 1):
            view = np.lib.stride_tricks.as_strided(flat, (2, 40), (4 * step, 4))
            view[0], view[1] = np.arange(40), np.arange(40) + 100
            out = np.lib.stride_tricks.as_strided(flat[1000:], (2, 40), (4 * step, 4))
            for device in ("cpu", "emulator"):
                np.testing.assert_array_equal(k(view, device=device), view * 2 + 1)
                k(view, y=out, device=device)
                np.testing.assert_array_equal(out, view * 2 + 1)
                out[:] = 0

    def test_sizes_of_0(self):
        text = "def f(x: f32[H, C], w: f32[C, O]) -> (y: f32[H, O]) { y[h, o] = sum[c](w[c, o] * x[h, c]) }"
        for device in ("cpu", "emulator"):
            for h, c, o in ((0, 5, 6), (3, 0, 6), (0, 0, 0)):
                for fixed in ({}, {"H": h}, {"C": c}, {"H": h, "C": c, "O": o}):
                    y = kernelc.compile(text, **fixed)(np.zeros((h, c), np.float32), np.zeros((c, o), np.float32), device=device)
                    np.testing.assert_array_equal(y, np.zeros((h, o)))

    def test_numpy_scalars_as_tensors_of_rank_0(self):
        k = kernelc.compile("def k(a: f32[], b: f32[], c: f32[]) -> (y: f32[]) { y[] = a[] * 100 + b[] * 10 + c[] }")
        self.assertEqual(k(np.float32(1), np.float32(2), np.float32(3), y=np.zeros((), np.float32)), 123)
        with self.assertRaisesRegex(ValueError, "read-only"):
            k(np.float32(1), np.float32(2), np.float32(3), y=np.float32(0))

    def test_given_output_is_returned(self):
        out = np.empty(3, np.float32)
        k = kernelc.compile(SEVERAL)
        self.assertIs(k.scale(2.0, np.ones(3, np.float32), y=out), out)
        self.assertIs(k.scale(3, np.ones(3, np.float32), out=out), out)
        np.testing.assert_array_equal(out, [3, 3, 3])

    def test_several_outputs_and_named_sizes(self):
        k = kernelc.compile(SEVERAL)
        y, z = k.both(np.zeros(3, np.float32))
        np.testing.assert_array_equal(y, [1, 1, 1])
        np.testing.assert_array_equal(z, [0, 1, 2])
        np.testing.assert_array_equal(k.ramp(N=4), [0, 1, 2, 3])

    def test_inout_is_updated_in_place(self):
        y = np.ones(4, np.float32)
        self.assertIsNone(example("saxpy.kc")(2.0, np.arange(4, dtype=np.float32), y))
        np.testing.assert_array_equal(y, [1, 3, 5, 7])

    def test_bf16_as_raw_bits(self):
        y = kernelc.compile(SEVERAL).half(np.array([0x3F80, 0x4000], np.uint16))
        np.testing.assert_array_equal(y.view(np.uint16), np.array([0x3F00, 0x3F80], np.uint16))

    def test_constants_are_compiled_in(self):
        k = kernelc.compile("def f(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] }", N=4)
        with self.assertRaisesRegex(kernelc.KernelcError, "expected extent 4"):
            k(np.zeros(5, np.float32))

    def test_numbers_arrive_exactly_or_not_at_all(self):
        k = kernelc.compile("def f(const c: f32, const b: bool = False) -> (y: f32[N]) { y[i] = c if not b else 0.0 }", c=2.5)
        self.assertEqual(k(N=2)[1], 2.5)
        for value in (2**64 - 1, 2**63, 2**63 - 1, 0):
            self.assertEqual(kernelc.compile("def f(const c: u64) -> (y: u64[]) { y[] = c }", c=value)().item(), value)
        with self.assertRaisesRegex(kernelc.KernelcError, "'c' is set to 9223372036854775808"):
            kernelc.compile("def f(const c: i64) -> (y: i64[]) { y[] = c }", c=2**63)
        for kind, value in (("u64", 2**64 - 1), ("u64", 2**63), ("i64", -2**63), ("f32", 2**70), ("f64", 2**70), ("f32", 0.5),
                            ("f32", np.float64(0.5)), ("u8", np.uint8(255)), ("bool", np.bool_(True))):
            given = kernelc.compile("def f(n: %s) -> (y: %s[]) { y[] = n }" % (kind, kind))
            self.assertEqual(given(value).item(), value, kind)
            if kind in ("u64", "i64", "f32"):
                self.assertEqual(given(value, device="emulator").item(), value, kind)
        text = "def f(n: %s) -> (y: f32[N]) { y[i] = 0.0 }"
        for kind, value, error, message in (
                ("i64", 2**63, kernelc.KernelcError, "'n': 9223372036854775808 does not fit in i64"),
                ("i64", 2**64 + 5, ValueError, "'n': the number does not fit in i64"),
                ("f64", 10**400, ValueError, "'n': the number does not fit in f64"),
                ("i64", 2.5, kernelc.KernelcError, "'n': expected an integer"),
                ("f32", "two", TypeError, "'n' must be a number, got str"),
                ("f32", np.ones(2), TypeError, "'n' must be a number, got ndarray"),
                ("f32", None, TypeError, "'n' must be a number, got NoneType")):
            with self.assertRaisesRegex(error, message):
                kernelc.compile(text % kind)(value, N=1)
        x = np.ones(4, np.float32)
        axpy = kernelc.compile("def axpy(x: f32[2 * N]) -> (y: f32[N]) { y[i] = x[2 * i] }")
        for given, named, error, message in ((x.astype(">f4"), {}, TypeError, "in the byte order of other machines"),
                                             (x, {"device": "cuda"}, kernelc.KernelcError, "parameter 'x': lies in host memory, and the call runs on cuda:0|the call asks for cuda, and there is no GPU here"),
                                             (x[:3], {}, kernelc.KernelcError, r"dimension 0 is 3, but must be 2 \* N for some N >= 0")):
            with self.assertRaisesRegex(error, message):
                axpy(given, **named)
        k = kernelc.compile(SEVERAL).ramp
        for size, error, message in ((2.7, TypeError, "'N' must be an integer, got 2.7"),
                                     (2**64 + 3, ValueError, "'N': 18446744073709551619 does not fit in i64"),
                                     ("3", TypeError, "'N' must be a number, got str")):
            with self.assertRaisesRegex(error, message):
                k(N=size)
        text = "def f(const c: f32 = 1, const b: bool = False) -> (y: f32[N]) { y[i] = c if not b else 0.0 }"
        for named, error, message in (({"N": 2.7}, kernelc.KernelcError, "size 'N' is set to 2.7"),
                                      ({"c": 2**64 + 7}, ValueError, "'c': 18446744073709551623 does not fit"),
                                      ({"b": 2}, kernelc.KernelcError, "'b' is set to 2; it takes True or False"),
                                      ({"b": -1}, kernelc.KernelcError, "'b' is set to -1"),
                                      ({"c": "x"}, TypeError, "'c' must be a number, got str")):
            with self.assertRaisesRegex(error, message):
                kernelc.compile(text, **named)

    def test_precision_policy(self):
        text = "def p(a: f32[M, K], b: f32[K, N]) -> (c: f32[M, N]) { c[i, j] = sum[k](a[i, k] * b[k, j]) }"
        a, b = np.full((20, 32), 1 + 2.0**-12, np.float32), np.ones((32, 24), np.float32)
        for device in ("cpu", "emulator"):
            self.assertGreater(kernelc.compile(text)(a, b, device=device)[0, 0], 32)
            self.assertEqual(kernelc.compile(text, precision="contract=tf32")(a, b, device=device)[0, 0], 32)
            self.assertAlmostEqual(kernelc.compile(text, precision="contract=tf32x3")(a, b, device=device)[0, 0], 32 * (1 + 2.0**-12), places=5)
        with self.assertRaisesRegex(Exception, "contract takes tf32, .*, not 'tf32x2'"):
            kernelc.compile(text, precision="contract=tf32x2")

    def test_schedule(self):
        text = "def s(x: f32[M, N]) -> (y: f32[M]) { y[i] = sum[j](x[i, j]) }"
        x = np.arange(40 * 70, dtype=np.float32).reshape(40, 70)
        record = {"kernel": "s", "launch": "y", "warps": 8}
        for schedule in ([record], '[{"kernel": "s", "launch": "y", "warps": 8}]'):
            k = kernelc.compile(text, schedule=schedule)
            self.assertIn("warps 8", k.s.cuda_text(x))
            np.testing.assert_array_equal(k(x, device="emulator"), x.sum(1))
        self.assertNotIn("warps 8", kernelc.compile(text).s.cuda_text(x))
        with self.assertRaisesRegex(kernelc.KernelcError, "<schedule>:1:13: error: there is no kernel 't'; the program has 's'"):
            kernelc.compile(text, schedule=[{"kernel": "t", "launch": "y"}])
        with self.assertRaisesRegex(kernelc.KernelcError, "schedule of launch 'y': 'warps' must be a whole number from 1 to 32"):
            kernelc.compile(text, schedule=[dict(record, warps=0)]).s.cuda_text(x)
        untuned = kernelc.Session(tuned=False).compile(text)
        self.assertNotIn("warps 8", untuned.s.cuda_text(x))

    def test_compile_policy(self):
        text = "def f(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] }"
        for policy in ("block", "tiered", "strict"):  # on the CPU nothing waits for NVRTC
            y = kernelc.Session(compile_policy=policy).compile(text)["f"](np.ones(3, np.float32), device="cpu")
            np.testing.assert_array_equal(y, np.ones(3, np.float32))
        with self.assertRaisesRegex(kernelc.KernelcError, "'lazy' is no policy for compiling; there are block, tiered and strict"):
            kernelc.Session(compile_policy="lazy")

    def test_fill_makes_what_the_command_line_makes(self):
        x = kernelc.fill(np.empty((3, 5), np.float32), "random:2..3")
        self.assertTrue((x >= 2).all() and (x < 3).all() and len(np.unique(x)) > 10)
        np.testing.assert_array_equal(x, kernelc.fill(np.empty((3, 5), np.float32), "random:0:2..3"))
        np.testing.assert_array_equal(kernelc.fill(np.empty(4, np.int64), "iota"), np.arange(4))
        n = kernelc.fill(np.empty(999, np.int8), "random:-3..5")
        self.assertEqual((n.min(), n.max()), (-3, 4))
        for value, why in (("random:1..0", "is empty"), ("twos", "expected zeros, ones, iota or random"), ("random:0..1:3", "seed")):
            with self.assertRaisesRegex(kernelc.KernelcError, why):
                kernelc.fill(np.empty(4, np.float32), value)
        with self.assertRaisesRegex(kernelc.KernelcError, "only dense tensors"):
            kernelc.fill(np.empty((4, 4), np.float32)[:, ::2], "ones")
        with self.assertRaisesRegex(ValueError, "read-only"):
            kernelc.fill(np.broadcast_to(np.float32(0), (4,)), "ones")

    def test_warnings_of_the_text(self):
        with self.assertWarnsRegex(kernelc.KernelcWarning, "<string>:1:42: warning: '1e400' is beyond f64"):
            kernelc.compile("def w(x: f32[N]) -> (y: f32[N]) { y[i] = 1e400 }")
        with self.assertWarnsRegex(kernelc.KernelcWarning, "no sizes satisfy 'require N < M'"):
            kernelc.compile("def w(x: f32[M, N]) -> (y: f32[M]) {\n  require N > M\n  require N < M\n  y[i] = x[i, 0]\n}")

    def test_cuda_text_needs_no_gpu(self):
        self.assertIn("kc_softmax_rows", example("softmax.kc").softmax_rows.cuda_text(np.zeros((4, 8), np.float32), target="sm_80"))


class Errors(unittest.TestCase):
    def test_program(self):
        with self.assertRaisesRegex(kernelc.KernelcError, r"f.kc:1:42: error: unknown tensor 'z'"):
            kernelc.compile("def f(x: f32[N]) -> (y: f32[N]) { y[i] = z[i] }", "f.kc")

    def test_arguments(self):
        k = kernelc.compile(SEVERAL)
        x = np.ones(3, np.float32)
        for message, call in (("expected rank 1", lambda: k.scale(1.0, np.ones((2, 2), np.float32))),
                              ("expected elements of type f32, got f64", lambda: k.scale(1.0, np.ones(2))),
                              ("nothing determines size 'N'", lambda: k.ramp()),
                              ("size 'N' is -1; sizes are not negative", lambda: k.ramp(N=-1)),
                              ("<string>:2:34: parameter 'y': expected extent 3", lambda: k.scale(1.0, x, y=np.empty(4, np.float32))),
                              ("overlaps parameter", lambda: k.scale(1.0, x, y=x))):
            with self.assertRaisesRegex(kernelc.KernelcError, message):
                call()
        for message, call in (("missing argument 'x'", lambda: k.scale(1.0)), ("no parameter or size 'q'", lambda: k.scale(1.0, x, q=2)),
                              ("must be an array", lambda: k.scale(1.0, 3)), ("several kernels", lambda: k(x))):
            with self.assertRaisesRegex(TypeError, message):
                call()

    def test_read_only_output(self):
        y = np.ones(2, np.float32)
        y.flags.writeable = False
        with self.assertRaisesRegex(ValueError, "read-only"):
            kernelc.compile(SEVERAL).scale(1.0, np.ones(2, np.float32), y=y)


if __name__ == "__main__":
    unittest.main()
