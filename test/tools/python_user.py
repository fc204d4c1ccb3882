# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a new user writes from docs/python.md alone, with the wheel and NumPy and nothing else. Run by wheel.sh."""
from __future__ import annotations

import inspect
import pickle

import numpy as np

import kernelc

k = kernelc.compile("def axpy(a: f32, x: f32[N], y: f32[N]) -> (z: f32[N]) { z[i] = a * x[i] + y[i] }")
x = np.ones(1 << 10, np.float32)
z = k(2.0, x, x)
assert (z == 3).all()
for named in ({"z": z}, {"out": z}):
    z[:] = 0
    assert k(2.0, x, x, **named) is z and (z == 3).all()
assert "axpy(a: f32, x: f32[N], y: f32[N]) -> (z: f32[N])" in repr(k.axpy), repr(k.axpy)
assert (k.sizes, k.shapes, list(inspect.signature(k.axpy).parameters)) == (["N"], ["[]", "[N]", "[N]", "[N]"], ["a", "x", "y", "z"])
assert k.explain(2.0, x, x, device="emulator").text.startswith("kernel")
assert k.check(2.0, x, x, device="cpu")
assert "kc_axpy" in k.cuda_text(2.0, x, x, target="sm_90a")
assert (pickle.loads(pickle.dumps(k))(1.0, x, x) == 2).all()

bound = k.bind(2.0, x, x)
assert (bound.launch() == 3).all()
bound.replace(3.0, x, x)
assert (bound.launch() == 4).all()


@kernelc.fn
def normalised(e, *, j):
    return exp(e - max[j](e)) / sum[j](exp(e - max[j](e)))


@kernelc.kernel
def rows(x: f32[M, N], scale: f32, *, y: f32[M, N]):
    s[i, j] = x[i, j] * scale
    y[i, j] = normalised[j](s[i, j])


np.testing.assert_allclose(rows(x.reshape(32, 32), 0.5), 1 / 32, rtol=1e-6)

for call, kind, words in ((lambda: kernelc.compile("def f(x: f32[N]) -> (y: f32[N]) { y[i] = q[i] }", "f.kc"), kernelc.KernelcError, "f.kc:1:42: error: unknown tensor 'q'"),
                          (lambda: k(2.0, x, np.ones(3)), kernelc.KernelcError, "parameter 'y': expected elements of type f32, got f64"),
                          (lambda: k(2.0, x), TypeError, "missing argument 'y'")):
    try:
        call()
    except kind as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"not refused: {words}")
print("ok: a new user's script, NumPy", np.__version__)
