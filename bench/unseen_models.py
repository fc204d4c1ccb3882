# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of bench/unseen/models.kc: blocks of recent models, their losses, optimisers and quantised products."""
from unseen_row import row


def delta_rule(t, q, k, v, beta):
    s, found = t.zeros(q.shape[0], v.shape[2], q.shape[2], device=q.device), []
    for i in range(q.shape[1]):
        e = beta[:, i, None] * (v[:, i] - (s @ k[:, i, :, None])[..., 0])
        s = s + e[:, :, None] * k[:, i, None]
        found.append((s @ q[:, i, :, None])[..., 0])
    return t.stack(found, 1)


def wkv(t, r, k, v, w, u):
    s, found = t.zeros(r.shape[0], r.shape[2], v.shape[2], device=r.device), []
    for i in range(r.shape[1]):
        a = k[:, i, :, None] * v[:, i, None]
        found.append((r[:, i, None] @ (s + u[:, None] * a))[:, 0])
        s = t.exp(-t.exp(w[:, i]))[..., None] * s + a
    return t.stack(found, 1)


def ssd_chunk(t, c, k, a, x):
    s = (c @ k.mT).float()
    l = a.cumsum(2).movedim(3, 2)
    d = (l[..., None] - l[..., None, :]).exp().tril()
    return ((s[:, :, None] * d).to(x.dtype) @ x.movedim(3, 2)).movedim(2, 3)


def alibi_attention(t, q, k, v):
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    h, at = t.arange(1, q.shape[1] + 1, device=q.device), t.arange(q.shape[2], device=q.device)
    far = (at[:, None] - at).float()
    bias = -t.exp2(-8 * h / q.shape[1])[:, None, None] * far
    bias = bias.masked_fill(far < 0, float("-inf")).to(q.dtype)
    return t.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias[None]).transpose(1, 2)


def bucket_attention(t, q, k, v, table):
    at = t.arange(q.shape[2], device=q.device)
    n = (at[:, None] - at).abs()
    far = 8 + ((n.clamp(min=1).float() / 8).log() / 2.772588722239781 * 8).long()
    at = 16 * (at > at[:, None]) + t.where(n < 8, n, far.clamp(max=15))
    bias = table[at].permute(2, 0, 1)[None].to(q.dtype)
    return t.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=1.0)


def axial_rope(t, q, th, tw):
    H, W = len(th), len(tw)
    a = t.cat([th[:, None].expand(H, W, -1), tw[None].expand(H, W, -1)], 2).flatten(0, 1)[None, :, None]
    x, y = q.float().unflatten(3, (-1, 2)).unbind(4)
    return t.stack([x * a.cos() - y * a.sin(), y * a.cos() + x * a.sin()], 4).flatten(3).to(q.dtype)


def route_slots(t, s):
    p, e = s.softmax(1).max(1)
    hot = t.nn.functional.one_hot(e, s.shape[1]).int()
    slot = ((hot.cumsum(0, dtype=t.int32) - hot) * hot).sum(1, dtype=t.int32)
    return e, slot, t.where(slot < 320, p, t.zeros_like(p)), hot.sum(0, dtype=t.int32)


def nearest(t, x, c):
    return ((c.float() ** 2).sum(1) - 2 * (x @ c.T).float()).argmin(1)


def residual_codes(t, x, c1, c2):
    a1 = nearest(t, x, c1)
    a2 = nearest(t, x - c1[a1], c2)
    return c1[a1] + c2[a2], a1, a2


def policy_loss(t, x, token, old, ref, adv, mask):
    logp = x.float().log_softmax(1)
    entropy = -(logp.exp() * logp).sum(1)
    p = logp.gather(1, token[:, None])[:, 0]
    ratio = (p - old).exp()
    gain = t.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv)
    kl = (ref - p).exp() - (ref - p) - 1
    return ((0.04 * kl - gain) * mask).sum() / mask.sum().clamp(min=1), entropy


def adafactor(t, g, p, r, c):
    s = g * g + 1e-30
    r.mul_(0.99).add_(s.mean(1), alpha=0.01)
    c.mul_(0.99).add_(s.mean(0), alpha=0.01)
    u = g * (r[:, None] * c / r.mean()).rsqrt()
    p.sub_(0.01 * u / u.square().mean().sqrt().clamp(min=1))
    return p, r, c


def dynamic_i8_linear(t, x, w, sw, b):
    s = (x.float().abs().amax(1) / 127).clamp(min=1e-8)
    q = (x.float() / s[:, None]).round().to(t.int8)
    product = t._int_mm(q, w.T) if x.is_cuda else q.int() @ w.T.int()
    return (product.float() * s[:, None] * sw + b).to(x.dtype)


def cast_transpose_f8(t, x):
    scale = 448 / x.float().abs().amax().clamp(min=1e-12)
    q = (x.float() * scale).to(t.float8_e4m3fn)
    return q.float(), q.T.contiguous().float(), scale


def ternary_product(t, x, w, s):
    u = t.stack([w & 3, (w >> 2) & 3, (w >> 4) & 3, w >> 6], 2).flatten(1).to(x.dtype) - 1
    return ((x @ u.T).float() * s).to(x.dtype)


def mxfp4_product(t, x, w, code, e):
    u = code[t.stack([w & 15, w >> 4], 2).flatten(1).int()].unflatten(1, (-1, 32)) * t.exp2(e.float() - 127)[..., None]
    return x @ u.flatten(1).to(x.dtype).T


def contrastive_labels(t, z, label):
    s = ((z @ z.T).float() / 0.1).fill_diagonal_(float("-inf"))
    same = (label[:, None] == label).fill_diagonal_(False)
    logp = t.where(same, s - s.logsumexp(1, keepdim=True), t.zeros_like(s))
    return (-logp.sum(1) / same.sum(1).clamp(min=1)).mean()


def greedy_tokens(t, x, w):
    best, token = (x @ w.T).float().max(1)
    return token, best


def token_loss(t, x, w, token):
    return t.nn.functional.cross_entropy((x @ w.T).float(), token)


def zero_point_product(t, x, w, z, s):
    u = (w.float().unflatten(1, (-1, 64)) - z.float()[..., None]) * s[..., None]
    return x @ u.flatten(1).to(x.dtype).T


def models():
    def mine(*args, **options):
        row("models", *args, **options)

    def unit(*names):
        def made(*shape):
            return lambda t, device, s: t.nn.functional.normalize(t.randn(*(s[n] for n in shape), device=device), dim=-1)
        return {name: made("B", "T", "D") for name in names}

    def coded(t, device, s):  # (the nearest codes are ones that no rounding changes)
        c1, c2 = codes(1)(t, device, s), codes(2)(t, device, s)
        at = t.arange(s["M"], device=device)
        return c1[at % s["K"]] + c2[at * 7 % s["K"]] + t.randn(s["M"], s["D"], device=device) / 64

    def codes(n):
        def made(t, device, s):
            t.manual_seed(n)
            return (t.randn(s["K"], s["D"], device=device) * (1, 0.25)[n - 1]).bfloat16()
        return made
    def clear(t, device, s):  # (one token is the best by far, and a bf16 tells its logit from all others)
        t.manual_seed(3)
        w = t.nn.functional.normalize(t.randn(s["V"], s["D"], device=device), dim=1)
        return w[t.randint(0, s["V"], (s["T"],), device=device)] * 4, w

    def spread(t, device, s):
        t.manual_seed(4)
        c = t.randn(s["K"], s["D"], device=device)
        return c[t.randint(0, s["K"], (s["M"],), device=device)] + t.randn(s["M"], s["D"], device=device) / 8, c
    mine("delta_rule", "B=96 T=200 D:64 E:64", delta_rule, False, made=unit("q", "k"), positive=("beta",))
    mine("wkv", "B=128 T=300 D:64 E:64", wkv, False)
    mine("ssd_chunk", "B=4 Q=16 S:128 H=24 P:64", ssd_chunk, made={"a": lambda t, d, s: -t.rand(s["B"], s["Q"], 128, s["H"], device=d) / 8}, limit=3e-2)
    mine("alibi_attention", "B=3 S=1900 H:20 D:64", alibi_attention, limit=3e-2)
    mine("bucket_attention", "B=8 H:12 S=1000 D:64", bucket_attention, limit=4e-2)
    mine("axial_rope", "B=24 H=30 W=40 G=12 D:64", axial_rope, limit=2e-2)
    mine("route_slots", "T=12000 X:48", route_slots)
    mine("residual_codes", "M=9000 D=128/8 K=1024", residual_codes, made={"x": coded, "c1": codes(1), "c2": codes(2)}, limit=2e-2)
    mine("policy_loss", "T=3000 V=50000/8", policy_loss, ints={"token": "V"}, positive=("mask",),
         made={n: lambda t, d, s: -11 + t.rand(s["T"], device=d) / 4 for n in ("old", "ref")})
    mine("adafactor", "M=4100 N=5300", adafactor, positive=("r", "c"))
    mine("dynamic_i8_linear", "M=2000/8 K=4096/64 N=3584/64", dynamic_i8_linear, limit=3e-2)
    mine("cast_transpose_f8", "M=6000/8 N=7000/8", cast_transpose_f8)
    mine("ternary_product", "M=700 K=4096/64 N=4608/8", ternary_product, limit=2e-2)
    mine("mxfp4_product", "M=900 K=4096/64 N=3072/8", mxfp4_product, limit=3e-2,
         made={"e": lambda t, d, s: t.randint(119, 124, (s["N"], s["K"] // 32), device=d)})
    mine("contrastive_labels", "N=6000 D=256/8", contrastive_labels, ints={"label": 50}, limit=2e-2,
         made={"z": lambda t, d, s: t.nn.functional.normalize(t.randn(s["N"], s["D"], device=d), dim=1)})
    mine("greedy_tokens", "T=4000 D=1024/64 V=32000/8", greedy_tokens, limit=2e-2,
         made={"x": lambda t, d, s: clear(t, d, s)[0], "w": lambda t, d, s: clear(t, d, s)[1]})
    mine("nearest_code", "M=16000 D=256/8 K=4096", nearest, limit=2e-2, made={"x": lambda t, d, s: spread(t, d, s)[0], "c": lambda t, d, s: spread(t, d, s)[1]})
    mine("token_loss", "T=4000 D=1024/64 V=32000/8", token_loss, ints={"token": "V"}, limit=2e-2)
    mine("zero_point_product", "M=900 K=4096/64 N=4096/8", zero_point_product, positive=("s",), limit=3e-2)
