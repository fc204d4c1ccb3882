#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs of bench/unseen/ beside PyTorch, eager and torch.compile: operators, fused sequences, blocks of networks, kernels of
training and of large models, written from docs/language.md alone, at shapes that nothing was tuned for.

    unseen.py [WORDS ..] [--part 1/2]    rows whose title has one of the words (=WORD: whose kernel is that)
    unseen.py --seed S                   shapes drawn around each row's
    unseen.py --warm                     compiles and compares, times nothing; --seconds 300 begins no row after so long
    unseen.py --device cpu               small sizes on the CPU: whether both compute the same
    unseen.py --explain KERNELC          launches, workspace, seconds without a cache, spills; needs no GPU
    unseen.py --check KERNELC            `kernelc check` at the small sizes on the emulator (--arch sm_90a)

The last two need no PyTorch. Results are compared with eager's first, by the largest value. What is one call of a library has no
torch.compile.
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from unseen_rows import ROWS  # noqa: E402

SIZE = re.compile(r"(\w+)([=:])(\d+)(?:/(\d+))?$")


def sizes_of(text, seed=None, small=False):
    """{name: number} of `M=4096 N=8192/64 R:3`: a size that is drawn anew, one of multiples of 64, a fixed one."""
    rng, found = random.Random(seed), {}
    for name, how, number, step in (SIZE.match(word).groups() for word in text.split()):
        number, step = int(number), int(step or 1)
        if how == "=" and seed is not None:
            number = int(number * rng.uniform(0.5, 1.6))
            step *= rng.choice([s for s in (1, 8, 64) if s == 1 or number >= 16 * s]) if step == 1 else 1
            number = max(step, number // step * step)
        if how == "=" and small:
            number = step * max(1, min(number // step, max(7, round(2 * (number / step) ** (1 / 3)))))
        found[name] = number
    return found


def file_of(row):
    return os.path.join(HERE, "unseen", row.file + ".kc")


def sets(sizes):
    return [word for name, value in sizes.items() for word in ("--set", f"{name}={value}")]


def given_values(row, sizes):
    """Values of `kernelc check` for what is not uniform in [-1, 1)."""
    limits = {name: f"random:0..{sizes.get(most, most)}" for name, most in row.ints.items()}
    return [f"{name}={value}" for name, value in {**limits, **{name: "random:0.5..1.5" for name in row.positive}, **row.scalars}.items()]


def explain(args, rows):
    """A line a row: launches, MB of workspace, microseconds by the model, seconds without a cache, bytes that spill."""
    print("| row | launches | workspace, MB | by the model, µs | compiled in, s | spills, bytes |\n|---|--:|--:|--:|--:|--:|")
    bad = 0
    for row, sizes in rows:
        command = [args.explain, "explain", file_of(row), "--kernel", row.kernel, *sets(sizes), "--arch", args.arch, "--json"]
        start = time.monotonic()
        run = subprocess.run(command, env={**os.environ, "KERNELC_CACHE_SIZE": "0", "KERNELC_UNTUNED": "1"}, capture_output=True, text=True)
        seconds = time.monotonic() - start
        if run.returncode:
            bad += 1
            print(f"| {row.title(sizes)} | {run.stderr.strip().splitlines()[0][:200]} | | | | |", flush=True)
            continue
        said = json.loads(run.stdout)
        spilled = sum(launch["spilled_bytes"] + launch["stack_bytes"] for launch in said["launches"])
        model = sum(launch["time"]["us"] for launch in said["launches"] if launch.get("time"))
        print(f"| {row.title(sizes)} | {len(said['launches'])} | {said['workspace_bytes'] / 1e6:.1f} | {model:.0f} | {seconds:.2f} | {spilled or ''} |", flush=True)
    return 1 if bad else 0


def check(args, rows):
    bad = 0
    for row, sizes in rows:
        words = [file_of(row), "--kernel", row.kernel, *sets(sizes), "--arch", args.arch, "--device", args.on, "--allow-unbounded"]
        start = time.monotonic()
        run = subprocess.run([args.check, "check", *words, *given_values(row, sizes)], capture_output=True, text=True, timeout=600)
        bad += run.returncode != 0
        print(f"{'right' if run.returncode == 0 else 'FAILED'} {row.title(sizes)} ({time.monotonic() - start:.1f} s)", flush=True)
        if run.returncode:
            print(run.stdout + run.stderr, flush=True)
    print(f"{len(rows)} kernels, {bad} failed")
    return 1 if bad else 0


def inputs_of(row, kernel, sizes, device):
    """Tensors and numbers of a kernel's inputs, in the order of its text. Weights (of names that begin with w or f and two dims or
    more) are divided by the root of what a sum over them has."""
    import torch
    from compile_time import extents
    from kernelc import _library as roles
    types = {"f32": torch.float32, "bf16": torch.bfloat16, "f8e4m3": torch.float8_e4m3fn, "i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "u32": torch.uint32, "u8": torch.uint8, "i8": torch.int8}
    found = []
    torch.manual_seed(1)
    for (name, kind, role, _), shape in zip(kernel.params, kernel.shapes):
        if role == roles.PARAM_OUTPUT:
            continue
        if role == roles.PARAM_SCALAR:
            found.append(row.scalars.get(name, 0.5))
            continue
        extent = extents(shape, sizes)
        if name in row.made:
            value = row.made[name](torch, device, sizes)
        elif name in row.ints:
            most = row.ints[name]
            value = torch.randint(0, sizes.get(most, most), extent, device=device)
        elif kind in ("u8", "i8"):
            value = torch.randint(0 if kind == "u8" else -128, 256 if kind == "u8" else 128, extent, device=device)
        elif name in row.positive:
            value = torch.rand(extent, device=device) + 0.5
        else:
            value = torch.randn(extent, device=device)
            if name[0] in "wf" and len(extent) > 1:
                value /= max(1, value.numel() / extent[0]) ** 0.5
        found.append(value.to(types[kind]))
    return found


def beside_torch(args, rows):
    import operators
    import torch

    import kernelc
    args.tf32 = False
    table, left = operators.Table(args, "row"), []
    for row, sizes in rows:
        if time.monotonic() - table.start > args.seconds:
            left.append(row.kernel)
            continue
        with open(file_of(row)) as file:
            text = file.read()

        def inputs():
            return inputs_of(row, kernelc.compile(text, file_of(row)).kernels[row.kernel], sizes, args.device)

        table.limit = row.limit
        table.row(row.title(sizes), text, row.kernel, inputs, lambda *given: row.peer(torch, *given), row.compiled,
                  sizes={name: sizes[name] for name in row.named})
    if left:
        print(f"\nnot begun: {', '.join(left)}")
    return table.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--seed")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--warm", action="store_true")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--explain", metavar="KERNELC")
    parser.add_argument("--check", metavar="KERNELC")
    parser.add_argument("--on", default="emulator")
    parser.add_argument("--arch", default="sm_90a")
    args = parser.parse_args()
    part, parts = map(int, args.part.split("/"))
    small = bool(args.check) or args.device == "cpu" and not args.explain
    chosen = [(row, sizes_of(row.sizes, args.seed and f"{args.seed} {row.kernel}", small)) for row in ROWS]
    chosen = [(row, sizes) for row, sizes in chosen
              if not args.words or any(w[1:] == row.kernel if w[0] == "=" else w in row.title(sizes) for w in args.words)][part - 1::parts]
    return explain(args, chosen) if args.explain else check(args, chosen) if args.check else beside_torch(args, chosen)


if __name__ == "__main__":
    sys.exit(main())
