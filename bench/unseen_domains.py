# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of bench/unseen/domains.kc: quantised products, recommenders, graphs, signals, statistics, physics, sampling, optimisers, losses
and decoding."""
from unseen_row import row


def requantised_linear(t, x, zx, w, b, s, zy):
    a = t._int_mm((x ^ 128).view(t.int8), w.T) + (w.sum(1, dtype=t.int32) * (128 - zx) + b)
    return ((a * s).round() + zy).clamp(0, 255).to(t.uint8)


def conv_u8(t, x, w, s, zx):
    p = x.permute(0, 3, 1, 2).bfloat16() - zx
    a = t.nn.functional.conv2d(p, w.permute(0, 3, 1, 2).bfloat16(), padding=1).float()
    return (a.permute(0, 2, 3, 1) * s).round().clamp(-128, 127).to(t.int8)


def fake_quantise(t, w, g, s):
    v = w / s[:, None]
    q = v.clamp(-8, 7).round()
    inside = (v >= -8) & (v <= 7)
    return (q * s[:, None]).bfloat16(), t.where(inside, g, 0), (g * t.where(inside, q - v, q)).sum(1) * (7 * w.shape[1]) ** -0.5


def embedding_bag(t, table, at, off):
    return t.nn.functional.embedding_bag(at, table, off, mode="mean", include_last_offset=True)


def offsets(count, points):
    """Borders of `count` groups of `points` points, some of them empty."""
    def make(t, device, sizes):
        cuts = t.randint(0, sizes[points] + 1, (sizes[count] - 1,), device=device).sort().values
        return t.cat([t.zeros(1, dtype=cuts.dtype, device=device), cuts, t.full((1,), sizes[points], dtype=cuts.dtype, device=device)])
    return make


def dot_interaction(t, x):
    return t.tril(x @ x.mT, -1)


def factorisation_machine(t, table, w, at):
    f = t.arange(table.shape[0], device=at.device)
    e = table[f, at.long()]
    return (w[f, at.long()].sum(1) + 0.5 * (e.sum(1) ** 2 - (e * e).sum(1)).sum(1)).sigmoid()


def cross_layer(t, x0, x, v, u, b):
    return (x0 * ((x @ v.T) @ u.T + b) + x).bfloat16()


def edge_softmax(t, x, el, er, src, off):
    n, s = x.shape[0], src.long()
    dst = t.repeat_interleave(t.arange(n, device=x.device), off.long().diff(), output_size=s.shape[0])
    e = t.nn.functional.leaky_relu(el[s] + er[dst], 0.2)
    at = dst[:, None].expand_as(e)
    p = (e - t.full_like(er, float("-inf")).scatter_reduce(0, at, e, "amax")[dst]).exp()
    z = t.zeros_like(er).scatter_add(0, at, p)
    return t.zeros_like(x).index_add(0, dst, x[s] * p[..., None]) / z.clamp(min=1e-9)[..., None]


def gcn_layer(t, x, src, dst):
    s, d = src.long(), dst.long()
    r = (t.bincount(d, minlength=x.shape[0]) + 1.0).rsqrt()
    return t.zeros_like(x).index_add(0, d, x[s] * (r[s] * r[d])[:, None])


def edge_messages(t, x, w, u, src, dst):
    s, d = src.long(), dst.long()
    m = ((x @ w.T)[s].float() + (x @ u.T)[d].float()).relu()
    return t.full((x.shape[0], w.shape[0]), float("-inf"), device=x.device).scatter_reduce(0, d[:, None].expand_as(m), m, "amax")


def overlap_add(t, f, g):
    B, F, L = f.shape
    shape = dict(output_size=(1, 128 * (F - 1) + L), kernel_size=(1, L), stride=(1, 128))
    y = t.nn.functional.fold((f * g).mT, **shape)[:, 0, 0]
    s = t.nn.functional.fold((g * g)[None, :, None].expand(1, L, F), **shape)[:, 0, 0]
    return y / s.clamp(min=1e-6)


def resample(t, x, h):
    T = x.shape[1] // 2
    p = t.nn.functional.pad(x, (15, 18))[:, None]
    return t.stack([t.nn.functional.conv1d(p[..., 2 * q // 3:], h[2 * q % 3].flip(0)[None, None], stride=2)[:, 0, :T] for q in range(3)], 2).flatten(1)


def rbf_regression(t, x, z, a):
    return (-0.5 * t.cdist(x, z).square() / x.shape[1]).exp() @ a


def row_medians(t, x):
    return x.sort(1).values[:, x.shape[1] // 2]


def mutual_information(t, a, b):
    p = t.bincount(a.int() * 32 + b.int(), minlength=1024).view(32, 32).float() / a.shape[0]
    q = p.sum(1, keepdim=True) * p.sum(0, keepdim=True)
    return t.where(p > 0, p * (p / q).log(), 0).sum()


def lennard_jones(t, x, box):
    d = x[:, None] - x
    d = d - box * (d / box).round()
    r = (d * d).sum(2)
    near = (r < 6.25) & ~t.eye(x.shape[0], dtype=t.bool, device=x.device)
    c = r.clamp(min=0.01)
    s = c ** -3
    e = 2 * t.where(near, s * (s - 1), 0).sum(1)
    return (t.where(near, 24 * s * (2 * s - 1) / c, 0)[..., None] * d).sum(1), e


def maxwell_step(t, ex, ey, ez, hx, hy, hz, c):
    pad = t.nn.functional.pad
    ky, kx = pad(ey, (0, 1))[:, :, 1:], pad(ex, (0, 1))[:, :, 1:]
    jz, jx = pad(ez, (0, 0, 0, 1))[:, 1:], pad(ex, (0, 0, 0, 1))[:, 1:]
    iz, iy = pad(ez, (0, 0, 0, 0, 0, 1))[1:], pad(ey, (0, 0, 0, 0, 0, 1))[1:]
    return hx + c * (ky - ey - jz + ez), hy + c * (iz - ez - kx + ex), hz + c * (jx - ex - iy + ey)


def min_p_sample(t, x, u):
    p = (x - x.amax(1, keepdim=True)).exp()
    k = t.where(p >= 0.05, p, 0)
    return (k.cumsum(1) <= u[:, None] * k.sum(1, keepdim=True)).sum(1)


def shampoo_update(t, g, a, r):
    p = ((a @ g.bfloat16()) @ r).float()
    return p * (g.norm() / p.norm().clamp(min=1e-12))


def cautious_adamw(t, p, g, m, v, lr):
    g = g.float()
    a, b = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    u = a / (b.sqrt() + 1e-8)
    same = (u * g > 0).float()
    return p * (1 - lr * 0.1) - lr / same.mean().clamp(min=0.001) * u * same, a, b


def hard_triplets(t, x, c):
    n = x.float().square().sum(1)
    d = n[:, None] + n - 2 * (x @ x.T).float()
    same = c[:, None] == c
    far, near = t.where(same, d, float("-inf")).amax(1), t.where(same, float("inf"), d).amin(1)
    return (far.clamp(min=1e-12).sqrt() - near.clamp(min=1e-12).sqrt() + 0.3).relu().mean()


def arc_face(t, x, w, target):
    c = (x @ w.T).float()
    at = target.long()[:, None]
    z = 30 * c.scatter(1, at, (c.gather(1, at).clamp(-0.999, 0.999).acos() + 0.5).cos())
    return t.nn.functional.cross_entropy(z, target.long())


def rank_pairs(t, s, r):
    more = r[:, :, None] > r[:, None]
    return t.where(more, t.nn.functional.softplus(s[:, None] - s[:, :, None]), 0).sum() / more.sum().clamp(min=1)


def speculative_verify(t, p, q, tok, u):
    at = tok.long()[..., None]
    ok = (u * q.gather(2, at)[..., 0] <= p.gather(2, at)[..., 0]).int()
    n = ok.cumprod(1).sum(1)
    pick = n.clamp(max=p.shape[1] - 1)[:, None, None].expand(-1, 1, p.shape[2])
    e = (p.gather(1, pick) - q.gather(1, pick))[:, 0].clamp(min=0)
    return n.int(), e / e.sum(1, keepdim=True).clamp(min=1e-9)


def ring_decode(t, x, k, v, n, g):
    B, H, D = x.shape
    W = k.shape[2]
    j = t.arange(W, device=x.device)
    mask = -(g[:, None] * ((n[:, None] - j) % W)[:, None]).bfloat16()
    mask = mask.masked_fill((j >= n[:, None])[:, None], float("-inf"))
    return t.nn.functional.scaled_dot_product_attention(x[:, :, None], k, v, mask[:, :, None], enable_gqa=True)[:, :, 0]


def domains():
    def mine(*args, **options):
        row("domains", *args, **options)
    mine("requantised_linear", "M=2000 K=1536 N=3000", requantised_linear, scalars={"zx": 3, "zy": 120}, made={"s": lambda t, d, z: t.full((z["N"],), 1e-4, device=d), "b": lambda t, d, z: t.randint(-9999, 9999, (z["N"],), device=d)}, limit=2e-2)
    mine("conv_u8", "N=16 H=56 W=60 C=64 O=96", conv_u8, scalars={"zx": 7}, made={"s": lambda t, d, z: t.full((z["O"],), 1e-4, device=d)}, limit=2e-2)
    mine("fake_quantise", "N=11000 K=4096", fake_quantise, positive=("s",), limit=1e-2)
    mine("embedding_bag", "V=500000 D=64 L=400000 B=20000", embedding_bag, False, ints={"at": "V"}, made={"off": offsets("B", "L")})
    mine("dot_interaction", "B=6000 F=27 D=128", dot_interaction, limit=2e-2)
    mine("factorisation_machine", "B=16000 F=26 V=40000 D:16", factorisation_machine, ints={"at": "V"}, limit=1e-3)
    mine("cross_layer", "B=9000 D=3200/8 R=512/8", cross_layer, limit=2e-2)
    mine("edge_softmax", "N=40000 H=4 D=32 E=600000", edge_softmax, ints={"src": "N"}, made={"off": offsets("N", "E")}, limit=1e-3)
    mine("gcn_layer", "N=50000 D=128 E=700000", gcn_layer, ints={"src": "N", "dst": "N"}, limit=1e-3)
    mine("edge_messages", "N=20000 K=128 H=128 E=200000", edge_messages, ints={"src": "N", "dst": "N"}, limit=2e-2)
    mine("filter_bank", "B=24 T=60000 C=80", lambda t, x, h: t.nn.functional.conv1d(x[:, None], h[:, None], stride=8), limit=1e-3)
    mine("overlap_add", "B=64 F=1500", overlap_add, limit=1e-3)
    mine("resample", "B=64 T=80000", resample, limit=1e-3)
    mine("rbf_regression", "M=7000 N=5000 D=24", rbf_regression, limit=1e-2)
    mine("manhattan", "M=3000 N=4000 D=64", lambda t, x, z: t.cdist(x, z, p=1.0), limit=1e-3)
    mine("row_medians", "M=6000 N=301", row_medians)
    mine("mutual_information", "N=8000000", mutual_information, ints={"a": 32, "b": 32}, limit=5e-2)
    mine("lennard_jones", "N=7000", lennard_jones, scalars={"box": 18.0}, made={"x": lambda t, d, z: t.rand(z["N"], 3, device=d) * 18}, limit=1e-2)
    mine("maxwell_step", "X=220 Y=240 Z=260", maxwell_step, scalars={"c": 0.5})
    mine("min_p_sample", "B=200 V=50000", min_p_sample, made={"u": lambda t, d, z: t.rand(z["B"], device=d)}, limit=1e-2)
    mine("shampoo_update", "M=3000/8 N=2200/8", shampoo_update, limit=2e-2)
    mine("cautious_adamw", "N=30000000", cautious_adamw, positive=("v",), scalars={"lr": 0.001}, limit=1e-3)
    mine("hard_triplets", "N=6000 D=384/8", hard_triplets, ints={"c": 40}, limit=2e-2)
    mine("arc_face", "N=3000 D=512/8 C=20000", arc_face, ints={"t": "C"}, limit=2e-2)
    mine("rank_pairs", "Q=600 L=200", rank_pairs, made={"r": lambda t, d, z: t.randint(0, 5, (z["Q"], z["L"]), device=d)}, limit=1e-3)
    mine("speculative_verify", "B=64 T=5 V=32000", speculative_verify, ints={"tok": "V"}, positive=("p", "q"), made={"u": lambda t, d, z: t.rand(z["B"], z["T"], device=d)}, limit=1e-2)
    mine("ring_decode", "B=48 H=32 G=8 W=4096 D:128", ring_decode, made={"n": lambda t, d, z: t.randint(1, z["W"] + 1, (z["B"],), device=d), "g": lambda t, d, z: t.rand(z["H"], device=d) * 0.01}, limit=2e-2)
