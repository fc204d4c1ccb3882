#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the pictures of the pages, docs/images/*.svg, from what stands here and in the tables.

    python3 docs/scripts/images.py            writes them
    python3 docs/scripts/images.py --check    says which are not current

`path.svg` is the way from text to launch. `peers.svg` shows rows of the table of one day and card
(TABLE) as the time of each peer over that of kernelc, and docs/performance.md the same rows as
numbers; ROWS says which rows, and no value stands here. The text of a picture is plain SVG, so that
a picture can be read in a diff.
"""
import argparse
import math
import os
import re
import sys
from xml.sax.saxutils import escape

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pages import deliver  # noqa: E402
from wrap import ROOT  # noqa: E402

TABLE = os.path.join(ROOT, "docs", "lab", "2026-11-26-front-door-5.md")
LATER = os.path.join(ROOT, "docs", "lab", "2026-11-26-attention-3.md")  # rows beside one peer: workload, us, TFLOP/s, peer, us, times
PERFORMANCE = os.path.join(ROOT, "docs", "performance.md")
TITLE = "NVIDIA H200, 2026-11-26, PyTorch 2.11, Triton 3.6, CUDA 13.0"

ROWS = [  # the workload as the table names it, what the picture calls it
    ("softmax_rows 8192x4096 bf16", "softmax 8192×4096, bf16"),
    ("layer_norm 8192x4096 f32", "layer norm 8192×4096, f32"),
    ("layer_norm 4096x16384 bf16", "layer norm 4096×16384, bf16"),
    ("row_sum 4096x16384 bf16", "row sum 4096×16384, bf16"),
    ("column_sum 8192x4096 bf16", "column sum 8192×4096, bf16"),
    ("transpose 4096x16384 f32", "transpose 4096×16384, f32"),
    ("gelu_add 4096x16384 bf16", "GELU and add 4096×16384, bf16"),
    ("matmul_nt 8192x8192x8192 bf16", "matmul 8192³, bf16"),
    ("matmul_nt 1024x1024x1024 bf16", "matmul 1024³, bf16"),
    ("matmul_nt 64x8192x8192 bf16", "matmul 64×8192×8192, bf16"),
    ("matmul_nn 1000x1000x1000 bf16", "matmul 1000³, bf16"),
    ("matmul_nn 4095x4097x4100 bf16", "matmul 4095×4097×4100, bf16"),
    ("matmul_nn 4096x4096x4096 f32", "matmul 4096³, f32 on CUDA cores"),
    ("matmul_nt 4096x4096x4096 f8", "matmul 4096³, f8"),
    ("matmul_nt 4096x4096x4096 f8 blocks", "matmul 4096³, f8, scales of blocks"),
    ("matmul_nt 4096x4096x4096 i8", "matmul 4096³, i8"),
    ("linear_gelu_residual 4096x4096x4096 bf16", "bias, GELU, residual 4096³, bf16"),
    ("linear_stats 4096x4096x4096 bf16", "linear with row and column sums 4096³"),
    ("conv 32x128x28x28 k128 r3 s2 bf16", "conv 3×3, stride 2, 128 channels, bf16"),
    ("conv 32x512x7x7 k2048 r1 s1 bf16", "conv 1×1, 512 channels, bf16"),
    ("attention b8 h16 g16 s2048 d128 bf16", "attention, 2048 keys, bf16, cuDNN forced"),
]
PEERS = [  # the column of the table, its name, its colour
    (4, "PyTorch eager (cuBLAS, cuDNN)", "#6b7280"),
    (5, "torch.compile", "#2563eb"),
    (6, "Triton", "#d97706"),
    (7, "cuBLAS, called alone", "#059669"),
]
FONT = 'font-family="Helvetica, Arial, sans-serif"'


class Picture:
    def __init__(self, width, height, title):
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">',
                      f"<title>{escape(title)}</title>", f'<rect width="{width}" height="{height}" fill="#ffffff"/>']

    def text(self, x, y, text, size=13, anchor="start", colour="#111827", weight="normal"):
        self.parts.append(f'<text x="{x:g}" y="{y:g}" {FONT} font-size="{size}" text-anchor="{anchor}" font-weight="{weight}" '
                          f'fill="{colour}">{escape(text)}</text>')

    def line(self, x0, y0, x1, y1, colour="#d1d5db", width=1, dash=""):
        dash = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(f'<line x1="{x0:g}" y1="{y0:g}" x2="{x1:g}" y2="{y1:g}" stroke="{colour}" stroke-width="{width}"{dash}/>')

    def box(self, x, y, width, height, fill, stroke):
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="7" fill="{fill}" stroke="{stroke}" stroke-width="1.5"/>')

    def arrow(self, x0, y0, x1, y1, colour="#374151"):
        self.line(x0, y0, x1, y1, colour, 1.6)
        length = math.hypot(x1 - x0, y1 - y0)
        u, v = (x1 - x0) / length, (y1 - y0) / length
        points = " ".join(f"{x:g},{y:g}" for x, y in ((x1, y1), (x1 - 8 * u - 4 * v, y1 - 8 * v + 4 * u), (x1 - 8 * u + 4 * v, y1 - 8 * v - 4 * u)))
        self.parts.append(f'<polygon points="{points}" fill="{colour}"/>')

    def mark(self, peer, x, y):
        colour = PEERS[peer][2]
        shapes = [f'<circle cx="{x:g}" cy="{y:g}" r="4.6"', f'<rect x="{x - 4.2:g}" y="{y - 4.2:g}" width="8.4" height="8.4"',
                  f'<polygon points="{x:g},{y - 5.4:g} {x + 5.2:g},{y + 4:g} {x - 5.2:g},{y + 4:g}"',
                  f'<polygon points="{x:g},{y - 5.6:g} {x + 5.6:g},{y:g} {x:g},{y + 5.6:g} {x - 5.6:g},{y:g}"']
        self.parts.append(f'{shapes[peer]} fill="{colour}" fill-opacity="0.85"/>')

    def done(self):
        return "\n".join(self.parts + ["</svg>"]) + "\n"


def path():
    """Text to launch, in one row; what checks it, below."""
    stages = [("kernel.kc", "index notation"), ("te", "what is computed"), ("tile", "which block"), ("cu", "which thread"),
              ("CUDA C", "readable text"), ("cubin", "NVRTC"), ("launch", "on your stream")]
    steps = ["frontend", "plan", "lay out", "print", "compile", "bind"]
    p = Picture(960, 240, "From a kernel's text to its launch")
    width, gap, top = 96, 44, 60
    for n, (name, what) in enumerate(stages):
        x = 12 + n * (width + gap)
        text = name in ("kernel.kc", "CUDA C")
        p.box(x, top, width, 46, "#fef3c7" if text else "#dbeafe" if n in (1, 2, 3) else "#dcfce7", "#92400e" if text else "#1e40af" if n in (1, 2, 3) else "#166534")
        p.text(x + width / 2, top + 28, name, 15, "middle", weight="bold")
        p.text(x + width / 2, top + 66, what, 12, "middle", "#4b5563")
        if n:
            p.arrow(x - gap + 3, top + 23, x - 3, top + 23)
            p.text(x - gap / 2, top - 8, steps[n - 1], 11, "middle", "#4b5563")
    centre = [12 + n * (width + gap) + width / 2 for n in range(len(stages))]
    p.text(480, 24, "Every arrow is a pipeline of named passes or one library call; every stage prints, parses and runs alone.", 13, "middle", "#4b5563")
    for n, name, lines in ((1, "CPU device and f64 oracle", "values with error bounds"), (4, "emulator", "the same text, thread by thread: races, bounds, barriers")):
        p.arrow(centre[n], top + 76, centre[n], 172, "#9ca3af")
        w = 220 if n == 1 else 380
        p.box(centre[n] - w / 2, 174, w, 52, "#f3f4f6", "#6b7280")
        p.text(centre[n], 195, name, 14, "middle", weight="bold")
        p.text(centre[n], 214, lines, 12, "middle", "#4b5563")
    p.line(centre[1] + 113, 200, centre[4] - 193, 200, "#9ca3af", 1.4, "5 4")
    p.text((centre[1] + 113 + centre[4] - 193) / 2, 193, "compared", 11, "middle", "#4b5563")
    return p.done()


def table():
    """Workload to cells of the first table of the page."""
    rows = {}
    for line in open(LATER, encoding="utf-8"):
        cells = [c.strip() for c in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if len(cells) >= 6 and cells[3] == "cudnn":
            rows[cells[0]] = [cells[0], cells[1], "", "", cells[5], "", "", ""]
    for line in open(TABLE, encoding="utf-8"):
        cells = [c.strip() for c in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if len(cells) == 8 and re.match(r"\w", cells[0]) and cells[0] != "workload":
            rows[cells[0]] = cells
        elif cells == [] and any(re.match("softmax_rows", name) for name in rows):
            return rows
    return rows


def peers():
    data = table()
    left, right, top, step = 300, 28, 92, 21
    width, height = 900, top + step * len(ROWS) + 44
    low, high = math.log2(0.2), math.log2(10)
    at = lambda ratio: left + (math.log2(ratio) - low) / (high - low) * (width - left - right)  # noqa: E731
    p = Picture(width, height, "Time of peers over time of kernelc")
    p.text(12, 24, "Time of the peer over time of kernelc (right of 1: kernelc is faster)", 15, weight="bold")
    p.text(12, 43, TITLE, 12, colour="#4b5563")
    x = 12
    for n, (_, name, _) in enumerate(PEERS):
        p.mark(n, x + 6, 62)
        p.text(x + 17, 66, name, 12)
        x += 38 + 7 * len(name)
    bottom = top + step * len(ROWS) - 6
    p.parts.append(f'<rect x="{left}" y="{top - 10}" width="{at(1) - left:g}" height="{bottom - top + 10}" fill="#fef2f2"/>')
    for ratio in (0.25, 0.5, 1, 2, 4, 8):
        p.line(at(ratio), top - 10, at(ratio), bottom, "#111827" if ratio == 1 else "#e5e7eb", 1.4 if ratio == 1 else 1)
        p.text(at(ratio), bottom + 17, f"{ratio:g}", 12, "middle", "#4b5563")
    for n, (key, name) in enumerate(ROWS):
        y = top + step * n
        if key not in data:
            sys.exit(f"{TABLE} has no row '{key}'")
        p.text(left - 10, y + 5, name, 12.5, "end")
        values = [(k, float(data[key][column])) for k, (column, _, _) in enumerate(PEERS) if data[key][column]]
        for k, ratio in values:
            p.mark(k, at(ratio), y)
    p.text(12, height - 10, "docs/performance.md has the rows as numbers and the method; drawn by docs/scripts/images.py", 11, colour="#6b7280")
    return p.done()


def performance():
    """docs/performance.md with the rows between its two comments."""
    data, page = table(), open(PERFORMANCE, encoding="utf-8").read()
    lines = ["| workload | of a copy | × eager | × torch.compile | × Triton | × cuBLAS |", "|---|--:|--:|--:|--:|--:|"]
    lines += [f"| {name} | " + " | ".join(data[key][3:8]) + " |" for key, name in ROWS]
    return re.sub(r"(?<=<!-- rows -->\n).*?(?=<!-- end of rows -->)", "\n".join([""] + lines + ["", ""]), page, flags=re.S)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    return deliver({"docs/images/path.svg": path(), "docs/images/peers.svg": peers(), "docs/performance.md": performance()}, args.check)


if __name__ == "__main__":
    sys.exit(main())
