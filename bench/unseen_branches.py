# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of bench/unseen/branches.kc: finance, lattices and particles, stereo and flow, states of recent sequence models, quantised
optimisers, sparse products, routing, transport, trees of decoding and recommenders."""
from unseen_row import row


def functional(t):
    return t.nn.functional


def asian_option(t, z, s0, strike, rate, vol):
    dt = 1 / z.shape[1]
    w = ((rate - 0.5 * vol * vol) * dt + vol * dt ** 0.5 * z).cumsum(1)
    return 2.718281828459045 ** -rate * ((s0 * w.exp()).mean(1) - strike).relu().mean()


def american_put(t, s, k):
    steps = 200
    up, d = 0.2 * (1 / steps) ** 0.5, 2.718281828459045 ** (-0.03 / steps)
    u = 2.718281828459045 ** up
    q = (1 / d - 1 / u) / (u - 1 / u)
    j = t.arange(steps + 1, device=s.device)
    w = (k[:, None] - s[:, None] * (up * (2 * j - steps)).exp()).relu()
    for n in range(1, steps + 1):
        m = steps - n
        w = t.maximum(k[:, None] - s[:, None] * (up * (2 * j[:m + 1] - m)).exp(), d * (q * w[:, 1:m + 2] + (1 - q) * w[:, :m + 1]))
    return w[:, 0]


def heston_call(t, a, b, v0, strike):
    dt, v, x = 1 / a.shape[0], t.full_like(a[0], v0), t.zeros_like(a[0])
    for at, bt in zip(a, b):
        x = x - 0.5 * v * dt + (v * dt).sqrt() * (0.8 * bt - 0.6 * at)
        v = (v + 2 * (0.04 - v.relu()) * dt + 0.3 * (v.relu() * dt).sqrt() * at).relu()
    return (x.exp() - strike).relu().mean()


def lattice_boltzmann(t, f, tau):
    ways = [(0, 0, 4 / 9), (1, 0, 1 / 9), (0, 1, 1 / 9), (-1, 0, 1 / 9), (0, -1, 1 / 9), (1, 1, 1 / 36), (-1, 1, 1 / 36), (-1, -1, 1 / 36), (1, -1, 1 / 36)]
    s = [t.roll(f[q], (y, x), (0, 1)) for q, (x, y, _) in enumerate(ways)]
    r = sum(s)
    u = sum(x * a for a, (x, _, _) in zip(s, ways)) / r
    v = sum(y * a for a, (_, y, _) in zip(s, ways)) / r
    new = []
    for a, (x, y, c) in zip(s, ways):
        e = 3 * (x * u + y * v)
        new.append(a - (a - c * r * (1 + e + 0.5 * e ** 2 - 1.5 * (u ** 2 + v ** 2))) / tau)
    return t.stack(new)


def sph_density(t, x, m, h):
    q = (x[:, None] - x).square().sum(2).sqrt() / h
    w = t.where(q < 1, 1 - 1.5 * q ** 2 * (1 - 0.5 * q), t.where(q < 2, 0.25 * (2 - q) ** 3, 0))
    return (w * m).sum(1) / (3.141592653589793 * h ** 3)


def advect(t, x, u, v, dt):
    H, W = x.shape
    p = (t.arange(H, device=x.device)[:, None] - dt * v).clamp(0, H - 1)
    q = (t.arange(W, device=x.device) - dt * u).clamp(0, W - 1)
    i, j = p.long(), q.long()
    a, b, n, m = p - p.floor(), q - q.floor(), (i + 1).clamp(max=H - 1), (j + 1).clamp(max=W - 1)
    return (1 - a) * ((1 - b) * x[i, j] + b * x[i, m]) + a * ((1 - b) * x[n, j] + b * x[n, m])


def homography(t, x, g):
    H, W = x.shape[2:]
    w, h = t.arange(W, device=x.device), t.arange(H, device=x.device)[:, None]
    u, v, d = (g[:, r, 0, None, None] * w + g[:, r, 1, None, None] * h + g[:, r, 2, None, None] for r in range(3))
    grid = t.stack([2 * (u / d) / (W - 1) - 1, 2 * (v / d) / (H - 1) - 1], 3)
    return functional(t).grid_sample(x, grid, align_corners=True)


def maps(t, device, s):
    """Mild perspectives."""
    eye = t.eye(3, device=device).expand(s["N"], 3, 3)
    by = t.tensor([[0.05, 0.05, 5], [0.05, 0.05, 5], [1e-5, 1e-5, 0]], device=device)
    return eye + by * t.randn(s["N"], 3, 3, device=device)


def horn_schunck(t, u, v, ix, iy, it):
    k = t.tensor([[1, 2, 1], [2, 0, 2], [1, 2, 1]], device=u.device, dtype=u.dtype)[None, None] / 12
    a, b = (functional(t).conv2d(functional(t).pad(y[:, None], (1, 1, 1, 1), mode="replicate"), k)[:, 0] for y in (u, v))
    p = (ix * a + iy * b + it) / (0.25 + ix ** 2 + iy ** 2)
    return a - ix * p, b - iy * p


def block_match(t, left, right):
    H, W = left.shape
    a, b = (functional(t).pad(y[None, None].float(), (2 + more, 2, 2, 2), mode="replicate")[0, 0] for y, more in ((left, 0), (right, 47)))
    c = t.stack([(a - b[:, 47 - q:47 - q + W + 4]).abs() for q in range(48)])
    return (functional(t).avg_pool2d(c[:, None], 5, 1)[:, 0] * 25).round().argmin(0)


def median3x3(t, x):
    p = functional(t).pad(x[:, None], (1, 1, 1, 1), mode="replicate")[:, 0]
    return p.unfold(1, 3, 1).unfold(2, 3, 1).reshape(*x.shape, 9).median(3).values


def box_by_area(t, x):
    return functional(t).avg_pool2d(x[:, None], 15, 1, 7, count_include_pad=False)[:, 0]


def matrix_nms(t, b, s):
    low, high = t.maximum(b[:, :, None, :2], b[:, None, :, :2]), t.minimum(b[:, :, None, 2:], b[:, None, :, 2:])
    n, a = (high - low).relu().prod(3), (b[..., 2] - b[..., 0]) * (b[..., 3] - b[..., 1])
    u = t.triu(n / (a[:, :, None] + a[:, None] - n + 1e-9), 1)
    c = u.amax(1)[:, :, None]
    upper = t.ones_like(u[0], dtype=t.bool).triu(1)
    return s * (-2 * t.where(upper, u ** 2 - c ** 2, 0).amax(1).relu()).exp()


def boxes(t, device, s):
    low = t.rand(s["B"], s["N"], 2, device=device)
    return t.cat([low, low + 0.05 + 0.3 * t.rand(s["B"], s["N"], 2, device=device)], 2)


def spectrogram(t, x, c, s):
    p, q = (functional(t).conv1d(x[:, None], f[:, None], stride=160).mT for f in (c, s))
    return (p ** 2 + q ** 2 + 1e-6).log()


def autocorrelation(t, x):
    f = t.fft.rfft(x, 2 * x.shape[1])
    return t.fft.irfft(f * f.conj())[:, :200] / x.shape[1]


def gated_delta_step(t, q, k, v, a, beta, s):
    e = a.exp()[..., None]
    d = beta[..., None] * (v - e * (k[..., None] * s).sum(2))
    s.mul_(e[..., None]).add_(k[..., None] * d[:, :, None])
    return s, (q[..., None] * s).sum(2).bfloat16()


def rwkv7_step(t, r, w, k, v, a, z, s):
    p = (s * a[:, :, None]).sum(3)
    s.mul_((-w.exp()).exp()[:, :, None]).add_(p[..., None] * z[:, :, None] + v[..., None] * k[:, :, None])
    return s, (s * r[:, :, None]).sum(3)


def hyena_gate(t, x, f, g):
    B, L, _, D = x.shape
    z = functional(t).conv1d(functional(t).pad(x.float().reshape(B, L, 3 * D).mT, (2, 0)), f.reshape(3 * D, 1, 3), groups=3 * D)
    z = z.view(B, 3, D, L)
    u = functional(t).pad(z[:, 1] * z[:, 2], (95, 0))
    return (z[:, 0] * functional(t).conv1d(u, g.flip(1)[:, None], groups=D)).mT.bfloat16()


def tile_quantise(t, x):
    M, N = x.shape
    v = x.view(M // 128, 128, N // 128, 128)
    s = v.abs().amax((1, 3)).float().clamp(min=1e-4) / 448
    return (v / s[:, None, :, None]).view(M, N).to(t.float8_e4m3fn), s


def adam_8bit(t, p, g, m, sm, v, sv, lr):
    a = 0.9 * m.float() * sm[:, None] + 0.1 * g
    b = 0.999 * (v.float() * sv[:, None]) ** 2 + 0.001 * g.float() * g
    ta, tb = a.abs().amax(1).clamp(min=1e-12) / 127, b.amax(1).sqrt().clamp(min=1e-12) / 255
    p.copy_(p - lr * a / (b.sqrt() + 1e-8))
    m.copy_((a / ta[:, None]).round().to(t.int8))
    v.copy_((b.sqrt() / tb[:, None]).round().to(t.uint8))
    sm.copy_(ta)
    sv.copy_(tb)
    return p, m, sm, v, sv


def shampoo_statistics(t, g, left, right):
    left.mul_(0.95).add_(g @ g.T, alpha=0.05)
    right.mul_(0.95).add_(g.T @ g, alpha=0.05)
    return left, right


def starts(count, points):
    def make(t, device, sizes):
        cuts = t.randint(0, sizes[points] + 1, (sizes[count] - 1,), device=device).sort().values
        return t.cat([t.zeros(1, dtype=cuts.dtype, device=device), cuts, t.full((1,), sizes[points], dtype=cuts.dtype, device=device)])
    return make


def spmm_csr(t, off, col, val, x):
    return t.sparse_csr_tensor(off, col, val, (off.shape[0] - 1, x.shape[0])) @ x


def group_router(t, x, bias):
    s = x.sigmoid()
    k = s + bias
    u = k.topk(2, dim=2).values.sum(2)
    k = k.masked_fill(~t.zeros_like(u, dtype=t.bool).scatter(1, u.topk(4, dim=1).indices, True)[..., None], float("-inf"))
    w = t.zeros_like(s).flatten(1).scatter(1, k.flatten(1).topk(8, dim=1).indices, 1.0).view_as(s) * s
    return 2.5 * w / (w.sum((1, 2), keepdim=True) + 1e-20)


def barlow_twins(t, x, z):
    a, b = ((v - v.mean(0)) * (v.var(0, correction=0) + 1e-5).rsqrt() for v in (x, z))
    c = a.T @ b / x.shape[0]
    return ((t.diagonal(c) - 1) ** 2).sum() + 0.005 * ((c ** 2).sum() - (t.diagonal(c) ** 2).sum())


def sinkhorn(t, c, f, g):
    a = -0.1 * ((g[:, None] - c) / 0.1).logsumexp(2)
    return a, -0.1 * ((a[..., None] - c) / 0.1).logsumexp(1)


def soft_dtw(t, c):
    B, N, _ = c.shape
    low = float("inf")
    before, last = t.full((B, N + 1), low, device=c.device), t.full((B, N + 1), low, device=c.device)
    last[:, 1] = c[:, 0, 0]  # of a diagonal d, place i + 1 has (i, d - i)
    i = t.arange(N, device=c.device)
    for d in range(1, 2 * N - 1):
        inside = (i <= d) & (d - i < N)
        e = -t.logsumexp(-t.stack([before[:, :-1], last[:, :-1], last[:, 1:]]), 0)
        new = t.where(inside, c[:, i, (d - i).clamp(0, N - 1)] + e, low)
        before, last = last, t.cat([t.full_like(new[:, :1], low), new], 1)
    return last[:, N]


def penalised_logits(t, x, tok):
    n = t.zeros(x.shape, device=x.device).scatter_add(1, tok.long(), t.ones(tok.shape, device=x.device))
    z = t.where(n > 0, t.where(x > 0, x / 1.3, x * 1.3), x.float())
    return ((z - 0.2 * n) / 0.8).softmax(1)


def tree_attention(t, q, k, v, m):
    B, _, Q, _ = q.shape
    mask = t.cat([t.ones(B, Q, k.shape[2] - Q, dtype=t.bool, device=q.device), m != 0], 2)
    return functional(t).scaled_dot_product_attention(q, k, v, mask[:, None])


def tree(t, device, s):
    m = t.rand(s["B"], s["Q"], s["Q"], device=device) < 0.3
    return (m | t.eye(s["Q"], dtype=t.bool, device=device)).tril()


def interest(t, q, k, n, w1, w2, w3, b1, u):
    a = ((q @ w1.T)[:, None] + k @ w2.T + (q[:, None] * k) @ w3.T + b1).sigmoid()
    s = (a * u).sum(2).masked_fill(t.arange(k.shape[1], device=q.device) >= n[:, None], 0)
    return (s[..., None] * k).sum(1)


def weighted_bags(t, table, at, w):
    f = t.arange(table.shape[0], device=at.device)[:, None]
    return (table[f, at.long()] * w[..., None]).sum(2).to(table.dtype)


def branches():
    def mine(*args, **options):
        row("branches", *args, **options)
    mine("asian_option", "P=150000 T=252", asian_option, scalars={"s0": 1.0, "strike": 1.0, "rate": 0.03, "vol": 0.2}, limit=1e-3)
    mine("american_put", "O=3000", american_put, False, positive=("s", "k"), limit=1e-3)
    mine("heston_call", "T:40 P=400000", heston_call, scalars={"v0": 0.04, "strike": 1.0}, limit=1e-3)
    mine("lattice_boltzmann", "H=1500 W=2000", lattice_boltzmann, positive=("f",), scalars={"tau": 0.7}, limit=1e-3)
    mine("sph_density", "N=14000", sph_density, positive=("m",), scalars={"h": 0.3}, limit=1e-3)
    mine("advect", "H=3000 W=4100", advect, scalars={"dt": 1.5}, limit=1e-3)
    mine("homography", "N=16 C:3 H=500 W=700", homography, made={"g": maps}, limit=5e-2)
    mine("horn_schunck", "N=12 H=600 W=800", horn_schunck, limit=1e-3)
    mine("block_match", "H=700 W=1100", block_match, False)
    mine("median3x3", "N=16 H=700 W=900", median3x3)
    mine("box_by_area", "N=16 H=500 W=700", box_by_area, limit=1e-2)
    mine("matrix_nms", "B=24 N=500", matrix_nms, made={"b": boxes}, limit=1e-3)
    mine("spectrogram", "B=16 L=160000/1600 F=201", spectrogram, limit=1e-2)
    mine("autocorrelation", "B=64 T=20000", autocorrelation, False, limit=1e-3)
    mine("gated_delta_step", "B=96 H:16 K:128 V:128", gated_delta_step, made={"a": lambda t, d, s: -t.rand(s["B"], s["H"], device=d)}, limit=3e-2)
    mine("rwkv7_step", "B=128 H=24 D:64", rwkv7_step, limit=1e-3)
    mine("hyena_gate", "B=8 L=2000 D=768/8", hyena_gate, limit=2e-2)
    mine("tile_quantise", "M=32 N=56", tile_quantise, limit=0.1, named=("M", "N"))
    mine("adam_8bit", "N=90000", adam_8bit, positive=("sm", "sv"), scalars={"lr": 0.001}, limit=5e-2)
    mine("shampoo_statistics", "M=1500 N=2100", shampoo_statistics)
    mine("spmm_csr", "M=60000 N=50000 E=900000 D=128", spmm_csr, False, ints={"col": "N"}, made={"off": starts("M", "E")}, limit=1e-3)
    mine("sddmm", "E=600000 M=40000 N=30000 D=96", lambda t, r, c, a, b, v: v * (a[r.long()] * b[c.long()].float()).sum(1), ints={"row": "M", "col": "N"}, limit=1e-3)
    mine("group_router", "T=20000", group_router)
    mine("barlow_twins", "N=2000 D=2048/8", barlow_twins, limit=1e-2)
    mine("sinkhorn", "B=12 N=900 M=1100", sinkhorn, limit=1e-3)
    mine("soft_dtw", "B=96 N=100", soft_dtw, False, limit=1e-3)
    mine("penalised_logits", "B=64 V=50000 T=900", penalised_logits, ints={"tok": "V"}, limit=1e-2)
    mine("tree_attention", "B=16 H=16 Q:48 T=3000/60 D:128", tree_attention, made={"m": tree}, limit=2e-2)
    mine("interest", "B=512 T=100 D=64/8 H=80/8", interest, ints={"n": "T"}, limit=3e-2)
    mine("weighted_bags", "F=12 V=40000 D=64/8 B=4096 L=10", weighted_bags, ints={"at": "V"}, limit=2e-2)
