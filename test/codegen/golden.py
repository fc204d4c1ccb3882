#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the CUDA text of a few examples, byte for byte, with golden/*.cu, and
compiles each with NVRTC, which must have nothing to say about it.

A change of the text is then seen in review, as a diff of what users get. To
accept one: tools on PATH (or --kernelc build/dev/tools/kernelc) and --update.
"""
import argparse
import difflib
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(HERE, "..", "..", "examples")

# Example, architecture, and why it is here.
GOLDEN = [
    ("saxpy", "sm_90a"),          # elementwise, in place
    ("softmax", "sm_90a"),        # row reductions in one launch
    ("layernorm", "sm_80"),       # several source lines in one loop
    ("transpose", "sm_80"),       # conversion of layouts through shared memory
    ("linear", "sm_90a"),         # wgmma, tensor copies, roles, staged stores
    ("linear", "sm_80"),          # bf16 mma, cp.async rings, epilogue
    ("batched_matmul", "sm_75"),  # f16 mma, without cp.async
    ("conv2d", "sm_80"),          # padded access maps
]


def run(kernelc, source, arch, kind):
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, KERNELC_CACHE_DIR=os.path.join(folder, "cache"))  # NVRTC is asked, not the cache
        product = os.path.join(folder, "product")
        done = subprocess.run([kernelc, "compile", source, "--arch", arch, "--emit", kind, "--remarks", "-o", product],
                              capture_output=True, text=True, env=env)
        return done, open(product).read() if kind == "cuda" and not done.returncode else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernelc", default="kernelc", help="the compiler (on PATH)")
    parser.add_argument("--update", action="store_true", help="accept the text as it is now")
    args = parser.parse_args()
    bad = 0
    for example, arch in GOLDEN:
        source = os.path.join(EXAMPLES, example + ".kc")
        name = f"{example}.{arch}.cu"
        path = os.path.join(HERE, "golden", name)
        done, text = run(args.kernelc, source, arch, "cuda")
        if done.returncode:
            print(f"{name}: {done.stderr}")
            bad += 1
            continue
        if args.update:
            with open(path, "w") as f:
                f.write(text)
        want = open(path).read() if os.path.exists(path) else ""
        if text != want:
            diff = list(difflib.unified_diff(want.splitlines(), text.splitlines(), "golden/" + name, "now", lineterm=""))
            print("\n".join(diff[:60]))
            if len(diff) > 60:
                print(f"... {len(diff) - 60} more lines")
            bad += 1
        done, _ = run(args.kernelc, source, arch, "cubin")
        if done.returncode or done.stderr:
            print(f"{name}: NVRTC: {done.stderr}")
            bad += 1
    # What nobody compares any more should not lie about.
    known = {f"{example}.{arch}.cu" for example, arch in GOLDEN}
    for name in sorted(set(os.listdir(os.path.join(HERE, "golden"))) - known):
        print(f"golden/{name} is no longer listed in golden.py")
        bad += 1
    if bad:
        print(f"{bad} complaints; to accept the text as it is now: python3 test/codegen/golden.py --kernelc ... --update")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
