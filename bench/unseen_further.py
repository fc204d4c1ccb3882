# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of bench/unseen/further.kc: sequences of public kernel benchmarks, losses, blocks of recent models."""
from unseen_row import row


def transposed_min_sum_gelu(t, x, f, b, z):
    m = t.nn.functional.conv_transpose2d(x, f, b, stride=2).amin(1, keepdim=True).sum(2, keepdim=True)
    return (t.nn.functional.gelu(m) + z[:, None, None])[:, :, 0]


def conv3d_hardswish_softmax_mean(t, x, f, b):
    return t.relu(t.nn.functional.hardswish(t.nn.functional.conv3d(x, f, b))).softmax(1).mean((2, 3, 4))


def gemm_max_centre_gelu(t, x, w, b):
    m = t.nn.functional.linear(x, w, b).amax(1, keepdim=True)
    return t.nn.functional.gelu(m - m.mean(1, keepdim=True))


def conv3d_scale_tanh_sigmoid(t, x, f, b, s, z):
    return t.sigmoid(t.tanh(t.nn.functional.conv3d(x, f, b) * s[:, None, None, None]) * z[:, None, None, None])


def gemm_residual_clamp_lse_mish(t, x, w, b):
    h = t.nn.functional.linear(x, w, b) * 2
    y = (h + h).clamp(-10, 10).logsumexp(1, keepdim=True)
    return y * t.nn.functional.mish(y)


def gemm_pool_gelu_scale_max(t, x, w, b):
    p = t.nn.functional.avg_pool1d(t.nn.functional.linear(x, w, b)[:, None], 16)[:, 0]
    return (t.nn.functional.gelu(p) * 2).amax(1).float()


def conformer_conv(t, x, w1, f, g, b, w2):
    v = t.nn.functional.glu(x @ w1.T, 2).transpose(1, 2)
    z = t.nn.functional.conv1d(v, f[:, None], padding=15, groups=f.shape[0]).transpose(1, 2)
    return x + t.nn.functional.silu(z * g + b).to(x.dtype) @ w2.T


def triplet_loss(t, a, p, n):
    return t.nn.functional.triplet_margin_loss(a, p, n, margin=1.0)


def attention_layer(t, x, g, wq, wk, wv, wo, c, s):
    B, S, E = x.shape
    D = 2 * c.shape[1]
    z = t.nn.functional.rms_norm(x.float(), (E,), g.float(), 1e-5).to(x.dtype)
    q, k, v = ((z @ w.T).view(B, S, -1, D).transpose(1, 2) for w in (wq, wk, wv))
    cos, sin = t.cat([c, c], 1), t.cat([s, s], 1)

    def turned(y):
        a, b = y.float().chunk(2, 3)
        return (y * cos + t.cat([-b, a], 3) * sin).to(x.dtype)
    o = t.nn.functional.scaled_dot_product_attention(turned(q), turned(k), v, is_causal=True, enable_gqa=True)
    return x + o.transpose(1, 2).reshape(B, S, E) @ wo.T


def elu_attention(t, q, k, v):
    a, c = t.nn.functional.elu(q) + 1, t.nn.functional.elu(k) + 1
    return (a @ (c.mT @ v) / ((a.float() * c.float().sum(2, keepdim=True)).sum(3, keepdim=True) + 1e-6)).to(q.dtype)


def sink_window_attention(t, q, k, v, sink):
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    at = t.arange(q.shape[2], device=q.device)
    seen = (at[None] <= at[:, None]) & (at[None] > at[:, None] - 128)
    s = (q @ k.mT).float() * q.shape[3] ** -0.5
    s = s.masked_fill(~seen, float("-inf"))
    s = t.cat([s, sink[None, :, None, None].expand(*s.shape[:3], 1)], 3).softmax(3)[..., :-1]
    return (s.to(v.dtype) @ v).transpose(1, 2)


def expert_choice(t, x, at, gate, w1, w2):
    rows = x[at.long()]
    o = t.bmm(t.nn.functional.gelu(t.bmm(rows, w1.mT)), w2.mT).float() * gate[..., None]
    return t.zeros(x.shape, device=x.device).index_add_(0, at.flatten().long(), o.flatten(0, 1))


def codebook(t, x, e):
    at = ((e.float() ** 2).sum(1) - 2 * (x @ e.T).float()).argmin(1)
    q = e[at]
    return q, at, 1.25 * t.nn.functional.mse_loss(x.float(), q.float())


def modulated_block(t, x, c, wm, bm, w1, w2):
    shift, scale, gate = (t.nn.functional.silu(c) @ wm.T + bm)[:, None].chunk(3, 2)
    z = (t.nn.functional.layer_norm(x, x.shape[-1:]) * (1 + scale) + shift).to(x.dtype)
    return x + gate * (t.nn.functional.gelu(z @ w1.T, approximate="tanh") @ w2.T)


def power_iteration(t, w, u):
    v = t.nn.functional.normalize(w.T @ u, dim=0)
    c = w @ v
    z = t.nn.functional.normalize(c, dim=0)
    return z @ c, v, z


def newton_schulz(t, x):
    a = x @ x.mT
    return 3.4445 * x + (-4.775 * a + 2.0315 * (a @ a)) @ x


def lamb_step(t, g, p, m, v):
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    u = m / (v.sqrt() + 1e-6) + 0.01 * p
    a, b = p.norm(), u.norm()
    p.sub_(0.001 * t.where((a > 0) & (b > 0), a / b, t.ones_like(a)) * u)
    return p, m, v


def pyramid_level(t, x, z, f, b):
    return t.nn.functional.conv2d(x, f[:, :, None, None], b) + t.nn.functional.interpolate(z, scale_factor=2.0)


def sage_layer(t, x, off, to, ws, wn, b):
    a = t.segment_reduce(x[to.long()], "mean", offsets=off.long(), axis=0, initial=0.0)
    return t.nn.functional.normalize(t.relu(x @ ws.T + a.nan_to_num() @ wn.T + b), dim=1)


def info_nce(t, x, z):
    a, b = (t.nn.functional.normalize(y.float(), dim=1).to(y.dtype) for y in (x, z))
    return t.nn.functional.cross_entropy((a @ b.T).float() / 0.07, t.arange(len(x), device=x.device))


def chamfer(t, x, y):
    s = t.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist") ** 2
    return s.amin(2).mean(1) + s.amin(1).mean(1)


def box_iou(t, a, b):
    w = (t.min(a[:, None, 2], b[:, 2]) - t.max(a[:, None, 0], b[:, 0])).clamp(min=0)
    h = (t.min(a[:, None, 3], b[:, 3]) - t.max(a[:, None, 1], b[:, 1])).clamp(min=0)
    sa, sb = ((x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1]) for x in (a, b))
    best, at = (w * h / (sa[:, None] + sb - w * h + 1e-9)).max(1)
    return best, at


def mel_spectrogram(t, x, window, c, s, w):
    frames = x.unfold(1, window.shape[0], 160) * window
    power = (frames @ c.T) ** 2 + (frames @ s.T) ** 2
    return (power @ w.T).clamp(min=1e-10).log()


def n_body(t, x, m):
    d = x[None] - x[:, None]
    return (m[:, None] * d * ((d ** 2).sum(2, keepdim=True) + 0.01) ** -1.5).sum(1)


def block_scaled_f8(t, x, sx, w, sw):
    a = (x.float().unflatten(1, (-1, 128)) * sx[..., None]).flatten(1).bfloat16()
    b = (w.float().unflatten(1, (-1, 128)) * sw.repeat_interleave(128, 0)[..., None]).flatten(1).bfloat16()
    return a @ b.T


def lora_rows(t, x, w, id, a, b):
    id = id.long()
    h = t.bmm(a[id], x[:, :, None])
    return x @ w.T + 2 * t.bmm(b[id], h)[:, :, 0]


def shifted_windows(t, qkv):
    B, H, W, _, E = qkv.shape
    z = t.roll(qkv, (-3, -3), (1, 2)).view(B, H // 7, 7, W // 7, 7, 3, 4, 32).permute(5, 0, 1, 3, 6, 2, 4, 7).flatten(5, 6)
    o = t.nn.functional.scaled_dot_product_attention(*(p.flatten(0, 2) for p in z))
    return o.view(B, H // 7, W // 7, 4, 7, 7, 32).permute(0, 1, 4, 2, 5, 3, 6).reshape(B, H, W, E)


def min_gru(t, x, wz, wh):
    z, u, h, found = t.sigmoid((x @ wz.T).float()), (x @ wh.T).float(), 0, []
    for i in range(x.shape[1]):
        h = (1 - z[:, i]) * h + z[:, i] * u[:, i]
        found.append(h)
    return t.stack(found, 1)


def further():
    def mine(*args, **options):
        row("further", *args, **options)

    def offsets(t, device, s):
        inner = t.randint(0, s["E"] + 1, (s["V"] - 1,), device=device).sort().values
        return t.cat([t.zeros(1, device=device), inner, t.full((1,), s["E"], device=device)])

    def boxes(t, device, s, n):
        low = t.rand(n, 2, device=device)
        return t.cat([low, low + t.rand(n, 2, device=device) / 4 + 0.01], 1)
    mine("transposed_min_sum_gelu", "N=24 C=48 H=40 W=40 O=96", transposed_min_sum_gelu)
    mine("conv3d_hardswish_softmax_mean", "N=40 C:3 D=17 H=34 W=34 O=20", conv3d_hardswish_softmax_mean)
    mine("gemm_max_centre_gelu", "M=1300 K=3000 N=5000", gemm_max_centre_gelu)
    mine("conv3d_scale_tanh_sigmoid", "N=48 C:3 D=18 H=66 W=66 O=20", conv3d_scale_tanh_sigmoid)
    mine("gemm_residual_clamp_lse_mish", "M=1500 K=2300 N=3900", gemm_residual_clamp_lse_mish)
    mine("gemm_pool_gelu_scale_max", "M=2500 K=3500/8 N=330", gemm_pool_gelu_scale_max, limit=2e-2)
    mine("conformer_conv", "B=14 T=700 D=640/64", conformer_conv, limit=3e-2)
    mine("triplet_loss", "M=30000 N=1300", triplet_loss)
    mine("attention_layer", "B=3 S=1400 E:1536 G:4 D:128", attention_layer, limit=3e-2, named=("G", "D"))
    mine("elu_attention", "B=6 H=12 S=3300 D:64", elu_attention, limit=3e-2)
    mine("sink_window_attention", "B=3 S=2700 H:16 G:4 D:64", sink_window_attention, limit=3e-2)
    mine("expert_choice", "T=5000 K=1024/64 X:12 C=800 F=2816/64", expert_choice, ints={"at": "T"}, limit=3e-2)

    def codes(t, device, s):
        t.manual_seed(2)
        return t.randn(s["K"], s["D"], device=device)

    def coded(t, device, s):  # (the nearest code is one that no rounding changes)
        return codes(t, device, s).repeat(s["M"] // s["K"] + 1, 1)[:s["M"]] + t.randn(s["M"], s["D"], device=device) / 8
    mine("codebook", "M=12000 D=192/8 K=3000", codebook, made={"x": coded, "e": codes}, limit=2e-2)
    mine("modulated_block", "B=6 S=900 E=1152/64", modulated_block, limit=3e-2)
    mine("power_iteration", "M=3100 N=5200", power_iteration)
    mine("newton_schulz", "M=1100/8 N=4200/8", newton_schulz, limit=3e-2)
    mine("lamb_step", "N=17000000", lamb_step, positive=("v",))
    mine("pyramid_level", "N=10 C=200 H=84/2 W=100/2 O=160", pyramid_level)
    mine("sage_layer", "V=30000 D=160 E=400000 O=200", sage_layer, ints={"to": "V"}, made={"off": offsets})
    mine("info_nce", "N=5000 D=384/8", info_nce, limit=2e-2)
    mine("chamfer", "B=10 M=3000 N=3500", chamfer)
    mine("box_iou", "M=9000 N=2500", box_iou, made={"a": lambda t, d, s: boxes(t, d, s, s["M"]), "b": lambda t, d, s: boxes(t, d, s, s["N"])})
    mine("mel_spectrogram", "B=30 L=90000/400 R:400 F:201 Q:80", mel_spectrogram, positive=("w",))
    mine("n_body", "N=9000", n_body, positive=("m",))
    mine("block_scaled_f8", "M=2500 K=4096/128 N=3072/128", block_scaled_f8, positive=("sx", "sw"), limit=3e-2)
    mine("lora_rows", "M=60 K=4096/8 N=4096/8 L:20 R:16", lora_rows, ints={"id": "L"}, limit=3e-2)
    mine("shifted_windows", "B=50 H=56/7 W=56/7 E:128", shifted_windows, limit=3e-2)
    mine("min_gru", "B=16 T=900 K=768/8 D=1024/8", min_gru, compiled=False, limit=2e-2)
