#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels whose names are words that C++ and CUDA keep for themselves compile, and run on the emulator.

    names.py KERNELC [--nvrtc libnvrtc.so]

Every word of codegen/ReservedNames.inc, every macro that the compilers at hand predefine and some words that the emitted text
uses is a tensor, a scalar, a size, an index of either kind, a `let`, an output, a constant, a function and a kernel. A text has
many of them in each role, so that NVRTC and clang (which the emulator runs on) have few to compile.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path.insert(0, os.path.join(HERE, "..", "meaning"))
import npy  # noqa: E402

# What no name of a program may be: the language's own words and types.
OWN = set("def fn let reducer schedule import require where if else and or not in const inout True False true false inf nan pi".split())
TYPE = re.compile(r"(f64|f32|f16|bf16|f8e4m3|f8e5m2|[iu](64|32|16|8|4)|bool)$")
USED = """KC_HOST kc_shared kc_memory KCE_INLINE kce tid lane bar at dim3 float4 uint2 uchar4 longlong2 size_t threadIdx blockIdx blockDim gridDim
warpSize isnan isinf isfinite signbit fmaf rsqrtf printf int8_t uint32_t memcpy memset half cudaError CUDA_VERSION CU_STREAM _Bool __shared__
__global__ _Float16 __restrict__ __CUDACC__ __cplusplus state entries Thunk Entry Module main malloc"""
PER_TEXT = 14
ROLES = ["tensor", "scalar", "rows", "columns", "index", "reduced", "let", "output", "constant", "function"]


def words(nvrtc):
    with open(os.path.join(ROOT, "codegen", "ReservedNames.inc")) as f:
        table = re.findall(r'"(\w+)"', f.read())
    macros = []
    if nvrtc:
        script = [sys.executable, os.path.join(ROOT, "codegen", "reserved.py"), "--macros-only", "--nvrtc", nvrtc]
        macros = subprocess.run(script, check=True, capture_output=True, text=True).stdout.split()
    # Of a family of hundreds, which a rule takes care of, a few.
    families = {}
    for m in macros:
        families.setdefault(m[:4], []).append(m)
    macros = [m for members in families.values() for m in members[:8]]
    return [w for w in dict.fromkeys([*table, *USED.split(), *macros]) if w not in OWN and not TYPE.match(w)]


def program(name, lists):
    """One statement, and one launch, for each word of a role."""
    functions, params, outs, body = "", [], [], []
    for t in range(PER_TEXT):
        x, s, n, m, i, k, let, y, const, fn = (lists[r][t] for r in ROLES)
        functions += f"fn {fn}(e) {{ e + 1 }}\n"
        params += [f"{x}: f32[{n}, {m}]", f"{s}: f32", f"const {const}: f32 = 2"]
        outs.append(f"{y}: f32[{n}]")
        body += [f"let {let}[{i}] = sum[{k}]({x}[{i}, {k}])", f"{y}[{i}] = {fn}({let}[{i}] * {s} * {const} + f32({i}))"]
    return f"{functions}def {name}({', '.join(params)}) -> ({', '.join(outs)}) {{\n  " + "\n  ".join(body) + "\n}\n"


def call(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return "" if done.returncode == 0 else f"{' '.join(command[:4])}: exit {done.returncode}\n{done.stderr[:3000]}"


def check(kernelc, folder, name, lists):
    """Complaints of the compilers about one program."""
    text, cubin, header, x = (os.path.join(folder, f) for f in ("f.kc", "f.cubin", "f.h", "x.npy"))
    with open(text, "w") as f:
        f.write(program(name, lists))
    npy.write(x, "f32", [[1, 2], [3, 4], [5, 6]])
    given = [f"{w}={x}" for w in lists["tensor"]] + [f"{w}=2" for w in lists["scalar"]]
    outs = [a for n, w in enumerate(lists["output"]) for a in ("-o", f"{w}={os.path.join(folder, f'y{n}.npy')}")]
    complaints = [call(kernelc, "compile", text, "--emit", "cubin", "--arch", "sm_90a", "-o", cubin),
                  call(kernelc, "run", text, *given, *outs, "--device", "emulator", "--arch", "sm_90a")]
    if not complaints[1]:
        for n, w in enumerate(lists["output"]):
            got = npy.read(os.path.join(folder, f"y{n}.npy"))
            if got != [13, 30, 47]:  # (3, 7, 11) * 2 * 2 + i + 1
                complaints.append(f"output {w}: {got}")
    if os.path.exists("/usr/local/cuda/include/cuda.h"):
        complaints.append(call(kernelc, "compile", text, "--emit", "header", "-o", header) or
                          call("clang-22", "-fsyntax-only", "-Wall", "-Wno-unused-function", "-x", "c", "-I/usr/local/cuda/include", header))
    return [c for c in complaints if c]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernelc")
    parser.add_argument("--nvrtc", default="/usr/local/cuda/lib64/libnvrtc.so", help="asked for its macros, where it is")
    args = parser.parse_args()
    every = words(args.nvrtc if os.path.exists(args.nvrtc) else None)
    padded = every + [f"filler{i}" for i in range(-len(every) % PER_TEXT)]
    chunks = [padded[i:i + PER_TEXT] for i in range(0, len(padded), PER_TEXT)]
    assert len(chunks) >= len(ROLES)
    complaints = []
    with tempfile.TemporaryDirectory() as folder:
        # Each role takes the chunks in turn, so that no text has a word twice.
        for c in range(len(chunks)):
            lists = {role: chunks[(c + r) % len(chunks)] for r, role in enumerate(ROLES)}
            complaints += check(args.kernelc, folder, "f", lists)
        for w in every:  # entries begin with kc_
            with open(os.path.join(folder, "k.kc"), "w") as f:
                f.write(f"def {w}(x: f32[N]) -> (y: f32[N]) {{ y[i] = x[i] }}\n")
            text = subprocess.run([args.kernelc, "compile", f.name, "--emit", "cuda"], capture_output=True, text=True)
            if not re.search(rf"__global__ void .*\bkc_{w}\(", text.stdout):
                complaints.append(f"kernel {w}: {text.stderr}")
    print("\n".join(complaints))
    print(f"{len(every)} words, {len(chunks)} texts, {len(complaints)} complaints")
    sys.exit(bool(complaints))


if __name__ == "__main__":
    main()
