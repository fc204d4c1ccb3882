#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions as networks have them beside cuDNN, in bf16.

    network_convolutions.py [ROW[:first|last][:TILE=N ..] ..] [--no-peers]

A row is a name of ROWS below, in channels first unless said otherwise; all of them in both layouts where none is named. TILE=N gives an
index of the product's launch that tile. cuDNN searches its algorithms (benchmark mode) in both layouts; × eager is the faster of the two.
"""
import argparse
import sys

from draw_convolutions import Convolution


def row(batch, channels, extent, outputs, taps, stride=1, dilation=1, groups=1, padding=None, rank=2):
    c = object.__new__(Convolution)
    c.kind, c.rank, c.stride, c.dilation, c.groups = "", rank, stride, dilation, groups
    c.batch, c.channels, c.outputs, c.taps, c.extents = batch, channels, outputs, taps, [extent] * rank
    c.padding = dilation * (taps - 1) // 2 if padding is None else padding
    return c


ROWS = {
    # ResNeXt's groups of 4, 8, 16 and 32 channels, RegNet's
    "nx4": row(32, 128, 56, 128, 3, groups=32), "nx8": row(32, 256, 28, 256, 3, groups=32), "nx8l": row(32, 256, 56, 256, 3, groups=32),
    "nx16": row(32, 512, 14, 512, 3, groups=32), "nx32": row(32, 1024, 7, 1024, 3, groups=32),
    "nx4s": row(32, 128, 56, 128, 3, 2, groups=32), "nx8s": row(32, 256, 56, 256, 3, 2, groups=32),
    "g32": row(32, 128, 112, 256, 3, groups=32), "g16": row(8, 128, 100, 256, 3, groups=8, padding=0),
    "g32c": row(8, 128, 100, 128, 3, groups=4), "reg16": row(32, 128, 56, 128, 3, groups=8), "reg24": row(32, 192, 28, 192, 3, groups=8),
    "reg40": row(32, 320, 28, 320, 3, groups=8), "reg48": row(32, 192, 28, 192, 3, groups=4),
    # first layers
    "vgg1": row(32, 3, 224, 64, 3), "mobile1": row(32, 3, 224, 32, 3, 2), "convnext1": row(32, 3, 224, 96, 4, 4, padding=0),
    "vit": row(32, 3, 224, 768, 16, 16, padding=0), "resnet1": row(32, 3, 224, 64, 7, 2), "vgg256": row(32, 3, 224, 256, 3, padding=0),
    # what is behind them, and rows that begin inside vectors
    "res56": row(32, 64, 56, 64, 3), "res28": row(32, 128, 28, 128, 3), "res14": row(32, 256, 14, 256, 3), "res7": row(32, 512, 7, 512, 3),
    "unet": row(4, 64, 128, 64, 3), "vae": row(1, 128, 256, 128, 3), "aspp": row(8, 256, 32, 256, 3, dilation=6),
    "plain54": row(16, 64, 56, 128, 3, padding=0), "plain110": row(16, 64, 112, 128, 3, padding=0),
    # video
    "d3": row(4, 64, 32, 64, 3, rank=3), "d3b": row(2, 32, 64, 32, 3, rank=3), "c3d": row(2, 3, 64, 64, 3, rank=3),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*")
    parser.add_argument("--no-peers", action="store_true")
    args = parser.parse_args()
    import torch
    from operators import Table
    args.tf32, args.device = False, "cuda"
    table = Table(args, "convolution")
    for named in args.rows or [f"{name}:{layout}" for name in ROWS for layout in ("first", "last")]:
        name, *more = named.split(":")
        layout = more[0] if more and "=" not in more[0] else "first"
        tiles = [tile.split("=") for tile in more if "=" in tile]
        c = ROWS[name]
        text = c.text("conv", "bf16", layout)
        if tiles:
            text += "schedule conv for sm_90a { launch y { " + "; ".join(f"tile {i}: {n}" for i, n in tiles) + " } }\n"

        def inputs():
            torch.manual_seed(1)
            return c.inputs(torch, torch.bfloat16, layout, "cuda")

        others = [] if args.no_peers else [c.peer(torch, layout, True)]
        title = f"{named}: {c.title('bf16', layout).removeprefix(': ')}"
        table.row(title, text, "conv", inputs, c.peer(torch, layout, False), others=others)
    return table.end()


if __name__ == "__main__":
    sys.exit(main())
