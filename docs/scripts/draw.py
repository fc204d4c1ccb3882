#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws comments and descriptions of passes at random, to be read with a stranger's eye.

    python3 docs/scripts/draw.py --seed 1 [--comments 20] [--passes 5] [folders ..]

The same seed draws the same places as long as the sources stay as they are. Comments have six words or more.
"""
import argparse
import os
import random
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from wrap import ROOT  # noqa: E402

COMMENT = re.compile(r"(?:^[ \t]*//[/<]*(?: .*)?\n)+|//[/<]* .*$", re.M)
PASS = re.compile(r'def \w+ : Pass<"([\w-]+)".*?let description = \[\{\n(.*?)\}\];', re.S)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def comments(path):
    """Each comment of a file: where it begins, and its text in one line."""
    text = read(path)
    for m in COMMENT.finditer(text):
        words = " ".join(re.sub(r"^[ \t]*//[/<]* ?", "", line) for line in m[0].split("\n")).split()
        if len(words) >= 6 and words[0] != "SPDX-License-Identifier:":
            yield f"{path}:{text.count(chr(10), 0, m.start()) + 1}", " ".join(words)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--comments", type=int, default=20)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("folders", nargs="*", help="only files below these")
    a = parser.parse_args()
    files = subprocess.run(["git", "ls-files", *a.folders], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    drawn = random.Random(a.seed)
    found = [c for f in files if f.endswith((".cpp", ".h", ".c")) for c in comments(f)]
    for where, text in sorted(drawn.sample(found, min(a.comments, len(found)))):
        print(f"{where}\n  {text}\n")
    passes = [(m[1], f, m[2]) for f in files if f.endswith("Passes.td") for m in PASS.finditer(read(f))]
    for name, path, text in sorted(drawn.sample(passes, min(a.passes, len(passes)))):
        print(f"{name} ({path})\n{text.rstrip()}\n")


if __name__ == "__main__":
    main()
