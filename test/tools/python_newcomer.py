# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""As somebody writes it who has installed the wheel and read docs/python.md and docs/language.md; the test python.newcomer runs it."""
from __future__ import annotations
import concurrent.futures, inspect, io, os, pickle, subprocess, sys, tempfile, time
t0 = time.perf_counter()
import kernelc
t1 = time.perf_counter()
import numpy as np

print("import", round(1e3 * (t1 - t0)), "ms; version", kernelc.__version__)

# 1. a kernel from text, results, given outputs
k = kernelc.compile("def axpy(a: f32, x: f32[N], y: f32[N]) -> (z: f32[N]) { z[i] = a * x[i] + y[i] }")
x = np.arange(8, dtype=np.float32)
assert (k(2.0, x, x) == 3 * x).all()
z = np.empty_like(x)
k(2.0, x, x, z=z); k(3.0, x, x, z); k(1.0, x, x, out=z)
assert (z == 2 * x).all()
print(repr(k), inspect.signature(k.axpy))

# 2. a Python function as a kernel
@kernelc.fn
def normalised(e, *, j):
    return exp(e - max[j](e)) / sum[j](exp(e - max[j](e)))

@kernelc.kernel
def rows(x: f32[M, N], scale: f32, *, y: f32[M, N]):
    s[i, j] = x[i, j] * scale
    y[i, j] = normalised[j](s[i, j])

a = np.random.default_rng(0).normal(size=(5, 7)).astype(np.float32)
e = np.exp(a * .5 - (a * .5).max(1, keepdims=True))
np.testing.assert_allclose(rows(a, .5), e / e.sum(1, keepdims=True), rtol=1e-5)

# 3. sizes that nothing has, const parameters, precision
print(kernelc.compile("def ramp() -> (y: f32[N]) { y[i] = f32(i) }")(N=5))
gram = kernelc.compile("def gram(x: f32[N, K]) -> (y: f32[N, N]) { y[i, j] = sum[k](x[i, k] * x[j, k]) }", precision="contract=tf32")
np.testing.assert_allclose(gram(a), a @ a.T, rtol=1e-2, atol=1e-2)

# 4. tools
rep = rows.check(a, .5, device="emulator")
print(bool(rep), str(rep).splitlines()[0])
print(str(rows.explain(a, .5)).splitlines()[0])
assert "__global__" in rows.cuda_text(a, .5, target="sm_90a")

# 5. bound calls
b = k.axpy.bind(2.0, x, x)
x[:] = 1
b.launch()
print(b.outputs)

# 6. mistakes
def expect(kind, f):
    try:
        f()
    except kind as error:
        print(f"{type(error).__name__}: {str(error).splitlines()[0]}")
        return error
    sys.exit(f"no {kind}")
expect(kernelc.KernelcError, lambda: k(2.0, x, x[:3]))
expect(TypeError, lambda: k(2.0, [1, 2], x))
expect((TypeError, kernelc.KernelcError), lambda: k(2.0, x.astype(np.float64), x))
frozen = np.zeros(8, np.float32); frozen.flags.writeable = False
expect(ValueError, lambda: k(2.0, x, x, z=frozen))
err = expect(kernelc.KernelcError, lambda: kernelc.compile("def f(x: f32[N]) -> (y: f32[N]) { y[i] = x[i + 1] }"))
print([(d.line, d.column) for d in err.diagnostics] if hasattr(err, "diagnostics") else "no diagnostics", getattr(err, "line", None), getattr(err, "column", None))
expect(kernelc.KernelcError, lambda: k(2.0, x, x, device="cuda"))

# 7. parameters with unlucky names
odd = kernelc.compile("def f(stream: f32[N], device: f32) -> (out: f32[N]) { out[i] = stream[i] * device }")
print(odd(x, 2.0), odd(x, 2.0, out=np.empty(8, np.float32)))

# 8. pickle, threads, processes
again = pickle.loads(pickle.dumps(k.axpy))
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    assert all((r == 3).all() for r in pool.map(lambda _: again(2.0, x, x), range(16)))

# 9. a file, and the command line
with tempfile.TemporaryDirectory() as d:
    path = os.path.join(d, "scale.kc")
    open(path, "w").write("def scale(x: f32[N]) -> (y: f32[N]) { y[i] = 2 * x[i] }\n")
    assert (kernelc.load(path)(x) == 2 * x).all()
    out = subprocess.run([sys.executable, "-m", "kernelc", "run", path, "x=iota", "--set", "N=4", "--device", "cpu"], capture_output=True, text=True)
    print(out.stdout.strip(), out.stderr.strip())

# 10. bf16 without ml_dtypes: bits
h = kernelc.compile("def h(x: f32[N]) -> (y: bf16[N]) { y[i] = bf16(x[i]) }")(x)
print(h.dtype, h[:3])
print("seconds in all", round(time.perf_counter() - t0, 1))
