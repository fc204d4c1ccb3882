#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Norms and softmax over rows that a block or a cluster can hold, by schedule beside the plan and torch.compile.

    python3 bench/held_rows.py

`one`: a block holds a row; c2, c4, c8: so many blocks of a cluster do. Results are compared first; then contenders take turns, the L2
flushed before each run. Needs PyTorch and a GPU.
"""
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "python"))
import harness  # noqa: E402
import torch  # noqa: E402

import kernelc  # noqa: E402

TEXTS = {
    "layernorm": "def k(x: {t}[M, N], g: {t}[N], b: {t}[N]) -> (y: {t}[M, N]) {{ y[i, j] = layernorm[j](x[i, j]) * g[j] + b[j] }}",
    "softmax": "def k(x: {t}[M, N]) -> (y: {t}[M, N]) {{ y[i, j] = softmax[j](x[i, j]) }}",
}
ROWS = [(512, 32768), (512, 24576), (256, 32768), (160, 32768), (1024, 32768), (512, 20000), (300, 16384), (600, 16384)]


def held(tile, warps, cluster):
    return [{"kernel": "k", "parts": 1}, {"kernel": "k", "launch": "y", "tiles": {"i": 1, "j": tile}, "warps": warps, "cluster": cluster}]


def time_row(place, rows, columns, t, dtype, name):
    x, g, b = (torch.randn(*s, device="cuda").to(dtype) for s in ((rows, columns), (columns,), (columns,)))
    inputs = [x, g, b] if name == "layernorm" else [x]
    call = torch.compile((lambda: torch.nn.functional.layer_norm(x, (columns,), g, b)) if name == "layernorm" else (lambda: torch.softmax(x, 1)))
    want, runs = call().float(), {"torch.compile": call}
    tile = 1 << (columns - 1).bit_length()
    schedules = {"plan": None, "one": [{"kernel": "k", "parts": 1}], "c2": held(tile // 2, 16, 2), "c4": held(tile // 4, 8, 4),
                 "c8": held(tile // 8, 8, 8)}
    for title, schedule in schedules.items():
        bound = kernelc.compile(TEXTS[name].format(t=t), schedule=schedule)["k"].bind(*inputs)
        bound.launch()
        torch.cuda.synchronize()
        out = bound.outputs[0] if isinstance(bound.outputs, (tuple, list)) else bound.outputs
        if (out.float() - want).abs().max() < 2e-2 * want.abs().max() + 1e-3:
            runs[title] = bound.launch
    place.measure(runs, 2)
    us = {n: statistics.median(v) for n, v in place.measure(runs, 9).items()}
    print(f"{rows}x{columns} {t} {name}: " + ", ".join(f"{n} {v:.1f}" for n, v in sorted(us.items(), key=lambda z: z[1])), flush=True)


def main():
    place = harness.Gpu(0)
    print(f"{place.name}, PyTorch {torch.__version__}; µs")
    for rows, columns in ROWS:
        for t, dtype in (("f32", torch.float32), ("bf16", torch.bfloat16)):
            for name in TEXTS:
                torch.compiler.reset()
                time_row(place, rows, columns, t, dtype, name)


if __name__ == "__main__":
    main()
