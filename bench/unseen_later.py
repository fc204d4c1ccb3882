# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of bench/unseen/later.kc: blocks of recent models, sequences of public kernel benchmarks."""
from unseen_row import row


def conv_subtract_tanh_pool(t, x, f, b):
    return t.nn.functional.avg_pool2d(t.tanh(t.nn.functional.conv2d(x, f, b) - 0.5) - 0.2, 2)


def gemm_swish_group_norm(t, x, w, b, g, c):
    return t.nn.functional.group_norm(t.nn.functional.silu(x @ w.T) + b, 16, g, c)


def bmm_instance_norm_residual(t, x, z, w, b):
    h = x @ w.T + b
    return (t.nn.functional.layer_norm(h, h.shape[1:]) + z) * z


def window_attention(t, qkv, table, at):
    B, L, E = qkv.shape[0], qkv.shape[1], qkv.shape[2] // 3
    q, k, v = qkv.view(B, L, 3, table.shape[1], -1).permute(2, 0, 3, 1, 4)
    mask = table[at].permute(2, 0, 1).to(q.dtype)
    return t.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).reshape(B, L, E)


def int8_cache(t, q, k, sk, v, sv, n):
    k, v = (k * sk[..., None]).to(q.dtype), (v * sv[..., None]).to(q.dtype)
    mask = (t.arange(k.shape[2], device=k.device) < n[:, None])[:, None, None]
    return t.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def differential_attention(t, q, k, v, scale, g):
    def attend(part):
        a, b = q[:, :, :, part].transpose(1, 2), k[:, :, :, part].transpose(1, 2)
        return t.nn.functional.scaled_dot_product_attention(a, b, v.transpose(1, 2), is_causal=True).transpose(1, 2).float()
    a = attend(0) - scale[:, None] * attend(1)
    return (t.nn.functional.rms_norm(a, a.shape[-1:], g, 1e-5) * 0.2).to(q.dtype)


def latent_decode(t, q, r, c, k, n):
    query, key = t.cat([q, r], 2)[:, :, None], t.cat([c, k], 2)[:, None]
    mask = (t.arange(k.shape[1], device=k.device) < n[:, None])[:, None, None]
    return t.nn.functional.scaled_dot_product_attention(query.transpose(1, 2), key, c[:, None], attn_mask=mask)[:, 0]


def channel_mix(t, x, mk, mr, wk, wv, wr):
    before = t.nn.functional.pad(x, (0, 0, 1, -1)) - x
    k = t.relu((x + mk * before) @ wk.T) ** 2
    return t.sigmoid((x + mr * before) @ wr.T) * (k @ wv.T)


def causal_conv4(t, x, w, b):
    y = t.nn.functional.conv1d(x.transpose(1, 2), w[:, None], b, padding=3, groups=w.shape[0])[:, :, :x.shape[1]]
    return t.nn.functional.silu(y).transpose(1, 2)


def packed_groups(t, q, kv):
    B, S = q.shape[:2]
    q, (k, v) = q.view(B, S, 16, -1).transpose(1, 2), kv.view(B, S, 2, 4, -1).permute(2, 0, 3, 1, 4)
    return t.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(1, 2).reshape(B, S, -1)


def patch_merge(t, x, g, b, w):
    B, H, W, C = x.shape
    z = x.view(B, H // 2, 2, W // 2, 2, C).permute(0, 1, 3, 4, 2, 5).reshape(B, H // 2, W // 2, 4 * C)
    return t.nn.functional.layer_norm(z, z.shape[-1:], g.flatten(), b.flatten()) @ w.flatten(1).T


def router_losses(t, x, w):
    s = (x @ w.T).float()
    p = s.softmax(1)
    share = t.nn.functional.one_hot(s.argmax(1), s.shape[1]).float().mean(0)
    return p, s.shape[1] * (share * p.mean(0)).sum(), (s.logsumexp(1) ** 2).mean()


def mx_quantise(t, x):
    e = ((x.view(x.shape[0], -1, 32).abs().amax(2).clamp(min=1e-30)).log2().floor() - 8 + 127).clamp(0, 254)
    return (x * (127 - e).exp2().repeat_interleave(32, 1)).to(t.float8_e4m3fn), e.to(t.uint8)


def nf4_product(t, x, w, code, s):
    w = t.stack([w & 15, w >> 4], 2).flatten(1).int()
    return x @ (code[w] * s.repeat_interleave(64, 1)).T


def clip_loss(t, x, y, scale):
    s = (x @ y.T).float() * t.e ** scale
    at = t.arange(s.shape[0], device=s.device)
    return (t.nn.functional.cross_entropy(s, at) + t.nn.functional.cross_entropy(s.T, at)) / 2


def siglip_loss(t, x, y, scale, bias):
    s = (x @ y.T).float() * t.e ** scale + bias
    sign = 1 - 2 * t.eye(s.shape[0], device=s.device)
    return t.nn.functional.softplus(s * sign).sum() / s.shape[0]


def triangle_update(t, a, b, g, c, gate):
    z = t.einsum("ike,jke->ije", a, b).float()
    return (t.nn.functional.layer_norm(z, z.shape[-1:], g, c) * t.sigmoid(gate.float())).to(a.dtype)


def pair_biased_attention(t, q, k, v, bias, g):
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    o = t.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias.permute(2, 0, 1).to(q.dtype))
    return o.transpose(1, 2) * t.sigmoid(g)


def convnext(t, x, f, g, b, w1, w2, s):
    z = t.nn.functional.conv2d(x.permute(0, 3, 1, 2), f.permute(2, 0, 1)[:, None], padding=3, groups=x.shape[3]).permute(0, 2, 3, 1)
    z = t.nn.functional.layer_norm(z, z.shape[-1:], g, b)
    return x + s * (t.nn.functional.gelu(z @ w1.T) @ w2.T)


def coordinate_gate(t, x, wh, ww):
    a, b = t.sigmoid(t.einsum("neh,ce->nch", x.mean(3), wh)), t.sigmoid(t.einsum("new,ce->ncw", x.mean(2), ww))
    return x * a[:, :, :, None] * b[:, :, None]


def qk_norm_attention(t, q, k, v, gq, gk):
    q, k = (t.nn.functional.rms_norm(x.float(), x.shape[-1:], g, 1e-5).to(x.dtype) for x, g in ((q, gq), (k, gk)))
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return t.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(1, 2)


def beam_step(t, x, score):
    m = (score[:, :, None] + x.log_softmax(2)).amax(2)
    best, beam = m.max(1)
    return best, beam, x[t.arange(x.shape[0], device=x.device), beam].argmax(1)


def advantages(t, r, v, done):
    d, a, found = r + 0.99 * v[:, 1:] * (1 - done) - v[:, :-1], 0, []
    for i in range(r.shape[1] - 1, -1, -1):
        a = d[:, i] + 0.9405 * (1 - done[:, i]) * a
        found.append(a)
    return t.stack(found[::-1], 1)


def dice_loss(t, x, y):
    p = t.sigmoid(x)
    return 1 - ((2 * (p * y).sum((2, 3)) + 1) / ((p + y).sum((2, 3)) + 1)).mean()


def nearest8(t, x, y):
    s = (y.float() ** 2).sum(1) - 2 * (x.float() @ y.float().T)  # (scores of 16 bits are off by more than what is left of them)
    return s.argmin(1), s.amin(1) + (x.float() ** 2).sum(1)


def toeplitz(t, x, f):
    n = 2 * x.shape[1]
    return t.fft.irfft(t.fft.rfft(x, n, 1) * t.fft.rfft(f, n, 0), n, 1)[:, :x.shape[1]]


def later():
    def mine(*args, **options):
        row("later", *args, **options)

    def lengths(t, device, s):
        return t.randint(1, s["T"] + 1, (s["B"],), device=device)

    def scales(t, device, s):
        return (t.rand(s["B"], s["G"], s["T"], device=device) + 0.5) / 128
    mine("gemm_divide_sum", "M=1100 K=2100 N=3300", lambda t, x, w: (x @ w.T / 2).sum(1, keepdim=True) * 1.5)
    mine("linear_max_pairs", "M=1900 K=3000 N=1500", lambda t, x, w, b: (x @ w.T + b).float().view(len(x), -1, 2).amax(2).sum(1) * 0.5, limit=2e-2)
    mine("conv_subtract_tanh_pool", "N=96 C=48 H=66 W=66 O=96", conv_subtract_tanh_pool)
    mine("gemm_swish_group_norm", "M=4100 K=1100 N=3200/16", gemm_swish_group_norm)
    mine("gemm_subtract_mean_lse_gelu", "M=2100 K=3100 N=2300", lambda t, x, w, b, s: x + t.nn.functional.gelu((x @ w.T + b - s).mean(1, keepdim=True)))
    mine("conv_gelu_mean", "N=80 C=40 H=70 W=70 O=72", lambda t, x, f, b: t.nn.functional.gelu(t.nn.functional.conv2d(x, f, b)).mean((2, 3)))
    mine("bmm_instance_norm_residual", "B=1000 K=5000 N=7000", bmm_instance_norm_residual)
    mine("window_attention", "B=700 L=49 E=384/96 H:12 T=169", window_attention, ints={"at": "T"}, limit=3e-2)
    mine("int8_cache", "B=20 G:8 R:4 D:128 T=2900", int8_cache, made={"n": lengths, "sk": scales, "sv": scales}, limit=3e-2)
    mine("differential_attention", "B=3 S=1500 H:8 D:64", differential_attention, limit=3e-2)
    mine("latent_decode", "B=40 H:16 C:512 P:64 T=3100", latent_decode, made={"n": lengths}, limit=3e-2)
    mine("channel_mix", "B=6 T=900 D=1280/64 F=4480/64", channel_mix, limit=3e-2)
    mine("causal_conv4", "B=5 L=3001 D=2560/8", causal_conv4, limit=2e-2)
    mine("packed_groups", "B=4 S=1300 D:80", packed_groups, limit=3e-2, named=("D",))
    mine("patch_merge", "B=24 H=28 W=28 C=192/8", patch_merge, limit=2e-2)
    mine("conv_pixel_shuffle", "N=12 C=64/8 H=90 W=90 O=64/8", lambda t, x, f, b: t.relu(t.nn.functional.pixel_shuffle(t.nn.functional.conv2d(x, f, b, padding=1), 2)), limit=2e-2)
    mine("router_losses", "T=9000 D=2048/8 X=64/8", router_losses, limit=2e-2)
    mine("mx_quantise", "M=5000 K=7168/32", mx_quantise, limit=8e-2)
    mine("nf4_product", "M=24 K=4096/64 N=11008/8", nf4_product, limit=2e-2)
    mine("clip_loss", "N=4000 D=512/8", clip_loss, scalars={"scale": 1.0}, limit=2e-2)
    mine("siglip_loss", "N=4000 D=768/8", siglip_loss, scalars={"scale": 1.0, "bias": -3.0}, limit=2e-2)
    mine("triangle_update", "I=300 K=300 J=300 C=128/8", triangle_update, limit=3e-2)
    mine("outer_product_mean", "S=128/8 I=200 J=200 A:32 C=128/8", lambda t, l, r, w: t.einsum("ijab,cab->ijc", t.einsum("sia,sjb->ijab", l, r) / len(l), w).float(), limit=3e-2)
    mine("pair_biased_attention", "R=100 S=260 H:8 D:32", pair_biased_attention, limit=3e-2)
    mine("convnext", "N=24 H=28 W=28 C=192/8", convnext, limit=3e-2)
    mine("coordinate_gate", "N=40 C=160 H=56 W=56", coordinate_gate)
    mine("qk_norm_attention", "B=4 S=1700 H:16 G:8 D:128", qk_norm_attention, limit=3e-2)
    mine("beam_step", "B=200 K=5 V=32100", beam_step)
    mine("advantages", "B=4000 T=256", advantages, compiled=False)
    mine("dice_loss", "N=32 C=20 H=250 W=250", dice_loss, positive=("t",))
    def near(t, device, s):  # (the nearest row of `y` is one that no rounding changes)
        t.manual_seed(2)
        return apart(t, device, s).repeat(s["M"] // s["N"] + 1, 1)[:s["M"]] + t.randn(s["M"], s["D"], device=device) / 8

    def apart(t, device, s):
        t.manual_seed(2)
        return t.randn(s["N"], s["D"], device=device)
    mine("nearest8", "M=8000 N=9000 D=256/8", nearest8, made={"x": near, "y": apart}, limit=2e-2)
    mine("toeplitz", "B=4 T=2048 D=768/8", toeplitz, compiled=False)
