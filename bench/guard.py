#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Two builds of kernelc on one GPU, in turns: whether a change left kernels as fast.

    python3 bench/guard.py OLD NEW [--rounds 5] [--repeats 15] [--part 1/2] [--rows FILE] [WORD ..]

OLD and NEW are bundles, or folders with lib/libkernelc.so.1 (and python, where that differs). Each is loaded by a process of its own,
which binds a row's kernel once; this one has them time it in turns, round by round, the L2 cache flushed before each run. A row is the median
over rounds of old / new: above 1 the new one is faster; the spread is the largest over the smallest ratio of a round. Rows
stand in guard.txt (60 of them take about five minutes), or in another file, guard_more.txt say, where these may stand, too: those
of draw_memory.py; `sequence SEED N`, of sequences.py; `unseen KERNEL N=4096 ..`, of unseen.py; `FILE.kc KERNEL N=4096 ..`, of
bench/kernels, examples or test/conformance.
Untuned schedules, a disk cache for each build. Exit status 1 where a table's geometric mean is below 0.99 or a row below 0.95: run
again before believing it.
"""
import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "python"))
if "KERNELC_GUARD_PYTHON" in os.environ:  # a build's own package, which asks its library for what that has
    sys.path.insert(0, os.environ["KERNELC_GUARD_PYTHON"])
    import kernelc  # noqa: F401

from workloads import WORKLOADS, Workload  # noqa: E402


def read_rows(file):
    """(table, row) of guard.txt, or of a file like it."""
    table, rows = "", []
    for line in open(file, encoding="utf-8"):
        if line.strip() and not line.startswith("#"):
            if line.startswith(" "):
                rows.append((table, line.strip()))
            else:
                table = line.strip()
    return rows


def find_workload(name):
    import draw
    import draw_memory
    import long_rows
    for w in WORKLOADS:
        if w.name == name:
            return w
    words = name.split()
    if words[0] in long_rows.BODIES:
        return long_rows.LongRows(words[0], *map(int, words[1].split("x")), words[2])
    if words[0].startswith("matmul_"):
        return draw.Product(*map(int, words[1].split("x")), words[2], words[0][-2:])
    kind = " ".join(words[:-2])
    if kind in draw_memory.KINDS:
        return draw_memory.Drawn(kind, *map(int, words[-2].split("x")), words[-1])
    return find_text(name, words)


class Text(Workload):
    """A kernel of a text at given sizes, its inputs uniform in [0, 1), or those of a row of unseen.py."""
    row = None

    def __init__(self, name, text, kernel, sizes):
        self.name, self.text, self.kernel, self.sizes = name, text, kernel, sizes

    def inputs(self, device, scale):
        import kernelc
        from operators import inputs_of, roles
        kernel = kernelc.compile(self.text).kernels[self.kernel]
        given = " ".join(shape for (_, _, role, _), shape in zip(kernel.params, kernel.shapes) if role != roles.PARAM_OUTPUT)
        # Only results have these.
        self.constants = {size: n for size, n in self.sizes.items() if size not in re.findall(r"\w+", given)}
        if self.row:
            import unseen
            self.constants |= {size: self.sizes[size] for size in self.row.named}
            return unseen.inputs_of(self.row, kernel, self.sizes, device)
        return inputs_of(kernel, self.sizes, device)


def find_text(name, words):
    """The row `name` of a kernel that stands in a file, or that sequences.py draws."""
    if words[0] == "sequence":
        import sequences
        kernel, text = sequences.draw(words[1])[int(words[2])]
        return Text(name, text, kernel, {})
    if words[0] == "unseen":
        import unseen
        row = next(r for r in unseen.ROWS if r.kernel == words[1])
        with open(unseen.file_of(row), encoding="utf-8") as file:
            text = Text(name, file.read(), row.kernel, unseen.sizes_of(" ".join(words[2:]) or row.sizes))
        text.row = row
        return text
    file, kernel, *sizes = words
    for folder in ("kernels", "../examples", "../test/conformance"):
        path = os.path.join(HERE, folder, file)
        text = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
        if f"def {kernel}(" in text:
            return Text(name, text, kernel, {k: int(v) for k, v in (s.split("=") for s in sizes)})
    raise KeyError(name)


def serve():
    """Binds and times what stdin asks for, an answer a line."""
    import harness
    import torch
    place, run = harness.Gpu(0), None
    print(json.dumps(harness.kernelc.__version__), flush=True)
    for line in sys.stdin:
        ask = json.loads(line)
        try:
            if "bind" in ask:
                run = None
                torch.cuda.empty_cache()
                torch.manual_seed(0)
                workload = find_workload(ask["bind"])
                inputs = workload.inputs(place.device, 1)
                options = argparse.Namespace(without={"eager", "torch.compile"}, verbose=False, compile_on_cpu=False)
                workload.peers = lambda device: {}
                found, failures = harness.contenders_of(workload, inputs, place.device, options)
                run = found.get("kernelc")
                answer = {"failure": failures.get("kernelc")}
                if run:
                    place.measure({"kernelc": run}, 3)
            else:
                answer = {"us": statistics.median(place.measure({"kernelc": run}, ask["time"])["kernelc"])}
        except Exception as e:  # a line in the report
            answer = {"failure": f"{type(e).__name__}: {e}"}
        print(json.dumps(answer), flush=True)


class Build:
    def __init__(self, folder, cache):
        library = os.path.join(folder, "lib", "libkernelc.so.1")
        if not os.path.exists(library):
            sys.exit(f"{library}: there is no such file")
        environment = {**os.environ, "KERNELC_LIBRARY": library, "KERNELC_CACHE_DIR": cache}
        if os.path.isdir(os.path.join(folder, "python")):
            environment["KERNELC_GUARD_PYTHON"] = os.path.join(folder, "python")
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=environment)
        self.version = self.answer()

    def ask(self, **what):
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit("a build's process has ended")
        return json.loads(line)


def geometric(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("words", nargs="*", help="only rows with one of these in their or their table's name")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--part", default="1/1", help="which part of the rows, 1/2 or 2/2")
    parser.add_argument("--rows", default=os.path.join(HERE, "guard.txt"), help="a file of rows, as guard.txt is one")
    a = parser.parse_args()
    part, parts = (int(p) for p in a.part.split("/"))
    rows = [r for r in read_rows(a.rows) if not a.words or any(w in " ".join(r) for w in a.words)][part - 1::parts]
    tables, low, failed = {}, [], False
    with tempfile.TemporaryDirectory() as cache:
        builds = [Build(a.old, os.path.join(cache, "old")), Build(a.new, os.path.join(cache, "new"))]
        print(f"old {builds[0].version}, new {builds[1].version}, {a.rounds} rounds of {a.repeats} runs\n\n"
              "| table | row | old µs | new µs | old / new | spread |\n|---|---|--:|--:|--:|--:|")
        for table, name in rows:
            for b in builds:
                b.ask(bind=name)
            failures = [b.answer()["failure"] for b in builds]
            if any(failures):
                print(f"| {table} | {name} | {failures[0] or ''} | {failures[1] or ''} | | |".replace("\n", " "), flush=True)
                failed |= bool(failures[1]) and not failures[0]
                continue
            times = [[], []]
            for r in range(a.rounds):
                for which in ((0, 1), (1, 0))[r % 2]:
                    builds[which].ask(time=a.repeats)
                    times[which].append(builds[which].answer()["us"])
            each = [old / new for old, new in zip(*times)]
            tables.setdefault(table, []).append(statistics.median(each))
            if tables[table][-1] < 0.95:
                low.append(name)
            print(f"| {table} | {name} | {statistics.median(times[0]):.1f} | {statistics.median(times[1]):.1f} | {tables[table][-1]:.3f} | "
                  f"{max(each) / min(each):.3f} |", flush=True)
        for b in builds:
            b.process.stdin.close()
            b.process.wait()
    print("\n| table | rows | geometric mean | least |\n|---|--:|--:|--:|")
    for table, ratios in tables.items():
        print(f"| {table} | {len(ratios)} | {geometric(ratios):.3f} | {min(ratios):.3f} |")
        failed |= geometric(ratios) < 0.99
    everything = [r for ratios in tables.values() for r in ratios]
    print(f"\nGeometric mean of {len(everything)}: {geometric(everything):.3f}; below 0.95: {', '.join(low) or 'none'}.")
    return 1 if failed or low else 0


if __name__ == "__main__":
    if "--serve" in sys.argv:
        serve()
    else:
        sys.exit(main())
