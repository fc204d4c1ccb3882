#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chains of products and reductions: how many launches each is, and whether the emulator and its mutants find anything. Needs no GPU.

    python3 bench/expressed.py KERNELC                                   # launches
    python3 bench/expressed.py KERNELC --check --jobs 16 --seconds 200   # also checked, mutated, beside each other
    python3 bench/expressed.py KERNELC --arch sm_80 window lengths       # kernels with one of these names

`--check` needs clang (KERNELC_CLANG). Its sizes are small and fill no whole tile. Exit status 1 where something was found.
"""
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = {"B": 64, "H": 16, "G": 4, "S": 2048, "T": 2048, "D": 64, "E": 64, "W": 512, "M": 8192, "K": 256, "N": 16384}
SMALL = {"B": 20, "H": 4, "G": 2, "S": 140, "T": 300, "D": 64, "E": 64, "W": 100, "M": 200, "K": 96, "N": 1000}
LENGTHS, PAGED = ["n=random:-100..400"], {"B": 4, "G": 2, "R": 4, "C": 64, "N": 6, "P": 24, "D": 64}
# (file, kernel, other sizes, other small sizes, inputs of the check)
LIST = [*(("expressed", k, {}, {}, []) for k in ("plain", "bshd", "grouped", "base2", "shifted", "temperature", "two_values", "sigmoid_scores",
                                               "squared_relu", "entropy", "lse_out")),
        ("expressed", "plain", {"D": 192, "E": 128}, {"D": 192, "E": 128, "B": 4}, []), ("expressed", "plain", {"D": 256, "E": 256}, {"D": 256, "E": 256, "B": 4}, []),
        ("expressed", "lengths", {}, {}, LENGTHS), ("expressed", "row_lengths", {}, {}, LENGTHS), ("expressed", "blocks", {}, {"S": 192, "T": 320}, ["mask=random:0..2"]),
        ("attention_masks", "window", {}, {}, []), ("attention_masks", "softcap", {}, {}, []), ("attention_masks", "alibi", {}, {}, []),
        ("attention_masks", "documents", {}, {}, ["doc=random:0..3"]), ("attention_masks", "document_starts", {}, {}, ["start=random:-50..200"]),
        ("cascades", "sinks", {}, {}, []), ("cascades", "two_scores", {"D": 128, "R": 64}, {"D": 64, "R": 32, "B": 8}, []),
        ("cascades", "decode", {"B": 32, "G": 8, "R": 4, "T": 8192, "D": 128}, {"B": 3, "G": 2, "R": 4, "T": 1000}, []),
        ("cascades", "paged", {"B": 32, "G": 8, "R": 4, "C": 64, "N": 128, "P": 4096, "D": 128}, PAGED, ["table=random:0..24", "len=random:0..400"]),
        ("cascades", "lce", {"M": 8192, "K": 4096, "N": 50257}, {}, []), ("expressed", "probabilities", {}, {}, []),
        ("expressed", "product_norm", {}, {}, []), ("expressed", "quantised", {"K": 4096, "N": 4096}, {}, [])]


def command(kernelc, verb, row, arch, sizes, *rest):
    path, kernel = os.path.join(HERE, "kernels", row[0] + ".kc"), row[1]
    with open(path) as f:
        head = re.search(rf"^def {kernel}\(.*$", f.read(), re.M)[0]
    sets = [w for name, value in sizes.items() if re.search(rf"\b{name}\b", head) for w in ("--set", f"{name}={value}")]
    return [kernelc, verb, path, "--kernel", kernel, "--arch", arch, *sets, *rest]


def launches(kernelc, row, arch):
    done = subprocess.run(command(kernelc, "explain", row, arch, {**SIZES, **row[2]}), capture_output=True, text=True)
    return str(len(re.findall(r"^launch", done.stdout, re.M))) if done.returncode == 0 else done.stderr.strip().splitlines()[0][:120]


def check(kernelc, row, arch, end):
    """(what the check says, what the mutants are, whether something was found)"""
    texts, bad = [], False
    for extra in ([], ["--mutate"]):
        left = end - time.monotonic()
        if left < 1:
            texts.append("not run")
            continue
        try:
            words = command(kernelc, "check", row, arch, {**SMALL, **row[3]}, "--device", "emulator", *row[4], *extra)
            done = subprocess.run(words, capture_output=True, text=True, timeout=left)
        except subprocess.TimeoutExpired as e:
            texts.append("cut off: " + (e.stdout or b"").decode().strip().splitlines()[-1][:100] if e.stdout else "cut off")
            continue
        lines = (done.stdout + done.stderr).strip().splitlines() or [""]
        bad |= done.returncode != 0 and not extra
        texts.append(("" if done.returncode == 0 else f"status {done.returncode}: ") + (lines[-1] if extra else "right" if done.returncode == 0 else lines[0])[:140])
    return texts, bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernelc")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--arch", action="append", help="sm_90a and sm_80")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1e9, help="for all checks together")
    options = parser.parse_args()
    archs, end = options.arch or ["sm_90a", "sm_80"], time.monotonic() + options.seconds
    chosen = [row for row in LIST if not options.names or row[1] in options.names]
    print("| kernel | sizes | " + " | ".join(f"launches, {a}" for a in archs) + " |\n|---|---|" + "--:|" * len(archs))
    for row in chosen:
        print(f"| {row[1]} | {', '.join(f'{n} {v}' for n, v in row[2].items())} | " + " | ".join(launches(options.kernelc, row, a) for a in archs) + " |", flush=True)
    failed = False
    if options.check:
        print("\n| kernel | target | check | mutants |\n|---|---|---|---|")
        jobs = [(row, a) for row in chosen for a in archs]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for (row, a), (texts, bad) in zip(jobs, pool.map(lambda job: check(options.kernelc, *job, end), jobs)):
                failed |= bad
                print(f"| {row[1]} {row[3] or ''} | {a} | {' | '.join(texts)} |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
