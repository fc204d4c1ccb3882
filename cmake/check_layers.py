# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Refuses a forbidden #include between layers, and between the folders of a layer.

Reads the tables KERNELC_LAYERS and KERNELC_FOLDERS in KernelcTargets.cmake, then every source below
the given root. Exit status 1 and one line per offence.
"""
import pathlib
import re
import sys


def read_table(text: str, name: str) -> dict[str, set[str]]:
    rows = re.search(rf"set\({name}(.*?)\)", text, re.S).group(1)
    return {row: set(filter(None, uses.split(","))) for row, uses in re.findall(r'"([\w/]+):([\w,]*)"', rows)}


def includes_of(root: pathlib.Path, folder: str):
    """Each include of a file of ours below `folder`: file, line, the path that is included."""
    for path in sorted((root / folder).rglob("*")):
        if path.suffix not in (".h", ".cpp", ".inc", ".td"):
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if m := re.match(r'\s*(?:#include|include)\s+"(\w+/[^"]+)"', line):
                yield path.relative_to(root), number, m.group(1)


def main(root: pathlib.Path) -> int:
    text = (root / "cmake" / "KernelcTargets.cmake").read_text()
    layers, folders = read_table(text, "KERNELC_LAYERS"), read_table(text, "KERNELC_FOLDERS")
    bad = []
    for layer, uses in layers.items():
        for path, line, included in includes_of(root, layer):
            other = included.split("/")[0]
            if other in layers and other not in uses | {layer}:
                bad.append(f"{path}:{line}: {layer} may not include {other}")
    for folder, uses in folders.items():
        if not (root / folder).is_dir():
            bad.append(f"cmake/KernelcTargets.cmake: there is no folder {folder}")
        layer, name = folder.split("/")
        for path, line, included in includes_of(root, folder):
            parts = included.split("/")
            if parts[0] == layer and len(parts) > 2 and parts[1] not in uses | {name}:
                bad.append(f"{path}:{line}: {folder} may not include {layer}/{parts[1]}")
    print("\n".join(bad + [f"checked {len(layers)} layers and {len(folders)} folders, {len(bad)} forbidden includes"]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
