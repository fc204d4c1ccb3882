# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The rows of bench/unseen.py: each program of bench/unseen/ with its sizes and the same in PyTorch. `t` is the module torch. Kernels of
training and of large models, and what was added since, stand in files of their own."""
from unseen_branches import branches
from unseen_chains import chains
from unseen_domains import domains
from unseen_engines import engines
from unseen_fields import fields
from unseen_further import further
from unseen_later import later
from unseen_levels import levels
from unseen_models import models
from unseen_newer import newer
from unseen_row import ROWS, row  # noqa: F401
from unseen_sequels import sequels
from unseen_signals import signals
from unseen_suites import suites
from unseen_tables import tables
from unseen_turned import turned
from unseen_windows import windows


def conv(rank, **options):
    return lambda t, x, f: getattr(t.nn.functional, f"conv{rank}d")(x, f, **options)


def transposed(rank, **options):
    return lambda t, x, f: getattr(t.nn.functional, f"conv_transpose{rank}d")(x, f, **options)


def products():
    def mine(*args, **options):
        row("products", *args, **options)
    mine("nn", "M=2176 K=3200 N=1888", lambda t, a, b: a @ b, False)
    mine("tn", "M=3072 K=5000 N=2048", lambda t, a, b: a.T @ b, False)
    mine("nt", "M=1536 K=2304 N=6144", lambda t, a, b: a @ b.T, False)
    mine("nt", "M=777 K=1031 N=515", lambda t, a, b: a @ b.T, False)
    mine("nn", "M=8205 K=2949 N=5921", lambda t, a, b: a @ b, False)
    mine("tt_bf16", "M=3456 K=4224 N=2816", lambda t, a, b: a.T @ b.T, False)
    mine("nn_bf16", "M=1400 K=2900 N=5200", lambda t, a, b: a @ b, False)
    mine("batched", "B=96 M=384 K=288 N=640", lambda t, a, b: t.bmm(a, b), False)
    mine("batched_bf16", "B=768 M=197 K=64 N=197", lambda t, a, b: t.bmm(a, b.mT), False)
    mine("tensor_4d", "B=12 I=160 J=320 L=192 K=640", lambda t, x, w: x @ w, False)
    mine("tensor_4d_bf16", "B=12 I=160 J=320 L=192 K=640", lambda t, x, w: x @ w, False)
    mine("nn", "M=262144 K=48 N=48", lambda t, a, b: a @ b, False)
    mine("nn", "M=192 K=196608 N=160", lambda t, a, b: a @ b, False)
    mine("nn", "M=12288 K=40 N=12288", lambda t, a, b: a @ b, False)
    mine("nn_bf16", "M=24 K=5120 N=13824", lambda t, a, b: a @ b, False)
    mine("matvec", "M=3000 K=100000", lambda t, a, x: a @ x, False)
    mine("matvec_bf16", "M=14336 K=4096", lambda t, a, x: a @ x, False)
    mine("vecmat", "K=5120 N=13824", lambda t, x, a: x @ a, False)
    mine("upper", "N=3000", lambda t, a, b: t.triu(a @ b), made={"a": triu, "b": triu})
    mine("lower", "N=3584", lambda t, a, b: t.tril(a @ b), made={"a": tril, "b": tril})
    mine("diagonal", "M=7000 N=5000", lambda t, d, b: d[:, None] * b)
    mine("gram", "K=20000 M=768", lambda t, x: x.T @ x, False)
    mine("outer_sum", "B=4096 I=384 J=512", lambda t, x, w, y: ((x @ w) * y).sum(1))


def triu(t, device, sizes):
    return t.triu(t.randn(sizes["N"], sizes["N"], device=device))


def tril(t, device, sizes):
    return t.tril(t.randn(sizes["N"], sizes["N"], device=device))


def rms_channels(t, x):
    return x * t.rsqrt(x.square().mean(1, keepdim=True) + 1e-5)


def memory():
    def mine(*args, **options):
        row("memory", *args, **options)
    mine("activation_chain", "M=16384 N=5120", lambda t, x: t.nn.functional.hardswish(t.nn.functional.mish(x)) + t.nn.functional.logsigmoid(x))
    mine("new_gelu", "M=9000 N=7000", lambda t, x: 0.5 * x * (1 + t.tanh((2 / 3.141592653589793) ** 0.5 * (x + 0.044715 * x ** 3))))
    mine("log_softmax_rows", "M=3000 N=64000", lambda t, x: t.log_softmax(x, 1))
    mine("softmax_channels", "B=16 C=21 H=384 W=384", lambda t, x: t.softmax(x, 1))
    mine("batch_norm", "N=48 C=80 H=112 W=112", lambda t, x, g, b: t.nn.functional.batch_norm(x, None, None, g, b, training=True))
    mine("instance_norm", "N=24 C=48 H=250 W=250", lambda t, x: t.nn.functional.instance_norm(x))
    mine("group_norm", "N=32 C=320/8 H=64 W=64", lambda t, x, g, b: t.nn.functional.group_norm(x, 8, g, b))
    mine("rms_channels", "N=32 C=96 H=160 W=160", rms_channels)
    mine("layer_norm_3d", "N=24 C=48 H=200 W=200", lambda t, x, g, b: t.nn.functional.layer_norm(x, x.shape[1:], g, b))
    mine("l1_rows", "M=6000 N=30000", lambda t, x: x / x.abs().mean(1, keepdim=True))
    mine("frobenius", "A=96 B=700 C=900", lambda t, x: x / t.norm(x))
    mine("max_pool_1d", "N=48 C=160 L=20001", lambda t, x: t.nn.functional.max_pool1d(x, 5, 2, 2, 3))
    mine("max_pool_2d", "N=64 C=96 H=112 W=112", lambda t, x: t.nn.functional.max_pool2d(x, 3, 2, 1))
    mine("max_pool_3d", "N=8 C=48 D=48 H=80 W=80", lambda t, x: t.nn.functional.max_pool3d(x, 2))
    mine("mean_pool_1d", "N=48 C=160 L=20000", lambda t, x: t.nn.functional.avg_pool1d(x, 4, 1, 1))
    mine("mean_pool_2d", "N=24 C=72 H=225 W=225", lambda t, x: t.nn.functional.avg_pool2d(x, 3, 2, 1))
    mine("mean_pool_3d", "N=12 C=40 D=60 H=72 W=84", mean_pool_3d)
    mine("global_pool", "N=128 C=1280 H=14 W=14", lambda t, x: x.mean((2, 3)))
    mine("sum_first", "A=120 B=1000 C=600", lambda t, x: x.sum(0))
    mine("mean_last", "A=100 B=3000 C=400", lambda t, x: x.mean(2))
    mine("max_first", "A=2000 B=60 C=500", lambda t, x: x.amax(0))
    mine("argmax_first", "A=300 B=500 C=400", lambda t, x: x.argmax(0))
    mine("argmin_middle", "A=48 B=2000 C=700", lambda t, x: x.argmin(1))
    mine("argmax_last", "A=64 B=900 C=1500", lambda t, x: x.argmax(2), made={"x": distinct}, limit=1e9)
    mine("prod_middle", "A=64 B=900 C=1100", lambda t, x: x.prod(1), made={"x": lambda t, device, s: 1 + 0.01 * t.randn(s["A"], s["B"], s["C"], device=device)})
    mine("std_rows", "M=20000 N=3000", lambda t, x: (x.mean(1), x.std(1, correction=0)))
    mine("cumprod", "M=6000 N=9000", lambda t, x: x.cumprod(1), made={"x": lambda t, device, s: 1 + 0.001 * t.randn(s["M"], s["N"], device=device)})
    mine("cumsum_exclusive", "M=6000 N=9000", lambda t, x: t.cumsum(t.nn.functional.pad(x, (1, -1)), 1))
    mine("cumsum_reverse", "M=9000 N=5001", lambda t, x: x.flip(1).cumsum(1).flip(1))
    mine("cumsum_middle", "A=48 B=700 C=900", lambda t, x: x.cumsum(1))
    mine("cummax", "M=5000 N=7000", lambda t, x: x.cummax(1).values)
    mine("smooth_l1", "M=20000 N=3000", lambda t, x, y: t.nn.functional.smooth_l1_loss(x, y))
    mine("hinge_loss", "M=20000 N=3000", lambda t, x, y: t.clamp(1 - x * y[:, None], min=0).mean())
    mine("kl_loss", "M=9000 N=5000", lambda t, x, y: t.nn.functional.kl_div(t.log_softmax(x, 1), t.softmax(y, 1), reduction="batchmean"))
    mine("cosine_loss", "M=30000 N=1500", lambda t, x, y: (1 - t.nn.functional.cosine_similarity(x, y, dim=1)).mean())
    mine("focal_loss", "M=20000 N=2000", focal, positive=("t",))
    mine("class_loss", "M=20000 N=7000", lambda t, x, y: t.nn.functional.cross_entropy(x.float(), y), ints={"t": "N"})


def distinct(t, device, s):
    """Of bf16 many are equal, and PyTorch's argmax of equal ones is any."""
    x = t.rand(s["A"], s["B"], s["C"], device=device)
    return x.scatter(2, t.randint(0, s["C"], (s["A"], s["B"], 1), device=device), 2.0)


def mean_pool_3d(t, x):
    return t.nn.functional.avg_pool3d(x if x.is_cuda else x.float(), 3, 2, 1).to(x.dtype)


def focal(t, x, y):
    ce = t.nn.functional.binary_cross_entropy_with_logits(x, y, reduction="none")
    return ((1 - t.exp(-ce)) ** 2 * ce).mean()


def convolutions():
    def mine(*args, **options):
        row("convolutions", *args, **options)
    mine("dilated_1d", "N=48 C=96 L=30000 O=160 R:3", conv(1, stride=3, dilation=4), False)
    mine("stem_2d", "N=48 C:3 H=224 W=224 O=96 R:7", conv(2, stride=2, padding=3), False)
    mine("same_2d", "N=24 C=96 H=96 W=96 O=160 R:3 S:3", conv(2, padding="same"), False)
    mine("same_2d", "N=16 C=48 H=150 W=200 O=80 R:3 S:7", conv(2, padding="same"), False)
    mine("same_2d", "N=32 C=24 H=120 W=120 O=48 R:5 S:5", conv(2, padding="same"), False)
    mine("same_2d_bf16", "N=48 C=192 H=56 W=56 O=224 R:3 S:3", conv(2, padding="same"), False)
    mine("dilated_2d", "N=16 C=48 H=160 W=160 O=64 R:3 S:5", conv(2, padding=(2, 6), dilation=(2, 3)), False)
    mine("depthwise_2d", "N=48 C=144 H=112 W=112 R:5 S:5", lambda t, x, f: t.nn.functional.conv2d(x, f[:, None], padding="same", groups=x.shape[1]), False)
    mine("depthwise_2d", "N=24 C=160 H=180 W=220 R:1 S:7", lambda t, x, f: t.nn.functional.conv2d(x, f[:, None], padding="same", groups=x.shape[1]), False)
    mine("depthwise_2d_bf16", "N=96 C=240 H=56 W=56 R:3 S:3", lambda t, x, f: t.nn.functional.conv2d(x, f[:, None], padding="same", groups=x.shape[1]), False)
    mine("grouped_2d", "N=32 G=8 P=20 Q=24 H=64 W=64", lambda t, x, f: t.nn.functional.conv2d(x, f, padding=1, groups=x.shape[1] // f.shape[1]), False, named=("G",))
    mine("pointwise_2d", "N=24 C=120 H=140 W=140 O=200", lambda t, x, f: t.nn.functional.conv2d(x, f[:, :, None, None]), False)
    mine("separable_2d", "N=24 C=72 H=128 W=128 O=144 R:3", lambda t, x, f, w: t.nn.functional.conv2d(t.nn.functional.conv2d(x, f[:, None], padding="same", groups=x.shape[1]), w[:, :, None, None]))
    mine("asymmetric_3d", "N=8 C=24 D=20 H=64 W=64 O=48 Q:3 R:5 S:7", conv(3), False)
    mine("asymmetric_3d", "N=8 C:3 D=32 H=96 W=96 O=64 Q:3 R:3 S:3", conv(3), False)
    mine("transposed_1d", "N=48 C=96 L=20000 O=64 R:5", transposed(1, stride=2, padding=1, output_padding=1), False)
    mine("transposed_2d", "N=24 C=96 H=72 W=72 O=48", transposed(2, stride=2, padding=1, output_padding=1), False)
    mine("transposed_2d_bf16", "N=32 C=256 H=36 W=36 O=128", transposed(2, stride=2, padding=1), False)
    mine("transposed_3d", "N=12 C=32 D=14 H=28 W=28 O=40", transposed(3, stride=2, padding=1, output_padding=1), False)
    mine("transposed_depthwise", "N=32 C=128 H=64 W=64", lambda t, x, f: t.nn.functional.conv_transpose2d(x, f[:, None], stride=2, padding=1, groups=x.shape[1]), False)


def fused():
    def mine(*args, **options):
        row("fused", *args, **options)

    def c(v):  # a vector along channels
        return v.view(1, -1, 1, 1)

    def d(v):
        return v.view(1, -1, 1, 1, 1)

    def conv_min_tanh(t, x, f, b):
        return t.tanh(t.tanh(t.nn.functional.conv2d(x, f, b).amin(1, keepdim=True)))

    def conv_group_norm_pool(t, x, f, g, b, s):
        z = t.nn.functional.group_norm(t.nn.functional.conv2d(x, f, padding=1), 8, g, b) * c(s)
        return t.nn.functional.max_pool2d(z, 4).clamp(0, 1)

    def conv_residual_logsumexp(t, x, f, g, b):
        a = t.nn.functional.conv2d(x, f, padding=1)
        return t.logsumexp(a + t.nn.functional.hardswish(t.tanh(t.nn.functional.group_norm(a, 8, g, b))), 1, keepdim=True)

    def conv3d_group_norm_mean(t, x, f, g, b):
        return t.nn.functional.group_norm(t.nn.functional.conv3d(x, f), 4, g, b).clamp(max=0.5).mean((1, 2, 3, 4))

    def transposed_pool_logsumexp(t, x, f, b):
        return t.logsumexp(t.nn.functional.conv_transpose2d(x, f).mean((2, 3)) + b, 1) * 10

    def transposed_softmax_sigmoid(t, x, f, b):
        return t.sigmoid((t.softmax(t.nn.functional.conv_transpose2d(x, f, stride=2, padding=1), 1) + c(b)) * 2)

    def transposed3d(t, x, f):
        return t.nn.functional.conv_transpose3d(x, f, stride=2, padding=1, output_padding=1)

    def transposed3d_sum_norm_pool_gelu(t, x, f, g, b, s):
        z = t.nn.functional.layer_norm((transposed3d(t, x, f) + s).movedim(1, -1), g.shape, g, b).movedim(-1, 1)
        return t.nn.functional.gelu(t.nn.functional.avg_pool3d(z, 2))

    def transposed3d_batch_norm_centre(t, x, f, g, b):
        z = t.nn.functional.batch_norm(transposed3d(t, x, f), None, None, g, b, training=True)
        return z - z.mean((2, 3, 4), keepdim=True)

    def transposed3d_swish_group_norm(t, x, f, g, b):
        return t.nn.functional.hardswish(t.nn.functional.group_norm(t.nn.functional.silu(transposed3d(t, x, f)), 4, g, b))

    def gemm_group_norm_swish(t, x, w, b, g, c, u):
        z = t.nn.functional.silu(t.nn.functional.group_norm(t.nn.functional.linear(x, w, b), 16, g, c))
        return t.nn.functional.silu(z * u)

    def gemm_logsumexp_gelu(t, x, w, b):
        a, leaky, gelu = t.logsumexp(t.nn.functional.linear(x, w, b), 1, keepdim=True), t.nn.functional.leaky_relu, t.nn.functional.gelu
        return gelu(gelu(leaky(leaky(a))))

    def bilinear(t, x, w, b, z):
        a = t.nn.functional.linear(x, w, b)
        return (t.nn.functional.layer_norm(a, a.shape[1:]) + z) * z

    mine("conv_relu_bias", "N=48 C=64 H=96 W=96 O=112", lambda t, x, f, b: t.relu(t.nn.functional.conv2d(x, f)) + c(b))
    mine("conv_min_tanh", "N=48 C=48 H=128 W=128 O=64", conv_min_tanh)
    mine("conv_max_tanh_bf16", "N=48 C=64 H=96 W=96 O=128", lambda t, x, f, b: t.tanh(t.nn.functional.conv2d(x, f, b, padding=1).amax(1, keepdim=True)))
    mine("conv_instance_norm", "N=48 C=48 H=100 W=100 O=96", lambda t, x, f: t.nn.functional.instance_norm(t.nn.functional.conv2d(x, f)) / 2)
    mine("conv_group_norm_pool", "N=48 C=16 H=128/4 W=128/4 Q=10", conv_group_norm_pool)
    mine("conv_hardswish_pool_mish", "N=48 C=48 H=96 W=96 O=80", lambda t, x, f: t.nn.functional.mish(t.nn.functional.max_pool2d(t.nn.functional.hardswish(t.nn.functional.conv2d(x, f) - 0.5), 2)))
    mine("conv_residual_logsumexp", "N=48 C=16 H=100 W=100 Q=8", conv_residual_logsumexp)
    mine("conv_avg_sigmoid_sum", "N=64 C=16 H=150 W=150 O=72", lambda t, x, f: t.sigmoid(t.nn.functional.avg_pool2d(t.nn.functional.conv2d(x, f), 4)).sum((1, 2, 3)))
    mine("conv_batch_norm_scale", "N=48 C=96 H=64 W=64 O=160", lambda t, x, f, g, b, m, v: ((t.nn.functional.conv2d(x, f, padding=1) - c(m)) * t.rsqrt(c(v) + 1e-5) * c(g) + c(b)).mul(2).to(x.dtype), positive=("var0",))
    mine("conv3d_softmax_pool", "N=32 C:3 D=18 H=34 W=34 O=20", lambda t, x, f: t.nn.functional.max_pool3d(t.nn.functional.max_pool3d(t.softmax(t.nn.functional.conv3d(x, f), 1), 2), 2))
    mine("conv3d_group_norm_mean", "N=24 C:3 D=20 H=40 W=40 Q=8", conv3d_group_norm_mean)
    mine("transposed_bias_clamp", "N=32 C=48 H=96 W=96 O=72", lambda t, x, f, b: (t.nn.functional.conv_transpose2d(x, f, b, stride=2, padding=1, output_padding=1).clamp(0, 1) * 2).clamp(0, 1) / 2)
    mine("transposed_pool_logsumexp", "N=16 C=48 H=200 W=200 O=96", transposed_pool_logsumexp)
    mine("transposed_softmax_sigmoid", "N=48 C=96 H=48 W=48 O=64", transposed_softmax_sigmoid)
    mine("transposed3d_sum_norm_pool_gelu", "N=12 C=24 D=12 H=24 W=24 O=56", transposed3d_sum_norm_pool_gelu)
    mine("transposed3d_batch_norm_centre", "N=12 C=16 D=14 H=28 W=28 O=36", transposed3d_batch_norm_centre)
    mine("transposed3d_swish_group_norm", "N=16 C:3 D=14 H=28 W=28 Q=5", transposed3d_swish_group_norm)
    mine("gemm_group_norm_swish", "M=1024 K=4000 Q=200", gemm_group_norm_swish)
    mine("gemm_pool_sum", "M=1024 K=6000 P=2800", lambda t, x, w, b: t.nn.functional.max_pool1d(t.nn.functional.linear(x, w, b)[:, None], 2)[:, 0].sum(1) * 0.5)
    mine("gemm_logsumexp_gelu", "M=1024 K=5000 N=6000", gemm_logsumexp_gelu)
    mine("gemm_mean_logsumexp_residual", "M=1500 K=4000 N=3000", lambda t, x, w, b, s, r: t.nn.functional.gelu((t.nn.functional.linear(x, w, b) - s).mean(1, keepdim=True)) + r)
    mine("gemm_batch_norm_swish", "M=1024 K=3000 N=2500", lambda t, x, w, g, c, b: t.nn.functional.silu((t.nn.functional.batch_norm(x @ w.T, None, None, g, c, training=True) + b) / 2))
    mine("gemm_softmax_scale_bf16", "M=4096 K=2048 N=3000", lambda t, x, w, b: t.softmax((t.nn.functional.linear(x, w, b) * 0.5).clamp(min=-1), 1))
    mine("linear_residual_norm", "M=6000 K=1536 N=768", lambda t, x, w, b, r, g, c: t.nn.functional.layer_norm(t.nn.functional.linear(x, w, b) + r, g.shape, g, c))
    mine("bilinear_norm_residual", "M=1024 K=6000 N=5000", bilinear)
    mine("gemm_scale_hardtanh_gelu", "M=3000 K=4096 N=6144", lambda t, x, w, b: t.nn.functional.gelu(t.nn.functional.hardtanh(t.nn.functional.linear(x, w, b) * 0.5, -2, 2)))


def attention(t, qkv, heads, causal):
    b, s, e = qkv.shape[0], qkv.shape[1], qkv.shape[2] // 3
    q, k, v = (z.view(b, s, heads, e // heads).transpose(1, 2) for z in qkv.split(e, 2))
    return t.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2).reshape(b, s, e)


def lstm_cell(t, x, h, c, wi, wh, b):
    i, f, g, o = (x @ wi.T + h @ wh.T + b).chunk(4, 1)
    cn = t.sigmoid(f) * c + t.sigmoid(i) * t.tanh(g)
    return t.sigmoid(o) * t.tanh(cn), cn


def gru_cell(t, x, h, wi, wh, bi, bh):
    u, v = (x @ wi.T + bi).chunk(3, 1), (h @ wh.T + bh).chunk(3, 1)
    z = t.sigmoid(u[1] + v[1])
    return (1 - z) * t.tanh(u[2] + t.sigmoid(u[0] + v[0]) * v[2]) + z * h


def rnn(t, x, wi, wh, b):
    u, h, found = x @ wi.T + b, x.new_zeros(x.shape[1], wh.shape[0]), []
    for step in u:
        h = t.tanh(step + h @ wh.T)
        found.append(h)
    return t.stack(found)


def moe_top2(t, x, wr, w1, w2):
    p, e = (x @ wr.T).float().topk(2, 1)
    p, y = t.softmax(p, 1), t.zeros_like(x, dtype=t.float32)
    for n in range(wr.shape[0]):
        at, which = t.where(e == n)
        y.index_add_(0, at, (t.nn.functional.silu(x[at] @ w1[n].T) @ w2[n].T).float() * p[at, which, None])
    return y.to(x.dtype)


def rope_cache(t, q, k, v, c, s, n):
    c, s, (a, b) = c.repeat(2), s.repeat(2), q.float().chunk(2, 2)
    q = (q * c + t.cat([-b, a], 2) * s).to(q.dtype)
    mask = (t.arange(k.shape[2], device=k.device) < n[:, None])[:, None, None]
    return t.nn.functional.scaled_dot_product_attention(q[:, :, None], k, v, attn_mask=mask, enable_gqa=True)[:, :, 0]


def vit_block(t, x, g1, c1, wq, wo, g2, c2, w1, b1, w2, b2):
    norm, linear = t.nn.functional.layer_norm, t.nn.functional.linear
    r = x + linear(attention(t, linear(norm(x, g1.shape, g1, c1), wq), 12, False), wo)
    return r + linear(t.nn.functional.gelu(linear(norm(r, g2.shape, g2, c2), w1, b1)), w2, b2)


def mamba_scan(t, x, dt, a, u, v, z, skip):
    dt = t.nn.functional.softplus(dt)
    steps, pushes = t.exp(dt[..., None] * a), (dt * x)[..., None] * u[:, :, None]
    h, found = t.zeros_like(steps[:, 0]), []
    for n in range(x.shape[1]):
        h = steps[:, n] * h + pushes[:, n]
        found.append((h * v[:, n, None]).sum(-1))
    return (t.stack(found, 1) + skip * x) * t.nn.functional.silu(z)


def netvlad(t, x, wc, s, shift, c):
    a = t.softmax(x @ wc * s + shift, 2)
    v = t.nn.functional.normalize(t.einsum("bnk,bnd->bdk", a, x) - a.sum(1)[:, None] * c, dim=1)
    return t.nn.functional.normalize(v.flatten(1), dim=1).view_as(v)


def decayed(t, q, k, g):
    at = t.arange(q.shape[2], device=q.device)
    apart = at[:, None] - at
    return (q @ k.mT) * t.where(apart >= 0, g.view(-1, 1, 1) ** apart.clamp(min=0), 0.0)


def graph_layer(t, x, src, ptr, w, b):
    degree = (ptr[1:] - ptr[:-1]).long()
    to = t.repeat_interleave(t.arange(x.shape[0], device=x.device), degree, output_size=src.shape[0])
    m = t.zeros_like(x).index_add_(0, to, x[src.long()]) / degree.clamp(min=1)[:, None]
    return t.relu(m @ w.T + b)


def ends(t, device, s):
    return t.cat([t.zeros(1, device=device), t.sort(t.randint(0, s["E"] + 1, (s["V"] - 1,), device=device)).values, t.full((1,), s["E"], device=device)])


def blocks():
    def mine(*args, **options):
        row("blocks", *args, **options)

    def c(v):
        return v.view(1, -1, 1, 1)

    def pointwise(t, x, f, b):
        return t.nn.functional.conv2d(x, f[:, :, None, None], b)

    def resnet_basic(t, x, f1, s1, b1, f2, s2, b2):
        h = t.relu(t.nn.functional.conv2d(x, f1, padding=1) * c(s1) + c(b1))
        return t.relu(t.nn.functional.conv2d(h, f2, padding=1) * c(s2) + c(b2) + x)

    def fire(t, x, f, fb, f1, b1, f3, b3):
        q = t.relu(pointwise(t, x, f, fb))
        return t.cat([t.relu(pointwise(t, q, f1, b1)), t.relu(t.nn.functional.conv2d(q, f3, b3, padding=1))], 1)

    def inverted_residual(t, x, f1, b1, fd, bd, f2, b2):
        a = t.nn.functional.relu6(pointwise(t, x, f1, b1))
        return pointwise(t, t.nn.functional.relu6(t.nn.functional.conv2d(a, fd[:, None], bd, padding=1, groups=a.shape[1])), f2, b2) + x

    def unet_up(t, x, z, ft, bt, f, b):
        return t.relu(t.nn.functional.conv2d(t.cat([z, t.nn.functional.conv_transpose2d(x, ft, bt, stride=2)], 1), f, b, padding=1))

    def squeeze_excite(t, x, w1, b1, w2, b2):
        return x * t.sigmoid(t.nn.functional.silu(x.mean((2, 3)) @ w1.T + b1) @ w2.T + b2)[:, :, None, None]

    def reparametrise(t, x, wm, wv, e):
        m, v = x @ wm.T, x @ wv.T
        return m + e * t.exp(0.5 * v), -0.5 * (1 + v - m ** 2 - v.exp()).sum(1).mean()

    def mlp3(t, x, w1, b1, w2, b2, w3, b3):
        linear = t.nn.functional.linear
        return linear(t.relu(linear(t.relu(linear(x, w1, b1)), w2, b2)), w3, b3)

    def gpt_attention(t, x, wq, bq, wo, bo):
        return t.nn.functional.linear(attention(t, t.nn.functional.linear(x, wq, bq), 12, True), wo, bo)

    def cross_attention(t, x, z, wq, wk, wv):
        q, k, v = (y.view(*y.shape[:2], 8, -1).transpose(1, 2) for y in (x @ wq.T, z @ wk.T, z @ wv.T))
        return t.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)

    mine("mlp3", "M=3000 K=1024 H=4096 N=1000", mlp3)
    mine("mlp3", "M=48 K=784 H=1024 N=40", mlp3)
    mine("resnet_basic", "N=32 C=96 H=56 W=56", resnet_basic)
    mine("fire", "N=48 C=96 H=55 W=55 S=16 E=64", fire)
    mine("inverted_residual", "N=32 C=32 H=56 W=56 E=192", inverted_residual)
    mine("dense_layer", "N=24 C=128 H=56 W=56 G=32", lambda t, x, s, b, f: t.cat([x, t.nn.functional.conv2d(t.relu(x * c(s) + c(b)), f, padding=1)], 1))
    mine("lstm_cell", "B=256 I=512 H=640", lstm_cell)
    mine("gru_cell", "B=192 I=400 H=768", gru_cell)
    mine("rnn", "T:8 B=128 I=256 H=320", rnn)
    mine("swiglu", "M=2000 K=2048 H=5504", lambda t, x, g, u, d: (t.nn.functional.silu(x @ g.T) * (x @ u.T)) @ d.T)
    mine("gpt_attention", "B=8 S=700 E=768/96", gpt_attention)
    mine("vit_block", "B=48 S=197 E=768/96 F=3072", vit_block)
    mine("moe_top2", "T=600 D=512 F=1408 X:8", moe_top2, limit=3e-2)
    mine("rope_cache", "B=24 H:32 G:8 T=3000 P:64", rope_cache, ints={"n": "T"}, made={"n": lambda t, device, s: t.randint(1, s["T"] + 1, (s["B"],), device=device)})
    mine("unet_up", "N=12 C=128 H=48 W=48 E=64", unet_up)
    mine("squeeze_excite", "N=48 C=144 H=64 W=64 R=36", squeeze_excite)
    mine("mamba_scan", "B=4 L=64 D=1536 N:16", mamba_scan, made={"a": lambda t, device, s: -t.rand(s["D"], s["N"], device=device)})
    mine("reparametrise", "B=4096 D=784 Z=200", reparametrise)
    mine("netvlad", "B=48 S=400 D=512 K=48", netvlad)
    mine("retention", "B=4 H=8 S=96 D:64", lambda t, q, k, v, g: decayed(t, q, k, g) @ v, made={"g": lambda t, device, s: 1 - 2.0 ** (-5 - t.arange(s["H"], device=device))})
    mine("retention_parallel", "B=4 H=16 S=1500 D:64", lambda t, q, k, v, g: decayed(t, q, k, g).to(v.dtype) @ v, made={"g": lambda t, device, s: 1 - 2.0 ** (-5 - t.arange(s["H"], device=device) / 4)})
    mine("graph_layer", "V=30000 I=128 O=96 E=400000", graph_layer, ints={"src": "V"}, made={"ptr": ends})
    mine("channel_shuffle", "N=64 G:6 P=40 H=56 W=56", lambda t, x: x.unflatten(1, (6, -1)).transpose(1, 2).flatten(1, 2), named=("G",))
    mine("cross_attention", "B=16 S=500 T=77 E=640/64", cross_attention)


for family in (fused, blocks, newer, convolutions, products, memory, later, further, chains, models, fields, suites, windows, domains,
               levels, branches, sequels, tables, turned, signals, engines):
    family()
