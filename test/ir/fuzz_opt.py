#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Mutates the IR of the lit tests and asks kernelc-opt to take it: nothing may end the process but its own exit.

Seeds are the inputs of test/passes and test/ir: modules as they stand, and of a program (.kc) what its RUN lines make of
it. A mutant changes the text of one in a few places (operands, attributes, lines, numbers, types, extents, names of ops)
and goes through the passes of the seed's own RUN line, or through some of its level in the order of the pipeline or in none.
An error is a result, as is success. A signal, a failed assertion, memory without end (--memory) and a run without end
(--seconds) are failures, which are shrunk, told apart by what failed, and written to --keep.

    python3 test/ir/fuzz_opt.py --bin build/ci/tools --seed 1 --count 400
    python3 test/ir/fuzz_opt.py --bin build/ci/tools --seed 7 --count 20000 --keep /tmp/crashes

Many mutants with the same passes are one process (--split-input-file); of a process that ends badly each runs alone.
"""
import argparse
import collections
import os
import random
import re
import resource
import shlex
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SPLIT = "// -----"
# The pipeline's order (passes/Pipelines.cpp), by level.
TE = ["te-uplift-math", "te-emulate-narrow-types", "te-simplify", "te-factor-sums", "te-group-factors", "te-precision-cast",
      "te-mask-to-domain", "te-split", "te-thin-products", "te-reduce-in-tiles", "te-split-reduce", "te-windows", "te-repack",
      "te-copy-inouts", "te-plan", "te-fix-sizes", "te-to-tile"]
TILE = ["tile-stream-loads", "tile-pipeline", "tile-stage-stores", "tile-stage-loads", "tile-load-early", "tile-specialize-warps",
        "tile-overlap-dots", "tile-peel-rounds", "tile-layouts", "tile-clamp-loads", "tile-to-cu"]
CU = ["cu-widen", "cu-unroll", "cu-barriers", "cu-narrow"]
UPSTREAM = ["canonicalize", "cse"]
STAGES = ["te", "plan", "tile", "layouts", "cu"]  # of kernelc compile --emit
BATCH = 25
# The parser of MLIR calls itself for each level of brackets: its depth is not ours to bound.
NESTING = 200


class Seed:
    def __init__(self, name, text, flags):
        self.name, self.text, self.flags = name, text, flags
        self.generic = None

    def form(self, rng, runner):
        """The text, or half of the time its generic form, in which every value has its type beside it."""
        if rng.random() < 0.5:
            return self.text
        if self.generic is None:
            self.generic = runner.generic(self.text) or self.text
        return self.generic

    def passes(self, rng):
        """Passes to run: those of the RUN line, a stretch of the pipeline, or some of the level."""
        if self.flags and rng.random() < 0.4:
            return self.flags
        level = CU if "cu.kernel" in self.text else TILE + CU if "tile.func" in self.text else TE
        if rng.random() < 0.6:
            first = rng.randrange(len(level))
            most = len(TE + TILE + CU) if level is TE and rng.random() < 0.3 else rng.randint(1, 5)
            chosen = (level + TILE + CU if level is TE else level)[first:first + most]
        else:
            chosen = [rng.choice(level + UPSTREAM) for _ in range(rng.randint(1, 3))]
        return ["--" + p for p in chosen]


def run_lines(path):
    text, lines = open(path, encoding="utf-8").read(), []
    for match in re.finditer(r"RUN:(.*)", text):
        line = match.group(1).strip()
        if lines and lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1] + " " + line
        else:
            lines.append(line)
    return text, lines


def opt_flags(line):
    """The passes that a RUN line gives kernelc-opt, or None where it runs something else."""
    found = re.search(r"kernelc-opt\s+([^|>&]*)", line)
    if not found:
        return None
    words = shlex.split(found.group(1))
    known = set(TE + TILE + CU + UPSTREAM)
    return [w for w in words if w.startswith("-") and (w.lstrip("-").split("=")[0] in known or w.lstrip("-").startswith("pass-pipeline"))]


class Seeds:
    """The files of the tests, read, and their programs compiled, when they are drawn."""

    def __init__(self, tools):
        self.kernelc = os.path.join(tools, "kernelc")
        self.paths, self.read = [], {}
        for folder in ("test/passes", "test/ir"):
            for where, dirs, files in sorted(os.walk(os.path.join(SOURCE, folder))):
                dirs[:] = sorted(d for d in dirs if d != "Inputs")
                self.paths += [os.path.join(where, f) for f in sorted(files) if f.endswith((".mlir", ".kc"))]

    def draw(self, rng):
        while True:
            path = rng.choice(self.paths)
            stage = rng.choice(STAGES) if path.endswith(".kc") else ""
            if (path, stage) not in self.read:
                self.read[path, stage] = self.compiled(path, stage) if stage else self.modules(path)
            if self.read[path, stage]:
                return rng.choice(self.read[path, stage])

    def modules(self, path):
        text, lines = run_lines(path)
        flags = [f for f in map(opt_flags, lines) if f] or [[]]
        name = os.path.relpath(path, SOURCE)
        return [Seed(name, part, flags[i % len(flags)]) for i, part in enumerate(re.split(r"(?m)^// -----.*$", text)) if part.strip()]

    def compiled(self, path, stage):
        _, lines = run_lines(path)
        line = next((x for x in lines if "kernelc compile %s" in x), "compile %s")
        arguments = re.sub(r"--emit \S+|-o \S+|--schedule \S+|%source|%examples|2>.*|\\$", "", line.split("compile %s", 1)[1].split("|")[0].split(">")[0])
        command = [self.kernelc, "compile", path, *shlex.split(arguments), "--emit", stage, "-o", "-"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return []
        flags = next((f for f in map(opt_flags, lines) if f), []) if stage == "te" else []
        return [Seed(os.path.relpath(path, SOURCE) + ":" + stage, done.stdout, flags)]


# --- mutations -----------------------------------------------------------------------------------------------------------

NUMBERS = [0, 1, -1, 2, 3, 7, 8, 33, 48, 64, 100, 128, 256, 4096, 65536, 2**31 - 1, 2**31, 2**32, 2**40, 2**62, 2**63 - 1, -2**63]
TYPES = ["f64", "f32", "f16", "bf16", "tf32", "f8E4M3FN", "f8E5M2", "i1", "i4", "i8", "i16", "i32", "i64", "i128", "index"]
WORDS = [["sum", "prod", "max", "min", "maxu", "minu", "any", "all", "and", "or", "xor", "argmax", "argmin", "argmaxu", "argminu"],
         ["simt", "mma", "wgmma"], ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a"], ["true", "false"],
         ["floordiv", "ceildiv", "mod", "+", "*"], ["in_bounds", "pad", "edge", "reflect", "wrap", "assume"],
         ["addf", "subf", "mulf", "divf", "maximumf", "minimumf"], ["addi", "subi", "muli", "divsi", "remsi", "andi", "minsi"],
         ["extf", "truncf", "sitofp", "fptosi", "extui", "extsi", "trunci", "index_cast", "bitcast"],
         ["eq", "ne", "slt", "sle", "sgt", "sge", "ult"], ["te.compute", "te.reduce", "te.cascade"], ["i64", "i32", "i8", "index"]]


def replace_some(rng, text, pattern, make):
    found = list(re.finditer(pattern, text))
    if not found:
        return None
    m = rng.choice(found)
    return text[:m.start()] + make(m) + text[m.end():]


def change_number(rng, text):
    def near(m):
        value = int(m.group())
        return str(rng.choice([*NUMBERS, value + 1, value - 1, value * 2, value // 2, -value]))
    return replace_some(rng, text, r"(?<![\w#%.])-?\d+(?![\w.])", near)


def change_shape(rng, text):
    """Another rank or extent of a type, mostly wherever it stands."""
    shaped = r"(?:tensor|memref)<(?:(?:[\d?]+x)*)[\w]+(?:, [^<>]*)?>"
    found = sorted(set(re.findall(shaped, text)))
    if not found:
        return None
    old = rng.choice(found)
    kind, extents, rest = re.match(r"(\w+)<((?:[\d?]+x)*)(.*)", old).groups()
    extents, i = extents.split("x")[:-1], rng.random()
    other = rng.choice(["?", "0", "1", "2", "3", "16", "64", "100", "1024", "1099511627776"])
    if extents and i < 0.7:
        extents[rng.randrange(len(extents))] = other
    elif extents and i < 0.85:
        del extents[rng.randrange(len(extents))]
    else:
        extents.insert(rng.randrange(len(extents) + 1), other)
    new = kind + "<" + "".join(e + "x" for e in extents) + rest
    return text.replace(old, new) if rng.random() < 0.7 else replace_some(rng, text, re.escape(old), lambda m: new)


def change_type(rng, text):
    old = rng.choice(sorted(set(re.findall(r"\b(?:%s)\b" % "|".join(TYPES), text))) or [""])
    if not old:
        return None
    new, pattern = rng.choice(TYPES), r"(?<![.\w])(?<=[x<(\s\[])%s\b|(?<=x)%s\b" % (old, old)
    if rng.random() < 0.7:
        return re.sub(pattern, new, text)
    return replace_some(rng, text, pattern, lambda m: new)


def change_word(rng, text):
    words = rng.choice(WORDS)
    pattern = r"(?<![\w%%@])(?:%s)(?![\w])" % "|".join(map(re.escape, words))
    return replace_some(rng, text, pattern, lambda m: rng.choice(words))


def split_types(text):
    """a, b<c, d> -> [a, b<c, d>]"""
    types, depth = [""], 0
    for before, c in zip(" " + text, text):
        depth += (c in "(<[{") - (c in ")>]}" and before != "-")
        if c == "," and not depth:
            types.append("")
        else:
            types[-1] += c
    return [t.strip() for t in types if t.strip()]


def find_types(text):
    """Of names in generic form: type -> names, and where operands stand: (start, end, type)."""
    names, uses = collections.defaultdict(list), []
    for line in re.finditer(r"^.*$", text, re.M):
        for block in re.finditer(r"\^bb\d+\((.*)\):", line.group()):
            for arg in split_types(block.group(1)):
                name, _, t = arg.partition(": ")
                names[t].append(name)
        op = re.match(r'\s*(?:(%\w+)(?::\d+)? = )?"[\w.]+"\(([^()]*)\).* : \((.*)\) -> (.*)$', line.group())
        if not op:
            continue
        if op.group(1):
            names[op.group(4)].append(op.group(1))
        at = line.start() + op.start(2)
        for operand, t in zip(re.finditer(r"%[\w#]+", op.group(2)), split_types(op.group(3))):
            uses.append((at + operand.start(), at + operand.end(), t))
    return names, uses


def change_typed_operand(rng, text):
    """Another value of the same type, where types can be read."""
    names, uses = find_types(text)
    if not uses:
        return change_operand(rng, text)
    start, end, t = rng.choice(uses)
    return text[:start] + rng.choice(names[t] or [text[start:end]]) + text[end:]


def change_operand(rng, text):
    names = re.findall(r"%[\w#]+", text)
    return replace_some(rng, text, r"(?<=[\s,(\[])%[\w#]+(?!\s*=)(?!:\d)", lambda m: rng.choice(names)) if names else None


def change_symbol(rng, text):
    return replace_some(rng, text, r"\b[ds]\d+\b", lambda m: rng.choice(["d0", "d1", "d2", "s0", "s1", "s2", "0", "7"]))


def change_map(rng, text):
    names = re.findall(r"#(?:map|set)\w*(?!\s*=)", text)
    return replace_some(rng, text, r"#(?:map|set)\w*(?!\w*\s*=)", lambda m: rng.choice(names)) if names else None


def drop_attribute(rng, text):
    return replace_some(rng, text, r"\w+ = (?:array<[^>]*>|\[[^\[\]]*\]|\"[^\"]*\"|-?\d+ : i64|#\w+|true|false), |, \w+ = (?:array<[^>]*>|\"[^\"]*\"|-?\d+ : i64|true|false)(?=})", lambda m: "")


def swap_attributes(rng, text):
    found = list(re.finditer(r"(?<= = )(?:array<[^>]*>|\[[^\[\]{}]*\]|\"[^\"]*\"|-?\d+ : i64|#\w+|true|false)", text))
    if len(found) < 2:
        return None
    a, b = sorted(rng.sample(found, 2), key=lambda m: m.start())
    return text[:a.start()] + b.group() + text[a.end():b.start()] + a.group() + text[b.end():]


def change_list(rng, text):
    def other(m):
        items = m.group(1).split(", ")
        kind = rng.random()
        if kind < 0.35:
            del items[rng.randrange(len(items))]
        elif kind < 0.7:
            items.insert(rng.randrange(len(items) + 1), rng.choice(items))
        else:
            rng.shuffle(items)
        return "[" + ", ".join(items) + "]" if m.group().startswith("[") else m.group().split(":")[0] + (": " + ", ".join(items) if items else "") + ">"
    return replace_some(rng, text, r"\[([^\[\]{}:]+)\]|array<\w+: ([^>]*)>",
                        lambda m: other(m) if m.group(1) else other(re.match(r"array<\w+: ([^>]*)>", m.group())))


def change_lines(rng, text):
    lines = text.split("\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.random()
    if kind < 0.4:
        del lines[i]
    elif kind < 0.6:
        lines.insert(i, re.sub(r"%(\w+) =", lambda m: "%%copy%d =" % rng.randrange(10**6), lines[i]))
    elif kind < 0.8:
        lines[i], lines[j] = lines[j], lines[i]
    else:
        lines.insert(i, lines.pop(j))
    return "\n".join(lines)


MUTATIONS = [change_number] * 6 + [change_typed_operand] * 4 + [change_operand, change_lines, change_lines, change_type, change_type] + [
    change_shape, change_shape, change_word, change_word, change_symbol, change_map, drop_attribute, drop_attribute, swap_attributes, change_list, change_list]


def mutate(rng, text):
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        text = rng.choice(MUTATIONS)(rng, text) or text
    return text.replace(SPLIT, "//")


def nesting(text):
    depth = most = 0
    for c in text:
        depth += (c in "([{<") - (c in ")]}>")
        most = max(most, depth)
    return most


# --- runs ----------------------------------------------------------------------------------------------------------------

class Runner:
    def __init__(self, options):
        self.opt, self.seconds, self.memory = os.path.join(options.bin, "kernelc-opt"), options.seconds, options.memory
        self.folder = tempfile.TemporaryDirectory()
        self.environment = dict(os.environ, MLIR_CRASH_REPRODUCER_DIRECTORY="", LLVM_DISABLE_CRASH_REPORT="1")

    def limit(self):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (self.memory << 20, self.memory << 20))
        resource.setrlimit(resource.RLIMIT_CPU, (self.seconds, self.seconds + 1))

    def generic(self, text):
        done = subprocess.run([self.opt, "-", "--mlir-print-op-generic"], input=text, capture_output=True, text=True, check=False)
        return done.stdout if done.returncode == 0 else None

    def run(self, texts, passes):
        """Why the process failed on these modules, or nothing."""
        path = os.path.join(self.folder.name, "input.mlir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(("\n" + SPLIT + "\n").join(texts))
        command = [self.opt, path, "--split-input-file", "-o", os.devnull, *passes]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace", check=False,
                              preexec_fn=self.limit, env=self.environment)
        if 0 <= done.returncode < 128 and "Assertion" not in done.stderr:
            return None
        return describe(done.returncode, done.stderr)


def describe(code, errors):
    """What failed, in words that are the same for the same fault: the assertion, or the innermost of our functions."""
    assertion = re.search(r"Assertion `(.*?)' failed", errors, re.S)
    frames = re.findall(r"^ *#\d+ 0x\w+ (.*) (\S+):\d+:\d+$", errors, re.M)
    ours = ["%s (%s)" % (re.sub(r"\(.*", "", f.replace("(anonymous namespace)::", "")), os.path.basename(path))
            for f, path in frames if re.search(r"^/(?!usr/).*/(ir|passes|codegen|driver|tools)/", path)]
    where = ours[0] if ours else ""
    if assertion:
        return "assertion `%s` under %s" % (assertion.group(1)[:120], where)
    if code in (-24, -9):
        return "no end under " + where
    fatal = re.search(r"LLVM ERROR: (.*)|terminate called.*|UNREACHABLE.*", errors)
    return "exit %d %s under %s" % (code, fatal.group()[:120] if fatal else "", where)


def shrink(runner, text, passes, why):
    """Fewer passes, then fewer lines, while the same thing fails."""
    for i in reversed(range(len(passes))):
        fewer = passes[:i] + passes[i + 1:]
        if runner.run([text], fewer) == why:
            passes = fewer
    lines, size = text.split("\n"), max(1, len(text.split("\n")) // 2)
    while size:
        at = 0
        while at < len(lines):
            fewer = lines[:at] + lines[at + size:]
            if runner.run(["\n".join(fewer)], passes) == why:
                lines = fewer
            else:
                at += size
        size //= 2
    return "\n".join(lines), passes


def keep(options, number, text, passes, why):
    if not options.keep:
        return
    os.makedirs(options.keep, exist_ok=True)
    with open(os.path.join(options.keep, "seed%d-%d.mlir" % (options.seed, number)), "w", encoding="utf-8") as file:
        file.write("// RUN: kernelc-opt %%s %s\n// %s\n%s\n" % (" ".join(passes), why, text))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="the folder of kernelc and kernelc-opt")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=400, help="mutants")
    parser.add_argument("--only", default="", help="part of the names of the seeds")
    parser.add_argument("--keep", default="", help="where inputs that fail are written")
    parser.add_argument("--seconds", type=int, default=20, help="processor time that a process may take")
    parser.add_argument("--memory", type=int, default=4096, help="megabytes that a process may take")
    parser.add_argument("--no-shrink", action="store_true")
    options = parser.parse_args()
    rng, runner, seeds = random.Random(options.seed), Runner(options), Seeds(options.bin)
    seeds.paths = [p for p in seeds.paths if options.only in p]
    failures, done = collections.defaultdict(list), 0
    while done < options.count:
        # A process has one list of passes: mutants of one seed, or of a few.
        seed = seeds.draw(rng)
        passes = seed.passes(rng)
        form = seed.form(rng, runner)
        texts = [mutate(rng, form) for _ in range(min(BATCH, options.count - done))]
        texts = [t for t in texts if nesting(t) < NESTING]
        done += len(texts)
        if not runner.run(texts, passes):
            continue
        for text in texts:
            why = runner.run([text], passes)
            if not why:
                continue
            failures[why].append((seed.name, text, passes))
            if len(failures[why]) == 1:
                print("%s: %s\n    %s" % (seed.name, why, " ".join(passes)), flush=True)
                keep(options, len(failures) - 1, text, passes, why)  # (a long run may be cut short)
    for number, (why, cases) in enumerate(failures.items()):
        name, text, passes = min(cases, key=lambda c: len(c[1]))
        if not options.no_shrink:
            text, passes = shrink(runner, text, passes, why)
        print("\n=== %d of %s\n    %s\n    kernelc-opt %s\n%s" % (len(cases), name, why, " ".join(passes), text))
        keep(options, number, text, passes, why)
    print("%d mutants, %d failures of %d kinds" % (done, sum(map(len, failures.values())), len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
