#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fused sequences drawn by a seed: a product or convolution and 2 to 5 operations behind it, of the sizes of benchmarks.

    sequences.py SEED                        prints the 36 kernels
    sequences.py SEED --compile KERNELC      seconds of `kernelc compile` without a cache, process start included
    sequences.py SEED --check KERNELC        checks them at small sizes (--device emulator, --arch sm_90a)
    sequences.py SEED --bench KERNELC        times them on a GPU by `kernelc bench`
    sequences.py SEED --peers [--part 1/2] [--only 12,26 ..]
                                             times them on a GPU beside PyTorch, eager and compiled, results compared first

    sequences.py SEED --peers --device cpu   whether both compute the same, at small sizes

The last four take --tf32: products and convolutions round their operands to it, in PyTorch too.

Of each 36, 12 are transposed convolutions (8 of stride 2, half in 3-D), 12 convolutions (half in 3-D) and 12 products. The
operations are drawn from bias, activation, norm, pool, softmax, reduction, residual and scale. SEED is to be drawn after the last
tuning. `kernelc check` holds each element to its error bound, so that one whose true value is near 0 is judged absolutely.
"""
import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from compile_time import cold, quantile

ACTIVATIONS = ["relu", "gelu", "sigmoid", "tanh", "silu", "mish", "hardswish", "softplus"]


class Sequence:
    """A kernel under construction: its last tensor has the indices `names` of the extents `sizes`."""

    def __init__(self, title, rng, small):
        self.title, self.rng, self.small = title, rng, small
        self.params, self.lets, self.ops, self.torch = [], [], [], []
        self.names, self.sizes, self.tensor = [], [], ""

    def size(self, full, small):
        """One draw at either scale, so that the same seed gives the same sequence."""
        assert len(full) == len(small)
        return self.rng.choice(small if self.small else full)

    def param(self, name, sizes):
        name = f"{name}{len(self.params)}"
        self.params.append(f"{name}: f32[{', '.join(map(str, sizes))}]")
        return name

    def at(self, *names):
        return f"{self.tensor}[{', '.join(names or self.names)}]"

    def let(self, value, names=None, sizes=None):
        """The next tensor, an element for each value of its indices."""
        tensor = f"t{len(self.lets)}"
        names, sizes = names or list(self.names), sizes or list(self.sizes)
        where = ", ".join(f"{i} in 0:{s}" for i, s in zip(names, sizes))
        self.lets.append(f"let {tensor}[{', '.join(names)}] = {value} where {where}")
        self.tensor, self.names, self.sizes = tensor, names, sizes

    def text(self, name):
        *lets, last = self.lets
        last = last.replace(f"let {self.tensor}[", "y[", 1)
        body = "".join(f"  {line}\n" for line in [*lets, last])
        out = f"y: f32[{', '.join(map(str, self.sizes))}]"
        return f"# {self.title}: {', '.join(self.ops)}\ndef {name}({', '.join(self.params)}) -> ({out}) {{\n{body}}}\n"

    def along_channels(self, name):
        """A vector of PyTorch along this tensor's second dim."""
        return f"{name}.view(1, -1{', 1' * (len(self.sizes) - 2)})"

    def peer(self, name):
        """The same in PyTorch: the text of a function of the parameters."""
        params = ", ".join(p.split(":")[0] for p in self.params)
        return f"def {name}({params}):\n" + "".join(f"    t = {line}\n" for line in self.torch) + "    return t\n"

    # What a sequence starts with.

    def product(self):
        m, n, k = (self.size([1024, 2048, 4096, 16384], [33, 40, 64, 70]) for _ in range(3))
        x, w = self.param("x", [m, k]), self.param("w", [n, k])
        self.let(f"sum[k]({x}[i, k] * {w}[j, k])", ["i", "j"], [m, n])
        self.torch.append(f"{x} @ {w}.T")
        self.terms = k

    def convolution(self, rank, transposed, stride):
        batch, c, o = self.size([8, 16, 32], [1, 2, 2]), self.size([16, 32, 64], [3, 4, 8]), self.size([32, 64, 128], [4, 8, 9])
        extents = [self.size([64, 128, 256] if rank == 2 else [16, 32, 48], [5, 6, 8]) for _ in range(rank)]
        taps = self.size([3, 3, 5], [3, 3, 3])
        names, steps = ["h", "w", "v"][:rank], ["r", "s", "t"][:rank]
        x = self.param("x", [batch, c, *extents])
        f = self.param("f", ([c, o] if transposed else [o, c]) + [taps] * rank)
        if transposed:
            out = [(e - 1) * stride + taps for e in extents]
            divides = "".join(f", ({i} - {r}) % {stride} == 0" for i, r in zip(names, steps)) if stride > 1 else ""
            places = [f"({i} - {r}) // {stride}" if stride > 1 else f"{i} - {r}" for i, r in zip(names, steps)]
            factors = f"{x}.pad(0)[n, c, {', '.join(places)}] * {f}[c, o, {', '.join(steps)}]"
            value = f"sum[c, {', '.join(steps)}{divides}]({factors})"
        else:
            out = [e - taps + 1 for e in extents]
            places = [f"{i} + {r}" for i, r in zip(names, steps)]
            value = f"sum[c, {', '.join(steps)}]({x}[n, c, {', '.join(places)}] * {f}[o, c, {', '.join(steps)}])"
        self.let(value, ["n", "o", *names], [batch, o, *out])
        self.terms = c * taps ** rank
        self.torch.append(f"F.conv_transpose{rank}d({x}, {f}, stride={stride})" if transposed else f"F.conv{rank}d({x}, {f})")

    # What may follow. Channels are the second index.

    def bias(self):
        b = self.param("b", [self.sizes[1]])
        self.let(f"{self.at()} + {b}[{self.names[1]}]")
        self.torch.append(f"t + {self.along_channels(b)}")

    def activation(self):
        function = self.rng.choice(ACTIVATIONS)
        self.let(f"{function}({self.at()})")
        self.ops[-1] = function
        self.torch.append(f"F.{function}(t)")

    def norm(self):
        """Over channels, or over a channel's points."""
        over = self.rng.choice([self.names[1:2], self.names[2:] or self.names[1:2]])
        walked = {i: i + "1" for i in over}
        kept = [(i, s) for i, s in zip(self.names, self.sizes) if i not in over]
        element = self.at(*(walked.get(i, i) for i in self.names))
        whole, names, sizes = self.at(), list(self.names), list(self.sizes)
        indices, (kept_names, kept_sizes) = ", ".join(walked.values()), zip(*kept)
        self.let(f"mean[{indices}]({element})", list(kept_names), list(kept_sizes))
        mean = self.at()
        self.let(f"mean[{indices}](({element} - {mean}) ** 2)", list(kept_names), list(kept_sizes))
        self.let(f"({whole} - {mean}) * rsqrt({self.at()} + 1e-5)", names, sizes)
        self.ops[-1] = f"norm over {', '.join(over)}"
        dims = tuple(names.index(i) for i in over)
        self.torch += [f"t - t.mean({dims}, keepdim=True)", f"t * torch.rsqrt((t * t).mean({dims}, keepdim=True) + 1e-5)"]

    def pool(self):
        kind = self.rng.choice(["max", "mean"])
        spatial = self.names[2:]
        steps = [i + "2" for i in spatial]
        walked = ", ".join(f"{s} in 0:2" for s in steps)
        places = [f"2 * {i} + {s}" for i, s in zip(spatial, steps)]
        self.let(f"{kind}[{walked}]({self.at(*self.names[:2], *places)})", sizes=self.sizes[:2] + [s // 2 for s in self.sizes[2:]])
        self.ops[-1] = kind + " pool"
        self.torch.append(f"F.{'max' if kind == 'max' else 'avg'}_pool{len(spatial)}d(t, 2)")

    def softmax(self):
        over = self.names[1]
        self.let(f"softmax[{over}]({self.at()})")
        self.torch.append("torch.softmax(t, 1)")

    def reduction(self):
        """Over points, or over the last index of a matrix."""
        over = self.names[2:] or self.names[1:]
        kind = self.rng.choice(["mean", "max", "sum"])
        kept = len(self.names) - len(over)
        inner = self.at(*self.names[:kept], *(i + "3" for i in over))
        self.let(f"{kind}[{', '.join(i + '3' for i in over)}]({inner})", self.names[:kept], self.sizes[:kept])
        self.ops[-1] = f"{kind} over {', '.join(over)}"
        self.torch.append(f"t.{'amax' if kind == 'max' else kind}({tuple(range(kept, kept + len(over)))})")

    def residual(self):
        r = self.param("r", self.sizes)
        self.let(f"{self.at()} + {r}[{', '.join(self.names)}]")
        self.torch.append(f"t + {r}")

    def scale(self):
        """By a number, or by one of each channel."""
        gain = self.rng.choice(["0.5", "1.7", ""]) if len(self.names) > 1 else "0.5"
        g = None if gain else self.param("g", [self.sizes[1]])
        self.let(f"{self.at()} * " + (gain or f"{g}[{self.names[1]}]"))
        self.torch.append("t * " + (gain or self.along_channels(g)))

    def extend(self):
        for _ in range(self.rng.randint(2, 5)):
            # Pools and reductions need points to go over, what goes along channels needs channels.
            may = ["activation", "residual", "scale"]
            may += ["bias", "norm", "softmax", "reduction"] if len(self.names) > 1 else []
            may += ["pool"] if len(self.names) > 2 and min(self.sizes[2:]) >= 2 else []
            name = self.rng.choice(may)
            self.ops.append(name)
            getattr(self, name)()


def draw(seed, small=False):
    """(name, text) of 36 kernels."""
    return [(f"sequence{n}", s.text(f"sequence{n}")) for n, s in enumerate(sequences_of(seed, small))]


def sequences_of(seed, small):
    for n in range(36):
        rng = random.Random(f"{seed}.{n}")
        rank = 2 + n % 2
        if n < 12:
            stride = 2 if n < 8 else 1
            s = Sequence(f"transposed convolution in {rank}-D, stride {stride}", rng, small)
            s.convolution(rank, True, stride)
        elif n < 24:
            s = Sequence(f"convolution in {rank}-D", rng, small)
            s.convolution(rank, False, 1)
        else:
            s = Sequence("product", rng, small)
            s.product()
        s.extend()
        yield s


def compile_all(args):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, text in draw(args.seed):
            file = os.path.join(folder, name + ".kc")
            with open(file, "w") as f:
                f.write(text)
            wall, cpu = (min(v) for v in zip(*(cold(args.compile, file, name, []) for _ in range(args.repeats))))
            rows.append((name, text.split("\n")[0][2:], wall, cpu))
    print("| sequence | | wall s | CPU s |\n|---|---|--:|--:|")
    for name, what, wall, cpu in rows:
        print(f"| {name} | {what} | {wall:.2f} | {cpu:.2f} |")
    for what, value in (("median", statistics.median), ("95 %", lambda v: quantile(v, 0.95)), ("most", max)):
        print(f"| {what} | | {value([r[2] for r in rows]):.2f} | {value([r[3] for r in rows]):.2f} |")
    return 0


def run_each(rows, command):
    """Runs `command(file, name)` for each (name, text), and says what it said last."""
    failed = count = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, text in rows:
            count += 1
            file = os.path.join(folder, name + ".kc")
            with open(file, "w") as f:
                f.write(text)
            run = subprocess.run([*command(file, name)], capture_output=True, text=True)
            failed += run.returncode != 0
            print(f"{name}: {(run.stdout.strip() or run.stderr.strip()).splitlines()[-1] if run.stdout or run.stderr else ''}", flush=True)
            if run.returncode:
                print(text + run.stdout + run.stderr)
    print(f"{count} kernels, {failed} failed")
    return 1 if failed else 0


def beside_torch(args):
    import torch
    import torch.nn.functional as F
    from operators import Table
    table = Table(args, "sequence")
    part, parts = map(int, args.part.split("/"))
    chosen = [(n, s) for n, s in enumerate(sequences_of(args.seed, args.device == "cpu")) if not args.only or n in args.only]
    for n, s in chosen[part - 1::parts]:
        def inputs():
            torch.manual_seed(n)
            extents = [[int(e) for e in p.split("[")[1].strip("]").split(",")] for p in s.params]
            return [torch.randn(e, device=args.device) / (s.terms if i == 1 else 1) ** 0.5 for i, e in enumerate(extents)]

        name, scope = f"sequence{n}", {"torch": torch, "F": F}
        exec(s.peer(name), scope)
        table.row(f"{n}: {s.title}, {', '.join(s.ops)}", s.text(name), name, inputs, scope[name], True)
    return table.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("seed")
    parser.add_argument("--compile", metavar="KERNELC")
    parser.add_argument("--check", metavar="KERNELC")
    parser.add_argument("--bench", metavar="KERNELC")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--tf32", action="store_true")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--only", type=lambda text: [int(n) for n in text.split(",")], help="the numbers of --peers' rows")
    parser.add_argument("--device", help="of --check: emulator where nothing is said; of --peers: cuda")
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--repeats", type=int, default=1)
    args = parser.parse_args()
    if args.compile:
        return compile_all(args)
    precision = ["--precision", "contract=tf32", "--allow-unbounded"] if args.tf32 else []  # (norms of a few values have no bound then)
    if args.check:
        command = [args.check, "check", "--device", args.device or "emulator", "--arch", args.arch, *precision]
        return run_each(draw(args.seed, True), lambda file, name: [*command, file])
    if args.bench:
        return run_each(draw(args.seed), lambda file, name: [args.bench, "bench", file, *precision[:2]])
    if args.peers:
        args.device = args.device or "cuda"
        return beside_torch(args)
    for _, text in draw(args.seed):
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
