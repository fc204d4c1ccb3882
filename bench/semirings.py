#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions that have a product's shape beside the product of f32, in turns on one GPU.

    python3 bench/semirings.py KERNELC [--sizes 2048,4096] [--rounds 3] [--repeats 20]

KERNELC is the command. A row is a kernel of bench/kernels/semirings.kc: its median over rounds, and the product's over it.
"""
import argparse
import os
import re
import statistics
import tempfile

from guard import measure

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels", "semirings")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kernelc")
    parser.add_argument("--sizes", default="2048,4096")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=20)
    args = parser.parse_args()
    kernels = re.findall(r"^def (\w+)", open(FILE + ".kc", encoding="utf-8").read(), re.M)
    print("| kernel | M = N = K | µs | product's µs over it |\n|---|--:|--:|--:|")
    for n in map(int, args.sizes.split(",")):
        times = {k: [] for k in kernels}
        with tempfile.TemporaryDirectory() as cache:
            for _ in range(args.rounds):
                for k in kernels:
                    us = measure(args.kernelc, FILE, k, f"M={n} N={n} K={n}", args.repeats, cache)
                    if isinstance(us, str):
                        raise SystemExit(us)
                    times[k].append(us)
        for k in kernels:
            us = statistics.median(times[k])
            print(f"| {k} | {n} | {us:.0f} | {statistics.median(times['product']) / us:.2f} |", flush=True)


if __name__ == "__main__":
    main()
