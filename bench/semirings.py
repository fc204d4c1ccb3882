#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions that have a product's shape beside the product of f32, in turns on one GPU.

    python3 bench/semirings.py KERNELC [--sizes 2048,4096] [--rounds 3] [--repeats 20]

KERNELC is the command. A row is a kernel of bench/kernels/semirings.kc: its median over rounds, and the product's over it.
"""
import argparse
import json
import os
import re
import statistics
import subprocess

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels", "semirings.kc")


def microseconds(kernelc, kernel, n, repeats):
    command = [kernelc, "bench", FILE, "--kernel", kernel, "--json", "--untuned", "--repeats", str(repeats)]
    run = subprocess.run(command + [arg for s in "MNK" for arg in ("--set", f"{s}={n}")], capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(run.stderr)
    return json.loads(run.stdout)["median_us"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kernelc")
    parser.add_argument("--sizes", default="2048,4096")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=20)
    args = parser.parse_args()
    kernels = re.findall(r"^def (\w+)", open(FILE, encoding="utf-8").read(), re.M)
    print("| kernel | M = N = K | µs | product's µs over it |\n|---|--:|--:|--:|")
    for n in map(int, args.sizes.split(",")):
        times = {k: [] for k in kernels}
        for _ in range(args.rounds):
            for k in kernels:
                times[k].append(microseconds(args.kernelc, k, n, args.repeats))
        for k in kernels:
            us = statistics.median(times[k])
            print(f"| {k} | {n} | {us:.0f} | {statistics.median(times['product']) / us:.2f} |", flush=True)


if __name__ == "__main__":
    main()
