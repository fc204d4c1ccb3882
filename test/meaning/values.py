#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values that docs/language.md promises, on the CPU device and the emulator.

Each case is a kernel, its inputs and what comes out, worked out by hand from the page: the oracle of `check` shares
the frontend with what it checks, so what the frontend gets wrong is seen here only.

    values.py KERNELC [--case NAME] [--device cpu] [--arch sm_90a]
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

import npy

INF, NAN = float("inf"), float("nan")
M63, M64 = 2**63, 2**64
LONG_ROW = [9] + [0] * 300000
for place, value in ((123456, -1), (200123, 6), (250000, 6), (250001, -1)):
    LONG_ROW[place] = value


class Case:
    def __init__(self, name, text, inputs, outputs, sets=()):
        self.name, self.text, self.inputs, self.outputs, self.sets = name, text, inputs, outputs, sets


CASES = [
    # A mean over a range that ends before it starts is one of nothing.
    Case("means of nothing", """
def f(x: f32[N]) -> (one: f32[], two: f32[]) {
  one[] = mean[k in 2:N](x[k])
  two[] = mean[k in 2:N, l in 2:N](x[k] * x[l])
}""", {"x": ("f32", [5])}, {"one": [NAN], "two": [NAN]}),
    # A position is the index's value, wherever its range starts and whatever moves it.
    Case("positions", """
fn where_largest[j](e) { argmax[j](e) }
def f(x: f32[2 * N]) -> (window: i64[N], shifted: i64[N], moved: i64[N], inner: i64[], body: i64[N], named: i64[], unused: i64[N], last: f32[N]) {
  require N >= 2
  window[i] = argmax[k in 2 * i:2 * i + 2](x[k])
  shifted[i] = argmin[i + 1 <= k < i + 3](x[k]) where i in 0:N
  moved[i] = argmax[k in i:2 * i + 1](x[k])
  inner[] = sum[i in 0:N](argmax[k in 2 * i:2 * i + 2](x[k]))
  body[i] = argmax[k in 2 * i:2 * i + 2](-x[k] * f32(i + 1)) + 10
  named[] = where_largest[k](x[k] if k > 1 else -inf)
  unused[i] = argmax[k in i + 3:i + 5](1)
  last[i] = x.edge[argmax[k in 2 * i:2 * i + 2](x[k])]
}""", {"x": ("f32", [9, 1, 5, 7, 2, 8, 3, 4])},
         {"window": [0, 3, 5, 7], "shifted": [1, 2, 4, 4], "moved": [0, 2, 3, 5], "inner": [15], "body": [11, 12, 14, 16], "named": [5],
          "unused": [3, 4, 5, 6], "last": [9, 7, 8, 4]}),
    # Of statements that read each other, those among them keep their place in what is written and read; their own order says nothing.
    Case("statements among those that read each other", """
def f(x: i32[T], inout q: i32[T]) -> (y: i32[T], z: i32[T], v: i32[T], w: i32[T]) {
  w[t] = x[t]
  y[t] = z.pad(5)[t - 1] + q[t]
  v[t] = q[t] + y[t]
  w[t] += y[t]
  w[t] max= 99
  q[t] = x[t]
  q[t] max= y[t]
  z[t] = y[t] * 2
}""", {"x": ("i32", [100, 2, 3]), "q": ("i32", [10, 20, 30])},
         {"y": [15, 50, 130], "z": [30, 100, 260], "v": [25, 70, 160], "w": [115, 99, 133], "q": [100, 50, 130]}),
    Case("statements that read each other in any order", """
def f(x: i32[T, B]) -> (a: i32[T, B], b: i32[T, B], c: i32[T, B], d: i32[T], e: i32[T]) {
  a[t, i] = c.pad(5)[t - 1, i] + sum[j](b[t, j])
  c[t, i] = b[t, i] - a[t, i]
  b[t, i] = c.pad(1)[t - 1, i] * 2 + x[t, i]
  e[t] = d[t] + e.pad(1)[t + 1]
  d[t] = e.pad(2)[t + 1] + x[t, 0]
  require B >= 1
}""", {"x": ("i32", [[1, 2], [3, 4]])},
         {"b": [3, 4, -15, -12], "a": [12, 12, -36, -35], "c": [-9, -8, 21, 23], "d": [7, 5], "e": [13, 6]}),
    Case("statements that read each other's later elements", """
def f(x: i32[T]) -> (y: i32[T], z: i32[T]) {
  y[t] = x[t] + sum[k, k > t](z[k])
  z[t] = y[t] * 2 + sum[k, k >= t](y[k])
}""", {"x": ("i32", [1, 2, 3])}, {"y": [46, 11, 3], "z": [152, 36, 9]}),
    Case("narrow fields of statements that read each other", """
def f(x: u8[T], tab: f32[256]) -> (y: u8[T], z: u8[T], h: f16[T], g: f16[T], w: f32[T]) {
  y[t] = u8(z.pad(250)[t - 1] + x[t])
  z[t] = u8(y[t] * 3 + y.pad(2)[t - 1])
  h[t] = g.pad(0.1)[t - 1] * 4096
  g[t] = h[t] * 0 + 1
  let n[t] = x[t]
  w[t] = tab.pad(-1)[n.pad(300)[t - 1]]
}""", {"x": ("u8", [10, 20, 30]), "tab": ("f32", list(range(256)))},
         {"y": [4, 34, 136], "z": [14, 106, 186], "h": [409.5, 4096, 4096], "g": [1, 1, 1], "w": [-1, 10, 20]}),
    # A bound of data or scalars alone goes as far as the accesses do.
    Case("bounds of data alone", """
def f(x: f32[N], off: i32[G + 1], n: i32[2], h: u64[1]) -> (seg: f32[G], first: f32[2], from: f32[2], huge: f32[], moved: f32[N], place: i64[]) {
  seg[g] = sum[i in off[g]:off[g + 1]](x[i])
  first[i] = sum[k in 0:n[i]](x[k])
  from[i] = max[n[i] <= k < N](x[k])
  huge[] = sum[k in 1:h[0]](x[k])
  moved[i] = sum[k in i:n[1]](x[k] * f32(i + 1))
  place[] = argmax[k in 1:n[1]](x[k])
}""", {"x": ("f32", [1, 2, 4, 8]), "off": ("i32", [-5, 1, 3, 3, 99]), "n": ("i32", [2, 7]), "h": ("u64", [M64 - 1])},
         {"seg": [1, 6, 0, 8], "first": [3, 15], "from": [8, -INF], "huge": [14], "moved": [15, 28, 36, 32], "place": [3]}),
    # A bound may speak of the indices before it in its bracket, those of a function's caller too.
    Case("bounds by indices of the bracket", """
fn pairs[j](e) { sum[j, l in j:3](e * f32(l)) }
def f(x: f32[N, N]) -> (upper: f32[], window: f32[], count: f32[N], named: f32[], other: f32[N]) {
  upper[] = sum[i, k in i:N](x[i, k])
  window[] = sum[i in 0:N, k in i:i + 2](x.pad(0)[i, k])
  count[i] = sum[i in 0:N, k in 0:i + 1](x[i, k])
  named[] = pairs[m](x[m, 0])
  other[i] = max[i, 1 <= k <= i](x[i, k])
}""", {"x": ("f32", [[1, 2, 3], [4, 5, 6], [7, 8, 9]])},
         {"upper": [26], "window": [26 - 3], "count": [1 + 9 + 24] * 3, "named": [1 * 3 + 4 * 3 + 7 * 2], "other": [9] * 3}),
    # A bracket is what an index parameter stands for, through calls of calls; a range of the function's own replaces it.
    Case("brackets of functions", """
fn total[j](e) { sum[j](e) }
fn again[m](e) { total[m, m != 1](e) }
fn own[j](e) { sum[j in 1:3](e) + max[j](e) }
fn each[i, j](e) { sum[i](max[j](e)) }
fn corner(t: f32[A, B]) { t[A - 1, B - 1] }
fn line(t, i) { sum[k](t[i, k]) }
def f(x: f32[M, N], n: i32[]) -> (part: f32[], both: f32[], skip: f32[], mine: f32[], pair: f32[], data: f32[], rows: f32[M], last: f32[]) {
  require M >= 1
  require N >= 4
  part[] = total[k in 0:n[]](x[0, k])
  both[] = total[i, j, j > i](x[i, j])
  skip[] = again[k in 0:n[]](x[0, k])
  mine[] = own[k in 3:N](x[0, k])
  pair[] = each[i in 0:2, j, j < 3](x.pad(0)[i, j])
  data[] = total[i, j, x[i, j] > 5](x[i, j])
  let t[i, j] = x[i, j] * 2
  rows[i] = line(t, i) - line(x, i)
  last[] = corner(t)
}""", {"x": ("f32", [[1, 2, 3, 4], [5, 6, 7, 8]]), "n": ("i32", 3)},
         {"part": [6], "both": [2 + 3 + 4 + 7 + 8], "skip": [4], "mine": [5 + 4], "pair": [3 + 7], "data": [21], "rows": [10, 26], "last": [16]}),
    # Philox's test vectors (Random123): the seed is the key, the indices are the counter.
    Case("random numbers", """
def f(seed: u64[2]) -> (bits: u32[2], unit: f32[], dropped: f32[4]) {
  bits[n] = rand_bits(seed[n], seed[n], seed[n] & 4294967295, seed[n] & 4294967295)
  unit[] = rand(0)
  dropped[n] = dropout(3, 0.4, 0, n)
}""", {"seed": ("u64", [0, M64 - 1])},
         {"bits": [0x6627e8d5, 0x408f276d], "unit": [0x6627e8 / 2**24], "dropped": [0, 5, 0, 5]}),
    Case("ones among the bits", """
def f(a: i8[N], b: u64[N], c: i32[N], d: u16[N]) -> (w: i32[N], x: u8[N], y: i32[N], z: i32[N]) {
  w[n] = popcount(a[n])
  x[n] = popcount(b[n])
  y[n] = popcount(c[n])
  z[n] = popcount(d[n]) + popcount(True)
}""", {"a": ("i8", [-1, -128, 5]), "b": ("u64", [M64 - 1, M63, 0]), "c": ("i32", [-1, 255, -2**31]), "d": ("u16", [65535, 1, 0])},
         {"w": [8, 1, 2], "x": [64, 1, 0], "y": [32, 8, 1], "z": [17, 2, 1]}),
    Case("the prelude's pieces", """
def f(x: f32[N], t: f32[N]) -> (a: f32[N], b: f32[N], c: f32[N], d: f32[N], e: f32[N], h: f32[], k: f32[], m: f32[]) {
  a[i] = hardsigmoid(x[i])
  b[i] = hardswish(x[i])
  c[i] = hardtanh(x[i])
  d[i] = softsign(x[i])
  e[i] = relu6(x[i])
  h[] = huber[i](x[i], t[i])
  k[] = hinge[i](x[i], t[i])
  m[] = mse[i](x[i], t[i]) + norm1[i](x[i]) + norminf[i](x[i])
}""", {"x": ("f32", [-3, 0, 3, 7]), "t": ("f32", [-1, 0.5, 3, 1])},
         {"a": [0, 0.5, 1, 1], "b": [0, 0, 3, 7], "c": [-1, 0, 1, 1], "d": [-0.75, 0, 0.75, 0.875], "e": [0, 0, 3, 6],
          "h": [(1.5 + 0.125 + 0 + 5.5) / 4], "k": [(0 + 1 + 0 + 0) / 4], "m": [(4 + 0.25 + 0 + 36) / 4 + 13 + 7]}),
    Case("views", """
def f(x: f32[M, 2 * N], p: i32[1]) -> (heads: f32[2, M, N], flat: f32[2 * M * N], total: f32[2], picked: f32[], two: f32[2 * N, M]) {
  heads[h, i, d] = view(x, "i (h d) -> h i d", h=2)[h, i, d]
  flat[k] = view(x, "i k -> (k i)")[k]
  total[h] = sum[i, d](view(x, "i (h d) -> h i d", h=2)[h, i, d])
  picked[] = sum[i](view(x, "i (h d) -> h (i d)", h=2)[p[0] & 1, i])
  let t[i, k] = x[i, k] * 10
  two[k, i] = view(t, "i k -> k i")[k, i]
}""", {"x": ("f32", [[1, 2, 3, 4], [5, 6, 7, 8]]), "p": ("i32", [3])},
         {"heads": [1, 2, 5, 6, 3, 4, 7, 8], "flat": [1, 5, 2, 6, 3, 7, 4, 8], "total": [14, 22], "picked": [22], "two": [10, 50, 20, 60, 30, 70, 40, 80]}),
    # Gathers without a bounds form: the values of their subscripts fit.
    Case("gathers that fit", """
def f(t: f32[256], s: f32[V], b: u8[N], i: i32[N], l: i64[N], u: u64[N], x: f32[N])
    -> (byte: f32[N], mask: f32[N], modulo: f32[N], clamp: f32[N], top: f32[N], truth: f32[N], chosen: f32[N], real: f32[N]) {
  require V >= 2
  byte[n] = t[b[n]]
  mask[n] = t[i[n] & 15]
  modulo[n] = s[l[n] % 2]
  clamp[n] = s[min(max(l[n], 0), V - 1)]
  top[n] = s[min(u[n], 1)]
  truth[n] = s[x[n] > 0]
  chosen[n] = s[i[n]] if 0 <= i[n] < V else -1
  real[n] = t[u8(x[n])]
}""", {"t": ("f32", list(range(256))), "s": ("f32", [10, 20, 30]), "b": ("u8", [0, 255, 7, 1]), "i": ("i32", [-1, 2, 3, -2**31]),
       "l": ("i64", [-M63, M63 - 1, 1, -1]), "u": ("u64", [0, M64 - 1, M63, 1]), "x": ("f32", [NAN, 300, -5, 2.5])},
         {"byte": [0, 255, 7, 1], "mask": [15, 2, 3, 0], "modulo": [10, 20, 20, 20], "clamp": [10, 30, 20, 10], "top": [10, 20, 20, 20],
          "truth": [10, 20, 10, 20], "chosen": [-1, 30, -1, -1], "real": [0, 255, 0, 2]}),
    Case("positions of nothing", """
def f(x: f32[N]) -> (a: i64[], b: i64[], c: i64[N], d: i64[N], e: i64[N]) {
  a[] = argmax[2 <= k < N](x[k])
  b[] = argmin[k in 1:N, x[k] > 100](x[k])
  c[i] = argmax[k in i + 1:i + 1](1)
  d[i] = argmin[k in i:i + 2, x.pad(0)[k] > 4](x.pad(0)[k])
  e[i] = argmax[k in i + 1:N](x[k] * f32(i + 1))
}""", {"x": ("f32", [4, 5])}, {"a": [-1], "b": [-1], "c": [-1, -1], "d": [1, 1], "e": [1, -1]}),
    # Over several indices: the row-major position in their ranges.
    Case("positions over several indices", """
def f(x: f32[M, N]) -> (a: i64[], b: i64[], c: i64[], d: i64[2], e: i64[], g: i64[]) {
  require M >= 1
  require N >= 2
  a[] = argmax[i, j](x[i, j])
  b[] = argmin[j, i](x[i, j])
  c[] = argmax[i in 1:M, j in 2:N](x[i, j])
  d[i] = argmax[r in i:i + 2, s in 1:3](x.pad(-9)[r, s])
  e[] = argmin[i in 5:M, j](x[i, j])
  g[] = argmax[i, j in 9:N](x[i, j])
}""", {"x": ("f32", [[1, 5, NAN, 2], [-7, 4, 3, 8]])},
         {"a": [2], "b": [1], "c": [1], "d": [1, 0], "e": [-1], "g": [-1]}),
    Case("positions among NaN and inf", """
def f(x: f32[M, N]) -> (a: i64[M], b: i64[M]) {
  a[i] = argmax[k in 1:N](x[i, k])
  b[i] = argmin[k in 1:N](x[i, k])
}""", {"x": ("f32", [[0, -INF, -INF], [0, NAN, NAN], [0, INF, NAN], [0, NAN, 3], [9, 3, 3]])}, {"a": [1, 1, 2, 1, 1], "b": [1, 1, 1, 2, 1]}),
    # Rows that are cut into parts, whose positions are merged.
    Case("positions in a long row", """
def f(x: f32[N]) -> (a: i64[], b: i64[], c: i64[], d: i64[2]) {
  a[] = argmax[3 <= k < N](x[k])
  b[] = argmin[k in 5:N, x[k] > 1000](x[k])
  c[] = argmin[k in 7:N](x[k])
  d[i] = argmax[k in 20000 + 10000 * i:300000 + 10000 * i](x.pad(0)[k])
}""", {"x": ("f32", LONG_ROW)}, {"a": [200123], "b": [-1], "c": [123456], "d": [200123, 200123]}),
    # max and min of nothing: the bound of the type that the values are known to fit.
    Case("bounds of nothing", """
def f(a: i8[N], b: u8[N], c: i16[N], d: u16[N], e: f16[N], g: i32[N], h: u32[N], l: u64[N])
    -> (a0: i8[], a1: i8[], b0: u8[], b1: u8[], c0: i16[], d1: u16[], e0: f16[], e1: f16[], g0: i32[], h0: u32[], h1: u32[], l1: u64[],
        aw: i32[], bw: i64[], mask: i32[], mixed: i32[], truth: i32[]) {
  a0[] = max[k in 3:N](a[k])
  a1[] = min[k in 3:N](a[k])
  b0[] = max[k in 3:N](b[k])
  b1[] = min[k in 3:N](b[k])
  c0[] = max[k in 3:N](c[k])
  d1[] = min[k in 3:N](d[k])
  e0[] = max[k in 3:N](e[k])
  e1[] = min[k in 3:N](e[k])
  g0[] = max[k in 3:N](g[k])
  h0[] = max[k in 3:N](h[k])
  h1[] = min[k in 3:N](h[k])
  l1[] = min[k in 3:N](l[k])
  aw[] = max[k, a[k] > 9](a[k])
  bw[] = i64(min[k, b[k] > 9](b[k]))
  mask[] = min[k in 3:N](g[k] & 15)
  mixed[] = max[k in 3:N](a[k] + b[k])
  truth[] = min[k in 3:N](a[k] > 0)
}""", {"a": ("i8", [1, 2]), "b": ("u8", [1, 2]), "c": ("i16", [1, 2]), "d": ("u16", [1, 2]), "e": ("f16", [1, 2]), "g": ("i32", [1, 2]),
       "h": ("u32", [1, 2]), "l": ("u64", [1, 2])},
         {"a0": [-128], "a1": [127], "b0": [0], "b1": [255], "c0": [-32768], "d1": [65535], "e0": [-INF], "e1": [INF], "g0": [-2**31], "h0": [0],
          "h1": [2**32 - 1], "l1": [M64 - 1], "aw": [-128], "bw": [255], "mask": [15], "mixed": [-2**31], "truth": [1]}),
    Case("bounds of something", """
def f(a: i8[N], b: u8[N]) -> (a0: i8[], b1: u8[], c0: i8[N], d: i32[]) {
  a0[] = max[k in 1:N](a[k])
  b1[] = min[k in 1:N](b[k])
  c0[i] = max[k in i:i + 2](a.edge[k])
  d[] = sum[i in 0:N](max[k in i:i + 1](a[k]))
  require N >= 1
}""", {"a": ("i8", [9, -7, -8]), "b": ("u8", [1, 200, 250])}, {"a0": [-7], "b1": [200], "c0": [9, -7, -8], "d": [-6]}),
    Case("reducing assignments of nothing", """
def f(a: i8[Z], b: u16[Z]) -> (x: i8[2], y: u8[2], z: i16[3], w: i32[2], u: u16[2]) {
  x[i] max= a[k] where i in 0:2
  y[i] min= b[k] where i in 0:2
  z[i] max= a[k] where i in 1:2
  w[i] max= a[k] where i in 0:2
  u[i] min= b[k] where i in 0:2
}""", {"a": ("i8", []), "b": ("u16", [])},
         {"x": [-128] * 2, "y": [255] * 2, "z": [-32768] * 3, "w": [-2**31] * 2, "u": [65535] * 2}),
    Case("log-sum-exp", """
def f(x: f32[M, N], n: i32[M], e: f32[Z]) -> (y: f32[M], masked: f32[M], none: f32[]) {
  y[i] = logsumexp[j](x[i, j])
  masked[i] = logsumexp[j](x[i, j] if j < n[i] else -inf)
  none[] = logsumexp[j](e[j])
}""", {"x": ("f32", [[-INF, -INF], [INF, 1], [-INF, INF], [0, -INF], [NAN, 1], [INF, NAN], [-INF, 3]]), "n": ("i32", [2, 1, 1, 0, 2, 0, 1]), "e": ("f32", [])},
         {"y": [-INF, INF, INF, 0, NAN, NAN, 3], "masked": [-INF, INF, -INF, -INF, NAN, -INF, -INF], "none": [-INF]}),
    Case("softmax of nothing left", """
def f(x: f32[M, N]) -> (y: f32[M, N], z: f32[M, N]) {
  y[i, j] = softmax[j](x[i, j])
  z[i, j] = log_softmax[j](x[i, j])
}""", {"x": ("f32", [[-INF, -INF], [INF, 1], [0, -INF]])}, {"y": [NAN, NAN, NAN, NAN, 1, 0], "z": [NAN, NAN, NAN, NAN, 0, -INF]}),
    # Subscripts of u64 beyond i64's.
    Case("large u64 subscripts", """
def f(x: f32[N], o: f32[O], k: u64[M], s: u64) -> (edge: f32[M], pad: f32[M], wrap: f32[M], reflect: f32[M], one: f32[M], far: f32[M], bound: f32[]) {
  require N >= 1
  require O == 1
  edge[i] = x.edge[k[i]]
  pad[i] = x.pad(-1)[k[i]]
  wrap[i] = x.wrap[k[i]]
  reflect[i] = x.reflect[k[i]]
  one[i] = o.reflect[k[i]]
  far[i] = x.edge[k[i] + 18446744073709551615]
  bound[] = sum[j in 0:min(s, N)](x[j])
}""", {"x": ("f32", [10, 11, 12, 13, 14, 15, 16]), "o": ("f32", [5]), "k": ("u64", [M64 - 1, M63, M63 - 1, 3]), "s": M64 - 1},
         {"edge": [16, 16, 16, 13], "pad": [-1, -1, -1, 13], "wrap": [10 + v % 7 for v in (M64 - 1, M63, M63 - 1, 3)],
          "reflect": [10 + min(v % 12, 12 - v % 12) for v in (M64 - 1, M63, M63 - 1, 3)], "one": [5] * 4, "far": [16, 16, 16, 12],
          "bound": [91]}),
    Case("large literals", """
def f(x: u64[N], const c: u64 = 18446744073709551615) -> (a: u64[N], b: u64[N], c0: i64[], d: f32[], e: u64[], g: bool[N], h: u64[], l: i64[]) {
  a[i] = x[i] & 0xFFFFFFFFFFFFFFFF
  b[i] = x[i] + 9223372036854775808
  c0[] = -9223372036854775808
  d[] = f32(18446744073709551615)
  e[] = 18446744073709551615
  g[i] = x[i] < 18446744073709551615
  h[] = c
  l[] = i64(18446744073709551615)
}""", {"x": ("u64", [M64 - 1, M63 + 5])},
         {"a": [M64 - 1, M63 + 5], "b": [M63 - 1, 5], "c0": [-M63], "d": [float(M64)], "e": [M64 - 1], "g": [False, True], "h": [M64 - 1], "l": [-1]}),
    # A literal has its value: operators of literals alone round and wrap nowhere.
    Case("operators of literals", """
def f() -> (a: u64[], b: i64[], c: i64[], d: f32[], e: f64[], g: f64[], h: u64[], l: f64[], m: i32[]) {
  a[] = 1 << 63
  b[] = 5 >> 64
  c[] = -7 // 2 * 100 + -7 % 3 + (7 // 0) + 7 % 0
  d[] = 16777217.0 % 16777216        # 0 if 16777217 became an f32 before
  e[] = 0.3 // 0.1                   # of f32 it would be 3
  g[] = 1 / (0.0 % -2)
  h[] = 9223372036854775807 + 5
  l[] = -7.5 % 2 + min(0.1, 1) * 10 + 2.0 ** -1
  m[] = (1 << 40) >> 38
}""", {}, {"a": [M63], "b": [0], "c": [-400 + 2], "d": [1], "e": [2], "g": [-INF], "h": [M63 + 4], "l": [0.5 + 1 + 0.5], "m": [4]}),
    # A const is a value of its type, and so is a literal that has been cast.
    Case("constants have their types", """
def f(const c: bf16 = 0.1, const d: f32 = 0.1, const e: f16 = 70000, const g: f8e4m3 = 500) -> (a: f32[], b: f64[], h: f32[], l: f32[], m: f64[], n: f64[]) {
  a[] = c
  b[] = f64(d)
  h[] = e
  l[] = g
  m[] = f64(f32(0.1))
  n[] = 0.1
}""", {}, {"a": [0.10009765625], "b": [0.10000000149011612], "h": [INF], "l": [448], "m": [0.10000000149011612], "n": [0.1]}),
    # A condition excludes however it is spelled.
    Case("conditions with 'not' exclude", """
def f(a: f32[M, K], b: f32[K], n: i32[], q: f32[K]) -> (c: f32[M], d: f32[M], e: f32[M], g: bool[K], h: bool[K]) {
  c[i] = sum[k](a[i, k] * (b[k] if not n[] <= k else 0))
  d[i] = sum[k](a[i, k] * (0 if not (k < n[]) else b[k]))
  e[i] = sum[k, not (k >= n[] or k < 1)](a[i, k] * b[k])
  g[k] = not (q[k] < 1) where k in 0:K
  h[k] = not (q[k] < 1 and not not (k != 2))
}""", {"a": ("f32", [[1, 2, NAN, 4], [5, 6, 7, INF]]), "b": ("f32", [1, 10, NAN, NAN]), "n": ("i32", 2), "q": ("f32", [NAN, 0, 1, 2])},
         {"c": [21, 65], "d": [21, 65], "e": [20, 60], "g": [True, False, True, True], "h": [True, False, True, True]}),
    # Functions of literals adapt to where they stand, as literals do.
    Case("functions of literals", """
def f(x: f32[N]) -> (a: f32[], b: f64[], c: i64[], d: u64[], e: bool[], g: f64[]) {
  a[] = sum[k](x[k]) + abs(-2)
  b[] = abs(-0.1) + floor(0.5) + trunc(-0.25)
  c[] = abs(sum[k in 0:3](-5000000000))
  d[] = abs(-9223372036854775808)
  e[] = isinf(1e300)
  g[] = atan2(0.1, 1) - f64(0.09966865249116204) + fmod(7, 0.1) - fmod(7.0, 0.1)
}""", {"x": ("f32", [1, 2])}, {"a": [5], "b": [0.1], "c": [15000000000], "d": [M63], "e": [False], "g": [0]}),
    # A literal that is shifted takes the type of its count.
    Case("a literal left of a shift", """
def f(x: i64[N], w: i32[N], u: u64[N], n: u8[N]) -> (a: i64[N], b: i32[N], c: u64[N], d: i32[N], e: i64[N]) {
  a[i] = 5 << x[i]
  b[i] = 5 << w[i]
  c[i] = 1 << u[i]
  d[i] = -64 >> n[i]
  e[i] = 1 << i * 20
}""", {"x": ("i64", [40, 1, 64]), "w": ("i32", [40, 1, 32]), "u": ("u64", [63, 0, 65]), "n": ("u8", [1, 0, 255])},
         {"a": [5 << 40, 10, 5], "b": [5 << 8, 10, 5], "c": [M63, 1, 2], "d": [-32, -64, -1], "e": [1, 1 << 20, 1 << 40]}),
    # Python's %: the divisor says the sign, of a zero too, which 1 / 0 shows.
    Case("the sign of float %", """
def f(x: f32[N], d: f32[N]) -> (r: f32[N], s: f32[N], up: f32[N], down: f32[N]) {
  r[i] = x[i] % d[i]
  s[i] = 1 / (x[i] % d[i])
  up[i] = 1 / (x[i] % 2)
  down[i] = 1 / (x[i] % -2)
}""", {"x": ("f32", [4, -4, 4, -4, 0, -0.0, -1, 7, -1, INF]), "d": ("f32", [2, 2, -2, -2, -3, 3, INF, -INF, 4, 2])},
         {"r": [0, 0, 0, 0, 0, 0, INF, -INF, 3, NAN], "s": [INF, INF, -INF, -INF, -INF, INF, 0, -0.0, 0.3333333432674408, NAN],
          "up": [INF, INF, INF, INF, INF, INF, 1, 1, 1, NAN], "down": [-INF, -INF, -INF, -INF, -INF, -INF, -1, -1, -1, NAN]}),
    Case("a const u64 from outside", """
def f(x: u64[N], const c: u64 = 1, const d: f64 = 1) -> (y: u64[N], z: f64[]) {
  y[i] = x[i] & c
  z[] = d
}""", {"x": ("u64", [M64 - 1, 7])}, {"y": [M63 + 3, 3], "z": [float(M63)]}, ["c=9223372036854775811", "d=9223372036854775808"]),
    # Ranges that end before they start, and sizes that shrink what has them.
    Case("negative extents", """
def f(x: f32[N]) -> (y: f32[], z: f32[N], w: f32[]) {
  y[] = sum[k in 3:N](max[l in 0:N](x[l] * x[k]))
  let t[i] = sum[l](x[l] * x[i + 3]) where i in 0:N - 3
  z[j] = sum[i in 0:N - 3](t[i]) + x[j]
  w[] = sum[a in 0:N - 2, b in 0:N - 2](x[a] * x[b])
}""", {"x": ("f32", [2])}, {"y": [0], "z": [2], "w": [0]}),
    Case("sizes with a negative factor", """
def f(x: f32[5 - N], z: f32[9 - 2 * M]) -> (y: f32[N], w: i64[]) {
  y[i] = x.pad(0)[i]
  w[] = M
}""", {"x": ("f32", [4, 5]), "z": ("f32", [1, 2, 3])}, {"y": [4, 5, 0], "w": [3]}),
]


def element_types(text):
    """Outputs and scalars by name."""
    return dict(re.findall(r"(\w+): (\w+)", text))


def run(kernelc, case, device, folder):
    source = os.path.join(folder, "case.kc")
    with open(source, "w") as f:
        f.write(case.text)
    command = [kernelc, "run", source, *device]
    for name, given in case.inputs.items():
        if isinstance(given, tuple):
            path = os.path.join(folder, f"{name}.npy")
            npy.write(path, *given)
            command.append(f"{name}={path}")
        else:
            command.append(f"{name}={given}")
    for s in case.sets:
        command += ["--set", s]
    for name in case.outputs:
        command += ["-o", f"{name}={os.path.join(folder, name)}.out.npy"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return [f"exit {done.returncode}: {done.stderr.strip()}"]
    wrong = []
    for name, expected in case.outputs.items():
        got = npy.read(os.path.join(folder, f"{name}.out.npy"))
        if not npy.same(got, expected):
            wrong.append(f"{name}: expected {expected}, got {got}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernelc")
    parser.add_argument("--case", help="this one only")
    parser.add_argument("--device", choices=["cpu", "emulator"])
    parser.add_argument("--arch", default="sm_90a")
    args = parser.parse_args()
    failures = 0
    for case in CASES:
        if args.case not in (None, case.name):
            continue
        for device in [args.device] if args.device else ["cpu", "emulator"]:
            flags = ["--device", device] + (["--arch", args.arch] if device == "emulator" else [])
            with tempfile.TemporaryDirectory() as folder:
                for line in run(args.kernelc, case, flags, folder):
                    failures += 1
                    print(f"{case.name} on {device}: {line}")
    print(f"{failures} wrong")
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
