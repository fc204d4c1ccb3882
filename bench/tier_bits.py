#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether the fast tier's code gives the same bits as the full one's: every kernel of examples/, test/conformance and the drawn
sequences, at small sizes on a GPU, with NVRTC as it is and with the options of fast code in every compile (nvrtc_tier.c). A table of those that
differ, and their number; exit status 1 where one does. Both are code of one plan: which of a kernel's ranked plans is kept depends on what
NVRTC makes of them, and another plan may add in another order. Needs PyTorch, a GPU, and `cc` or a built shim.

    tier_bits.py [--seed 1] [--jobs 16] [--limit 100] [--nvrtc FILE] [--shim FILE] [--options "--Ofast-compile=mid -DKC_LOOPS=4"]
                 [--keep DIR]
"""
import argparse
import ctypes
import glob
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
OPTIONS = "--Ofast-compile=mid -DKC_LOOPS"  # driver/jit/Tiers.cpp, where long kernels have -DKC_LOOPS=4


def find_nvrtc():
    """The path of the library that kernelc would open."""
    named = os.environ.get("KERNELC_LIBNVRTC")
    if named:
        return os.path.realpath(named)
    for name in ("libnvrtc.so.13", "libnvrtc.so.12"):
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        with open("/proc/self/maps") as maps:
            return next(os.path.realpath(line.split()[-1]) for line in maps if "libnvrtc.so" in line)
    places = [sysconfig.get_paths()["purelib"] + "/nvidia/*/lib", "/usr/local/cuda/lib64"]
    found = [f for place in places for f in sorted(glob.glob(place + "/libnvrtc.so.1[23]"))]
    return found[-1] if found else sys.exit("no NVRTC was found; name it with --nvrtc")


def wrapped(nvrtc, shim, options, folder):
    """A library that compiles with the option, beside the files that say so."""
    path = os.path.join(folder, os.path.basename(nvrtc))
    if shim:
        shutil.copy(shim, path)
    else:
        subprocess.run(["cc", "-O1", "-fPIC", "-shared", os.path.join(HERE, "nvrtc_tier.c"), "-o", path, "-ldl"], check=True)
    for name, line in (("real", nvrtc), ("option", options)):
        with open(os.path.join(folder, name), "w") as f:
            f.write(line + "\n")
    return path


def bits(nvrtc, file, a):
    """{kernel: hash of its results, or what it failed with}"""
    done = subprocess.run([sys.executable, os.path.join(HERE, "first_launch.py"), "--seed", str(a.seed), "--jobs", str(a.jobs), "--limit", str(a.limit),
                           "--first-plan", "--bits", file], env={**os.environ, "KERNELC_LIBNVRTC": nvrtc}, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    with open(file) as f:
        return json.load(f)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=16)
    parser.add_argument("--limit", type=float, default=1e9, help="seconds of each tier after which no further kernel is begun")
    parser.add_argument("--nvrtc", metavar="FILE")
    parser.add_argument("--options", default=OPTIONS, help="of fast code [%(default)s]")
    parser.add_argument("--shim", metavar="FILE", help="nvrtc_tier.c, built elsewhere")
    parser.add_argument("--keep", metavar="DIR", help="where both lists of hashes stay")
    a = parser.parse_args()
    nvrtc = a.nvrtc or find_nvrtc()
    with tempfile.TemporaryDirectory() as folder:
        keep = a.keep or folder
        os.makedirs(keep, exist_ok=True)
        full = bits(nvrtc, os.path.join(keep, "full.json"), a)
        fast = bits(wrapped(nvrtc, a.shim, a.options, folder), os.path.join(keep, "fast.json"), a)
    is_hash = lambda v: len(v) == 16 and all(c in "0123456789abcdef" for c in v)
    compared = [k for k in full if is_hash(full[k]) and is_hash(fast.get(k, ""))]
    differ = [k for k in compared if full[k] != fast[k]]
    if differ:
        print("| kernel | full | fast |\n|---|---|---|")
        for k in differ:
            print(f"| {k} | {full[k]} | {fast[k]} |")
    for k in full:
        if not is_hash(full[k]):
            print(f"not compared: {k}: {full[k]}")
        elif not is_hash(fast.get(k, "")):
            print(f"not compared: {k}: {fast.get(k, 'not reached within the limit')}")
    print(f"{len(compared)} kernels compared, {len(differ)} differ")
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
