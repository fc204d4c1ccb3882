#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What exactness costs products whose condition ties rows to what is summed (`sum[k, k <= i](a[i, k] * b[k, j])`).

    python3 bench/tied/generate.py --kernelc build/ci/tools/kernelc --before OLD_KERNELC -o OUT   # here; needs nvcc, no GPU
    OUT/tied                                                                                     # on a machine with a GPU

Makes one program of several variants of a kernel, which runs them in turns:
- unit wgmma (bf16): the emitted text; `vote`, which asks whether a result of the tile is NaN; `exact`, which sums such a tile once more,
  term by term, from memory;
- CUDA cores (f32): the text of OLD_KERNELC, which has no exact path, and the text as it is.
Ratios are time of the first variant over time of the other within a round: above 1 the other is faster.
"""
import argparse
import os
import re
import subprocess

KERNEL = "def tri(a: {t}[M, K], b: {t}[K, N]) -> (c: f32[M, N]) {{ c[i, j] = sum[k, k <= i](a[i, k] * b[k, j]) }}\n"

VOTE = """
      float nan_ = 0.0f;
      #pragma unroll
      for (int e = 0; e < {n}; ++e) {{
        nan_ = fmaf(c_1[e], 0.0f, nan_);
      }}
      if (__any_sync(0xffffffffu, nan_ != nan_)) {{
        {rare}
      }}
"""
FLAG = "kc_seen = 1;"
EXACT = """#pragma unroll
        for (int e = 0; e < {n}; ++e) {{
          c_1[e] = 0.0f;
        }}
        #pragma unroll 1
        for (int k = 0; k < {size}; ++k) {{
          #pragma unroll
          for (int jr = 0; jr < {n} / 4; ++jr) {{
            #pragma unroll
            for (int e = 0; e < 4; ++e) {{
              const int i = {i0} + {row} + e / 2 * 8, j = {j0} + {column} + jr * 8 + e % 2;
              const float x = __uint_as_float((unsigned)kc_a[i * {size}LL + k] << 16), y = __uint_as_float((unsigned)kc_b[k * {size}LL + j] << 16);
              c_1[jr * 4 + e] += k <= i ? x * y : 0.0f;
            }}
          }}
        }}
        kc_seen = 1;"""
GLOBALS = "__device__ int kc_seen;\n__device__ const unsigned short *kc_a, *kc_b;\n"


def run(*command):
    subprocess.run(command, check=True)


def read(path):
    with open(path) as f:
        return f.read()


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


def edited(text, rare, size):
    end = list(re.finditer(r"kc_wgmma_wait<0>\(\);\n\s*kc_wgmma_hold<(\d+)>\(c_1\);\n", text))[-1]
    def name(pattern):  # as the consumer calls it
        found = re.findall(rf"const int (\w+) = {pattern}", text)
        if not found:
            raise SystemExit(f"the text of {size} has no {pattern}")
        return found[-1]

    n = int(end[1])
    # (no #line marks: they would move)
    i0, j0 = re.findall(r"const int (i0\w*) = ", text)[-1], re.findall(r"const int (j0\w*) = ", text)[-1]
    rare = rare.format(n=n, size=size, i0=i0, j0=j0, row=name(r"lane / 4 \+"), column=name(r"lane % 4 \* 2;"))
    text = text[:end.end()] + VOTE.format(n=n, rare=rare) + text[end.end():]
    at = text.index("// schedule:")
    return text[:at] + GLOBALS + text[at:]


def variant(out, name, header, cubin=None):
    """A translation unit with the launcher of one variant; `cubin` takes the place of the header's."""
    text = read(header)
    if cubin:
        with open(cubin, "rb") as f:
            data = ",".join(str(b) for b in f.read())
        text = re.sub(r"(kc_tri_cubin\[\] = \{).*?(\};)", lambda m: m[1] + data + m[2], text, count=1, flags=re.S)
    write(f"{out}/{name}.cpp", text + f"""
static kc_tri_t self;
static CUdeviceptr workspace;
CUresult {name}_load() {{
  CUresult r = kc_tri_load(&self);
  size_t bytes = kc_tri_workspace_bytes(&self);
  return r || !bytes ? r : cuMemAlloc(&workspace, bytes);
}}
CUresult {name}_run(CUstream s, CUdeviceptr a, CUdeviceptr b, CUdeviceptr c) {{ return kc_tri_launch(&self, s, a, b, c, workspace); }}
CUlibrary {name}_library() {{ return self.library; }}
""")
    run("g++", "-O1", "-I/usr/local/cuda/include", "-c", f"{out}/{name}.cpp", "-o", f"{out}/{name}.o")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernelc", required=True)
    parser.add_argument("--before", required=True)
    parser.add_argument("-o", required=True)
    args = parser.parse_args()
    out = args.o
    os.makedirs(out, exist_ok=True)
    rows = []
    for size in (1024, 2048, 4096, 8192):
        for t in ("bf16", "f32"):
            if t == "f32" and size == 8192:
                continue
            write(f"{out}/tri.kc", KERNEL.format(t=t))
            sets = [x for n in "MNK" for x in ("--set", f"{n}={size}")]
            names = []
            if t == "bf16":
                run(args.kernelc, "compile", f"{out}/tri.kc", *sets, "--arch", "sm_90a", "--emit", "header", "-o", f"{out}/tri.h")
                run(args.kernelc, "compile", f"{out}/tri.kc", *sets, "--arch", "sm_90a", "--emit", "cuda", "-o", f"{out}/tri.cu")
                plain = read(f"{out}/tri.cu")
                for kind, text in (("plain", plain), ("vote", edited(plain, FLAG, size)), ("exact", edited(plain, EXACT, size))):
                    names.append(f"v_bf16_{size}_{kind}")
                    write(f"{out}/{kind}.cu", text)
                    run("nvcc", "-cubin", "-gencode", "arch=compute_90a,code=sm_90a", "--fmad=false", f"{out}/{kind}.cu", "-o", f"{out}/{kind}.cubin")
                    variant(out, names[-1], f"{out}/tri.h", f"{out}/{kind}.cubin")
            else:
                for kind, compiler in (("before", args.before), ("now", args.kernelc)):
                    names.append(f"v_f32_{size}_{kind}")
                    run(compiler, "compile", f"{out}/tri.kc", *sets, "--arch", "sm_90a", "--emit", "header", "-o", f"{out}/{kind}.h")
                    variant(out, names[-1], f"{out}/{kind}.h")
            rows.append((t, size, names))
    declared, table = "", ""
    for t, size, names in rows:
        for n in names:
            declared += f"CUresult {n}_load(); CUresult {n}_run(CUstream, CUdeviceptr, CUdeviceptr, CUdeviceptr); CUlibrary {n}_library();\n"
        entries = ", ".join(f'{{"{n.rsplit("_", 1)[1]}", {n}_load, {n}_run, {n}_library}}' for n in names)
        table += f'  {{"{t}", {size}, {{{entries}}}}},\n'
    write(f"{out}/variants.inc", declared + "const Row kRows[] = {\n" + table + "};\n")
    here = os.path.dirname(os.path.abspath(__file__))
    objects = [f"{out}/{n}.o" for _, _, names in rows for n in names]
    run("g++", "-O1", "-std=c++20", f"-I{out}", "-I/usr/local/cuda/include", f"{here}/tied.cpp", *objects, "-o", f"{out}/tied",
        "-L/usr/local/cuda/lib64/stubs", "-lcuda")


if __name__ == "__main__":
    main()
