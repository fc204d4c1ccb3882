# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of which a part is not computed: sparse blocks, groups of rows."""
import torch
import torch.nn.functional as F

from .base import TOLERANCE, Workload, rows
from .products import Matmul


class BlockSparse(Matmul):
    """Weights of which a mask, known at run time, keeps a tenth of the blocks. The peers are PyTorch's block-sparse
    rows (BSR), whose product is made beforehand of what the mask keeps."""

    def __init__(self, m, n, k, block, density=0.1):
        super().__init__(m, n, k, "bf16", "nt")
        self.block, self.density = block, density
        self.name = f"block_sparse {m}x{n}x{k} block {block} bf16"
        self.text = f"""def matmul(a: bf16[M, K], w: bf16[N, K], mask: bool[N // {block}, K // {block}]) -> (c: bf16[M, N]) {{
  require N % {block} == 0
  require K % {block} == 0
  c[i, j] = sum[k, mask[j // {block}, k // {block}]](a[i, k] * w[j, k])
}}"""

    def inputs(self, device, scale):
        m, n, k = max(16, self.m // scale), max(self.block, self.n // scale), max(self.block, self.k // scale)
        a, w = (torch.randn(rows, k, device=device).to(torch.bfloat16) for rows in (m, n))
        mask = torch.rand(n // self.block, k // self.block, device=device) < self.density
        # Zero where the mask is: BSR and the dense product then mean the same.
        return a, w * mask.repeat_interleave(self.block, 0).repeat_interleave(self.block, 1), mask

    def torch(self, a, w, mask):
        return a @ w.T

    def flops(self, a, w, mask):
        return super().flops(a, w) * self.density

    def output_bytes(self, a, w, mask):
        return super().output_bytes(a, w)

    def peers(self, device):
        if device.type != "cuda":
            return {}

        def mm(a, w, mask):
            sparse, dense = w.to_sparse_bsr((self.block, self.block)), a.T.contiguous()
            return lambda: (sparse @ dense).T

        def linear(a, w, mask):
            sparse = w.to_sparse_bsr((self.block, self.block))
            return lambda: F.linear(a, sparse)
        return {"BSR mm": mm, "BSR linear": linear}


class Grouped(Workload):
    """Rows sorted by group, as by the expert that each was sent to: as many products as groups, of sizes that are data.
    Eager is a call of cuBLAS per group, whose sizes the host knows; the peer reads them on the device as kernelc does."""
    kernel, bound = "grouped", "compute"

    def __init__(self, m, n, k, groups, form):
        self.m, self.n, self.k, self.groups, self.form = m, n, k, groups, form
        self.tolerance = TOLERANCE["bf16"]
        self.name = f"grouped_{form} {m}x{n}x{k} g{groups} bf16"
        dims, at = ("G, K, N", "g, k, n") if form == "nn" else ("G, N, K", "g, n, k")
        self.text = f"""def grouped(x: bf16[M, K], w: bf16[{dims}], off: i32[G + 1]) -> (y: bf16[M, N]) {{
  y[i, n] = sum[k](x[i, k] * w[{at}]) where off[g] <= i < off[g + 1]
}}"""

    def inputs(self, device, scale):
        m, n, k = max(16, self.m // scale), max(64, self.n // scale), max(64, self.k // scale)
        sizes = torch.bincount(torch.randint(0, self.groups, (m,)), minlength=self.groups)
        off = F.pad(sizes.cumsum(0), (1, 0))
        self.offsets = off.tolist()
        w = torch.randn(self.groups, *((k, n) if self.form == "nn" else (n, k)), device=device)
        return torch.randn(m, k, device=device).to(torch.bfloat16), w.to(torch.bfloat16), off.to(device, torch.int32)

    def group(self, w):
        return w if self.form == "nn" else w.transpose(1, 2)

    def torch(self, x, w, off):
        y = torch.empty(x.shape[0], self.group(w).shape[2], device=x.device, dtype=x.dtype)
        for part, lo, hi in zip(self.group(w), self.offsets, self.offsets[1:]):
            torch.mm(x[lo:hi], part, out=y[lo:hi])
        return y

    def flops(self, x, w, off):
        return 2 * x.numel() * self.group(w).shape[2]

    def output_bytes(self, x, w, off):
        return x.shape[0] * self.group(w).shape[2] * x.element_size()

    def peers(self, device):
        if device.type != "cuda" or not hasattr(torch, "_grouped_mm"):
            return {}
        return {"grouped_mm": lambda x, w, off: lambda: torch._grouped_mm(x, self.group(w), offs=off[1:])}
