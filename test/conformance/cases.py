# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small programs that once gave wrong values or crashed: a table of what each did when it was written down, and does now.

    /usr/bin/python3 test/conformance/cases.py --cases ../shared/cases build/ci [--before OLD_BUILD] [--torch PYTHON]

A build is a folder with bin/ or tools/, and lib/. With --before an old build is run in place of what the programs' heads say.
--torch: a Python that has it; without one its row is left out. Fails where the (first) build is not right in a case. The
programs lie outside the repository; the tests that hold their kinds are named in docs/testing.md.
"""
import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile

import corpus
import numpy


class Build:
    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        self.bin = next(os.path.join(self.folder, d) for d in ("bin", "tools") if os.path.exists(os.path.join(self.folder, d, "kernelc")))
        package = os.path.join(self.folder, "python")
        self.environment = {**os.environ, "PATH": self.bin + os.pathsep + os.environ["PATH"],
                            "KERNELC_LIBRARY": os.path.join(self.folder, "lib", "libkernelc.so.1"),
                            "PYTHONPATH": package if os.path.exists(os.path.join(package, "kernelc", "__init__.py")) else os.path.join(corpus.ROOT, "python")}

    def run(self, command, cases, scratch, seconds=120):
        """Exit status (negative: a signal; None: no end) and output."""
        def in_cases(word):
            """A file of the cases by its path; `x=FILE` too."""
            name, equal, value = word.rpartition("=")
            path = os.path.join(cases, value)
            return name + equal + path if value and os.path.exists(path) else word
        words = [in_cases(w) for w in shlex.split(command)]
        try:
            done = subprocess.run(words, cwd=scratch, env=self.environment, capture_output=True, text=True, errors="replace", timeout=seconds)
        except subprocess.TimeoutExpired:
            return None, ""
        return done.returncode, done.stdout + done.stderr


def equals(name, expected):
    """The .npy that the run has written holds these values."""
    def check(status, output, scratch):
        if status != 0:
            return False
        got = numpy.load(os.path.join(scratch, name + ".npy"))
        return got.shape == numpy.shape(expected) and numpy.allclose(got, expected, rtol=1e-6, equal_nan=True)
    return check


def succeeds(status, output, scratch):
    return status == 0


def says(pattern, status=None):
    """An orderly end (an error is one) whose output has the pattern."""
    return lambda s, output, scratch: s is not None and 0 <= s < 70 and (status is None or s == status) and re.search(pattern, output) is not None


def lacks(pattern):
    return lambda s, output, scratch: s == 0 and not re.search(pattern, output)


def orderly(status, output, scratch):
    """Neither a signal nor an internal error."""
    return status is not None and 0 <= status < 70 and "internal error" not in output


RUN, INF = "kernelc run", float("inf")
CASES = [
    ("argmax_empty_nonzero_start.kc y", f"{RUN} argmax_empty_nonzero_start.kc x=x2.npy --device cpu -o y=y.npy -o z=z.npy", equals("y", -1)),
    ("argmax_empty_nonzero_start.kc z", f"{RUN} argmax_empty_nonzero_start.kc x=x2.npy --device cpu -o y=y.npy -o z=z.npy", equals("z", -1)),
    ("argmax_shifted_range.kc", f"{RUN} argmax_shifted_range.kc x=x8.npy --device cpu -o y=y.npy", equals("y", [0, 3, 5, 7])),
    ("default_variant_never_fits.kc", "kernelc compile default_variant_never_fits.kc --set N=3000000000 --emit cuda --arch sm_90a -o -", lacks(r"const int \w+ = \(int\)blockIdx")),
    ("fpe_tile_count.kc", "kernelc compile fpe_tile_count.kc --kernel mm --set M=1099511627776 --set N=1099511627776 --set K=16 --emit plan --arch sm_80 -o x.plan", says("error")),
    *[(f"inout_partial_then_full_race.kc symmetrise {a}", f"kernelc check inout_partial_then_full_race.kc --kernel symmetrise --set N=40 --device emulator --arch {a}", succeeds) for a in ("sm_80", "sm_90a")],
    *[(f"inout_partial_then_full_race.kc point {a}", f"kernelc check inout_partial_then_full_race.kc --kernel point --set N=1000 --device emulator --arch {a}", succeeds) for a in ("sm_80", "sm_90a")],
    *[(f"inout_shift_then_update_race.kc {a}", f"kernelc check inout_shift_then_update_race.kc --set N=1000 --device emulator --arch {a}", succeeds) for a in ("sm_80", "sm_90a")],
    ("logsumexp_all_neginf.kc", f"{RUN} logsumexp_all_neginf.kc x=lse.npy --device cpu -o y=y.npy", equals("y", [-INF, INF, 2.3132617])),
    *[(f"masked_product_inf.kc f {a}", f"{RUN} masked_product_inf.kc --kernel f a=mpa.npy b=mpb.npy --device emulator --arch {a} -o c=c.npy", equals("c", [[1, 1], [INF, INF]])) for a in ("sm_80", "sm_90a")],
    ("negative_extent_cpu.kc", f"{RUN} negative_extent_cpu.kc x=x1.npy --device cpu -o y=y.npy", equals("y", 0)),
    ("order_of_factors_range.kc", "kernelc check order_of_factors_range.kc --kernel flip_bad --set N=11 --set K=3 --device cpu", succeeds),
    *[(f"size_negative_scale.kc {d}", f"{RUN} size_negative_scale.kc x=x2.npy --device {d} -o y=y.npy", lambda s, o, t: s == 0 and numpy.load(os.path.join(t, "y.npy")).shape == (3,)) for d in ("cpu", "emulator")],
    ("speed_aot_index32.kc", "kernelc compile speed_aot_index32.kc --set M=65536 --set N=65536 --emit cuda -o -", lacks(r"const int \w+ = block \* 65536")),
    *[(f"u64_subscript.kc {d}", f"{RUN} u64_subscript.kc x=iota k=k64.npy --set N=41 --device {d} -o c=c.npy", equals("c", [40, 40])) for d in ("cpu", "emulator")],
    ("zero_rows.kc", "kernelc check zero_rows.kc --set M=0 --set N=6 --set K=5 --device emulator", succeeds),
    *[(f"zero_rows_kills_python.py {d}", f"/usr/bin/python3 zero_rows_kills_python.py {d}", says(r"\(0, 6\)", 0)) for d in ("cpu", "emulator")],
    ("speed_work_counts_masked.kc", "kernelc explain speed_work_counts_masked.kc --set N=16 --set C=32 --set X=16 --set Y=32 --set Z=32 --set O=64 --arch sm_90a", says(r"\b(29|28\.99) Gflop")),
    *[(f"speed_work_counts_twice.kc {k}", f"kernelc explain speed_work_counts_twice.kc --kernel {k} --set M=1024 --set N=8192 --set K=8192 --arch sm_90a", says(r"\b137\.[45] Gflop")) for k in ("direct", "by_let")],
    ("robust/default-variant-over-2p31.kc", "kernelc compile robust/default-variant-over-2p31.kc --set N=4294967296 --emit cuda --arch sm_90a -o -", lacks(r"const int \w+ = \(int\)blockIdx")),
    ("robust/zero-rows-set.kc", "kernelc compile robust/zero-rows-set.kc --set M=0 --set N=8 --set K=8 --emit cuda --arch sm_90a -o -", succeeds),
    ("robust/fork-hang.py", "/usr/bin/python3 robust/fork-hang.py", lacks(r"(bad|hang) [1-9]")),
    ("robust/long_literal.py", "sh -c 'python3 \"$0\" > long.kc; kernelc compile long.kc --emit te -o -' robust/long_literal.py", orderly),
    ("robust/keyword-name.kc", "kernelc compile robust/keyword-name.kc --emit cuda -o -", succeeds),
    ("robust/int32-for-f32.kc", f"{RUN} robust/int32-for-f32.kc x=robust/int32-for-f32.npy --device cpu -o y=y.npy", says("int32|i32", None)),
    ("robust/emulator-strided-output-oom.py", "sh -c 'ulimit -v 30000000; /usr/bin/python3 \"$0\"' robust/emulator-strided-output-oom.py", says("no memory for '[xy]' on the emulator")),
    ("robust/zero-rows-product-sigfpe.kc", "kernelc compile robust/zero-rows-product-sigfpe.kc --emit plan --arch sm_90a -o -", orderly),
]
TORCH_CASES = [("silent_grad.py", "{torch} silent_grad.py", says("requires a gradient"))]
# What the head of each file says, or the issue.
SAID = {
    "argmax_empty_nonzero_start.kc": "1, not -1, on all devices",
    "argmax_shifted_range.kc": "the place in the window, on all devices",
    "default_variant_never_fits.kc": "32-bit indices for 3e9 elements, exit 0",
    "fpe_tile_count.kc": "SIGFPE in the planner",
    "inout_partial_then_full_race.kc": "a data race",
    "inout_shift_then_update_race.kc": "a data race",
    "logsumexp_all_neginf.kc": "NaN for -inf and inf",
    "masked_product_inf.kc": "NaN on GPUs",
    "negative_extent_cpu.kc": "the CPU device refuses the call",
    "order_of_factors_range.kc": "refused by the order of two factors",
    "size_negative_scale.kc": "CPU: right; GPUs refuse at the call",
    "speed_aot_index32.kc": "an int for 2^32 elements, exit 0",
    "u64_subscript.kc": "0, not 40, on all devices",
    "zero_rows.kc": "SIGFPE",
    "zero_rows_kills_python.py": "ends the Python process",
    "speed_work_counts_masked.kc": "232 Gflop for 29",
    "speed_work_counts_twice.kc": "412.5 Gflop for 137.5 (`direct`)",
    "silent_grad.py": "a gradient dropped without a word",
    "robust/default-variant-over-2p31.kc": "32-bit indices for 2^32 elements, exit 0",
    "robust/zero-rows-set.kc": "SIGFPE",
    "robust/zero-rows-product-sigfpe.kc": "SIGFPE",
    "robust/fork-hang.py": "a child hangs",
    "robust/long_literal.py": "overwrites the stack",
    "robust/keyword-name.kc": "an internal error",
    "robust/int32-for-f32.kc": "read as bits",
    "robust/emulator-strided-output-oom.py": "takes all memory",
}


def opt_cases(cases):
    """Modules that crashed kernelc-opt: the `.cmd` beside each is the command."""
    folder = os.path.join(cases, "robust", "opt")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".mlir"):
            with open(os.path.join(folder, name + ".cmd")) as f:
                words = [w for w in shlex.split(f.read()) if w.startswith("-")]
            yield name, f"kernelc-opt {' '.join(map(shlex.quote, words))} robust/opt/{name}", orderly


def outcome(build, case, cases):
    with tempfile.TemporaryDirectory() as scratch:
        status, output = build.run(case[1], cases, scratch)
        try:
            right = case[2](status, output, scratch)
        except OSError:
            right = False
    text = "right" if right else "does not end" if status is None else f"signal {-status}" if status < 0 else f"internal error ({status})" if status >= 70 else f"wrong (exit {status})"
    return right, text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--cases", required=True)
    parser.add_argument("--before")
    parser.add_argument("--torch")
    a = parser.parse_args()
    cases, now, before = os.path.abspath(a.cases), Build(a.build), Build(a.before) if a.before else None
    print("| case | before | now |\n|---|---|---|")
    wrong = 0
    for name, command, check in CASES + (TORCH_CASES if a.torch else []):
        case = name, command.replace("{torch}", a.torch or ""), check
        right, text = outcome(now, case, cases)
        wrong += not right
        print(f"| {name} | {outcome(before, case, cases)[1] if before else SAID[name.split()[0]]} | {text} |", flush=True)
    crashes = list(opt_cases(cases))
    ends = [[outcome(b, c, cases)[0] for c in crashes] for b in ([before] if before else []) + [now]]
    wrong += ends[-1].count(False)
    print(f"| robust/opt: located errors of {len(crashes)} modules | {ends[0].count(True) if before else 0} | {ends[-1].count(True)} |")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
