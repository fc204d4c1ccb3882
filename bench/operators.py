#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The operators of test/conformance at their full sizes beside PyTorch: eager, and torch.compile where an operator is not one
call of a library.

    operators.py [WORDS ..] [--tf32] [--part 1/2]    kernels whose title has one of the words; products and convolutions in TF32
    operators.py --device cpu                        at their small sizes on the CPU: whether both compute the same

Inputs are uniform in [0, 1). Results are compared with eager's first, by the largest value (absolutely where that is near 0); then
contenders take turns, the L2 flushed before each run. cuDNN searches its algorithms (benchmark mode). Needs PyTorch; times need a
GPU of 80 GB.
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
from compile_time import extents, kernels, small_sizes  # noqa: E402
from harness import Gpu  # noqa: E402
from kernelc import _library as roles  # noqa: E402
from workloads import TYPES  # noqa: E402


def convolution(function, **options):
    return lambda x, f: function(x, f, **options)


def group_norm(x, gain, bias):
    return F.group_norm(x, 8, gain, bias)


def masked_cumsum(x, mask):
    return torch.cumsum(x * mask, 1)


def index_add(at, g, y):
    return y.index_add_(0, at, g)


# What is one call of cuBLAS or cuDNN, which torch.compile makes too.
LIBRARY = {
    "matmul": torch.matmul, "matmul_batched": torch.bmm, "matmul_4d": torch.matmul, "matmul_transposed_b": lambda a, b: a @ b.T,
    "conv_1d": F.conv1d, "conv_2d": F.conv2d, "conv_3d": F.conv3d, "conv_pointwise_2d": F.conv2d,
    "conv_depthwise_2d": lambda x, f: F.conv2d(x, f, groups=x.shape[1]),
    "conv_transposed_1d": convolution(F.conv_transpose1d, stride=2, padding=1, dilation=2),
    "conv_transposed_2d": F.conv_transpose2d,
    "conv_transposed_2d_strided": convolution(F.conv_transpose2d, stride=5, padding=1, dilation=2),
    "conv_transposed_2d_grouped": convolution(F.conv_transpose2d, stride=(2, 3), padding=(1, 2), dilation=(2, 1), groups=4),
    "conv_transposed_3d": F.conv_transpose3d,
    "conv_transposed_3d_strided": convolution(F.conv_transpose3d, stride=2, padding=1, dilation=2),
    "conv_transposed_3d_grouped": convolution(F.conv_transpose3d, stride=2, padding=1, groups=4),
    "scaled_dot_product_attention": F.scaled_dot_product_attention,
}
GENERATED = {
    "relu_all": torch.relu, "sigmoid_all": torch.sigmoid, "softmax_rows": lambda x: torch.softmax(x, 1), "swish": F.silu, "selu": F.selu,
    "softplus_all": F.softplus, "elu_all": F.elu, "matrix_scalar": lambda a, s: a * s,
    "matmul_lower_triangular": lambda a, b: torch.tril(a @ b),
    "cross_entropy": F.cross_entropy, "triplet_margin": lambda a, p, n: F.triplet_margin_loss(a, p, n, margin=1.0),
    "batch_norm": lambda x, gain, bias: F.batch_norm(x, None, None, gain, bias, training=True), "group_norm": group_norm,
    "frobenius_norm": lambda x: x / torch.norm(x), "l2_norm": lambda x: x / torch.norm(x, dim=1, keepdim=True),
    "max_pool_1d": lambda x: F.max_pool1d(x, 8, 1, 4, 3), "max_pool_3d": lambda x: F.max_pool3d(x, 3, 2, 1, 3),
    "average_pool_2d": lambda x: F.avg_pool2d(x, 11),
    "sum_middle": lambda x: x.sum(1, keepdim=True), "max_middle": lambda x: x.amax(1), "argmax_middle": lambda x: x.argmax(1),
    "min_middle": lambda x: x.amin(1),
    "cumsum": lambda x: torch.cumsum(x, 1), "cumsum_reverse": lambda x: x.flip(1).cumsum(1).flip(1), "masked_cumsum": masked_cumsum,
    "histogram": lambda x: torch.bincount(x, minlength=256), "index_add": index_add,
}


def inputs_of(kernel, sizes, device):
    """Tensors and scalars of a kernel's inputs, in the order of its text."""
    found = []
    for (name, kind, role, _), shape in zip(kernel.params, kernel.shapes):
        if role == roles.PARAM_OUTPUT:
            continue
        if role == roles.PARAM_SCALAR:
            found.append(3.14)
            continue
        extent = extents(shape, sizes)
        if kind == "bool":
            found.append(torch.rand(extent, device=device) < 0.5)
        elif kind in TYPES:
            found.append(torch.rand(extent, device=device).to(TYPES[kind]))
        else:
            limit = {"target": sizes.get("C"), "at": sizes.get("R")}.get(name, 256)
            found.append(torch.randint(0, limit, extent, device=device).to(getattr(torch, {"i64": "int64", "i32": "int32", "u8": "uint8"}[kind])))
    if kernel.name == "matmul_lower_triangular":
        found = [torch.tril(x) for x in found]
    return found


WIDE = {torch.float8_e4m3fn: torch.float32, torch.uint32: torch.int64, torch.uint8: torch.int32, torch.int8: torch.int32, torch.bool: torch.int32}


def difference(result, expected):
    """The largest difference and the largest value; in slices, since results take many GB."""
    most = error = 0.0
    for r, e in zip(result.reshape(-1).split(1 << 28), expected.reshape(-1).split(1 << 28)):
        r, e = r.to(WIDE.get(r.dtype, r.dtype)), e.to(WIDE.get(r.dtype, r.dtype))
        error, most = max(error, (r - e).abs().max().item()), max(most, e.abs().max().item())
    return error, most


def timed(contenders):
    """Median milliseconds of each, in turns: many rounds of short runs, few of long ones."""
    gpu = Gpu(0)
    longest = max(gpu.measure(contenders, 1).values())[0]
    return {name: statistics.median(us) / 1e3 for name, us in gpu.measure(contenders, max(3, min(15, int(6e5 / longest)))).items()}


class Comparison:
    """kernelc beside PyTorch. args: device, tf32, warm (nothing is timed). `limit`: of the difference, by the largest value
    (absent: by the type)"""

    def __init__(self, args, limit=None):
        self.args, self.limit = args, limit

    def times(self, text, name, inputs, peer, compiled, others, sizes):
        """The difference in words and the milliseconds of each contender: none where nothing is timed, None where the result is wrong."""
        kernel = kernelc.compile(text, precision="contract=tf32" if self.args.tf32 else None, **sizes).kernels[name]
        own, given = inputs(), inputs()
        cell, right = self.compared(kernel, own, kernel(*own), peer(*given))
        del own
        if not right:
            return cell, None
        if self.args.device != "cuda":
            return cell, {}
        contenders = {"kernelc": lambda: kernel(*given)}
        eager = {"eager" + str(n or ""): lambda run=run: run(*given) for n, run in enumerate((peer, *others))}
        contenders |= eager
        if compiled:
            torch._dynamo.reset()
            by_inductor = torch.compile(peer)
            by_inductor(*given)
            contenders["torch.compile"] = lambda: by_inductor(*given)
        if getattr(self.args, "warm", False):
            return cell, {}
        times = timed(contenders)
        times["eager"] = min(times.pop(n) for n in eager)
        return cell, times

    def compared(self, kernel, own, result, expected):
        """The largest difference of the results, in words, and whether it is within the limit. Of a tuple the first are what the kernel
        reads and writes, of one result without any the last argument."""
        if isinstance(expected, (tuple, list)):
            inputs = [role for _, _, role, _ in kernel.params if role != roles.PARAM_OUTPUT]
            written = [x for x, role in zip(own, inputs) if role == roles.PARAM_INOUT]
            results = written + (list(result) if isinstance(result, tuple) else [] if result is None else [result])
        else:
            results, expected = [own[-1] if result is None else result], [expected]
        worst, cell, right = -1.0, "", True
        for r, e in zip(results, expected, strict=True):
            if r.numel() != e.numel():
                return f"{list(r.shape)} in place of {list(e.shape)}", False
            error, most = difference(r, e)
            limit = self.limit or (1e-2 if e.element_size() < 4 else 5e-3 if self.args.tf32 else 1e-3)
            right &= error < limit * (most if most > limit else 1)
            share = error / most if most > limit else error
            if not share <= worst:
                worst, cell = share, f"{share:.1e}" if most > limit else f"{share:.1e} of values near 0"
        return cell, right


class Table(Comparison):
    """Rows of a comparison, as they come."""

    def __init__(self, args, what, limit=None):
        super().__init__(args, limit)
        self.least, self.failed, self.start = [], 0, time.monotonic()
        torch.backends.cudnn.benchmark = True
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = args.tf32
        print(f"| {what} | difference | kernelc, ms | × eager | × torch.compile |\n|---|--:|--:|--:|--:|", flush=True)

    def row(self, title, text, name, inputs, peer, compiled=False, others=(), sizes=None):
        """`inputs()` are the arguments, `peer` of the same, as are `others` (eager is the fastest); `compiled`: beside torch.compile, too;
        `sizes`: those that no input has."""
        try:
            cells = self.measure(text, name, inputs, peer, compiled, others, sizes or {})
        except Exception as error:  # noqa: BLE001: a row of the table
            self.failed += 1
            cells = [f"{type(error).__name__}: {str(error).splitlines()[0][:120]}", "", "", ""]
        print(f"| {title} | {' | '.join(cells)} |", flush=True)
        if self.args.device == "cuda":
            torch.cuda.empty_cache()

    def measure(self, text, name, inputs, peer, compiled, others, sizes):
        cell, times = self.times(text, name, inputs, peer, compiled, others, sizes)
        if times is None:
            self.failed += 1
            return [cell, "wrong", "", ""]
        if not times:
            return [cell, "", "", ""]
        ratios = {n: ms / times["kernelc"] for n, ms in times.items() if n != "kernelc"}
        self.least.append(min(ratios.values()))
        return [cell, f"{times['kernelc']:.3f}"] + [f"{ratios[n]:.2f}" if n in ratios else "" for n in ("eager", "torch.compile")]

    def end(self):
        """Prints what the rows come to; the exit status."""
        if self.least:
            print(f"\n{len(self.least)} rows, geometric mean of the better peer's ratio {statistics.geometric_mean(self.least):.3f}, "
                  f"least {min(self.least):.2f}, {sum(r < 0.9 for r in self.least)} under 0.9; {time.monotonic() - self.start:.0f} s")
        return 1 if self.failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--tf32", action="store_true")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    args = parser.parse_args()
    rows = [r for r in kernels() if "conformance" in r[1] and (r[2] in LIBRARY or r[2] in GENERATED and not args.tf32)]
    rows = [r for r in rows if not args.words or any(word in r[0] for word in args.words)]
    part, parts = map(int, args.part.split("/"))
    table = Table(args, "operator")
    for title, path, name, sizes in rows[part - 1::parts]:
        if args.device == "cpu":
            sizes = small_sizes(path, name)
        text = open(path).read()

        def inputs():
            torch.manual_seed(1)
            return inputs_of(kernelc.compile(text).kernels[name], {k: int(v) for k, v in (s.split("=") for s in sizes)}, args.device)

        table.row(title, text, name, inputs, LIBRARY.get(name) or GENERATED[name], name in GENERATED)
    sys.exit(table.end())


if __name__ == "__main__":
    main()
