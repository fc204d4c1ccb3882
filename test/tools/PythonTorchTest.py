# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as PyTorch operators: opcheck, torch.compile without graph breaks, backward kernels, CUDA graphs where there is a GPU.
tools/test-torch.sh runs this where PyTorch is installed."""
import os
import sys
import unittest

try:
    import torch
except ImportError:
    print("SKIP: no PyTorch")
    sys.exit(77)

import kernelc
import kernelc.torch

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])
PROGRAM = kernelc.compile("""
def scaled(a: f32, x: f32[M, N], w: f32[N]) -> (y: f32[M, N]) { y[i, j] = a * x[i, j] * w[j] }
def scaled_backward(a: f32, x: f32[M, N], w: f32[N], grad_y: f32[M, N]) -> (grad_x: f32[M, N], grad_w: f32[N]) {
  grad_x[i, j] = a * grad_y[i, j] * w[j]
  grad_w[j] = sum[i](a * grad_y[i, j] * x[i, j])
}
def halves(x: f32[2 * N]) -> (lo: f32[N], hi: bf16[N]) {
  lo[i] = x[i]
  hi[i] = x[i + N]
}
def ramp(x: f32[], n: i64) -> (y: f32[L, 3]) { y[i, j] = x[] + f32(i * n) }
def update(s: f32[N], inout t: f32[N]) { t[i] = t[i] + s[i] }
def exponent(x: f32[N]) -> (y: f32[N]) { y[i] = exp(x[i]) }
def exponent_backward(y: f32[N], grad_y: f32[N]) -> (grad_x: f32[N]) { grad_x[i] = y[i] * grad_y[i] }
""")
scaled = kernelc.torch.register(PROGRAM.scaled, backward="scaled_backward")
halves = kernelc.torch.register(PROGRAM.halves, "kernelctest::halves")
ramp = kernelc.torch.register(PROGRAM.ramp)
update = kernelc.torch.register(PROGRAM.update)
exponent = kernelc.torch.register(PROGRAM.exponent, backward=PROGRAM.exponent_backward)


def arguments(device, grad=False):
    generator = torch.Generator().manual_seed(0)
    x, w = torch.rand(5, 7, generator=generator), torch.rand(7, generator=generator)
    return [2.0] + [t.to(device).requires_grad_(grad) for t in (x, w)]


class Operators(unittest.TestCase):
    def test_opcheck(self):
        for device in DEVICES:
            for grad in (False, True):
                torch.library.opcheck(scaled, arguments(device, grad))
                torch.library.opcheck(exponent, (torch.rand(6, device=device).requires_grad_(grad),))
            torch.library.opcheck(scaled, (2.0, torch.rand(7, 5, device=device).T, torch.rand(14, device=device)[::2]))
            torch.library.opcheck(halves, (torch.rand(8, device=device),))
            torch.library.opcheck(update, (torch.rand(8, device=device), torch.rand(8, device=device)))
            torch.library.opcheck(ramp, (torch.rand((), device=device), 3), {"L": 4})

    def test_values_and_gradients(self):
        for device in DEVICES:
            a, x, w = arguments(device, grad=True)
            y = scaled(a, x, w)
            torch.testing.assert_close(y, a * x * w)
            seed = torch.rand_like(y)
            got = torch.autograd.grad(y, (x, w), seed)
            expected = torch.autograd.grad(a * x * w, (x, w), seed)
            torch.testing.assert_close(got, expected)
            x = torch.rand(9, device=device, requires_grad=True)
            (exponent(x) * torch.arange(9.0, device=device)).sum().backward()
            torch.testing.assert_close(x.grad, x.exp().detach() * torch.arange(9.0, device=device))
            s, t = torch.ones(3, device=device), torch.ones(3, device=device)
            self.assertIsNone(update(s, t))
            self.assertEqual(t.tolist(), [2, 2, 2])
            lo, hi = halves(torch.arange(8.0, device=device))
            self.assertEqual((lo.tolist(), hi.tolist(), hi.dtype), ([0, 1, 2, 3], [4, 5, 6, 7], torch.bfloat16))
            self.assertEqual(ramp(torch.tensor(1.0, device=device), 2, L=2).tolist(), [[1] * 3, [3] * 3])

    def test_modes_see_the_operator(self):
        from torch.utils._python_dispatch import TorchDispatchMode
        seen = []

        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                seen.append(str(func))
                return func(*args, **(kwargs or {}))
        for grad in (False, True):
            x = torch.rand(4, requires_grad=grad)
            exponent(x)  # the keys of such a call are known then
            with Mode():
                y = exponent(x)
            self.assertEqual((seen[0], y.requires_grad), ("kernelc.exponent.default", grad))
            seen.clear()
        with torch.no_grad():
            self.assertFalse(exponent(torch.nn.Parameter(torch.rand(4))).requires_grad)

    def test_compile_without_graph_breaks(self):
        backend = os.environ.get("KERNELC_TORCH_BACKEND", "aot_eager")
        for device in DEVICES:
            for dynamic in (False, True):
                torch._dynamo.reset()
                f = torch.compile(lambda a, x, w: (scaled(a, torch.sin(x), w) * 2).sum(), fullgraph=True, dynamic=dynamic, backend=backend)
                for rows in (5, 6, 9):
                    a, w = 2.0, torch.rand(7, device=device, requires_grad=True)
                    x = torch.rand(rows, 7, device=device, requires_grad=True)
                    loss = f(a, x, w)
                    expected = (a * torch.sin(x) * w * 2).sum()
                    torch.testing.assert_close(loss, expected)
                    torch.testing.assert_close(torch.autograd.grad(loss, (x, w)), torch.autograd.grad(expected, (x, w)))
            g = torch.compile(lambda x: halves(x)[0] + 1, fullgraph=True, backend=backend)
            self.assertEqual(g(torch.arange(4.0, device=device)).tolist(), [1, 2])
            h = torch.compile(lambda s, t: (update(s, t), t * 2)[1], fullgraph=True, backend=backend)
            self.assertEqual(h(torch.ones(2, device=device), torch.ones(2, device=device)).tolist(), [4, 4])

    def test_what_has_no_gradient(self):
        with self.assertRaisesRegex(kernelc.GradientError, "kernelctest::halves has no backward kernel"):
            halves(torch.rand(4, requires_grad=True))[0].sum().backward()
        x = torch.rand(4, requires_grad=True)
        first, = torch.autograd.grad(exponent(x).sum(), x, create_graph=True)
        with self.assertRaisesRegex(kernelc.GradientError, "is a backward pass, and has none itself"):
            first.sum().backward()
        with self.assertRaisesRegex(TypeError, "updates 't' in place"):
            kernelc.torch.register(PROGRAM.update, "kernelctest::u", backward=PROGRAM.exponent_backward)
        with self.assertRaisesRegex(TypeError, "'q' of backward kernel 'exponent_backward' is neither"):
            kernelc.torch.register(PROGRAM.ramp, "kernelctest::r", backward=kernelc.compile(
                "def exponent_backward(q: f32[N], grad_y: f32[N]) -> (y: f32[N]) { y[i] = q[i] * grad_y[i] }").exponent_backward)

    @unittest.skipUnless(torch.cuda.is_available(), "no GPU")
    def test_cuda_graphs(self):
        a, x, w = arguments("cuda")
        scaled(a, x, w)
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            scaled(a, x, w)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            y = scaled(a, x, w)
        x.fill_(3)
        graph.replay()
        torch.cuda.synchronize()
        torch.testing.assert_close(y, a * x * w)
        with self.assertRaisesRegex(Exception, "captur"):
            with torch.cuda.graph(torch.cuda.CUDAGraph(), stream=stream):
                PROGRAM.exponent(torch.rand(123, device="cuda"))


if __name__ == "__main__":
    unittest.main()
