#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long a kernel takes to compile that no cache knows, and where that time goes. Needs NVRTC, no GPU; checks nothing but
that everything compiles.

    compile_time.py [--kernelc PATH [--before PATH]] [--json]    every kernel of examples/ and, at full sizes, of test/conformance
    compile_time.py --plan [--kernelc PATH [--before PATH]]      the same kernels: from te to a plan
    compile_time.py --where [--kernelc PATH]                     twelve texts of different kinds: front end, NVVM, ptxas
    compile_time.py --threads [--kernelc PATH]                   whether threads of one process compile side by side

The first measures `kernelc compile --emit header` without a cache: wall-clock time of the process and CPU time of it and its
workers; two programs in turns; least of the repeats, since others use the machine too. The second compiles the whole text in
one piece and takes CPU time: of a check of the syntax, of PTX, and of a cubin. The third compiles a text on four threads and
looks how many of them are runnable, which does not depend on what else the machine does. Plans are timed by the processors'
time of the passes in a process of its own, no record, least of the repeats; the exit status is 1 where one takes 10 ms.
"""
import argparse
import ctypes
import glob
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(os.path.join(HERE, ".."))
OPTIONS = ["-std=c++17", "-default-device", "--fmad=false", "--no-source-include"]


def kernels():
    """(title, file, name, sizes) of every kernel; examples have open sizes."""
    found = []
    for path in sorted(glob.glob(os.path.join(ROOT, "examples", "*.kc")) + glob.glob(os.path.join(ROOT, "test", "conformance", "*.kc"))):
        sizes, refused, label = [[]], False, os.path.basename(path)[:-3]
        if "conformance" in path:
            sizes = []
        for line in open(path):
            if line.startswith("#   full"):
                sizes.append(line.split()[2:])
            elif line.startswith("#   refused"):
                refused = True
            elif line.startswith("def "):
                name = line[4:line.index("(")]
                for i, s in enumerate([] if refused else sizes):
                    found.append((f"{label}: {name}" + (f" {' '.join(s)}" if len(sizes) > 1 else ""), path, name, s))
                if "conformance" in path:
                    sizes = []
                refused = False
    return found


def small_sizes(path, name):
    """The last of the sizes that tests of a conformance kernel run."""
    found, sizes = [], []
    for line in open(path):
        if line.startswith("#   small"):
            sizes = line.split()[2:]
        elif line.startswith(f"def {name}("):
            found = sizes
    return found


def extents(shape, sizes):
    """Of a tensor whose shape the text gives as `[M, N // 2]`."""
    return [eval(e.replace("/", "//").replace("////", "//"), {}, sizes) for e in shape.strip("[]").split(",") if e.strip()]


def compile_command(kernelc, file, name, sizes, kind, out):
    command = [kernelc, "compile", file, "--kernel", name, "--emit", kind, "-o", out]
    for s in sizes:
        command += ["--set", s]
    return command


def cold(kernelc, file, name, sizes):
    """Seconds and CPU seconds of one process with its workers."""
    environment = {**os.environ, "KERNELC_CACHE_SIZE": "0", "KERNELC_UNTUNED": "1"}
    with tempfile.TemporaryDirectory() as folder:
        command = compile_command(kernelc, file, name, sizes, "header", os.path.join(folder, "k.h"))
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        run = subprocess.run(command, env=environment, capture_output=True, text=True)
        wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode:
        sys.exit(f"{name} of {file}: {run.stderr}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))]


def measure_all(args):
    programs = {"before": args.before, "now": args.kernelc} if args.before else {"now": args.kernelc}
    rows = []
    for title, file, name, sizes in kernels():
        samples = {p: [] for p in programs}
        for _ in range(args.repeats):
            for p, path in programs.items():
                samples[p].append(cold(path, file, name, sizes))
        rows.append({"kernel": title, **{f"{p} wall": min(s[0] for s in samples[p]) for p in programs},
                     **{f"{p} CPU": min(s[1] for s in samples[p]) for p in programs}})
        print(rows[-1], file=sys.stderr)
    if args.json:
        print(json.dumps(rows, indent=1))
        return
    columns = [f"{p} {what}" for what in ("wall", "CPU") for p in programs]
    print(f"| kernel | {' | '.join(c + ' s' for c in columns)} |\n|---|{'--:|' * len(columns)}")
    for r in sorted(rows, key=lambda r: -r[columns[0]]):
        print(f"| {r['kernel']} | {' | '.join(f'{r[c]:.2f}' for c in columns)} |")
    for what, value in (("median", statistics.median), ("95 %", lambda v: quantile(v, 0.95)), ("most", max), ("sum", sum)):
        print(f"| {what} of {len(rows)} | {' | '.join(f'{value([r[c] for r in rows]):.2f}' for c in columns)} |")


MOST_OF_PLAN = 10  # milliseconds


def plan_of(kernelc, file, name, sizes):
    """CPU milliseconds of the passes from te to a plan."""
    with tempfile.TemporaryDirectory() as folder:
        command = compile_command(kernelc, file, name, sizes, "plan", os.path.join(folder, "k.plan.mlir"))
        run = subprocess.run([*command, "--timing", "--untuned"], capture_output=True, text=True)
    found = re.search(r"([\d.]+) ms CPU +[\d.]+ ms  passes", run.stderr)
    if run.returncode or not found:
        sys.exit(f"{name} of {file}: {run.stderr}")
    return float(found.group(1))


def plans(args):
    programs = {"before": args.before, "now": args.kernelc} if args.before else {"now": args.kernelc}
    rows = []
    for title, file, name, sizes in kernels():
        times = {p: min(plan_of(path, file, name, sizes) for _ in range(args.repeats)) for p, path in programs.items()}
        rows.append((title, times))
    print(f"| kernel | {' | '.join(p + ' CPU ms' for p in programs)} |\n|---|{'--:|' * len(programs)}")
    for title, times in sorted(rows, key=lambda r: -r[1]["now"]):
        print(f"| {title} | {' | '.join(f'{times[p]:.1f}' for p in programs)} |")
    for what, value in (("median", statistics.median), ("most", max)):
        print(f"| {what} of {len(rows)} | {' | '.join(f'{value([t[p] for _, t in rows]):.1f}' for p in programs)} |")
    sys.exit(any(times["now"] >= MOST_OF_PLAN for _, times in rows))


CHAIN = """# A block of a perceptron: normalised rows, two products, an activation, a residual, and a softmax of the rows.
def chain(x: bf16[M, D], w: bf16[D, H], v: bf16[H, D], g: f32[D]) -> (y: f32[M, D]) {
    let n[i, j] = bf16(rmsnorm[j](f32(x[i, j])) * g[j])
    let h[i, k] = bf16(gelu(sum[j](n[i, j] * w[j, k])))
    let o[i, j] = sum[k](h[i, k] * v[k, j]) + x[i, j]
    y[i, j] = softmax[j](o[i, j])
}
"""
LAYERS = "def layers(x: bf16[M, D]" + "".join(f", w{i}: bf16[D, D]" for i in range(8)) + ") -> (y: bf16[M, D]) {\n" + "".join(
    f"    let h{i}[i, j] = bf16(relu(sum[k]({'x' if i == 0 else f'h{i - 1}'}[i, k] * w{i}[k, j])))\n" for i in range(7)
) + "    y[i, j] = bf16(relu(sum[k](h6[i, k] * w7[k, j])))\n}\n"

TWELVE = [  # what, file or text, kernel, sizes
    ("product, bf16, wgmma", "examples/linear.kc", "", ["M=4096", "N=4096", "K=4096"]),
    ("product, i8, mma.sync", "examples/matmul_i8.kc", "", ["M=4096", "N=4096", "K=4096"]),
    ("product, f32, CUDA cores", "test/conformance/matmul.kc", "matmul", ["M=4096", "K=4096", "N=4096"]),
    ("softmax", "test/conformance/activations.kc", "softmax_rows", ["M=4096", "N=393216"]),
    ("layer norm", "examples/layernorm.kc", "", []),
    ("group norm, 2 launches", "test/conformance/norms.kc", "group_norm", ["N=112", "C=64", "H=512", "W=512"]),
    ("attention, bf16", "examples/attention.kc", "", []),
    ("attention, f32", "test/conformance/attention.kc", "", ["B=32", "H=32", "S=512", "D=1024"]),
    ("convolution, f32", "test/conformance/convolution.kc", "conv_2d", ["N=8", "C=64", "H=512", "W=1024", "O=128", "R=3", "S=3"]),
    ("transposed convolution", "test/conformance/convolution_transposed.kc", "conv_transposed_3d_strided",
     ["N=16", "C=32", "X=16", "Y=32", "Z=32", "O=64", "R=3"]),
    ("norm, 2 products, softmax", CHAIN, "", ["M=4096", "D=1024", "H=4096"]),
    ("8 equal layers", LAYERS, "", ["M=4096", "D=1024"]),
]


def cpu_of(nvrtc, text, options):
    """CPU milliseconds of compiling."""
    program, options = ctypes.c_void_p(), [o.encode() for o in options]
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"k.cu", 0, None, None) == 0
    start = time.process_time()
    assert nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)) == 0
    milliseconds = (time.process_time() - start) * 1e3
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return milliseconds


def times(nvrtc, text):
    """CPU milliseconds of front end, NVVM and ptxas."""
    syntax = cpu_of(nvrtc, text, ["-arch=sm_90a", *OPTIONS, "--fdevice-syntax-only"])
    ptx = cpu_of(nvrtc, text, ["-arch=compute_90a", *OPTIONS])
    cubin = cpu_of(nvrtc, text, ["-arch=sm_90a", *OPTIONS])
    return syntax, ptx - syntax, cubin - ptx


def where(args):
    nvrtc = ctypes.CDLL(os.environ.get("KERNELC_LIBNVRTC", "libnvrtc.so.13"))
    print("| text | kernels | lines | front end ms | NVVM ms | ptxas ms | sum |\n|---|--:|--:|--:|--:|--:|--:|")
    for what, source, name, sizes in TWELVE:
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(ROOT, source)
            if source.lstrip().startswith(("#", "def")):
                file = os.path.join(folder, "k.kc")
                with open(file, "w") as f:
                    f.write(source)
            name = name or re.search(r"^def (\w+)", open(file).read(), re.M)[1]
            run = subprocess.run(compile_command(args.kernelc, file, name, sizes, "cuda", "-"), capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"{what}: {run.stderr}")
        best = [max(0, min(phase)) for phase in zip(*(times(nvrtc, run.stdout) for _ in range(args.repeats)))]
        print(f"| {what} | {run.stdout.count('__global__ void')} | {run.stdout.count(chr(10))} | " +
              " | ".join(f"{ms:.0f}" for ms in best) + f" | {sum(best):.0f} |", flush=True)


def threads(args):
    nvrtc = ctypes.CDLL(os.environ.get("KERNELC_LIBNVRTC", "libnvrtc.so.13"))
    run = subprocess.run([args.kernelc, "compile", os.path.join(ROOT, "examples", "softmax.kc"), "--emit", "cuda"], capture_output=True, text=True)
    compile_once = lambda: cpu_of(nvrtc, run.stdout, ["-arch=sm_90a", *OPTIONS])
    compile_once()  # what only the first one costs
    alone, ids, seen, start = compile_once(), [], {}, time.process_time()

    def work():
        ids.append(threading.get_native_id())
        cpu_of(nvrtc, run.stdout, ["-arch=sm_90a", *OPTIONS])

    workers = [threading.Thread(target=work) for _ in range(4)]
    for w in workers:
        w.start()
    while any(w.is_alive() for w in workers):
        runnable = 0
        for i in list(ids):
            try:
                with open(f"/proc/self/task/{i}/stat") as f:
                    runnable += ") R" in f.read()
            except OSError:
                pass  # has ended
        seen[runnable] = seen.get(runnable, 0) + 1
        time.sleep(0.003)
    print(f"one: {alone:.0f} ms of CPU time; four threads: {(time.process_time() - start) * 1e3:.0f} ms; samples by runnable threads: "
          f"{dict(sorted(seen.items()))}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernelc", default=os.path.join(ROOT, "build", "ci", "tools", "kernelc"))
    parser.add_argument("--before", help="an older kernelc to compare with, in turns")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--where", action="store_true", help="the phases of twelve texts")
    parser.add_argument("--plan", action="store_true", help="from te to a plan")
    parser.add_argument("--threads", action="store_true", help="four threads in one process")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    plans(args) if args.plan else where(args) if args.where else threads(args) if args.threads else measure_all(args)


if __name__ == "__main__":
    main()
