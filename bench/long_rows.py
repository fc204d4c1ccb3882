#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Softmax, log-softmax, layernorm and RMS norm over long rows beside torch.compile, in turns on one GPU.

    python3 bench/long_rows.py                    # twelve rows, about two minutes
    python3 bench/long_rows.py softmax 4194304    # rows whose name contains a word
    python3 bench/long_rows.py --statistics       # log-sum-exp and variance alone, too
    python3 bench/long_rows.py --seconds 170      # begins no row after so long, and says which are left

The results of each contender are checked against f64 before it is timed; then the contenders take turns, the L2 cache
flushed before every run (harness.py). The last line is the geometric mean of torch.compile's time over kernelc's, and
the smallest of these. Exit status 1 where a result was wrong, or kernelc failed.
"""
import argparse
import math
import sys
import time

import harness
import torch
from workloads import TOLERANCE, TYPES, Workload

ROWS = [("softmax", 4096, 16384, "f32"), ("softmax", 1024, 65536, "bf16"), ("softmax", 64, 1048576, "f32"), ("softmax", 16, 4194304, "bf16"),
        ("log_softmax", 4096, 50257, "bf16"), ("log_softmax", 256, 262144, "f32"), ("log_softmax", 64, 1048576, "bf16"),
        ("layernorm", 4096, 16384, "bf16"), ("layernorm", 512, 131072, "f32"), ("layernorm", 64, 1048576, "f32"),
        ("rmsnorm", 1024, 65536, "f32"), ("rmsnorm", 16, 4194304, "f32")]
STATISTICS = [("logsumexp", 4096, 50257, "bf16"), ("logsumexp", 64, 1048576, "f32"), ("var", 1024, 65536, "f32"), ("var", 64, 1048576, "bf16")]
BODIES = {"softmax": "y[i, j] = softmax[j](x[i, j])", "log_softmax": "y[i, j] = log_softmax[j](x[i, j])",
          "layernorm": "y[i, j] = layernorm[j](x[i, j]) * g[j] + b[j]", "rmsnorm": "y[i, j] = rmsnorm[j](x[i, j]) * g[j]",
          "logsumexp": "y[i] = logsumexp[j](x[i, j])", "var": "y[i] = var[j](x[i, j])"}
GAINS = {"layernorm": "gb", "rmsnorm": "g"}


class LongRows(Workload):
    def __init__(self, kind, m, n, dtype):
        self.kind, self.m, self.n, self.dtype = kind, m, n, dtype
        self.name = f"{kind} {m}x{n} {dtype}"
        self.isStatistic = kind in ("logsumexp", "var")
        out = "f32[M]" if self.isStatistic else f"{dtype}[M, N]"
        gains = "".join(f", {g}: {dtype}[N]" for g in GAINS.get(kind, ""))
        self.text = f"def {kind}_rows(x: {dtype}[M, N]{gains}) -> (y: {out}) {{ {BODIES[kind]} }}\n"
        self.tolerance = 1e-4 if self.isStatistic else 2 * TOLERANCE[dtype]

    def inputs(self, device, scale):
        draw = lambda *shape: torch.randn(*shape, device=device, dtype=torch.float32).to(TYPES[self.dtype])  # noqa: E731
        return (draw(max(1, self.m // scale), self.n), *(draw(self.n) for _ in GAINS.get(self.kind, "")))

    def torch(self, x, g=None, b=None):
        if self.kind == "softmax":
            return torch.softmax(x, 1)
        if self.kind == "log_softmax":
            return torch.log_softmax(x, 1)
        if self.kind == "layernorm":
            return torch.nn.functional.layer_norm(x, (x.shape[1],), g, b, 1e-5)
        wide = x if x.dtype == torch.float64 else x.float()
        if self.kind == "rmsnorm":
            return (wide * torch.rsqrt(wide.square().mean(1, keepdim=True) + 1e-5) * g).to(x.dtype)
        return torch.logsumexp(wide, 1) if self.kind == "logsumexp" else torch.var(wide, 1, correction=0)

    def output_bytes(self, x, *rest):
        return x.shape[0] * 4 if self.isStatistic else x.numel() * x.element_size()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only rows whose name contains one of these")
    parser.add_argument("--statistics", action="store_true", help="also what makes one number of a row")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--device", default="cuda:0" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--scale", type=int, default=1, help="divides the number of rows (to try things out)")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.without, options.compile_on_cpu = ["eager"], False
    device = torch.device(options.device)
    place = harness.Gpu(device.index or 0) if device.type == "cuda" else harness.Cpu()
    chosen = [LongRows(*row) for row in ROWS + (STATISTICS if options.statistics else [])]
    chosen = [w for w in chosen if not options.words or any(word in w.name for word in options.words)]
    begin, ratios, failed, left = time.monotonic(), [], False, []
    print(f"{place.name}, PyTorch {torch.__version__}\n\n| row | kernelc µs | torch.compile µs | equal copy µs | x torch.compile | of an equal copy |\n"
          "|---|--:|--:|--:|--:|--:|")
    for w in chosen:
        if time.monotonic() - begin > options.seconds:
            left.append(w.name)
            continue
        rows, failures = harness.bench(w, place, options, None)
        us = {r["contender"]: r["median_us"] for r in rows}
        for f in failures:
            print(f"{f['workload']}, {f['contender']}: {f['failure'][:300]}", file=sys.stderr)
            failed |= f["contender"] == "kernelc" or f["failure"].startswith("wrong")
        ours, theirs, copy = (us.get(name, math.nan) for name in ("kernelc", "torch.compile", "equal copy"))
        if ours == ours and theirs == theirs:
            ratios.append(theirs / ours)
        print(f"| {w.name} | {ours:.1f} | {theirs:.1f} | {copy:.1f} | {theirs / ours:.2f} | {copy / ours:.2f} |", flush=True)
    if left:
        print(f"\nnot begun: {', '.join(left)}")
    if ratios:
        print(f"\nx torch.compile: geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}, smallest {min(ratios):.3f} of {len(ratios)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
