# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of bench/unseen/turned.kc: products and chains whose operands lie otherwise in memory than their products would have them."""
from unseen_row import row


def attend(t, q, k, v, **options):
    return t.nn.functional.scaled_dot_product_attention(q, k, v, **options)


def depth_attention(t, q, k, v):
    q, k, v = (y.permute(0, 1, 4, 3, 2).contiguous() for y in (q, k, v))
    o = attend(t, q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1))
    return o.view(q.shape).permute(0, 1, 4, 3, 2).contiguous()


def heads_last(t, q, k, v):
    q, k, v = (y.permute(0, 3, 1, 2).contiguous() for y in (q, k, v))
    return attend(t, q, k, v).permute(0, 2, 3, 1).contiguous()


def batch_last(t, q, k, v, c):
    q, k, v = (y.permute(3, 1, 0, 2).contiguous() for y in (q, k, v))
    s = t.tanh((q @ k.transpose(2, 3)).float() * 0.02) * c[:, None, None]
    S = s.shape[-1]
    s = s.masked_fill(t.ones(S, S, device=s.device).triu(1).bool(), float("-inf"))
    return (t.softmax(s, 3).to(v.dtype) @ v).permute(2, 1, 3, 0).contiguous()


def relu_attention_last(t, q, k, v):
    q, k, v = (y.permute(0, 3, 1, 2).contiguous() for y in (q, k, v))
    s = ((q @ k.transpose(2, 3)).float() * q.shape[3] ** -0.5).relu() / q.shape[2]
    return (s.to(v.dtype) @ v).permute(0, 2, 3, 1).contiguous()


def cross_covariance(t, q, k, v, u):
    q, k, v = (y.permute(0, 2, 3, 1) for y in (q, k, v))
    a = t.softmax((q @ k.transpose(2, 3)).float() * u[:, None, None], 3).to(v.dtype)
    return (a @ v).permute(0, 3, 1, 2).contiguous()


def channel_attention(t, x, g):
    a = t.softmax(-(x @ x.transpose(1, 2)).float() * 0.03, 2).to(x.dtype)
    return (x.float() + g * (a @ x).float()).to(x.dtype)


def swin_windows(t, q, k, v, bias):
    B, H, W, G, D = q.shape

    def windows(y):
        return y.view(B, H // 8, 8, W // 8, 8, G, D).permute(0, 1, 3, 5, 2, 4, 6).reshape(-1, G, 64, D)
    o = attend(t, windows(q), windows(k), windows(v), attn_mask=bias.to(q.dtype))
    return o.view(B, H // 8, W // 8, G, 8, 8, D).permute(0, 1, 4, 2, 5, 3, 6).reshape(q.shape)


def linear_attention_last(t, q, k, v):
    c = t.einsum("bsdh,bseh->bhde", k, v) / k.shape[1]
    return t.einsum("bsdh,bhde->bseh", q, c).contiguous()


def pointwise_mlp(t, x, w1, b1, w2, b2):
    a = t.nn.functional.gelu((w1 @ x).float() + b1[:, None]).to(x.dtype)
    return (x.float() + (w2 @ a).float() + b2[:, None]).to(x.dtype)


def triangle_out(t, a, b):
    return t.einsum("ikc,jkc->ijc", a, b).contiguous()


def triangle_in(t, a, b, g):
    return (g.float().sigmoid() * t.einsum("kic,kjc->ijc", a, b).float()).to(a.dtype).contiguous()


def triangle_attention(t, q, k, v, z):
    q, k, v = (y.permute(1, 2, 0, 3) for y in (q, k, v))
    return attend(t, q, k, v, attn_mask=z.permute(2, 0, 1)).permute(2, 0, 1, 3).contiguous()


def grouped_last(t, x, w):
    return t.einsum("tdg,deg->teg", x, w).contiguous()


def time_attention(t, q, k, v):
    B, T, P, H, D = q.shape
    q, k, v = (y.permute(0, 2, 3, 1, 4).reshape(B * P, H, T, D) for y in (q, k, v))
    return attend(t, q, k, v).view(B, P, H, T, D).permute(0, 3, 1, 2, 4).contiguous()


def turned():
    def mine(*args, **options):
        row("turned", *args, **options)
    mine("depth_attention", "B=2 G:6 D:64 Z=72/8 P=1000/8", depth_attention, limit=2e-2)
    mine("heads_last", "B=6 S=700/4 T=900/4 D:64 H:16", heads_last, limit=2e-2)
    mine("batch_last", "B=24/8 S=600/8 H:8 D:64", batch_last, limit=2e-2)
    mine("relu_attention_last", "B=6 S=800/8 D:64 H:12", relu_attention_last, limit=2e-2)
    mine("cross_covariance", "B=24 N=1500 H:8 D:64", cross_covariance, made={"t": lambda t, d, s: t.rand(s["H"], device=d) / 20}, limit=3e-2)
    mine("channel_attention", "B=24 C=256/8 P=2000/8", channel_attention, scalars={"g": 0.4}, limit=3e-2)
    mine("swin_windows", "B=24 H=56/8 W=64/8 G:6 D:32", swin_windows, limit=2e-2)
    mine("linear_attention_last", "B=6 S=3000/8 D:64 E:64 H:12", linear_attention_last, limit=3e-2)
    mine("pointwise_mlp", "B=24 C=192/8 P=1500/8 U=600/8", pointwise_mlp, limit=2e-2)
    mine("triangle_out", "N=320/8 C:128", triangle_out, limit=2e-2)
    mine("triangle_in", "N=320/8 C:128", triangle_in, limit=2e-2)
    mine("triangle_attention", "N=320/8 H:4 D:32", triangle_attention, limit=2e-2)
    mine("grouped_last", "T=6000 D=256/8 E=192/8 G:24", grouped_last, limit=2e-2)
    mine("time_attention", "B=6 T=16/8 P=200 H:12 D:64", time_attention, limit=2e-2)
