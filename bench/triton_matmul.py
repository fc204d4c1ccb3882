# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Matrix products as Triton's users write them: with pointers, and persistent with tensor descriptors. Which of the
two runs, and how, stands in triton_configs.json for each shape: the winner of triton_search.py on the card that the
file names, pinned so that a benchmark need not search again. Importing needs Triton."""
import functools
import json
import pathlib

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

CONFIGS = pathlib.Path(__file__).with_name("triton_configs.json")

# What triton_search.py tries: tiles, slots, warps, rows of tiles in a group.
POINTER_CONFIGS = [
    {"kernel": "pointers", "bm": bm, "bn": bn, "bk": bk, "stages": stages, "warps": warps, "group": 8}
    for bm, bn, bk, stages, warps in (
        (128, 256, 64, 3, 8), (128, 256, 64, 4, 8), (256, 128, 64, 3, 8), (256, 128, 64, 4, 8), (128, 128, 64, 4, 4), (128, 128, 64, 4, 8),
        (64, 256, 64, 4, 4), (64, 128, 64, 5, 4), (128, 64, 64, 5, 4), (64, 64, 64, 6, 4), (64, 64, 128, 4, 4), (16, 64, 128, 6, 4))]
DESCRIPTOR_CONFIGS = [
    {"kernel": "descriptors", "bm": 128, "bn": bn, "bk": bk, "stages": stages, "warps": warps, "group": 8, "halves": halves}
    for bn in (128, 256) for bk in (64, 128) for stages in (2, 3, 4) for warps in (4, 8) for halves in (False, True)
    if (128 + bn) * bk * 2 * stages + 128 * bn * 2 // (2 if halves else 1) <= 227 * 1024 and not (bn == 256 and warps == 4)]


@triton.jit
def _tile_of(number, rows, columns, group: tl.constexpr):
    first = number // (group * columns) * group
    height = min(rows - first, group)
    return first + number % (group * columns) % height, number % (group * columns) // height


@triton.jit
def _pointers(a, b, c, m, n, k, b_k, b_n, bm: tl.constexpr, bn: tl.constexpr, bk: tl.constexpr, group: tl.constexpr):
    pm, pn = _tile_of(tl.program_id(0), tl.cdiv(m, bm), tl.cdiv(n, bn), group)
    im, jn, kk = (pm * bm + tl.arange(0, bm)) % m, (pn * bn + tl.arange(0, bn)) % n, tl.arange(0, bk)
    pa = a + im[:, None] * k + kk[None, :]
    pb = b + kk[:, None] * b_k + jn[None, :] * b_n
    sums = tl.zeros((bm, bn), dtype=tl.float32)
    for k0 in range(0, tl.cdiv(k, bk)):
        x = tl.load(pa, mask=kk[None, :] < k - k0 * bk, other=0.0)
        y = tl.load(pb, mask=kk[:, None] < k - k0 * bk, other=0.0)
        sums = tl.dot(x, y, sums)
        pa += bk
        pb += bk * b_k
    im, jn = pm * bm + tl.arange(0, bm), pn * bn + tl.arange(0, bn)
    tl.store(c + im[:, None] * n + jn[None, :], sums.to(c.dtype.element_ty), mask=(im[:, None] < m) & (jn[None, :] < n))


@triton.jit
def _descriptors(a, b, c, m, n, k, bm: tl.constexpr, bn: tl.constexpr, bk: tl.constexpr, group: tl.constexpr, blocks: tl.constexpr,
                 transposed: tl.constexpr, halves: tl.constexpr):
    rows, columns = tl.cdiv(m, bm), tl.cdiv(n, bn)
    for tile in tl.range(tl.program_id(0), rows * columns, blocks, flatten=True):
        pm, pn = _tile_of(tile, rows, columns, group)
        sums = tl.zeros((bm, bn), dtype=tl.float32)
        for k0 in range(0, tl.cdiv(k, bk)):
            x = a.load([pm * bm, k0 * bk])
            if transposed:
                sums = tl.dot(x, b.load([pn * bn, k0 * bk]).T, sums)
            else:
                sums = tl.dot(x, b.load([k0 * bk, pn * bn]), sums)
        if halves:
            left, right = tl.split(tl.permute(tl.reshape(sums, (bm, 2, bn // 2)), (0, 2, 1)))
            c.store([pm * bm, pn * bn], left.to(c.dtype))
            c.store([pm * bm, pn * bn + bn // 2], right.to(c.dtype))
        else:
            c.store([pm * bm, pn * bn], sums.to(c.dtype))


def make(config, form, a, b):
    """A function that multiplies a and b (`form` nn, or nt: b holds columns) as `config` says."""
    m, k = a.shape
    n = b.shape[1] if form == "nn" else b.shape[0]
    c = torch.empty(m, n, device=a.device, dtype=a.dtype)
    bm, bn, bk = config["bm"], config["bn"], config["bk"]
    fixed = dict(bm=bm, bn=bn, bk=bk, group=config["group"], num_stages=config["stages"], num_warps=config["warps"])
    tiles = triton.cdiv(m, bm) * triton.cdiv(n, bn)
    if config["kernel"] == "pointers":
        b_k, b_n = (n, 1) if form == "nn" else (1, k)

        def run():
            _pointers[(tiles,)](a, b, c, m, n, k, b_k, b_n, **fixed)
            return c
        return run
    blocks = torch.cuda.get_device_properties(a.device).multi_processor_count
    halves = config["halves"]
    maps = (TensorDescriptor.from_tensor(a, [bm, bk]), TensorDescriptor.from_tensor(b, [bk, bn] if form == "nn" else [bn, bk]),
            TensorDescriptor.from_tensor(c, [bm, bn // 2 if halves else bn]))

    def run():
        _descriptors[(min(blocks, tiles),)](*maps, m, n, k, blocks=blocks, transposed=form == "nt", halves=halves, **fixed)
        return c
    return run


@functools.cache
def pinned():
    return json.loads(CONFIGS.read_text())["configs"]


def best(form):
    """The kernel for a shape's pinned configuration; raises KeyError where none is pinned."""
    def made(a, b):
        n = b.shape[1] if form == "nn" else b.shape[0]
        return make(pinned()[f"{form} {a.shape[0]}x{n}x{a.shape[1]}"], form, a, b)
    return made
