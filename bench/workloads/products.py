# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices, in batches, with a vector, of few rows, of views."""
import torch

from .base import TYPES, Workload


class Matmul(Workload):
    bound = "compute"

    def __init__(self, m, n, k, dtype, form="nn"):
        self.m, self.n, self.k, self.dtype, self.form = m, n, k, dtype, form
        self.name = f"matmul_{form} {m}x{n}x{k} {dtype}"
        a = "a: {0}[M, K]" if form[0] == "n" else "a: {0}[K, M]"
        b = "b: {0}[K, N]" if form[1] == "n" else "b: {0}[N, K]"
        ai = "a[i, k]" if form[0] == "n" else "a[k, i]"
        bi = "b[k, j]" if form[1] == "n" else "b[j, k]"
        self.text = (f"def matmul({a}, {b}) -> (c: {{0}}[M, N]) {{{{ c[i, j] = sum[k]({ai} * {bi}) }}}}").format(dtype)
        self.tolerance = {"f32": 1e-4, "bf16": 1e-2, "f16": 2e-3}[dtype]

    def inputs(self, device, scale):
        m, n, k = max(16, self.m // scale), max(16, self.n // scale), max(16, self.k // scale)
        a = torch.randn((m, k) if self.form[0] == "n" else (k, m), device=device).to(TYPES[self.dtype])
        b = torch.randn((k, n) if self.form[1] == "n" else (n, k), device=device).to(TYPES[self.dtype])
        return a, b

    def torch(self, a, b):
        return (a if self.form[0] == "n" else a.T) @ (b if self.form[1] == "n" else b.T)

    def dims(self, a, b):
        m, k = a.shape if self.form[0] == "n" else reversed(a.shape)
        return m, b.shape[1] if self.form[1] == "n" else b.shape[0], k

    def flops(self, a, b):
        m, n, k = self.dims(a, b)
        return 2 * m * n * k

    def output_bytes(self, a, b):
        m, n, _ = self.dims(a, b)
        return m * n * a.element_size()

    def peers(self, device):
        # torch.mm with `out` is cuBLAS and nothing else.
        def cublas(a, b):
            x, y = (a if self.form[0] == "n" else a.T), (b if self.form[1] == "n" else b.T)
            out = torch.empty(x.shape[0], y.shape[1], device=x.device, dtype=x.dtype)
            return lambda: torch.mm(x, y, out=out)
        found = {"cuBLAS": cublas} if device.type == "cuda" else {}
        if device.type == "cuda" and self.form in ("nn", "nt") and self.dtype in ("bf16", "f16"):
            import triton_matmul
            found["triton"] = lambda a, b: triton_matmul.best(self.form)(a, b)
        return found


class BatchedMatmul(Matmul):
    """Products side by side, one for each number of the batch."""

    def __init__(self, batch, m, n, k, dtype, form="nn"):
        super().__init__(m, n, k, dtype, form)
        self.batch = batch
        self.name = f"bmm_{form} {batch}x{m}x{n}x{k} {dtype}"
        for letter in "MNK":  # of tensors' shapes
            self.text = self.text.replace(f"[{letter}", f"[B, {letter}")
        for operand in ("c[", "a[", "b["):  # of elements
            self.text = self.text.replace(operand, operand + "n, ")

    def inputs(self, device, scale):
        batch = max(2, self.batch // scale)
        a, b = super().inputs(device, scale)
        return torch.randn(batch, *a.shape, device=device).to(a.dtype), torch.randn(batch, *b.shape, device=device).to(b.dtype)

    def torch(self, a, b):
        return (a if self.form[0] == "n" else a.mT) @ (b if self.form[1] == "n" else b.mT)

    def flops(self, a, b):
        return a.shape[0] * super().flops(a[0], b[0])

    def output_bytes(self, a, b):
        return a.shape[0] * super().output_bytes(a[0], b[0])

    def peers(self, device):
        def cublas(a, b):
            x, y = (a if self.form[0] == "n" else a.mT), (b if self.form[1] == "n" else b.mT)
            out = torch.empty(x.shape[0], x.shape[1], y.shape[2], device=x.device, dtype=x.dtype)
            return lambda: torch.bmm(x, y, out=out)
        return {"cuBLAS": cublas} if device.type == "cuda" else {}


class Gemv(Matmul):
    """A matrix and a vector, in batches or alone: as long as the matrix takes to read. Forms: n, rows along the sum; t, columns."""
    bound = "memory"

    def __init__(self, m, k, dtype, form="n", batch=0):
        super().__init__(m, 1, k, dtype, form + "n")
        self.batch, self.form = batch, form
        self.name = f"gemv_{form} {f'{batch}x' if batch else ''}{m}x{k} {dtype}"
        b, bi = ("B, ", "b, ") if batch else ("", "")
        a, ai = ("M, K", "i, k") if form == "n" else ("K, M", "k, i")
        self.text = (f"def matmul(a: {dtype}[{b}{a}], x: {dtype}[{b}K]) -> (y: {dtype}[{b}M]) "
                     f"{{ y[{bi}i] = sum[k](a[{bi}{ai}] * x[{bi}k]) }}")

    def inputs(self, device, scale):
        m, k = max(16, self.m // scale), max(16, self.k // scale)
        outer = (self.batch,) if self.batch else ()
        a = torch.randn(*outer, *((m, k) if self.form == "n" else (k, m)), device=device).to(TYPES[self.dtype])
        return a, torch.randn(*outer, k, device=device).to(TYPES[self.dtype])

    def torch(self, a, x):
        a = a if self.form == "n" else a.transpose(-1, -2)
        return torch.mv(a, x) if a.dim() == 2 else torch.bmm(a, x[..., None])[..., 0]

    def flops(self, a, x):
        return 2 * a.numel()

    def output_bytes(self, a, x):
        return a.numel() // x.shape[-1] * a.element_size()

    def peers(self, device):
        if device.type != "cuda" or self.batch:
            return {}

        def cublas(a, x):
            a = a if self.form == "n" else a.T
            out = torch.empty(a.shape[0], device=a.device, dtype=a.dtype)
            return lambda: torch.mv(a, x, out=out)
        return {"cuBLAS": cublas}


class ThinMatmul(Matmul):
    """A product of few rows: bound by the bytes of its second operand. (inputs scales those only)"""
    bound = "memory"

    def __init__(self, m, n, k, dtype, form="nn"):
        super().__init__(m, n, k, dtype, form)
        self.name = f"thin_{form} {m}x{n}x{k} {dtype}"

    def inputs(self, device, scale):
        n, k = max(16, self.n // scale), max(16, self.k // scale)
        a = torch.randn(self.m, k, device=device).to(TYPES[self.dtype])
        return a, torch.randn((k, n) if self.form[1] == "n" else (n, k), device=device).to(TYPES[self.dtype])

    def peers(self, device):
        return {name: p for name, p in super().peers(device).items() if name == "cuBLAS"}


class ViewMatmul(Matmul):
    """x @ w.T: the second operand is a transposed view, of a tensor or of a slice of one."""

    def __init__(self, m, n, k, dtype, sliced=False):
        super().__init__(m, n, k, dtype)
        self.sliced = sliced
        self.name = f"matmul_view {m}x{n}x{k} {dtype}" + (" sliced" if sliced else "")

    def inputs(self, device, scale):
        a, b = super().inputs(device, scale)
        w = torch.randn(b.shape[1], b.shape[0] + (64 if self.sliced else 0), device=device).to(b.dtype)
        return a, w[:, :b.shape[0]].T

    def peers(self, device):
        return {name: p for name, p in super().peers(device).items() if name == "cuBLAS"}
