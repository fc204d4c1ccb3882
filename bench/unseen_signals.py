# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of bench/unseen/signals.kc: audio, robotics, finance, genomics, image codecs, statistics and geometry."""
from unseen_row import row


def functional(t):
    return t.nn.functional


def goertzel(t, x, c):
    a = b = t.zeros(x.shape[0], c.shape[0], device=x.device)
    for i in range(x.shape[1]):
        a, b = x[:, i, None] + c * a - b, a
    return a ** 2 + b ** 2 - c * a * b


def angles(t, device, s):
    return 2 * (0.05 + 3 * t.rand(s["K"], device=device)).cos()


def allpass(t, x, g):
    def back(y, n):
        return functional(t).pad(y, (n, 0))[:, :y.shape[1]]
    b, rows = back(x, 11) - g * x, []
    for i in range(0, x.shape[1], 11):
        rows.append(b[:, i:i + 11] + (g * rows[-1][:, :b[:, i:i + 11].shape[1]] if rows else 0))
    a = t.cat(rows, 1)
    return back(x, 7) - g * a + back(a, 5)


def mfcc(t, p, w, d):
    c = (p @ w.T).clamp(min=1e-6).log() @ d.T
    return c - c.mean(1, keepdim=True)


def yin_pitch(t, x):
    W = x.shape[2] // 2
    e = (x[:, :, None, :W] - x.unfold(2, W, 1)[:, :, :W]).square().sum(3)
    d = e * t.arange(W, device=x.device) / e.cumsum(2).clamp(min=1e-9)
    d[:, :, 0] = 1
    return d, d[:, :, 1:].argmin(2) + 1


def compressor(t, x, attack, release):
    a, e, found = x.abs(), t.zeros_like(x[:, 0]), []
    for i in range(x.shape[1]):
        e = t.where(a[:, i] > e, attack, release) * (e - a[:, i]) + a[:, i]
        found.append(e)
    return x * (0.5 / t.stack(found, 1).clamp(min=1e-6)).pow(0.75).clamp(max=1)


def dead_reckoning(t, v, w, dt):
    a = (w * dt).cumsum(1)
    x, y = (v * a.cos() * dt).cumsum(1), (v * a.sin() * dt).cumsum(1)
    return x, y, (x ** 2 + y ** 2).amax(1).sqrt()


def rotate_points(t, q, p):
    q = q / q.norm(dim=1, keepdim=True)
    u = q[:, None, 1:].expand_as(p)
    c = t.linalg.cross(u, p)
    return p + 2 * (q[:, None, :1] * c + t.linalg.cross(u, c))


def arm_poses(t, x):
    h = [x[:, 0]]
    for j in range(1, x.shape[1]):
        h.append(h[-1] @ x[:, j])
    return t.stack(h, 1)


def icp_step(t, p, q):
    m = ((p ** 2).sum(1)[:, None] + (q ** 2).sum(1) - 2 * p @ q.T).min(1)
    g = q[m.indices]
    return m.indices, (p - p.mean(0)).T @ (g - g.mean(0)), m.values.mean()


def worst_fall(t, r):
    v = (0.02 * r).log1p().cumsum(1)
    m = v.cummax(1).values
    return 1 - (v - m).amin(1).exp(), r.mean(1) / (r.var(1, correction=0) + 1e-8).sqrt(), (v < m).sum(1)


def bollinger(t, x):
    w = x.unfold(1, 20, 1)
    m, s = w.mean(2), w.var(2, correction=0).sqrt()
    return m - 2 * s, m + 2 * s


def strength_index(t, x):
    d = functional(t).pad(x.diff(dim=1), (1, 0))
    u, v, found = t.zeros_like(x[:, 0]), t.zeros_like(x[:, 0]), []
    for i in range(x.shape[1]):
        u, v = 0.93 * u + 0.07 * d[:, i].relu(), 0.93 * v + 0.07 * (-d[:, i]).relu()
        found.append(100 - 100 / (1 + u / v.clamp(min=1e-6)))
    return t.stack(found, 1)


def decayed_covariance(t, r):
    w = 0.06 * 0.94 ** t.arange(len(r) - 1, -1, -1, device=r.device)
    m = w @ r
    return (w[:, None] * r).T @ r - m[:, None] * m


def quality_trim(t, q):
    m = (20 - (q % 42).int()).flip(1).cumsum(1).flip(1).max(1)
    return m.indices, m.values


def kmer_counts(t, x):
    x = (x % 4).long()
    at = sum(x[:, i:x.shape[1] - 4 + i] << (8 - 2 * i) for i in range(5))
    return t.zeros(len(x), 1024, dtype=t.int32, device=x.device).scatter_add_(1, at, t.ones_like(at, dtype=t.int32))


def minimisers(t, x):
    x = x.long()
    h = ((x ^ x >> 15) * 739982445) & 4294967295
    m = (h ^ h >> 12).unfold(1, 10, 1).amin(2)
    return m, (m.diff(dim=1) != 0).sum(1)


def words(t, device, s):
    return t.randint(0, 1 << 32, (s["B"], s["T"]), device=device)


def motif_scan(t, x, w):
    hot = functional(t).one_hot(x.long() % 4, 4).float().mT
    return tuple(functional(t).conv1d(hot, w.mT).max(2))


def ycbcr_420(t, x):
    x = x.float()
    m = functional(t).avg_pool2d(x, 2)
    b = 128 - 0.168736 * m[:, 0] - 0.331264 * m[:, 1] + 0.5 * m[:, 2]
    r = 128 + 0.5 * m[:, 0] - 0.418688 * m[:, 1] - 0.081312 * m[:, 2]
    return tuple(y.round().clamp(0, 255).byte() for y in (0.299 * x[:, 0] + 0.587 * x[:, 1] + 0.114 * x[:, 2], t.stack((b, r), 1)))


def cosines(t, device, s):
    u, i = t.arange(8, device=device)[:, None], t.arange(8, device=device)
    return (3.14159265 * (2 * i + 1) * u / 16).cos() * t.where(u == 0, 8 ** -0.5, 0.5)


def idct_blocks(t, c, q, d):
    e = (c.float() * q.float()).view(-1, 8, 8)
    return (d.T @ e @ d + 128).round().clamp(0, 255).byte()


def coefficients(t, device, s):
    return (6 * t.randn(s["N"], 64, device=device)).round().short()


def wavelet_53(t, x):
    a, b = x[:, ::2], x[:, 1::2]
    h = b - ((a + t.cat((a[:, 1:], a[:, -1:]), 1)) >> 1)
    return a + ((t.cat((h[:, :1], h[:, :-1]), 1) + h + 2) >> 2), h


def png_average(t, x):
    N, H, W = x.shape
    s = t.zeros(N, H + 1, W + 1, dtype=t.int32, device=x.device)
    for d in range(H + W - 1):
        i = t.arange(max(0, d - W + 1), min(d, H - 1) + 1, device=x.device)
        s[:, i + 1, d - i + 1] = x[:, i, d - i] + ((s[:, i + 1, d - i] + s[:, i, d - i + 1]) >> 1) & 255
    return s[:, 1:, 1:].byte()


def kendall_tau(t, x, y):
    def sign(z):
        return (z[:, :, None] - z[:, None]).sign()
    return (sign(x) * sign(y)).sum((1, 2)) / (x.shape[1] * (x.shape[1] - 1.0))


def moments(t, x):
    d = x - x.mean(1, keepdim=True)
    v = d.square().mean(1)
    return (d ** 3).mean(1) / v ** 1.5, (d ** 4).mean(1) / v ** 2 - 3


def wasserstein(t, p, q):
    c = (p / p.sum(1, True) - q / q.sum(1, True)).cumsum(1).abs()
    return c.sum(1), c.amax(1)


def vertex_normals(t, v, f):
    a, b, c = (v[f[:, k].long()] for k in range(3))
    n = t.linalg.cross(b - a, c - a)
    s = t.zeros_like(v)
    for k in range(3):
        s.index_add_(0, f[:, k], n)
    return s, s * t.rsqrt(s.square().sum(1, True) + 1e-12)


def inside_polygons(t, p, g):
    a, b, x, y = g, g.roll(-1, 1), p[:, None, None, 0], p[:, None, None, 1]
    c = ((a[..., 1] > y) != (b[..., 1] > y)) & (x < (b[..., 0] - a[..., 0]) * (y - a[..., 1]) / (b[..., 1] - a[..., 1]) + a[..., 0])
    return c.sum(2) % 2 == 1


def box_fields(t, p, c, h):
    q = (p[:, None] - c).abs() - h
    return (q.relu().norm(dim=2) + q.amax(2).clamp(max=0)).amin(1)


def signals():
    def mine(*args, **options):
        row("signals", *args, **options)
    mine("goertzel", "B=500 T:200 K=40", goertzel, False, made={"c": angles}, limit=1e-3)
    mine("allpass", "B=3000 T:1000", allpass, False, scalars={"g": 0.6}, limit=1e-3)
    mine("mfcc", "B=40 T=900 F=257 M=80 C=13", mfcc, positive=("p", "w"), limit=1e-3)
    mine("yin_pitch", "B=12 F=60 W=500", yin_pitch, limit=1e9)
    mine("compressor", "B=20000 T:200", compressor, False, scalars={"attack": 0.6, "release": 0.98}, limit=1e-3)
    mine("dead_reckoning", "B=9000 T=1000", dead_reckoning, scalars={"dt": 0.01}, limit=1e-3)
    mine("rotate_points", "B=300 N=7001", rotate_points, limit=1e-3)
    mine("arm_poses", "B=30000 J:12", arm_poses, False, limit=1e-2)
    mine("icp_step", "N=9000 M=7000", icp_step, limit=1e9)
    mine("worst_fall", "B=12000 T=1260", worst_fall, limit=1e-3)
    mine("bollinger", "B=3000 T=2521", bollinger, limit=1e-2)
    mine("strength_index", "B=20000 T:200", strength_index, False, limit=1e-3)
    mine("decayed_covariance", "T=250 N=1500", decayed_covariance, limit=1e-3)
    mine("quality_trim", "B=200000 T=151", quality_trim)
    mine("kmer_counts", "B=20000 T=151", kmer_counts)
    mine("minimisers", "B=30000 T=300", minimisers, made={"x": words}, limit=1e9)
    mine("motif_scan", "B=400 T=1000 P=64 L:15", motif_scan, limit=1e-3)
    mine("ycbcr_420", "N=16 H=270 W=480", ycbcr_420, limit=2e-2)
    mine("idct_blocks", "N=400000", idct_blocks, made={"c": coefficients, "d": cosines}, limit=2e-2)
    mine("wavelet_53", "N=4000 T=1500", wavelet_53, ints={"x": 256})
    mine("png_average", "N=64 H:200 W=200", png_average, False)
    mine("kendall_tau", "B=60 N=1000", kendall_tau, limit=1e-3)
    mine("moments", "M=6000 N=5001", moments, limit=1e-3)
    mine("wasserstein", "B=20000 N=1000", wasserstein, positive=("p", "q"), limit=1e-3)
    mine("vertex_normals", "V=200000 F=400000", vertex_normals, ints={"f": "V"}, limit=1e-2)
    mine("inside_polygons", "N=50000 G=100 E=13", inside_polygons)
    mine("box_fields", "N=200000 K=60", box_fields, limit=1e-3)
