# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of bench/unseen/tables.kc: tables over sequences, boxes, losses, volumes, bits, stencils of physics, finance, norms, clusters."""
from unseen_branches import boxes
from unseen_row import row


def functional(t):
    return t.nn.functional


def crf_forward(t, x, w, n):
    a = x[:, 0]
    for i in range(1, x.shape[1]):
        a = t.where(i < n[:, None], x[:, i] + (a[:, :, None] + w).logsumexp(1), a)
    return a.logsumexp(1)


def viterbi(t, x, w):
    s, at = [x[:, 0]], [t.full(x[:, 0].shape, -1, device=x.device)]
    for i in range(1, x.shape[1]):
        m = (s[-1][:, :, None] + w).max(1)
        s.append(x[:, i] + m.values)
        at.append(m.indices)
    return t.stack(s, 1), t.stack(at, 1), s[-1].amax(1)


def banded_warp(t, x, y):
    B, N = x.shape
    c = t.full((B, N + 1, N + 1), float("inf"), device=x.device)
    c[:, 0, 0] = 0
    i = t.arange(N, device=x.device)
    e = (x[:, :, None] - y[:, None]).abs().masked_fill((i[:, None] - i).abs() > 12, float("inf"))
    for d in range(2 * N - 1):
        i = t.arange(max(0, d - N + 1), min(d, N - 1) + 1, device=x.device)
        j = d - i
        c[:, i + 1, j + 1] = e[:, i, j] + t.minimum(t.minimum(c[:, i, j + 1], c[:, i + 1, j]), c[:, i, j])
    return c[:, N, N]


def local_alignment(t, x, y):
    (B, M), N = x.shape, y.shape[1]
    h = t.zeros(B, M + 1, N + 1, dtype=t.int32, device=x.device)
    e, f = h - 1000, h - 1000
    s = t.where((x % 4)[:, :, None] == (y % 4)[:, None], 5, -4).int()
    for d in range(M + N - 1):
        i = t.arange(max(0, d - N + 1), min(d, M - 1) + 1, device=x.device)
        j = d - i
        e[:, i + 1, j + 1] = t.maximum(h[:, i + 1, j] - 11, e[:, i + 1, j] - 1)
        f[:, i + 1, j + 1] = t.maximum(h[:, i, j + 1] - 11, f[:, i, j + 1] - 1)
        h[:, i + 1, j + 1] = t.maximum((h[:, i, j] + s[:, i, j]).relu(), t.maximum(e[:, i + 1, j + 1], f[:, i + 1, j + 1]))
    return h.amax((1, 2))


def hmm_posterior(t, x, w):
    T, a, c = x.shape[1], [x[:, 0]], [t.zeros_like(x[:, 0])]
    for i in range(1, T):
        a.append(x[:, i] + (a[-1][:, :, None] + w).logsumexp(1))
        c.append(((c[-1] + x[:, T - i])[:, None] + w).logsumexp(2))
    return t.softmax(t.stack(a, 1) + t.stack(c[::-1], 1), 2)


def nucleus(t, p, u):
    m = t.where(p.cumsum(1) - p < 0.9, p, 0)
    s = m.sum(1)
    return m / s[:, None], (m.cumsum(1) < (u * s)[:, None]).sum(1)


def falling(t, device, s):
    return t.softmax(3 * t.randn(s["B"], s["V"], device=device), 1).sort(1, True).values


def typicality(t, x):
    n = t.log_softmax(x.float(), 1)
    h = -(n.exp() * n).sum(1)
    return (-n - h[:, None]).abs(), h


def greedy_nms(t, b):
    low, high = t.maximum(b[:, None, :2], b[:, :2]), t.minimum(b[:, None, 2:], b[:, 2:])
    n, a = (high - low).relu().prod(2), (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    o = (n / (a[:, None] + a - n) > 0.5).triu(1)
    keep = t.ones_like(a, dtype=t.bool)
    for i in range(len(b)):
        keep &= ~(o[i] & keep[i])
    return keep


def ciou_loss(t, p, q):
    (w, h), (tw, th) = ((y[:, 2:] - y[:, :2]).unbind(1) for y in (p, q))
    n = (t.minimum(p[:, 2:], q[:, 2:]) - t.maximum(p[:, :2], q[:, :2])).relu().prod(1)
    u = n / (w * h + tw * th - n + 1e-7)
    c = (t.maximum(p[:, 2:], q[:, 2:]) - t.minimum(p[:, :2], q[:, :2])).square().sum(1) + 1e-7
    r = (p[:, :2] + p[:, 2:] - q[:, :2] - q[:, 2:]).square().sum(1) / 4
    v = 4 / 3.141592653589793 ** 2 * ((tw / th).atan() - (w / h).atan()) ** 2
    y = 1 - u + r / c + v * v / (1 - u + v + 1e-7)
    return y, y.mean()


def rectangles(t, device, s):
    return boxes(t, device, {"B": 1, "N": s["N"]})[0]


def regions(t, device, s):
    return boxes(t, device, {"B": 1, "N": s["R"]})[0] * (min(s["H"], s["W"]) - 1) / 1.35


def roi_align(t, x, b, at):
    def places(low, high):
        return low[:, None] + (t.arange(14, device=x.device) + 0.5) * (high - low)[:, None] / 14
    y, z = places(b[:, 1], b[:, 3])[:, :, None], places(b[:, 0], b[:, 2])[:, None]
    i, j, n = y.long(), z.long(), at.long()[:, None, None]
    p, q, (H, W) = (y - i)[:, None], (z - j)[:, None], x.shape[2:]
    e, f = (i + 1).clamp(max=H - 1), (j + 1).clamp(max=W - 1)
    x = x.permute(0, 2, 3, 1)
    a, c, d, g = (x[n, k, m].permute(0, 3, 1, 2) for k, m in ((i, j), (i, f), (e, j), (e, f)))
    return functional(t).avg_pool2d((1 - p) * ((1 - q) * a + q * c) + p * ((1 - q) * d + q * g), 2)


def quantile_huber(t, z, y):
    u = y[:, None] - z[:, :, None]
    tau = (t.arange(z.shape[1], device=z.device) + 0.5) / z.shape[1]
    return ((tau[:, None] - (u < 0).float()).abs() * functional(t).huber_loss(z[:, :, None].expand_as(u), y[:, None].expand_as(u), reduction="none")).mean(2).sum(1)


def tversky_loss(t, x, y):
    p, m = t.softmax(x, 1), functional(t).one_hot(y.long(), x.shape[1]).permute(0, 3, 1, 2)
    a, b, c = (p * m).sum((2, 3)), (p * (1 - m)).sum((2, 3)), ((1 - p) * m).sum((2, 3))
    return ((1 - (a + 1) / (a + 0.3 * b + 0.7 * c + 1)) ** 0.75).mean()


def js_loss(t, x, y):
    a, b = t.log_softmax(x.float(), 1), t.log_softmax(y.float(), 1)
    m = (0.5 * (a.exp() + b.exp())).log()
    return 0.5 * sum(functional(t).kl_div(m, z, reduction="batchmean", log_target=True) for z in (a, b))


def volume_render(t, sigma, dt, rgb):
    a = 1 - (-sigma.relu() * dt).exp()
    w = a * functional(t).pad((1 - a + 1e-10).cumprod(1)[:, :-1], (1, 0), value=1.0)
    return (w[..., None] * rgb).sum(1), (w * dt.cumsum(1)).sum(1), w


def keypoints(t, x):
    H, W = x.shape[2:]
    v, at = x.flatten(2).max(2)
    s = t.softmax(x.flatten(2), 2).view(x.shape)
    return at, v, t.stack([(s * t.arange(W, device=x.device)).sum((2, 3)), (s * t.arange(H, device=x.device)[:, None]).sum((2, 3))], 2)


def places(t, device, s):
    i, j = t.arange(s["H"], device=device)[:, None], t.arange(s["W"], device=device)
    shape = (s["N"], s["C"], s["H"], s["W"])
    return (2 * i + t.randint(0, 2, shape, device=device)) * 2 * s["W"] + 2 * j + t.randint(0, 2, shape, device=device)


def max_unpool(t, x, at):
    N, C, H, W = x.shape
    return t.zeros(N, C, 4 * H * W, device=x.device).scatter_(2, at.long().flatten(2), x.flatten(2))


def masked_products(t, x, start):
    j, on = t.arange(x.shape[1], device=x.device), start % 16 == 0
    return t.where(on, 1, x.log().flip(1).cumsum(1).flip(1).exp()), t.where(on, j, -1).cummax(1).values


def hamming_nearest(t, a, b):
    bits = 1 << t.arange(32, device=a.device)
    a, b = ((y.long()[..., None] & bits).ne(0).flatten(1).half() for y in (a, b))
    c = a.sum(1, True, dtype=t.float32) + b.sum(1, dtype=t.float32) - 2 * (a @ b.T).float()
    return tuple(y.int() for y in c.min(1))


def words(*names):
    return lambda t, device, s: t.randint(0, 1 << 32, [s.get(n, n) for n in names], device=device)


def morton_codes(t, p):
    q = (p * 1024).clamp(0, 1023).long()
    for by, mask in ((16, 50331903), (8, 50393103), (4, 51130563), (2, 153391689)):
        q = (q | q << by) & mask
    return q[:, 0] << 2 | q[:, 1] << 1 | q[:, 2]


def crc_rows(t, x, table):
    c, table, x = t.full_like(x[:, 0], 4294967295, dtype=t.long), table.long(), x.long()
    for i in range(x.shape[1]):
        c = table[(c ^ x[:, i]) & 255] ^ c >> 8
    return c ^ 4294967295


def acoustic_3d(t, u, v, c):
    k = t.zeros(9, 9, 9, device=u.device)
    for n, a in enumerate((1.6, -0.2, 0.02539683, -0.001785714), 1):
        for s in (4 - n, 4 + n):
            k[s, 4, 4] = k[4, s, 4] = k[4, 4, s] = a
    p, lap = functional(t).pad(u, (4,) * 6), -8.541666 * u
    D, H, W = u.shape
    for n, a in enumerate((1.6, -0.2, 0.02539683, -0.001785714), 1):
        for s in (4 - n, 4 + n):
            lap = lap + a * (p[s:s + D, 4:4 + H, 4:4 + W] + p[4:4 + D, s:s + H, 4:4 + W] + p[4:4 + D, 4:4 + H, s:s + W])
    return 2 * u - v + 0.1 * c ** 2 * lap


def shallow_water(t, h, u, v):
    f, g, k = u ** 2 / h + 4.905 * h ** 2, v ** 2 / h + 4.905 * h ** 2, u * v / h

    def step(a, p, q):
        mean = 0.25 * (a.roll(1, 0) + a.roll(-1, 0) + a.roll(1, 1) + a.roll(-1, 1))
        return mean - 0.01 * (p.roll(-1, 0) - p.roll(1, 0) + q.roll(-1, 1) - q.roll(1, 1))
    return step(h, u, v), step(u, f, k), step(v, k, g)


def cahn_hilliard(t, u):
    def lap(x):
        return x.roll(1, 0) + x.roll(-1, 0) + x.roll(1, 1) + x.roll(-1, 1) - 4 * x
    return u + 0.01 * lap(u ** 3 - u - 0.5 * lap(u))


def kuramoto(t, x, omega, c, dt):
    y = x + dt * (omega + c * (x[:, None] - x[:, :, None]).sin().mean(2))
    return y, (x.cos().mean(1) ** 2 + x.sin().mean(1) ** 2).sqrt()


def black_scholes(t, s, k, T, v, r):
    a = v * T.sqrt()
    d = ((s / k).log() + (r + 0.5 * v * v) * T) / a
    n = (-0.5 * d * d).exp() * 0.3989422804014327
    p, q = (0.5 * (1 + (y * 0.7071067811865476).erf()) for y in (d, d - a))
    return s * p - k * (-r * T).exp() * q, p, n / (s * a), s * n * T.sqrt()


def barrier_call(t, z, strike, barrier):
    T = z.shape[0]
    x = (-0.02 / T + 0.2 * T ** -0.5 * z).cumsum(0)
    return t.where(x.amax(0).exp() < barrier, (x[-1].exp() - strike).relu(), 0).mean()


def garch_likelihood(t, r, w, a, c):
    v, found = w / (1 - a - c), []
    for i in range(r.shape[1]):
        v = w + a * r[:, i - 1] ** 2 + c * v if i else v
        found.append(v)
    v = t.stack(found, 1)
    return -0.5 * ((2 * 3.141592653589793 * v).log() + r ** 2 / v).sum(1)


def filter_response_norm(t, x, g, b, tau):
    g, b, tau = (y[:, None, None] for y in (g, b, tau))
    return t.maximum(g * x * t.rsqrt(x.square().mean((2, 3), keepdim=True) + 1e-6) + b, tau)


def group_norm_last(t, x, g, b):
    return functional(t).silu(functional(t).group_norm(x.float().mT, 3, g, b)).mT.to(x.dtype)


def kmeans_step(t, x, c):
    at = (c.square().sum(1) - 2 * x @ c.T).argmin(1)
    n = t.bincount(at, minlength=len(c))
    return at, n, t.zeros_like(c).index_add_(0, at, x)


def tenths(t, device, s):
    return 0.05 + 0.2 * t.rand(s["B"], device=device)


def tables():
    def mine(*args, **options):
        row("tables", *args, **options)
    mine("crf_forward", "B=300 T:60 L=40", crf_forward, False, ints={"n": "T"}, limit=1e-3)
    mine("viterbi", "B=300 T:60 L=50", viterbi, False, limit=1e-3)
    mine("banded_warp", "B=200 N=90", banded_warp, False, limit=1e-3)
    mine("local_alignment", "B=200 M=90 N=130", local_alignment, False)
    mine("hmm_posterior", "B=250 T:48 S=36", hmm_posterior, False, limit=1e-3)
    mine("nucleus", "B=96 V=50257", nucleus, made={"p": falling, "u": lambda t, d, s: t.rand(s["B"], device=d)}, limit=1e-2)
    mine("typicality", "B=300 V=50257", typicality, limit=1e-3)
    mine("greedy_nms", "N=900", greedy_nms, False, made={"b": rectangles})
    mine("ciou_loss", "N=3000001", ciou_loss, made={"p": rectangles, "t": lambda t, d, s: rectangles(t, d, s)}, limit=1e-3)
    mine("roi_align", "N=6 C=256 H=50 W=76 R=900", roi_align, ints={"at": "N"}, made={"b": regions}, limit=1e-3)
    mine("quantile_huber", "B=3000 Q=200 R=200", quantile_huber, limit=1e-3)
    mine("tversky_loss", "N=12 C=21 H=300 W=330", tversky_loss, ints={"y": "C"}, limit=1e-3)
    mine("js_loss", "M=4000 N=9001", js_loss, limit=1e-2)
    mine("volume_render", "R=60000 S=128", volume_render, positive=("dt",), limit=1e-3)
    mine("keypoints", "N=64 K=17 H=96 W=72", keypoints, limit=1e-3)
    mine("max_unpool", "N=24 C=64 H=56 W=56", max_unpool, made={"at": places})
    mine("masked_products", "M=3000 N=7001", masked_products, made={"x": lambda t, d, s: 1 + 0.01 * t.rand(s["M"], s["N"], device=d)}, limit=1e-2)
    mine("hamming_nearest", "M=4000 N=6000 W:8", hamming_nearest, made={"a": words("M", "W"), "b": words("N", "W")}, limit=1e9)
    mine("morton_codes", "N=9000001", morton_codes, made={"p": lambda t, d, s: t.rand(s["N"], 3, device=d)})
    mine("crc_rows", "M=50000 N:96", crc_rows, False, made={"table": words(256)})
    mine("acoustic_3d", "D=200 H=220 W=250", acoustic_3d, limit=1e-3)
    mine("shallow_water", "M=2500 N=3001", shallow_water, positive=("h",), limit=1e-3)
    mine("cahn_hilliard", "M=3001 N=4000", cahn_hilliard, limit=1e-3)
    mine("kuramoto", "B=24 N=1500", kuramoto, scalars={"c": 0.7, "dt": 0.1}, limit=1e-3)
    mine("black_scholes", "N=9000001", black_scholes, positive=("s", "k", "t", "v"), scalars={"r": 0.03}, limit=1e-3)
    mine("barrier_call", "T:120 P=200000", barrier_call, scalars={"strike": 1.0, "barrier": 1.3}, limit=1e-2)
    mine("garch_likelihood", "B=20000 T:200", garch_likelihood, False, made={"a": tenths, "c": tenths}, positive=("w",), limit=1e-3)
    mine("filter_response_norm", "N=24 C=70 H=113 W=131", filter_response_norm, limit=1e-3)
    mine("group_norm_last", "N=32 L=1500 Q=130", group_norm_last, limit=2e-2)
    mine("kmeans_step", "N=60000 D=64 K=300", kmeans_step, limit=1e9)
