# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of bench/unseen/sequels.kc: sequences of 3 to 6 operators, unrolled cells, chunks and steps of sequence models, routed layers,
gates."""
from unseen_row import row


def functional(t):
    return t.nn.functional


def conv3d_group_norm_min_bias(t, x, f, g, b, z):
    return functional(t).group_norm(functional(t).conv3d(x, f), 5, g, b).amin(1) + z


def conv_tanh_scale_bias_pool(t, x, f, b, c, s):
    return functional(t).max_pool2d(t.tanh(functional(t).conv2d(x, f, b)) * s + c[:, None, None], 3)


def transposed3d_pool_softmax_swish_max(t, x, f, b, s):
    a = functional(t).conv_transpose3d(x, f, b, stride=2, padding=1, output_padding=1)
    return functional(t).silu(t.softmax(functional(t).max_pool3d(a, 2), 1) - s[:, None, None, None]).amax(1)


def conv_square_softmin(t, x, f):
    a = functional(t).conv2d(x.permute(0, 3, 1, 2), f.permute(3, 2, 0, 1), stride=2).permute(0, 2, 3, 1)
    return t.softmax(-a.float().relu() ** 2, 3).to(x.dtype)


def transposed_glu_rms(t, x, f, g):
    u = functional(t).glu(functional(t).conv_transpose1d(x, f, stride=2, padding=1), 1)
    return u * t.rsqrt(u.square().mean(1, keepdim=True) + 1e-5) * g[:, None]


def conv_pool_lse(t, x, f, b):
    return functional(t).max_pool1d(functional(t).conv1d(x, f, b), 5, 3).logsumexp(2)


def gemm_dropout_mean_softmax(t, x, w, b, seed):
    return t.softmax(functional(t).dropout(functional(t).linear(x, w, b), 0.2).mean(1), 0)


def gemm_group_norm_leaky_double(t, x, w, b, g, c):
    y = functional(t).leaky_relu(functional(t).group_norm(functional(t).linear(x, w, b), 7, g, c))
    return y + y


def gemm_clamp_softsign_residual_norm(t, x, w, b, r, g):
    a = functional(t).softsign(functional(t).linear(x, w, b).clamp(-2, 2)) + r
    return functional(t).rms_norm(a.float(), a.shape[1:], g, 1e-5).to(x.dtype)


def gru_unrolled(t, x, u, b):
    H = u.shape[1]
    h, found = t.zeros_like(x[0, :, :H]), []
    for a in x:
        p = h @ u.T
        r, z = (a + p)[:, :2 * H].sigmoid().chunk(2, 1)
        n = t.tanh(a[:, 2 * H:] + r * (p[:, 2 * H:] + b))
        h = (1 - z) * n + z * h
        found.append(h)
    return t.stack(found)


def peephole_lstm(t, x, u, p):
    h = c = t.zeros_like(x[0, :, 0])
    hs, cs = [], []
    for a in x:
        a = a + t.einsum("bk,gjk->bgj", h, u)
        c = (a[:, 0] + p[0] * c).sigmoid() * c + (a[:, 1] + p[1] * c).sigmoid() * a[:, 2].tanh()
        h = (a[:, 3] + p[2] * c).sigmoid() * c.tanh()
        hs.append(h)
        cs.append(c)
    return t.stack(hs), t.stack(cs)


def sru(t, x, u, v, b):
    x, u = x.float(), u.float()
    f, c, before = (u[:, :, 1] + b[0]).sigmoid(), t.zeros_like(x[:, 0]), []
    cs = []
    for i in range(x.shape[1]):
        before.append(c)
        c = f[:, i] * c + (1 - f[:, i]) * u[:, i, 0]
        cs.append(c)
    c, before = t.stack(cs, 1), t.stack(before, 1)
    r = (u[:, :, 2] + v[1] * before + b[1]).sigmoid()
    return (r * c + (1 - r) * x * v[0]).bfloat16()


def mamba2_step(t, x, dt, al, u, v, dskip, z, s):
    d = functional(t).softplus(dt)
    s.mul_((-d * al.exp()).exp()[..., None, None]).add_((d[..., None] * x)[..., None] * u[:, None, None])
    return s, (((s * v[:, None, None]).sum(3) + dskip[:, None] * x) * functional(t).silu(z.float())).bfloat16()


def gla_chunks(t, q, k, v, a):
    c = a.cumsum(3)
    q, w, k = q * c.exp(), k * (c[:, :, :, -1:] - c).exp(), k * (-c).exp()
    o = (q @ k.mT).tril() @ v
    s = t.zeros_like(w[:, :, 0].mT @ v[:, :, 0])
    parts = []
    for g in range(q.shape[2]):
        parts.append(o[:, :, g] + q[:, :, g] @ s)
        s = c[:, :, g, -1].exp()[..., None] * s + w[:, :, g].mT @ v[:, :, g]
    return t.stack(parts, 2)


def delta_chunk(t, k, v, beta, a):
    g = a.cumsum(1)
    m = (beta[:, :, None] * (g[:, :, None] - g[:, None]).exp() * (k @ k.mT)).tril(-1) + t.eye(k.shape[1], device=k.device)
    r = t.cat([beta[..., None] * v, (beta * g.exp())[..., None] * k], 2)
    y = t.linalg.solve_triangular(m, r, upper=False, unitriangular=True)
    return y[..., :v.shape[2]], y[..., v.shape[2]:]


def switch_ffn(t, x, gate, w1, w2):
    p, at = t.softmax((x @ gate.T).float(), 1).max(1)
    y = t.zeros_like(x)
    for e in range(gate.shape[0]):
        rows = (at == e).nonzero()[:, 0]
        y[rows] = (p[rows, None] * ((x[rows] @ w1[e].T).relu() @ w2[e].T)).to(x.dtype)
    return y


def latent_pool(t, x, q, wk, wv):
    z = functional(t).layer_norm(x, x.shape[2:])
    return functional(t).scaled_dot_product_attention(q.expand(x.shape[0], 1, *q.shape), (z @ wk.T)[:, None], (z @ wv.T)[:, None])[:, 0].mean(1)


def axial_attention(t, q, k, v):
    q, k, v = (y.permute(0, 1, 4, 3, 2).contiguous() for y in (q, k, v))
    o = functional(t).scaled_dot_product_attention(q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1))
    return o.view(q.shape).permute(0, 1, 4, 3, 2).contiguous()


def mixer_tokens(t, x, g, c, w1, b1, w2, b2):
    z = functional(t).layer_norm(x.float(), x.shape[2:], g, c).to(x.dtype)
    a = functional(t).gelu((w1 @ z).float() + b1[:, None]).to(x.dtype)
    return (x + (w2 @ a).float() + b2[:, None]).to(x.dtype)


def spatial_gate(t, x, f):
    m = t.stack([x.amax(1), x.mean(1)], 1)
    return x * functional(t).conv2d(m, f[None], padding=3).sigmoid()


def eca_gate(t, x, f):
    m = x.float().mean((2, 3))
    return (x * functional(t).conv1d(m[:, None], f[None, None], padding=2).sigmoid()[:, 0, :, None, None]).to(x.dtype)


def decays(t, device, s):
    return -0.1 * t.rand(s["B"], s["H"], s["G"], 64, s["K"], device=device)


def unit_keys(t, device, s):
    return t.nn.functional.normalize(t.randn(s["B"], s["C"], s["D"], device=device), dim=2)


def recurrent(gates):
    """With rows of N(0, 1) such nets are chaotic: f32 beside f64 is off by 2 after 24 steps, of any library."""
    return lambda t, device, s: t.randn(*gates(s["H"]), device=device) / s["H"] ** 0.5


def sequels():
    def mine(*args, **options):
        row("sequels", *args, **options)
    mine("conv3d_group_norm_min_bias", "N=12 C:3 D=18 H=36 W=36 Q=5", conv3d_group_norm_min_bias, limit=1e-3)
    mine("conv_tanh_scale_bias_pool", "N=48 C=12 H=131 W=131 O=56", conv_tanh_scale_bias_pool, scalars={"s": 1.7}, limit=1e-3)
    mine("transposed3d_pool_softmax_swish_max", "N=24 C:3 D=15 H=30 W=30 O=18", transposed3d_pool_softmax_swish_max, limit=1e-3)
    mine("conv_square_softmin", "N=32 H=113 W=113 C=40/8 O=72/8", conv_square_softmin, limit=3e-2)
    mine("transposed_glu_rms", "N=12 C=96 L=9000 O=56", transposed_glu_rms, limit=1e-3)
    mine("conv_pool_lse", "N=48 C=24 L=9001 O=72", conv_pool_lse, limit=1e-3)
    mine("gemm_dropout_mean_softmax", "M=900 K=700 N=9000", gemm_dropout_mean_softmax, scalars={"seed": 7}, limit=0.1)
    mine("gemm_group_norm_leaky_double", "M=1100 K=3000 Q=300", gemm_group_norm_leaky_double, limit=1e-3)
    mine("gemm_clamp_softsign_residual_norm", "M=5000 K=2304/8 N=1600/8", gemm_clamp_softsign_residual_norm, limit=2e-2)
    mine("gru_unrolled", "T:24 B=300 H=200", gru_unrolled, False, made={"u": recurrent(lambda h: (3 * h, h))}, limit=1e-3)
    mine("peephole_lstm", "T:24 B=300 H=168", peephole_lstm, False, made={"u": recurrent(lambda h: (4, h, h))}, limit=1e-3)
    mine("sru", "B=64 T:300 D=1024/8", sru, False, limit=2e-2)
    mine("mamba2_step", "B=96 H:24 P:64 N:128", mamba2_step, limit=2e-2)
    mine("gla_chunks", "B=8 H=8 G=16 K=64/8 V=128/8", gla_chunks, False, made={"a": decays}, limit=2e-3)
    mine("delta_chunk", "B=2000 C=64/8 D=64/8 E=64/8", delta_chunk, made={"k": unit_keys, "beta": lambda t, d, s: t.rand(s["B"], s["C"], device=d), "a": lambda t, d, s: -0.1 * t.rand(s["B"], s["C"], device=d)}, limit=2e-3)
    mine("switch_ffn", "T=24 D=768/8 E:8 H=2048/8", switch_ffn, False, limit=3e-2)
    mine("latent_pool", "B=48 T=700 L:32 D=256/8", latent_pool, limit=1e-3)
    mine("axial_attention", "B=4 N:6 D:32 H=120/8 W=96/8", axial_attention, limit=2e-2)
    mine("mixer_tokens", "B=96 T=196/4 U=392/8 C=768/8", mixer_tokens, limit=2e-2)
    mine("spatial_gate", "N=24 C=144 H=70 W=90", spatial_gate, limit=1e-3)
    mine("eca_gate", "N=48 C=300 H=56 W=56", eca_gate, limit=2e-2)
