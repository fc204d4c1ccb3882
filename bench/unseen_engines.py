# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of bench/unseen/engines.kc: quantised and sparse formats, sampling, losses, optimizers, positions, routers, diffusion, sequences."""
from unseen_row import row


def functional(t):
    return t.nn.functional


def mxfp4_quantise(t, x):
    x = x.float().view(len(x), -1, 32)
    e = x.abs().amax(2).clamp(min=1e-30).log2().floor() - 2
    v = x * (-e).exp2()[:, :, None]
    at = t.bucketize(v.abs(), t.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0], device=x.device))
    a = v.abs()
    at = at + ((a == 0.75) | (a == 1.75) | (a == 3.5))
    q = (at + 8 * (v < 0)).byte().flatten(1)
    return q[:, ::2] | q[:, 1::2] << 4, (e + 127).byte()


def nf4_double(t, q, table, s, ss, x):
    q = t.stack((q & 15, q >> 4), 2).flatten(1).long()
    w = table[q] * ((s.float() - 128) * ss[:, None] / 128 + 0.5).repeat_interleave(64, 1)
    return x @ w.to(x.dtype).T


def smooth_quant(t, x, w, g):
    def quantised(z):
        s = z.abs().amax(1, True).clamp(min=1e-5) / 127
        return (z / s).round().clamp(-127, 127), s
    (q, s), (v, r) = quantised(x.float() / g), quantised(w.float() * g)
    return q.char(), s[:, 0], (q @ v.T * s * r.T).to(x.dtype)


def int4_kv_append(t, k, c, s, z, at):
    k, b, at = k.float(), t.arange(len(k), device=k.device), at.long()
    lo = k.amin(2)
    r = ((k.amax(2) - lo) / t.full_like(lo, 15)).clamp(min=1e-6)  # (by a number it would multiply)
    q = ((k - lo[:, :, None]) / r[:, :, None]).round().clamp(0, 15).byte()
    c[b, at], s[b, at], z[b, at] = q[:, :, ::2] | q[:, :, 1::2] << 4, r, lo
    return c, s, z


def ell_spmv(t, v, at, x):
    return (v * x[at.long()]).sum(1)


def runs(t, device, rows, total):
    return t.cat((t.zeros(1, device=device), t.rand(rows - 1, device=device).sort().values * total, t.full((1,), total, device=device))).long()


def offsets(t, device, s):
    return runs(t, device, s["R"], s["E"])


def bsr_product(t, v, at, off, x):
    y = t.bmm(v.float(), x[at.long()].float())
    r = t.repeat_interleave(t.arange(len(off) - 1, device=x.device), off.long().diff(), output_size=len(at))
    return t.zeros(len(off) - 1, 32, x.shape[2], device=x.device).index_add_(0, r, y)


def csr_softmax(t, x, off, at, z):
    r = t.repeat_interleave(t.arange(len(off) - 1, device=x.device), off.long().diff(), output_size=len(at))
    m = t.full((len(off) - 1,), -float("inf"), device=x.device).scatter_reduce_(0, r, x, "amax")
    e = (x - m[r]).exp()
    s = t.zeros_like(m).index_add_(0, r, e)
    return t.zeros(len(m), z.shape[1], device=x.device).index_add_(0, r, e[:, None] * z[at.long()]) / s.clamp(min=1e-30)[:, None]


def pagerank_step(t, p, deg, a, b):
    y = t.zeros_like(p).index_add_(0, b, p[a.long()] / deg[a.long()].clamp(min=1))
    r = 0.15 / len(p) + 0.85 * (y + (p * (deg == 0)).sum() / len(p))
    return y, r, (r - p).abs().sum()


def masses(t, device, s):
    return t.rand(s["N"], device=device) * 2 / s["N"]


def popcount(t, x):
    x = x - ((x >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    return ((((x + (x >> 4)) & 0x0F0F0F0F) * 0x01010101) & 0xFFFFFFFF) >> 24


def triangles(t, a, src, dst):
    a = a.long()
    x, y = a[src.long()], a[dst.long()]
    n = popcount(t, x & y).sum(1)
    return n, n / popcount(t, x | y).sum(1).clamp(min=1)


def masks(t, device, s):
    return t.randint(0, 1 << 32, (s["N"], s["W"]), device=device)


def eta_sample(t, x, u):
    p = t.softmax(x, 1)
    h = -(p * p.clamp(min=1e-30).log()).sum(1, True)
    k = p * (p >= (0.017 * (-h).exp()).clamp(max=0.0003))
    return (k.cumsum(1) <= u[:, None] * k.sum(1, True)).sum(1).clamp(max=x.shape[1] - 1), (k > 0).sum(1)


def medusa_accept(t, x, at):
    p = t.softmax(x, 2)
    h = -(p * p.clamp(min=1e-30).log()).sum(2)
    ok = p.gather(2, at.long()[..., None])[..., 0] > (0.09 * (-h).exp()).clamp(max=0.3)
    return ok.int().cumprod(1).sum(1), h


def ngram_ban(t, at, x):
    at = at.long()
    hit = (at[:, :-2] == at[:, -2:-1]) & (at[:, 1:-1] == at[:, -1:])
    return x.scatter_reduce_(1, at[:, 2:], t.where(hit, -1e9, float("inf")), "amin")


def contrastive_search(t, x, c, p):
    a, r = (t.rsqrt(z.float().square().sum(2) + 1e-6) for z in (x, c))
    s = 0.4 * p - 0.6 * ((x @ c.mT).float() * a[:, :, None] * r[:, None]).amax(2)
    return s.argmax(1), s


def dpo_loss(t, x, y, tx, ty, r):
    def chosen(z, at):
        return (z.float().gather(2, at.long()[..., None])[..., 0] - z.float().logsumexp(2)).sum(1)
    g = 0.1 * (chosen(x, tx) - chosen(y, ty) - r)
    return functional(t).softplus(-g).mean(), g


def supcon_loss(t, z, y):
    s = (z @ z.T).float() * 10
    on = ~t.eye(len(y), dtype=t.bool, device=z.device)
    l = s.masked_fill(~on, -float("inf")).logsumexp(1, True)
    m = (y[:, None] == y) & on
    return -(((s - l) * m).sum(1) / m.sum(1).clamp(min=1)).mean()


def near(t, device, s):
    return t.randn(s["N"], s["D"], device=device) / s["D"] ** 0.5


def poly_loss(t, x, y):
    l = t.log_softmax(x, 1).gather(1, y.long()[:, None])
    return (2 * (1 - l.exp()) - l).mean()


def asymmetric_loss(t, x, y):
    p = t.sigmoid(x)
    q = (1 - p + 0.05).clamp(max=1)
    return -t.where(y % 2 == 1, p.clamp(min=1e-8).log() * (1 - p), q.clamp(min=1e-8).log() * (1 - q) ** 4).sum() / len(x)


def ranknet_loss(t, s, y):
    return (functional(t).softplus(s[:, None] - s[:, :, None]) * (y[:, :, None] > y[:, None])).sum((1, 2)) / s.shape[1] ** 2


def lion_step(t, p, m, g, lr):
    u = 0.9 * m + 0.1 * g
    return p.copy_(p * (1 - 0.01 * lr) - lr * u.sign()), m.copy_(0.99 * m + 0.01 * g)


def muon_step(t, g, b, w, lr):
    b.copy_(0.95 * b + g)
    u = g + 0.95 * b
    x = (u * t.rsqrt(u.square().sum() + 1e-7)).bfloat16()
    a = x @ x.T
    c = -4.775 * a + 2.0315 * (a @ a)
    return b, w.sub_(lr * (3.4445 * x + c @ x).float())


def sophia_step(t, p, m, h, g, e, lr):
    n, c = 0.96 * m + 0.04 * g, 0.99 * h + 0.01 * e
    u = n / (0.01 * c).clamp(min=1e-12)
    return p.copy_(p * (1 - lr * 0.1) - lr * u.clamp(-1, 1)), m.copy_(n), h.copy_(c), (u.abs() > 1).sum()


def soap_rotate(t, g, ql, qr, v):
    r = ql.T @ (g @ qr)
    v.copy_(0.95 * v + 0.05 * r ** 2)
    return v, ql @ (r / (v.sqrt() + 1e-8)) @ qr.T


def yarn_rope(t, x, pos):
    D = x.shape[3] // 2
    f = 10000.0 ** (-t.arange(D, device=x.device) / D)
    r = ((2048 * f / (2 * 3.141592653589793) - 1) / 31).clamp(0, 1)
    a = (pos[..., None] * f * (r + (1 - r) / 4))[:, :, None]
    u, v = x.float().chunk(2, 3)
    return (1.1386 * t.cat((u * a.cos() - v * a.sin(), v * a.cos() + u * a.sin()), 3)).to(x.dtype)


def sincos_grid(t, x):
    B, H, W, D = x.shape[0], x.shape[1], x.shape[2], x.shape[3] // 4
    f = 10000.0 ** (-t.arange(D, device=x.device) / D)
    h, w = t.arange(H, device=x.device)[:, None] * f, t.arange(W, device=x.device)[:, None] * f
    h, w = t.cat((h.sin(), h.cos()), 1)[:, None].expand(H, W, 2 * D), t.cat((w.sin(), w.cos()), 1)[None].expand(H, W, 2 * D)
    return (x + t.cat((h, w), 2)).to(x.dtype)


def noisy_router(t, x, w, v, z):
    x = x.float()
    s = x @ w.T + z * functional(t).softplus(x @ v.T)
    m = s.topk(2, 1)
    return m.indices, t.softmax(m.values, 1), t.softmax(s, 1).mean(0)


def guided_rescale(t, c, u, x, s, a, to):
    g = u + s * (c - u)
    e = 0.7 * g * (c.var(1, correction=0, keepdim=True).sqrt() / g.var(1, correction=0, keepdim=True).sqrt()) + 0.3 * g
    return to ** 0.5 * ((x - (1 - a) ** 0.5 * e) / a ** 0.5).clamp(-1, 1) + (1 - to) ** 0.5 * e


def edm_loss(t, f, y, n, s):
    s = s[:, None]
    q = s ** 2 + 0.25
    d = 0.25 / q * (y + s * n) + s * 0.5 * t.rsqrt(q) * f
    e = (q / (0.5 * s) ** 2)[:, 0] * (d - y).square().mean(1)
    return e.mean(), e


def gated_linear_norm(t, x, w, b, g):
    a, c = functional(t).linear(x, w, b.to(x.dtype)).float().chunk(2, 1)
    y = a * t.sigmoid(c)
    return (y * t.rsqrt(y.square().mean(1, True) + 1e-5) * g).to(x.dtype)


def conv3d_max_mean_bias_sum(t, x, f, b):
    p = functional(t).max_pool3d(functional(t).conv3d(x, f) / 2, 2)
    return (p.float().mean((2, 3, 4)) + b).sum(1)


def linear_min_subtract_gelu(t, x, w, b, c):
    return functional(t).gelu((x @ w.T + b).float().clamp(max=c) - c)


def linear_sum_max_lse(t, x, w, b):
    a = x @ w.T + b
    return a.logsumexp(1) - a.amax(1) + a.mean(1)


def engines():
    def mine(*args, **options):
        row("engines", *args, **options)
    mine("mxfp4_quantise", "M=8000 K=128", mxfp4_quantise, limit=1e9)
    mine("nf4_double", "M=512 N=5000 K=70", nf4_double, limit=2e-2)
    mine("smooth_quant", "M=3000 N=4000 K=2000", smooth_quant, positive=("g",), limit=3e-2)
    mine("int4_kv_append", "B=96 H=30 T=1000 D=64", int4_kv_append, ints={"at": "T"}, limit=1e-2)
    mine("ell_spmv", "N=900000 K:20", ell_spmv, ints={"at": "N"}, limit=1e-3)
    mine("bsr_product", "R=300 C=300 E=2000 N=256", bsr_product, False, ints={"at": "C"}, made={"off": offsets}, limit=2e-2)
    mine("csr_softmax", "R=30000 C=30000 E=500000 D=64", csr_softmax, False, ints={"at": "C"}, made={"off": offsets}, limit=1e-3)
    mine("pagerank_step", "N=500000 E=5000000", pagerank_step, ints={"deg": 20, "a": "N", "b": "N"}, made={"p": masses}, limit=1e-2)
    mine("triangles", "N=3000 W:94 E=100000", triangles, ints={"src": "N", "dst": "N"}, made={"a": masks}, limit=1e-3)
    mine("eta_sample", "B=128 V=32000", eta_sample, False, made={"u": lambda t, d, s: t.rand(s["B"], device=d)}, limit=1e9)
    mine("medusa_accept", "B=64 K=5 V=32001", medusa_accept, ints={"t": "V"}, limit=1e-3)
    mine("ngram_ban", "B=200 T=2000 V=32000", ngram_ban, ints={"t": "V"}, made={"t": lambda t, d, s: t.randint(0, 60, (s["B"], s["T"]), device=d)})
    mine("contrastive_search", "B=64 K=8 T=1500 D=768", contrastive_search, limit=1e9)
    mine("dpo_loss", "B=8 T=200 V=32001", dpo_loss, ints={"tx": "V", "ty": "V"}, limit=1e-2)
    mine("supcon_loss", "N=4000 D=128", supcon_loss, ints={"y": 100}, made={"z": near}, limit=1e-2)
    mine("poly_loss", "M=20000 C=1001", poly_loss, ints={"y": "C"}, limit=1e-3)
    mine("asymmetric_loss", "M=20000 C=601", asymmetric_loss, limit=1e-3)
    mine("ranknet_loss", "B=200 N=500", ranknet_loss, limit=1e-3)
    mine("lion_step", "N=30000001", lion_step, scalars={"lr": 1e-3}, limit=2e-2)
    mine("muon_step", "M=1000 N=3000", muon_step, scalars={"lr": 1e-3}, limit=2e-2)
    mine("sophia_step", "N=9000001", sophia_step, scalars={"lr": 1e-3}, limit=1e-3)
    mine("soap_rotate", "M=700 N=1500", soap_rotate, positive=("v",), limit=2e-2)
    mine("yarn_rope", "B=4 T=3000 H=30 D=64", yarn_rope, ints={"pos": 8192}, limit=2e-2)
    mine("sincos_grid", "B=32 H=37 W=50 D=96", sincos_grid, limit=2e-2)
    mine("noisy_router", "T=12000 D=1000 E=48", noisy_router, limit=1e9)
    mine("guided_rescale", "B=64 N=65001", guided_rescale, scalars={"s": 6.0, "a": 0.4, "t": 0.5}, limit=1e-3)
    mine("edm_loss", "B=500 N=49152", edm_loss, positive=("s",), limit=1e-3)
    mine("gated_linear_norm", "M=4000 K=1000 N=1300", gated_linear_norm, limit=2e-2)
    mine("conv3d_max_mean_bias_sum", "N=32 C=8 O=40 D=18 H=50 W=50", conv3d_max_mean_bias_sum, limit=2e-2)
    mine("linear_min_subtract_gelu", "M=3000 K=700 N=5000", linear_min_subtract_gelu, scalars={"c": 0.5}, limit=2e-2)
    mine("linear_sum_max_lse", "M=2000 K=900 N=3001", linear_sum_max_lse, limit=1e-3)
