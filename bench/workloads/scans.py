# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scans and scatters."""
import os

import torch

from .base import KERNELS, Workload


class Scan(Workload):
    """Sums up to each element, along rows or of one long row."""
    file, tolerance = os.path.join(KERNELS, "scans.kc"), 1e-3

    def __init__(self, kernel, *shape):
        self.kernel, self.shape = kernel, shape
        self.name = f"{kernel} {'x'.join(map(str, shape))}"

    def inputs(self, device, scale):
        shape = (max(1, self.shape[0] // scale), *self.shape[1:])
        x = torch.randn(shape, device=device) if "i32" not in self.kernel else torch.randint(-8, 8, shape, device=device, dtype=torch.int32)
        return (x, torch.rand(shape, device=device) < 0.5) if self.kernel == "masked" else (x,)

    def torch(self, x, *mask):
        if mask:
            x = torch.where(mask[0], x, 0)
        if self.kernel == "reverse":
            return x.flip(-1).cumsum(-1, dtype=x.dtype).flip(-1)
        return x.cumsum(-1, dtype=x.dtype)


class Histogram(Workload):
    file, kernel, tolerance = os.path.join(KERNELS, "scatters.kc"), "histogram", 0

    def __init__(self, n):
        self.n, self.name = n, f"histogram {n} u8 into 256"

    def inputs(self, device, scale):
        return (torch.randint(256, (self.n // scale,), device=device, dtype=torch.uint8),)

    def torch(self, x):
        return torch.bincount(x, minlength=256)

    def output_bytes(self, x):
        return 1024


class IndexAdd(Workload):
    """Rows added to the rows that data chooses: PyTorch's own way is atomic, ours has a fixed order without `order(any)`."""
    file, tolerance = os.path.join(KERNELS, "scatters.kc"), 1e-4

    def __init__(self, kernel, n, d, r):
        self.kernel, self.shape, self.constants = kernel, (n, d, r), {"R": r}
        self.name = f"{kernel} {n}x{d} into {r} f32"

    def inputs(self, device, scale):
        n, d, r = self.shape
        return torch.randint(r, (n // scale,), device=device), torch.randn(n // scale, d, device=device)

    def torch(self, token, g):
        n, d, r = self.shape
        if self.kernel == "embedding_gradient":
            return torch.ops.aten.embedding_dense_backward(g, token, r, -1, False)
        return torch.zeros(r, d, device=g.device, dtype=g.dtype).index_add_(0, token, g)

    def output_bytes(self, token, g):
        return self.shape[2] * self.shape[1] * g.element_size()
