# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Refuses a forbidden #include between layers.

Reads the table KERNELC_LAYERS in KernelcTargets.cmake, then every source below the
given root. Exit status 1 and one line per offence.
"""
import pathlib
import re
import sys


def main(root: pathlib.Path) -> int:
    table = (root / "cmake" / "KernelcTargets.cmake").read_text()
    rows = re.search(r"set\(KERNELC_LAYERS(.*?)\)", table, re.S).group(1)
    allowed = {}
    for name, uses in re.findall(r'"(\w+):([\w,]*)"', rows):
        allowed[name] = set(filter(None, uses.split(","))) | {name}
    bad = 0
    for layer, uses in allowed.items():
        for path in sorted((root / layer).rglob("*")):
            if path.suffix not in (".h", ".cpp", ".inc", ".td"):
                continue
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                m = re.match(r'\s*(?:#include|include)\s+"(\w+)/', line)
                if m and m.group(1) in allowed and m.group(1) not in uses:
                    print(f"{path.relative_to(root)}:{number}: {layer} may not include {m.group(1)}")
                    bad += 1
    print(f"checked {len(allowed)} layers, {bad} forbidden includes")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
