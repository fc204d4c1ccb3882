#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention beside cuDNN, FlashAttention-2 and FlexAttention, in turns on one GPU: the tables of docs/lab.

    python3 bench/attention.py forward            # d 128, 64, 256; s 1024 to 16384; full and causal; about two minutes
    python3 bench/attention.py forward d64 causal # rows whose name contains each of the words
    python3 bench/attention.py rest               # masks and score functions beside FlexAttention; decoding, log-sum-exp of a product
    python3 bench/attention.py forward --seconds 100  # begins no row after so long, and says which are left

B S = 16384 and H D = 2048 in the rows of `forward`. cuDNN is forced; FlashAttention-2 runs where cuDNN refuses, and the row says so. Results
are checked against f64 before they are timed; the L2 cache is flushed before each run (harness.py). The last lines are the geometric means of
the peer's time over kernelc's, and the smallest of these. Exit status 1 where a result was wrong, or kernelc failed.
"""
import argparse
import concurrent.futures
import math
import os
import sys
import time

import harness
import torch
from workloads import KERNELS, Attention, Cascade, Paged, by_f64

import kernelc

FORWARD = [(d, s, causal) for causal in (False, True) for d in (128, 64, 256) for s in (1024, 2048, 4096, 8192, 16384)]


class Masked(Attention):
    """Attention under a mask or with a function of the score, beside FlexAttention with the same."""
    file = os.path.join(KERNELS, "attention_masks.kc")

    def __init__(self, kernel, b, h, s, d, window=0):
        super().__init__(b, h, h, s, d, False)
        self.kernel, self.window = kernel, window
        self.constants = {"W": window} if window else {}
        self.name = f"{kernel}{window or ''} b{b} h{h} s{s} d{d} bf16"

    def inputs(self, device, scale):
        q, k, v = super().inputs(device, scale)
        b, h, s, _ = q.shape
        if self.kernel == "alibi":
            return q, k, v, 2.0 ** (-8.0 * torch.arange(1, h + 1, device=device) / h)
        if not self.kernel.startswith("document"):
            return q, k, v
        first = torch.rand(b, s, device=device) < 8 / s  # eight documents a row on average, of random lengths
        first[:, 0] = True
        document = first.cumsum(1).to(torch.int32)
        if self.kernel == "documents":
            return q, k, v, document
        rows = torch.arange(s, device=device, dtype=torch.int32)
        return q, k, v, torch.where(first, rows, 0).cummax(1).values.to(torch.int32)

    def mask(self, data):
        """What of a row is seen, None where all is."""
        if self.kernel == "softcap":
            return None
        if self.kernel == "documents":
            return lambda b, h, i, j: (j <= i) & (data[b, i] == data[b, j])
        if self.kernel == "document_starts":
            return lambda b, h, i, j: (j <= i) & (data[b, i] <= j)
        return lambda b, h, i, j: (j <= i) & (j > i - self.window) if self.window else j <= i

    def score(self, data):
        if self.kernel == "softcap":
            return lambda s, b, h, i, j: 30 * torch.tanh(s / 30)
        return (lambda s, b, h, i, j: s + data[h] * (j - i)) if self.kernel == "alibi" else None

    def torch(self, q, k, v, data=None):
        raise NotImplementedError("FlexAttention alone")

    def expected(self, q, k, v, data=None):
        return by_f64(q, k, v, self.mask(data), self.score(data))

    def flops(self, q, k, v, data=None):
        return 0  # (depends on the mask)

    def output_bytes(self, q, *rest):
        return q.numel() * q.element_size()

    def peers(self, device):
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        def flex(q, k, v, data=None):
            torch._dynamo.reset()
            b, h, s, _ = q.shape
            mask, score = self.mask(data), self.score(data)
            blocks = create_block_mask(mask, b if data is not None and data.dim() == 2 else None, None, s, s, device=device) if mask else None
            call = torch.compile(flex_attention, dynamic=False)
            return lambda: call(q, k, v, score_mod=score, block_mask=blocks)
        return {"flex": flex}


def rows_of(table):
    if table == "forward":
        return [Attention(16384 // s, 2048 // d, 2048 // d, s, d, causal) for d, s, causal in FORWARD]
    return [Cascade("decode", 32, 8, 4, 8192, 128), Paged(32, 8, 4, 8192, 64, 128), Cascade("lce", 8192, 4096, 50257),
            Masked("window", 4, 16, 4096, 128, 1024), Masked("softcap", 4, 16, 4096, 128), Masked("alibi", 4, 16, 4096, 128),
            Masked("documents", 4, 16, 4096, 128), Masked("document_starts", 4, 16, 4096, 128),
            Masked("window", 1, 16, 16384, 128, 1024), Masked("documents", 1, 16, 16384, 128), Masked("document_starts", 1, 16, 16384, 128)]


# The contenders of a row; "else" is one that runs where none before it did.
def contenders(workload):
    if isinstance(workload, Masked):
        return ["flex"]
    if isinstance(workload, Paged):
        return ["cudnn, no table"]
    if isinstance(workload, Attention):
        return ["cudnn", "else", "flash"]
    return ["torch.compile"] if workload.kernel == "lce" else ["cudnn", "flash"]


def compile_ahead(workload, device):
    """The code of a row goes into the cache, so that several are compiled at once."""
    inputs = workload.inputs(device, 1)
    try:
        program = kernelc.compile(workload.source(), workload.file, **workload.constants)
        (program[workload.kernel] if workload.kernel else program._only()).bind(*inputs)
    except Exception as e:  # the row says so in its turn
        print(f"{workload.name}: {type(e).__name__}: {str(e)[:300]}", file=sys.stderr)


def run_row(workload, place, options):
    """(microseconds by contender, the rows of the harness, failures)"""
    chosen = contenders(workload)
    known = {"torch.compile", "eager", *workload.peers(place.device)}
    steps = [chosen[:chosen.index("else")], chosen[chosen.index("else") + 1:]] if "else" in chosen else [chosen]
    for names in steps:
        options.without = known - set(names)
        rows, failures = harness.bench(workload, place, options, None)
        if any(r["contender"] in names for r in rows):
            break
    return {r["contender"]: r["median_us"] for r in rows}, rows, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=["forward", "rest"])
    parser.add_argument("words", nargs="*", help="only rows whose name contains each of these")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--threads", type=int, default=8, help="so many rows are compiled at once, ahead")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    options.scale, options.compile_on_cpu = 1, False
    place = harness.Gpu(0)
    chosen = [w for w in rows_of(options.table) if all(word in w.name for word in options.words)]
    begin, ratios, failed, left = time.monotonic(), {}, False, []
    with concurrent.futures.ThreadPoolExecutor(options.threads) as pool:
        list(pool.map(lambda w: compile_ahead(w, place.device), chosen))
    torch.cuda.empty_cache()
    print(f"{place.name}, PyTorch {torch.__version__}, {options.repeats} runs each; compiled in {time.monotonic() - begin:.0f} s\n\n"
          "| row | kernelc µs | TFLOP/s | peer | peer µs | x the peer | of an equal copy |\n|---|--:|--:|---|--:|--:|--:|", flush=True)
    for w in chosen:
        if time.monotonic() - begin > options.seconds:
            left.append(w.name)
            continue
        us, rows, failures = run_row(w, place, options)
        for f in failures:
            print(f"{f['workload']}, {f['contender']}: {f['failure'][:300]}", file=sys.stderr, flush=True)
            failed |= f["contender"] == "kernelc" or f["failure"].startswith("wrong")
        ours = us.get("kernelc", math.nan)
        peer = min((name for name in us if name not in ("kernelc", "equal copy")), key=us.get, default="")
        ratio = us[peer] / ours if peer else math.nan
        if ratio == ratio:
            ratios.setdefault(" ".join([w.name.split()[0], *(x for x in w.name.split() if x in ("d64", "d128", "d256"))]), []).append(ratio)
        flops = next((r["tflop_s"] for r in rows if r["contender"] == "kernelc"), 0)
        print(f"| {w.name} | {ours:.1f} | {f'{flops:.0f}' if flops else ''} | {peer} | {us.get(peer, math.nan):.1f} | {ratio:.2f} | "
              + (f"{us['equal copy'] / ours:.2f} |" if "equal copy" in us else "|"), flush=True)
    if left:
        print(f"\nnot begun: {', '.join(left)}")
    print()
    for group, values in ratios.items():
        print(f"{group}: geometric mean {math.exp(sum(map(math.log, values)) / len(values)):.3f}, smallest {min(values):.3f} of {len(values)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
