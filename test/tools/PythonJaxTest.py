# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels under jax.jit. tools/test-torch.sh runs this where JAX is installed; on a GPU where JAX has one."""
import sys
import unittest

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    print("SKIP: no JAX")
    sys.exit(77)
import numpy as np

import kernelc

PROGRAM = kernelc.compile("""
def scaled(a: f32, x: f32[M, N], w: bf16[N]) -> (y: f32[M, N], z: bf16[N]) {
  y[i, j] = a * x[i, j] * w[j]
  z[j] = w[j] * 2
}
def update(s: f32[N], inout t: f32[N]) { t[i] = t[i] + s[i] }
def ramp(n: i64, x: f32[]) -> (y: f32[L]) { y[i] = x[] + f32(i * n) }
def exponent(x: f32[N]) -> (y: f32[N]) { y[i] = exp(x[i]) }
def exponent_backward(y: f32[N], grad_y: f32[N]) -> (grad_x: f32[N]) { grad_x[i] = y[i] * grad_y[i] }
def even(x: f32[2 * N]) -> (y: f32[N]) { y[i] = x[2 * i] }
""")


class Jit(unittest.TestCase):
    def test_values(self):
        f = PROGRAM.scaled.jax()
        x, w = jnp.arange(6.0).reshape(2, 3), jnp.asarray([1, 2, 3], jnp.bfloat16)
        for call in (lambda: f(0.5, x, w), lambda: jax.jit(f, static_argnums=0)(0.5, x, w),
                     lambda: jax.jit(lambda x, w: f(0.25, x + x, w))(x, w)):
            y, z = call()
            np.testing.assert_allclose(y, np.asarray(x) * [0.5, 1, 1.5])
            self.assertEqual((z.dtype.name, z.astype("float32").tolist()), ("bfloat16", [2, 4, 6]))
        for i in range(3):  # executables are used again
            np.testing.assert_allclose(jax.jit(lambda x: f(2.0, x, w)[0])(x + i), (np.asarray(x) + i) * [2, 4, 6])

    def test_inout_sizes_and_scalars(self):
        s, t = jnp.ones(3), jnp.arange(3.0)
        new = jax.jit(PROGRAM.update.jax())(s, t)
        self.assertEqual((new.tolist(), t.tolist()), ([1, 2, 3], [0, 1, 2]))
        self.assertEqual(jax.jit(lambda x: PROGRAM.ramp.jax()(2, x, L=3))(jnp.float32(1)).tolist(), [1, 3, 5])

    def test_gradients_and_vmap(self):
        forward, backward = PROGRAM.exponent.jax(), PROGRAM.exponent_backward.jax()

        @jax.custom_vjp
        def exponent(x):
            return forward(x)
        exponent.defvjp(lambda x: (forward(x),) * 2, lambda y, g: (backward(y, g),))
        x = jnp.asarray([0.0, 1.0, -1.0])
        np.testing.assert_allclose(jax.jit(jax.grad(lambda x: exponent(x).sum()))(x), np.exp(np.asarray(x)), rtol=1e-6)
        np.testing.assert_allclose(jax.vmap(forward)(jnp.stack([x, x + 1])), np.exp([x, x + 1]), rtol=1e-6)

    def test_refusals(self):
        f, x, w = PROGRAM.scaled.jax(), jnp.ones((2, 3)), jnp.ones(3, jnp.bfloat16)
        for call, error, message in ((lambda: f(1.0, x), TypeError, "takes 3 arguments, got 2"),
                                     (lambda: f(1.0, x, x[0]), TypeError, "parameter 'w': expected an array of bf16, got float32"),
                                     (lambda: f(1.0, x[0], w), TypeError, "parameter 'x': expected rank 2, got 1"),
                                     (lambda: jax.jit(f)(1.0, x, w), TypeError, "parameter 'a' is a scalar, which jit must know"),
                                     (lambda: f(1.0, x, w, M=2, K=1), TypeError, "no size 'K'"),
                                     (lambda: jax.block_until_ready(f(1.0, x, w[:2])), Exception, "parameter 'w': expected extent 3"),
                                     (lambda: PROGRAM.even.jax()(jnp.ones(3)), kernelc.KernelcError, r"must be 2 \* N"),
                                     (lambda: jax.block_until_ready(PROGRAM.ramp.jax()(2.5, jnp.float32(1), L=2)), Exception, "'n': expected an integer")):
            with self.assertRaisesRegex(error, message):
                call()


class Eager(unittest.TestCase):
    @unittest.skipUnless(jax.default_backend() == "gpu", "JAX has no GPU")
    def test_later_calls_go_by_jit(self):
        k = kernelc.compile("def twice(x: f32[N]) -> (y: f32[N]) { y[i] = 2 * x[i] }").twice
        for n in (8, 8, 16, 16):
            x = jnp.arange(float(n))
            self.assertEqual(k(k(x)).tolist(), (4 * np.arange(float(n))).tolist())
        self.assertIsNotNone(k._jax_eager)
        x = jnp.ones(8)
        x.delete()
        for _ in range(2):  # still by the long way, which says what is wrong
            with self.assertRaisesRegex(Exception, "parameter 'x'"):
                k(x)
        with self.assertRaisesRegex(Exception, "parameter 'x'"):
            k(jnp.ones(8, jnp.int32))

    def test_hosts_and_tracers_do_not(self):
        k = kernelc.compile("def thrice(x: f32[N]) -> (y: f32[N]) { y[i] = 3 * x[i] }").thrice
        x = jax.device_put(jnp.ones(4), jax.devices("cpu")[0])
        for _ in range(2):
            self.assertEqual(k(x).tolist(), [3, 3, 3, 3])
        self.assertIsNone(k._jax_eager)
        with self.assertRaises(TypeError):
            jax.jit(lambda x: k(x))(x)


if __name__ == "__main__":
    unittest.main()
