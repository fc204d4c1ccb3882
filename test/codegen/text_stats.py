#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the CUDA text of a few examples comes to: lines, names, machine code, compile time.

    test/codegen/text_stats.py KERNELC [--repeats 5]

Prints a row of a Markdown table for each example and architecture. Lines are those of the kernels, without device helpers;
`nameless` are the index values called `at`; instructions and registers are read from the cubin (of a kernel's launches
all instructions, the most registers); ms is the median time that NVRTC takes, in a process and a cache of its own.
"""
import argparse
import os
import re
import statistics
import struct
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "examples")
KERNELS = [("linear", "sm_80"), ("linear", "sm_90a"), ("softmax", "sm_80"), ("softmax", "sm_90a"), ("attention", "sm_80"),
           ("attention", "sm_90a"), ("conv2d", "sm_80"), ("conv2d", "sm_90a")]
INSTRUCTION = 16  # bytes, from sm_70 on


REGISTERS = 0x2f  # EIATTR_REGCOUNT: a symbol and its registers, as cuobjdump -elf names it


def attributes(info):
    """(attribute, payload) of a section .nv.info: format, attribute, and 16 bits of value or length."""
    at = 0
    while at < len(info):
        form, attribute, value = struct.unpack_from("<BBH", info, at)
        at += 4
        yield attribute, info[at:at + value] if form == 4 else b""
        at += value if form == 4 else 0


def code_of(cubin):
    """Instructions of all kernels, and the most registers of one: sizes of ELF sections .text.NAME, and .nv.info."""
    at, = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3a)
    sections = [struct.unpack_from("<IIQQQQIIQQ", cubin, at + i * size) for i in range(count)]
    strings = sections[names][4]
    name = lambda s: cubin[strings + s[0]:cubin.index(b"\0", strings + s[0])].decode()
    body = lambda s: cubin[s[4]:s[4] + s[5]]
    registers = [struct.unpack("<II", payload)[1] for s in sections if name(s) == ".nv.info"
                 for attribute, payload in attributes(body(s)) if attribute == REGISTERS]
    return sum(s[5] // INSTRUCTION for s in sections if name(s).startswith(".text.")), max(registers)


def run(kernelc, *args):
    with tempfile.TemporaryDirectory() as cache:
        env = dict(os.environ, KERNELC_CACHE_DIR=cache)
        return subprocess.run([kernelc, "compile", *args], check=True, capture_output=True, env=env)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kernelc")
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    print("| kernel | target | lines | nameless | instructions | registers | ms |\n|---|---|--:|--:|--:|--:|--:|")
    for example, arch in KERNELS:
        source = os.path.join(EXAMPLES, example + ".kc")
        text = run(args.kernelc, source, "--arch", arch, "--emit", "cuda").stdout.decode()
        kernels = text[text.index("\n// schedule:") + 1:]
        nameless = re.findall(r"\b(?:int|long long) at(?:_\d+)? = ", kernels)
        times = []
        for _ in range(args.repeats):
            done = run(args.kernelc, source, "--arch", arch, "--emit", "cubin", "--timing", "-o", "-")
            times.append(float(re.search(r"([\d.]+) ms  NVRTC", done.stderr.decode()).group(1)))
        instructions, registers = code_of(done.stdout)
        print(f"| {example} | {arch} | {kernels.count(chr(10))} | {len(nameless)} | {instructions} | "
              f"{registers} | {statistics.median(times):.0f} |")


if __name__ == "__main__":
    main()
