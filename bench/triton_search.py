#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the fastest configuration of triton_matmul.py's two kernels for each bf16 product of workloads/ and pins it
in triton_configs.json. Compiles in processes of its own first: Triton keeps what they made on disk.

    python3 bench/triton_search.py [--only WORD ..] [--out FILE]
"""
import argparse
import concurrent.futures
import json
import multiprocessing
import os
import sys


def compile_one(job):
    """Runs a configuration once on small inputs of the same divisibility."""
    form, config, (m, n, k) = job
    import torch
    import triton_matmul
    a = torch.zeros(m, k, device="cuda", dtype=torch.bfloat16)
    b = torch.zeros((k, n) if form == "nn" else (n, k), device="cuda", dtype=torch.bfloat16)
    try:
        triton_matmul.make(config, form, a, b)()
        torch.cuda.synchronize()
        return None
    except Exception as e:  # it does not fit, or Triton cannot compile it
        return f"{type(e).__name__}: {str(e).strip()[:100]}"


def divisible(shape):
    """A small shape that Triton specialises as it does this one."""
    return tuple(256 if x % 16 == 0 else 264 if x % 8 == 0 else 257 if x % 2 else 260 for x in shape)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--out")
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    options = parser.parse_args()
    import torch
    import triton
    import harness
    import triton_matmul
    works = [w for w in harness.WORKLOADS if type(w).__name__ == "Matmul" and w.dtype == "bf16" and w.form in ("nn", "nt")
             and all(word in w.name for word in options.only)]

    def configs_of(w):
        aligned = w.n % 8 == 0 and w.k % 8 == 0
        return triton_matmul.POINTER_CONFIGS + (triton_matmul.DESCRIPTOR_CONFIGS if aligned else [])
    jobs = {json.dumps((w.form, c, divisible((w.m, w.n, w.k)))) for w in works for c in configs_of(w)}
    with concurrent.futures.ProcessPoolExecutor(options.processes, multiprocessing.get_context("spawn")) as pool:
        failed = [f for f in pool.map(compile_one, map(json.loads, sorted(jobs))) if f]
    print(f"{len(jobs)} kernels compiled, {len(failed)} of them not: {sorted(set(failed))[:4]}", file=sys.stderr)
    found = {}
    for w in works:
        torch.manual_seed(0)
        a, b = w.inputs(torch.device("cuda"), 1)
        expected = w.expected(a, b)
        times = []
        for config in configs_of(w):
            try:
                run = triton_matmul.make(config, w.form, a, b)
                if harness.largest_error(run(), expected) <= w.tolerance:
                    times.append((triton.testing.do_bench(run, warmup=5, rep=15, return_mode="median"), json.dumps(config)))
            except Exception:  # said above
                continue
        times.sort()
        time, best = times[0]
        found[f"{w.form} {w.m}x{w.n}x{w.k}"] = json.loads(best)
        print(f"{w.name}: {len(times)} ran, {w.flops(a, b) / time / 1e9:.0f} TFLOP/s, {best}", flush=True)
    lines = ",\n".join(f"    {json.dumps(key)}: {json.dumps(config)}" for key, config in found.items())
    device = torch.cuda.get_device_name()
    text = f'{{\n  "device": "{device}", "triton": "{triton.__version__}",\n  "configs": {{\n{lines}\n  }}\n}}\n'
    with open(options.out or triton_matmul.CONFIGS, "w") as f:
        f.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
