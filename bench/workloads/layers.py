# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers: a product or a convolution with what follows it."""
import os

import torch
import torch.nn.functional as F

from .base import EXAMPLES, TYPES, Workload
from .products import Matmul


class Linear(Matmul):
    def __init__(self, m, n, k, dtype="bf16"):
        super().__init__(m, n, k, dtype, "nt")
        self.name = f"linear_gelu {m}x{n}x{k} {dtype}"
        self.text = f"""def linear_gelu(x: {dtype}[M, K], w: {dtype}[N, K], b: {dtype}[N]) -> (y: {dtype}[M, N]) {{
  let a[i, j] = sum[k](x[i, k] * w[j, k])
  y[i, j] = gelu(a[i, j] + b[j])
}}"""

    def inputs(self, device, scale):
        x, w = super().inputs(device, scale)
        return x, w / self.k ** 0.5, torch.randn(w.shape[0], device=device).to(x.dtype)

    def torch(self, x, w, b):
        return F.gelu(F.linear(x, w, b))

    def flops(self, x, w, b):
        return super().flops(x, w)

    def output_bytes(self, x, w, b):
        return super().output_bytes(x, w)

    def peers(self, device):
        return {}


class LinearResidual(Linear):
    """A layer's second half: bias, GELU and the residual in the product's launch."""

    def __init__(self, m, n, k, dtype="bf16"):
        super().__init__(m, n, k, dtype)
        self.name = f"linear_gelu_residual {m}x{n}x{k} {dtype}"
        self.text = self.text.replace("linear_gelu", "linear_gelu_residual").replace(f"b: {dtype}[N])", f"b: {dtype}[N], r: {dtype}[M, N])")
        self.text = self.text.replace("gelu(a[i, j] + b[j])", "gelu(a[i, j] + b[j]) + r[i, j]")
        self.tolerance *= 2  # eager rounds before the residual, too

    def inputs(self, device, scale):
        x, w, b = super().inputs(device, scale)
        return x, w, b, torch.randn(x.shape[0], w.shape[0], device=device).to(x.dtype)

    def torch(self, x, w, b, r):
        return super().torch(x, w, b) + r

    def flops(self, x, w, b, r):
        return super().flops(x, w, b)

    def output_bytes(self, x, w, b, r):
        return super().output_bytes(x, w, b)


class LinearStats(Linear):
    """Bias, and reductions of the results in the product's launch: sums of squares of rows, sums of columns."""

    def __init__(self, m, n, k, dtype="bf16"):
        super().__init__(m, n, k, dtype)
        self.name, self.text, self.kernel = f"linear_stats {m}x{n}x{k} {dtype}", None, "linear_stats"
        self.file = os.path.join(EXAMPLES, "linear_stats.kc")

    def torch(self, x, w, b):
        y = F.linear(x, w, b)
        wide = y.to(torch.promote_types(y.dtype, torch.float32))
        return y, wide.square().sum(1), wide.sum(0)


class Conv(Workload):
    """2-D convolution, channels last, half padding; the peer is cuDNN, benchmark mode."""
    bound, tolerance = "compute", 1e-2

    def __init__(self, batch, channels, size, outputs, taps, stride, dtype="bf16"):
        self.batch, self.channels, self.size, self.outputs, self.taps, self.stride = batch, channels, size, outputs, taps, stride
        self.dtype = TYPES[dtype]
        self.name = f"conv {batch}x{channels}x{size}x{size} k{outputs} r{taps} s{stride} {dtype}"
        pad = taps // 2
        at = lambda i, r: f"{i} * {stride} + {r} - {pad}" if stride > 1 else f"{i} + {r} - {pad}"
        self.text = (f"def conv(x: {dtype}[N, H, W, C], w: {dtype}[O, {taps}, {taps}, C]) -> "
                     f"(y: {dtype}[N, (H - 1) // {stride} + 1, (W - 1) // {stride} + 1, O]) {{\n"
                     f"  y[n, p, q, o] = sum[r, s, c](x.pad(0)[n, {at('p', 'r')}, {at('q', 's')}, c] * w[o, r, s, c])\n}}")

    def inputs(self, device, scale):
        x = torch.randn(max(1, self.batch // scale), self.size, self.size, self.channels, device=device).to(self.dtype)
        w = torch.randn(self.outputs, self.taps, self.taps, self.channels, device=device).to(self.dtype)
        return x, w

    def torch(self, x, w):
        # Tensors in PyTorch's order of dims, over the same memory.
        torch.backends.cudnn.benchmark = True
        return F.conv2d(x.permute(0, 3, 1, 2), w.permute(0, 3, 1, 2), stride=self.stride, padding=self.taps // 2).permute(0, 2, 3, 1)

    def flops(self, x, w):
        out = (self.size - 1) // self.stride + 1
        return 2 * x.shape[0] * out * out * w.numel()

    def output_bytes(self, x, w):
        out = (self.size - 1) // self.stride + 1
        return x.shape[0] * out * out * self.outputs * x.element_size()


class PooledConv(Conv):
    """The same, relu and the maximum of windows of 2 x 2: of a `let`, which is never in memory."""

    def __init__(self, batch, channels, size, outputs, dtype="bf16"):
        super().__init__(batch, channels, size, outputs, 3, 1, dtype)
        self.name = f"conv pool {batch}x{channels}x{size}x{size} k{outputs} {dtype}"
        self.text = f"""def conv_pool(x: {dtype}[N, H, W, C], w: {dtype}[O, 3, 3, C]) -> (y: {dtype}[N, H // 2, W // 2, O]) {{
  let a[n, h, w_, o] = relu(sum[r, s, c](x.pad(0)[n, h + r - 1, w_ + s - 1, c] * w[o, r, s, c])) where h in 0:H, w_ in 0:W
  y[n, h, w_, o] = max[u in 0:2, v in 0:2](a[n, 2 * h + u, 2 * w_ + v, o])
}}"""

    def torch(self, x, w):
        return F.max_pool2d(F.relu(super().torch(x, w).permute(0, 3, 1, 2)), 2).permute(0, 2, 3, 1)

    def output_bytes(self, x, w):
        return super().output_bytes(x, w) // 4
