#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewrites that may change neither whether a program is accepted nor what it computes.

Draws programs, and of each some versions: factors and terms swapped, statements that do not read each other, requirements
and parameters swapped, indices of a bracket swapped or renamed, a subexpression named by a `let`, ranges spelled otherwise,
sizes fixed by `--set`. All are accepted or all are refused (fixed sizes may only accept more), and those that are accepted
give the same bits on the CPU device. Tensors hold small integers, so that sums in another order are the same.

--emulator: what a GPU computes, too, by both variants, whose sizes come from the tensors. The general one knows none of them,
so that it is planned for larger ones: what takes sums apart that are long does so at sizes that an emulator has time for.

    rewrites.py KERNELC [--count 24] [--seed 1] [--only SEED] [--emulator sm_90a]
"""
import argparse
import copy
import os
import random
import re
import subprocess
import sys
import tempfile

import npy

SIZES = ["A", "B", "C"]


class Program:
    """Statements `y0[i, j] = tree`, the inputs that they read, and what is required of the sizes."""

    def __init__(self):
        self.lets, self.outs, self.inputs, self.requires = [], [], [], []
        self.sizes = SIZES  # of which each has a tensor

    def text(self):
        params = [f"s{s}: f32[{s}]" for s in self.sizes] + [f"{n}: {t}[{', '.join(d)}]" for n, t, d in self.inputs]
        outs = [f"{n}: f32[{', '.join(d)}]" for n, _, d, _, _ in sorted(self.outs, key=lambda o: o[0])]
        body = [f"  require {r}" for r in self.requires]
        for name, left, tree, where in self.lets:
            body.append(f"  let {name}[{', '.join(left)}] = {show(tree)}{where}")
        for name, left, _, tree, where in self.outs:
            body.append(f"  {name}[{', '.join(left)}] = {show(tree)}{where}")
        return f"def f({', '.join(params)}) -> ({', '.join(outs)}) {{\n" + "\n".join(body) + "\n}\n"


def show(t):
    kind = t[0]
    if kind == "text":
        return t[1]
    if kind == "read":
        return f"{t[1]}{t[2]}[{', '.join(t[3])}]"
    if kind == "+*":
        return f"({show(t[2])} {t[1]} {show(t[3])})"
    if kind == "call":
        return f"{t[1]}({show(t[2])}, {show(t[3])})"
    if kind == "apply":
        return f"{t[1]}({show(t[2])})"
    if kind == "if":
        return f"({show(t[2])} if {t[1]} else {show(t[3])})"
    items = [index if not spelled else spelled for index, spelled in t[2]] + t[3]
    return f"{t[1]}[{', '.join(items)}]({show(t[4])})"


def children(t):
    return {"+*": (2, 3), "call": (2, 3), "if": (2, 3), "apply": (2,), "reduce": (4,)}.get(t[0], ())


class Draw:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.p = Program()
        self.fresh = 0

    def pick(self, *options):
        return self.r.choice(options)

    def chance(self, percent):
        return self.r.randrange(100) < percent

    def program(self):
        self.p.requires = self.r.sample(["A >= 1", "B <= A", "C <= B", "A % B == 0", "B >= 1", "C == 2 * B", "A >= 2 * B"], self.r.randrange(3))
        for n in range(self.pick(1, 2, 2)):
            self.output(f"y{n}")
        return self.p

    def output(self, name):
        if self.chance(25):
            return self.known(name)
        shape = self.pick(["A"], ["A", "B"], ["A * B"], ["A - C + 1"], ["A + B"], ["2 * B"], ["B", "C"], ["A // 2"])
        left, where, known = [], "", {}
        if shape == ["A * B"] and self.chance(70):
            left, known = [self.pick("i * B + j", "j + B * i", "j + i * B")], {"i": "A", "j": "B"}
            where = " where i in 0:A, j in 0:B"
        else:
            left = ["i", "j"][:len(shape)]
            known = dict(zip(left, shape))
        self.p.outs.append([name, left, shape, self.tree(known, 3), where])

    def known(self, name):
        """Forms that were refused, or accepted in one spelling, beside what is drawn."""
        form = self.r.randrange(6)
        if form == 4:  # rows of groups, whose bounds are one comparison or two conditions
            bounds = self.read(["C + 1"], [])[1]
            self.p.inputs[-1] = (bounds, "i32", ["C + 1"])
            tree = ["reduce", "sum", [("k", "")], [], ["+*", "*", self.read(["A", "B"], ["i", "k"]), self.read(["C", "B"], ["g", "k"])]]
            shape, left, where = ["A"], ["i"], f" where {bounds}[g] <= i < {bounds}[g + 1]"
        elif form == 5:  # a window of two dims, beside a factor of rows or of one of its dims
            factor = self.pick(self.read(["A", "16"], ["i", "s"]), self.read(["16", "B"], ["r", "j"]), self.read(["16"], ["s"]))
            window = self.read(["A + 15", "2 * B + 15"], ["i + r", "2 * j + s"])
            terms = ["+*", self.pick("*", "+"), *self.pick([factor, window], [window, factor])]
            tree = ["reduce", self.pick("sum", "max"), [("r", "r in 0:16"), ("s", "s in 0:16")], [], terms]
            shape, left, where = ["A", "B"], ["i", "j"], ""
        elif form == 0:  # a filter turned round: only one factor gives k its range
            self.p.requires.append("C <= A")
            tree = ["reduce", "sum", [("k", "")], [], ["+*", "*", self.read(["A"], ["i + k"]), self.read(["C"], ["C - 1 - k"])]]
            shape, left, where = ["A - C + 1"], ["i"], ""
        elif form == 1:  # adaptive pooling: both bounds move
            self.p.requires.append("A >= B")
            window = self.pick("k in i * A // B:((i + 1) * A + B - 1) // B", "k in i * A // B:(i * A + A + B - 1) // B")
            tree = ["reduce", self.pick("max", "mean", "sum"), [("k", window)], [], self.read(["A"], ["k"])]
            shape, left, where = ["B"], ["i"], ""
        elif form == 2:  # three indices in one
            left = [self.pick("(i * B + j) * C + k", "k + C * (j + B * i)", "i * B * C + j * C + k")]
            tree, shape, where = self.read(["A", "B", "C"], ["i", "j", "k"]), ["A * B * C"], ""
        else:  # ranges from both factors
            tree = ["reduce", "sum", [("k", "")], [], ["+*", "*", self.read(["A"], ["k - 1"]), self.read(["A"], ["k + 1"])]]
            tree = ["+*", "+", tree, self.read(["B"], ["i"])]
            shape, left, where = ["B"], ["i"], ""
        self.p.outs.append([name, left, shape, tree, where])

    def read(self, dims, subscripts):
        name = f"x{len(self.p.inputs)}"
        self.p.inputs.append((name, "f32", dims))
        return ["read", name, "", subscripts]

    def tree(self, known, depth):
        kind = self.r.randrange(10)
        if depth == 0 or kind < 2:
            return self.leaf(known)
        if kind < 6:
            return ["+*", self.pick("+", "*", "*"), self.tree(known, depth - 1), self.tree(known, depth - 1)]
        if kind == 6:
            return ["call", self.pick("max", "min"), self.tree(known, depth - 1), self.tree(known, depth - 1)]
        if kind == 7:
            i = self.pick(*known) if known else None
            cond = f"{i} {self.pick('>', '<')} {self.pick('0', '1', 'B')}" if i else "A > 1"
            return ["if", cond, self.tree(known, depth - 1), self.leaf(known)]
        return self.reduction(known, depth)

    def reduction(self, known, depth):
        op = self.pick("sum", "sum", "max", "min", "mean", "argmax", "argmin")
        items, inner = [], dict(known)
        for k in self.r.sample(["k", "l"], 1 if op.startswith("arg") else self.pick(1, 1, 2)):
            size = self.pick(*SIZES)
            outer = self.pick(*known) if known else None
            form = self.r.randrange(6)
            if form == 0 and outer:
                lo, hi = self.pick((outer, f"{outer} + 2"), (f"2 * {outer}", f"2 * {outer} + B"), (f"{outer} * B // A", f"(({outer} + 1) * B + A - 1) // A"))
                items.append((k, f"{k} in {lo}:{hi}"))
                inner[k] = None
            elif form < 3:
                lo = self.pick("0", "0", "1")
                items.append((k, f"{k} in {lo}:{size}"))
                inner[k] = size if lo == "0" else None
            else:
                items.append((k, ""))
                inner[k] = None
        conditions = [f"{items[0][0]} {self.pick('<', '>=')} {self.pick('1', 'C', '2')}"] if self.chance(15) else []
        body = ["+*", "*", self.leaf(inner, items), self.leaf(inner, items)]
        if self.chance(40):
            body = ["+*", self.pick("+", "*"), body, self.tree(inner, max(depth - 2, 0))]
        if op.startswith("arg"):
            return ["call", "max", ["text", "0"], ["text", f"f32({show(['reduce', op, items, conditions, body])})"]]
        return ["reduce", op, items, conditions, body]

    def leaf(self, known, wanted=()):
        if not known or self.chance(8):
            return ["text", self.pick("2", "3.0", "1")]
        if self.p.inputs and self.chance(10):
            name, _, dims = self.r.choice(self.p.inputs)
            subscripts = [self.subscript(known, wanted)[0] for _ in dims]
        else:
            name = f"x{len(self.p.inputs)}"
            pairs = [self.subscript(known, wanted) for _ in range(self.pick(1, 1, 2))]
            subscripts = [s for s, _ in pairs]
            dims = [d if d and self.chance(92) else self.pick(*SIZES, "A + B", "2 * A", "B + C") for _, d in pairs]
            self.p.inputs.append((name, self.pick("f32", "f32", "f16"), dims))
        sure = all(s in known or known.get(s.split()[0]) for s in subscripts)
        return ["read", name, "" if self.chance(90 if sure else 50) else self.pick(".pad(0)", ".pad(0)", ".pad(1)"), subscripts]

    def subscript(self, known, wanted):
        """A subscript, and the dim that it needs, where that is easily said."""
        i = self.pick(*(k for k, _ in wanted)) if wanted and self.chance(75) else self.pick(*known)
        j = self.pick(*known)
        c = self.pick("1", "2")
        n, m = known[i], known[j]
        forms = [(i, n), (i, n), (i, n), (f"{i} + {c}", n and f"{n} + {c}"), (f"{c} * {i}", n and f"{c} * ({n})"), (f"{i} // {c}", n), (f"{i} % B", "B"),
                 (f"B * {i}", n and f"B * ({n})"), (f"{i} - {c}", n), (f"{i} + {j}", n and m and f"{n} + {m}"),
                 (f"{c} * {i} + {j}", n and m and f"{c} * ({n}) + {m}"), (f"{i} * B + {j}", n and m and f"({n}) * B + {m}")]
        forms += [(f"{s} - 1 - {i}", s) for s in SIZES if n in (None, s)]
        return self.pick(*forms)


def swap_operands(p, r):
    for s in p.outs + p.lets:
        tree = s[3] if len(s) == 5 else s[2]
        for t in every(tree):
            if (t[0] == "call" or (t[0] == "+*" and t[1] != "-")) and r.random() < 0.5:
                t[2], t[3] = t[3], t[2]
            if t[0] == "reduce" and r.random() < 0.5:
                t[2].reverse()


def swap_statements(p, r):
    for part in (p.outs, p.requires, p.inputs):
        r.shuffle(part)


def rename_indices(p, r):
    """Those of brackets and of left sides, by their place in the text."""
    names = dict(zip("ijkl", r.sample(["m", "n", "o", "q", "a0", "z"], 4)))

    def replaced(text):
        return "".join(names.get(w, w) for w in split_words(text))

    for s in p.outs:
        s[1], s[4] = [replaced(x) for x in s[1]], replaced(s[4])
        for t in every(s[3]):
            if t[0] == "text":
                t[1] = replaced(t[1])
            if t[0] == "read":
                t[3] = [replaced(x) for x in t[3]]
            if t[0] == "if":
                t[1] = replaced(t[1])
            if t[0] == "reduce":
                t[2], t[3] = [(replaced(i), replaced(x)) for i, x in t[2]], [replaced(x) for x in t[3]]


def split_words(text):
    out = [""]
    for c in text:
        word = c.isalnum() or c == "_"
        if out[-1] and word == (out[-1][-1].isalnum() or out[-1][-1] == "_"):
            out[-1] += c
        else:
            out.append(c)
    return out


def respell_ranges(p, r):
    for s in p.outs:
        s[4] = split_bounds(s[4], r.choice([", ", " and "]), r.random() < 0.5)
        for t in every(s[3]):
            if t[0] == "reduce":
                t[2] = [(i, chained(i, x, r.random() < 0.5)) for i, x in t[2]]


def split_bounds(where, by, turned):
    """A bound of groups as two conditions."""
    bounds = re.fullmatch(r" where (\S+) <= (\w+) < (.+)", where)
    if not bounds:
        return where
    lo, index, hi = bounds.groups()
    return f" where {index} < {hi}{by}{index} >= {lo}" if turned else f" where {lo} <= {index}{by}{index} < {hi}"


def chained(index, spelled, upwards):
    if " in " not in spelled:
        return spelled
    lo, hi = spelled.split(" in ", 1)[1].split(":")
    return f"{lo} <= {index} < {hi}" if upwards else f"{hi} > {index} >= {lo}"


def name_subexpression(p, r):
    """A `let` over all indices around it, whose ranges the program says; none where something guards it."""
    places = []

    def visit(t, indices, parent, slot):
        if parent is not None and t[0] != "text" and indices and all(indices.values()):
            places.append((parent, slot, t, dict(indices)))
        if t[0] == "if":
            return
        inner = indices
        if t[0] == "reduce":
            if t[3]:
                return
            inner = dict(indices)
            for i, x in t[2]:
                inner[i] = x.split(":")[1] if x.startswith(f"{i} in 0:") else None
        for c in children(t):
            visit(t[c], inner, t, c)

    for s in p.outs:
        if "<" in s[4]:  # its sum runs over more indices than it says
            continue
        sizes = dict(zip("ij", ["A", "B"])) if s[4] else dict(zip(s[1], s[2])) if not s[1] or s[1][0] in "ij" else dict(zip("ijk", "ABC"))
        visit(s[3], sizes, s, 3)
    if not places:
        return False
    parent, slot, tree, indices = r.choice(places)
    name = "named"
    p.lets.append([name, list(indices), tree, " where " + ", ".join(f"{i} in 0:{n}" for i, n in indices.items())])
    parent[slot] = ["read", name, "", list(indices)]
    return True


def every(t):
    yield t
    for c in children(t):
        yield from every(t[c])


class Runner:
    def __init__(self, kernelc, folder, emulated=None):
        self.kernelc, self.folder, self.emulated, self.runs, self.valued = kernelc, folder, emulated, 0, 0

    def file(self, text):
        path = os.path.join(self.folder, "f.kc")
        with open(path, "w") as f:
            f.write(text)
        return path

    def call(self, *args):
        done = subprocess.run([self.kernelc, *args], capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise SystemExit(f"kernelc ends with {done.returncode} on\n{open(args[1]).read()}\n{done.stderr}")
        return done

    def verdict(self, text, sets=()):
        """What the frontend says: '' or its first error."""
        done = self.call("compile", self.file(text), "--emit", "te", *sets)
        return "" if done.returncode == 0 else done.stderr.strip().splitlines()[0]

    def values(self, program, text, sizes, flags=(), device="cpu"):
        """The bytes of every output; None where the sizes contradict what is required, or give a negative dim."""
        self.runs += 1
        given = []
        for s, n in sizes.items():
            path = os.path.join(self.folder, f"s{s}.npy")
            npy.write(path, "f32", [0] * n)
            given.append(f"s{s}={path}")
        given += [f"{n}=iota" for n, _, _ in program.inputs]
        names = sorted(o[0] for o in program.outs)
        for n in names:
            given += ["-o", f"{n}={os.path.join(self.folder, n)}.npy"]
        done = self.call("run", self.file(text), *given, "--device", device, *flags)
        if done.returncode != 0:
            return None, done.stderr
        return [open(os.path.join(self.folder, f"{n}.npy"), "rb").read() for n in names], ""


def rewritten(base, seed):
    """Named versions of the program."""
    r = random.Random(seed)
    for what, change in (("operands swapped", swap_operands), ("statements swapped", swap_statements), ("indices renamed", rename_indices),
                         ("ranges respelled", respell_ranges), ("a subexpression named", name_subexpression)):
        version = copy.deepcopy(base)
        if change(version, r) is not False and version.text() != base.text():
            yield what, version
    version = copy.deepcopy(base)
    swap_operands(version, r)
    swap_statements(version, r)
    rename_indices(version, r)
    yield "all of it", version


def fitting(requires, r):
    """Small sizes of which the requirements hold: they are Python's."""
    sizes = {}
    for _ in range(200):
        sizes = {s: r.choice([1, 2, 3, 4, 6]) for s in SIZES}
        if all(eval(q, {}, sizes) for q in requires):
            break
    return sizes


def check(runner, seed):
    """Complaints about the programs of this seed."""
    base = Draw(seed).program()
    r = random.Random(seed)
    text = base.text()
    first = runner.verdict(text)
    sizes = fitting(base.requires, r)
    expected, why = runner.values(base, text, sizes) if not first else (None, "")
    out = []
    runner.valued += expected is not None

    def complain(what, other, more):
        out.append(f"seed {seed}, {what}: {more}\n{text}--\n{other}")

    for what, version in rewritten(base, seed):
        other = version.text()
        verdict = runner.verdict(other)
        if bool(verdict) != bool(first):
            complain(what, other, f"{first or 'accepted'} / {verdict or 'accepted'}")
        elif expected is not None:
            got, why = runner.values(version, other, sizes)
            if got != expected:
                complain(what, other, f"other values of {sizes} {why}")
    if first or expected is None:
        return out
    for variant in ("default", "general") if runner.emulated else ():
        flags = ["--arch", runner.emulated, "--variant", variant]
        got, why = runner.values(base, text, sizes, flags, "emulator")
        if got != expected:
            complain(" ".join(flags), "", f"other values of {sizes} {why}")
    for fixed in (r.sample(SIZES, 1), r.sample(SIZES, 2), SIZES):
        sets = [a for s in fixed for a in ("--set", f"{s}={sizes[s]}")]
        got, why = runner.values(base, text, sizes, sets)
        if got != expected:
            complain(" ".join(sets), "", f"other values of {sizes} {why}")
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernelc")
    parser.add_argument("--count", type=int, default=24, help="programs that run; refused ones are drawn beside them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the seed of one program")
    parser.add_argument("--emulator", metavar="ARCH", help="compare with this GPU, too")
    args = parser.parse_args()
    complaints, seed = [], args.seed * 1000000
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(args.kernelc, folder, args.emulator)
        if args.only is not None:
            print(Draw(args.only).program().text())
            complaints = check(runner, args.only)
        while args.only is None and runner.valued < args.count:
            seed += 1
            complaints += check(runner, seed)
    print("\n".join(complaints))
    print(f"{seed - args.seed * 1000000} programs, {runner.valued} of them run, {runner.runs} times, {len(complaints)} complaints")
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
