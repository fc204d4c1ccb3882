# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that leave elements undefined, define them twice or read outside, at some sizes at least: to be refused."""
from .expressions import STORED


def wrong(b):
    kind = b.pick("f32", "i32")
    n, m = b.size("N"), b.size("M")
    x, y = b.tensor(b.pick(*STORED[kind]), [n], stem="x"), None
    one = b.pick("1", f"{x}[i]", f"{x}[i] + 2")
    if b.chance(60):
        covers = [["[i] = {} where i in 1:N"], ["[i] = {} where i in 0:N - 1"], ["[i] = {} where i < 2", "[i] = {} where i > 2"], ["[i] = {} where i != 3"],
                  ["[i] = {} where i % 2 == 0"], ["[i] = {}", "[i] = {} where i < 1"], ["[i] = {} where i <= 2", "[i] = {} where i >= 2"],
                  ["[i] = {} where i in 0:N // 2", "[i] = {} where i in N // 2 + 1:N"], ["[N - 1 - i] = {} where i in 0:N - 1"], ["[i] = {} where 1 <= i < N"],
                  ["[i + 1] = {} where i in 0:N - 1"], ["[i] = {} where i < N - 1"], ["[i] = {} where i in 0:N - 1", "[i] = {} where i == N"]]
        y = b.tensor(kind, [n], "out")
        for line in b.pick(*covers):
            b.say(y + line.format(one))
        return
    if b.chance(50):  # two dims, or two parts
        how = b.pick("square", "parts", "interleaved", "rows")
        if how == "square":
            y = b.tensor(kind, [n, n], "out")
            b.say(f"{y}[i, j] = {one} where i {b.pick('<', '<=', '>')} j")
            b.say(f"{y}[i, j] = {one} where i {b.pick('>', '>=', '<')} j")
        elif how == "parts":
            y = b.tensor(kind, [f"{n} + {m}"], "out")
            b.say(f"{y}[i] = {one} where i in 0:{n}")
            b.say(f"{y}[j + {n}] = 1 where j in {b.pick('0', '1')}:{m}{b.pick('', ' - 1', ' + 1')}")
        elif how == "interleaved":
            y = b.tensor(kind, [f"2 * {n}"], "out")
            b.say(f"{y}[2 * i] = {one} where i in 0:{n}")
            b.say(f"{y}[2 * i{b.pick('', ' + 1')}] = {one} where i in 0:{n}{b.pick('', ' - 1')}")
        else:
            y = b.tensor(kind, [n, f"{m} + 1"], "out")
            b.say(f"{y}[i, j] = {one} where j in {b.pick('0', '1')}:{m}{b.pick('', ' + 1')}")
        return
    y = b.tensor(kind, [b.pick(n, n, m)], "out")
    b.say(f"{y}[i] = " + b.pick(f"{x}[i + 1]", f"{x}[i - 1]", f"{x}[2 * i]", f"{x}[{n} - i]", f"{x}[i // 2 + 1]", f"{x}[i]", f"{x}[i + 1] if i > 0 else 0",
                                f"{x}[i - 1] if i >= 0 else 0", f"sum[k in 0:{n} + 1]({x}[k])", f"sum[k in -1:{n}]({x}[k])", f"max[i - 1 <= k <= i]({x}[k])",
                                f"sum[0 <= k <= {n}]({x}[k])", f"{x}[{n} - 1]", f"{x}[i % {m}]", f"{x}.pad(0)[i] + {x}[i ^ 1]"))
