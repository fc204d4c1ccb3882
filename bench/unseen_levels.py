# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of bench/unseen/levels.kc: further operators, sequences and blocks of levels 1 to 3 of public kernel benchmarks."""
from unseen_row import row


def c(v):  # a vector along channels
    return v.view(1, -1, 1, 1)


def pointwise(t, x, f):
    return t.nn.functional.conv2d(x, f[:, :, None, None])


def triplet_cosine(t, a, p, n):
    cosine = t.nn.functional.cosine_similarity
    return t.relu(cosine(a, n) - cosine(a, p) + 0.2).mean()


def gemm_group_norm_min_bias(t, x, w, b, g, h, z):
    a = t.nn.functional.group_norm(t.nn.functional.linear(x, w, b), 32, g, h)
    return a.min(1).values[None, :] + z[:, None]


def transposed3d_pool_clamp_softmax(t, x, f, b, s):
    a = t.nn.functional.conv_transpose3d(x, f, b, stride=2, padding=1, output_padding=1)
    p = t.nn.functional.avg_pool3d(a, 2).clamp(0, 1)
    return p.flatten(2).softmax(2).view(p.shape) * s.view(1, -1, 1, 1, 1)


def dense_transition(t, x, g, b, f):
    a = t.relu(t.nn.functional.batch_norm(x, None, None, g, b, training=True))
    return t.nn.functional.avg_pool2d(pointwise(t, a, f), 2)


def mbconv(t, x, f1, g1, b1, fd, g2, b2, f3, g3, b3):
    a = t.nn.functional.silu(pointwise(t, x, f1) * c(g1) + c(b1))
    d = t.nn.functional.conv2d(a, fd[:, None], stride=2, padding=2, groups=a.shape[1])
    return pointwise(t, t.nn.functional.silu(d * c(g2) + c(b2)), f3) * c(g3) + c(b3)


def regnet_block(t, x, f1, s1, b1, f2, s2, b2, f3, s3, b3):
    a = t.relu(pointwise(t, x, f1) * c(s1) + c(b1))
    d = t.relu(t.nn.functional.conv2d(a, f2, padding=1, groups=x.shape[1] // f2.shape[1]) * c(s2) + c(b2))
    return t.relu(pointwise(t, d, f3) * c(s3) + c(b3) + x)


def unet_down(t, x, f1, s1, b1, f2, s2, b2):
    a = t.relu(t.nn.functional.conv2d(x, f1, padding=1) * c(s1) + c(b1))
    a = t.relu(t.nn.functional.conv2d(a, f2, padding=1) * c(s2) + c(b2))
    return a, t.nn.functional.max_pool2d(a, 2)


def mingpt_attention_f32(t, x, g, h, w, b, wo, bo):
    z, n, e = x.shape
    a = t.nn.functional.linear(t.nn.functional.layer_norm(x, (e,), g, h), w, b)
    q, k, v = (p.view(z, n, 8, e // 8).transpose(1, 2) for p in a.split(e, 2))
    o = t.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return t.nn.functional.linear(o.transpose(1, 2).reshape(z, n, e), wo, bo) + x


def bi_lstm_step(t, x, h, s, wi, wh, b):
    a = t.einsum("znk,zqjk->znqj", x, wi) + t.einsum("znk,zqjk->znqj", h, wh) + b[:, None]
    i, f, g, o = a.unbind(2)
    s = t.sigmoid(f) * s + t.sigmoid(i) * t.tanh(g)
    return t.sigmoid(o) * t.tanh(s), s


def mbconv_bf16(t, x, f1, g1, b1, fd, g2, b2, f3, g3, b3):
    last = x.permute(0, 3, 1, 2)  # channels last in memory
    a = t.nn.functional.relu6(pointwise(t, last, f1) * c(g1) + c(b1)).to(x.dtype)
    d = t.nn.functional.conv2d(a, fd.permute(2, 0, 1)[:, None], padding=1, groups=a.shape[1])
    d = t.nn.functional.relu6(d * c(g2) + c(b2)).to(x.dtype)
    return (pointwise(t, d, f3) * c(g3) + c(b3) + last).to(x.dtype).permute(0, 2, 3, 1)


def levels():
    def mine(*args, **options):
        row("levels", *args, **options)
    attention = "scaled_dot_product_attention"
    mine("masked_cumsum", "M=4000 N=9000", lambda t, x, m: t.where(m != 0, x, 0).cumsum(1), ints={"m": 2})
    mine("cumprod_columns", "B=64 M=600 N=500", lambda t, x: x.cumprod(1), positive=("x",))
    mine("l2_rows", "M=1200 N=65535", lambda t, x: x / x.norm(dim=1, keepdim=True))
    mine("argmin_columns", "B=96 M=700 N=900", lambda t, x: x.argmin(1), False)
    mine("symmetric_product", "N=3000 M=2000", lambda t, a, b: (0.5 * (a + a.T)) @ b)
    mine("triplet_cosine", "N=30000 D=384", triplet_cosine)
    mine("gemm_gelu_softmax", "M=1000 K=1500 N=1100", lambda t, x, w, b: t.nn.functional.gelu(t.nn.functional.linear(x, w, b)).softmax(1))
    mine("gemm_group_norm_min_bias", "M=1100 K=700 N=1536/32 O=300", gemm_group_norm_min_bias)
    mine("transposed3d_pool_clamp_softmax", "N=12 C=30 D=12 H=24 W=24 O=60", transposed3d_pool_clamp_softmax)
    mine("dense_transition", "N=24 C=200 H=56/4 W=56/4 O=100", dense_transition)
    mine("mbconv", "N=24 C=24 H=56/4 W=56/4 E=144 O=40", mbconv)
    mine("regnet_block", "N=32 G=7 Q=24 H=28 W=28", regnet_block, named=("G", "Q"))
    mine("unet_down", "N=4 C=48 H=96/4 W=96/4 O=96", unet_down)
    mine("vit_attention_f32", "B=16 H=12 T=197 D:64", lambda t, q, k, v: getattr(t.nn.functional, attention)(q, k, v))
    mine("bias_attention_f32", "B=6 H=8 T=500 D:64", lambda t, q, k, v, r: getattr(t.nn.functional, attention)(q, k, v, r, scale=1.0))
    mine("mingpt_attention_f32", "B=8 T=400 E=512/8", mingpt_attention_f32)
    mine("bi_lstm_step", "B=200 K=300 D=256", bi_lstm_step)
    mine("mbconv_bf16", "N=24 H=28 W=28 C=48/8 E=288/8", mbconv_bf16)
