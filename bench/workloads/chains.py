# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several products in a kernel."""
import os

import torch
import torch.nn.functional as F

from .base import KERNELS, Workload, rows


class Mlp(Workload):
    """Two layers, of which the second has few columns."""
    file, kernel, bound, tolerance = os.path.join(KERNELS, "chains.kc"), "mlp", "compute", 2e-2

    def __init__(self, m, k, h, n):
        self.shape = (m, k, h, n)
        self.name = f"mlp {m}x{k}x{h}x{n} bf16"

    def inputs(self, device, scale):
        m, k, h, n = self.shape
        make = lambda rows, columns: (torch.randn(rows, columns, device=device) / columns ** 0.5).to(torch.bfloat16)
        return make(max(min(m, 32), m // scale), k), make(h, k), make(n, h)

    def torch(self, x, w, u):
        return F.relu(x @ w.t()) @ u.t()

    def flops(self, x, w, u):
        return 2 * x.shape[0] * w.shape[0] * (w.shape[1] + u.shape[0])

    def output_bytes(self, x, w, u):
        return x.shape[0] * u.shape[0] * x.element_size()


class Products(Workload):
    """Products of one tile of results in one launch: side by side, or one behind the other."""
    file, bound, tolerance = os.path.join(KERNELS, "products.kc"), "compute", 2e-2

    def __init__(self, kernel, *shape):
        self.kernel, self.shape = kernel, shape
        self.name = f"{kernel} {'x'.join(map(str, shape))} bf16"

    def inputs(self, device, scale):
        make = lambda *shape: (torch.randn(*shape, device=device) / shape[-2] ** 0.5).to(torch.bfloat16)
        if self.kernel == "mla_scores":
            h, s, d, e = self.shape
            s = max(32, s // scale)
            return make(h, s, d), make(h, s, d), make(h, s, e), make(s, e)
        m, k, n = self.shape[:3]
        x = torch.randn(min(m, max(32, m // scale)), k, device=device).to(torch.bfloat16)
        if self.kernel == "lora":
            return x, make(k, n), make(k, self.shape[3]), make(self.shape[3], n)
        if self.kernel == "gqa":
            return x, make(k, n), make(k, self.shape[3]), make(k, self.shape[3])
        return x, *(make(k, n) for _ in range(2 if self.kernel == "gated" else 3))

    def torch(self, x, w, *others):
        if self.kernel == "gated":
            return F.silu(x @ w) * (x @ others[0])
        if self.kernel in ("qkv", "gqa"):
            return x @ w, x @ others[0], x @ others[1]
        if self.kernel == "lora":
            return x @ w + (x @ others[0]) @ others[1]
        return x @ w.transpose(1, 2) + others[0] @ others[1].t()

    def flops(self, x, w, *others):
        if self.kernel == "mla_scores":
            return 2 * x.shape[0] * x.shape[1] * w.shape[1] * (x.shape[2] + others[0].shape[2])
        if self.kernel == "lora":
            return 2 * x.shape[0] * (w.numel() + others[0].numel() + others[1].numel())
        return 2 * x.shape[0] * (w.numel() + sum(o.numel() for o in others))

    def output_bytes(self, x, w, *others):
        if self.kernel == "gqa":
            return 2 * x.shape[0] * (w.shape[1] + 2 * others[0].shape[1])
        if self.kernel == "mla_scores":
            return 2 * x.shape[0] * x.shape[1] * w.shape[1]
        return 2 * x.shape[0] * w.shape[1] * (3 if self.kernel == "qkv" else 1)
