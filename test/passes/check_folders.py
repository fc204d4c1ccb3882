#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every pass of passes/Passes.td has its folder of tests: basic, noop (whose first
case is called do_nothing), invalid, doc-example, and options if it has any."""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CASE = re.compile(r"^(?:te\.kernel|tile\.func|cu\.kernel) @(\w+)|^def (\w+)", re.M)


def find(folder, name):
    for suffix in (".mlir", ".kc"):
        path = os.path.join(HERE, folder, name + suffix)
        if os.path.exists(path):
            return path
    return None


def read(path):
    """A file of the project, with those of it that it includes."""
    text = open(os.path.join(HERE, "..", "..", path)).read()
    return re.sub(r'^include "(passes/.*)"$', lambda m: read(m[1]), text, flags=re.M)


def main():
    passes = read(os.path.join("passes", "Passes.td"))
    found = re.split(r"^def \w+ : Pass<\"([\w-]+)\"", passes, flags=re.M)[1:]
    bad = []
    for name, text in zip(found[::2], found[1::2]):
        wanted = ["basic", "noop", "invalid", "doc-example"] + (["options"] if "let options" in text else [])
        bad += [f"test/passes/{name}/{w} is missing" for w in wanted if not find(name, w)]
        noop = find(name, "noop")
        first = CASE.search(open(noop).read()) if noop else None
        if noop and (not first or (first[1] or first[2]) != "do_nothing"):
            bad.append(f"{noop}: the first case is not called do_nothing")
    known = set(found[::2])
    for folder in sorted(os.listdir(HERE)):
        if os.path.isdir(os.path.join(HERE, folder)) and folder not in known:
            bad.append(f"test/passes/{folder} is the folder of no pass")
    print("\n".join(bad))
    return 1 if bad or not found else 0


if __name__ == "__main__":
    sys.exit(main())
