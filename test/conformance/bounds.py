# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How much larger than the error that is seen the bounds of `kernelc check` are, over examples and conformance kernels.

    python3 test/conformance/bounds.py build/ci/tools/kernelc [--device emulator] [--update]

Fails where the median of bound over error is above 1,000, or any above 100,000. --update writes docs/testing.md.
"""
import argparse
import json
import os
import statistics
import sys

import corpus

INPUTS = {"random": None, "random:0..1": "random:0..1", "random:-1e-3..1e-3": "random:-1e-3..1e-3"}
MEDIAN, LARGEST = 1000, 100000


def measure(kernelc, kernel, device, inputs):
    """(output, elements, largest error, bound there, largest bound) of each output; None where the kernel does not run."""
    run, sizes = corpus.call(kernelc, "check", kernel, "--device", device, "--json", inputs=inputs)
    if run.returncode not in (0, 1) or not run.stdout.startswith("{"):
        print(f"{kernel.title}: {run.stderr.strip()[:200]}", file=sys.stderr)
        return None
    result = json.loads(run.stdout)
    if result["failed"]:
        print(f"{kernel.title}: FAILED", file=sys.stderr)
    return [(o["name"], o["largest"]["error"] if "largest" in o else None, o["largest"]["bound"] if "largest" in o else None,
             o["largest_bound"], o["unchecked"] == o["elements"]) for o in result["outputs"]]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kernelc")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", default="")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    ratios, rows, unbounded, exact = {name: [] for name in INPUTS}, [], [], 0
    for kernel in corpus.kernels():
        if options.only not in kernel.title:
            continue
        for name, inputs in INPUTS.items():
            for output, error, bound, largest, is_unbounded in measure(options.kernelc, kernel, options.device, inputs) or []:
                if is_unbounded:
                    unbounded.append(f"{kernel.title} {output} ({name})")
                elif not error:
                    exact += 1
                else:
                    ratios[name].append(bound / error)
                    rows.append((bound / error, largest / error, kernel.title, output, name, error, bound))
    text = "| inputs | outputs | median | 90 % | largest |\n|---|---|---|---|---|\n"
    for name, r in ratios.items():
        r.sort()
        if r:
            text += f"| `{name}` | {len(r)} | {statistics.median(r):.0f} | {r[len(r) * 9 // 10]:.0f} | {r[-1]:.0f} |\n"
    rows.sort(reverse=True)
    text += "\nThe largest of them:\n\n| kernel | output | inputs | largest error | its bound | ratio |\n|---|---|---|---|---|---|\n"
    for ratio, _, title, output, name, error, bound in rows[:8]:
        text += f"| {title} | {output} | `{name}` | {error:.2g} | {bound:.2g} | {ratio:.0f} |\n"
    widest = sorted(largest for _, largest, *_ in rows)
    if widest:
        text += (f"\nThe largest bound of any element of an output over the output's largest error: median {statistics.median(widest):.0f}, "
                 f"at most {widest[-1]:.0f}.\n")
    text += f"\n{exact} outputs had no error. Without a bound: {', '.join(unbounded) or 'none'}.\n"
    print(text)
    if options.update:
        corpus.replace_table(os.path.join(corpus.ROOT, "docs", "testing.md"), "bounds", text)
    bad = [r for r in ratios.values() if r and (statistics.median(r) > MEDIAN or r[-1] > LARGEST)]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
