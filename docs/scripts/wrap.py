#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wraps the prose of Markdown pages at 100 columns; with --check says which lines are longer, and which
rows of tables have more than 160 columns.

    python3 docs/scripts/wrap.py --check        all pages that git tracks
    python3 docs/scripts/wrap.py PAGE.md ..     writes them

Code blocks, tables, headings, comments and link definitions stay as they are. A line of one word
(an address) may be longer. Wrapping a wrapped page changes nothing.
"""
import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
WIDTH = 100
ROW = 160
ITEM = re.compile(r"^(\s*)([-*+]|\d+[.)])( +)(?=\S)")
FENCE = re.compile(r"^\s*(```+|~~~+)")
# Not prose: headings, tables, comments and tags, link definitions, rules.
VERBATIM = re.compile(r"^\s*(#{1,6} |\||<|\[[^\]]+\]: |(-{3,}|={3,}|\*{3,})\s*$)")
# What stays on the line of the word before it: what would begin a block of its own, and units.
OPENER = re.compile(r"^([-*+>]|#{1,6}|\d+[.)]|={1,}|\|.*|<.*|%\W*|°.*)$")
SPAN = re.compile(r"(`+)[^`]+\1")
SPACE = "\0"  # one that no line ends at


def words_of(text):
    """Its words; a code span of up to 60 characters is in one."""
    held = SPAN.sub(lambda m: m[0].replace(" ", SPACE) if len(m[0]) <= 60 else m[0], text)
    return [word.replace(SPACE, " ") for word in held.split()]


def fill(words, first, rest):
    """The words in lines of at most WIDTH columns behind the prefixes `first` and then `rest`."""
    lines, line = [], first
    empty = True
    for number, word in enumerate(words):
        following = words[number + 1] if number + 1 < len(words) else ""
        need = len(word) + (1 + len(following) if OPENER.match(following) else 0)
        if not empty and len(line) + 1 + need > WIDTH and not OPENER.match(word):
            lines.append(line)
            line, empty = rest, True
        line += word if empty else " " + word
        empty = False
    return lines + [line]


def wrap(text):
    """The text with its paragraphs and list items filled."""
    out, paragraph, first, rest = [], [], "", ""
    fence, items = None, []  # the open fence; the columns at which open list items' text begins

    def flush():
        nonlocal paragraph
        if paragraph:
            out.extend(fill(words_of(" ".join(paragraph)), first, rest))
        paragraph = []

    for line in text.split("\n"):
        mark = FENCE.match(line)
        if fence or mark:
            flush()
            out.append(line)
            if not fence:
                fence = mark.group(1)
            elif mark and mark.group(1).startswith(fence) and line.strip() == mark.group(1):
                fence = None
            continue
        if not line.strip():
            flush()
            out.append(line.rstrip())
            continue
        indent = len(line) - len(line.lstrip())
        item = ITEM.match(line)
        if not paragraph:
            while items and indent < items[-1]:
                items.pop()
            if not item and indent >= (items[-1] if items else 0) + 4:
                out.append(line)  # a code block
                continue
        if VERBATIM.match(line) and not (paragraph and re.match(r"\s*<(?!!--)", line)):
            flush()
            out.append(line)
            continue
        if item:
            flush()
            while items and indent < items[-1]:
                items.pop()
            first = line[:item.end()]
            rest = " " * item.end()
            items.append(item.end())
            paragraph = [line[item.end():]]
        elif line.lstrip().startswith("> "):
            if not paragraph:
                first = rest = line[:indent] + "> "
            paragraph.append(line.lstrip()[2:])
        elif paragraph:
            paragraph.append(line.strip())
        else:
            first = rest = line[:indent]
            paragraph = [line.strip()]
    flush()
    return "\n".join(out)


def tracked():
    found = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT,
                           capture_output=True, text=True, check=True)
    return [os.path.join(ROOT, name) for name in found.stdout.split() if os.path.exists(os.path.join(ROOT, name))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*")
    parser.add_argument("--check", action="store_true", help="write nothing; name the pages that are not wrapped")
    args = parser.parse_args()
    bad = 0
    for path in args.pages or tracked():
        with open(path, encoding="utf-8") as f:
            text = f.read()
        wrapped = wrap(text)
        for number, line in enumerate(text.split("\n"), 1):
            if args.check and line.startswith("|") and len(line) > ROW:
                bad += 1
                print(f"{os.path.relpath(path, ROOT)}:{number}: a row of a table has {len(line)} columns, more than {ROW}")
        if wrapped == text:
            continue
        if not args.check:
            with open(path, "w", encoding="utf-8") as f:
                f.write(wrapped)
            continue
        bad += 1
        old, new = text.split("\n"), wrapped.split("\n")
        line = next((n for n, (a, b) in enumerate(zip(old, new), 1) if a != b), min(len(old), len(new)))
        print(f"{os.path.relpath(path, ROOT)}:{line}: prose is not wrapped at {WIDTH} columns; "
              "run docs/scripts/wrap.py on the page")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
