#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds rules.md against docs/language.md and the compiler: each heading quotes the page, each program below it is refused with its
message, and every sentence of the page that forbids something is quoted, or tested elsewhere (ELSEWHERE says where).

    python3 test/frontend/rules/rules.py --kernelc build/ci/tools/kernelc [--table]
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "..", "..", "docs", "language.md")
FORBIDS = re.compile(r"\b(is an error|are errors|are checks|an error;|may not|must fit|has to be proved|have to be|need an element|"
                     r"[Nn]o two files|no file imports itself|never capture|exactly once|do not mix|No tensor holds|cannot go on|"
                     r"no other slices|provably the tightest|takes a literal|refused by name)\b")
ELSEWHERE = {
    "Their strides count elements and may not be negative": "test/support, test/tools/cli/bad-input.test",
    "results have to be dense": "test/tools/cli/bad-input.test",
    "The path is relative to the file that says so": "test/frontend/import/errors.kc, links.test, ImportTest.cpp",
    "No two files of a program define": "test/frontend/import/errors.kc",
    "The limits are errors too": "test/frontend/RobustnessTest.cpp",
    "which have to be of 8 or more": "a matter of speed",
    "all other dims are checks": "of a call: test/tools/cli/sizes.test, test/python",
    "otherwise the product stays f32": "no error: a remark",
}


def plain(text):
    return " ".join(text.split())


def entries(text):
    """(quote, message, program) of each block."""
    found, quote = [], ""
    for part in re.finditer(r"^## (.*)$|^```kc error: (.*)\n((?:.*\n)*?)```$", text, re.M):
        if part.group(1):
            quote = plain(part.group(1))
        else:
            found.append((quote, part.group(2), part.group(3)))
    return found


def sentences(page):
    page = re.sub(r"```.*?```|^    .*$", " ", page, flags=re.S | re.M)
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*- )|\n(?=\d\. )|\n(?=\|)", page):
        yield from re.split(r"(?<=[.:;])\s+(?=[A-Z`*(])", plain(paragraph))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernelc", default="kernelc")
    parser.add_argument("--table", action="store_true", help="print rules and messages as a table")
    args = parser.parse_args()
    page = plain(open(PAGE).read())
    rules, bad = entries(open(os.path.join(HERE, "rules.md")).read()), 0
    if args.table:
        print("| rule | message |\n|---|---|")
    for quote, message, program in rules:
        if quote not in page:
            print(f"rules.md quotes what docs/language.md does not say: {quote}")
            bad += 1
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rule.kc")
            open(path, "w").write(program)
            command = [args.kernelc, "compile", path, "--emit", "plan", "-o", os.path.join(folder, "plan")]
            done = subprocess.run(command, capture_output=True, text=True)
        said = next((line for line in done.stderr.splitlines() if "error: " in line and message in line), "")
        if done.returncode == 0 or not said:
            print(f"'{quote}': expected an error with '{message}', got {done.returncode}: {done.stderr or 'no error'}\n{program}")
            bad += 1
        elif args.table:
            print(f"| {quote} | {said.split('error: ', 1)[1]} |")
    quotes = [quote for quote, _, _ in rules] + list(ELSEWHERE)
    for sentence in sentences(open(PAGE).read()):
        if FORBIDS.search(sentence) and not any(q.rstrip(".") in sentence or sentence.rstrip(".:") in q for q in quotes):
            print(f"no illegal program for: {sentence}")
            bad += 1
    print(f"{len(rules)} programs, {bad} faults", file=sys.stderr)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
