#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""kernelc beside PyTorch eager, torch.compile, Triton and the vendor's libraries, in one process.

For every workload: inputs once; each contender's result is checked against f64 before it is
timed (one that is wrong is reported and not timed); then all contenders take turns, the L2
cache flushed before every run, each run between two CUDA events. Reported are medians.

    python3 bench/harness.py                        # everything
    python3 bench/harness.py softmax matmul         # workloads whose name contains a word
    python3 bench/harness.py --json out.json --markdown out.md --repeats 50
    python3 bench/harness.py --device cpu --scale 16  # the harness itself, without a GPU

Needs PyTorch. Exit status 1 when a contender's result was wrong or kernelc failed.
"""
import argparse
import json
import os
import platform
import statistics
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "python"))
sys.path.insert(0, HERE)
os.environ.setdefault("KERNELC_UNTUNED", "1")  # the cost model's schedules, whatever this account has tuned
os.environ.setdefault("KERNELC_COMPILE", "block")  # what is timed is the full code

import torch  # noqa: E402

import kernelc  # noqa: E402
from workloads import WORKLOADS  # noqa: E402


class Gpu:
    """Timing with CUDA events; the flush goes over more than the L2 holds. Where it writes (as Triton's
    do_bench does), the run after it also pays for writing those lines back, as soon as it needs theirs;
    where it reads, the run pays for its own bytes only."""

    def __init__(self, ordinal, flush="write"):
        self.flush_by = flush
        self.device = torch.device("cuda", ordinal)
        torch.cuda.set_device(self.device)
        properties = torch.cuda.get_device_properties(self.device)
        self.name = properties.name
        l2 = getattr(properties, "L2_cache_size", 0) or (64 << 20)
        self.scratch = torch.empty(max(256 << 20, 4 * l2), dtype=torch.int8, device=self.device)

    def synchronize(self):
        torch.cuda.synchronize()

    def host_us(self, run):
        """How long the host takes to queue a run."""
        torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        return (time.perf_counter() - start) * 1e6

    def flush(self):
        if self.flush_by == "write":
            self.scratch.zero_()
        else:
            self.scratch.view(torch.int32).max()

    def measure(self, runs, repeats):
        """Microseconds of every run of every contender, in turns; each round starts with another
        one, behind an untimed run: the first run after an idle GPU is slower than the others."""
        events = {name: [] for name in runs}
        names = list(runs)
        # As many flushes as the host needs to queue what follows (one takes 60 µs): a slow caller is not a slow kernel.
        flushes = {name: 1 + int(2 * statistics.median(self.host_us(runs[name]) for _ in range(5)) / 60) for name in names}
        for r in range(repeats):
            order = names[r % len(names):] + names[:r % len(names)]
            self.flush()
            runs[order[-1]]()
            for name in order:
                run = runs[name]
                start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                for _ in range(flushes[name]):
                    self.flush()
                start.record()
                run()
                end.record()
                events[name].append((start, end))
            torch.cuda.synchronize()
        return {name: [a.elapsed_time(b) * 1e3 for a, b in pairs] for name, pairs in events.items()}


class Cpu:
    """Wall time: only to try the harness out."""
    device = torch.device("cpu")
    name = platform.processor() or platform.machine()

    def synchronize(self):
        pass

    def measure(self, runs, repeats):
        times = {name: [] for name in runs}
        for _ in range(repeats):
            for name, run in runs.items():
                start = time.perf_counter()
                run()
                times[name].append((time.perf_counter() - start) * 1e6)
        return times


def largest_error(result, expected, by_row=False):
    """The largest error relative to what is large in the result (`by_row`: in the row): |r - e| / (|e| + rms(e)); of several results the
    worst."""
    if isinstance(expected, (tuple, list)):
        return max(largest_error(r, e, by_row) for r, e in zip(result, expected, strict=True))
    r, e = result.double(), expected.double()
    if r.shape != e.shape:
        return float("inf")
    if not torch.isfinite(r).all():
        return float("inf")
    mean = e.square().mean(-1, keepdim=True) if by_row else e.square().mean()
    scale = e.abs() + mean.sqrt() + 1e-30
    return float(((r - e).abs() / scale).max())


def contenders_of(workload, inputs, device, options):
    """name -> a function without arguments that returns the result."""
    found, failures = {}, {}

    def offer(name, make):
        if name in options.without:
            return
        try:
            run = make()
            run()
            found[name] = run
        except Exception as e:  # a contender that does not work is a line in the report
            failures[name] = f"{type(e).__name__}: {str(e).strip()[:2000]}"
            if options.verbose:
                traceback.print_exc()

    def ours():
        program = kernelc.compile(workload.source(), workload.file, **workload.constants)
        kernel = program[workload.kernel] if workload.kernel else program._only()
        if device.type == "cpu":
            return lambda: kernel(*inputs)
        bound = kernel.bind(*inputs)
        outputs = bound.outputs if isinstance(bound.outputs, tuple) else (bound.outputs,)
        for o in outputs:
            if o is not None and o.is_floating_point():
                o.fill_(float("nan"))
        return bound.launch

    offer("kernelc", ours)
    offer("eager", lambda: lambda: workload.torch(*inputs))
    if device.type == "cuda" or options.compile_on_cpu:
        def compiled():
            torch._dynamo.reset()  # its limit of recompilations counts all workloads of a class
            function = torch.compile(workload.torch, dynamic=False)
            return lambda: function(*inputs)
        offer("torch.compile", compiled)
    try:
        peers = workload.peers(device)
    except ImportError as e:
        peers, failures["triton"] = {}, f"{type(e).__name__}: {e}"
    for name, make in peers.items():
        offer(name, lambda make=make: make(*inputs))
    return found, failures


def bench(workload, place, options, roofline):
    torch.manual_seed(0)
    inputs = workload.inputs(place.device, options.scale)
    expected = workload.expected(*inputs)
    runs, failures = contenders_of(workload, inputs, place.device, options)
    errors = {}
    for name in list(runs):
        result = runs[name]()
        place.synchronize()
        errors[name] = largest_error(result, expected, workload.by_row)
        if not errors[name] <= workload.tolerance:
            failures[name] = f"wrong: largest relative error {errors[name]:.3g}, allowed {workload.tolerance:.3g}"
            del runs[name]
    del expected
    bytes_moved, flops = workload.bytes(*inputs), workload.flops(*inputs)
    if workload.bound == "memory" and place.device.type == "cuda":  # what the card does with as many bytes
        source = torch.randint(256, (bytes_moved // 2,), dtype=torch.uint8, device=place.device)
        target = torch.empty_like(source)
        runs["equal copy"], errors["equal copy"] = lambda: target.copy_(source), 0.0
    place.measure(runs, 3)  # warm: clocks, caches, autotuners
    times = place.measure(runs, options.repeats)
    rows = []
    for name, samples in times.items():
        samples.sort()
        median = statistics.median(samples)
        row = {"workload": workload.name, "contender": name, "median_us": median,
               "p10_us": samples[len(samples) // 10], "p90_us": samples[len(samples) * 9 // 10], "error": errors[name],
               "gb_s": bytes_moved / median / 1e3, "tflop_s": flops / median / 1e6, "bound": workload.bound}
        if roofline and workload.bound == "memory":
            row["of_copy"] = row["gb_s"] / roofline
        rows.append(row)
    fastest_peer = min((r["median_us"] for r in rows if r["contender"] not in ("kernelc", "equal copy")), default=None)
    equal_copy = next((r["median_us"] for r in rows if r["contender"] == "equal copy"), None)
    for r in rows:
        if equal_copy:
            r["of_equal_copy"] = equal_copy / r["median_us"]
        if fastest_peer:
            r["speed_vs_best_peer"] = fastest_peer / r["median_us"]
    return rows, [{"workload": workload.name, "contender": n, "failure": f} for n, f in failures.items()]


def copy_bandwidth(place, repeats):
    """GB/s of a large device copy, reading and writing counted."""
    source = torch.empty(1 << 28, dtype=torch.float32, device=place.device)
    target = torch.empty_like(source)
    times = place.measure({"copy": lambda: target.copy_(source)}, repeats)["copy"]
    return 2 * source.numel() * 4 / statistics.median(times) / 1e3


def markdown(report):
    lines = [f"{report['device']}, kernelc {report['kernelc']}, PyTorch {report['torch']}, {report['repeats']} runs each, L2 flushed by {'writing' if report['flush'] == 'write' else 'reading'}, medians"]
    if report["copy_gb_s"]:
        lines[0] += f"; a copy moves {report['copy_gb_s']:.0f} GB/s"
    lines += ["", "| workload | contender | µs | p10 to p90 | GB/s | of copy | of an equal copy | TFLOP/s | vs best peer | error |",
              "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for r in report["rows"]:
        of_copy = f"{r['of_copy']:.2f}" if "of_copy" in r else ""
        of_equal = f"{r['of_equal_copy']:.2f}" if "of_equal_copy" in r else ""
        tflops = f"{r['tflop_s']:.1f}" if r["bound"] == "compute" else ""
        against = f"{r['speed_vs_best_peer']:.2f}" if "speed_vs_best_peer" in r else ""
        lines.append(f"| {r['workload']} | {r['contender']} | {r['median_us']:.1f} | {r['p10_us']:.1f} to {r['p90_us']:.1f} | {r['gb_s']:.0f} | "
                     f"{of_copy} | {of_equal} | {tflops} | {against} | {r['error']:.1e} |")
    if report["failures"]:
        lines += ["", "Not measured:", ""]
        for f in report["failures"]:
            first = f["failure"].splitlines()[0] if f["failure"] else ""
            lines.append(f"- {f['workload']}, {f['contender']}: {first}")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only workloads whose name contains one of these")
    parser.add_argument("--device", default="cuda:0" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--scale", type=int, default=1, help="divides the outer extents (to try things out)")
    parser.add_argument("--json")
    parser.add_argument("--markdown")
    parser.add_argument("--without", action="append", default=[], help="leaves a contender out")
    parser.add_argument("--flush", choices=["write", "read"], default="write", help="how the L2 is emptied before each run")
    parser.add_argument("--compile-on-cpu", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    chosen = [w for w in WORKLOADS if not options.words or any(word in w.name for word in options.words)]
    if options.list or not chosen:
        print("\n".join(w.name for w in WORKLOADS))
        return 0 if options.list else 2
    device = torch.device(options.device)
    place = Gpu(device.index or 0, options.flush) if device.type == "cuda" else Cpu()
    roofline = copy_bandwidth(place, 20) if device.type == "cuda" else None
    report = {"device": place.name, "kernelc": kernelc.__version__, "torch": torch.__version__, "repeats": options.repeats, "flush": options.flush,
              "copy_gb_s": roofline, "rows": [], "failures": []}
    failed = False
    for workload in chosen:
        print(f"{workload.name} ...", file=sys.stderr, flush=True)
        try:
            rows, failures = bench(workload, place, options, roofline)
        except Exception as e:  # one workload must not cost the others' results
            rows, failures = [], [{"workload": workload.name, "contender": "harness", "failure": f"{type(e).__name__}: {e}"}]
            if options.verbose:
                traceback.print_exc()
        report["rows"] += rows
        report["failures"] += failures
        for f in failures:
            print(f"  {f['contender']}: {f['failure']}", file=sys.stderr, flush=True)
            failed |= f["contender"] in ("kernelc", "harness") or f["failure"].startswith("wrong")
        for r in rows:
            print(f"  {r['contender']:14s} {r['median_us']:10.1f} us {r['gb_s']:8.0f} GB/s {r['tflop_s']:8.1f} TFLOP/s", file=sys.stderr, flush=True)
        if options.json:  # after every workload: an interrupted run keeps what it has
            with open(options.json + ".part", "w") as f:
                json.dump(report, f, indent=1)
            os.replace(options.json + ".part", options.json)
        if options.markdown:
            with open(options.markdown, "w") as f:
                f.write(markdown(report))
    print(markdown(report))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
