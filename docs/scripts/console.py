#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the commands that Markdown pages show and compares what they print with what the page says.

    python3 docs/scripts/console.py --build build/ci README.md docs/tutorial.md
    python3 docs/scripts/console.py --build build/ci --update README.md     writes what they print

A page is one session in an empty folder, in which `examples` is the repository's. A comment
`<!-- file: NAME -->` in front of a code block makes the block the file NAME. In a block marked
`console` a line `$ COMMAND` is run, and what follows up to the next one is its output, standard
error behind standard output; a line `...` stands for any lines. `kernelc`, `kernelc-opt` and LLVM's
tools are on the path, and `python3` finds the package. Times are not compared, nor largest errors
with their places and the bounds there: they follow the CPU's vectors.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BLOCK = re.compile(r"(?:^<!-- file: (?P<name>\S+) -->\n)?^(?P<fence>```+)(?P<info>[^\n]*)\n(?P<body>.*?)^(?P=fence)$", re.M | re.S)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.M)
# What differs from machine to machine.
VARIES = [(re.compile(r"largest error \S+ \(bound \S+\) at \[[^]]*\]"), r"largest error .."),
          (re.compile(r"\b\d+(\.\d+)? m?s\b"), ".. s")]


def environment(build):
    env = {k: v for k, v in os.environ.items() if not k.startswith("KERNELC_")}
    tools = os.path.join(build, "tools")
    llvm = "/usr/lib/llvm-22/bin"
    env["PATH"] = os.pathsep.join([tools, llvm, "/usr/bin", env["PATH"]])
    env["PYTHONPATH"] = os.path.join(ROOT, "python")
    env["KERNELC_LIBRARY"] = os.path.join(build, "lib", "libkernelc.so")
    # What `cc` finds as if it were installed.
    env["C_INCLUDE_PATH"] = os.path.join(ROOT, "driver", "capi")
    env["LIBRARY_PATH"] = env["LD_LIBRARY_PATH"] = os.path.join(build, "lib")
    # The emulator's builds and what it has in common are kept from page to page.
    env["KERNELC_CACHE_DIR"] = os.path.join(build, "docs-cache")
    env["KERNELC_UNTUNED"] = "1"
    return env


def masked(line):
    for pattern, instead in VARIES:
        line = pattern.sub(instead, line)
    return line.rstrip()


def matches(expected, printed):
    """Whether lines with `...` among them stand for the lines printed."""
    if not expected:
        return not printed
    if expected[0].strip() == "...":
        return any(matches(expected[1:], printed[k:]) for k in range(len(printed) + 1))
    return bool(printed) and masked(expected[0]) == masked(printed[0]) and matches(expected[1:], printed[1:])


def updated(expected, printed):
    """The output to show: all of it, or as many lines before and behind a `...` as before."""
    dots = [k for k, line in enumerate(expected) if line.strip() == "..."]
    if not dots:
        return printed
    before, behind = dots[0], len(expected) - dots[-1] - 1
    return printed[:before] + [expected[dots[0]]] + (printed[len(printed) - behind:] if behind else [])


class Page:
    def __init__(self, path, env):
        self.path, self.env, self.bad = path, env, 0

    def run(self, command, folder):
        made = subprocess.run(["bash", "-c", command], cwd=folder, env=self.env, stdin=subprocess.DEVNULL, timeout=300,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
        return [line.rstrip() for line in (made.stdout + made.stderr).splitlines()]

    def block(self, folder, block):
        """The block as it should be."""
        body = block["body"]
        if block["name"]:
            path = os.path.join(folder, block["name"])
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as f:
                f.write(body)
        if not block["info"].startswith("console"):
            return body
        made = ""
        for entry in COMMAND.finditer(body):
            command, output = entry[1], entry[2].splitlines()
            printed = self.run(command, folder)
            if not matches(output, printed):
                self.bad += 1
                print(f"{os.path.relpath(self.path, ROOT)}: '{command}' prints")
                print("\n".join("    " + line for line in printed))
                print("and not\n" + "\n".join("    " + line for line in output))
                output = updated(output, printed)
            made += "".join(line + "\n" for line in ["$ " + command] + output)
        return made

    def check(self, update):
        with open(self.path, encoding="utf-8") as f:
            text = f.read()
        with tempfile.TemporaryDirectory(prefix="kernelc-docs-") as folder:
            os.symlink(os.path.join(ROOT, "examples"), os.path.join(folder, "examples"))
            blocks = list(BLOCK.finditer(text))
            made, at = "", 0
            for block in blocks:
                made += text[at:block.start("body")] + self.block(folder, block)
                at = block.end("body")
            made += text[at:]
        if update and made != text:
            with open(self.path, "w", encoding="utf-8") as f:
                f.write(made)
        if not any(block["info"].startswith("console") for block in blocks):
            sys.exit(f"{self.path} shows no command")
        return self.bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("pages", nargs="+")
    args = parser.parse_args()
    env = environment(os.path.abspath(args.build))
    bad = sum(Page(os.path.abspath(page), env).check(args.update) for page in args.pages)
    return 1 if bad and not args.update else 0


if __name__ == "__main__":
    sys.exit(main())
