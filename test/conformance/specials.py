# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`kernelc check` of examples and conformance kernels on inputs with infinities and NaN, and on others.

    python3 test/conformance/specials.py build/ci/tools/kernelc [--device emulator --arch sm_80] [--jobs N] [--only KERNEL]

Fails where a check does: where a device gives a number in place of a NaN or an infinity that the reference surely has, or the other
way round. The summary says how many elements had to be infinite or NaN, and how many nothing was known of.
"""
import argparse
import collections
import concurrent.futures
import json
import sys

import corpus

INPUTS = ["random:specials", "random:0..1:specials", "random:5:-6e4..6e4:specials", "random:-1e-3..1e-3", "zeros"]
COUNTS = ("elements", "failures", "special", "unchecked", "admitted")


def check(kernelc, kernel, inputs, options):
    run, sizes = corpus.call(kernelc, "check", kernel, "--json", *options, inputs=inputs)
    if run.returncode not in (0, 1) or not run.stdout.startswith("{"):
        return None, run.stderr.strip()
    result = json.loads(run.stdout)
    return result, " ".join(run.args) if result["failed"] else ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kernelc")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--inputs", nargs="+", default=INPUTS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="")
    a = parser.parse_args()
    options = ["--device", a.device, *(["--arch", a.arch] if a.device != "cpu" else [])]
    totals, failed = {inputs: collections.Counter() for inputs in a.inputs}, 0
    pool = concurrent.futures.ThreadPoolExecutor(a.jobs)
    tasks = [(kernel, inputs, pool.submit(check, a.kernelc, kernel, inputs, options))
             for kernel in corpus.kernels() if a.only in kernel.title for inputs in a.inputs]
    for kernel, inputs, task in tasks:
        result, message = task.result()
        if result is None or result["failed"]:
            failed += result is not None
            print(f"{kernel.title} ({inputs}): {'FAILED' if result else 'not checked'}: {message[:300]}", flush=True)
        for output in result["outputs"] if result else []:
            totals[inputs].update({c: output[c] for c in COUNTS})
    print("| inputs | elements | infinite or NaN | nothing known | excluded terms | failures |\n|---|---|---|---|---|---|")
    for inputs, t in totals.items():
        print(f"| `{inputs}` | {t['elements']} | {t['special']} | {t['unchecked']} | {t['admitted']} | {t['failures']} |")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
