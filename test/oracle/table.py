# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs with results worked out by hand: the oracle's own test, and then the compiler's.

A row: what it shows, the body and the signature of a kernel, its arguments, and what comes out."""
import math

INF, NAN = math.inf, math.nan
X = ([3], [1.0, 2.0, 4.0])
EMPTY = ([0], [])

ROWS = [
    # Scatters.
    ("a histogram", "x: u8[N]) -> (h: i32[4]", "h[x[n] % 4] += 1", {"x": ([5], [1, 3, 1, 5, 0])}, {"h": [1, 3, 0, 1]}),
    ("points that meet in what stands there", "p: i32[N], g: f32[N], inout y: f32[2]", "y[p[n]] += g[n]", {"p": ([3], [1, 1, 1]), "g": X, "y": ([2], [5.0, 1.0])},
     {"y": [5.0, 8.0]}),
    ("an index that folds", "x: f32[N]) -> (y: f32[2]", "y[i % 2] += x[i]", {"x": X}, {"y": [5.0, 2.0]}),
    ("no point: the identity", "p: i32[N], g: i8[N]) -> (y: i8[3], z: bool[3]", "y[p[n]] min= g[n] z[p[n]] and= g[n] > 0", {"p": ([2], [0, 0]), "g": ([2], [3, -2])},
     {"y": [-2, 127, 127], "z": [False, True, True]}),
    ("rounded once", "p: i32[N], g: f16[N]) -> (y: f16[1]", "y[p[n]] += g[n]", {"p": ([4], [0] * 4), "g": ([4], [2048.0, 1.0, 1.0, 1.0])}, {"y": [2052.0]}),
    ("integers wrap where they meet", "p: i32[N], g: i8[N]) -> (y: i8[1]", "y[p[n]] += g[n]", {"p": ([2], [0, 0]), "g": ([2], [100, 100])}, {"y": [-56]}),
    ("unique writes, the rest is 0", "p: i32[N], g: f32[N]) -> (y: f32[4]", "y.unique[p[n]] = g[n]", {"p": ([3], [3, 0, 1]), "g": X}, {"y": [2.0, 4.0, 0.0, 1.0]}),
    ("a condition leaves points out", "p: i32[N], g: f32[N]) -> (y: f32[1]", "y[p[n]] += g[n] where g[n] > 1", {"p": ([3], [0] * 3), "g": X}, {"y": [6.0]}),
    ("order(any)", "p: i32[N], g: f32[N]) -> (y: f32[1]", "y[p[n]] += g[n] order(any)", {"p": ([3], [0] * 3), "g": X}, {"y": [7.0]}),
    ("order(any) of named sums", "x: f32[M, N]) -> (y: f32[M]", "let s[i] = sum[k](x[i, k]) order(any) y[i] = 2 * s[i] order(any)",
     {"x": ([2, 2], [1.0, 2.0, 4.0, 8.0])}, {"y": [6.0, 24.0]}),
    ("bools that no point names", "x: bool[N]) -> (y: bool[4]", "y[n % 4] xor= x[n]", {"x": ([3], [False, True, True])}, {"y": [False, True, True, False]}),
    # Data that lead outside, and assertions.
    ("a guarded read that nothing excludes", "t: f32[N], p: i32[M], c: bool[M]) -> (y: f32[M]", "y[i] = t[p[i]] if c[i] else -1",
     {"t": X, "p": ([2], [7, 2]), "c": ([2], [False, True])}, {"y": [-1.0, 4.0]}),
    ("an assertion that holds", "x: f32[N]) -> (y: f32[N]", "assert x[i] > 0, \"positive\" y[i] = x[i] assert y[i] < 9 where i > 0", {"x": X}, {"y": [1.0, 2.0, 4.0]}),
    # Ranges.
    ("a range follows from the dim", "x: f32[N]) -> (y: f32[]", "y[] = sum[k](x[k])", {"x": X}, {"y": [7.0]}),
    ("a range in a bracket", "x: f32[N]) -> (y: f32[]", "y[] = sum[k in 1:N](x[k])", {"x": X}, {"y": [6.0]}),
    ("a chained comparison declares", "x: f32[N]) -> (y: f32[]", "y[] = sum[0 < k <= 1](x.pad(0)[k])", {"x": X}, {"y": [2.0]}),
    ("the smallest dim on the right", "x: f32[N], w: f32[N + 1]) -> (y: f32[]", "y[] = sum[k](x[k] * w[k])", {"x": X, "w": ([4], [1.0, 1.0, 1.0, 9.0])}, {"y": [7.0]}),
    ("the solution of a subscript", "x: f32[2 * N]) -> (y: f32[]", "y[] = sum[k](x[2 * k + 1])", {"x": ([4], [1.0, 2.0, 4.0, 8.0])}, {"y": [10.0]}),
    ("negative extents are empty", "x: f32[N]) -> (y: f32[]", "y[] = sum[k in N:0](x[k])", {"x": X}, {"y": [0.0]}),
    ("data bounds", "x: f32[N], n: i32[]) -> (y: f32[]", "y[] = sum[k in 0:min(n[], N)](x[k])", {"x": X, "n": ([], [2])}, {"y": [3.0]}),
    ("bounds of data or scalars alone go as far as accesses", "x: f32[N], off: i32[G + 1], s: i64) -> (y: f32[G], z: f32[], w: f32[]",
     "y[g] = sum[i in off[g]:off[g + 1]](x[i]) z[] = sum[k in 1:s](x[k]) w[] = sum[k in -s:s](x[k])",
     {"x": X, "off": ([4], [-2, 1, 2, 9]), "s": 7}, {"y": [1.0, 2.0, 4.0], "z": [6.0], "w": [7.0]}),
    ("a bracket's index shadows", "x: f32[N]) -> (y: f32[N]", "y[i] = sum[i](x[i])", {"x": X}, {"y": [7.0] * 3}),
    # Bounds forms.
    ("pad", "x: f32[N]) -> (y: f32[N]", "y[i] = x.pad(9)[i - 1]", {"x": X}, {"y": [9.0, 1.0, 2.0]}),
    ("edge", "x: f32[N]) -> (y: f32[N]", "y[i] = x.edge[i + 2]", {"x": X}, {"y": [4.0, 4.0, 4.0]}),
    ("reflect, again and again", "x: f32[N], p: i32[M]) -> (y: f32[M]", "require N >= 1 y[i] = x.reflect[p[i]]", {"x": X, "p": ([5], [-1, 3, 4, 5, -5])}, {"y": [2.0, 2.0, 1.0, 2.0, 2.0]}),
    ("wrap", "x: f32[N], p: i32[M]) -> (y: f32[M]", "require N >= 1 y[i] = x.wrap[p[i]]", {"x": X, "p": ([3], [-1, 3, -4])}, {"y": [4.0, 1.0, 4.0]}),
    ("a huge u64 subscript is beyond the end", "x: f32[N], p: u64[M]) -> (y: f32[M]", "require N >= 1 y[i] = x.edge[p[i]]", {"x": X, "p": ([2], [2**63, 0])}, {"y": [4.0, 1.0]}),
    ("a condition around an access", "x: f32[N]) -> (y: f32[N]", "y[i] = x[i - 1] if i > 0 else 0", {"x": X}, {"y": [0.0, 1.0, 2.0]}),
    ("gathers whose values fit", "t: f32[4], p: i32[M], c: bool[M]) -> (y: f32[M], z: f32[M], w: f32[M]", "y[i] = t[p[i] & 3] z[i] = t[c[i]] w[i] = t[p[i]] if 0 <= p[i] < 4 else -1",
     {"t": ([4], [1.0, 2.0, 4.0, 8.0]), "p": ([3], [-1, 2, 5]), "c": ([3], [True, False, True])}, {"y": [8.0, 4.0, 2.0], "z": [2.0, 1.0, 2.0], "w": [-1.0, 4.0, -1.0]}),
    ("views", "x: f32[M, 2 * N]) -> (y: f32[2, N, M], z: f32[2 * M * N]", "y[h, d, i] = view(x, \"i (h d) -> h d i\", h=2)[h, d, i] z[k] = view(x, \"i k -> (k i)\")[k]",
     {"x": ([2, 2], [1.0, 2.0, 3.0, 4.0])}, {"y": [1.0, 3.0, 2.0, 4.0], "z": [1.0, 3.0, 2.0, 4.0]}),
    # Reductions of nothing.
    ("sums, products, extremes of nothing", "x: f32[N]) -> (a: f32[], b: f32[], c: f32[], d: f32[]",
     "a[] = sum[k](x[k]) b[] = prod[k](x[k]) c[] = max[k](x[k]) d[] = min[k](x[k])", {"x": EMPTY}, {"a": [0.0], "b": [1.0], "c": [-INF], "d": [INF]}),
    ("any, all, xor, argmax, mean of nothing", "x: i32[N]) -> (a: bool[], b: bool[], c: i32[], d: i64[], e: f32[]",
     "a[] = any[k](x[k] > 0) b[] = all[k](x[k] > 0) c[] = xor[k](x[k]) d[] = argmax[k](x[k]) e[] = mean[k](f32(x[k]))", {"x": EMPTY},
     {"a": [False], "b": [True], "c": [0], "d": [-1], "e": [NAN]}),
    ("a transposed copy around a diagonal of products of rows", "x: f32[N, N]) -> (y: f32[N, N]", "y[i, j] = x[j, i] where i != j y[i, i] = prod[k](x[i, k])",
     {"x": ([2, 2], [1.0, 2.0, 4.0, 8.0])}, {"y": [2.0, 4.0, 2.0, 32.0]}),
    ("extremes and xor of bools are bools", "a: bool[N], b: bool[N], e: bool[M]) -> (w: bool[], x: bool[], y: bool[], z: bool[N], u: bool[], v: bool[], t: bool[]",
     "w[] = max[i](a[i]) x[] = min[i](a[i]) y[] = xor[i](a[i]) z[i] = max(a[i], b[i]) u[] = max[i](e[i]) v[] = min[i](e[i]) t[] = xor[i](e[i])",
     {"a": ([3], [True, False, False]), "b": ([3], [False, True, False]), "e": EMPTY},
     {"w": [True], "x": [False], "y": [True], "z": [True, True, False], "u": [False], "v": [True], "t": [False]}),
    ("narrow extremes of nothing", "x: i8[N], z: u8[N]) -> (a: i8[], b: u8[], c: u8[]", "a[] = max[k](x[k]) b[] = max[k](z[k]) c[] = min[k](z[k])",
     {"x": EMPTY, "z": EMPTY}, {"a": [-128], "b": [0], "c": [255]}),
    ("the narrowest type that is known", "x: i8[N], z: u8[N], w: i32[N]) -> (a: i32[], b: i32[], c: i32[], d: i32[], e: i32[], f: i32[]",
     "a[] = max[k](x[k]) b[] = min[k](w[k] & 15) c[] = max[k](x[k] + x[k]) d[] = min[k](i32(x[k])) let t[k] = z[k] // 2 e[] = min[k](t[k]) f[] = max[k](x[k] | 3)",
     {"x": EMPTY, "z": EMPTY, "w": EMPTY}, {"a": [-128], "b": [15], "c": [-2**31], "d": [2**31 - 1], "e": [255], "f": [-128]}),
    ("a cast has its own type, of a narrow value, too", "x: i8[N], z: u8[N], w: i32[N]) -> (a: i32[], b: i32[], c: u32[], d: i64[], e: i32[]",
     "a[] = max[k](i32(i8(w[k]))) b[] = min[k](i32(z[k] & 15)) c[] = min[k](u32(z[k])) d[] = max[k](i64(x[k])) e[] = max[k](i8(i32(x[k])))",
     {"x": EMPTY, "z": EMPTY, "w": EMPTY}, {"a": [-2**31], "b": [2**31 - 1], "c": [2**32 - 1], "d": [-2**63], "e": [-128]}),
    ("a reducing assignment starts at its output's identity", "x: i8[N]) -> (a: i8[], b: i32[]", "a[] max= x[k] b[] max= x[k]", {"x": EMPTY}, {"a": [-128], "b": [-2**31]}),
    ("argmax of nothing from 2 on", "x: f32[N]) -> (y: i64[]", "y[] = argmax[k in 2:N](x[k])", {"x": ([2], [1.0, 2.0])}, {"y": [-1]}),
    # Positions and NaN.
    ("argmax is the index's value", "x: f32[N]) -> (y: i64[M]", "require N >= 1 y[i] = argmax[k in 2 * i:2 * i + 2](x.edge[k])", {"x": ([4], [1.0, 2.0, 4.0, 3.0])}, {"y": [1, 2]}, {"M": 2}),
    ("the first of equals", "x: f32[N]) -> (y: i64[], z: i64[]", "y[] = argmax[k](x[k]) z[] = argmin[k](x[k])", {"x": ([4], [2.0, 1.0, 2.0, 1.0])}, {"y": [0], "z": [1]}),
    ("NaN wins argmax, loses argmin", "x: f32[N]) -> (y: i64[], z: i64[]", "y[] = argmax[k](x[k]) z[] = argmin[k](x[k])", {"x": ([4], [1.0, NAN, NAN, INF])}, {"y": [1], "z": [0]}),
    ("positions over several indices", "x: f32[M, N]) -> (y: i64[], z: i64[], w: i64[]", "y[] = argmax[i, j](x[i, j]) z[] = argmin[j, i in 1:M](x[i, j]) w[] = argmax[i, j in 1:N, x[i, j] < 4](x[i, j])",
     {"x": ([2, 3], [1.0, 5.0, 2.0, 3.0, 0.0, 9.0])}, {"y": [5], "z": [1], "w": [1]}),
    ("-inf is a value", "x: f32[N]) -> (y: i64[]", "y[] = argmax[k](x[k])", {"x": ([2], [-INF, -INF])}, {"y": [0]}),
    ("max and min propagate NaN", "x: f32[N]) -> (y: f32[], z: f32[]", "y[] = max[k](x[k]) z[] = min(x[0], x[1]) require N >= 2", {"x": ([2], [NAN, 1.0])}, {"y": [NAN], "z": [NAN]}),
    ("what a condition excludes is no value", "x: f32[N]) -> (y: f32[], z: f32[]", "y[] = sum[k, k != 1](x[k] * x[k]) z[] = mean[k, x[k] < 9](x[k])", {"x": ([3], [1.0, NAN, 2.0])},
     {"y": [5.0], "z": [1.5]}),
    ("a triangular sum", "a: i32[N, N], b: i32[N]) -> (y: i32[N]", "y[i] = sum[k, k <= i](a[i, k] * b[k])", {"a": ([2, 2], [1, 2, 3, 4]), "b": ([2], [5, 6])}, {"y": [5, 39]}),
    # Scans.
    ("a scan, exclusive and from the end", "x: f32[N]) -> (y: f32[N], e: f32[N], r: f32[N]", "y[i] = sum[k, k <= i](x[k]) e[i] = sum[k, k < i](x[k]) r[i] = sum[k in i:N](x[k])",
     {"x": X}, {"y": [1.0, 3.0, 7.0], "e": [0.0, 1.0, 3.0], "r": [7.0, 6.0, 4.0]}),
    ("a scan of a table", "x: i32[M, N]) -> (y: i32[M, N]", "y[i, j] = sum[a, b, a <= i, b <= j](x[a, b])", {"x": ([2, 2], [1, 2, 3, 4])}, {"y": [1, 3, 4, 10]}),
    # Integers.
    ("floor and zero divisors", "a: i32[N], b: i32[N]) -> (q: i32[N], r: i32[N]", "q[i] = a[i] // b[i] r[i] = a[i] % b[i]",
     {"a": ([5], [7, -7, 7, -7, -2**31]), "b": ([5], [2, 2, -2, 0, -1])}, {"q": [3, -4, -4, 0, -2**31], "r": [1, 1, -1, 0, 0]}),
    ("integers wrap", "a: i32[N]) -> (y: i32[N], z: i8[N]", "y[i] = a[i] * a[i] + 1 z[i] = i8(a[i])", {"a": ([2], [65536, 200])}, {"y": [1, 40001], "z": [0, -56]}),
    ("shift counts modulo the width", "a: i32[N]) -> (y: i32[N], z: i32[N]", "y[i] = 1 << a[i] z[i] = -8 >> a[i]", {"a": ([3], [1, 33, -31])}, {"y": [2, 2, 2], "z": [-4, -4, -4]}),
    ("narrow reads widen", "a: u8[N]) -> (y: i32[N], z: u8[N]", "y[i] = a[i] * a[i] - 1 z[i] = u8(a[i] + 1)", {"a": ([2], [255, 0])}, {"y": [65024, -1], "z": [0, 1]}),
    ("u64 literals", "a: u64[N]) -> (y: u64[N]", "y[i] = a[i] & 18446744073709551615", {"a": ([1], [2**64 - 2])}, {"y": [2**64 - 2]}),
    # Floats.
    ("casts truncate and saturate, NaN is 0", "x: f32[N]) -> (y: i8[N], z: u8[N]", "y[i] = i8(x[i]) z[i] = u8(x[i])", {"x": ([5], [-2.75, 300.0, NAN, -INF, 127.5])},
     {"y": [-2, 127, 0, -128, 127], "z": [0, 255, 0, 0, 127]}),
    ("f8 saturates, f16 overflows", "x: f32[N]) -> (a: f8e4m3[N], b: f8e5m2[N], c: f16[N]", "a[i] = x[i] b[i] = x[i] c[i] = x[i]", {"x": ([2], [1e6, -470.0])},
     {"a": [448.0, -448.0], "b": [57344.0, -448.0], "c": [INF, -470.0]}),
    ("bf16 rounds to even, once", "x: f32[N]) -> (y: bf16[N]", "y[i] = x[i]", {"x": ([3], [1.00390625, 1.01171875, 1.005859375])}, {"y": [1.0, 1.015625, 1.0078125]}),
    ("a stored value is read rounded", "x: f32[N]) -> (y: bf16[N], z: f32[N]", "y[i] = x[i] z[i] = y[i] - x[i]", {"x": ([1], [1.00390625])}, {"y": [1.0], "z": [-0.00390625]}),
    ("a typed let rounds, an untyped one does not", "x: f32[N]) -> (y: f32[N], z: f32[N]", "let t[i]: bf16 = x[i] let u[i] = x[i] y[i] = t[i] z[i] = u[i]", {"x": ([1], [1.00390625])},
     {"y": [1.0], "z": [1.00390625]}),
    ("// and % of floats", "a: f32[N], b: f32[N]) -> (q: f32[N], r: f32[N]", "q[i] = a[i] // b[i] r[i] = a[i] % b[i]", {"a": ([4], [INF, -7.0, 7.0, 1.0]), "b": ([4], [2.0, 2.0, -2.0, 0.0])},
     {"q": [INF, -4.0, -4.0, INF], "r": [NAN, 1.0, -1.0, NAN]}),
    ("precedence is Python's", "x: f32[N]) -> (y: f32[N], z: i32[N]", "y[i] = -x[i] ** 2 + 2 * x[i] z[i] = 1 | 6 & 3 ^ 1 << 1 + 1", {"x": X}, {"y": [1.0, 0.0, -8.0], "z": [7] * 3}),
    ("literals adapt to what they meet", "x: i64[N], c: bool[N], z: f64[N]) -> (y: i64[N], w: f64[N]",
     "y[i] = x[i] + (sum[k in 0:2](2000000000) if c[i] else 1) * 2 w[i] = z[i] * sqrt(4) / (1 / 4)", {"x": ([2], [1, 1]), "c": ([2], [True, False]), "z": ([2], [1.0, 2.0])},
     {"y": [8000000001, 3], "w": [8.0, 16.0]}),
    ("literals are i32 where nothing says more", "x: i32[N]) -> (y: f64[N], z: i64[N]", "y[i] = f64(max[k in 1:1](x[0])) + f64(sum[k in 0:2](2000000000)) z[i] = x[i] << i64(33) require N >= 1",
     {"x": ([1], [3])}, {"y": [-2147483648.0 - 294967296.0], "z": [6]}),
    # Statements.
    ("concatenation", "a: i32[N], b: i32[M]) -> (y: i32[N + M]", "y[i] = a[i] where i in 0:N y[i + N] = b[i] where i in 0:M", {"a": ([2], [1, 2]), "b": ([1], [3])}, {"y": [1, 2, 3]}),
    ("an inout is read as it stood", "inout z: i32[N]", "z[i] = z[N - 1 - i]", {"z": ([3], [1, 2, 3])}, {"z": [3, 2, 1]}),
    ("a part, then all", "inout z: i32[N]", "z[i] = z[i] + 10 where i in 1:N z[i] = z.edge[i + 1]", {"z": ([3], [1, 2, 3])}, {"z": [12, 13, 13]}),
    ("+= of an output and of an inout", "x: i32[M, N], inout z: i32[N]) -> (y: i32[N]", "y[j] += x[i, j] z[j] += x[i, j] y[j] += x[i, j]", {"x": ([2, 2], [1, 2, 3, 4]), "z": ([2], [10, 20])},
     {"z": [14, 26], "y": [8, 12]}),
    ("groups by conditions apart", "x: i32[M], w: i32[G, M], off: i32[G + 1], m: bool[G]) -> (y: i32[M]", "y[i] = sum[k in 0:1](x[i] * w[g, i]) where i < off[g + 1], m[g] and i >= off[g]",
     {"x": ([3], [1, 2, 3]), "w": ([2, 3], [1, 1, 1, 5, 5, 5]), "off": ([3], [0, 1, 3]), "m": ([2], [True, True])}, {"y": [1, 10, 15]}),
    ("groups", "x: i32[M], w: i32[G, M], off: i32[G + 1]) -> (y: i32[M]", "y[i] = sum[k in 0:1](x[i] * w[g, i]) where off[g] <= i < off[g + 1]",
     {"x": ([3], [1, 2, 3]), "w": ([2, 3], [1, 1, 1, 5, 5, 5]), "off": ([3], [0, 1, 2])}, {"y": [1, 10, 0]}),
    ("a sum of products is over reals", "x: f32[N], w: f32[N]) -> (y: f32[], z: f32[]", "y[] = sum[k](x[k] * w[k]) z[] = x[0] * w[0] + x[1] * w[1] require N >= 2",
     {"x": ([2], [-1.0, -0.3333333432674408]), "w": ([2], [-1.0, 3.0])}, {"y": [-2.9802322387695312e-08], "z": [0.0]}),
    # Functions.
    ("an index parameter is the caller's", "x: f32[M, N]) -> (y: f32[M]", "y[i] = total[k](x[i, k])", {"x": ([2, 2], [1.0, 2.0, 3.0, 4.0])}, {"y": [3.0, 7.0]}, {}, "fn total[i](e) { sum[i](e) }"),
    ("a bracket is a function's parameter", "x: f32[M, N]) -> (y: f32[], z: f32[], w: f32[]", "y[] = total[i, k](x[i, k]) z[] = total[i, k in 1:N](x[i, k]) w[] = total[k in 0:M, i, x[k, i] > 1](x[k, i])",
     {"x": ([2, 2], [1.0, 2.0, 3.0, 4.0])}, {"y": [10.0], "z": [6.0], "w": [9.0]}, {}, "fn total[i](e) { sum[i](e) }"),
    ("tensors are parameters", "x: f32[M, N]) -> (y: f32[M], z: f32[]", "y[i] = row(x, i) let t[i, j] = x[i, j] + 1 z[] = row(t, 0) + last(x) require M >= 1 require N >= 1",
     {"x": ([2, 2], [1.0, 2.0, 3.0, 4.0])}, {"y": [3.0, 7.0], "z": [9.0]}, {}, "fn row(a, i) { sum[k](a[i, k]) } fn last(a: f32[P, Q]) { a[P - 1, Q - 1] }"),
    ("names inside do not capture", "x: i32[N]) -> (y: i32[N]", "y[i] = g(x[i], i32(i))", {"x": ([2], [5, 6])}, {"y": [5, 7]}, {}, "fn g(i, x) { let k = i  k + x }"),
    ("typed parameters convert", "x: f32[N]) -> (y: f32[N]", "y[i] = g(x[i])", {"x": ([1], [1.00390625])}, {"y": [2.0]}, {}, "fn g(a: bf16) { a + a }"),
    ("a definition replaces the prelude's", "x: i32[N]) -> (y: i32[N]", "y[i] = relu(x[i])", {"x": ([1], [-5])}, {"y": [-10]}, {}, "fn relu(x) { x + x }"),
    ("logsumexp of -inf and +inf", "x: f32[M, N]) -> (y: f32[M]", "y[i] = logsumexp[k](x[i, k])", {"x": ([2, 2], [-INF, -INF, INF, 1.0])}, {"y": [-INF, INF]}),
    ("Philox's test vectors", "a: u64[1]) -> (y: u32[], z: u32[]", "y[] = rand_bits(0) z[] = rand_bits(a[0], i64(a[0]), 4294967295, 4294967295)",
     {"a": ([1], [2**64 - 1])}, {"y": [0x6627e8d5], "z": [0x408f276d]}),
    ("ones among the bits", "a: i8[N], b: u64[N]) -> (y: i32[N], z: u8[N]", "y[i] = popcount(a[i]) z[i] = popcount(b[i])", {"a": ([3], [-1, 5, 0]), "b": ([3], [2**64 - 1, 2**63, 7])},
     {"y": [8, 2, 0], "z": [64, 1, 3]}),
    # Sizes.
    ("a size of a * N + b", "x: f32[2 * N + 1]) -> (y: f32[N]", "y[i] = x[2 * i]", {"x": ([5], [1.0, 2.0, 3.0, 4.0, 5.0])}, {"y": [1.0, 3.0]}),
    ("a size of 0", "x: f32[M, N]) -> (y: f32[M], z: f32[N]", "y[i] = max[j](x[i, j]) z[j] = sum[i](x[i, j])", {"x": ([2, 0], [])}, {"y": [-INF, -INF], "z": []}),
]

_REDUCERS = """
reducer last_max(a, b: (v: f32, i: i64)) identity (-inf, -1) { b if b.v >= a.v else a }
reducer saturating(a, b: i8) identity 0 { i8(min(max(a + b, -128), 127)) }
reducer welford(a, b: (n: f32, mean: f32, m2: f32)) identity (0, 0, 0) {
  let n = a.n + b.n
  let d = b.mean - a.mean
  let w = b.n / n if n > 0 else 0
  (n, a.mean + d * w, a.m2 + b.m2 + d * d * a.n * w)
}
reducer steps(a, b: (a: i32, b: i32)) identity (1, 0) { (a.a * b.a, b.a * a.b + b.b) }
"""
_BYTES = ([4], [100, 100, -10, 5])

ROWS += [
    # Reducers of the program, and recurrences.
    ("fields of a tuple", "x: f32[N]) -> (y: i64[], v: f32[]", "let w[] = last_max[k](x[k], k) y[] = w.i v[] = w.v", {"x": ([4], [1.0, 3.0, 3.0, 2.0])},
     {"y": [2], "v": [3.0]}, {}, _REDUCERS),
    ("a reduction of nothing is the identity", "x: f32[N]) -> (y: i64[]", "y[] = last_max[k, x[k] > 9](v=x[k], i=k).i", {"x": X}, {"y": [-1]}, {}, _REDUCERS),
    ("in order where a law fails", "x: i8[N]) -> (y: i8[N]", "y[i] = saturating[k, k <= i](x[k])", {"x": _BYTES}, {"y": [100, 127, 117, 122]}, {}, _REDUCERS),
    ("an assignment by a reducer", "x: i8[M, N]) -> (y: i8[M]", "y[i] saturating= x[i, k]", {"x": ([2, 2], [100, 100, -10, 5])}, {"y": [127, -5]}, {}, _REDUCERS),
    ("a scatter by a reducer", "x: i8[N], p: i32[N]) -> (y: i8[3]", "y[p[n]] saturating= x[n]", {"x": _BYTES, "p": ([4], [0, 0, 0, 2])}, {"y": [117, 0, 5]}, {}, _REDUCERS),
    ("moments", "x: f32[N]) -> (m: f32[], v: f32[]", "let w[] = welford[k](1, x[k], 0) m[] = w.mean v[] = w.m2", {"x": ([4], [1.0, 3.0, 3.0, 2.0])},
     {"m": [2.25], "v": [2.75]}, {}, _REDUCERS),
    ("a scan of steps", "a: i32[N], b: i32[N]) -> (y: i32[N]", "y[t] = steps[k, k <= t]((a[k], b[k])).b", {"a": ([3], [5, 2, 3]), "b": ([3], [1, 1, 1])},
     {"y": [1, 3, 10]}, {}, _REDUCERS),
    ("a path that is read back", "came: i64[T, S], last: i64) -> (path: i64[T]", "require T >= 1 path[t] = last if t == T - 1 else came[t + 1, path[t + 1]]",
     {"came": ([3, 2], [0, 0, 1, 0, 0, 1]), "last": 1}, {"path": [0, 1, 1]}),
    ("a recurrence", "x: f32[N]) -> (y: f32[N]", "y[t] = 0.5 * y.pad(4)[t - 1] + x[t]", {"x": X}, {"y": [3.0, 3.5, 5.75]}),
    ("two steps back, of integers", "x: i32[N]) -> (y: i32[N]", "let f[t] = f.pad(1)[t - 1] + f.pad(0)[t - 2] + x[t] y[t] = f[t]",
     {"x": ([5], [0] * 5)}, {"y": [1, 1, 2, 3, 5]}),
    ("from the end", "x: f32[N]) -> (y: f32[N]", "y[t] = y.pad(0)[t + 1] + x[t]", {"x": X}, {"y": [7.0, 6.0, 4.0]}),
    ("from what is defined before", "x: f32[N]) -> (y: f32[N]", "require N > 0 y[0] = 8 y[t] = y[t - 1] * 0.5 + x[t] where t in 1:N", {"x": X}, {"y": [8.0, 6.0, 7.0]}),
    ("read as it is stored", "x: f16[N]) -> (y: f16[N]", "y[t] = y.pad(2048)[t - 1] + x[t]", {"x": ([2], [1.0, 1.0])}, {"y": [2048.0, 2048.0]}),
]

ROWS += [
    # What stands among statements that read each other.
    ("a sum of what they define", "x: f32[N]) -> (y: f32[N], w: f32[N], s: f32[N]", "y[t] = w.pad(0)[t - 1] + x[t] s[t] += w[t] w[t] = 0.5 * y[t] s[t] *= 2",
     {"x": X}, {"y": [1.0, 2.5, 5.25], "w": [0.5, 1.25, 2.625], "s": [1.0, 2.5, 5.25]}),
    ("what they have read is changed behind them", "x: f32[N], inout s: f32[N]) -> (y: f32[N], w: f32[N]", "y[t] = w.pad(0)[t - 1] + s[t] s[t] += x[t] w[t] = 0.5 * y[t]",
     {"x": X, "s": X}, {"y": [1.0, 2.5, 5.25], "w": [0.5, 1.25, 2.625], "s": [2.0, 4.0, 8.0]}),
]

# Programs that are none: what the oracle says of them.
NONE = [
    ("read each other", "x: f32[N], inout s: f32[N]) -> (y: f32[N], w: f32[N]", "y[t] = w.pad(0)[t - 1] + s[t] s[t] = 3 w[t] = y[t] * s[t]", {"x": X, "s": X}),
    ("before its statements", "x: f32[N]) -> (y: f32[N], w: f32[N]", "y[t] = w.pad(0)[t - 1] + x[t] w[t] = x[t] w[t] += y[t]", {"x": X}),
    ("outside", "x: f32[N]) -> (y: f32[N]", "y[i] = x[i + 1]", {"x": X}),
    ("written", "x: f32[N]) -> (y: f32[N]", "y[i] = x[i] where i in 1:N", {"x": X}),
    ("written", "x: f32[N]) -> (y: f32[N]", "y[i] = x[i] y[i] = 1 where i < 1", {"x": X}),
    ("already names", "x: f32[N], flag: bool) -> (y: f32[]", "y[] = sum[k, flag](x[k])", {"x": X, "flag": True}),
    ("mixes", "x: f32[N]) -> (y: f32[N]", "y[i] = x[i] * i", {"x": X}),
    ("cannot store", "x: f32[N]) -> (y: i32[N]", "y[i] = x[i]", {"x": X}),
    ("not", "x: f32[N], z: f32[N]) -> (y: f32[N]", "y[i] = x[i]", {"x": X, "z": ([2], [0.0, 0.0])}),
    ("outside", "t: f32[N], p: i32[M]) -> (y: f32[M]", "y[i] = t[p[i]]", {"t": X, "p": ([2], [0, 3])}),
    ("outside", "p: i32[N], g: f32[N]) -> (y: f32[2]", "y[p[n]] += g[n]", {"p": ([3], [0, -1, 1]), "g": X}),
    ("assertion", "x: f32[N]) -> (y: f32[N]", "assert x[i] < 4 y[i] = x[i]", {"x": X}),
    ("requirement", "x: f32[N]) -> (y: f32[N]", "require N % 2 == 0 y[i] = x[i]", {"x": X}),
    ("no N makes", "x: f32[2 * N]) -> (y: f32[N]", "y[i] = x[i]", {"x": X}),
]
