# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of bench/unseen/chains.kc: convolutions and products with what stands behind them."""
from unseen_row import row


def conv3d_min_softmax(t, x, f, b):
    return t.nn.functional.conv3d(x, f, b).amin(2).softmax(1)


def transposed_mish_add_hardtanh(t, x, f, b):
    a = t.nn.functional.conv_transpose2d(x, f, b, stride=2, padding=1, output_padding=1)
    return t.nn.functional.hardtanh(t.nn.functional.mish(a) + 0.5) * 2


def transposed_pool_hardtanh_mean_tanh(t, x, f, b):
    a = t.nn.functional.conv_transpose2d(x, f, b, padding=1)
    return t.tanh(t.nn.functional.hardtanh(t.nn.functional.max_pool2d(a, 2)).mean((2, 3), keepdim=True))


def transposed3d_lse_hardswish_clamp(t, x, f, b, z):
    l = t.nn.functional.conv_transpose3d(x, f, b, stride=2, padding=1).logsumexp(1, keepdim=True)
    return (l * t.sigmoid(l + 3) / 6 - z).clamp(-1, 1)


def conv3d_instance_norm_clamp_max(t, x, f, b, g):
    a = t.nn.functional.conv3d(x, f, b) * g[:, None, None, None]
    return (t.nn.functional.instance_norm(a).clamp(-1, 1) * g[:, None, None, None]).amax(1)


def transposed_batch_norm_tanh_pool_group_norm(t, x, f, g, b, g2, b2):
    a = t.nn.functional.conv_transpose2d(x, f, stride=2, padding=1)
    p = t.nn.functional.max_pool2d(t.tanh(t.nn.functional.batch_norm(a, None, None, g, b, training=True)), 2)
    return t.nn.functional.group_norm(p, 4, g2, b2)


def gemm_hardtanh_mish_group_norm(t, x, w, b, c, g, h):
    return t.nn.functional.group_norm(t.nn.functional.mish(t.nn.functional.hardtanh(t.nn.functional.linear(x, w, b) + c)), 32, g, h)


def gemm_sigmoid_residual(t, x, w, b):
    h = t.nn.functional.linear(x, w, b)
    return t.sigmoid(h) * 2 + h


def gemm_sigmoid_gemm_lse(t, x, w1, b1, w2, b2):
    return t.nn.functional.linear(t.sigmoid(t.nn.functional.linear(x, w1, b1)), w2, b2).logsumexp(1)


def conv3d_pool_logsumexp_relu(t, x, f, b):
    p = t.nn.functional.max_pool3d(t.nn.functional.conv3d(x, f, b, padding=1), 2)
    return t.relu(p.logsumexp(1, keepdim=True))


def gemm_batch_norm_divide_swish(t, x, w, b, g, c, z):
    h = t.nn.functional.batch_norm(t.nn.functional.linear(x, w, b), None, None, g, c, training=True)
    return t.nn.functional.silu((h + z) / 1.5)


def conv_norm_relu6_add_last(t, x, f, m, v, g, b, z):
    a = t.nn.functional.conv2d(x.permute(0, 3, 1, 2), f.permute(3, 2, 0, 1), padding=1).permute(0, 2, 3, 1)
    return (t.nn.functional.relu6((a.float() - m) * t.rsqrt(v + 1e-5) * g + b) + z).to(x.dtype)


def wavenet_layer(t, x, ft, fs, wr, wk):
    conv = t.nn.functional.conv1d
    z = t.nn.functional.pad(x, (8, 0))
    h = t.tanh(conv(z, ft, dilation=8)) * t.sigmoid(conv(z, fs, dilation=8))
    return x + conv(h, wr[:, :, None]), conv(h, wk[:, :, None])


def norm_lstm_cell(t, x, h, c, w, u, g, b):
    a = (x @ w.T + h @ u.T).float().unflatten(1, (4, -1))
    i, f, n, o = (t.nn.functional.layer_norm(a, a.shape[-1:]) * g + b).unbind(1)
    c = t.sigmoid(f) * c + t.sigmoid(i) * t.tanh(n)
    return (t.sigmoid(o) * t.tanh(c)).to(x.dtype), c


def chains():
    def mine(*args, **options):
        row("chains", *args, **options)
    mine("conv3d_min_softmax", "N=36 C:3 D=18 H=36 W=36 O=24", conv3d_min_softmax)
    mine("transposed_mish_add_hardtanh", "N=40 C=64 H=40 W=40 O=48", transposed_mish_add_hardtanh)
    mine("transposed_pool_hardtanh_mean_tanh", "N=32 C=56 H=90/2 W=90/2 O=64", transposed_pool_hardtanh_mean_tanh)
    mine("transposed3d_lse_hardswish_clamp", "N=20 C:3 D=20 H=34 W=34 O=16", transposed3d_lse_hardswish_clamp)
    mine("conv3d_instance_norm_clamp_max", "N=40 C:3 D=18 H=34 W=34 O=20", conv3d_instance_norm_clamp_max)
    mine("transposed_batch_norm_tanh_pool_group_norm", "N=40 C=64 H=34 W=34 Q=24", transposed_batch_norm_tanh_pool_group_norm)
    mine("gemm_hardtanh_mish_group_norm", "M=1100 K=1800 N=2208/32", gemm_hardtanh_mish_group_norm)
    mine("gemm_sigmoid_residual_bf16", "M=1900 K=2600/8 N=4500/8", gemm_sigmoid_residual, limit=2e-2)
    mine("gemm_sigmoid_gemm_lse", "M=3000 K=900 H=1300 N=500", gemm_sigmoid_gemm_lse)
    mine("conv3d_pool_logsumexp_relu", "N=10 C=20 D=14/2 H=44/2 W=44/2 O=40", conv3d_pool_logsumexp_relu)
    mine("gemm_batch_norm_divide_swish", "M=1500 K=2100 N=3300", gemm_batch_norm_divide_swish)
    mine("conv_norm_relu6_add_last", "N=40 H=44 W=44 C=96/8 O=96/8", conv_norm_relu6_add_last, positive=("v",), limit=2e-2)
    mine("wavenet_layer", "N=12 C=96 L=9000 K=160", wavenet_layer)
    mine("norm_lstm_cell", "B=700 K=800/8 D=1000/8", norm_lstm_cell, limit=3e-2)
