#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a text to its first result on a GPU, with empty caches, in a fresh process in which one unrelated kernel has run: the
kernels of examples/ and of test/conformance at their full sizes, and 36 sequences. Needs PyTorch and a GPU.

    first_launch.py --seed SEED [--policies block tiered] [--jobs 4]   seconds of each, median, 95 %, most, histogram
    first_launch.py --seed SEED --bits FILE                            at small sizes: a hash of every result, by name, as JSON
    first_launch.py --loads 128                                        a program of so many kernels from the disk cache to launchable

Two --bits of one NVRTC and of one with another option (bench/nvrtc_tier.c) say whether the tiers' results have the same bits.
Processes are forked from one that has loaded PyTorch and not touched the GPU.
"""
import argparse
import hashlib
import json
import multiprocessing
import os
import re
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import sequences
from kernelc import _library as kernelc_roles
from compile_time import kernels, quantile

TYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "i8": "int8", "u8": "uint8", "i16": "int16", "i32": "int32",
         "i64": "int64", "bool": "bool", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}
# Sizes of the examples, which leave them open.
OPEN = {"full": 2048, "small": 96}
OF_EXAMPLE = {
    "attention": {"B": 4, "H": 16, "G": 16, "S": 1024, "T": 1024, "D": 64},
    "batched_matmul": {"B": 64, "M": 512, "N": 512, "K": 256},
    "conv2d": {"N": 16, "H": 64, "W": 64, "C": 64, "O": 128, "R": 3, "S": 3},
    "einsum": {},
    "pooling": {"N": 16, "C": 64, "H": 128, "W": 128},
    "grouped": {"G": 8},
}


def open_size(title, size, scale):
    known = OF_EXAMPLE.get(title.split(":")[0], {"D": 64} if size == "D" else {})
    return known.get(size, 128 if known or title.startswith("einsum") else OPEN[scale]) if scale == "full" else min(known.get(size, 96), 96)


def small_sizes(path, name):
    """The last of the sizes that tests of a conformance kernel run."""
    found, sizes = [], []
    for line in open(path):
        if line.startswith("#   small"):
            sizes = line.split()[2:]
        elif line.startswith(f"def {name}("):
            found = sizes
    return found


def workload(seed, scale):
    """(title, text, kernel, sizes)"""
    for title, path, name, sizes in kernels():
        if "conformance" in path and scale == "small":
            sizes = small_sizes(path, name)
        yield title, open(path).read(), name, dict(s.split("=") for s in sizes)
    for name, text in sequences.draw(seed, scale == "small"):
        yield f"{name}: {text.splitlines()[0][2:]}", text, name, {}


def number(text):
    return float(text) if "." in text or "e" in text else int(text)


def extents(shape, sizes):
    """Of a tensor whose shape the text gives as `[M, N // 2]`."""
    return [eval(e.replace("/", "//").replace("////", "//"), {}, sizes) for e in shape.strip("[]").split(",") if e.strip()]


def argument(torch, param, shape, sizes, scale):
    name, kind, role, rank = param
    if role == kernelc_roles.PARAM_SCALAR:
        return sizes.get(name, 3 if kind[0] in "iu" else 1.5)
    extent = extents(shape, sizes)
    dtype = getattr(torch, TYPES[kind])
    if kind.startswith("f8"):
        return torch.randint(0, 96, extent, dtype=torch.uint8, device="cuda").view(dtype)
    if dtype.is_floating_point:
        return torch.rand(extent, dtype=torch.float32, device="cuda").sub_(0.5).to(dtype) if scale == "small" else torch.full(
            extent, 0.25, dtype=dtype, device="cuda")
    return torch.ones(extent, dtype=dtype, device="cuda")


def run_one(job, policy, scale, queue):
    title, text, name, sizes = job
    try:
        import torch
        import kernelc
        sizes = {n: number(v) for n, v in sizes.items()}
        with tempfile.TemporaryDirectory() as cache:
            session = kernelc.Session(cache_path=cache, compile_policy=policy, tuned=False)
            other = session.compile("def first(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] + 1 }")
            other(torch.ones(1024, device="cuda"))
            torch.cuda.synchronize()
            torch.manual_seed(1)
            known = session.compile(text)  # for the shapes; a session of its own is not needed: nothing is compiled by NVRTC yet
            kernel = known.kernels[name]
            for size in kernel.sizes:
                sizes.setdefault(size, open_size(title, size, scale))
            inputs = [argument(torch, p, s, sizes, scale) for p, s in zip(kernel.params, kernel.shapes) if p[2] != kernelc_roles.PARAM_OUTPUT]
            torch.cuda.synchronize()
            start = time.monotonic()
            kernel = session.compile(text).kernels[name]
            covered = " ".join(s for p, s in zip(kernel.params, kernel.shapes) if p[2] in (kernelc_roles.PARAM_INPUT, kernelc_roles.PARAM_INOUT))
            named = {n: int(sizes[n]) for n in kernel.sizes if not re.search(rf"\b{n}\b", covered)}
            result = kernel(*inputs, **named)
            torch.cuda.synchronize()
            seconds = time.monotonic() - start
            results = result if isinstance(result, tuple) else (result,)
            written = [x for x, p in zip(inputs, [p for p in kernel.params if p[2] != kernelc_roles.PARAM_OUTPUT]) if p[2] == kernelc_roles.PARAM_INOUT]
            digest = hashlib.sha256()
            for r in [*results, *written]:
                if r is not None:
                    digest.update(r.contiguous().view(torch.uint8).cpu().numpy().tobytes() if scale == "small" else b"")
            queue.put((title, seconds, digest.hexdigest()[:16], None))
    except BaseException as error:  # noqa: BLE001: reported
        queue.put((title, None, None, f"{type(error).__name__}: {error}".split("\n")[0][:160]))
    sys.stdout.flush()
    os._exit(0)


def run_all(jobs, policy, scale, workers, limit):
    context, rows, running, jobs = multiprocessing.get_context("fork"), [], [], list(jobs)
    queue = context.Queue()
    end = time.monotonic() + limit
    while jobs or running:
        jobs = jobs if time.monotonic() < end else []
        while jobs and len(running) < workers:
            process = context.Process(target=run_one, args=(jobs.pop(0), policy, scale, queue))
            process.start()
            running.append(process)
        try:
            rows.append(queue.get(timeout=0.05))
            print(*rows[-1][:2], rows[-1][3] or "", file=sys.stderr, flush=True)
        except Exception:
            pass
        running = [p for p in running if p.is_alive()]
    while not queue.empty():
        rows.append(queue.get())
    return rows


def histogram(values, step=0.25):
    out = []
    for b in range(int(max(values) / step) + 1):
        n = sum(b * step <= v < (b + 1) * step for v in values)
        out.append(f"{b * step:5.2f} s {'#' * n} {n or ''}".rstrip())
    return "\n".join(out)


def loads(count):
    import torch
    import kernelc
    text = "\n".join(f"def k{i}(x: f32[N]) -> (y: f32[N]) {{\n  y[i] = exp(x[i]) + {i}\n}}" for i in range(count))
    with tempfile.TemporaryDirectory() as cache:
        x = torch.ones(1024, device="cuda")
        for turn in ("cold", "from disk", "from disk", "from disk"):
            session = kernelc.Session(cache_path=cache)
            start = time.monotonic()
            program = session.compile(text)
            loaded = time.monotonic()
            bound = [k.bind(x) for k in program.kernels.values()]
            print(f"{count} kernels, {turn}: program {1e3 * (loaded - start):.1f} ms, all launchable {1e3 * (time.monotonic() - start):.1f} ms", flush=True)
            del bound, program, session


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--policies", nargs="+", default=["block", "tiered"])
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--limit", type=float, default=1e9, help="seconds after which no further kernel is begun")
    parser.add_argument("--bits", metavar="FILE")
    parser.add_argument("--first-plan", action="store_true", help="bits: of each kernel's first plan, whatever NVRTC makes of it, by full code")
    parser.add_argument("--loads", type=int)
    args = parser.parse_args()
    if args.loads:
        return loads(args.loads)
    import torch  # noqa: F401: before the forks
    import kernelc  # noqa: F401
    if args.bits:
        if args.first_plan:  # under `tiered` no plan is tried, and without a worker there is no fast code
            os.environ["KERNELC_NVRTC_WORKER"] = "0"
        rows = run_all(workload(args.seed, "small"), "tiered" if args.first_plan else "block", "small", args.jobs, args.limit)
        with open(args.bits, "w") as f:
            json.dump({title: error or digest for title, _, digest, error in rows}, f, indent=1, sort_keys=True)
        print(f"{len(rows)} kernels, {sum(r[3] is not None for r in rows)} failed")
        return
    tables = {policy: {r[0]: r for r in run_all(workload(args.seed, "full"), policy, "full", args.jobs, args.limit)} for policy in args.policies}
    print(f"| kernel | {' | '.join(p + ' s' for p in args.policies)} |\n|---|{'--:|' * len(args.policies)}")
    for title in tables[args.policies[0]]:
        cells = [tables[p].get(title, (None,) * 4) for p in args.policies]
        print(f"| {title} | {' | '.join(f'{c[1]:.3f}' if c[1] else str(c[3]) for c in cells)} |")
    for kind in ("operators", "sequences"):
        for policy, rows in tables.items():
            values = [r[1] for r in rows.values() if r[1] and r[0].startswith("sequence") == (kind == "sequences")]
            print(f"\n{kind}, {policy}: {len(values)} kernels, median {statistics.median(values):.3f} s, 95 % {quantile(values, 0.95):.3f} s, "
                  f"most {max(values):.3f} s\n\n{histogram(values)}")


if __name__ == "__main__":
    main()
