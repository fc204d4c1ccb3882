#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every pass that passes/Pipelines.cpp puts into a pipeline runs alone in kernelc-opt.

    python3 test/tools/pipeline_passes.py build/ci/tools/kernelc-opt
"""
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
UPSTREAM = {"canonicalizer": "canonicalize"}  # where the option is not the name of the function


def main():
    text = open(os.path.join(ROOT, "passes", "Pipelines.cpp"), encoding="utf-8").read()
    made = sorted({re.sub(r"Pass$", "", name) for name in re.findall(r"\bcreate(\w+)\(", text)})
    if len(made) < 30:
        sys.exit(f"found only {len(made)} passes in passes/Pipelines.cpp")
    bad = 0
    for name in made:
        option = "cse" if name == "CSE" else re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()
        option = UPSTREAM.get(option, option)
        ran = subprocess.run([sys.argv[1], "--" + option], input="module {}\n", capture_output=True, text=True)
        if ran.returncode:
            bad += 1
            print(f"kernelc-opt --{option} fails on an empty module: {ran.stderr.strip()}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
