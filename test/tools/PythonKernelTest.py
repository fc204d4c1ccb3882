# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as their users write them: the decorator, load, what kernels say of themselves, pickles, errors, commands."""
from __future__ import annotations

import ast
import concurrent.futures
import contextlib
import inspect
import os
import pathlib
import pickle
import tempfile
import unittest

import numpy as np

import kernelc

HERE = os.path.abspath(__file__)


@kernelc.kernel
def linear(x: f32[M, K], w: f32[N, K], b: f32[N], *, y: f32[M, N]):
    """A product with a bias."""
    a[i, j] = sum[k](x[i, k] *
                     w[j, k])    # over two lines
    y[i, j] = max(a[i, j] + b[j], 0.0)


@kernelc.fn
def squared(e):
    s = e * e
    return s


@kernelc.fn
def spread(e, *, j):
    return mean[j](squared(e))


@kernelc.kernel(N=6)
def pairs(x: f32[N], inout_: inout[f32[N]], *, y: f32[N], least: f32[()], flags: bool[()], n: i32[()], v: f32[()]):
    assert N % 2 == 0
    half[i]: bf16 = x[i]
    with where(i < N // 2):
        y[i] = half[i] * 2.0
    with where(N // 2 <= i):
        y[i] = half[i]
    inout_[i] = inout_[i] + x[i]
    least[()] = min(least[()], x[i])
    flags[()] = flags[()] or x[i] > 4.0
    n[()] += i32(x[i])
    v[()] = spread[i](x[i])


@kernelc.kernel
def roots(x: f32[N], *, y: f32[N]):
    assert x[i] >= 0, "roots are of numbers that are not negative"
    y[i] = sqrt(x[i])


class Decorated(unittest.TestCase):
    def test_an_assert_with_a_text_is_of_values(self):
        np.testing.assert_array_equal(roots(np.array([0, 4], np.float32)), [0, 2])
        with self.assertRaisesRegex(kernelc.KernelcError, "roots are of numbers that are not negative at i = 1") as raised:
            roots(np.array([0, -4, -1], np.float32))
        self.assertEqual(raised.exception.line, roots.__wrapped__.__code__.co_firstlineno + 2)

    def test_the_same_as_numpy(self):
        rng = np.random.default_rng(1)
        x, w, b = rng.random((5, 7), np.float32), rng.random((3, 7), np.float32), rng.random(3, np.float32)
        np.testing.assert_allclose(linear(x, w, b), np.maximum(x @ w.T + b, 0), rtol=1e-5)
        y = np.zeros((5, 3), np.float32)
        self.assertIs(linear(x, w, b, y=y), y)

    def test_every_pair_of_spellings(self):
        x, s = np.array([3, 1, 4, 1, 5, 9], np.float32), np.ones(6, np.float32)
        y, least, flags, n, v = pairs(x, s)
        np.testing.assert_array_equal(y, [6, 2, 8, 1, 5, 9])
        np.testing.assert_array_equal(s, x + 1)
        self.assertEqual((least[()], flags[()], n[()]), (1, True, 23))
        self.assertAlmostEqual(v[()], (x * x).mean(), places=4)
        with self.assertRaisesRegex(TypeError, "'squared' is a function of kernels"):
            squared(2)

    def test_first_mistakes_say_what_to_write(self):
        scale = kernelc.compile("def scale(a: f32, x: f32[N]) -> (y: f32[N]) { y[i] = a * x[i] }").scale
        x = np.ones(4, np.float32)

        def no_outputs():
            @kernelc.kernel
            def g(x: f32[N], y: f32[N]):
                y[i] = x[i]

        def annotated():
            @kernelc.kernel
            def g(x: f32[N]) -> f32[N]:
                y[i] = x[i]

        def ranged():
            @kernelc.kernel
            def g(x: f32[N], *, y: f32[()]):
                y[()] = sum[k in range(N)](x[k])

        def defaulted():
            @kernelc.kernel
            def g(x: f32[N], a: f32 = 1.0, *, y: f32[N]):
                y[i] = a * x[i]

        def choosing():
            @kernelc.fn
            def positive(e):
                if e > 0:
                    return e
                return 0

            @kernelc.kernel
            def g(x: f32[N], *, y: f32[N]):
                y[i] = positive(x[i])

        text = scale._source["text"]
        bound = scale.bind(2.0, x, device="cpu")

        for error, message, call in (
                (SyntaxError, r"outputs are parameters behind a '\*'", no_outputs),
                (SyntaxError, r"outputs are parameters behind a '\*'", annotated),
                (SyntaxError, r"sum\[0 <= k < N\]", ranged),
                (SyntaxError, r"only constants have defaults; write a: const\[f32\] = 1.0", defaulted),
                (SyntaxError, "at its end one 'return'", choosing),
                (TypeError, "takes a stream and no arguments", lambda: bound.launch(x, x)),
                (TypeError, "'precision' is a policy's text", lambda: kernelc.compile(text, precision={"contract": "tf32"})),
                (ValueError, r"json.load\(open\('s.json'\)\)", lambda: kernelc.compile(text, schedule="s.json")),
                (TypeError, "@kernelc.kernel takes a function", lambda: kernelc.compile(len)),
                (TypeError, "'budget' is a positive number of seconds, not 'fast'", lambda: scale.tune(2.0, x, budget="fast")),
                (ValueError, r"kernelc.compile\(text\)", lambda: kernelc.load("def f(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] }")),
                (AttributeError, "did you mean 'kernel'", lambda: kernelc.jit),
                (TypeError, r"numpy.asarray\(x, 'float32'\)", lambda: scale(2.0, [1, 2])),
                (TypeError, r"'a' must be a number, got ndarray: scale\(a: f32, x: f32\[N\]\)", lambda: scale(x, 2.0)),
                (TypeError, "pass x.real and x.imag", lambda: scale(2.0, x.astype(np.complex64))),
                (TypeError, "write target='sm_90a'", lambda: scale.cuda_text(2.0, x, arch="sm_90a")),
                (kernelc.KernelcError, "did you mean 'sm_90a'", lambda: scale.cuda_text(2.0, x, target="h100")),
                (kernelc.KernelcError, r"x.astype\('float32'\)", lambda: scale(2.0, np.ones(4))),
                (kernelc.KernelcError, r"expected rank 1 \[N\]", lambda: scale(2.0, np.ones((2, 2), np.float32))),
                (kernelc.KernelcError, "'M' is set to 4, and no kernel", lambda: kernelc.compile(scale._source["text"], M=4)),
                (kernelc.KernelcError, "precision: 'tf32': expected KEY=VALUE", lambda: kernelc.compile(scale._source["text"], precision="tf32"))):
            with self.assertRaisesRegex(error, message):
                call()

    def test_messages_point_into_the_python_file(self):
        def wrong(x: f32[N], *, y: f32[N]):
            y[i] = x[i]
            z[i] = x[i] + u[i]
        with self.assertRaises(kernelc.KernelcError) as caught:
            kernelc.kernel(wrong)
        lines, first = inspect.getsourcelines(wrong)
        error = caught.exception
        self.assertEqual((os.path.abspath(error.file), error.line, error.column), (HERE, first + 2, lines[2].index("u[i]") + 1))
        self.assertIn("unknown tensor 'u'", error.diagnostics[0].message)

        def untyped(x, *, y: f32[N]):
            y[i] = x[i]

        def looping(x: f32[N], *, y: f32[N]):
            for i in range(3):
                y[i] = x[i]

        def starred(*x, y: f32[N]):
            y[i] = 0.0

        def several(x: f32[N], *, y: f32[N], z: f32[N]):
            y[i], z[i] = x[i], x[i]
        def returning(x: f32[N]):
            return 2 * x[i]

        for function, message in ((untyped, "parameter 'x' has no type"), (looping, "there are no loops"), (starred, "no \\* or"),
                                  (several, "one at a time"), (returning, "outputs are parameters behind")):
            with self.assertRaisesRegex(SyntaxError, message):
                kernelc.kernel(function)
        with self.assertRaisesRegex(TypeError, "functions that 'def' defines, not by <lambda>"):
            kernelc.kernel(lambda x: x)

    def test_habits_of_other_libraries(self):
        program = kernelc.compile("def one(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] }")
        x = np.ones(4, np.float32)
        for error, message, call in ((TypeError, "load\\(path\\) reads a file", lambda: kernelc.compile(pathlib.Path("one.kc"))),
                                     (TypeError, "must be a str, got bytes", lambda: kernelc.compile(b"def")),
                                     (ValueError, "load\\('one.kc'\\) reads it", lambda: kernelc.compile("one.kc")),
                                     (KeyError, "it has one", lambda: program["oen"]),
                                     (TypeError, "takes no grid", lambda: program.one[(1,)](x)),
                                     (TypeError, "numpy.asarray", lambda: program([1.0])),
                                     (TypeError, "did you mean 'x'", lambda: program(xx=x)),
                                     (TypeError, "one\\(x: f32\\[N\\]\\) -> ", lambda: program()),
                                     (kernelc.KernelcError, "did you mean 'warps'",
                                      lambda: kernelc.compile("def f(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] }",
                                                              schedule=[{"kernel": "f", "launch": "y", "num_warps": 4}])(x))):
            with self.assertRaisesRegex(error, message):
                call()

    def test_what_a_kernel_says_of_itself(self):
        self.assertEqual(repr(linear), "<kernel linear(x: f32[M, K], w: f32[N, K], b: f32[N]) -> (y: f32[M, N])>")
        self.assertEqual(str(inspect.signature(linear)), "(x: 'f32[M, K]', w: 'f32[N, K]', b: 'f32[N]', y: 'f32[M, N]' = None)")
        self.assertEqual((linear.__doc__, linear.__name__, linear.__module__), ("A product with a bias.", "linear", __name__))
        self.assertIn("y: f32[M, N]", linear._repr_html_())
        self.assertIn("inout inout_: f32[6]", repr(pairs))
        self.assertRegex(repr(linear.bind(*(np.ones(s, np.float32) for s in ((2, 3), (4, 3), 4)))), "<bound linear.* on cpu>")
        self.assertIn("add", dir(kernelc.compile("def add(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] + 1 }")))

    def test_pickles(self):
        x = np.ones(4, np.float32)
        program = kernelc.compile("def f(x: f32[N], const c: f32) -> (y: f32[N]) { y[i] = c * x[i] }", c=2.5)
        for copy in (pickle.loads(pickle.dumps(program.f)), pickle.loads(pickle.dumps(program)).f):
            np.testing.assert_array_equal(copy(x), 2.5 * x)
            self.assertEqual(repr(copy), repr(program.f))
        again = pickle.loads(pickle.dumps(linear))
        np.testing.assert_array_equal(again(np.ones((1, 1), np.float32), np.ones((1, 1), np.float32), np.ones(1, np.float32)), [[2]])
        error = pickle.loads(pickle.dumps(kernelc.KernelcError(3, "f.kc:1:2: error: x")))
        self.assertEqual((str(error), error.code, error.line, error.column), ("f.kc:1:2: error: x", 3, 1, 2))

    def test_data_that_lead_outside_are_said_with_their_point(self):
        program = kernelc.compile("""
def embed(table: f32[V, D], x: i32[N]) -> (y: f32[N, D]) { y[n, d] = table[x[n], d] }
def part(table: f32[V], x: i64[N], m: bool[N]) -> (y: f32[N]) { y[n] = table[x[n]] if m[n] else -1 }
def summed(table: f32[V], x: u8[N, K], len: i32[N]) -> (y: f32[N]) { y[n] = sum[k in 0:len[n]](table[x[n, k]]) }
def put(at: i32[N], g: f32[N]) -> (y: f32[R]) { y[at[n]] += g[n] where n > 0 }
def write(at: u64[N], g: f32[N]) -> (y: f32[R]) { y.unique[at[n]] = g[n] }
def twice(t: f32[V], p: i32[M], x: i32[N]) -> (y: f32[N]) { y[n] = t[p[x[n]]] }
def scalar(t: f32[V], n: i64) -> (y: f32[]) { y[] = t[n] }
def softmaxed(t: f32[V], x: i32[M, N]) -> (y: f32[M, N]) { y[i, j] = softmax[j](t[x[i, j]]) }
def inplace(at: i32[N], inout y: f32[R]) { y[i] = 2 * y.pad(0)[i] y[at[n]] max= 1 }""")
        t, flags, ones = np.arange(10, dtype=np.float32), np.array([True, False, True]), np.ones(3, np.float32)
        i32, u8, u64 = (lambda *x, t=t: np.array(x, t) for t in (np.int32, np.uint8, np.uint64))
        rows = np.array([[1, 2, 99], [3, 4, 200]], np.uint8)
        for device in ("cpu", "emulator"):
            def said(kernel, *args, point=None, line=None, **sizes):
                if point is None:
                    return getattr(program, kernel)(*args, device=device, **sizes)
                with self.assertRaisesRegex(kernelc.KernelcError, f" leaves 0:[A-Z]+{point} ") as raised:
                    getattr(program, kernel)(*args, device=device, **sizes)
                self.assertEqual((raised.exception.code, raised.exception.line), (11, line))
            table = t.reshape(5, 2)
            np.testing.assert_array_equal(said("embed", table, i32(4, 0)), [[8, 9], [0, 1]])
            said("embed", table, i32(1, 2, 5, -1), point=" at n = 2", line=2)
            said("embed", table, i32(1, -2**31), point=" at n = 1", line=2)
            said("embed", table[:0], i32(0), point=" at n = 0", line=2)
            self.assertEqual(said("embed", table[:, :0], i32(7)).shape, (1, 0))  # nothing is read
            np.testing.assert_array_equal(said("part", t, np.array([1, 50, 3]), flags), [1, -1, 3])
            said("part", t, np.array([1, 3, 2**40]), flags, point=" at n = 2", line=3)
            np.testing.assert_array_equal(said("summed", t, rows, i32(2, 2)), [3, 7])
            said("summed", t, rows, i32(2, 3), point=" at n = 1, k = 2", line=4)
            np.testing.assert_array_equal(said("put", i32(-5, 0, 1), ones, R=2), [1, 1])
            said("put", i32(0, 0, 2), ones, R=2, point=" at n = 2", line=5)
            said("write", u64(0, 2**63, 1), ones, R=3, point=" at n = 1", line=6)
            said("twice", t, i32(3, 100), i32(0, 1), point=" at n = 1", line=7)
            said("twice", t, i32(3, 100), i32(0, 5), point=" at n = 1", line=7)
            self.assertEqual(said("scalar", t, 9), 9)
            said("scalar", t, -1, point="", line=8)
            said("softmaxed", t, np.array([[1, 2], [3, 10]], np.int32), point=" at i = 1, j = 1", line=9)
            y = np.zeros(2, np.float32)
            said("inplace", i32(1, 2), y, point=" at n = 1", line=10)
            np.testing.assert_array_equal(y, [0, 1])  # the results are there
            bound = program.embed.bind(table, i32(1, 9), device=device)
            self.assertRaisesRegex(kernelc.KernelcError, "at n = 1", bound.launch)
        self.assertEqual(len(program.embed.params), 3)  # no one sees the record
        program.embed(table, i32(0))
        out = np.zeros((1, 2), np.float32)
        for index, fails in ((1, False), (5, True), (2, False)):  # the warm path
            with self.assertRaises(kernelc.KernelcError) if fails else contextlib.nullcontext():
                program.embed(table, i32(index), out)
            np.testing.assert_array_equal(out, [[0, 0]] if fails else table[index:index + 1])

    def test_assertions_are_said_with_their_point(self):
        program = kernelc.compile("""
def f(x: f32[M, N], lo: f32) -> (y: f32[M, N]) {
  assert x[i, j] >= lo, "x is below lo"
  let s[i] = sum[j](x[i, j])
  assert isfinite(s[i])
  assert s[i] > 0 or i < 1, "rows" where i in 0:M
  assert lo > -5
  y[i, j] = x[i, j] / s[i]
  assert y[i, j] < 2 where j >= i
}""")
        for device in ("cpu", "emulator"):
            for x, lo, said in (([[1, 2], [3, 4]], 0, None), ([[1, 2], [3, -4]], 0, ":3:3: assertion failed: x is below lo at i = 1, j = 1"),
                                ([[1, 2], [3, -4]], -4.5, ":6:3: assertion failed: rows at i = 1"),
                                ([[1, np.inf], [3, 4]], 0, r":5:3: assertion failed: isfinite\(s\[i\]\) at i = 0"),
                                ([[1, 2], [3, 4]], -6, ":7:3: assertion failed: lo > -5 "),
                                ([[1, -2], [3, 4]], -4, r":9:3: assertion failed: y\[i, j\] < 2 at i = 0, j = 1")):
                x = np.array(x, np.float32)
                if said is None:
                    np.testing.assert_allclose(program.f(x, lo, device=device), x / x.sum(1, keepdims=True), rtol=1e-6)
                    continue
                with self.assertRaisesRegex(kernelc.KernelcError, said) as raised:
                    program.f(x, lo, device=device)
                self.assertEqual(raised.exception.code, 11)

    def test_load_and_constants_of_any_name(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "s.kc")
            with open(path, "w") as f:
                f.write("def s(x: f32[N], const file: f32) -> (y: f32[N]) { y[i] = file * x[i] }")
            self.assertEqual(kernelc.load(path, constants={"file": 3})(np.ones(1, np.float32)), 3)
            with open(path, "w") as f:
                f.write("def s(x: f32[N]) -> (y: f32[N]) {\n  y[i] = q[i]\n  y[i] = r[i]\n}")
            with self.assertRaises(kernelc.KernelcError) as caught:
                kernelc.load(path)
        self.assertEqual([(d.file, d.line, d.column, d.severity) for d in caught.exception.diagnostics], [(path, 2, 10, "error"), (path, 3, 10, "error")])

    def test_parameters_called_as_options(self):
        k = kernelc.compile("def f(stream: f32[N], device: f32) -> (out: f32[N]) { out[i] = stream[i] * device }").f
        x, out = np.ones(3, np.float32), np.zeros(3, np.float32)
        for _ in range(2):
            np.testing.assert_array_equal(k(x, 2.0), [2, 2, 2])
            np.testing.assert_array_equal(k(stream=x, device=3.0), [3, 3, 3])
            np.testing.assert_array_equal(k(stream=x, device=4, device_="emulator"), [4, 4, 4])
            self.assertIs(k(x, 5.0, out=out), out)
            self.assertEqual(out[0], 5)

    def test_bound_calls_on_hosts(self):
        k = kernelc.compile("def f(a: f32, x: f32[N]) -> (y: f32[N]) { y[i] = a * x[i] }").f
        for device in ("cpu", "emulator"):
            x, y = np.ones(4, np.float32), np.zeros(4, np.float32)
            bound = k.bind(2.0, x, y, device=device)
            self.assertIs(bound.launch(), y)
            self.assertEqual(y[3], 2)
            x[:] = 3
            self.assertEqual(bound.launch()[0], 6)
            other = np.full(4, 5, np.float32)
            result = bound.replace(3.0, other)
            self.assertIs(bound.launch(), result)
            self.assertEqual((result[0], y[0]), (15, 6))
            for args, message in (((1.0, np.ones(5, np.float32)), "another type, shape"), ((1.0, other, other), "overlaps parameter 'x'")):
                with self.assertRaisesRegex(kernelc.KernelcError, message):
                    bound.replace(*args)
            self.assertEqual(bound.launch()[0], 15)


class Programs(unittest.TestCase):
    def test_one_kernel_stands_for_itself(self):
        program = kernelc.compile("def one(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] }")
        x = np.ones(3, np.float32)
        self.assertEqual((program.name, program.sizes, program.one.name), ("one", ["N"], "one"))
        self.assertIs(program.bind(x).launch().dtype, x.dtype)
        self.assertIn("kc_one", program.cuda_text(x))
        two = kernelc.compile("def f(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] }\ndef g(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] }")
        for name in ("bind", "cuda_text", "h"):
            with self.assertRaisesRegex(AttributeError, f"the program has no kernel '{name}'; it has f, g"):
                getattr(two, name)
        with self.assertRaisesRegex(AttributeError, "no kernel 'h'; it has one"):
            program.h

    def test_what_other_compilers_take_is_refused_with_the_way_out(self):
        text = "def one(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] }"
        for keywords, says in (({"arch": "sm_90a"}, "no keyword 'arch': it compiles for the device"),
                               ({"kernel": "one"}, "no keyword 'kernel': kernels are attributes")):
            with self.assertRaisesRegex(TypeError, says):
                kernelc.compile(text, **keywords)
        with self.assertRaisesRegex(TypeError, "no launch grid in brackets.*program\\['one'\\]"):
            kernelc.compile(text)[(1,)]


class Commands(unittest.TestCase):
    def setUp(self):
        if not os.environ.get("KERNELC_TOOL"):
            self.skipTest("no command-line program")
        self.x, self.w, self.b = np.ones((8, 16), np.float32), np.ones((8, 16), np.float32), np.ones(8, np.float32)

    def test_check_and_explain(self):
        self.assertIn("y", linear.explain(self.x, self.w, self.b, device="emulator").text)
        for device in ("cpu", "emulator"):
            report = linear.check(self.x, self.w, self.b, device=device)
            self.assertTrue(report.ok, report)
            self.assertIn("<pre>", report._repr_html_())
        with self.assertRaisesRegex(kernelc.KernelcError, "'w'"):
            linear.check(self.x, self.w[:, 1:], self.b, device="cpu")

    def test_commands_that_need_a_gpu_say_so(self):
        for call in (lambda: linear.bench(self.x, self.w, self.b, device="cuda"), lambda: linear.tune(self.x, self.w, self.b, progress=False)):
            with self.assertRaisesRegex(kernelc.KernelcError, "(?i)cuda|gpu"):
                call()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            future = linear.tune(self.x, self.w, self.b, executor=pool, progress=False)
            self.assertRegex(str(future.exception(60)), "(?i)cuda|gpu")


class Types(unittest.TestCase):
    def test_stubs_are_the_package(self):
        """Every public name, method and parameter stands in __init__.pyi, and nothing else does."""
        folder = os.path.dirname(kernelc.__file__)
        self.assertTrue(os.path.exists(os.path.join(folder, "py.typed")))
        with open(os.path.join(folder, "__init__.pyi"), encoding="utf-8") as f:
            tree = ast.parse(f.read())
        stubs = {node.name: node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name[0] != "_"}
        self.assertEqual(sorted(stubs), sorted(kernelc.__all__))

        def parameters(node):
            a = node.args
            return [p.arg for p in [*a.posonlyargs, *a.args, *filter(None, [a.vararg]), *a.kwonlyargs, *filter(None, [a.kwarg])]]
        compared = 0
        for name, node in stubs.items():
            own = getattr(kernelc, name)
            if isinstance(node, ast.FunctionDef):
                self.assertEqual(parameters(node), list(inspect.signature(own).parameters), name)
                continue
            written = {n.name: n for n in node.body if isinstance(n, ast.FunctionDef)}
            public = {n for c in own.__mro__[:-1] if c.__module__.startswith("kernelc") for n in vars(c) if n[0] != "_"}
            fields = {n.target.id for n in node.body if isinstance(n, ast.AnnAssign)}
            self.assertLessEqual(public - {"count", "index"}, set(written) | fields, name)
            for method, definition in written.items():
                if method[0] != "_" and inspect.isfunction(getattr(own, method)):
                    compared += 1
                    self.assertEqual(parameters(definition), list(inspect.signature(getattr(own, method)).parameters), f"{name}.{method}")
        self.assertGreater(compared, 10)


if __name__ == "__main__":
    unittest.main()
