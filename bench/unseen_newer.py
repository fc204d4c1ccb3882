# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of bench/unseen/newer.kc: kernels of training and of large models."""
from unseen_row import row


def f8_product(t, x, w, s):
    m = x.abs().amax(1, keepdim=True).float().clamp(min=1e-12) / 448
    if not x.is_cuda:
        return ((x / m).to(t.float8_e4m3fn).float() @ w.float().T * m * s).to(x.dtype)
    return t._scaled_mm((x / m).to(t.float8_e4m3fn), w.t(), m, s[None], out_dtype=t.bfloat16)


def w4_product(t, x, w, s, z):
    w = (t.stack([w & 15, w >> 4], 2).view(w.shape[0], -1, 128).to(t.bfloat16) - z[:, :, None]) * s[:, :, None]
    return x @ w.view(w.shape[0], -1).T


def paged_decode(t, q, k, v, table, n):
    b, g, r, d = q.shape
    k, v = (z[table.long()].view(b, -1, g, d).transpose(1, 2) for z in (k, v))
    mask = (t.arange(k.shape[2], device=k.device) < n[:, None])[:, None, None]
    return t.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def sparse_2_4(t, x, w, at):
    full = t.zeros(w.shape[0], w.shape[1] // 2, 4, device=w.device, dtype=w.dtype)
    full.scatter_add_(2, (at.view(w.shape[0], -1, 2) & 3).long(), w.view(w.shape[0], -1, 2))
    return x @ full.view(w.shape[0], -1).T


def top8_sample(t, x, u):
    v, at = x.topk(8, 1)
    p = t.softmax(v, 1)
    return p, at, (p.cumsum(1) < u[:, None]).sum(1)


def smoothed_loss(t, x, y):
    z, n = x.float(), x.shape[1]
    loss = t.nn.functional.cross_entropy(z, y, reduction="none", label_smoothing=0.1)
    dx = t.softmax(z, 1) - 0.1 / n - 0.9 * t.nn.functional.one_hot(y, n)
    return loss, (dx / x.shape[0]).to(x.dtype)


def rms_norm_backward(t, x, g, dy):
    x, g, dy = x.float(), g.float(), dy.float()
    r = t.rsqrt(x.square().mean(1, keepdim=True) + 1e-5)
    c = (dy * g * x).mean(1, keepdim=True) * r ** 3
    return (dy * g * r - x * c).to(t.bfloat16), (dy * x * r).sum(0)


def layer_norm_backward(t, x, g, dy):
    m, n = x.mean(1, keepdim=True), x.shape[1:]
    r = t.rsqrt((x - m).square().mean(1, keepdim=True) + 1e-5)
    return t.ops.aten.native_layer_norm_backward(dy, x, n, m, r, g, g, [True, True, True])


def adamw(t, p, m, v, g, step):
    m.mul_(0.9).add_(g, alpha=0.1)
    v.mul_(0.999).addcmul_(g, g, value=0.001)
    p.mul_(1 - 1e-5).sub_(1e-3 * (m / (1 - 0.9 ** step)) / ((v / (1 - 0.999 ** step)).sqrt() + 1e-8))


def adamw_3(t, step, *z):
    for g, p, m, v in (z[:4], z[4:8], z[8:]):
        adamw(t, p, m, v, g, step)
    return z[1:4] + z[5:8] + z[9:]


def ema(t, x, y):
    return y.mul_(0.999).add_(x, alpha=0.001)


def clip_by_norm(t, g, most):
    n = t.linalg.vector_norm(g)
    return g.mul_(t.clamp(most / (n + 1e-6), max=1)), n


def quantise_blocks(t, x):
    y = x.float().view(x.shape[0], -1, 128)
    s = y.abs().amax(2).clamp(min=1e-4) / 448
    return (y / s[:, :, None]).to(t.float8_e4m3fn).view(x.shape), s


def add_rms_quantise(t, x, r, g):
    r.add_(x)
    z = t.nn.functional.rms_norm(r.float(), g.shape, g.float(), 1e-5)
    s = z.abs().amax(1) / 127
    return r, t.round(z / s[:, None]).to(t.int8), s


def embedding_norm(t, table, token, pos, g, b):
    return t.nn.functional.layer_norm(table[token.long()] + pos, g.shape, g, b)


def gqa_rope_update(t, x, at, c, s):
    (a, b), c, s = x.float().chunk(2, 2), c[at.long()][:, None], s[at.long()][:, None]
    return t.cat([a * c - b * s, b * c + a * s], 2).to(x.dtype)


def i8_product(t, x, w, s):
    m = x.float().abs().amax(1, keepdim=True).clamp(min=1e-12) / 127
    q = t.round(x / m).to(t.int8)
    return (t._int_mm(q, w.t()) * m * s).to(x.dtype)


def softmax_backward(t, p, g):
    p, g = p.float(), g.float()
    return (p * (g - (p * g).sum(1, keepdim=True))).bfloat16()


def newer():
    def mine(*args, **options):
        row("newer", *args, **options)
    mine("f8_product", "M=3072/16 K=4096/16 N=5120/16", f8_product, limit=2e-2)
    mine("i8_product", "M=3072/16 K=4096/16 N=5120/16", i8_product, limit=2e-2)
    mine("w4_product", "M=16 K=4096/128 N=11008", w4_product, ints={"z": 16}, positive=("s",), limit=2e-2)
    mine("w4_product", "M=1024 K=4096/128 N=4096", w4_product, ints={"z": 16}, positive=("s",), limit=2e-2)
    mine("paged_decode", "B=24 G:8 R:4 D:128 C:16 N=160 P=4000", paged_decode, ints={"table": "P"}, made={"len": lambda t, device, s: t.randint(1, s["N"] * s["C"] + 1, (s["B"],), device=device)})
    mine("sparse_2_4", "M=512 K=2048/8 N=2048", sparse_2_4, limit=2e-2)
    mine("top8_sample", "B=64 V=32000", top8_sample, positive=("u",))
    mine("smoothed_loss", "M=4096 N=32000", smoothed_loss, ints={"t": "N"})
    mine("rms_norm_backward", "M=8000 N=3000", rms_norm_backward, limit=2e-2)
    mine("layer_norm_backward", "M=12000 N=1536", layer_norm_backward)
    mine("softmax_backward", "M=24000 N=1100", softmax_backward)
    mine("conv_weight_gradient", "N=32 C=64 H=56 W=56 O=96", lambda t, x, g: t.nn.grad.conv2d_weight(x, (g.shape[1], x.shape[1], 3, 3), g, padding=1), False)
    mine("conv_input_gradient", "N=32 C=64 H=56 W=56 O=96", lambda t, g, f: t.nn.functional.conv_transpose2d(g, f, padding=1), False)
    mine("conv_bias_gradient", "N=48 O=96 H=90 W=90", lambda t, g: g.sum((0, 2, 3)))
    mine("adamw_3", "A=9000000 B=3000000 C=4096", adamw_3, positive=("va", "vb", "vc"), scalars={"t": 5.0})
    mine("ema", "N=30000001", ema)
    mine("clip_by_norm", "N=20000000", clip_by_norm, scalars={"most": 1.0})
    mine("quantise_blocks", "M=8000 N=40", quantise_blocks, limit=8e-2)
    mine("add_rms_quantise", "M=8192 N=4096", add_rms_quantise, limit=1e-2)
    mine("embedding_norm", "V=30522 D=768 N=16384", embedding_norm, ints={"token": "V"}, limit=2e-2)
    mine("gqa_rope_update", "B=256 H=32 P:64 T=4096", gqa_rope_update, ints={"at": "T"})
