#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory-bound kernels that nobody has tuned to, beside torch.compile in one process.

    python3 bench/draw_memory.py $(git log -1 --format=%h -- passes/plan support) [--repeats 15] [--markdown out.md]
    python3 bench/draw_memory.py SEED --part 1/2          # the first half of the rows
    python3 bench/draw_memory.py SEED --list

The seed draws 24 rows of softmax, norms, sums along each dim, group norm, batch statistics and losses: rows of 2^5 to 2^23
elements, a third of them odd, of f32 and bf16, so many of them that a tensor has 2^24 to 2^27 elements. Both contenders are
checked against f64, then take turns, the L2 cache flushed before each run; a row is torch.compile's median over kernelc's.
Rows whose kernel walks a row more often than it would have to are marked: they wait for fewer walks, not for a better plan.
"""
import argparse
import math
import random
import sys

import harness
import torch
from workloads import TOLERANCE, TYPES, Workload

F = torch.nn.functional
LONGEST_HELD = 1 << 18  # elements of a row that the blocks of one cluster hold


def wide(x):
    return x if x.dtype == torch.float64 else x.float()


def moments(x, dims):
    return torch.stack([wide(x).mean(dims), wide(x).square().mean(dims)])


# Kind: text of {T} tensors over M rows of N elements; PyTorch; whether the result has rows; further inputs (elements of a row).
KINDS = {
    "softmax": ("x: {T}[M, N]) -> (y: {T}[M, N]) {{ y[i, j] = softmax[j](x[i, j]) }}", lambda x: torch.softmax(x, 1), True, 0),
    "layernorm": ("x: {T}[M, N], g: {T}[N], b: {T}[N]) -> (y: {T}[M, N]) {{ y[i, j] = layernorm[j](x[i, j]) * g[j] + b[j] }}",
                  lambda x, g, b: F.layer_norm(x, (x.shape[1],), g, b, 1e-5), True, 2),
    "rmsnorm": ("x: {T}[M, N], g: {T}[N]) -> (y: {T}[M, N]) {{ y[i, j] = rmsnorm[j](x[i, j]) * g[j] }}",
                lambda x, g: (wide(x) * torch.rsqrt(wide(x).square().mean(1, keepdim=True) + 1e-5) * g).to(x.dtype), True, 1),
    "row sum": ("x: {T}[M, N]) -> (y: f32[M]) {{ y[i] = sum[j](x[i, j]) }}", lambda x: wide(x).sum(1), False, 0),
    "column sum": ("x: {T}[M, N]) -> (y: f32[N]) {{ y[j] = sum[i](x[i, j]) }}", lambda x: wide(x).sum(0), False, 0),
    "mse": ("x: {T}[M, N], t: {T}[M, N]) -> (y: f32[]) {{ y[] = mean[i, j]((x[i, j] - t[i, j]) ** 2) }}",
            lambda x, t: (wide(x) - wide(t)).square().mean(), False, -1),
    "cross entropy": ("x: {T}[M, N], t: i64[M]) -> (y: f32[]) {{ y[] = mean[i](logsumexp[j](x[i, j]) - x.pad(0)[i, t[i]]) }}",
                      lambda x, t: F.cross_entropy(wide(x), t), False, -2),
    # Of M images with 32 channels of N elements.
    "group norm": ("x: {T}[M, C, N], g: {T}[C], b: {T}[C]) -> (y: {T}[M, C, N]) {{\n"
                   "  require C == 32\n"
                   "  let mu[i, q] = mean[c in 0:4, n](x[i, q * 4 + c, n]) where q in 0:8\n"
                   "  let v[i, q] = mean[c in 0:4, n]((x[i, q * 4 + c, n] - mu[i, q]) ** 2) where q in 0:8\n"
                   "  y[i, c, n] = (x[i, c, n] - mu[i, c // 4]) * rsqrt(v[i, c // 4] + 1e-5) * g[c] + b[c]\n}}",
                   lambda x, g, b: F.group_norm(x, 8, g, b, 1e-5), True, 0),
    "batch statistics": ("x: {T}[M, C, N]) -> (m: f32[C], q: f32[C]) {{\n  m[c] = mean[i, n](x[i, c, n])\n"
                         "  q[c] = mean[i, n](x[i, c, n] ** 2)\n}}", lambda x: tuple(moments(x, (0, 2))), False, 0),
}
CHANNELS = 32


class Drawn(Workload):
    def __init__(self, kind, m, n, dtype):
        self.kind, self.m, self.n, self.dtype = kind, m, n, dtype
        text, self.reference, self.isWhole, self.further = KINDS[kind]
        self.name = f"{kind} {m}x{n} {dtype}"
        self.hasChannels = kind in ("group norm", "batch statistics")
        self.text = "def drawn(" + text.format(T=dtype) + "\n"
        self.tolerance = 2 * TOLERANCE[dtype] if self.isWhole else 2e-4
        self.walks = self.isWhole and n * (4 if kind == "group norm" else 1) > LONGEST_HELD

    def inputs(self, device, scale):
        draw = lambda *shape: torch.randn(*shape, device=device, dtype=torch.float32).to(TYPES[self.dtype])  # noqa: E731
        m = max(1, self.m // scale)
        if self.hasChannels:
            return (draw(m, CHANNELS, self.n), *(draw(CHANNELS) for _ in range(2 if self.kind == "group norm" else 0)))
        if self.further == -1:
            return draw(m, self.n), draw(m, self.n)
        if self.further == -2:
            return draw(m, self.n), torch.randint(self.n, (m,), device=device)
        return (draw(m, self.n), *(draw(self.n) for _ in range(self.further)))

    def torch(self, *inputs):
        return self.reference(*inputs)

    def output_bytes(self, x, *rest):
        if self.isWhole:
            return x.numel() * x.element_size()
        return 4 * {"row sum": x.shape[0], "column sum": x.shape[1], "batch statistics": 2 * CHANNELS}.get(self.kind, 1)


def draw(seed):
    random.seed(seed)
    rows = []
    kinds = [*KINDS] * 3
    random.shuffle(kinds)
    for at, kind in enumerate(kinds[:24]):
        hasChannels = kind in ("group norm", "batch statistics")
        n = 1 << random.randint(5, 18 if hasChannels else 23)
        if at % 3 == 0:
            n = n * 3 // 4 + random.randint(0, n // 4) * 2 + 1
        elements = 1 << random.randint(24, 26)
        m = max(1, elements // n // (CHANNELS if hasChannels else 1))
        if random.random() < 0.5 and m > 8:
            m -= random.randint(0, m // 8)
        rows.append(Drawn(kind, m, n, random.choice(["f32", "bf16"])))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--part", default="1/1", help="which part of the rows, 1/2 or 2/2")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--markdown")
    parser.add_argument("--device", default="cuda:0" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--scale", type=int, default=1, help="divides the number of rows (to try things out)")
    args = parser.parse_args()
    part, parts = (int(p) for p in args.part.split("/"))
    drawn = draw(args.seed)[part - 1::parts]
    if args.list:
        print("\n".join(w.name for w in drawn))
        return 0
    device = torch.device(args.device)
    options = argparse.Namespace(without={"eager"}, scale=args.scale, verbose=False, compile_on_cpu=False, repeats=args.repeats)
    place = harness.Gpu(device.index or 0) if device.type == "cuda" else harness.Cpu()
    out = open(args.markdown, "w", encoding="utf-8") if args.markdown else sys.stdout
    print(f"{place.name}, kernelc {harness.kernelc.__version__}, PyTorch {torch.__version__}, seed {args.seed}\n\n"
          "| row | kernelc µs | torch.compile µs | equal copy µs | torch.compile / kernelc | |\n|---|--:|--:|--:|--:|---|", file=out)
    ratios, wrong = {}, 0
    for w in drawn:
        rows, failures = harness.bench(w, place, options, None)
        us = {r["contender"]: r["median_us"] for r in rows}
        wrong += any(f["contender"] == "kernelc" for f in failures)
        for f in failures:
            print(f"{f['workload']}, {f['contender']}: {f['failure'][:300]}", file=sys.stderr)
        ours, theirs, copy = (us.get(name, math.nan) for name in ("kernelc", "torch.compile", "equal copy"))
        if ours == ours and theirs == theirs:
            ratios.setdefault("more walks" if w.walks else "held", []).append(theirs / ours)
        mark = "walks its rows more often than once" if w.walks else ""
        print(f"| {w.name} | {ours:.1f} | {theirs:.1f} | {copy:.1f} | {theirs / ours:.3f} | {mark} |", file=out, flush=True)
        if device.type == "cuda":
            torch.cuda.empty_cache()
    ratios["all"] = [r for own in ratios.values() for r in own]
    for name, r in ratios.items():
        if r:
            summary = (f"{name}: {len(r)} rows, geometric mean {math.exp(sum(map(math.log, r)) / len(r)):.3f} (bar 1.03), least {min(r):.3f}, "
                       f"under 0.9 {sum(x < 0.9 for x in r)} (bar 0)")
            print(("" if out is sys.stdout else "\n") + summary, file=out)
            if out is not sys.stdout:
                print(summary)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
