#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far products of f32 operands under precision policies are from the exact ones, by the length of the sum, and how fast they are.

    python3 bench/accuracy.py [--rows 512] [--lengths 64,512,4096,8192,65536] [--speed 2048,4096,8192] [--device cuda]

Operands are N(0, 1). An error is the root mean square of what is wrong over that of the exact product (f64). `parts` is the
error of the three products of bf16x3 summed exactly: what no way of adding them avoids. The second table, of square products,
takes turns with cuBLAS's f32, as harness.py does; the bars are 2.0 times as fast for tf32x3 and 3.5 for bf16x3. Needs PyTorch.
"""
import argparse
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "python"))

import torch  # noqa: E402

os.environ.setdefault("KERNELC_COMPILE", "block")  # what is timed is the full code
import kernelc  # noqa: E402

TEXT = "def product(a: f32[M, K], b: f32[N, K]) -> (c: f32[M, N]) { c[i, j] = sum[k](a[i, k] * b[j, k]) }"
POLICIES = ["", "contract=tf32x3", "contract=bf16x3"]


def relative(c, exact):
    return float((c.double() - exact).norm() / exact.norm())


def exact_parts(a, b):
    """a · b as bf16x3 has it, without the rounding of any sum."""
    high = [x.bfloat16() for x in (a, b)]
    low = [(x - h.float()).bfloat16() for x, h in zip((a, b), high)]
    (ah, bh), (al, bl) = [[x.double() for x in pair] for pair in (high, low)]
    return ah @ bh.T + ah @ bl.T + al @ bh.T


def compare_speed(kernels, sizes, device):
    import harness
    place = harness.Gpu(device.index or 0)
    print("\n| product | cuBLAS f32 µs | f32 | tf32x3 | bf16x3 |\n|---|--:|--:|--:|--:|")
    for size in sizes:
        a, b = (torch.randn(size, size, device=device) for _ in range(2))
        runs = {"cuBLAS": lambda: a @ b.T, **{p: kernel["product"].bind(a, b).launch for p, kernel in zip(POLICIES, kernels)}}
        place.measure(runs, 3)
        us = {name: statistics.median(samples) for name, samples in place.measure(runs, 11).items()}
        print(f"| {size}³ | {us['cuBLAS']:.1f} | " + " | ".join(f"{us['cuBLAS'] / us[p]:.2f}" for p in POLICIES) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--lengths", default="64,128,256,512,1024,2048,4096,8192,16384,32768,65536")
    parser.add_argument("--speed", default="2048,4096,8192")
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    device = torch.device(args.device)
    torch.backends.cuda.matmul.allow_tf32 = False
    kernels = [kernelc.compile(TEXT, **({"precision": p} if p else {})) for p in POLICIES]
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU device"
    print(f"{name}, kernelc {kernelc.__version__}, torch {torch.__version__}, {args.rows} x {args.rows} results\n")
    print("| K | cuBLAS f32 | f32 | tf32x3 | tf32x3 / f32 | bf16x3 | parts | bf16x3 - 1.2 parts over f32 |\n|--:|--:|--:|--:|--:|--:|--:|--:|")
    for length in map(int, args.lengths.split(",")):
        generator = torch.Generator(device=device).manual_seed(length)
        a, b = (torch.randn(args.rows, length, device=device, generator=generator) for _ in range(2))
        exact = a.double() @ b.double().T
        f32, tf32, bf16 = [relative(kernel(a, b), exact) for kernel in kernels]
        parts = relative(exact_parts(a, b), exact)
        print(f"| {length} | {relative(a @ b.T, exact):.2e} | {f32:.2e} | {tf32:.2e} | {tf32 / f32:.2f} | {bf16:.2e} | {parts:.2e} | "
              f"{(bf16 - 1.2 * parts) / f32:.2f} |", flush=True)
    if device.type == "cuda" and args.speed:
        compare_speed(kernels, map(int, args.speed.split(",")), device)


if __name__ == "__main__":
    main()
