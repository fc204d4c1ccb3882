#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints codegen/ReservedNames.inc: the words that no name of the emitted text may be.

They are the keywords and alternative tokens of the standards (given here, with their clauses) and the macros that
the two compilers of the text predefine. A compiler is asked, not its manual: clang lists its macros with -dM; NVRTC
has no such option, so every word of its library is tried with #ifdef. Names that begin with '__' or with '_' and a
capital are left out: they get a '_' by rule (see Names.cpp), and so do those of a family in kFamilies there.

    codegen/reserved.py [--nvrtc libnvrtc.so] [--clang clang++-22] > codegen/ReservedNames.inc
"""
import argparse
import ctypes
import glob
import os
import re
import subprocess

# [lex.key] of C++23: table 5, and table 6 (alternative representations); identifiers with special meaning that can
# begin a line of a module's text.
CXX = """alignas alignof asm auto bool break case catch char char16_t char32_t char8_t class co_await co_return co_yield
concept const const_cast consteval constexpr constinit continue decltype default delete do double dynamic_cast else enum
explicit export extern false float for friend goto if inline int long mutable namespace new noexcept nullptr operator
private protected public register reinterpret_cast requires return short signed sizeof static static_assert static_cast
struct switch template this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile
wchar_t while import module
and and_eq bitand bitor compl not not_eq or or_eq xor xor_eq"""
# 6.4.1 of C23 beyond those: launchers are C.
C = "restrict typeof typeof_unqual"
FAMILIES = ("cuda", "CUDA", "CU_", "NV_")


def clangs_macros(clang, flags):
    text = subprocess.run([clang, "-dM", "-E", "-x", "c++", *flags, os.devnull], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^#define (\w+)", text, re.M))


def check(status, what):
    if status != 0:
        raise SystemExit(f"{what}: NVRTC says {status}")


def nvrtcs_macros(path, arch):
    """Those among the words of NVRTC's library that are defined in an empty text."""
    words = set()
    for file in {os.path.realpath(f) for f in [path, *glob.glob(os.path.join(os.path.dirname(path), "libnvrtc-builtins.so*"))]}:
        with open(file, "rb") as f:
            words |= {w.decode() for w in re.findall(rb"[A-Za-z][A-Za-z0-9_]{1,80}", f.read())}
    text = "".join(f'#ifdef {w}\nextern "C" __device__ char kc_is_{w} = 1;\n#endif\n' for w in sorted(words))
    nvrtc = ctypes.CDLL(path)
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    check(nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"words.cu", 0, None, None), "a program of words")
    flags = [f"-arch={arch}".encode(), b"-std=c++17", b"-default-device"]
    check(nvrtc.nvrtcCompileProgram(program, len(flags), (ctypes.c_char_p * len(flags))(*flags)), "words under #ifdef")
    check(nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size)), "PTX")
    ptx = ctypes.create_string_buffer(size.value)
    check(nvrtc.nvrtcGetPTX(program, ptx), "PTX")
    return set(re.findall(r"\bkc_is_(\w+)", ptx.value.decode()))


def lines(words, width=116):
    out, line = [], ""
    for w in sorted(words):
        item = f'"{w}", '
        if len(line) + len(item) > width:
            out.append(line.rstrip())
            line = ""
        line += item
    return "\n".join([*out, line.rstrip()])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nvrtc", default="/usr/local/cuda/lib64/libnvrtc.so")
    parser.add_argument("--clang", default="clang++-22")
    parser.add_argument("--macros-only", action="store_true", help="one a line, families included: for the test")
    args = parser.parse_args()
    macros = clangs_macros(args.clang, ["-std=c++20"]) | clangs_macros(args.clang, ["-std=gnu++20"])
    for arch in ("compute_75", "compute_90a", "compute_120a"):
        macros |= nvrtcs_macros(args.nvrtc, arch)
    macros = {m for m in macros if not re.match(r"_[_A-Z]", m)}
    if args.macros_only:
        print("\n".join(sorted(macros)))
        return
    print("// Made by codegen/reserved.py; do not edit.")
    print("// Keywords and alternative tokens of C++23 and C23.")
    print(lines({*CXX.split(), *C.split()}))
    print("// Macros that NVRTC and clang predefine.")
    print(lines({m for m in macros if not m.startswith(FAMILIES)}))


if __name__ == "__main__":
    main()
