# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two builds of kernelc on one GPU, in turns: whether a change left kernels as fast.

    python3 bench/guard.py OLD/bin/kernelc NEW/bin/kernelc [--rounds 5] [--repeats 60]

For each kernel the median over rounds of `kernelc bench`'s median, old over new: above 1 the new one is faster. The spread
is the largest over the smallest ratio of one round. Untuned schedules, no disk cache shared between the two.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

EXAMPLES = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples"))
KERNELS = [
    ("linear", "linear", "M=4096 N=4096 K=4096"), ("linear", "linear", "M=1000 N=1000 K=1000"),
    ("linear_gelu", "", "M=4096 N=4096 K=4096"), ("linear_residual", "", "M=4096 N=4096 K=4096"),
    ("linear_stats", "", "M=2048 N=2048 K=2048"), ("matmul_i8", "linear_w8", "M=64 N=4096 K=4096"),
    ("softmax", "", "M=8192 N=4096"), ("softmax", "", "M=4096 N=32768"), ("layernorm", "", "M=8192 N=4096"),
    ("rmsnorm", "", "M=8192 N=4096"), ("logsumexp", "", "M=8192 N=4096"), ("argmax", "", "M=8192 N=4096"),
    ("attention", "", "B=4 H=16 G=16 S=2048 T=2048 D=64"), ("conv2d", "", "N=16 H=64 W=64 C=64 O=128 R=3 S=3"),
    ("transpose", "", "M=8192 N=8192"), ("saxpy", "", "N=67108864 a=1.5"), ("triangular", "", "N=4096 M=4096"),
    ("matmul_i8", "matmul_i8", "M=4096 N=4096 K=4096"), ("matmul_f8", "matmul_f8", "M=4096 N=4096 K=4096"),
    ("column_sum", "", "M=8192 N=4096"), ("gram", "", "N=2048 K=2048"), ("batched_matmul", "", "B=64 M=512 N=512 K=256"),
]
# Whose loops are unrolled far: f32 on CUDA cores, windows, long rows.
CORES = [(f"../test/conformance/{file}", kernel, sizes) for file, kernel, sizes in (
    ("matmul", "matmul", "M=4096 K=4096 N=4096"), ("matmul", "matmul", "M=32768 K=64 N=32768"),
    ("matmul", "matmul_batched", "B=128 M=512 K=1024 N=2048"), ("matmul", "matmul_lower_triangular", "N=4096"),
    ("convolution", "conv_2d", "N=8 C=64 H=512 W=1024 O=128 R=3 S=3"), ("convolution", "conv_2d", "N=16 C=16 H=1024 W=1024 O=128 R=3 S=3"),
    ("convolution", "conv_depthwise_2d", "N=32 C=128 H=128 W=256 R=3 S=7"), ("convolution", "conv_pointwise_2d", "N=16 C=64 H=1024 W=1024 O=128"),
    ("convolution_transposed", "conv_transposed_3d_strided", "N=16 C=32 X=16 Y=32 Z=32 O=64 R=3"),
    ("convolution_transposed", "conv_transposed_2d", "N=8 C=64 H=512 W=512 O=64 R=3 S=7"),
    ("attention", "scaled_dot_product_attention", "B=32 H=32 S=512 D=1024"), ("pooling", "max_pool_3d", "N=16 C=32 X=128 Y=128 Z=128"),
    ("norms", "group_norm", "N=112 C=64 H=512 W=512"), ("activations", "softmax_rows", "M=4096 N=393216"))]


def measure(kernelc, file, kernel, sizes, repeats, cache):
    command = [kernelc, "bench", os.path.join(EXAMPLES, file + ".kc"), "--json", "--untuned", "--cache-dir", cache, "--repeats", str(repeats)]
    command += ["--kernel", kernel] if kernel else []
    for given in sizes.split():  # scalars are arguments
        command += ["--set", given] if given[0].isupper() else [given]
    run = subprocess.run(command, capture_output=True, text=True)
    return json.loads(run.stdout)["median_us"] if run.returncode == 0 else run.stderr.strip().splitlines()[0][:160]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=60)
    parser.add_argument("--cores", action="store_true", help="kernels of CUDA cores in place of the examples")
    a = parser.parse_args()
    print("| kernel | sizes | old µs | new µs | old / new | spread |\n|---|---|--:|--:|--:|--:|")
    ratios = []
    with tempfile.TemporaryDirectory() as cache:
        for file, kernel, sizes in CORES if a.cores else KERNELS:
            old, new, failed = [], [], None
            for _ in range(a.rounds):
                for build, times in ((a.old, old), (a.new, new)):
                    t = measure(build, file, kernel, sizes, a.repeats, os.path.join(cache, "old" if build == a.old else "new"))
                    failed = failed or (t if isinstance(t, str) else None)
                    times.append(t)
                if failed:
                    break
            if failed:
                print(f"| {file} | {sizes} | {failed} | | | |", flush=True)
                continue
            each = [o / n for o, n in zip(old, new)]
            ratios.append(statistics.median(each))
            print(f"| {file} | {sizes} | {statistics.median(old):.1f} | {statistics.median(new):.1f} | {ratios[-1]:.3f} | {max(each) / min(each):.3f} |", flush=True)
    print(f"\nGeometric mean of {len(ratios)}: {statistics.geometric_mean(ratios):.3f}; lowest {min(ratios):.3f}.")


if __name__ == "__main__":
    sys.exit(main())
