#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random products with epilogues, at sizes that tests cannot run, under the cost model's own schedules.

    python3 test/conformance/random_products.py build/ci/tools/kernelc --seed 1 --count 300          # compiles, sizes up to 12345
    python3 test/conformance/random_products.py build/ci/tools/kernelc --seed 1 --count 50 --check   # runs in the emulator, small sizes

EmulatorFuzzTests draw schedules for small sizes; here the sizes choose them: a plan that a target has no shared memory or no
threads for is a failure, as is a result beyond its bound. Every failure is printed with its program and command line, which
stand for themselves. Exit status 1 when there was one.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

LARGE = (64, 128, 1000, 1024, 1536, 1792, 2047, 2048, 2176, 2304, 2560, 3000, 3072, 3328, 4095, 4096, 4097, 4100, 4224, 5000, 5120, 6144, 8192, 12345)
SMALL = {"M": (5, 33, 64, 100, 130, 136, 200, 257, 264, 300), "N": (8, 40, 72, 129, 136, 200, 257, 260), "K": (16, 40, 50, 64, 72, 100)}


def draw_program(r, beside=False):
    """(text, whether it has a batch B); `beside`: with a second product of the same results"""
    element = r.choice(("bf16", "bf16", "f16", "f32", "f32", "f64", "i8", "f8e4m3"))
    result = {"i8": "i32", "f64": "f64"}.get(element) or r.choice(("bf16" if element == "f8e4m3" else element, "f32"))
    batch = r.random() < 0.15
    z, zi = ("B, ", "z, ") if batch else ("", "")
    (a, ai), (b, bi) = r.choice((("M, K", "i, k"), ("K, M", "k, i"))), r.choice((("K, N", "k, j"), ("N, K", "j, k")))
    inputs, outputs = [f"a: {element}[{z}{a}]", f"b: {element}[{z}{b}]"], [f"c: {result}[{z}M, N]"]
    body = [f"let p[{zi}i, j] = sum[k](a[{zi}{ai}] * b[{zi}{bi}])"]
    value, floats = f"p[{zi}i, j]", result not in ("i32", "f64")
    if floats and r.random() < 0.3:
        inputs.append("v: f32[N]")
        value += " + v[j]"
    if floats and r.random() < 0.3:
        value = f"gelu({value})"
    if floats and r.random() < 0.25:
        inputs.append(f"r: {r.choice(('bf16', 'f32'))}[{z}M, N]")
        value += f" + r[{zi}i, j]"
    if beside:  # of one operand in common or none, that goes into the result, or makes one of its own
        (d, di), (e, ei) = r.choice((("M, K", "i, k"), ("M, L", "i, k"))), r.choice((("K, N", "k, j"), ("N, K", "j, k")))
        inputs.append(f"d: {element}[{z}{e.replace('K', 'L') if 'L' in d else e}]")
        other = f"a[{zi}{ai}]"
        if "L" in d or r.random() < 0.2:
            inputs.append(f"x: {element}[{z}{d}]")
            other = f"x[{zi}{di}]"
        body.append(f"let q[{zi}i, j] = sum[k]({other} * d[{zi}{ei}])")
        use = r.choice(("+", "+", "*", "output"))
        if use == "output":
            outputs.append(f"o: {result}[{z}M, N]")
            body.append(f"o[{zi}i, j] = q[{zi}i, j]")
        else:
            value = f"{value} + q[{zi}i, j]" if use == "+" else f"({value}) * q[{zi}i, j]"
    if not beside and r.random() < 0.15:
        outputs = [f"c: {result}[{z}N, M]"]
        body.append(f"c[{zi}j, i] = {value}")
    else:
        body.append(f"c[{zi}i, j] = {value}")
    for name, index, over, share in (("s", "i", "j", 0.15), ("u", "j", "i", 0.1)):
        if floats and r.random() < share:
            outputs.append(f"{name}: f32[{z}{'M' if index == 'i' else 'N'}]")
            body.append(f"{name}[{zi}{index}] = {r.choice(('sum', 'max'))}[{over}](p[{zi}i, j])")
    if element == "f32" and r.random() < 0.3:
        body.insert(0, "precision(contract = tf32)")
    lines = "".join(f"  {line}\n" for line in body)
    return f"def f({', '.join(inputs)}) -> ({', '.join(outputs)}) {{\n{lines}}}\n", batch


def compile_command(r, batch, has_l):
    command = ["compile", "--arch", r.choice(("sm_90a", "sm_90a", "sm_90a", "sm_80", "sm_120a")), "--emit", "cuda", "-o", os.devnull]
    fixed = r.random() < 0.5
    for name in "MNK":
        size = r.choice(LARGE)
        divisor = size & -size
        command += ["--set", f"{name}={size}"] if fixed else ["--fact", f"{name}:{divisor}:{max(size, size * 5 // 4 // divisor * divisor)}:{size}"]
    if has_l:
        command += ["--set", f"L={r.choice((16, 64, 100, 512))}"]
    return command + (["--set", "B=3"] if batch else [])


def check_command(r, batch, has_l, folder):
    command = ["check", "--device", "emulator", "--arch", "sm_90a" if r.random() < 0.8 else "sm_80"]
    for name in "MNK":
        command += ["--set", f"{name}={r.choice(SMALL[name])}"]
    if r.random() < 0.5:
        schedule = os.path.join(folder, "schedule.json")
        with open(schedule, "w") as f:
            json.dump([{"kernel": "f", "copies": r.choice(("always", "never"))}], f)
        command += ["--schedule", schedule]
    if has_l:
        command += ["--set", f"L={r.choice((8, 16, 72))}"]
    return command + (["--set", "B=2"] if batch else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernelc")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--check", action="store_true", help="run in the emulator instead")
    parser.add_argument("--beside", action="store_true", help="two products of each result")
    options = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "product.kc")
        for n in range(options.count):
            r = random.Random(f"{options.seed} {n}")
            text, batch = draw_program(r, options.beside)
            has_l = ", L]" in text or "[L, " in text
            with open(program, "w") as f:
                f.write(text)
            command, *rest = check_command(r, batch, has_l, folder) if options.check else compile_command(r, batch, has_l)
            run = subprocess.run([options.kernelc, command, program, "--kernel", "f", *rest], capture_output=True, text=True, timeout=300)
            if run.returncode:
                failures += 1
                said = [line for line in (run.stdout + run.stderr).splitlines() if "remark" not in line]
                print(f"seed {options.seed}, program {n}: kernelc {command} product.kc --kernel f {' '.join(rest)}\n{text}" + "\n".join(said[:12]) + "\n")
    print(f"{options.count} programs of seed {options.seed}, {failures} failed")
    return 1 if failures or not options.count else 0


if __name__ == "__main__":
    sys.exit(main())
