#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that memory bounds, of the sizes of models, beside PyTorch: eager and torch.compile.

    memory_wide.py [WORDS ..] [--part 1/2] [--seconds 170]     rows whose title has one of the words
    memory_wide.py --device cpu                                 whether both compute the same, at a few rows
    memory_wide.py --warm                                       compiles and compares alone; a run behind it finds all in caches

Norms, statistics, softmaxes, losses, scans and reductions along each dim, chains of pointwise statements, transposes, gathers and
optimizers, of f32 and bf16. Results are compared with eager's first; then contenders take turns, the L2 flushed before each run.
"""
import argparse
import sys
import time

import operators  # (its environment, before kernelc)
import torch
import torch.nn.functional as F

TORCH = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "i32": torch.int32, "i64": torch.int64, "i8": torch.int8}
VOCABULARIES = (50257, 128256)
ROWS = []


def row(title, text, inputs, peer):
    """`inputs`: of each parameter its type and shape, an i64's with the number below which its elements are, or a number."""
    ROWS.append((title, "def f(" + text + "\n", inputs, peer))


def sized(*shape):
    return "x".join(map(str, shape))


def wide(x):
    return x.float() if x.dtype == torch.bfloat16 else x


def norms():
    for t, n, c, g, h in [("bf16", 32, 512, 32, 28), ("f32", 16, 320, 32, 64), ("bf16", 8, 128, 8, 127)]:
        row(f"group norm {sized(n, c, h, h)} {t}, {g} groups",
            f"x: {t}[N, C, H, W], a: {t}[C], b: {t}[C]) -> (y: {t}[N, C, H, W]) {{\n  require C == {c}\n"
            f"  let m[n, g] = mean[c in 0:{c // g}, h, w](x[n, g * {c // g} + c, h, w]) where g in 0:{g}\n"
            f"  let v[n, g] = mean[c in 0:{c // g}, h, w]((x[n, g * {c // g} + c, h, w] - m[n, g]) ** 2) where g in 0:{g}\n"
            f"  y[n, c, h, w] = (x[n, c, h, w] - m[n, c // {c // g}]) * rsqrt(v[n, c // {c // g}] + 1e-5) * a[c] + b[c]\n}}",
            [(t, n, c, h, h), (t, c), (t, c)], lambda x, a, b, g=g: F.group_norm(x, g, a, b))
    for t, n, c, h in [("f32", 32, 256, 56), ("bf16", 64, 512, 28), ("f32", 16, 64, 111), ("bf16", 32, 256, 56), ("bf16", 64, 1024, 14), ("bf16", 128, 64, 112)]:
        row(f"batch norm, training {sized(n, c, h, h)} {t}",
            f"x: {t}[N, C, H, W], a: {t}[C], b: {t}[C]) -> (y: {t}[N, C, H, W]) {{\n  let m[c] = mean[n, h, w](x[n, c, h, w])\n"
            "  let v[c] = mean[n, h, w]((x[n, c, h, w] - m[c]) ** 2)\n"
            "  y[n, c, h, w] = (x[n, c, h, w] - m[c]) * rsqrt(v[c] + 1e-5) * a[c] + b[c]\n}",
            [(t, n, c, h, h), (t, c), (t, c)], lambda x, a, b: F.batch_norm(x, None, None, a, b, training=True))
    row("batch norm, inference 32x256x56x56 bf16",
        "x: bf16[N, C, H, W], m: f32[C], v: f32[C], a: bf16[C], b: bf16[C]) -> (y: bf16[N, C, H, W]) {\n"
        "  y[n, c, h, w] = (x[n, c, h, w] - m[c]) * rsqrt(v[c] + 1e-5) * a[c] + b[c]\n}",
        [("bf16", 32, 256, 56, 56), ("f32", 256), ("f32", 256), ("bf16", 256), ("bf16", 256)],
        lambda x, m, v, a, b: ((x.float() - m.view(-1, 1, 1)) * torch.rsqrt(v + 1e-5).view(-1, 1, 1) * a.view(-1, 1, 1)
                               + b.view(-1, 1, 1)).to(x.dtype))
    for t, n, c, h in [("f32", 16, 64, 128), ("bf16", 16, 64, 255)]:
        row(f"instance norm {sized(n, c, h, h)} {t}",
            f"x: {t}[N, C, H, W]) -> (y: {t}[N, C, H, W]) {{ y[n, c, h, w] = layernorm[h, w](x[n, c, h, w]) }}",
            [(t, n, c, h, h)], lambda x: F.instance_norm(x))
    for t, m, n in [("bf16", 16384, 4096), ("f32", 8192, 5120), ("bf16", 8192, 1025), ("bf16", 65536, 768), ("f32", 262144, 96)]:
        row(f"RMS norm {sized(m, n)} {t}", f"x: {t}[M, N], g: {t}[N]) -> (y: {t}[M, N]) {{ y[i, j] = rmsnorm[j](x[i, j]) * g[j] }}",
            [(t, m, n), (t, n)], lambda x, g: F.rms_norm(x, (x.shape[1],), g, 1e-5))
    for t, m, n in [("bf16", 16384, 4096), ("f32", 65536, 257), ("bf16", 2048, 20001)]:
        row(f"L2 normalise {sized(m, n)} {t}", f"x: {t}[M, N]) -> (y: {t}[M, N]) {{ y[i, j] = x[i, j] / max(norm2[j](x[i, j]), 1e-12) }}",
            [(t, m, n)], lambda x: F.normalize(wide(x), dim=1).to(x.dtype))


def softmaxes():
    for t, b, m, n in [("f32", 64, 1024, 512), ("bf16", 32, 512, 1023), ("bf16", 16, 4096, 512), ("f32", 1024, 64, 512)]:
        row(f"softmax over the middle {sized(b, m, n)} {t}",
            f"x: {t}[B, M, N]) -> (y: {t}[B, M, N]) {{ y[b, i, j] = softmax[i](x[b, i, j]) }}", [(t, b, m, n)], lambda x: torch.softmax(x, 1))
    for t, m, n in [("bf16", 8192, 8191), ("bf16", 4096, 32001), ("f32", 32768, 1000), ("bf16", 65536, 129)]:
        row(f"log-softmax {sized(m, n)} {t}", f"x: {t}[M, N]) -> (y: {t}[M, N]) {{ y[i, j] = log_softmax[j](x[i, j]) }}",
            [(t, m, n)], lambda x: torch.log_softmax(x, 1))
    for t, m, n in [("bf16", 4096, 50257), ("f32", 16384, 4097)]:
        row(f"log-sum-exp {sized(m, n)} {t}", f"x: {t}[M, N]) -> (y: f32[M]) {{ y[i] = logsumexp[j](x[i, j]) }}",
            [(t, m, n)], lambda x: torch.logsumexp(x.float(), 1))


def losses():
    for t, m, n in [("bf16", 4096, 50257), ("f32", 8192, 32000), ("bf16", 65536, 1000)]:
        row(f"cross entropy {sized(m, n)} {t}",
            f"x: {t}[M, N], t: i64[M]) -> (y: f32[]) {{ y[] = mean[i](cross_entropy[j](x[i, j], t[i])) }}",
            [(t, m, n), ("i64", m, n)], lambda x, t: F.cross_entropy(x.float(), t))
    row("KL divergence 8192x4096 f32", "q: f32[M, N], p: f32[M, N]) -> (y: f32[]) { y[] = mean[i](kl[j](log(q[i, j] + 1e-3), p[i, j] + 1e-3)) }",
        [("f32", 8192, 4096)] * 2, lambda q, p: F.kl_div(torch.log(q + 1e-3), p + 1e-3, reduction="batchmean"))
    for t, m, n in [("f32", 65536, 512), ("bf16", 8192, 4095)]:
        row(f"cosine similarity {sized(m, n)} {t}",
            f"x: {t}[M, N], y: {t}[M, N]) -> (s: f32[M]) {{ s[i] = sum[j](f32(x[i, j]) * f32(y[i, j])) / max(norm2[j](f32(x[i, j])) * norm2[j](f32(y[i, j])), 1e-8) }}",
            [(t, m, n)] * 2, lambda x, y: F.cosine_similarity(x.float(), y.float(), dim=1))
    row("triplet 32768x1024 f32",
        "a: f32[M, N], p: f32[M, N], n: f32[M, N]) -> (y: f32[]) {\n"
        "  y[] = mean[i](max(norm2[j](a[i, j] - p[i, j] + 1e-6) - norm2[j](a[i, j] - n[i, j] + 1e-6) + 1, 0))\n}",
        [("f32", 32768, 1024)] * 3, lambda a, p, n: F.triplet_margin_loss(a, p, n, margin=1.0))


def reductions():
    shapes = [("f32", 16, 4096, 4095), ("bf16", 64, 1024, 1024), ("f32", 4096, 512, 33), ("bf16", 16384, 256, 8), ("f32", 1, 8192, 8191),
              ("f32", 65536, 512, 1), ("bf16", 256, 512, 255)]
    for t, b, m, n in shapes:
        for name, text, peer in [("sum", "sum[i]", lambda x: wide(x).sum(1)), ("max", "max[i]", lambda x: x.amax(1)),
                                 ("argmax", "argmax[i]", lambda x: x.argmax(1)), ("var", "var[i]", lambda x: torch.var(wide(x), 1, correction=0))]:
            if name != "sum" and (t == "bf16" or n < 33):  # (of bf16 many are equal)
                continue
            out = {"argmax": "i64", "max": t}.get(name, "f32")
            row(f"{name} over the middle {sized(b, m, n)} {t}", f"x: {t}[B, M, N]) -> (y: {out}[B, N]) {{ y[b, j] = {text}(x[b, i, j]) }}",
                [(t, b, m, n)], peer)
    for t, m, n in [("f32", 32768, 4096), ("bf16", 16384, 8191)]:
        row(f"argmax of rows {sized(m, n)} {t}", f"x: {t}[M, N]) -> (y: i64[M]) {{ y[i] = argmax[j](x[i, j]) }}", [(t, m, n)],
            lambda x: x.argmax(1))


def scans():
    for t, m, n in [("f32", 32768, 4096), ("f32", 2048, 32767), ("bf16", 8192, 8192)]:
        row(f"cumsum {sized(m, n)} {t}", f"x: {t}[M, N]) -> (y: {t}[M, N]) {{ y[i, j] = sum[k, k <= j](x[i, k]) }}", [(t, m, n)],
            lambda x: torch.cumsum(wide(x), 1).to(x.dtype))  # (sums of bf16 in bf16 come to a stop)
    row("cumsum along columns 8192x8192 f32", "x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = sum[k, k <= i](x[k, j]) }",
        [("f32", 8192, 8192)], lambda x: torch.cumsum(x, 0))
    row("masked cumsum 4096x32768 f32", "x: f32[M, N], k: i8[M, N]) -> (y: f32[M, N]) { y[i, j] = sum[l, l <= j, k[i, l] > 0](x[i, l]) }",
        [("f32", 4096, 32768), ("i8", 4096, 32768)], lambda x, k: torch.cumsum(torch.where(k > 0, x, 0.0), 1))


def pointwise():
    for t, m, n in [("bf16", 8192, 11008), ("bf16", 4096, 11007), ("f32", 8192, 4097)]:
        row(f"bias, GELU, residual {sized(m, n)} {t}",
            f"x: {t}[M, N], b: {t}[N], r: {t}[M, N]) -> (y: {t}[M, N]) {{ y[i, j] = gelu(x[i, j] + b[j]) + r[i, j] }}",
            [(t, m, n), (t, n), (t, m, n)], lambda x, b, r: F.gelu(x + b) + r)
    for t, m, n in [("bf16", 16384, 4095), ("f32", 16384, 4095)]:
        row(f"SiLU times gate {sized(m, n)} {t}", f"x: {t}[M, N], g: {t}[M, N]) -> (y: {t}[M, N]) {{ y[i, j] = silu(x[i, j]) * g[i, j] }}",
            [(t, m, n)] * 2, lambda x, g: F.silu(x) * g)
    for t, m, n in [("bf16", 8191, 8193), ("f32", 8191, 8193), ("i8", 8191, 16385), ("bf16", 8192, 8192), ("f32", 65536, 96)]:
        row(f"transpose {sized(m, n)} {t}", f"x: {t}[M, N]) -> (y: {t}[N, M]) {{ y[j, i] = x[i, j] }}", [(t, m, n)],
            lambda x: x.t().contiguous())
    for t, b, h, s, d in [("bf16", 8, 32, 4096, 128), ("bf16", 16, 16, 2048, 80), ("f32", 8, 12, 4096, 64)]:
        row(f"[B, H, S, D] to [B, S, H, D] {sized(b, h, s, d)} {t}",
            f"x: {t}[B, H, S, D]) -> (y: {t}[B, S, H, D]) {{ y[b, s, h, d] = x[b, h, s, d] }}", [(t, b, h, s, d)],
            lambda x: x.transpose(1, 2).contiguous())
    for t, m, n, k in [("bf16", 16384, 4096, 1024), ("f32", 8192, 4095, 1023)]:
        row(f"concatenation {sized(m, n)} and {k} {t}",
            f"x: {t}[M, N], z: {t}[M, K]) -> (y: {t}[M, N + K]) {{\n  y[i, j] = x[i, j] where j in 0:N\n  y[i, N + k] = z[i, k] where k in 0:K\n}}", [(t, m, n), (t, m, k)],
            lambda x, z: torch.cat([x, z], 1))
    for t, v, n, d in [("bf16", 50257, 16384, 4096), ("f32", 128256, 32768, 1023)]:
        row(f"embedding {sized(n, d)} of {v} {t}", f"w: {t}[V, D], i: i64[N]) -> (y: {t}[N, D]) {{ y[n, d] = w[i[n], d] }}",
            [(t, v, d), ("i64", n, v)], lambda w, i: F.embedding(i, w))
    for b, p, h, d in [(8, 4096, 32, 128), (2, 2048, 16, 64), (1, 8192, 40, 128)]:
        row(f"RoPE {sized(b, p, h, d)} bf16",
            "x: bf16[B, S, H, 2 * D], c: f32[S, D], s: f32[S, D]) -> (y: bf16[B, S, H, 2 * D]) {\n"
            "  y[b, p, h, d] = x[b, p, h, d] * c[p, d] - x[b, p, h, d + D] * s[p, d] where d in 0:D\n"
            "  y[b, p, h, d + D] = x[b, p, h, d + D] * c[p, d] + x[b, p, h, d] * s[p, d] where d in 0:D\n}",
            [("bf16", b, p, h, d), ("f32", p, d // 2), ("f32", p, d // 2)], rope)
    for m, n in [(16384, 4096), (4096, 5120), (64, 8192), (32768, 1024)]:
        row(f"add, RMS norm {sized(m, n)} bf16",
            "x: bf16[M, N], g: bf16[N], inout r: bf16[M, N]) -> (y: bf16[M, N]) {\n"
            "  r[i, j] = r[i, j] + x[i, j]\n  y[i, j] = rmsnorm[j](r[i, j]) * g[j]\n}",
            [("bf16", m, n), ("bf16", n), ("bf16", m, n)], add_rms)
    for n in [1048576, 10000000, 67108864]:
        row(f"AMP step {n} f16",
            "g: f16[N], s: f32[1], inout m: f32[N], inout p: f32[N]) {\n  let bad[] = any[i](not isfinite(f32(g[i]) / s[0]))\n"
            "  m[i] = m[i] if bad[] else 0.9 * m[i] + f32(g[i]) / s[0]\n  p[i] = p[i] if bad[] else p[i] - 0.01 * m[i]\n}",
            [("f16", n), ("f32", 1), ("f32", n), ("f32", n)], amp_step)
    for n in [1000, 100003, 10000001, 67108864]:
        row(f"AdamW {n} f32",
            "g: f32[N], inout m: f32[N], inout v: f32[N], inout p: f32[N]) {\n"
            "  m[i] = 0.9 * m[i] + 0.1 * g[i]\n  v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i]\n"
            "  p[i] = p[i] * 0.99999 - 0.001 * m[i] / (sqrt(v[i]) + 1e-8)\n}",
            [("f32", n)] * 4, adamw)


def rope(x, c, s):
    a, b = x.float().chunk(2, -1)
    c, s = c[:, None], s[:, None]
    return torch.cat([a * c - b * s, b * c + a * s], -1).to(x.dtype)


def add_rms(x, g, r):
    r.add_(x)
    return F.rms_norm(r, (r.shape[1],), g, 1e-5)


def amp_step(g, s, m, p):
    g = g.float() / s
    bad = ~torch.isfinite(g).all()
    m.copy_(torch.where(bad, m, 0.9 * m + g))
    return p.copy_(torch.where(bad, p, p - 0.01 * m))


def adamw(g, m, v, p):
    m.mul_(0.9).add_(0.1 * g)
    v.mul_(0.999).add_(0.001 * g * g)
    return p.mul_(0.99999).sub_(0.001 * m / (v.sqrt() + 1e-8))


def make(spec, device):
    kind, *shape = spec
    if kind == "i64":
        return torch.randint(0, shape[1], shape[:1], device=device)
    if kind in ("f32", "bf16", "f16"):
        return torch.rand(*shape, device=device).to(TORCH[kind])
    return torch.randint(-64, 64, shape, device=device).to(TORCH[kind])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begins no row after so long, and says which are left")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--warm", action="store_true")
    args = parser.parse_args()
    args.tf32 = False
    for family in (norms, softmaxes, losses, reductions, scans, pointwise):
        family()
    part, parts = map(int, args.part.split("/"))
    chosen = [r for r in ROWS if not args.words or any(word in r[0] for word in args.words)][part - 1::parts]
    few = {n: n if args.device == "cuda" or n in VOCABULARIES else 2 for _, _, inputs, _ in chosen for n in (inputs[0][1], inputs[-1][1])}
    table, left = operators.Table(args, "row", limit=1e-2), []
    for title, text, inputs, peer in chosen:
        if time.monotonic() - table.start > args.seconds:
            left.append(title)
            continue

        def draw():
            torch.manual_seed(1)
            return [make((kind, few.get(n, n) if n == inputs[0][1] or kind == "i64" else n, *rest), args.device) for kind, n, *rest in inputs]

        table.row(title, text, "f", draw, peer, compiled=True)
    if left:
        print(f"\nnot begun: {', '.join(left)}")
    sys.exit(table.end())


if __name__ == "__main__":
    main()
