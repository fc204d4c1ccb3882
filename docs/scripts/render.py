#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Renders a Markdown page as GitHub shows it, and says which of its pictures do not load.

    python3 docs/scripts/render.py README.md -o readme.html
    python3 docs/scripts/render.py README.md -o readme.html --screenshot readme.webp

Needs cmark-gfm, and Chromium for the check and the screenshot (Debian's packages of these names). The page's style is a stand-in for
GitHub's: the same widths, sizes and colours. Where links lead is docs/scripts/links.py's to check.
"""
import argparse
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from wrap import ROOT  # noqa: E402

STYLE = """
body { margin: 0 auto; padding: 32px; max-width: 830px; color: #1f2328; background: #fff;
       font: 16px/1.5 "Liberation Sans", Arial, sans-serif; }
h1, h2 { border-bottom: 1px solid #d1d9e0; padding-bottom: .3em; margin: 24px 0 16px; line-height: 1.25; }
a { color: #0969da; text-decoration: none; }
code { font: 85%/1.45 "Liberation Mono", monospace; background: #818b981f; padding: .2em .4em; border-radius: 6px; }
pre { background: #f6f8fa; padding: 16px; border-radius: 6px; overflow: hidden; }
pre code { background: none; padding: 0; }
table { border-collapse: collapse; }
td, th { border: 1px solid #d1d9e0; padding: 6px 13px; text-align: left; }
tr:nth-child(2n) { background: #f6f8fa; }
img { max-width: 100%; }
"""
# Runs in the page: a picture that does not load has no width.
CHECK = """<script>addEventListener("load", () => { document.title = [...document.images].filter(i => !i.naturalWidth)
  .map(i => i.getAttribute("src")).join(" ") + " of " + document.images.length + "; height " + document.body.scrollHeight; });</script>"""


def find(*names):
    path = next(filter(None, map(shutil.which, names)), None)
    return path or sys.exit(f"{names[0]} is not installed: apt-get install {names[0]}")


def render(page):
    text = subprocess.run([find("cmark-gfm"), "-e", "table", "-e", "autolink", "--unsafe", os.path.join(ROOT, page)],
                          check=True, capture_output=True, text=True).stdout
    base = "file://" + os.path.join(ROOT, os.path.dirname(page)) + "/"
    return f'<!DOCTYPE html><meta charset="utf-8"><base href="{base}"><title>{html.escape(page)}</title><style>{STYLE}</style>\n{text}'


def browse(file, *options):
    with tempfile.TemporaryDirectory() as profile:
        command = [find("chromium"), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-lcd-text", f"--user-data-dir={profile}",
                   "--virtual-time-budget=5000", *options, "file://" + os.path.abspath(file)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page", help="from the repository's root")
    parser.add_argument("-o", required=True, metavar="FILE.html")
    parser.add_argument("--screenshot", metavar="FILE", help="a .png or .webp")
    parser.add_argument("--height", type=int, help="of the screenshot: the page's top alone")
    a = parser.parse_args()
    text = render(a.page)
    with open(a.o, "w") as f:
        f.write(text + CHECK)
    dom = browse(a.o, "--window-size=894,1000", "--dump-dom")
    broken, count, height = re.search(r"<title>(.*?) ?of (\d+); height (\d+)</title>", dom).groups()
    with open(a.o, "w") as f:
        f.write(text)
    if a.screenshot:
        browse(a.o, f"--window-size=894,{a.height or int(height) + 64}", f"--screenshot={os.path.abspath(a.screenshot)}")
    print(f"{a.page}: {count} pictures, " + (f"these do not load: {broken}" if broken else "all of them load"))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
