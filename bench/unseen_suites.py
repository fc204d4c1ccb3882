# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of bench/unseen/suites.kc: sequences and blocks of public kernel benchmarks, small networks' layers."""
from unseen_row import row


def c(v):  # a vector along channels
    return v.view(1, -1, 1, 1)


def linear_group_norm_hardtanh(t, x, w, b, g, h):
    return t.nn.functional.hardtanh(t.nn.functional.group_norm(t.nn.functional.linear(x, w, b), 10, g, h))


def conv3d_leaky_add_clamp_gelu(t, x, f, b, z):
    a = t.nn.functional.leaky_relu(t.nn.functional.conv3d(x, f, b), 0.2) + z.view(1, -1, 1, 1, 1)
    return t.nn.functional.gelu(a.clamp(-1, 1))


def conv3d_softmax_pool_pool(t, x, f, b):
    p = t.nn.functional.conv3d(x, f, b).softmax(1)
    return t.nn.functional.max_pool3d(t.nn.functional.max_pool3d(p, 2), 2)


def transposed_softmax_bias_scale_sigmoid(t, x, f, b):
    return t.sigmoid((t.nn.functional.conv_transpose2d(x, f, stride=2, padding=1).softmax(1) + c(b)) * 2)


def stem_norm_relu_pool(t, x, f, g, b):
    return t.nn.functional.max_pool2d(t.relu(t.nn.functional.conv2d(x, f, stride=2, padding=3) * c(g) + c(b)), 3, 2, 1)


def depthwise_separable(t, x, fd, gd, bd, fp, gp, bp):
    d = t.relu(t.nn.functional.conv2d(x, fd[:, None], padding=1, groups=x.shape[1]) * c(gd) + c(bd))
    return t.relu(t.nn.functional.conv2d(d, fp[:, :, None, None]) * c(gp) + c(bp))


def squeeze_excite(t, x, w1, b1, w2, b2, f, g, b):
    linear = t.nn.functional.linear
    e = t.sigmoid(linear(t.nn.functional.silu(linear(x.mean((2, 3)), w1, b1)), w2, b2))
    return t.nn.functional.conv2d(x * e[:, :, None, None], f[:, :, None, None]) * c(g) + c(b)


def shuffle_unit(groups):
    def peer(t, x, f1, s1, b1, fd, s2, b2):
        a = t.relu(t.nn.functional.conv2d(x, f1[:, :, None, None], groups=groups) * c(s1) + c(b1))
        a = t.nn.functional.channel_shuffle(a, groups)
        return t.nn.functional.conv2d(a, fd[:, None], padding=1, groups=fd.shape[0]) * c(s2) + c(b2)
    return peer


def unet_double_conv(t, x, f1, g1, b1, f2, g2, b2):
    for f, g, b in ((f1, g1, b1), (f2, g2, b2)):
        x = t.nn.functional.batch_norm(t.nn.functional.conv2d(x, f, padding=1), None, None, g, b, training=True).softmax(-1)
    return x


def new_gelu_mlp(t, x, g, h, w1, b1, w2, b2):
    n = t.nn.functional.layer_norm(x, g.shape, g, h)
    a = t.nn.functional.gelu(t.nn.functional.linear(n, w1, b1), approximate="tanh")
    return t.nn.functional.linear(a, w2, b2) + x


def relu_attention_f32(t, qkv):
    b, s, e = qkv.shape[0], qkv.shape[1], qkv.shape[2] // 3
    q, k, v = (z.view(b, s, 6, e // 6).transpose(1, 2) for z in qkv.split(e, 2))
    p = t.relu(t.tril(q @ k.mT) * (e // 6) ** -0.5)
    return (p @ v).transpose(1, 2).reshape(b, s, e)


def patch_embedding(t, x, f, b, pos):
    return t.nn.functional.conv2d(x, f, b, stride=f.shape[2]).flatten(2).transpose(1, 2) + pos


def gru_step_f32(t, x, h, wi, wh, bi, bh):
    return t.gru_cell(x, h, wi.flatten(0, 1), wh.flatten(0, 1), bi.flatten(), bh.flatten())


def norm_relu_conv_bf16(t, x, s, b, f):
    return t.nn.functional.conv2d(t.relu(x.float() * c(s) + c(b)).to(x.dtype), f, padding=1)


def suites():
    def mine(*args, **options):
        row("suites", *args, **options)
    functional = "scaled_dot_product_attention"
    mine("linear_group_norm_hardtanh", "M=1020 K=1500 N=2080/160", linear_group_norm_hardtanh)
    mine("conv_instance_norm_divide", "N=100 C:3 H=66 W=66 O=24", lambda t, x, f, b: t.nn.functional.instance_norm(t.nn.functional.conv2d(x, f, b)) / 2)
    mine("conv3d_leaky_add_clamp_gelu", "N=24 C=8 D=16 H=50 W=50 O=48", conv3d_leaky_add_clamp_gelu)
    mine("conv3d_softmax_pool_pool", "N=64 C:3 D=18 H=34 W=34 O=16", conv3d_softmax_pool_pool)
    mine("transposed_softmax_bias_scale_sigmoid", "N=32 C=40 H=30 W=30 O=72", transposed_softmax_bias_scale_sigmoid)
    mine("stem_norm_relu_pool", "N=24 C:3 H=224/4 W=224/4 O=64", stem_norm_relu_pool)
    mine("depthwise_separable", "N=24 C=96 H=56 W=56 O=192", depthwise_separable)
    mine("squeeze_excite", "N=24 C=240 H=28 W=28 S=20 O=80", squeeze_excite)
    mine("shuffle_unit", "N=24 G:3 Q=80 R=80 H=28 W=28", shuffle_unit(3), named=("G", "R", "Q"))
    mine("unet_double_conv", "N=8 C=8 H=64 W=256 O=48", unet_double_conv)
    mine("new_gelu_mlp", "M=3000 E=384 F=1536", new_gelu_mlp)
    mine("relu_attention_f32", "B=16 T=300 E=384/6", relu_attention_f32)
    mine("causal_attention_f32", "B=24 H=12 T=300 D=64", lambda t, q, k, v: getattr(t.nn.functional, functional)(q, k, v, is_causal=True))
    mine("patch_embedding", "N=48 C:3 P:16 A=14 B=14 E=384", patch_embedding, named=("P", "A", "B"))
    mine("gru_step_f32", "B=130 K=320 D=448", gru_step_f32)
    mine("norm_relu_conv_bf16", "N=24 C=200/8 H=28 W=28 O=24/8", norm_relu_conv_bf16)
