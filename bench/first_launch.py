#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a text to its first result on a GPU, with empty caches, in a fresh process in which one unrelated kernel has run: the
kernels of examples/ and of test/conformance at their full sizes, and 36 sequences. Needs PyTorch and a GPU.

    first_launch.py [WORD ..] --seed SEED [--policies block tiered] [--jobs 4]   seconds of each, median, 95 %, most, histogram; of the first
                                                                       policy also what they consist of: until the kernel can be
                                                                       launched, its first run; the same from the disk cache, and a
                                                                       run that finds all code on the device; how many fast code serves
    first_launch.py WORD .. --repeats 9 --policies block               each kernel alone in a running process, in turns: every time a session with
                                                                       an empty cache, in which an unrelated kernel has run; medians
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
from compile_time import extents, kernels, quantile, small_sizes

TYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "i8": "int8", "u8": "uint8", "i16": "int16", "i32": "int32",
         "i64": "int64", "bool": "bool", "f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}
# Sizes of the examples, which leave them open.
OPEN = {"full": 2048, "small": 96}
# Kernels that a process runs one after the other where only their bits count.
TOGETHER = 9
OF_EXAMPLE = {
    "attention": {"B": 4, "H": 16, "G": 16, "S": 1024, "T": 1024, "D": 64},
    "batched_matmul": {"B": 64, "M": 512, "N": 512, "K": 256},
    "conv2d": {"N": 16, "H": 64, "W": 64, "C": 64, "O": 128, "R": 3, "S": 3},
    "einsum": {},
    "pooling": {"N": 16, "C": 64, "H": 128, "W": 128},
    "grouped": {"G": 8},
}


# Whose blocks need more than the small size.
IN_BLOCKS = ("block_sparse", "matmul_f8_blocks")


def open_size(title, size, scale):
    known = OF_EXAMPLE.get(title.split(":")[0], {"D": 64} if size == "D" else {})
    if scale == "small":
        return 128 if title.endswith(IN_BLOCKS) else min(known.get(size, OPEN[scale]), OPEN[scale])
    return known.get(size, 128 if known or title.startswith("einsum") else OPEN[scale])


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


def arguments(torch, kernel, title, sizes, scale):
    """A call's inputs, and the sizes that no input shows."""
    sizes = {n: number(v) for n, v in sizes.items()}
    for size in kernel.sizes:
        sizes.setdefault(size, open_size(title, size, scale))
    inputs = [argument(torch, p, s, sizes, scale) for p, s in zip(kernel.params, kernel.shapes) if p[2] != kernelc_roles.PARAM_OUTPUT]
    covered = " ".join(s for p, s in zip(kernel.params, kernel.shapes) if p[2] in (kernelc_roles.PARAM_INPUT, kernelc_roles.PARAM_INOUT))
    return inputs, {n: int(sizes[n]) for n in kernel.sizes if not re.search(rf"\b{n}\b", covered)}


def is_cached(kernelc, cache, text, name, inputs, named):
    """Whether the full code is there: it is kept when it takes the place of fast code, at a later call."""
    try:
        kernelc.Session(cache_path=cache, compile_policy="strict", tuned=False).compile(text).kernels[name].bind(*inputs, **named)
    except kernelc.KernelcError:
        return False
    return True


def cold_of(job, policy):
    """(title, seconds from text to result, the parts of it in milliseconds)"""
    import torch
    import kernelc
    title, text, name, sizes = job
    with tempfile.TemporaryDirectory() as cache:
        session = kernelc.Session(cache_path=cache, compile_policy=policy, tuned=False)
        other = session.compile("def first(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] + 1 }")
        other(torch.ones(1024, device="cuda"))
        inputs, named = arguments(torch, session.compile(text).kernels[name], title, sizes, "full")  # nothing is compiled by NVRTC yet
        torch.cuda.synchronize()
        times = [time.monotonic()]
        bound = session.compile(text).kernels[name].bind(*inputs, **named)
        times.append(time.monotonic())
        bound.launch()
        torch.cuda.synchronize()
        times.append(time.monotonic())
        is_fast = not is_cached(kernelc, cache, text, name, inputs, named)
        again = time.monotonic()
        kernelc.Session(cache_path=cache, compile_policy=policy, tuned=False).compile(text).kernels[name].bind(*inputs, **named)
        disk = time.monotonic() - again
        bound.launch()
        torch.cuda.synchronize()
        warm = time.monotonic()
        bound.launch()
        torch.cuda.synchronize()
        warm = time.monotonic() - warm
    until, first = (b - a for a, b in zip(times, times[1:]))
    parts = {"to launchable": until, "first run": first, "from disk": disk, "a run": warm}
    return title, until + first, {part: 1e3 * seconds for part, seconds in parts.items()} | {"fast": is_fast}


def repeated(jobs, policies, repeats, limit):
    """A table: kernels one at a time, in turns, in this process; no turn is begun behind the limit."""
    times, end = {}, time.monotonic() + limit
    for _ in range(repeats):
        if time.monotonic() > end:
            break
        for job in jobs:
            for policy in policies:
                title, seconds, parts = cold_of(job, policy)
                times.setdefault((title, policy), []).append((1e3 * seconds, parts["to launchable"], parts["first run"]))
    print(f"medians of {min(map(len, times.values()))}\n\n| kernel | policy | ms | least | most | to launchable ms | first run ms |\n|---|---|{'--:|' * 5}")
    for (title, policy), rows in times.items():
        whole, launchable, first = zip(*rows)
        cells = [statistics.median(whole), min(whole), max(whole), statistics.median(launchable), statistics.median(first)]
        print(f"| {title} | {policy} | {' | '.join(f'{c:.0f}' for c in cells)} |")


def bits_of(job, session):
    """(title, a hash of the results, nothing)"""
    import torch
    title, text, name, sizes = job
    torch.manual_seed(1)
    kernel = session.compile(text).kernels[name]
    inputs, named = arguments(torch, kernel, title, sizes, "small")
    result = kernel(*inputs, **named)
    results = list(result) if isinstance(result, tuple) else [result]
    results += [x for x, p in zip(inputs, [p for p in kernel.params if p[2] != kernelc_roles.PARAM_OUTPUT]) if p[2] == kernelc_roles.PARAM_INOUT]
    digest = hashlib.sha256()
    for r in results:
        if r is not None:
            digest.update(r.contiguous().reshape(-1).view(torch.uint8).cpu().numpy().tobytes())
    return title, digest.hexdigest()[:16], None


def run_some(jobs, policy, scale, queue):
    """In a process of its own: one kernel where its time counts, several where only their bits do."""
    import kernelc
    session = kernelc.Session(compile_policy=policy, tuned=False, disk_cache=False) if scale == "small" else None
    for job in jobs:
        try:
            queue.put((*(bits_of(job, session) if session else cold_of(job, policy)), None))
        except BaseException as error:  # noqa: BLE001: reported
            queue.put((job[0], None, None, f"{type(error).__name__}: {error}".split("\n")[0][:160]))
    queue.close()
    queue.join_thread()
    sys.stdout.flush()
    os._exit(0)


def run_all(jobs, policy, scale, workers, limit):
    """A row (title, value, parts, error) of each kernel that is begun within the limit."""
    context, rows, running, jobs = multiprocessing.get_context("fork"), [], [], list(jobs)
    queue = context.Queue()
    end = time.monotonic() + limit
    while jobs or running:
        jobs = jobs if time.monotonic() < end else []
        while jobs and len(running) < workers:
            some, jobs = (jobs[:TOGETHER], jobs[TOGETHER:]) if scale == "small" else (jobs[:1], jobs[1:])
            process = context.Process(target=run_some, args=(some, policy, scale, queue))
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
    parser.add_argument("words", nargs="*", help="only kernels with one of these in their title")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--policies", nargs="+", default=["block", "tiered"])
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--repeats", type=int, help="so many times each, one at a time")
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
            json.dump({title: error or digest for title, digest, _, error in rows}, f, indent=1, sort_keys=True)
        print(f"{len(rows)} kernels, {sum(r[3] is not None for r in rows)} failed")
        return
    jobs = [job for job in workload(args.seed, "full") if not args.words or any(w in job[0] for w in args.words)]
    if args.repeats:
        return repeated(jobs, args.policies, args.repeats, args.limit)
    tables = {policy: {r[0]: r for r in run_all(jobs, policy, "full", args.jobs, args.limit)} for policy in args.policies}
    parts = ["to launchable", "first run", "from disk", "a run"]
    columns = [f"{p} s" for p in args.policies] + [f"{part} ms" for part in parts]
    print(f"| kernel | {' | '.join(columns)} |\n|---|{'--:|' * len(columns)}")
    for title, first in tables[args.policies[0]].items():
        cells = [tables[p].get(title, (None,) * 4) for p in args.policies]
        cells = [f"{c[1]:.3f}" if c[1] else str(c[3]) for c in cells] + [f"{first[2][part]:.1f}" if first[2] else "" for part in parts]
        print(f"| {title} | {' | '.join(cells)} |")
    for kind in ("operators", "sequences"):
        for policy, rows in tables.items():
            values = [r[1] for r in rows.values() if r[1] and r[0].startswith("sequence") == (kind == "sequences")]
            if values:
                fast = sum(r[2]["fast"] for r in rows.values() if r[1] and r[0].startswith("sequence") == (kind == "sequences"))
                print(f"\n{kind}, {policy}: {len(values)} kernels, median {statistics.median(values):.3f} s, 95 % {quantile(values, 0.95):.3f} s, "
                      f"most {max(values):.3f} s, {fast} served by fast code\n\n{histogram(values)}")


if __name__ == "__main__":
    main()
