# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The kernels of examples/ and of this folder with small sizes, and calls of kernelc on them: what the surveys share."""
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "docs", "scripts"))
from wrap import wrap  # noqa: E402


class Kernel:
    def __init__(self, file, name, sizes):
        self.file, self.name, self.sizes = file, name, sizes  # sizes: ["M=3", ..]; examples leave them open

    @property
    def title(self):
        return f"{os.path.basename(self.file)[:-3]}: {self.name}"


def kernels():
    """Every kernel once, with the first of its small sizes; refused ones are left out."""
    found = []
    for file in sorted(glob.glob(os.path.join(ROOT, "examples", "*.kc")) + glob.glob(os.path.join(ROOT, "test", "conformance", "*.kc"))):
        small, refused = None, False
        for line in open(file):
            words = line[1:].split()
            if re.match(r"# \d", line):
                small, refused = None, False
            elif line.startswith("#   small") and small is None:
                small = words[1:]
            elif line.startswith("#   refused"):
                refused = True
            elif line.startswith("def "):
                name = line[4:line.index("(")]
                if not refused and all((k.file, k.name) != (file, name) for k in found):
                    found.append(Kernel(file, name, small or []))
                small, refused = None, False
    return found


def call(kernelc, command, kernel, *options, inputs=None):
    """Runs `kernelc check` or another command; sizes and scalars that it misses are given until it has all. `inputs`: the
    generator of every floating tensor."""
    sets, values, extent = list(kernel.sizes), [], 8 if open_sizes(kernel) > 3 else 64
    if inputs:
        values = [f"{name}={inputs}" for name in float_inputs(kernel)]
    while True:
        args = [kernelc, command, kernel.file, "--kernel", kernel.name, *options, *values]
        for s in sets:
            args += ["--set", s]
        run = subprocess.run(args, capture_output=True, text=True)
        if size := re.search(r"nothing determines size '(\w+)'", run.stderr):
            sets.append(f"{size[1]}={extent}")
        elif scalar := re.search(r"scalar '\w+' has no value: give (\w+)=NUMBER", run.stderr):
            values.append(f"{scalar[1]}=1.5")
        elif "require" in run.stderr and extent < 128 and not kernel.sizes:
            sets, extent = [], 64 if extent < 64 else 128
        else:
            return run, sets


def open_sizes(kernel):
    """How many sizes its tensors have."""
    head = re.search(r"^def " + kernel.name + r"\(.*?\{", open(kernel.file).read(), re.M | re.S)
    return len(set(re.findall(r"\b[A-Z]\b", head[0])))


def float_inputs(kernel):
    """Names of the tensors of floats that the kernel reads."""
    text = open(kernel.file).read()
    head = re.search(r"^def " + kernel.name + r"\((.*?)\)\s*(?:->|\{)", text, re.M | re.S)
    return re.findall(r"(\w+): (?:f64|f32|f16|bf16|f8e4m3|f8e5m2)\[", head[1]) if head else []


def replace_table(path, marker, text):
    """Puts `text` between the lines <!-- marker --> and <!-- end of marker --> of a page."""
    page = open(path).read()
    begin, end = f"<!-- {marker} -->\n", f"<!-- end of {marker} -->"
    before, rest = page.split(begin, 1)
    after = rest.split(end, 1)[1]
    with open(path, "w") as f:
        f.write(wrap(before + begin + text + end + after))
