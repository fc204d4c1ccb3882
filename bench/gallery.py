#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of the gallery at the sizes of the bars they have: top-8 of rows, a selective scan, add and RMS norm.

    python3 bench/gallery.py

Each result is compared first; then contenders take turns, the L2 flushed before each run, medians of ten in microseconds.
Needs PyTorch and a GPU.
"""
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "python"))
os.environ.setdefault("KERNELC_UNTUNED", "1")
os.environ.setdefault("KERNELC_COMPILE", "block")

import torch  # noqa: E402

import kernelc  # noqa: E402
from harness import Gpu  # noqa: E402

GALLERY = os.path.join(HERE, "..", "examples", "gallery")
ADD_RMS = """def add_rms(x: bf16[M, N], r: bf16[M, N], w: bf16[N]) -> (h: bf16[M, N], y: bf16[M, N]) {
  h[i, j] = x[i, j] + r[i, j]
  y[i, j] = h[i, j] * rsqrt(mean[j](f32(h[i, j]) ** 2) + 1e-6) * w[j]
}"""


def timed(contenders, rounds=10):
    return {name: statistics.median(us) for name, us in Gpu(0).measure(contenders, rounds).items()}


def say(what, error, contenders):
    print(f"| {what} | {error:.1e} | " + ", ".join(f"{name} {us:.1f}" for name, us in timed(contenders).items()) + " |", flush=True)


def top8():
    kernel = kernelc.load(os.path.join(GALLERY, "top8.kc")).top8_of_rows
    x = torch.randn(32768, 4096, device="cuda")
    error = (kernel(x) - torch.topk(x, 8, dim=1).values).abs().max().item()
    say("top-8 of 32768x4096 f32", error, {"kernelc": lambda: kernel(x), "torch.topk": lambda: torch.topk(x, 8, dim=1), "copy": x.clone})


def selective_scan():
    b, length, d, n = 8, 4096, 2048, 16
    kernel = kernelc.load(os.path.join(GALLERY, "selective_scan.kc"), N=n).selective_scan  # (states stay in registers where they are few)
    x, dt = torch.randn(b, length, d, device="cuda"), torch.rand(b, length, d, device="cuda") * 0.1
    a, u, v = -torch.rand(d, n, device="cuda"), torch.randn(b, length, n, device="cuda"), torch.randn(b, length, n, device="cuda")
    y, h, error = kernel(x, dt, a, u, v), torch.zeros(b, d, n, device="cuda", dtype=torch.float64), 0.0
    for t in range(64):
        h = torch.exp(dt[:, t, :, None].double() * a) * h + dt[:, t, :, None].double() * u[:, t, None, :] * x[:, t, :, None]
        error = max(error, (y[:, t].double() - (v[:, t, None, :].double() * h).sum(-1)).abs().max().item())
    say("selective scan B 8, L 4096, D 2048, N 16", error, {"kernelc": lambda: kernel(x, dt, a, u, v), "copy of x and dt": lambda: (x.clone(), dt.clone())})


def add_rms():
    kernel = kernelc.compile(ADD_RMS).add_rms
    x, r = (torch.randn(8192, 4096, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    w = torch.randn(4096, device="cuda", dtype=torch.bfloat16)

    def reference(x, r, w):
        h = x + r
        return h, (h.float() * torch.rsqrt((h.float() ** 2).mean(-1, keepdim=True) + 1e-6) * w).to(h.dtype)

    compiled = torch.compile(reference)
    compiled(x, r, w)
    error = (kernel(x, r, w)[1].float() - reference(x, r, w)[1].float()).abs().max().item()
    say("add + RMS norm 8192x4096 bf16", error, {"kernelc": lambda: kernel(x, r, w), "torch.compile": lambda: compiled(x, r, w)})


if __name__ == "__main__":
    print("| program | largest error | µs |\n|---|--:|---|")
    for program in (top8, selective_scan, add_rms):
        program()
