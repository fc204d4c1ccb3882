# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention and other cascades."""
import math
import os

import torch
import torch.nn.functional as F

from .base import EXAMPLES, KERNELS, Workload, rows


def by_f64(q, k, v, mask=None, score=None, elements=1 << 27):
    """Attention in f64, a part of the rows at a time: all scores of a long row are more than a GPU holds."""
    b, h, s, d = q.shape
    t, share = k.shape[2], q.shape[1] // k.shape[1]
    out = torch.empty(q.shape, dtype=torch.float64, device=q.device)
    j = torch.arange(t, device=q.device)[None, :]
    rows = max(1, min(s, elements // t))
    for at in ((x, y, lo) for x in range(b) for y in range(h) for lo in range(0, s, rows)):
        x, y, lo = at
        i = torch.arange(lo, min(s, lo + rows), device=q.device)[:, None]
        z = q[x, y, lo:lo + rows].double() @ k[x, y // share].double().t() * d ** -0.5
        z = score(z, x, y, i, j) if score else z
        z = z.masked_fill_(~mask(x, y, i, j), -math.inf) if mask else z
        out[x, y, lo:lo + rows] = torch.softmax(z, 1) @ v[x, y // share].double()
    return out


class Attention(Workload):
    by_row = True  # a row of few keys is larger than one of many
    file, kernel, bound, tolerance = os.path.join(EXAMPLES, "attention.kc"), "attention", "compute", 2e-2

    def __init__(self, b, h, g, s, d, causal):
        self.shape = (b, h, g, s, d)
        self.causal = causal
        self.constants = {"causal": int(causal)}
        self.name = f"attention{'_causal' if causal else ''} b{b} h{h} g{g} s{s} d{d} bf16"

    def inputs(self, device, scale):
        b, h, g, s, d = self.shape
        s = max(32, s // scale)
        make = lambda heads: torch.randn(b, heads, s, d, device=device).to(torch.bfloat16)
        return make(h), make(g), make(g)

    def torch(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=self.causal, enable_gqa=q.shape[1] != k.shape[1])

    def expected(self, q, k, v):
        return by_f64(q, k, v, (lambda b, h, i, j: j <= i) if self.causal else None)

    def flops(self, q, k, v):
        return 4 * q.numel() * k.shape[2] // (2 if self.causal else 1)

    def peers(self, device):
        if device.type != "cuda":
            return {}
        from torch.nn.attention import SDPBackend, sdpa_kernel

        def by(backend):
            def make(q, k, v):
                def run():
                    with sdpa_kernel(backend):
                        return self.torch(q, k, v)
                return run
            return make
        return {"cudnn": by(SDPBackend.CUDNN_ATTENTION), "flash": by(SDPBackend.FLASH_ATTENTION)}


class LinearAttention(Workload):
    """Two products in a chain, without a softmax between them: (q kᵀ) v."""
    file, kernel, bound, tolerance = os.path.join(KERNELS, "chains.kc"), "linear_attention", "compute", 3e-2

    def __init__(self, b, s, d):
        self.shape = (b, s, d)
        self.name = f"linear_attention b{b} s{s} d{d} bf16"

    def inputs(self, device, scale):
        b, s, d = self.shape
        return tuple(torch.randn(b, max(32, s // scale), d, device=device).to(torch.bfloat16) for _ in range(3))

    def torch(self, q, k, v):
        return (q @ k.transpose(1, 2)) @ v

    def flops(self, q, k, v):
        return 4 * q.numel() * k.shape[1]


class AttentionBackward(Workload):
    """Gradients of q, k and v from a saved log-sum-exp and the rows' sums of o * g, which are given."""
    file, kernel, bound, tolerance = os.path.join(KERNELS, "products.kc"), "attention_backward", "compute", 5e-2

    def __init__(self, b, s, d):
        self.shape = (b, s, d)
        self.name = f"attention_backward b{b} s{s} d{d} bf16"

    def inputs(self, device, scale):
        b, s, d = self.shape
        q, k, v, g = (torch.randn(b, max(32, s // scale), d, device=device).to(torch.bfloat16) for _ in range(4))
        lse, o = [], []
        for i in range(b):  # (a head at a time: scores are large)
            scores = q[i].float() @ k[i].float().t() * d ** -0.5
            lse.append(torch.logsumexp(scores, 1))
            o.append((torch.softmax(scores, 1) @ v[i].float()).to(torch.bfloat16))
        return q, k, v, g, torch.stack(o), torch.stack(lse)

    def torch(self, q, k, v, g, o, lse):
        scale = q.shape[2] ** -0.5
        p = torch.exp((q @ k.transpose(1, 2)).to(lse.dtype) * scale - lse[..., None])
        delta = (g.to(lse.dtype) * o.to(lse.dtype)).sum(-1, keepdim=True)
        ds = (p * ((g @ v.transpose(1, 2)).to(lse.dtype) - delta) * scale).to(q.dtype)
        return ds @ k, ds.transpose(1, 2) @ q, p.to(q.dtype).transpose(1, 2) @ g

    def expected(self, *inputs):
        results = [self.torch(*(x[i:i + 1].double() for x in inputs)) for i in range(inputs[0].shape[0])]
        return tuple(torch.cat(parts) for parts in zip(*results))

    def flops(self, q, k, *rest):
        return 10 * q.numel() * k.shape[1]

    def output_bytes(self, q, k, *rest):
        return 2 * (q.numel() + 2 * k.numel())

    def peers(self, device):
        if device.type != "cuda":
            return {}
        from torch.nn.attention import SDPBackend, sdpa_kernel

        def cudnn(q, k, v, g, o, lse):  # its own sums of o * g are part of what it takes
            leaves = [x[:, None].detach().requires_grad_() for x in (q, k, v)]
            with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                own = F.scaled_dot_product_attention(*leaves)
            return lambda: tuple(x[:, 0] for x in torch.autograd.grad(own, leaves, g[:, None], retain_graph=True))
        return {"cudnn": cudnn}


class Cascade(Workload):
    """Reductions that feed each other over what products give."""
    file, bound, tolerance = os.path.join(KERNELS, "cascades.kc"), "compute", 2e-2

    def __init__(self, kernel, *shape):
        self.kernel, self.shape = kernel, shape
        self.bound = "memory" if kernel == "decode" else "compute"
        self.name = f"{kernel} {'x'.join(map(str, shape))} bf16"

    def inputs(self, device, scale):
        make = lambda *shape: torch.randn(*shape, device=device).to(torch.bfloat16)
        if self.kernel == "lce":
            m, k, n = self.shape
            return make(max(32, m // scale), k), (make(max(64, n // scale), k) / k ** 0.5).to(torch.bfloat16)
        if self.kernel == "decode":
            b, g, r, t, d = self.shape
            t = max(64, t // scale)
            return make(b, g, r, d), make(b, g, t, d), make(b, g, t, d)
        b, h, s, d = self.shape[:4]
        s = max(32, s // scale)
        q, k, v = (make(b, h, s, d) for _ in range(3))
        if self.kernel == "sinks":
            return q, k, v, torch.randn(h, device=device)
        return q, k, make(b, h, s, self.shape[4]), make(b, h, s, self.shape[4]), v

    def torch(self, *inputs):
        if self.kernel == "lce":
            x, w = inputs
            s = x @ w.t()
            return torch.logsumexp(s if s.dtype == torch.float64 else s.float(), 1)
        if self.kernel == "decode":
            return F.scaled_dot_product_attention(*inputs)
        if self.kernel == "two_scores":
            q, k, qr, kr, v = inputs
            return F.scaled_dot_product_attention(torch.cat((q, qr), 3), torch.cat((k, kr), 3), v)
        q, k, v, z = inputs
        s = q @ k.transpose(2, 3) * q.shape[3] ** -0.5
        beside = torch.cat((s, z.to(s.dtype)[None, :, None, None].expand(*s.shape[:3], 1)), 3)
        return torch.softmax(beside, 3)[..., :-1].to(v.dtype) @ v

    def expected(self, *inputs):
        if self.kernel == "lce":
            x, w = inputs
            return torch.cat([self.torch(part.double(), w.double()) for part in x.split(1024)])
        parts = []  # (a batch at a time: scores are large)
        for b in range(inputs[0].shape[0]):
            parts.append(self.torch(*(x if x.dim() == 1 else x[b:b + 1] for x in (y.double() for y in inputs))))
        return torch.cat(parts)

    def flops(self, *inputs):
        if self.kernel == "lce":
            x, w = inputs
            return 2 * x.shape[0] * w.numel()
        extra = inputs[2].shape[3] if self.kernel == "two_scores" else 0
        q, k = inputs[:2]
        return 2 * q.shape[0] * q.shape[1] * q.shape[2] * k.shape[2] * (2 * q.shape[3] + extra)

    def output_bytes(self, *inputs):
        return 4 * inputs[0].shape[0] if self.kernel == "lce" else 2 * inputs[0].numel()

    def peers(self, device):
        if device.type != "cuda" or self.kernel in ("lce", "sinks"):
            return {}
        from torch.nn.attention import SDPBackend, sdpa_kernel

        def by(backend):
            def make(*inputs):
                if self.kernel == "two_scores":  # (put side by side before)
                    q, k, qr, kr, v = inputs
                    inputs = torch.cat((q, qr), 3), torch.cat((k, kr), 3), v
                def run():
                    with sdpa_kernel(backend):
                        return F.scaled_dot_product_attention(*inputs)
                return run
            return make
        return {"cudnn": by(SDPBackend.CUDNN_ATTENTION), "flash": by(SDPBackend.FLASH_ATTENTION)}


class Paged(Workload):
    """Decoding with keys and values in pages, which lie anywhere. Peers: cuDNN on keys that lie in a row (no table), the same behind a gather,
    and FlexAttention with its own table of pages."""
    file, kernel, bound, tolerance = os.path.join(KERNELS, "cascades.kc"), "paged", "memory", 2e-2

    def __init__(self, b, g, r, t, page, d):
        self.shape = b, g, r, t, page, d
        self.name = f"paged {'x'.join(map(str, self.shape))} bf16"

    def inputs(self, device, scale):
        b, g, r, t, page, d = self.shape
        pages = max(1, t // scale // page)
        make = lambda *shape: torch.randn(*shape, device=device).to(torch.bfloat16)
        table = torch.randperm(b * pages, device=device).to(torch.int32).reshape(b, pages)
        k, v = (make(b * pages, page, g, d) for _ in range(2))
        return make(b, g, r, d), k, v, table, torch.full((b,), pages * page, dtype=torch.int32, device=device)

    @staticmethod
    def gathered(x, table):
        return x[table.long()].flatten(1, 2).transpose(1, 2)  # [B, G, T, D]

    def torch(self, q, k, v, table, n):
        return F.scaled_dot_product_attention(q, self.gathered(k, table), self.gathered(v, table))

    def expected(self, q, k, v, table, n):
        return torch.cat([F.scaled_dot_product_attention(q[b:b + 1].double(), *(self.gathered(x, table[b:b + 1]).double() for x in (k, v)))
                          for b in range(q.shape[0])])

    def flops(self, q, k, *rest):
        return 4 * q.shape[2] * k.numel()

    def output_bytes(self, q, *rest):
        return 2 * q.numel()

    def peers(self, device):
        if device.type != "cuda":
            return {}
        from torch.nn.attention import SDPBackend, sdpa_kernel

        def dense(q, k, v, table, n):
            rows = self.gathered(k, table).contiguous(), self.gathered(v, table).contiguous()

            def run():
                with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                    return F.scaled_dot_product_attention(q, *rows)
            return run

        def behind_gather(q, k, v, table, n):
            def run():
                with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                    return F.scaled_dot_product_attention(q, self.gathered(k, table), self.gathered(v, table))
            return run

        def flex(q, k, v, table, n):
            from torch.nn.attention.experimental._paged_attention import PagedAttention
            from torch.nn.attention.flex_attention import create_block_mask, flex_attention
            b, g, r, t, page, d = self.shape
            size = max(page, 128)
            cache = [x.transpose(1, 2).contiguous().transpose(0, 1).reshape(1, g, -1, d) for x in (k, v)]
            if page != size:
                raise NotImplementedError("pages of at least 128")
            paged = PagedAttention(k.shape[0], page, b, device=q.device.type)
            paged.page_table = torch.full_like(paged.page_table, -1)
            paged.page_table[:, :table.shape[1]] = table
            paged.physical_to_logical = torch.full_like(paged.physical_to_logical, -1)
            for i in range(b):
                paged.physical_to_logical[i, table[i].long()] = torch.arange(table.shape[1], device=q.device)
            mask = create_block_mask(lambda b, h, i, j: j >= 0, b, 1, r, table.shape[1] * page, device=q.device, BLOCK_SIZE=(128, page))
            mask = paged.convert_logical_block_mask(mask)
            call = torch.compile(flex_attention, dynamic=False)
            return lambda: call(q, *cache, block_mask=mask)
        return {"cudnn, no table": dense, "gather, cudnn": behind_gather, "flex": flex}
