#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keeps the index of the lab notes in order: topics by their files' names, each topic's newest note first.

    python3 docs/scripts/lab.py --check     says what is out of order, missing, or there twice
    python3 docs/scripts/lab.py             sorts docs/lab/README.md; of two rows for a note the first stays

A note's file is DATE-TOPIC.md or DATE-TOPIC-NUMBER.md. Its row is written by hand, anywhere in the table.
"""
import os
import re
import sys

LAB = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lab"))
INDEX = os.path.join(LAB, "README.md")
NOTE = re.compile(r"(\d{4}-\d\d-\d\d)-(.+?)(?:-(\d+))?\.md")
ROW = re.compile(r"\| \[[^]]*\]\((\d{4}-[^)]*\.md)\) \|")


def place(name):
    """Where the note of file `name` stands: by topic, then from the newest to the oldest."""
    date, topic, number = NOTE.fullmatch(name).groups()
    return topic, -int(date.replace("-", "")), -int(number or 1)


def main():
    with open(INDEX) as f:
        lines = f.read().split("\n")
    rows = [(m[1], line) for line in lines if (m := ROW.match(line))]
    notes = {name for name in os.listdir(LAB) if NOTE.fullmatch(name)}
    unknown = notes ^ {name for name, _ in rows}
    first = dict(reversed(rows))  # of each note
    ordered = [first[name] for name in sorted(first, key=place)]
    if unknown:
        sys.exit("docs/lab/README.md: a note without a row, or a row without its note: " + ", ".join(sorted(unknown)))
    if [line for _, line in rows] == ordered:
        return
    if "--check" in sys.argv:
        sys.exit("docs/lab/README.md: rows are out of order or there twice; run docs/scripts/lab.py")
    begin = lines.index(rows[0][1])
    kept = [line for line in lines if not ROW.match(line)]
    with open(INDEX, "w") as f:
        f.write("\n".join(kept[:begin] + ordered + kept[begin:]))


main()
