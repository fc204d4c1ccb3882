#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says which links of the repository's Markdown pages lead nowhere: files, folders and headings.

    python3 docs/scripts/links.py

Links to other sites are not followed.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from pages import read  # noqa: E402
from wrap import ROOT, tracked  # noqa: E402

LINK = re.compile(r"(?<!\\)\[[^\]]*\]\(([^()\s]+)\)")
FENCED = re.compile(r"^(```+).*?^\1$", re.M | re.S)
INDENTED = re.compile(r"(?<=\n\n)(?: {4,}\S.*\n)+")  # code, too; no page has paragraphs that far to the right


def anchors(text):
    """The anchors that GitHub makes of the headings."""
    found = {}
    for heading in re.findall(r"^#{1,6} (.*)$", FENCED.sub("", text), re.M):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", words).strip().replace(" ", "-")
        found[anchor] = found.get(anchor, -1) + 1
    return {a if not n else f"{a}-{n}" for a, count in found.items() for n in range(count + 1)}


def main():
    bad = 0
    for page in tracked():
        text = read(page)
        for target in LINK.findall(re.sub(r"`[^`\n]*`", "", INDENTED.sub("", FENCED.sub("", text)))):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            where = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
            if not os.path.exists(where) or (anchor and where.endswith(".md") and anchor not in anchors(read(where))):
                bad += 1
                print(f"{os.path.relpath(page, ROOT)}: the link '{target}' leads nowhere")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
