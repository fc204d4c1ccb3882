#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Statements and products over images of odd sizes, channels first, beside eager and torch.compile.

    python3 bench/images.py

Pointwise statements and means over images whose rows are no whole vectors, then products that sum, or have as columns, the points of
images. Results are compared with eager's first; then contenders take turns, the L2 flushed before each run. Needs PyTorch and a GPU.
"""
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "python"))
import harness  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import kernelc  # noqa: E402

STATEMENTS = {
    "relu": ("(x: {t}[N, C, H, W]) -> (y: {t}[N, C, H, W]) {{ y[n, c, h, w] = max(x[n, c, h, w], 0) }}", torch.relu, "x"),
    "add_relu": ("(x: {t}[N, C, H, W], z: {t}[N, C, H, W]) -> (y: {t}[N, C, H, W]) {{ y[n, c, h, w] = max(x[n, c, h, w] + z[n, c, h, w], 0) }}",
                 lambda x, z: torch.relu(x + z), "xz"),
    "bias_relu": ("(x: {t}[N, C, H, W], b: {t}[C]) -> (y: {t}[N, C, H, W]) {{ y[n, c, h, w] = max(x[n, c, h, w] + b[c], 0) }}",
                  lambda x, b: torch.relu(x + b[:, None, None]), "xb"),
    "mean": ("(x: {t}[N, C, H, W]) -> (y: {t}[N, C]) {{ y[n, c] = mean[h, w](x[n, c, h, w]) }}", lambda x: x.mean((2, 3)), "x"),
}
IMAGES = [(64, 256, 14), (128, 512, 7), (32, 64, 55), (16, 64, 111), (32, 128, 28), (32, 64, 56)]
PRODUCTS = {
    "connected": ("(x: bf16[N, C, H, W], f: bf16[O, C, H, W]) -> (y: bf16[N, O]) { y[n, o] = sum[c, h, w](x[n, c, h, w] * f[o, c, h, w]) }",
                  lambda x, f: x.flatten(1) @ f.flatten(1).T, [(64, 512, 7, 4096), (256, 256, 6, 4096), (128, 128, 8, 1024)]),
    "one_tap": ("(x: bf16[N, C, H, W], f: bf16[O, C, 1, 1]) -> (y: bf16[N, O, H, W]) {"
                " y[n, o, h, w] = sum[c, r, s](x[n, c, h + r, w + s] * f[o, c, r, s]) }",
                F.conv2d, [(16, 128, 100, 256), (32, 32, 56, 256), (32, 256, 14, 1024), (32, 512, 7, 2048), (16, 64, 112, 64)]),
    "gram": ("(x: bf16[N, C, H, W]) -> (y: f32[N, C, C]) { y[n, c, d] = sum[h, w](x[n, c, h, w] * x[n, d, h, w]) }",
             lambda x: (x.flatten(2) @ x.flatten(2).mT).float(), [(16, 128, 30, 0), (8, 512, 28, 0), (16, 64, 56, 0)]),
}


def time_row(place, title, text, call, inputs):
    bound = kernelc.compile("def k" + text)["k"].bind(*inputs)
    bound.launch()
    torch.cuda.synchronize()
    out = bound.outputs[0] if isinstance(bound.outputs, (tuple, list)) else bound.outputs
    want = call(*inputs).float()
    error = ((out.float() - want).abs().max() / want.abs().max()).item()
    if error > 2e-2:
        print(f"| {title} | wrong: {error:.1e} | | |", flush=True)
        return
    compiled = torch.compile(call)
    compiled(*inputs)
    runs = {"kernelc": bound.launch, "eager": lambda: call(*inputs), "torch.compile": lambda: compiled(*inputs)}
    place.measure(runs, 2)
    us = {n: statistics.median(t) for n, t in place.measure(runs, 11).items()}
    print(f"| {title} | " + " | ".join(f"{us[n]:.1f}" for n in runs) + " |", flush=True)


def main():
    place = harness.Gpu(0)
    print(f"{place.name}, PyTorch {torch.__version__}\n\n| row | kernelc, µs | eager | torch.compile |\n|---|--:|--:|--:|")
    for n, c, h in IMAGES:
        for t, dtype in (("bf16", torch.bfloat16), ("f32", torch.float32)):
            values = {"x": torch.randn(n, c, h, h, device="cuda").to(dtype), "z": torch.randn(n, c, h, h, device="cuda").to(dtype),
                      "b": torch.randn(c, device="cuda").to(dtype)}
            for name, (text, call, inputs) in STATEMENTS.items():
                time_row(place, f"{name} {n}x{c}x{h}x{h} {t}", text.format(t=t), call, [values[i] for i in inputs])
    for name, (text, call, sizes) in PRODUCTS.items():
        for n, c, h, o in sizes:
            x = (torch.randn(n, c, h, h, device="cuda") / 8).bfloat16()
            taps = 1 if name == "one_tap" else h
            f = [(torch.randn(o, c, taps, taps, device="cuda") / 8).bfloat16()] if o else []
            time_row(place, f"{name} {n}x{c}x{h}x{h} {o or ''}", text, call, [x, *f])


if __name__ == "__main__":
    main()
