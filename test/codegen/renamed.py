#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is generated depends on what a program computes, not on what it is called.

    python3 test/codegen/renamed.py ARCH FILE.kc KERNEL SIZE=VALUE .. -- KERNEL SIZE=VALUE ..

Compiles each kernel, and a copy in which every name is another one, in another alphabetical order, and the dims of every tensor
that it defines stand in the opposite order. Both must be the same text, but for names.
"""
import difflib
import re
import subprocess
import sys

WORD = re.compile(r"[A-Za-z_]\w*")
KEPT = {"in", "bf16", "f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "bool", "f8e4m3", "f8e5m2"}


def kernel_text(path, kernel):
    with open(path) as f:
        text = "".join(line.split("#")[0].rstrip() + "\n" for line in f)
    found = re.search(rf"^def {kernel}\(.*?^}}", text, re.S | re.M)
    if not found:
        raise SystemExit(f"{path} has no kernel '{kernel}'")
    return found[0]


def names_of(text):
    """The program's own names: kernel, parameters, outputs, sizes, definitions, indices."""
    names = set(re.findall(r"^def (\w+)|let (\w+)", text, re.M))
    names = {n for pair in names for n in pair if n}
    head = text[:text.index("{\n")]
    names |= {n for n, _ in re.findall(r"(\w+)\s*:\s*(\w+)", head)}
    for inside in re.findall(r"\[([^\[\]]*)\]", head):
        names |= set(WORD.findall(inside))
    for statement in re.findall(r"^\s*(?:let )?\w+\[([^\]]*)\]\s*(?::[^=]*)?=", text[len(head):], re.M):
        names |= set(WORD.findall(statement))
    for bracket in re.findall(r"\b(?:sum|max|min|softmax|logsumexp|argmax)\[([^\]]*)\]", text):
        names |= set(WORD.findall(bracket.split(",")[0]))
    return sorted(names - KEPT)


def matching(text, start):
    depth = 0
    for at in range(start, len(text)):
        depth += {"[": 1, "]": -1}.get(text[at], 0)
        if depth == 0:
            return at
    raise SystemExit("an open bracket")


def turn(text, name):
    """name[a, b, c] -> name[c, b, a], everywhere."""
    out, at = "", 0
    for found in re.finditer(rf"\b{name}\[", text):
        if found.start() < at:
            raise SystemExit(f"'{name}' stands in its own subscript")
        end = matching(text, found.end() - 1)
        inside, parts, depth = text[found.end():end], [""], 0
        for c in inside:
            depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(c, 0)
            if c == "," and depth == 0:
                parts.append("")
            else:
                parts[-1] += c
        out += text[at:found.end()] + ", ".join(p.strip() for p in reversed(parts)) + "]"
        at = end + 1
    return out + text[at:]


def renamed(text):
    for name in re.findall(r"let (\w+)\[", text):
        text = turn(text, name)
    names = names_of(text)
    to = {name: f"nn{len(names) - n:02d}" for n, name in enumerate(names)}
    return WORD.sub(lambda m: to.get(m[0], m[0]), text), to


def compiled(text, kernel, sizes, arch):
    command = ["kernelc", "compile", "-", "--arch", arch, "--kernel", kernel, "-o", "-"]
    for size in sizes:
        command += ["--set", size]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{text}\n{done.stderr}")
    text = done.stdout[done.stdout.index('extern "C"'):]
    lines = [line for line in text.splitlines() if not line.startswith("#line") and not line.lstrip().startswith("//")]
    names = {}  # by where they stand first
    # `.x` of a vector is no name of the program.
    plain = re.sub(r"\.?" + WORD.pattern, lambda m: names.setdefault(m[0], f"n{len(names)}"), " ".join(" ".join(lines).split()))  # (long lines end elsewhere)
    return plain.split(";"), text.count("__global__")


def main():
    arch, path, *rest = sys.argv[1:]
    groups, failed = [[]], 0
    for word in rest:
        groups.append([]) if word == "--" else groups[-1].append(word)
    for kernel, *sizes in groups:
        text = kernel_text(path, kernel)
        copy, to = renamed(text)
        mine, launches = compiled(text, kernel, sizes, arch)
        others, _ = compiled(copy, to[kernel], [f"{to[s.split('=')[0]]}={s.split('=')[1]}" for s in sizes], arch)
        differences = list(difflib.unified_diff(mine, others, kernel, "renamed", lineterm="", n=0))
        print(f"{kernel}: {launches} launch{'es' * (launches > 1)}, {'another text' if differences else 'the same text'}")
        if differences:
            print(copy, *differences[:30], sep="\n")
        failed |= bool(differences)
    return failed


if __name__ == "__main__":
    sys.exit(main())
