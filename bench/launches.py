#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches, workspace and planned bytes of kernels, a line each: to compare two spellings of one program.

Planned bytes are those of the tensors that launches take, once a launch: inputs, outputs and workspaces. Neither a GPU nor
NVRTC is needed. A size that is not given is not known to the planner; `--like` says what to count it as.

    launches.py KERNELC FILE.kc [--kernel NAME ..] [--set N=4096 ..] [--like M=64 ..] [--arch sm_90a]
    launches.py KERNELC --list [launches.txt] [--unknown]     a table of the kernels that the file names, and what is planned otherwise than its pair
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

_BITS = {"bool": 8, "i4": 4, "u4": 4, "f8e4m3": 8, "f8e5m2": 8, "f8e8m0": 8, "f16": 16, "bf16": 16}


@dataclass
class Planned:
    kernel: str
    launches: list = field(default_factory=list)  # (entry, bytes)
    workspace: int = 0

    @property
    def bytes(self):
        return sum(n for _, n in self.launches)


class Refused(Exception):
    """What the compiler says of a text that it does not take."""


def _bits(name):
    return _BITS.get(name) or int("".join(c for c in name if c.isdigit()))


def _value(terms, sizes, strides=None):
    """A size expression in postfix (support/ArtifactJson.cpp)."""
    two = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "//": lambda a, b: a // b if b else 0,
           "ceildiv": lambda a, b: -(-a // b) if b else 0, "%": lambda a, b: a % b if b else 0, "min": min, "max": max, "==": lambda a, b: int(a == b),
           "!=": lambda a, b: int(a != b), "<": lambda a, b: int(a < b), "<=": lambda a, b: int(a <= b), "and": lambda a, b: int(bool(a and b)), "or": lambda a, b: int(bool(a or b))}
    stack = []
    for t in terms:
        if t in two:
            b, a = stack.pop(), stack.pop()
            stack.append(two[t](a, b))
        elif t == "not":
            stack.append(int(not stack.pop()))
        elif isinstance(t, str):
            stack.append(132 if t == "sm_count" else sizes[int(t.split(":")[1])] if t.startswith("size:") else 1)
        else:
            stack.append(t)
    return stack[-1] if stack else 0


def _planned(kernel, like):
    missing = [s["name"] for s in kernel["sizes"] if "constant" not in s and s["name"] not in like]
    if missing:
        raise SystemExit(f"kernel '{kernel['name']}': --like says nothing of {', '.join(missing)}")
    sizes = [s.get("constant", like.get(s["name"], 0)) for s in kernel["sizes"]]
    variant = kernel["variants"][0]
    tensors = {}
    for n, p in enumerate(kernel["params"]):
        elements = _bits(p["type"])
        for d in p["dims"]:
            elements *= _value(d, sizes)
        tensors[n] = -(-elements // 8)
    held = {_value(w["offset"], sizes): _value(w["bytes"], sizes) for w in variant["workspaces"]}
    out = Planned(kernel["name"], workspace=_value(variant["workspace_bytes"], sizes))
    for launch in variant["launches"]:
        taken = set()
        for a in launch["args"]:
            base = a.get("base", a) if a["kind"] == "tensor_map" else a
            if "offset" in base:
                taken.add((base["param"], _value(base["offset"], sizes)))
        out.launches.append((launch["entry"], sum(tensors[p] if p >= 0 else held.get(o, 0) for p, o in taken)))
    return out


def plan(kernelc, path, sets=(), like=None, arch="sm_90a", variant=None):
    """What every kernel of the file is planned to; Refused where the compiler has an error."""
    command = [kernelc, "compile", path, "--emit", "json", "--arch", arch, "-o", "-"]
    for s in sets:
        command += ["--set", s]
    if variant:
        command += ["--variant", variant]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 1:
        raise Refused(done.stderr.strip().splitlines()[0] if done.stderr.strip() else "refused")
    if done.returncode != 0:
        raise SystemExit(f"kernelc ends with {done.returncode} on {path}:\n{done.stderr}")
    like = {**dict(like or {}), **{s.split("=")[0]: int(s.split("=")[1]) for s in sets}}
    return [_planned(k, like) for k in json.loads(done.stdout)["kernels"]]


_HERE = os.path.dirname(os.path.abspath(__file__))


def _only(path, kernel):
    """The text of one kernel of a file whose kernels call none of each other."""
    with open(path) as f:
        text = f.read()
    return re.search(rf"^def {kernel}\(.*?(?=^def |^#|\Z)", text, re.MULTILINE | re.DOTALL).group()


def table(kernelc, path, arch, unknown=False):
    """Plans what the lines of `path` name, their sizes unknown to the planner if so; how many are not planned like their pairs."""
    seen, unlike = {}, 0
    print("| kernel | sizes | launches | workspace, MB | planned, MB | |\n|---|---|--:|--:|--:|---|")
    for line in open(path):
        words = line.split("#")[0].split()
        if not words:
            continue
        file, (kernel, _, pair), sizes = words[0], words[1].partition("="), words[2:]
        with tempfile.NamedTemporaryFile("w", suffix=".kc") as f:
            f.write(_only(os.path.join(_HERE, "kernels", file), kernel))
            f.flush()
            [p] = plan(kernelc, f.name, [] if unknown else sizes, {s.split("=")[0]: int(s.split("=")[1]) for s in sizes}, arch)
        seen[kernel, tuple(sizes)] = p
        like = seen.get((pair, tuple(sizes)))
        differs = like and (len(like.launches) != len(p.launches) or abs(like.bytes - p.bytes) > 0.05 * like.bytes)
        unlike += bool(differs)
        says = f"unlike {pair}" if differs else f"as {pair}" if like else ""
        print(f"| {kernel} | {' '.join(sizes)} | {len(p.launches)} | {p.workspace / 1e6:.3f} | {p.bytes / 1e6:.1f} | {says} |", flush=True)
    return unlike


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernelc")
    parser.add_argument("file", nargs="?")
    parser.add_argument("--list", nargs="?", const=os.path.join(_HERE, "launches.txt"))
    parser.add_argument("--kernel", action="append", help="only these")
    parser.add_argument("--set", action="append", default=[], help="NAME=VALUE, known at compile time")
    parser.add_argument("--like", action="append", default=[], help="NAME=VALUE, to count an unknown size as")
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--unknown", action="store_true", help="with --list: its sizes only say what unknown ones count as")
    args = parser.parse_args()
    if args.list:
        sys.exit(table(args.kernelc, args.list, args.arch, args.unknown))
    like = {s.split("=")[0]: int(s.split("=")[1]) for s in args.like}
    try:
        kernels = plan(args.kernelc, args.file, args.set, like, args.arch)
    except Refused as e:
        sys.exit(str(e))
    for k in kernels:
        if not args.kernel or k.kernel in args.kernel:
            print(f"{k.kernel:24} {len(k.launches):2} launches {k.workspace / 1e6:12.3f} MB workspace {k.bytes / 1e6:12.3f} MB planned   "
                  + ", ".join(e.removeprefix(f"kc_{k.kernel}_") for e, _ in k.launches))


if __name__ == "__main__":
    main()
