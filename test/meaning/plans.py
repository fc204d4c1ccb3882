#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewrites that may not change what a program is planned to.

Draws programs (pointwise ones, reductions of rows and columns, products, updates behind a total) and writes each in other ways, with
the rewriter of rewrites.py: operands and statements swapped, subexpressions named by `let`s or each output by one, an output in
pieces. All versions are planned to as many launches, and to bytes that differ by less than 5 %, with known sizes and without.

    plans.py KERNELC [--count 200] [--seed 1] [--only SEED] [--arch sm_90a]
"""
import argparse
import copy
import os
import random
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
from launches import Refused, plan
from rewrites import Program, every, name_subexpression, show, swap_operands, swap_statements

NEAR = 0.05
_UNARY = ("relu", "tanh", "sigmoid", "exp", "silu", "abs")


class Draw:
    """A program over rows i of A points and columns j of B, with inner sums over C."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.p = Program()
        self.kind = self.r.choice(("pointwise", "pointwise", "rows", "rows", "columns", "product", "product", "total"))
        self.type = self.r.choice(("f32", "bf16"))

    def sizes(self):
        a, b, c = self.r.choice(((512, 1024, 256), (4096, 4096, 128), (128, 2304, 512), (100, 1000, 60), (2048, 64, 1024)))
        return {"A": a, "B": b, "C": c}

    def program(self):
        self.p.sizes = []
        getattr(self, self.kind)()
        if self.r.random() < 0.3 and self.kind != "total":
            self.out(["i", "j"], ["A", "B"], self.expression(["i", "j"], 2))
        named = {d for s in self.p.outs for d in (*s[2], *re.findall(r"\b[ABC]\b", show(s[3])))}
        self.p.sizes = sorted(named - {d for _, _, dims in self.p.inputs for d in dims})
        return self.p

    def out(self, left, shape, tree):
        self.p.outs.append([f"y{len(self.p.outs)}", left, shape, tree, ""])

    def read(self, subscripts, fresh=False):
        dims = [{"i": "A", "j": "B", "k": "C", "l": "B", "m": "A"}[s] for s in subscripts]
        known = [n for n, _, d in self.p.inputs if d == dims]
        if known and not fresh and self.r.random() < 0.7:
            return ["read", self.r.choice(known), "", list(subscripts)]
        name = f"x{len(self.p.inputs)}"
        self.p.inputs.append((name, self.type, dims))
        return ["read", name, "", list(subscripts)]

    def unary(self, tree):
        return ["apply", self.r.choice(_UNARY), tree]

    def expression(self, indices, depth):
        kind = self.r.randrange(8)
        if depth == 0 or kind < 2:
            some = indices if self.r.random() < 0.75 or not indices else [self.r.choice(indices)]
            return self.read(some) if some else ["text", "2"]
        if kind < 6:
            return ["+*", self.r.choice("++*-"), self.expression(indices, depth - 1), self.expression(indices, depth - 1)]
        return self.unary(self.expression(indices, depth - 1))

    def reduce(self, op, index, size, body):
        return ["reduce", op, [(index, f"{index} in 0:{size}")], [], body]

    def pointwise(self):
        for _ in range(self.r.randrange(1, 4)):
            self.out(["i", "j"], ["A", "B"], self.expression(["i", "j"], 3))

    def rows(self):
        x = self.expression(["i", "l"], self.r.choice((0, 0, 1)))
        names = ["i", "l"]
        stats = [self.reduce(self.r.choice(("sum", "max", "mean", "min")), "l", "B", self.r.choice((x, ["+*", "*", x, copy.deepcopy(x)], self.unary(x))))
                 for _ in range(self.r.choice((1, 2, 2)))]
        if self.r.random() < 0.5:
            for s in stats:
                self.out(["i"], ["A"], s)
        else:
            moved = renamed(x, {"l": "j"})
            total = stats[0] if len(stats) == 1 else ["+*", "+", *stats[:2]]
            self.out(["i", "j"], ["A", "B"], ["+*", self.r.choice("-*"), moved, total])
            if self.r.random() < 0.4:
                self.out(["i", "j"], ["A", "B"], copy.deepcopy(moved))

    def columns(self):
        x = self.expression(["m", "j"], self.r.choice((0, 1)))
        for _ in range(self.r.choice((1, 2))):
            self.out(["j"], ["B"], self.reduce(self.r.choice(("sum", "max", "mean")), "m", "A", self.r.choice((copy.deepcopy(x), self.unary(x)))))

    def product(self):
        product = self.reduce("sum", "k", "C", ["+*", "*", self.read(["i", "k"], True), self.read(self.r.choice((["k", "j"], ["j", "k"])), True)])
        for _ in range(self.r.choice((1, 1, 2))):
            tree = product
            for _ in range(self.r.randrange(3)):
                tree = self.r.choice((self.unary(tree), ["+*", "+", tree, self.read(self.r.choice((["j"], ["i"], ["i", "j"])))], ["+*", "*", tree, self.read(["j"])]))
            self.out(["i", "j"], ["A", "B"], copy.deepcopy(tree))

    def total(self):
        x = self.read(["i", "j"], True)
        total = ["reduce", self.r.choice(("sum", "max")), [("m", "m in 0:A"), ("l", "l in 0:B")], [], ["+*", "*", renamed(x, {"i": "m", "j": "l"}), renamed(x, {"i": "m", "j": "l"})]]
        self.out([], [], total)
        for _ in range(self.r.choice((1, 2))):
            self.out(["i", "j"], ["A", "B"], ["+*", "*", self.expression(["i", "j"], 1), copy.deepcopy(total)])


def renamed(tree, names):
    tree = copy.deepcopy(tree)
    for t in every(tree):
        if t[0] == "read":
            t[3] = [names.get(s, s) for s in t[3]]
    return tree


def name_outputs(p, r):
    """A `let` for each output."""
    for s in p.outs:
        if not s[1]:
            continue
        name = f"whole_{s[0]}"
        p.lets.append([name, list(s[1]), s[3], " where " + ", ".join(f"{i} in 0:{n}" for i, n in zip(s[1], s[2]))])
        s[3] = ["read", name, "", list(s[1])]


def in_pieces(p, r):
    """Pointwise outputs over two columns in one: y[i, j, 0] and y[i, j, 1] against y[i, j, c]."""
    outs = [s for s in p.outs if s[1] == ["i", "j"] and not any(t[0] == "reduce" for t in every(s[3]))]
    if len(outs) < 2 or outs[0][4]:
        return False
    for c, s in enumerate(outs[:2]):
        s[4] = ("piece", c)
    return True


def text_of(p):
    """The program's text; outputs marked as pieces are one tensor."""
    pieces = sorted((s for s in p.outs if s[4]), key=lambda s: s[4][1])
    if not pieces:
        return p.text()
    q = copy.deepcopy(p)
    q.outs = [s for s in q.outs if not s[4]]
    body = q.text()
    head, rest = body.split("{\n", 1)
    comma = ", " if q.outs else ""
    head = head.rstrip()[:-1] + f"{comma}pieces: f32[2, A, B]) "
    lines = "".join(f"  pieces[{s[4][1]}, i, j] = {show(s[3])}\n" for s in pieces)
    return head + "{\n" + rest.rstrip()[:-1] + lines + "}\n"


def rewritten(base, seed):
    r = random.Random(seed)
    changes = (("operands swapped", swap_operands), ("statements swapped", swap_statements), ("a subexpression named", name_subexpression),
               ("another one named", name_subexpression), ("a let per output", name_outputs), ("in pieces", in_pieces))
    for what, change in changes:
        version = copy.deepcopy(base)
        if change(version, r) is not False:
            yield what, version


def check(kernelc, folder, seed, arch):
    """(has a product or a reduction, complaints)"""
    draw = Draw(seed)
    base, sizes = draw.program(), draw.sizes()
    path = os.path.join(folder, "f.kc")
    complaints = []

    def planned(text, known):
        with open(path, "w") as f:
            f.write(text)
        given = [f"{n}={v}" for n, v in sizes.items() if n in base.sizes or any(n in dims for _, _, dims in base.inputs)]
        return plan(kernelc, path, given if known else (), sizes, arch)[0]

    first = {known: planned(text_of(base), known) for known in (True, False)}
    for what, version in rewritten(base, seed):
        text = text_of(version)
        for known in (True, False):
            try:
                got = planned(text, known)
            except Refused as e:
                complaints.append(f"seed {seed}, {what}: {e}\n{text}")
                break
            old = first[known]
            if len(got.launches) != len(old.launches) or abs(got.bytes - old.bytes) > NEAR * old.bytes:
                complaints.append(f"seed {seed}, {what}, sizes {sizes if known else 'unknown'}: {line(old)}, then {line(got)}\n{text_of(base)}--\n{text}")
    return any(t[0] == "reduce" for s in base.outs for t in every(s[3])), complaints


def line(p):
    return f"{len(p.launches)} launches, {p.bytes / 1e6:.3f} MB"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernelc")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="the seed of one program")
    parser.add_argument("--arch", default="sm_90a")
    args = parser.parse_args()
    complaints, reducing = [], 0
    seeds = [args.only] if args.only is not None else [args.seed * 1000000 + n for n in range(args.count)]
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            reduces, found = check(args.kernelc, folder, seed, args.arch)
            reducing += reduces
            complaints += found
    print("\n".join(complaints))
    print(f"{len(seeds)} programs, {reducing} of them with a product or a reduction, {len(complaints)} complaints")
    sys.exit(bool(complaints) or reducing * 2 < len(seeds))


if __name__ == "__main__":
    main()
