#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chains of products and fused statements beside torch.compile, or cuDNN for gradients of attention: each row with the ratio that it is
to reach at least.

    bars.py [WORDS ..] [--seconds 170] [--part 1/2]     rows whose name has one of the words

Results are compared first; contenders take turns, the L2 flushed before each run. What a kernel needs first (sums of o * g, say) is part
of its time. Rows of memory are those of memory_wide.py. Needs a GPU of 80 GB. Exit status 1 where a result is wrong or a row fails.
"""
import argparse
import concurrent.futures
import math
import statistics
import sys
import time

import harness
import memory_wide
import operators
import torch
from workloads import AttentionBackward, LinearAttention, Mlp, Products

import kernelc

# Workload, peer, ratio.
PRODUCTS = [
    *((Products("gated", m, 4096, 11008), "torch.compile", 1.0) for m in (4096, 1024, 16384)),
    (Products("gated", 4096, 5120, 13824), "torch.compile", 1.0),
    *((Products("lora", m, 4096, 4096, r), "torch.compile", 1.1) for m, r in ((4096, 64), (4096, 16), (16384, 64))),
    *((Mlp(m, 4096, 11008, 4096), "torch.compile", 1.1) for m in (16, 32, 64)),
    *((LinearAttention(b, s, d), "torch.compile", 2.0) for b, s, d in ((64, 4096, 64), (64, 4096, 128), (32, 8192, 64))),
    *((AttentionBackward(b, s, d), "cudnn", 0.85) for b, s, d in ((64, 4096, 128), (32, 8192, 128), (256, 1024, 128), (128, 4096, 64))),
]
MEMORY = ("add, RMS", "RoPE", "AdamW", "AMP", "batch norm, training")


class Bars:
    """Rows as they come, and those that stay under their bar."""

    def __init__(self, options):
        self.options, self.under, self.failed, self.begin = options, [], False, time.monotonic()
        self.comparison = operators.Comparison(argparse.Namespace(device="cuda", tf32=False), limit=1e-2)
        print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}\n\n| row | kernelc, µs | peer | peer, µs | × the peer | at least |\n"
              "|---|--:|---|--:|--:|--:|", flush=True)

    def print(self, title, us, peer, peer_us, bar, note=""):
        ratio = peer_us / us
        # Two figures: what follows is less than what runs differ by.
        if not round(ratio, 2) >= bar:
            self.under.append(f"{title} {ratio:.3f}{note}")
        self.failed |= bool(note)
        print(f"| {title} | {us:.1f} | {peer} | {peer_us:.1f} | {ratio:.3f}{note} | {bar} |", flush=True)

    def product(self, workload, peer, bar, place):
        known = {"eager", "torch.compile", *workload.peers(place.device)}
        self.options.without = known - {peer}
        try:
            rows, failures = harness.bench(workload, place, self.options, None)
        except Exception as e:  # a line of the table
            rows, failures = [], [{"failure": f"{type(e).__name__}: {e}"}]
        us = {r["contender"]: r["median_us"] for r in rows}
        note = "; ".join(f["failure"].splitlines()[0][:160] for f in failures)
        self.print(workload.name, us.get("kernelc", math.nan), peer, us.get(peer, math.nan), bar, note and f" ({note})")

    def memory(self, row):
        title, text, inputs, peer = row
        try:
            cell, times = self.comparison.times(text, "f", lambda: drawn(inputs), peer, True, (), {})
            note = " (wrong: " + cell + ")" if times is None else ""
        except Exception as e:  # a line of the table
            times, note = None, f" ({type(e).__name__}: {str(e)[:160]})"
        us = {n: ms * 1e3 for n, ms in (times or {}).items()}
        self.print(title, us.get("kernelc", math.nan), "torch.compile", us.get("torch.compile", math.nan), 1.0, note)


def drawn(specs):
    torch.manual_seed(1)  # (each contender has the same)
    return [memory_wide.make(spec, "cuda") for spec in specs]


def compile_ahead(row):
    """The code of a row goes into the cache, so that several are compiled at once."""
    try:
        if isinstance(row[0], str):
            kernelc.compile(row[1])["f"].bind(*drawn(row[2]))
        else:
            workload = row[0]
            kernelc.compile(workload.source(), workload.file, **workload.constants)[workload.kernel].bind(*workload.inputs("cuda", 1))
    except Exception as e:  # the row says so in its turn
        print(f"{row[0] if isinstance(row[0], str) else row[0].name}: {type(e).__name__}: {str(e)[:300]}", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begins no row after so long, and says which are left")
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.scale, options.compile_on_cpu = 1, False
    for family in (memory_wide.norms, memory_wide.pointwise):
        family()
    rows = [r for r in memory_wide.ROWS if any(r[0].startswith(m) for m in MEMORY)] + PRODUCTS
    name = lambda r: r[0] if isinstance(r[0], str) else r[0].name
    part, parts = map(int, options.part.split("/"))
    chosen = [r for r in rows if not options.words or any(w in name(r) for w in options.words)][part - 1::parts]
    place, bars, left = harness.Gpu(0), Bars(options), []
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(compile_ahead, chosen))
    torch.cuda.empty_cache()
    for r in chosen:
        torch.manual_seed(1)
        if time.monotonic() - bars.begin > options.seconds:
            left.append(name(r))
        elif isinstance(r[0], str):
            bars.memory(r)
        else:
            bars.product(*r, place)
        torch.cuda.empty_cache()
    if left:
        print(f"\nnot begun: {', '.join(left)}")
    print(f"\n{len(chosen) - len(left)} rows in {time.monotonic() - bars.begin:.0f} s; under their bar: {'; '.join(bars.under) or 'none'}")
    return 1 if bars.failed else 0


if __name__ == "__main__":
    sys.exit(main())
