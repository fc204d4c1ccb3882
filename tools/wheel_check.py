#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a wheel asks of a machine: the least glibc, and libraries outside the wheel. Fails where it needs one that
a Linux with Python does not have for certain, or more than the stated glibc; else gives it the manylinux name.

usage: wheel_check.py WHEEL [--retag]      prints "manylinux_2_36_x86_64", and the new file's name
"""
import os
import re
import subprocess
import sys
import tempfile
import zipfile

FLOOR = (2, 36)  # of Debian 12, whose LLVM is linked in; docs/python.md states it
# PEP 600's list as far as it is met here, each with the newest version of its symbols that Debian 12 has.
GIVEN = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1", "libstdc++.so.6", "libz.so.1",
         "ld-linux-x86-64.so.2"}
MOST = {"GLIBC": FLOOR, "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13)}


def readelf(path):
    """(names of needed libraries, {"GLIBC": {(2, 34), ..}, ..}) of an ELF file."""
    text = subprocess.run(["readelf", "-W", "-d", "-V", path], check=True, capture_output=True, text=True).stdout
    needs = text[text.find("Version needs section"):]
    versions = {}
    for name, version in re.findall(r"Name: ([A-Z]+)_([0-9.]+)\b", needs):
        versions.setdefault(name, set()).add(tuple(map(int, version.split("."))))
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", text)), versions


def main():
    wheel = sys.argv[1]
    wrong, floor, inside = [], (0,), set()
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
            inside = {os.path.basename(n) for n in archive.namelist()}
        files = [os.path.join(root, f) for root, _, names in os.walk(folder) for f in names]
        for path in files:
            with open(path, "rb") as f:
                if f.read(4) != b"\x7fELF":
                    continue
            needed, versions = readelf(path)
            name = os.path.relpath(path, folder)
            wrong += [f"{name} needs {n}, which is neither in the wheel nor on every machine" for n in needed - inside - GIVEN]
            for library, most in MOST.items():
                newest = max(versions.get(library, {(0,)}))
                if newest > most:
                    wrong.append(f"{name} needs {library} {'.'.join(map(str, newest))}, and the floor is {'.'.join(map(str, most))}")
                if library == "GLIBC":
                    floor = max(floor, newest)
    if wrong:
        sys.exit("wheel_check: " + "\nwheel_check: ".join(wrong))
    if floor == (0,):
        sys.exit(f"wheel_check: {wheel} has no ELF file")
    tag = "manylinux_%d_%d_x86_64" % floor
    print(tag)
    if "--retag" in sys.argv[2:]:
        subprocess.run([sys.executable, "-m", "wheel", "tags", "--remove", "--platform-tag", tag, wheel], check=True)


main()
