#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times schedules of one workload beside its vendor peer, all in one process and in turns.

    python3 bench/schedules.py "matmul_nt 4096x4096x4096 bf16" FILE.jsonl
    python3 bench/schedules.py "matmul_nt 4096x4096x4096 bf16" --vary cluster=1,2 stages=3,4 tiles.i=128 tiles.j=128,256
    python3 bench/schedules.py "matmul_nt 4096x4096x4096 bf16" --vary cluster=2 --show   # what would be timed; no GPU, no PyTorch

FILE.jsonl has a schedule a line (`-`: standard input): the fields of the launch that computes the first
output, {"name": "wide", "tiles": {"j": 256}, "stages": 3}, or a list of whole records as in a schedule
file. --vary takes every combination of its values. The compiler's own schedule ("plan") always runs too.

Ratios are time of the peer over time of ours within a round: above 1 we are faster. Results are
checked as harness.py checks them; a wrong schedule is reported and not timed.
"""
import argparse
import itertools
import json
import re
import statistics
import sys


WHOLE_KERNEL = {"copies", "merge", "parts"}  # fields of records without a launch


def outputs_launch(text, kernel=""):
    """(kernel, launch) where a text's first output (of `kernel`, or of the first) is computed."""
    found = re.search(rf"\bdef\s+({kernel or '[A-Za-z_]+[A-Za-z_0-9]*'})\s*\(.*?->\s*\(\s*(\w+)\s*:", text, re.S)
    if not found:
        raise ValueError(f"no kernel {kernel} with an output")
    return found[1], found[2]


def complete(schedule, kernel, launch):
    """(name, records) of one line: fields, or a list of records."""
    if isinstance(schedule, list):
        records, name = [dict(r) for r in schedule], ""
    else:
        records, name = [dict(schedule)], schedule.get("name", "")
    for r in records:
        name = r.pop("name", name) or name
        r.setdefault("kernel", kernel)
        if not WHOLE_KERNEL & r.keys():
            r.setdefault("launch", launch)
    shown = [{k: v for k, v in r.items() if k not in ("kernel", "launch")} for r in records]
    return name or " ".join(json.dumps(r, separators=(",", ":"))[1:-1].replace('"', "") for r in shown), records


def parse_value(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def vary(choices):
    """Every combination of KEY=V1,V2,..; `tiles.i=128` is an entry of an entry."""
    pairs = [c.split("=", 1) for c in choices]
    for values in itertools.product(*([parse_value(v) for v in p[1].split(",")] for p in pairs)):
        fields = {}
        for (key, _), value in zip(pairs, values):
            at = fields
            *outer, last = key.split(".")
            for o in outer:
                at = at.setdefault(o, {})
            at[last] = value
        yield fields


def read_schedules(files, choices, kernel, launch):
    lines = []
    for name in files:
        with (sys.stdin if name == "-" else open(name)) as f:
            lines += [json.loads(line) for line in f if line.strip()]
    lines += vary(choices) if choices else []
    return dict(complete(s, kernel, launch) for s in lines)


def quantiles(values):
    ordered = sorted(values)
    return ordered[len(ordered) // 10], statistics.median(ordered), ordered[len(ordered) * 9 // 10]


def report(times, peer):
    """Lines of the table: microseconds, and within rounds the peer's time over ours."""
    lines = [f"{'':8}{'µs':>9}  {'of ' + peer:>10}  {'p10 to p90':>13}"]
    rows = []
    for name, samples in times.items():
        low, middle, high = quantiles([p / t for p, t in zip(times[peer], samples)])
        rows.append((middle, f"{statistics.median(samples):17.1f}  {middle:10.3f}  {low:5.3f} to {high:5.3f}  {name}"))
    return lines + [line for _, line in sorted(rows, reverse=True)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", help="the name of one of harness.py's workloads, or of a .kc file (with --show)")
    parser.add_argument("files", nargs="*", help="schedules as JSON lines")
    parser.add_argument("--vary", nargs="+", default=[], metavar="KEY=V1,V2")
    parser.add_argument("--launch", help="the launch whose fields lines give (default: the first output's)")
    parser.add_argument("--peer", help="what ratios are of (default: cuBLAS, else eager)")
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--flush", choices=["write", "read"], default="write", help="how the L2 is emptied before each run")
    parser.add_argument("--show", action="store_true", help="only print the schedules")
    options = parser.parse_args()
    if options.show and options.workload.endswith(".kc"):
        with open(options.workload) as f:
            kernel, launch = outputs_launch(f.read())
        for name, records in read_schedules(options.files, options.vary, kernel, options.launch or launch).items():
            print(json.dumps({"name": name, "schedule": records}))
        return 0

    import torch  # only here: schedules are read and shown without it
    import harness
    import kernelc
    workload = next((w for w in harness.WORKLOADS if w.name == options.workload), None)
    if not workload:
        print("\n".join(w.name for w in harness.WORKLOADS), file=sys.stderr)
        return 2
    kernel, launch = outputs_launch(workload.source(), workload.kernel)
    schedules = read_schedules(options.files, options.vary, kernel, options.launch or launch)
    place = harness.Gpu(0, options.flush)
    torch.manual_seed(0)
    inputs = workload.inputs(place.device, 1)
    expected = workload.expected(*inputs)

    def ours(schedule):
        program = kernelc.compile(workload.source(), workload.file, schedule=schedule, **workload.constants)
        bound = program[kernel].bind(*inputs)
        for o in bound.outputs if isinstance(bound.outputs, tuple) else (bound.outputs,):
            o.view(torch.uint8).fill_(0xff)  # NaN in every float
        return bound.launch

    makers = {"plan": lambda: ours(None), **{name: lambda r=records: ours(r) for name, records in schedules.items()}}
    makers["eager"] = lambda: lambda: workload.torch(*inputs)
    for name, make in workload.peers(place.device).items():
        makers[name] = lambda make=make: make(*inputs)
    runs = {}
    for name, make in makers.items():
        try:
            run = make()
            error = harness.largest_error(run(), expected)
            place.synchronize()
            if error <= workload.tolerance:
                runs[name] = run
            else:
                print(f"{name}: wrong, largest relative error {error:.3g}, allowed {workload.tolerance:.3g}")
        except Exception as e:  # a schedule that does not fit is a line, too
            print(f"{name}: {str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__}")
    peer = options.peer or next((p for p in ("cuBLASLt", "cuBLAS", "eager") if p in runs), "plan")
    place.measure(runs, 3)
    print(workload.name)
    print("\n".join(report(place.measure(runs, options.repeats), peer)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
