#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""24 convolutions drawn by a seed beside cuDNN, two of each kind of which networks are made.

    draw_convolutions.py SEED                            prints the kernels
    draw_convolutions.py SEED --peers [--types f32 bf16 f16] [--layouts first last] [--part 1/2]    times them on a GPU
    draw_convolutions.py SEED --peers --device cpu       whether both compute the same, at small sizes
    draw_convolutions.py SEED --check KERNELC            checks them at small sizes (--device emulator, --arch sm_90a)

Each row is one convolution in one type and one layout: channels first (NCHW) or last (NHWC). cuDNN searches its algorithms
(benchmark mode) in that layout and in the other one, which PyTorch calls channels_last; × eager is the faster of the two. SEED is to
be drawn after the last tuning.
"""
import argparse
import random
import sys

from sequences import run_each

KINDS = ["plain", "small images", "few channels", "depthwise", "grouped", "dilated", "large taps", "strided", "batch 1", "1-D", "3-D",
         "1x1"]


class Convolution:
    """One of a draw: its numbers, its text and its peer."""

    def __init__(self, kind, rng, small):
        def pick(full, little):  # one draw at either scale, so that the same seed gives the same convolution
            return rng.choice(little if small else full)

        self.kind, self.rank = kind, {"1-D": 1, "3-D": 3}.get(kind, 2)
        self.stride, self.dilation, self.groups = 1, 1, 1
        self.batch = pick([8, 16, 32], [1, 2, 2])
        self.channels, self.outputs = pick([32, 64, 128], [4, 6, 8]), pick([64, 96, 128, 256], [4, 8, 9, 12])
        extent = pick([56, 64, 100, 112], [6, 7, 8, 9])
        self.taps = pick([3, 3, 5], [3, 3, 5])
        if kind == "small images":
            self.channels, self.outputs = pick([256, 512], [8, 12]), pick([256, 512], [8, 12])
            extent, self.taps = pick([7, 14], [3, 4]), 3
        elif kind == "few channels":
            self.channels, extent = pick([1, 3], [1, 3]), pick([224, 256], [9, 11])
        elif kind == "depthwise":
            self.channels = self.outputs = self.groups = pick([96, 192, 384], [3, 4, 5])
            self.taps = pick([3, 5, 7], [3, 3, 5])
        elif kind == "grouped":
            self.groups = pick([4, 8, 32], [2, 2, 2])
            self.channels, self.outputs = pick([128, 256], [4, 8]), pick([128, 256], [4, 8])
        elif kind == "dilated":
            self.dilation = pick([2, 4], [2, 2])
            extent += 4 if small else 0  # room for five taps
        elif kind == "large taps":
            self.taps, self.stride = pick([(7, 2), (7, 1), (11, 4)], [(5, 2), (5, 1), (5, 2)])
            self.channels, extent = pick([3, 16], [3, 4]), pick([128, 224], [11, 12])
        elif kind == "strided":
            self.stride = pick([2, 2, 3], [2, 2, 3])
        elif kind == "batch 1":
            self.batch = 1
        elif kind == "1-D":
            extent, self.taps = pick([8192, 16000, 32768], [33, 40, 50]), pick([3, 9, 15], [3, 3, 5])
        elif kind == "3-D":
            extent, self.batch, self.taps = pick([24, 32, 40], [4, 5, 5]), pick([2, 4, 8], [1, 1, 2]), 3
        elif kind == "1x1":
            self.taps = 1
        self.padding = pick([0, 1], [0, 1]) * (self.dilation * (self.taps - 1) // 2)
        self.extents = [extent] * self.rank

    def title(self, type_name, layout):
        parts = [f"{self.taps} taps a dim", f"stride {self.stride}" if self.stride > 1 else "", f"dilation {self.dilation}"
                 if self.dilation > 1 else "", f"padding {self.padding}" if self.padding else "", f"{self.groups} groups"
                 if self.groups > 1 else ""]
        sizes = "x".join(map(str, [self.batch, self.channels, *self.extents]))
        return f"{self.kind}: {sizes}, {self.outputs} outputs, {', '.join(filter(None, parts))}, {type_name}, channels {layout}"

    def text(self, name, type_name, layout):
        """Channels and points are sizes of the program; taps, steps and groups are its numbers."""
        points, taps, big = ["h", "w", "v"][:self.rank], ["r", "s", "t"][:self.rank], ["H", "W", "V"][:self.rank]
        groups = self.groups

        def shape(batch, channels, rest):
            inner = [batch, channels, *rest] if layout == "first" else [batch, *rest, channels]
            return f"{type_name}[{', '.join(inner)}]"

        def at(channel, places):
            return ", ".join(["n", channel, *places] if layout == "first" else ["n", *places, channel])

        places = []
        for p, t in zip(points, taps):
            place = p if self.stride == 1 else f"{self.stride} * {p}"
            place += f" + {t}" if self.dilation == 1 else f" + {self.dilation} * {t}"
            places.append(place + (f" - {self.padding}" if self.padding else ""))
        span = self.dilation * (self.taps - 1) + 1 - 2 * self.padding
        out = [f"({e} - {span}) // {self.stride} + 1" if self.stride > 1 else f"{e} - {span} + 1" for e in big]
        inputs, outputs = ("C", "O") if groups == 1 else (f"{groups} * C", f"{groups} * O")
        weights = [outputs, "C", *[str(self.taps)] * self.rank] if layout == "first" else [outputs, *[str(self.taps)] * self.rank, "C"]
        own = ["o", "c", *taps] if layout == "first" else ["o", *taps, "c"]
        channel = "c" if groups == 1 else "o // O * C + c"
        x = f"x{'.pad(0)' if self.padding else ''}[{at(channel, places)}]"
        requires = "".join(f"  require {e} >= {max(1, span)}\n" for e in big)
        return (f"def {name}(x: {shape('N', inputs, big)}, f: {type_name}[{', '.join(weights)}]) -> (y: {shape('N', outputs, out)}) {{\n"
                f"{requires}  y[{at('o', points)}] = sum[c, {', '.join(taps)}]({x} * f[{', '.join(own)}])\n}}\n")

    def sizes(self):
        named = dict(zip("HWV", self.extents), N=self.batch, C=self.channels // self.groups, O=self.outputs // self.groups)
        return {n: named[n] for n in ("N", "C", "O", *"HWV"[:self.rank])}

    def inputs(self, torch, dtype, layout, device):
        x = torch.randn([self.batch, self.channels, *self.extents], device=device) / 4
        f = torch.randn([self.outputs, self.channels // self.groups, *[self.taps] * self.rank], device=device) / 4
        order = [0, *range(2, self.rank + 2), 1] if layout == "last" else list(range(self.rank + 2))
        return [t.to(dtype).permute(order).contiguous() for t in (x, f)]

    def peer(self, torch, layout, other):
        """cuDNN in this layout, or in the `other` one, results in the kernel's."""
        call = {1: torch.nn.functional.conv1d, 2: torch.nn.functional.conv2d, 3: torch.nn.functional.conv3d}[self.rank]
        first, last = [0, self.rank + 1, *range(1, self.rank + 1)], [0, *range(2, self.rank + 2), 1]
        formats = {2: torch.channels_last, 3: torch.channels_last_3d}
        options = dict(stride=self.stride, padding=self.padding, dilation=self.dilation, groups=self.groups)
        held = []  # operands in the other layout: their copy is not counted

        def run(x, f):
            if layout == "last":
                x, f = x.permute(first), f.permute(first)
            if other and not held:
                as_asked = (lambda t: t.contiguous()) if layout == "last" else (lambda t: t.contiguous(memory_format=formats[self.rank]))
                held.extend(map(as_asked, (x, f)))
            y = call(*(held if other else (x, f)), **options)
            return y.permute(last) if layout == "last" else y

        return run


def draw(seed, small=False):
    for n in range(24):
        yield Convolution(KINDS[n % len(KINDS)], random.Random(f"{seed}.{n}"), small)


def beside_torch(args):
    import torch
    from operators import Table
    args.tf32 = False
    table = Table(args, "convolution")
    part, parts = map(int, args.part.split("/"))
    types = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
    rows = [(c, t, layout) for c in draw(args.seed, args.device == "cpu") for t in args.types for layout in args.layouts]
    for convolution, t, layout in rows[part - 1::parts]:
        def inputs():
            torch.manual_seed(1)
            return convolution.inputs(torch, types[t], layout, args.device)

        others = [convolution.peer(torch, layout, True)] if convolution.rank > 1 and args.device == "cuda" else []
        table.row(convolution.title(t, layout), convolution.text("conv", t, layout), "conv", inputs,
                  convolution.peer(torch, layout, False), others=others)
    return table.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--types", nargs="+", default=["f32", "bf16", "f16"])
    parser.add_argument("--layouts", nargs="+", default=["first", "last"])
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--check", metavar="KERNELC")
    parser.add_argument("--device")
    parser.add_argument("--arch", default="sm_90a")
    args = parser.parse_args()
    if args.peers:
        args.device = args.device or "cuda"
        return beside_torch(args)
    kernels = [(f"conv{n}_{t}_{layout}", f"# {c.title(t, layout)}\n" + c.text(f"conv{n}_{t}_{layout}", t, layout), c)
               for n, c in enumerate(draw(args.seed, bool(args.check))) for t in args.types for layout in args.layouts]
    if args.check:
        sizes = {name: [f"--set={k}={v}" for k, v in c.sizes().items()] for name, _, c in kernels}
        command = [args.check, "check", "--device", args.device or "emulator", "--arch", args.arch]
        return run_each([(name, text) for name, text, _ in kernels], lambda file, name: [*command, file, *sizes[name]])
    for _, text, _ in kernels:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
