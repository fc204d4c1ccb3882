#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One kernel called with many sizes: what a size loses because calls of other sizes came before it.

    python3 bench/second_sizes.py [--only TEXT] [--repeats 9] [--seconds 120]

Each row is a size that varies. "own": microseconds of a kernel that has met these sizes only. The columns behind it are that time over
the time of a kernel that has met all of the row's sizes before, bound once each, in rising or falling order, or from the middle on. Beside
it PyTorch's time over "own". Results are checked against PyTorch first; contenders take turns, the L2 cache flushed before each run.
"""
import argparse
import statistics
import sys
import time

import harness
import torch

import kernelc

PRODUCT = "def f(a: {T}[M, K], b: {T}[N, K]) -> (c: {T}[M, N]) {{ c[i, j] = sum[k](a[i, k] * b[j, k]) }}"
MANY = [80, 130, 300, 777, 1024, 2048, 4096, 8192, 16384]


def product(m, n, k, dtype=torch.bfloat16):
    return torch.randn(m, k, device="cuda").to(dtype), torch.randn(n, k, device="cuda").to(dtype)


def rows(*shape):
    return torch.randn(*shape, device="cuda").bfloat16()


def times(a, b):
    return torch.mm(a, b.T)


# Title, text, the values of one size, the arguments for a value, PyTorch.
CASES = [
    ("bf16 product, N 4096, K 4096, M", PRODUCT.format(T="bf16"), MANY, lambda m: product(m, 4096, 4096), times),
    ("bf16 product, N 1024, K 8192, M", PRODUCT.format(T="bf16"), MANY, lambda m: product(m, 1024, 8192), times),
    ("bf16 product, M 4096, K 4096, N", PRODUCT.format(T="bf16"), [384, 512, 1024, 2048, 4096, 11008],
     lambda n: product(4096, n, 4096), times),
    ("bf16 product, M 2048, N 2048, K", PRODUCT.format(T="bf16"), [384, 1024, 2048, 4096, 8192, 16384],
     lambda k: product(2048, 2048, k), times),
    ("f32 product, N 1024, K 1024, M", PRODUCT.format(T="f32"), [130, 512, 1024, 4096],
     lambda m: product(m, 1024, 1024, torch.float32), times),
    ("softmax, 4096 columns, rows", "def f(x: bf16[M, N]) -> (y: bf16[M, N]) { y[i, j] = softmax[j](x[i, j]) }", [130, 1000, 32768],
     lambda m: (rows(m, 4096),), lambda x: torch.softmax(x, 1)),
    ("softmax, 4096 rows, columns", "def f(x: bf16[M, N]) -> (y: bf16[M, N]) { y[i, j] = softmax[j](x[i, j]) }",
     [300, 1000, 4096, 32768], lambda n: (rows(4096, n),), lambda x: torch.softmax(x, 1)),
    ("column sum, 4096 columns, rows", "def f(x: bf16[M, N]) -> (y: f32[N]) { y[j] = sum[i](f32(x[i, j])) }", [130, 1000, 32768],
     lambda m: (rows(m, 4096),), lambda x: x.float().sum(0)),
    ("bias, 4096 columns, rows", "def f(x: bf16[M, N], v: bf16[N]) -> (y: bf16[M, N]) { y[i, j] = x[i, j] + v[j] }", [130, 1000, 32768],
     lambda m: (rows(m, 4096), rows(4096)), lambda x, v: x + v),
]
ORDERS = {"rising": lambda v: v, "falling": lambda v: v[::-1], "middle": lambda v: v[len(v) // 2:] + v[:len(v) // 2]}


def bind_all(text, values, arguments, expected):
    """{order: {value: a bound call}}, each checked."""
    bound = {order: {} for order in ["own", *ORDERS]}
    for order in bound:
        kernel = None
        for value in values if order == "own" else ORDERS[order](values):
            if kernel is None or order == "own":
                kernel = kernelc.compile(text)["f"]
            call = bound[order][value] = kernel.bind(*arguments[value])
            call.launch()
            error = harness.largest_error(call.outputs, expected[value])
            if error > 2e-2:
                sys.exit(f"wrong: {order} {value}: largest error {error:.2g}")
    return bound


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="the rows whose title has this in it")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no row after so many")
    options = parser.parse_args()
    place, start = harness.Gpu(0), time.time()
    print(f"{place.name}, PyTorch {torch.__version__}\n")
    print("| row | value | own, µs | " + " | ".join(ORDERS) + " | PyTorch / own |\n|---|--:|--:|" + "--:|" * (len(ORDERS) + 1))
    for title, text, values, make, peer in CASES:
        if options.only not in title or time.time() - start > options.seconds:
            continue
        arguments = {v: make(v) for v in values}
        bound = bind_all(text, values, arguments, {v: peer(*a) for v, a in arguments.items()})
        for value in values:
            runs = {order: calls[value].launch for order, calls in bound.items()}
            runs["PyTorch"] = lambda a=arguments[value]: peer(*a)
            place.measure(runs, 1)
            us = {n: statistics.median(t) for n, t in place.measure(runs, options.repeats).items()}
            ratios = " | ".join(f"{us['own'] / us[order]:.3f}" for order in ORDERS)
            print(f"| {title} | {value} | {us['own']:.1f} | {ratios} | {us['PyTorch'] / us['own']:.3f} |", flush=True)
        del bound, arguments


if __name__ == "__main__":
    main()
