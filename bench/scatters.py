#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gathers, scatters, segments and sparse rows (kernels/gathers.kc) beside what one writes with PyTorch, eager or compiled.

    scatters.py [WORDS ..] [--seconds 150]    programs whose title has one of the words

Results are compared first, and kernelc's own with those of a second run, bit by bit; then both take turns, the L2 flushed before each
run. Needs PyTorch and a GPU of 80 GB.
"""
import argparse
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "python"))
os.environ.setdefault("KERNELC_UNTUNED", "1")
os.environ.setdefault("KERNELC_COMPILE", "block")

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

import kernelc  # noqa: E402
from harness import Gpu  # noqa: E402

DEVICE = "cuda"
# By title: what gives (kernel, arguments, sizes, what PyTorch does, how far results may differ, None where they are not compared).
PROGRAMS = {}


def program(title):
    def add(make):
        PROGRAMS[title] = make
        return make
    return add


def ri(high, *shape, t=torch.int32):
    return torch.randint(0, high, shape, device=DEVICE).to(t)


def rf(*shape, t=torch.float32):
    return (torch.rand(shape, device=DEVICE) - 0.5).to(t)


def ptrs(rows, entries):
    """Where each row begins, at random, and where the last one ends."""
    cut = torch.sort(torch.randint(0, entries + 1, (rows - 1,), device=DEVICE)).values
    return torch.cat([torch.zeros(1, device=DEVICE, dtype=torch.int64), cut, torch.tensor([entries], device=DEVICE)]).to(torch.int32)


@program("segment sum 16M into 65536, ids at random")
def _():
    x, of = rf(1 << 24), ri(65536, 1 << 24)
    return "segment_sum", (x, of), {"S": 65536}, lambda: torch.zeros(65536, device=DEVICE).scatter_add_(0, of.long(), x), 1e-2


@program("segment sum 1M into 4096, ids at random")
def _():
    x, of = rf(1 << 20), ri(4096, 1 << 20)
    ol = of.long()
    return "segment_sum", (x, of), {"S": 4096}, lambda: torch.zeros(4096, device=DEVICE).scatter_add_(0, ol, x), 1e-2


@program("segments (3 outputs) 16M into 65536")
def _():
    x, of = rf(1 << 24), ri(65536, 1 << 24)
    ol = of.long()
    def ref():
        a = torch.zeros(65536, device=DEVICE).scatter_add_(0, ol, x)
        b = torch.full((65536,), -float("inf"), device=DEVICE).scatter_reduce_(0, ol, x, "amax")
        c = torch.zeros(65536, device=DEVICE, dtype=torch.int32).scatter_reduce_(0, ol, (x < 0).int(), "amax") > 0
        return a, b, c
    return "segments", (x, of), {"S": 65536}, ref, 1e-2


@program("sums and maxima of ranges, 16M, 65536 borders")
def _():
    x, off = rf(1 << 24), ptrs(65536, 1 << 24)
    l = (off[1:] - off[:-1]).long()
    return "ranges", (x, off), {}, lambda: (torch.segment_reduce(x, "sum", lengths=l), torch.segment_reduce(x, "max", lengths=l)), 1e-2


@program("col2im 16x64x126x126x3x3")
def _():
    c = rf(16, 64, 126, 126, 3, 3)
    ct = c.permute(0, 1, 4, 5, 2, 3).reshape(16, 64 * 9, 126 * 126).contiguous()
    return "col2im", (c,), {}, lambda: F.fold(ct, (128, 128), 3), 1e-4


@program("fold, torch's order of dims")
def _():
    c = rf(16, 64, 3, 3, 126, 126)
    ct = c.reshape(16, 64 * 9, 126 * 126)
    return "fold", (c,), {}, lambda: F.fold(ct, (128, 128), 3), 1e-4


@program("fold, stride 2, 4x4 windows")
def _():
    c = rf(16, 64, 4, 4, 63, 63)
    ct = c.reshape(16, 64 * 16, 63 * 63)
    return "fold_strided", (c,), {}, lambda: F.fold(ct, (128, 128), 4, stride=2), 1e-4


@program("index_add in place 16k x 4096 into 32k")
def _():
    at, g, y = ri(32768, 16384), rf(16384, 4096), torch.zeros(32768, 4096, device=DEVICE)
    al = at.long()
    z = torch.zeros_like(y)
    return "index_add", (at, g, y), {}, lambda: z.index_add_(0, al, g), None


@program("embedding gradient bf16 16k x 4096 into 128256")
def _():
    at, g = ri(128256, 16384, t=torch.int64), rf(16384, 4096, t=torch.bfloat16)
    return "embedding_gradient", (at, g), {"R": 128256}, lambda: torch.ops.aten.embedding_dense_backward(g, at, 128256, -1, False), 2e-2


@program("combine 65536 pairs x 2048 into 8192 tokens")
def _():
    at, gate, h = ri(8192, 65536), rf(65536), rf(65536, 2048, t=torch.bfloat16)
    al = at.long()

    def ref():
        return torch.zeros(8192, 2048, device=DEVICE).index_add_(0, al, gate[:, None] * h.float())
    return "combine", (at, gate, h), {"T": 8192}, torch.compile(ref), 1e-3


@program("bincount with weights 16M into 1000003")
def _():
    b, w = ri(1000003, 1 << 24), rf(1 << 24)
    return "weighted_bins", (b, w), {"B": 1000003}, lambda: torch.bincount(b, w, minlength=1000003).float(), 1e-3


@program("bins 64M i32 into 1000003")
def _():
    b = ri(1000003, 1 << 26)
    return "bins", (b,), {"B": 1000003}, lambda: torch.bincount(b, minlength=1000003), 0


@program("CSR matvec 1M rows, 16M entries")
def _():
    R, E = 1 << 20, 1 << 24
    p, c, v, x = ptrs(R, E), ri(R, E), rf(E), rf(R)
    a = torch.sparse_csr_tensor(p, c, v, (R, R))
    return "csr_matvec", (p, c, v, x), {}, lambda: a @ x, 1e-3


@program("CSR matmat 100k rows, 2M entries, 128 columns")
def _():
    R, E, D = 100000, 2000000, 128
    p, c, v, x = ptrs(R, E), ri(R, E), rf(E), rf(R, D)
    a = torch.sparse_csr_tensor(p, c, v, (R, R))
    return "csr_matmat", (p, c, v, x), {}, lambda: a @ x, 1e-3


@program("graph attention, 100k nodes, 2M edges, 64 columns")
def _():
    R, E, D = 100000, 2000000, 64
    p, c, e, h = ptrs(R, E), ri(R, E), rf(E), rf(R, D)
    row = torch.repeat_interleave(torch.arange(R, device=DEVICE), (p[1:] - p[:-1]).long())
    cl = c.long()
    def ref():
        m = torch.full((R,), -float("inf"), device=DEVICE).scatter_reduce_(0, row, e, "amax")
        w = torch.exp(e - m[row])
        z = torch.zeros(R, device=DEVICE).scatter_add_(0, row, w)
        return torch.zeros(R, D, device=DEVICE).index_add_(0, row, (w / z[row])[:, None] * h[cl])
    return "graph_attention", (p, c, e, h), {}, torch.compile(ref), 1e-3


@program("messages by edges: 1M edges, 100k nodes, 64 columns")
def _():
    s, d, h = ri(100000, 1000000), ri(100000, 1000000), rf(100000, 64)
    sl, dl = s.long(), d.long()

    def ref():
        degree = torch.zeros(100000, device=DEVICE, dtype=torch.int32).scatter_add_(0, dl, torch.ones_like(d))
        return torch.zeros_like(h).index_add_(0, dl, h[sl]), degree
    return "gnn_mean", (s, d, h), {}, torch.compile(ref), 1e-3


@program("edge softmax 8M edges, 500k nodes")
def _():
    d, e = ri(500000, 8000000), rf(8000000)
    dl = d.long()
    def ref():
        m = torch.full((500000,), -float("inf"), device=DEVICE).scatter_reduce_(0, dl, e, "amax")
        w = torch.exp(e - m[dl])
        z = torch.zeros(500000, device=DEVICE).scatter_add_(0, dl, w)
        return m, z, w / z[dl]
    return "edge_softmax", (d, e), {"V": 500000}, torch.compile(ref), 1e-3


@program("COO matvec 8M entries, 500k rows")
def _():
    r, c, v, x = ri(500000, 8000000), ri(500000, 8000000), rf(8000000), rf(500000)
    rl, cl = r.long(), c.long()

    def ref():
        return torch.zeros(500000, device=DEVICE).scatter_add_(0, rl, v * x[cl])
    return "coo_matvec", (r, c, v, x), {"R": 500000}, torch.compile(ref), 1e-3


@program("k-means step 1M x 64, 256 centres")
def _():
    x, c = rf(1000000, 64), rf(256, 64)
    def ref():
        w = torch.cdist(x, c).argmin(1)
        return w, torch.zeros_like(c).index_add_(0, w, x), torch.bincount(w, minlength=256).int()
    return "kmeans", (x, c), {}, ref, None


@program("hash table, 4M keys, 8M slots")
def _():
    k = ri(1 << 31, 4000000, t=torch.int64).to(torch.uint32)
    kl = (k.long() * 2654435761 % (1 << 32)) % 8388608

    def ref():
        return torch.full((8388608,), (1 << 63) - 1, device=DEVICE).scatter_reduce_(0, kl, torch.arange(4000000, device=DEVICE), "amin")
    return "hash_insert", (k,), {"S": 8388608}, ref, 0


@program("components step, 8M edges, 500k nodes")
def _():
    u, v, l = ri(500000, 8000000), ri(500000, 8000000), ri(500000, 500000)
    ul, vl = u.long(), v.long()
    return "components", (u, v, l), {}, lambda: l.clone().scatter_reduce_(0, ul, l[vl], "amin").scatter_reduce_(0, vl, l[ul], "amin"), 0


@program("run lengths of 4M")
def _():
    x = ri(4, 4000000)
    def ref():
        r = torch.cumsum(torch.cat([torch.zeros(1, device=DEVICE, dtype=torch.bool), x[1:] != x[:-1]]), 0)
        return r.int(), torch.zeros(4000000, device=DEVICE, dtype=torch.int32).scatter_add_(0, r, torch.ones_like(x))
    return "run_length", (x,), {}, ref, 0


@program("top-p of sorted 64 x 128000")
def _():
    p = torch.softmax(rf(64, 128000) * 20, 1).sort(1, descending=True).values
    def ref():
        k = torch.where(torch.cumsum(p, 1) - p < 0.9, p, 0)
        return k / k.sum(1, keepdim=True)
    return "top_p", (p, 0.9), {}, torch.compile(ref), None


@program("ragged means 1024 pieces of 262144 x 256")
def _():
    o, x = ptrs(1024, 262144), rf(262144, 256)
    l = (o[1:] - o[:-1]).long()
    return "ragged_mean", (o, x), {}, lambda: torch.segment_reduce(x, "sum", lengths=l, axis=0) / l.clamp(min=1)[:, None], 1e-3


@program("compaction of 4M")
def _():
    x = rf(4000000)
    return "compact", (x,), {}, lambda: x[x > 0], None


@program("embedding bag, 65536 bags of 32, f16 x 128")
def _():
    o, i, w, t = ptrs(65536, 2097152), ri(1000000, 2097152), rf(2097152), rf(1000000, 128, t=torch.float16)
    il, ol, wh = i.long(), o[:-1].long(), w.half()
    return "bag", (o, i, w, t), {}, lambda: F.embedding_bag(il, t, ol, mode="sum", per_sample_weights=wh), 1e-1


@program("bucketize 4M, 256 borders")
def _():
    x, b = rf(4000000), torch.sort(rf(256)).values
    return "bucketize", (x, b), {}, lambda: torch.bucketize(x, b, out_int32=True, right=True), 0


@program("equalise 64M bytes")
def _():
    x = ri(256, 1 << 26, t=torch.uint8)
    def ref():
        h = torch.bincount(x, minlength=256)
        return (255 * torch.cumsum(h, 0) // (1 << 26)).to(torch.uint8)[x.int()], h.int()
    return "equalise", (x,), {}, ref, 0


@program("viterbi step 256 x 1024 states")
def _():
    s, t, e = rf(256, 1024), rf(1024, 1024), rf(256, 1024)
    def ref():
        m = (s[:, :, None] + t[None]).max(1)
        return m.values + e, m.indices
    return "viterbi", (s, t, e), {}, torch.compile(ref), None


@program("expert of each row 16384 x 1024 x 1024, 8 experts")
def _():
    e, x, w = torch.sort(ri(8, 16384)).values.to(torch.int32), rf(16384, 1024, t=torch.bfloat16), rf(8, 1024, 1024, t=torch.bfloat16)
    n = torch.bincount(e, minlength=8).tolist()
    return "expert_product", (e, x, w), {}, lambda: torch.cat([(a @ w[i]).float() for i, a in enumerate(x.split(n))]), 1e-1


@program("bilinear splat of 4M into 2048 x 2048")
def _():
    a, b, v = torch.rand(4000000, device=DEVICE) * 2046, torch.rand(4000000, device=DEVICE) * 2046, rf(4000000)
    def ref():
        img = torch.zeros(2048 * 2048, device=DEVICE)
        ix, iy = a.floor().long(), b.floor().long()
        for p in (0, 1):
            for q in (0, 1):
                img.scatter_add_(0, (iy + p) * 2048 + ix + q, v * (1 - (b - iy - p).abs()) * (1 - (a - ix - q).abs()))
        return img
    return "splat", (a, b, v), {"H": 2048, "W": 2048}, torch.compile(ref), 1e-3


def difference(result, expected):
    """The largest; infinite where one is no number, or infinite, and the other is not the same."""
    same = (result == expected) | (result.isnan() & expected.isnan())
    return torch.where(same, 0.0, (result - expected).abs()).nan_to_num(float("inf"), float("inf")).max().item()


def run(gpu, kernels, title):
    """A line of the table."""
    name, args, sizes, reference, tolerance = PROGRAMS[title]()
    kernel = kernels[name]
    tensors = lambda r: r if isinstance(r, tuple) else (r,)  # noqa: E731
    verdict = "not compared"
    if tolerance is not None:
        results, again, expected = (tensors(r) for r in (kernel(*args, **sizes), kernel(*args, **sizes), reference()))
        error = max(difference(r.double().flatten(), e.double().flatten()) for r, e in zip(results, expected))
        same = all(torch.equal(r.nan_to_num() if r.is_floating_point() else r, a.nan_to_num() if a.is_floating_point() else a)
                   for r, a in zip(results, again))
        verdict = f"{error:.1e}{'' if error <= tolerance else ' WRONG'}{'' if same else ', other bits'}"
    bound = kernel.bind(*args, **sizes)
    bound.launch()
    torch.cuda.synchronize()
    start = time.monotonic()
    bound.launch()
    torch.cuda.synchronize()
    us = gpu.measure({"kernelc": bound.launch, "torch": reference}, 3 if time.monotonic() - start > 0.05 else 11)
    own, other = statistics.median(us["kernelc"]), statistics.median(us["torch"])
    return f"| {title} | {own:.0f} | {other:.0f} | {other / own:.2f} | {verdict} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--seconds", type=float, default=150, help="after which no program begins")
    args = parser.parse_args()
    gpu, end, failed = Gpu(0), time.monotonic() + args.seconds, False
    with open(os.path.join(HERE, "kernels", "gathers.kc")) as f:
        kernels = kernelc.compile(f.read()).kernels
    print(f"{gpu.name}\n\n| program | µs | PyTorch | × | largest difference |\n|---|--:|--:|--:|---|")
    for title in PROGRAMS:
        if args.words and not any(w in title for w in args.words):
            continue
        if time.monotonic() > end:
            print(f"| {title} | out of time |")
            continue
        try:
            line = run(gpu, kernels, title)
        except Exception as error:  # noqa: BLE001: reported
            line = f"| {title} | {type(error).__name__}: {str(error).splitlines()[0][:200]} |"
        failed |= "WRONG" in line or "Error" in line
        print(line, flush=True)
        torch.cuda.empty_cache()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
