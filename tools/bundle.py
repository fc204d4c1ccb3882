#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packs the built programs into one relocatable archive: bin/, lib/, examples/, bench/,
python/. Everything a program needs beyond libc, libm, libstdc++, libgcc, zlib and zstd
comes along in lib/, found through $ORIGIN.

usage: bundle.py BUILD_DIR SOURCE_DIR STRIP OUTPUT.tar.xz [TEST_BINARY...]
       bundle.py --wheel BUILD_DIR SOURCE_DIR PACKAGE_DIR

The second form lays the programs, their libraries (zstd too, which a bare system may lack) and the
header into the folder of the Python package; pyproject.toml's build calls it.
"""
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

LIMIT = 40 << 20
# A window that spans two programs, since they share most of their code.
FILTERS = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 4, "dict_size": 128 << 20}]
FROM_SYSTEM = ("linux-vdso", "libc", "libm", r"libstdc\+\+", "libgcc_s", "libz", "libdl", "libpthread", "librt", "ld-linux.*")


def libraries(path, from_system):
    """Shared libraries that `path` needs, by name, beyond the system's."""
    found, known = {}, re.compile(rf"^({'|'.join(from_system)})\.so")
    for line in subprocess.run(["ldd", path], check=True, capture_output=True, text=True).stdout.splitlines():
        match = re.match(r"\s*(\S+) => (\S+)", line)
        if not match or known.match(match[1]):
            continue
        if match[2] == "not":
            sys.exit(f"bundle: {path} needs {match[1]}, which is not there")
        found[match[1]] = match[2]
    return found


def stage(build, source, strip, root, tests=(), from_system=FROM_SYSTEM):
    """The programs, what they need, and the header of the C interface, under `root`."""
    for folder in ("bin", "lib", "include"):
        os.makedirs(os.path.join(root, folder), exist_ok=True)
    binaries = {os.path.join(build, "tools", "kernelc"): "bin/kernelc",
                os.path.join(build, "tools", "kernelc-nvrtc-worker"): "bin/kernelc-nvrtc-worker",
                os.path.join(build, "lib", "libkernelc.so.1"): "lib/libkernelc.so.1"}
    fast = os.path.join(build, "lib", "_fast.abi3.so")  # where the build found Python's headers
    binaries.update({fast: "lib/_fast.abi3.so"} if os.path.exists(fast) else {})
    binaries.update({t: "bin/" + os.path.basename(t) for t in tests})
    needed = {}
    for path, name in binaries.items():
        needed.update(libraries(path, from_system))
        target = os.path.join(root, name)
        shutil.copy(os.path.realpath(path), target)
        subprocess.run([strip, "--strip-all", target], check=True)
    needed.pop("libkernelc.so.1", None)
    for name, path in needed.items():
        shutil.copy(os.path.realpath(path), os.path.join(root, "lib", name))
    shutil.copy(os.path.join(source, "driver", "capi", "kernelc.h"), os.path.join(root, "include"))


def stage_wheel(build, source, package):
    with open(os.path.join(build, "CMakeCache.txt")) as cache:
        llvm = re.search(r"^KERNELC_LLVM_ROOT:PATH=(.*)$", cache.read(), re.M)[1]
    stage(build, source, os.path.join(llvm, "bin", "llvm-strip"), package)


def main():
    if sys.argv[1] == "--wheel":
        return stage_wheel(*sys.argv[2:])
    build, source, strip, output, *tests = sys.argv[1:]
    with tempfile.TemporaryDirectory() as temporary:
        root = os.path.join(temporary, "kernelc")
        stage(build, source, strip, root, tests, (*FROM_SYSTEM, "libzstd"))
        os.symlink("kernelc", os.path.join(root, "bin", "kernelc-opt"))
        os.symlink("libkernelc.so.1", os.path.join(root, "lib", "libkernelc.so"))
        ignore = shutil.ignore_patterns("__pycache__", "CMakeLists.txt", "*.cpp", "*.in", "fast", "wheel")
        for folder in ("examples", "bench", "python"):
            shutil.copytree(os.path.join(source, folder), os.path.join(root, folder), ignore=ignore)
        partial = output + ".part"
        with lzma.open(partial, "wb", filters=FILTERS) as stream, tarfile.open(fileobj=stream, mode="w|") as archive:
            archive.add(root, "kernelc")
        os.replace(partial, output)
    size = os.path.getsize(output)
    print(f"{output}: {size / (1 << 20):.1f} MiB")
    if size > LIMIT:
        sys.exit(f"bundle: larger than {LIMIT >> 20} MiB")


main()
