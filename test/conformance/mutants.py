# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutation scores (`kernelc check --mutate`) of examples and conformance kernels.

    python3 test/conformance/mutants.py build/ci/tools/kernelc [--update] [--jobs N]

Fails where a score is below 98 %, or more than a quarter of all mutants are redundant, or where a kernel does worse than the table
in docs/testing.md says: one was measured and is not now, or misses more. --update writes that table.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import time

import corpus

SCORE, REDUNDANT = 98, 25


def measure(kernelc, kernel, arch, seconds):
    try:
        run = subprocess.run([kernelc, "check", kernel.file, "--kernel", kernel.name, "--mutate", "--json", "--arch", arch],
                             capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        print(f"{kernel.title} {arch}: not done in {seconds} s", file=sys.stderr)
        return None
    if run.returncode not in (0, 1) or not run.stdout.startswith("{"):
        print(f"{kernel.title} {arch}: {run.stderr.strip()[:300]}", file=sys.stderr)
        return None
    return json.loads(run.stdout)


def cell(r):
    return "not measured" if r is None else f"{r['mutants']}: {r['detected']} + {r['redundant']}" + (f", {r['missed']} missed" if r["missed"] else "")


def table():
    """{(title, target): (measured, missed)} of docs/testing.md."""
    page = open(os.path.join(corpus.ROOT, "docs", "testing.md")).read()
    rows = re.findall(r"^\| (.*?) \|\n", page[page.index("<!-- mutants -->"):page.index("<!-- end of mutants -->")], re.M)
    rows = [row.split(" | ") for row in rows]
    targets = next(row[1:] for row in rows if row[0] == "kernel")
    return {(row[0], target): (text != "not measured", int((re.search(r"(\d+) missed", text) or [0, 0])[1]))
            for row in rows if ": " in row[0] for target, text in zip(targets, row[1:])}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kernelc")
    parser.add_argument("--only", default="", help="kernels with that in FILE: NAME or their path")
    parser.add_argument("--arch", nargs="+", default=["sm_80", "sm_90a"])
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=900, help="for each kernel and target")
    options = parser.parse_args()
    text = f"| kernel | {' | '.join(options.arch)} |\n|---|{'---|' * len(options.arch)}\n"
    total, why, low = collections.Counter(), collections.Counter(), []
    start, before = time.time(), {} if options.update else table()
    kernels = [k for k in corpus.kernels() if options.only in k.title or options.only in k.file]
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    running = [[pool.submit(measure, options.kernelc, kernel, arch, options.seconds) for arch in options.arch] for kernel in kernels]
    for kernel, measured in zip(kernels, running):
        results = [m.result() for m in measured]
        text += f"| {kernel.title} | {' | '.join(map(cell, results))} |\n"
        print(text.splitlines()[-1], flush=True)
        for arch, r in zip(options.arch, results):
            measured, missed = before.get((kernel.title, arch), (True, None))
            if r is None:
                if measured:
                    low.append(f"{kernel.title} {arch}: not measured")
                continue
            if missed is not None and r["missed"] > missed:
                low.append(f"{kernel.title} {arch}: {r['missed']} missed, {missed} in docs/testing.md")
            total.update({k: r[k] for k in ("mutants", "detected", "redundant", "missed")}, pairs=1)
            why.update(r["redundant_because"])
            if r["missed"] * 100 > (100 - SCORE) * r["mutants"]:
                low.append(f"{kernel.title} {arch}: {r['missed']} of {r['mutants']} missed")
            for m in r["missed_mutants"]:
                print(f"    {arch} {m}", flush=True)
    n = max(1, total["mutants"])
    text += (f"\nTogether {n} mutants in {total['pairs']} pairs of kernel and target: {total['detected']} detected, {total['redundant']} redundant "
             f"({100 * total['redundant'] / n:.1f} %), {total['missed']} missed: {100 - 100 * total['missed'] / n:.1f} %.\n\n| redundant | because it |\n|---|---|\n")
    for reason, count in why.most_common():
        text += f"| {count} | {reason} |\n"
    print(text[text.index("\nTogether"):], f"{time.time() - start:.0f} s", *low, sep="\n")
    if options.update:
        corpus.replace_table(os.path.join(corpus.ROOT, "docs", "testing.md"), "mutants", text)
    return 1 if low or total["redundant"] * 100 > REDUNDANT * n else 0


if __name__ == "__main__":
    sys.exit(main())
