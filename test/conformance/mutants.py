# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutation scores (`kernelc check --mutate`) of examples and conformance kernels.

    python3 test/conformance/mutants.py build/ci/tools/kernelc [--update] [--jobs N]
    python3 test/conformance/mutants.py BUNDLE/bin/kernelc --jobs 32 --within 520 --results mutants.jsonl

The second form ends in time: what it has measured is in the file, and the same command goes on from there. It exits with 3 until
all is measured. What took longer than --seconds is kept as that, and tried again with more of them.

    python3 test/conformance/mutants.py build/ci/tools/kernelc --results mutants.jsonl --classes

reads that file alone, and prints for each pair of which more than a quarter is redundant what these mutants are: masks of one form
together, numbers and the numbers of names left out. With `--merge g` in place of --classes its pairs take their places in the table of
docs/testing.md, marked `(g)`, which the text above the table explains.

Fails where a score is below 98 %, or more than a quarter of all mutants are redundant, or where a kernel does worse than the table
in docs/testing.md says: one was measured and is not now, or misses more. --update writes that table.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import corpus

SCORE, REDUNDANT = 98, 25


class Results:
    """What is measured, by kernel and target, and the file that keeps it."""

    def __init__(self, path, seconds, end, share):
        self.path, self.seconds, self.end, self.share, self.known, self.lock, self.open = path, seconds, end, share, {}, threading.Lock(), 0
        if path and os.path.exists(path):
            for line in open(path):
                title, arch, took, result = json.loads(line)
                if result is not None or took >= seconds:
                    self.known[title, arch] = result

    def keep(self, kernel, arch, took, result):
        with self.lock:
            self.known[kernel.title, arch] = result
            if self.path:
                with open(self.path, "a") as f:
                    f.write(json.dumps([kernel.title, arch, took, result]) + "\n")
        return result

    @staticmethod
    def run(command, seconds):
        """As subprocess.run; the processes that share the mutants end with the one that started them."""
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
        try:
            stdout, stderr = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise
        return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)

    def measure(self, kernelc, kernel, arch):
        if (kernel.title, arch) in self.known:
            return self.known[kernel.title, arch]
        left = self.end - time.time()
        try:
            if left <= 0:
                raise subprocess.TimeoutExpired("", 0)
            command = [kernelc, "check", kernel.file, "--kernel", kernel.name, "--mutate", "--json", "--arch", arch, "--jobs", str(self.share)]
            run = self.run(command, min(self.seconds, left))
        except subprocess.TimeoutExpired:
            if left < self.seconds:  # the whole run's time is over
                with self.lock:
                    self.open += 1
                return None
            print(f"{kernel.title} {arch}: not done in {self.seconds} s", file=sys.stderr)
            return self.keep(kernel, arch, self.seconds, None)
        if run.returncode not in (0, 1) or not run.stdout.startswith("{"):
            print(f"{kernel.title} {arch}: {run.stderr.strip()[:300]}", file=sys.stderr)
            return self.keep(kernel, arch, 1e9, None)
        return self.keep(kernel, arch, self.seconds, json.loads(run.stdout))


def cell(r):
    return "not measured" if r is None else f"{r['mutants']}: {r['detected']} + {r['redundant']}" + (f", {r['missed']} missed" if r["missed"] else "")


def table():
    """{(title, target): (measured, missed, mutants)} of docs/testing.md."""
    page = open(os.path.join(corpus.ROOT, "docs", "testing.md")).read()
    rows = re.findall(r"^\| (.*?) \|\n", page[page.index("<!-- mutants -->"):page.index("<!-- end of mutants -->")], re.M)
    rows = [row.split(" | ") for row in rows]
    targets = next(row[1:] for row in rows if row[0] == "kernel")
    return {(row[0], target): (text != "not measured", int((re.search(r"(\d+) missed", text) or [0, 0])[1]), int((re.match(r"\d+", text) or [999])[0]))
            for row in rows if ": " in row[0] for target, text in zip(targets, row[1:])}


def form(mutant):
    """Why a mutant is redundant, and its mask or call without what tells copies of it apart."""
    why, text = re.search(r"redundant \((.*?)\): (?:condition made true|removed): (.*)", mutant).groups()
    text = re.sub(r"\b\d+(?:LL)?\b", "#", re.sub(r"\b([a-z]\w*?)(?:_?\d+)+\b", r"\1", text))
    return why.replace(" at these sizes", ""), text.replace("|", "\\|")


def classes(path):
    """A table of the redundant mutants of the pairs of the file that have more than a quarter of them."""
    found = {}
    for title, arch, _, result in map(json.loads, open(path)):
        if result and result["redundant"] * 100 > REDUNDANT * result["mutants"]:
            forms = collections.Counter(map(form, result.get("redundant_mutants", [])))
            found.setdefault((title, f"{result['redundant']} of {result['mutants']}", tuple(forms.most_common())), []).append(arch)
    text = "| pair | redundant | each | because it | mask or call |\n|---|---|---|---|---|\n"
    for (title, share, forms), targets in sorted(found.items()):
        for n, ((why, mask), count) in enumerate(forms):
            mask = mask if len(mask) < 60 else mask[:57] + ".."
            text += f"| {title + ', ' + ' '.join(sorted(set(targets))) if n == 0 else ''} | {share if n == 0 else ''} | {count} | {why} | `{mask}` |\n"
    return text


def merge(path, mark):
    """Puts what the file has measured into the table of docs/testing.md, each cell with the mark."""
    page = os.path.join(corpus.ROOT, "docs", "testing.md")
    with open(page) as f:
        text = f.read()
    begin, end = text.index("<!-- mutants -->"), text.index("<!-- end of mutants -->")
    rows = text[begin:end].splitlines()
    targets = next(row for row in rows if row.startswith("| kernel |"))[2:-2].split(" | ")
    for title, arch, _, result in map(json.loads, open(path)):
        at = next(i for i, row in enumerate(rows) if row.startswith(f"| {title} |"))
        cells = rows[at][2:-2].split(" | ")
        cells[targets.index(arch)] = f"{cell(result)} ({mark})"
        rows[at] = f"| {' | '.join(cells)} |"
    with open(page, "w") as f:
        f.write(text[:begin] + "\n".join(rows) + "\n" + text[end:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kernelc")
    parser.add_argument("--only", default="", help="kernels with that in FILE: NAME or their path")
    parser.add_argument("--arch", nargs="+", default=["sm_80", "sm_90a"])
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--jobs", type=int, default=1, help="kernels at a time")
    parser.add_argument("--share", type=int, default=1, help="processes that share a kernel's mutants")
    parser.add_argument("--seconds", type=int, default=900, help="for each kernel and target")
    parser.add_argument("--within", type=float, default=1e9, help="seconds for the whole run; exit status 3: not all is measured")
    parser.add_argument("--results", help="a file that keeps what is measured, for the next run")
    parser.add_argument("--classes", action="store_true", help="what the redundant mutants of the results are")
    parser.add_argument("--merge", metavar="MARK", help="put the results into the table of docs/testing.md")
    options = parser.parse_args()
    if options.merge:
        merge(options.results, options.merge)
        return 0
    if options.classes:
        print(classes(options.results), end="")
        return 0
    text = f"| kernel | {' | '.join(options.arch)} |\n|---|{'---|' * len(options.arch)}\n"
    total, why, low = collections.Counter(), collections.Counter(), []
    start, known = time.time(), table()
    before = {} if options.update else known
    kernels = [k for k in corpus.kernels() if options.only in k.title or options.only in k.file]
    results_of = Results(options.results, options.seconds, start + options.within, options.share)
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    pairs = [(kernel, arch) for kernel in kernels for arch in options.arch]
    # The longest ones first, so that none is left alone at the end; where time is short the shortest ones, and last what had no end before.
    order = 1 if options.within < 1e9 else -1
    pairs.sort(key=lambda pair: order * known.get((pair[0].title, pair[1]), (False, 0, 500))[2])
    running = {pair: pool.submit(results_of.measure, options.kernelc, *pair) for pair in pairs}
    for kernel in kernels:
        results = [running[kernel, arch].result() for arch in options.arch]
        text += f"| {kernel.title} | {' | '.join(map(cell, results))} |\n"
        print(text.splitlines()[-1], flush=True)
        for arch, r in zip(options.arch, results):
            measured, missed, _ = before.get((kernel.title, arch), (True, None, 0))
            if r is None:
                if measured and not results_of.open:
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
    if results_of.open:
        print(f"{results_of.open} pairs of kernel and target are still to be measured: the same command again goes on")
        return 3
    if options.update:
        corpus.replace_table(os.path.join(corpus.ROOT, "docs", "testing.md"), "mutants", text)
    return 1 if low or total["redundant"] * 100 > REDUNDANT * n else 0


if __name__ == "__main__":
    sys.exit(main())
