#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the gallery: each file of examples/gallery says in its head how it is run and what that prints, on the CPU device and the
emulator.

    gallery.py KERNELC            compares
    gallery.py KERNELC --update   writes what the CPU device prints
"""
import argparse
import pathlib
import shlex
import subprocess
import sys

GALLERY = pathlib.Path(__file__).resolve().parents[2] / "examples" / "gallery"


def split(path):
    """The lines before the command, the command's words, the lines it prints, and the text behind."""
    lines = path.read_text().split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith("# $ "))
    end = next(i for i in range(at + 1, len(lines)) if not lines[i].startswith("#"))
    return lines[:at], shlex.split(lines[at][4:]), [line[2:] for line in lines[at + 1:end]], lines[end:]


def run(kernelc, words, device):
    done = subprocess.run([kernelc, *words[1:], "--device", device], cwd=GALLERY, capture_output=True, text=True, timeout=300)
    return done.stdout.rstrip("\n").split("\n") if done.returncode == 0 else [f"<exit status {done.returncode}>", *done.stderr.split("\n")]


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("kernelc")
    args.add_argument("--update", action="store_true")
    a = args.parse_args()
    a.kernelc = str(pathlib.Path(a.kernelc).resolve())
    wrong = 0
    for path in sorted(GALLERY.glob("*.kc")):
        head, words, printed, rest = split(path)
        if a.update:
            printed = run(a.kernelc, words, "cpu")
            path.write_text("\n".join([*head, "# $ " + " ".join(words), *("# " + line for line in printed), *rest]))
        for device in ("cpu", "emulator"):
            got = run(a.kernelc, words, device)
            if got != printed:
                wrong += 1
                print(f"{path.name} on {device}:", *got, "not", *printed, sep="\n  ")
    print(wrong, "wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
