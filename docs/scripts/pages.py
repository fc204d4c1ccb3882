# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes what scripts make of other files, or says which of it is not current: what api.py, images.py and
docs/dialects/generate.py share."""
import os

from wrap import ROOT


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def deliver(made, check):
    """`made`: text by path below the repository's root. The exit status: with `check` 1 where a file differs."""
    bad = 0
    for name, text in made.items():
        path = os.path.join(ROOT, name)
        if not check:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        elif not os.path.exists(path) or read(path) != text:
            bad += 1
            print(f"{name} is not current; run the target 'docs'")
    return 1 if bad else 0
