#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every source file names the licence in its first line (behind a `#!`).

    python3 tools/licence.py            writes the line where it is missing
    python3 tools/licence.py --check    says where it is missing

Inputs and expected outputs of tests and examples (.kc, .mlir, .test, .cu) have none: messages and
line marks count their lines. Neither have pages, data, and what another script writes.
"""
import argparse
import os
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
TEXT = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
GENERATED = {"codegen/ReservedNames.inc"}
C_ONLY = {"driver/capi/kernelc.h"}  # included by C of any standard


def line_for(path):
    """The line in the comments of the file's language; None where the file has none."""
    name = os.path.basename(path)
    suffix = os.path.splitext(name)[1]
    if path in GENERATED:
        return None
    if path in C_ONLY or suffix == ".c":
        return f"/* {TEXT} */\n"
    if suffix in (".cpp", ".h", ".td", ".inc"):
        return f"// {TEXT}\n"
    if suffix in (".py", ".sh", ".cmake", ".in") or name == "CMakeLists.txt" or path == ".ci/run":
        return f"# {TEXT}\n"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    files = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True,
                           text=True, check=True).stdout.split("\n")
    bad = 0
    for path in files:
        line = line_for(path)
        full = os.path.join(ROOT, path)
        if line is None or not os.path.isfile(full) or os.path.islink(full):
            continue
        with open(full, encoding="utf-8") as f:
            text = f.read()
        first, rest = ("", text)
        if text.startswith("#!"):
            first, _, rest = text.partition("\n")
            first += "\n"
        if rest.startswith(line):
            continue
        bad += 1
        if args.check:
            print(f"{path}: the first line is not '{line.strip()}'; run tools/licence.py")
            continue
        with open(full, "w", encoding="utf-8") as f:
            f.write(first + line + rest)
    return 1 if bad and args.check else 0


if __name__ == "__main__":
    sys.exit(main())
