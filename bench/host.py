#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the compiler itself costs on the host: for each file of examples/, the CPU time of
`kernelc compile FILE --emit cuda` in a fresh process on one core (process start, front
end, all passes, printing) and the process's peak memory.

usage: host.py [--kernelc PATH] [--repeats 15] [--arch sm_90a] [--json] [FILE.kc...]

One line of Markdown per file and the worst case. Needs no GPU and no NVRTC; checks nothing
but that every file compiles.
"""
import argparse
import glob
import json
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def find_kernelc():
    for path in ("../bin/kernelc", "../build/release/tools/kernelc", "../build/dev/tools/kernelc"):
        path = os.path.normpath(os.path.join(HERE, path))
        if os.path.exists(path):
            return path
    return "kernelc"


def run(command):
    """CPU milliseconds and peak MiB of a process of its own."""
    pid = os.fork()
    if pid == 0:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        try:
            os.execvp(command[0], command)
        except OSError as e:
            print(f"{command[0]}: {e}", file=sys.stderr)
            os._exit(127)
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"{' '.join(command)} failed")
    return (usage.ru_utime + usage.ru_stime) * 1e3, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernelc", default=find_kernelc())
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("files", nargs="*", default=sorted(glob.glob(os.path.join(HERE, "..", "examples", "*.kc"))))
    args = parser.parse_args()
    rows = []
    start = [run([args.kernelc, "cache", "path"]) for _ in range(args.repeats)]
    for path in args.files:
        command = [args.kernelc, "compile", path, "--arch", args.arch, "--emit", "cuda", "-o", "-"]
        samples = [run(command) for _ in range(args.repeats)]
        with open(path) as f:
            kernels = sum(line.startswith("def ") for line in f)
        rows.append({"file": os.path.basename(path), "kernels": kernels, "cpu_ms": statistics.median(s[0] for s in samples),
                     "least_ms": min(s[0] for s in samples), "peak_mib": max(s[1] for s in samples)})
    result = {"kernelc": args.kernelc, "arch": args.arch, "repeats": args.repeats,
              "start_ms": statistics.median(s[0] for s in start), "files": rows}
    if args.json:
        print(json.dumps(result, indent=1))
        return
    print(f"{args.kernelc}, {args.arch}, median of {args.repeats}; `kernelc cache path` alone: {result['start_ms']:.0f} ms\n")
    print("| file | kernels | CPU ms | least | peak MiB |\n|---|--:|--:|--:|--:|")
    for r in rows:
        print(f"| {r['file']} | {r['kernels']} | {r['cpu_ms']:.0f} | {r['least_ms']:.0f} | {r['peak_mib']:.0f} |")
    worst = max(rows, key=lambda r: r["cpu_ms"])
    print(f"\nworst: {worst['file']} {worst['cpu_ms']:.0f} ms; peak {max(r['peak_mib'] for r in rows):.0f} MiB")


if __name__ == "__main__":
    main()
