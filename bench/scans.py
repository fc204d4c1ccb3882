#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scans, scatters and reducers at the sizes of their bars, each beside its peer, in one process.

    python3 bench/scans.py                        # all rows, about four minutes
    python3 bench/scans.py cumsum selective       # rows whose name contains a word
    python3 bench/scans.py --seconds 200          # begins no row after so long

Results are compared with f64 first (harness.py); then contenders take turns, the L2 flushed before each run. `x` is the peer's time over
kernelc's, and `bar` what it has to be at least. Exit status 1 where a result was wrong.
"""
import argparse
import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "python"))

import harness  # noqa: E402
import torch  # noqa: E402
from torch._higher_order_ops.associative_scan import associative_scan  # noqa: E402
from workloads import KERNELS, AttentionBackward, Histogram, IndexAdd, Scan, Workload  # noqa: E402

GALLERY = os.path.join(HERE, "..", "examples", "gallery")
EXPONENTIALS = 16  # of a multiprocessor a clock


class Top8(Workload):
    file, kernel, tolerance, name = os.path.join(GALLERY, "top8.kc"), "top8_of_rows", 0, "top-8 of 32768x4096 f32"

    def inputs(self, device, scale):
        return (torch.randn(32768 // scale, 4096, device=device),)

    def torch(self, x):
        return torch.topk(x, 8, dim=1).values

    def output_bytes(self, x):
        return 32 * x.shape[0]


class SelectiveScan(Workload):
    file, kernel, tolerance = os.path.join(GALLERY, "selective_scan.kc"), "selective_scan", 1e-3
    name, shape, constants = "selective scan b8 l4096 d2048 n16 f32", (8, 4096, 2048, 16), {"N": 16}  # (few states stay in registers)

    def inputs(self, device, scale):
        b, length, d, n = self.shape
        length //= scale
        return (torch.randn(b, length, d, device=device), torch.rand(b, length, d, device=device) * 0.1, -torch.rand(d, n, device=device),
                torch.randn(b, length, n, device=device), torch.randn(b, length, n, device=device))

    def torch(self, x, dt, a, u, v):
        decay, into = torch.exp(dt[..., None] * a), (dt * x)[..., None] * u[:, :, None]
        h = associative_scan(lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (decay, into), dim=1)[1]
        return (h * v[:, :, None]).sum(-1)

    def expected(self, x, dt, a, u, v):
        x, dt, a, u, v = (t.double() for t in (x, dt, a, u, v))
        h, y = torch.zeros(x.shape[0], *a.shape, device=x.device, dtype=x.dtype), torch.empty_like(x)
        for t in range(x.shape[1]):
            h = torch.exp(dt[:, t, :, None] * a) * h + (dt[:, t] * x[:, t])[..., None] * u[:, t, None]
            y[:, t] = (h * v[:, t, None]).sum(-1)
        return y


class BackwardAny(AttentionBackward):
    """Attention's backward pass whose sums may come in any order."""

    def __init__(self, b, s, d):
        super().__init__(b, s, d)
        self.name = self.name.replace("bf16", "order(any) bf16")
        with open(self.file, encoding="utf-8") as f:
            self.text = f.read().replace("dv: bf16[B, T, D]) {", "dv: bf16[B, T, D]) order(any) {", 1)


class Erasure(Workload):
    """Four bytes of parity of ten; the peer is a copy of as many bytes (`explain` prints what the integers take, which is less)."""
    file, kernel, tolerance, name = os.path.join(KERNELS, "erasure.kc"), "encode", 0, "GF(2^8) 10 + 4 of 64 MiB"

    def inputs(self, device, scale):
        return (torch.randint(256, (4, 10), device=device, dtype=torch.uint8),
                torch.randint(256, (10, (1 << 26) // scale), device=device, dtype=torch.uint8))

    def torch(self, g, d):
        def times(a, b):  # modulo x^8 + x^4 + x^3 + x^2 + 1
            r = torch.zeros_like(b)
            for bit in range(8):
                r ^= b if a >> bit & 1 else 0
                b = (b << 1) ^ torch.where(b > 127, 0x1D, 0).to(b.dtype)
            return r
        every = torch.arange(256, device=d.device, dtype=torch.uint8)
        rows = []
        for row in g.tolist():
            p = torch.zeros_like(d[0])
            for a, shard in zip(row, d):
                p ^= times(a, every)[shard.int()]
            rows.append(p)
        return torch.stack(rows)

    expected = torch

    def output_bytes(self, g, d):
        return 4 * d.shape[1]


# (workload, its peer, the bar)
ROWS = [
    (Scan("prefix", 1 << 26), "eager", 1.05), (Scan("prefix_i32", 1 << 26), "eager", 1.2),
    *((Scan(kernel, 4096, 32768), "eager", 1.2) for kernel in ("cumsum", "reverse", "masked")),
    (Histogram(1 << 26), "eager", 1.2), (IndexAdd("embedding_gradient", 16384, 4096, 128256), "eager", 1.2),
    (IndexAdd("index_add", 16384, 4096, 32768), "eager", 1.0), (IndexAdd("index_add_any", 16384, 4096, 32768), "eager", None),
    (Top8(), "eager", 1.2), (Erasure(), "equal copy", 0.9), (BackwardAny(64, 4096, 128), "cudnn", 1.0),
    (AttentionBackward(64, 4096, 128), "cudnn", None), (SelectiveScan(), "torch.compile", 1.0),
]


def least_us(workload, place):
    """What the exponentials of a selective scan take at full rate; 0 of others."""
    if not isinstance(workload, SelectiveScan):
        return 0
    b, length, d, n = workload.shape
    properties = torch.cuda.get_device_properties(place.device)
    return b * length * d * n / EXPONENTIALS / properties.multi_processor_count / (getattr(properties, "clock_rate", 1980e3) / 1e3)


def line(workload, peer, bar, rows, place):
    by = {r["contender"]: r for r in rows}
    if "kernelc" not in by:
        return f"| {workload.name} | | {peer} | | | | failed | |"
    own, other, copy = (by.get(name, {}).get("median_us") for name in ("kernelc", peer, "equal copy"))
    ratio = other / own if other else None
    state = "" if bar is None else "no peer" if ratio is None else "met" if ratio >= bar else "not met"
    of = max(copy or 0, least_us(workload, place)) / own
    return (f"| {workload.name} | {own:.1f} | {peer} | {f'{other:.1f}' if other else '—'} | {f'{ratio:.2f}' if ratio else '—'} | "
            f"{bar or '—'} | {state} | {f'{of:.2f}' if of else ''} | {by['kernelc']['error']:.1e} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    options.scale, options.verbose, options.compile_on_cpu, options.flush = 1, False, False, "write"
    place, begin, failed = harness.Gpu(0), time.monotonic(), False
    print(f"{place.name}, PyTorch {torch.__version__}, {options.repeats} runs each\n\n"
          "| row | kernelc µs | peer | peer µs | x | bar | state | of its bound | error |\n|---|--:|---|--:|--:|--:|---|--:|--:|", flush=True)
    for workload, peer, bar in ROWS:
        if options.words and not any(w in workload.name for w in options.words):
            continue
        if time.monotonic() - begin > options.seconds:
            print(f"| {workload.name} | out of time |", flush=True)
            continue
        options.without = {"eager", "torch.compile", "cudnn"} - {peer}
        try:
            rows, failures = harness.bench(workload, place, options, None)
        except Exception as e:  # one row must not cost the others
            rows, failures = [], [{"contender": "kernelc", "failure": f"{type(e).__name__}: {str(e)[:500]}"}]
        for f in failures:
            print(f"{workload.name}, {f['contender']}: {f['failure'][:500]}", file=sys.stderr, flush=True)
            failed |= f["contender"] == "kernelc" or f["failure"].startswith("wrong")
        print(line(workload, peer, bar, rows, place), flush=True)
        torch.cuda.empty_cache()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
