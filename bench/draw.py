#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bf16 products that nobody has tuned to, beside cuBLAS in one process.

    python3 bench/draw.py $(git log -1 --format=%h -- passes/plan support/targets) [--repeats 15] [--markdown out.md]
    python3 bench/draw.py SEED --contractions    24 products as users write them (contractions.py), beside torch's form or einsum
    python3 bench/draw.py SEED --small           24 of few rows, tiny matrices and views, beside the same

The seed draws 40 products with rows of whole 16 bytes (8 of them with 1 to 192 rows), nt and nn, and 8 whose rows are not; it is the
last commit that touched the planner or the targets' tables, so that nothing can have been tuned to the draw. Both contenders are
checked against f64, then take turns, the L2 cache flushed before each run; a row is the peer's median over kernelc's.
"""
import argparse
import math
import random
import sys

import harness
import torch
from contractions import draw_contractions, draw_small
from workloads import Matmul

STEPS = [384, 512, 768, 896, 1024, 1152, 1280, 1536, 1792, 2048, 2304, 2560, 2816, 3072, 3584, 4096, 4608, 5120, 5632, 6144, 7168, 8192,
         9216, 10240, 11008, 12288, 13824, 14336, 16384, 18432]
MOST_FLOPS = 8e12  # 12 ms of the unit: a draw has to end


class Product(Matmul):
    """One of a draw: its peer is cuBLAS alone."""

    def peers(self, device):
        return {name: make for name, make in super().peers(device).items() if name == "cuBLAS"}


def draw(seed):
    """(part, product) of all rows."""
    random.seed(seed)

    def one(rows=None, odd=False):
        while True:
            m, n, k = [random.choice(STEPS) for _ in range(3)]
            m = rows or (m if random.random() < 0.7 else 8 * random.randint(48, 1000))
            if odd:
                n, k = n + random.randint(1, 7), k + random.randint(1, 7)
            if 2.0 * m * n * k <= MOST_FLOPS:
                return Product(m, n, k, "bf16", random.choice(["nt", "nn"]))

    return ([("aligned", one()) for _ in range(32)] + [("few rows", one(rows=random.randint(1, 192))) for _ in range(8)] +
            [("unaligned", one(odd=True)) for _ in range(8)])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("seed")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--markdown")
    parser.add_argument("--contractions", action="store_const", const=draw_contractions, dest="drawn", default=draw)
    parser.add_argument("--small", action="store_const", const=draw_small, dest="drawn")
    args = parser.parse_args()
    cublas = args.drawn is draw  # alone; of products as users write them, torch's form or einsum
    left, peer = ({"eager", "torch.compile"}, "cuBLAS") if cublas else ({"torch.compile"}, "torch")
    options = argparse.Namespace(without=left, scale=1, verbose=False, compile_on_cpu=False, repeats=args.repeats)
    place = harness.Gpu(0)
    out = open(args.markdown, "w", encoding="utf-8") if args.markdown else sys.stdout
    print(f"{place.name}, kernelc {harness.kernelc.__version__}, PyTorch {torch.__version__}, seed {args.seed}\n\n"
          f"| part | product | kernelc µs | {peer} µs | {peer} / kernelc |\n|---|---|--:|--:|--:|", file=out)
    ratios, wrong = {}, 0
    for part, product in args.drawn(args.seed):
        rows, failures = harness.bench(product, place, options, None)[:2]
        us = {r["contender"]: r["median_us"] for r in rows}
        if "eager" in us:
            us[peer] = min(us.get(peer, us["eager"]), us["eager"])
        if "kernelc" not in us or peer not in us:
            wrong += 1
            print(f"| {part} | {product.name} | {failures} | | |", file=out, flush=True)
            continue
        ratios.setdefault(part, []).append(us[peer] / us["kernelc"])
        print(f"| {part} | {product.name} | {us['kernelc']:.1f} | {us[peer]:.1f} | {ratios[part][-1]:.3f} |", file=out, flush=True)
        torch.cuda.empty_cache()
    if cublas:
        ratios["aligned and few rows"] = ratios.get("aligned", []) + ratios.get("few rows", [])
    else:
        ratios = {"all": sum(ratios.values(), []), **ratios}
    for part, r in ratios.items():
        mean = math.exp(sum(map(math.log, r)) / len(r))
        summary = (f"{part}: {len(r)} rows, geometric mean {mean:.3f}, least {min(r):.3f}, under 0.93 {sum(x < 0.93 for x in r)}, "
                   f"under 0.97 {sum(x < 0.97 for x in r)}")
        print(("" if out is sys.stdout else "\n") + summary, file=out)
        print(summary)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
