#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The 24 rows of what users bring, one line each: programs, whether they compile for sm_90a, and what was measured last.

    python3 bench/rows.py --kernelc build/ci/tools/kernelc

Programs lie in examples/, examples/gallery/ and bench/kernels/. A figure is a line of a page of docs/, quoted; a row whose program does not compile, or whose line is not there, is a fault.
"""
import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..")
G = "examples/gallery/"
TABLE = "docs/performance.md"
TODAY = "docs/lab/2026-11-27-scatters-9.md"
MERGED = "docs/lab/2026-11-26-merged-4.md"
# Row, workload, programs, state in words, figure (what it says, where, a piece of the line).
ROWS = [
    (1, "element chains", ["examples/saxpy.kc", "bench/kernels/memory_bf16.kc"], "works", ("GELU and add 1.01 of a copy, 1.04 × torch.compile", TABLE, "GELU and add 4096×16384, bf16 | 1.01 | 3.41 | 1.04")),
    (2, "reductions", ["examples/row_sum.kc", "examples/column_sum.kc", "examples/argmax.kc"], "works", ("column sum 1.19 × torch.compile", TABLE, "column sum 8192×4096, bf16 | 0.91 | 1.63 | 1.19")),
    (3, "unrolling and tiling by schedule", ["examples/softmax.kc"], "works: `unroll` and tiles are fields of a schedule", None),
    (4, "products", ["examples/matmul.kc", "examples/batched_matmul.kc", "examples/grouped.kc"], "works", ("40 drawn bf16 products 1.03 × cuBLAS, least 0.92", MERGED, "40 rows, geometric mean 1.028, least 0.916")),
    (5, "mixed precision training step", [G + "training.kc", G + "adam.kc"], "works", None),
    (6, "products of tf32, f8, i8, i4", ["examples/matmul_tf32.kc", "examples/matmul_f8.kc", "examples/matmul_i8.kc"], "works, but 2:4 sparsity", ("4096³ f8 1.05 × cuBLAS", TABLE, "matmul 4096³, f8 |  | 1.06 | 1.06 |  | 1.05")),
    (7, "int8 quantisation", ["examples/quantize_i8.kc", "examples/matmul_i8.kc", G + "quantize.kc"], "works", ("i8 1.67 × eager", TABLE, "matmul 4096³, i8 |  | 1.67")),
    (8, "attention", ["examples/attention.kc"], "works", ("d 128 1.06 × cuDNN, causal 1.12", MERGED, "attention d128: geometric mean 1.061, smallest 1.039 of 5")),
    (9, "block-sparse products", ["examples/block_sparse.kc"], "works", ("1.91, 1.74, 2.27 × torch BSR", "docs/lab/2026-11-24-goals.md", "1.91, 1.74, 2.27 at 128, 64, 32")),
    (10, "convolutions", ["examples/conv2d.kc"], "works", ("drawn bf16 0.94 of cuDNN, f32 1.04", MERGED, "48 rows, geometric mean of the better peer's ratio 0.936")),
    (11, "norms, softmax, losses, pooling", ["examples/layernorm.kc", "examples/rmsnorm.kc", "examples/softmax.kc", "examples/pooling.kc", G + "loss.kc"], "works", ("79 rows 1.04 × the better peer", MERGED, "79 rows, geometric mean of the better peer's ratio 1.042")),
    (12, "scans", ["examples/cumsum.kc", G + "running.kc", G + "selective_scan.kc", "bench/kernels/scans.kc"], "works; long rows in one pass", ("rows of 32768 2.30 × eager, selective scan 4.81 × torch.compile", TODAY, "cumsum 4096x32768 | 286.0 | eager | 657.5 | 2.30")),
    (13, "gathers, scatters", [G + "embedding.kc", G + "experts.kc", "examples/histogram.kc", "examples/index_add.kc"], "works", ("embedding gradient 2.08, index_add 2.08 × eager, messages 0.33", TODAY, "embedding_gradient 16384x4096 into 128256 f32 | 718.4 | eager | 1492.1 | 2.08")),
    (14, "fused optimiser", [G + "adam.kc"], "works, a call a tensor", ("AdamW of 64M 0.98 × torch.compile, 4.3 × eager", MERGED, "AdamW 67108864 f32 | 0.0e+00 | 0.454 | 4.34 | 0.98")),
    (15, "LoRA, SwiGLU, QKV with rotary", ["bench/kernels/chains.kc", G + "rotary.kc"], "works", ("RoPE 1.18 × torch.compile; gated 1.12 in cascades", MERGED, "RoPE 8x4096x32x128 bf16 | 0.0e+00 | 0.135 | 15.35 | 1.18")),
    (16, "vision", [G + "pixel_shuffle.kc", G + "resize.kc", G + "shifted_windows.kc", G + "deformable.kc"], "works", None),
    (17, "erasure coding", [G + "erasure.kc", "bench/kernels/erasure.kc"], "works", ("10 + 4 by tables 0.73 of a copy (H200), 0.90 (H100)", TODAY, "GF(2^8) 10 + 4 of 64 MiB | 313.9 | equal copy | 227.6 | 0.73")),
    (18, "semirings", [G + "shortest_paths.kc", "bench/kernels/semirings.kc"], "works", ("min-plus 4096³ 0.49 of a product, 0.5 is the bound", "docs/lab/2026-11-25-planner.md", "| min_plus | 4096 | 5338 | 0.49")),
    (19, "dynamic shapes", ["examples/linear.kc"], "works: variants by guard", None),
    (20, "streams, graphs, pools", [], "runtime: no allocation on the launch path", ("0 calls", "docs/lab/2026-11-22-host.md", "no allocation on the launch path | 0 calls")),
    (21, "several GPUs", [], "a kernel a device; collectives are refused by name (`all_reduce`)", None),
    (22, "PyTorch extension, DLPack", [], "works", ("a call of a kernel 5.5 µs", "docs/lab/2026-11-26-package.md", "| `k(x, w, y)` | cuda:0 | PyTorch | 5.48")),
    (23, "debugging", [], "emulator, `assert`, guards, `check --find-nonfinite`, `check --mutate`", None),
    (24, "profiling", [], "`explain`, `bench`, `tune`", None),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernelc", default="kernelc")
    args = parser.parse_args()
    bad = 0
    print("| row | workload | programs | state | figure |\n|--:|---|---|---|---|")
    for number, what, programs, state, figure in ROWS:
        for program in programs:
            done = subprocess.run([args.kernelc, "compile", os.path.join(ROOT, program), "--arch", "sm_90a", "--emit", "plan", "-o", os.devnull], capture_output=True, text=True)
            if done.returncode:
                print(f"row {number}: {program}: {done.stderr}", file=sys.stderr)
                bad += 1
        said = "not measured"
        if figure:
            said, page, line = figure
            path = os.path.join(ROOT, page)
            if not os.path.exists(path) or line not in open(path).read():
                print(f"row {number}: {page} does not have '{line}'", file=sys.stderr)
                bad += 1
            link = os.path.relpath(page, "docs/lab")
            said += f" ([note]({link}))"
        names = ", ".join(os.path.basename(p).removesuffix(".kc") for p in programs) or "none"
        print(f"| {number} | {what} | {names} | {state} | {said} |")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
