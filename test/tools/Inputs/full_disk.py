# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""full_disk.py KERNELC FILE.kc FOLDER: the cache, temporary files and results on a file system with 4 KB left, then with room again.

It mounts a tmpfs of its own in a mount namespace; where nobody may do that it says so and ends well.
"""
import os
import subprocess
import sys

kernelc, kernel, folder = sys.argv[1:4]
if "--inside" not in sys.argv:
    command = [sys.executable, __file__, kernelc, kernel, folder, "--inside"]
    for unshare in (["unshare", "-m"], ["unshare", "-Urm"]):
        if subprocess.run([*unshare, "mount", "-t", "tmpfs", "-o", "size=64k", "kc", folder], capture_output=True).returncode == 0:
            sys.exit(subprocess.run([*unshare, "--propagation", "private", *command]).returncode)
    print("no tmpfs here")
    sys.exit(0)

subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "kc", folder], check=True)
cache, filler = os.path.join(folder, "cache"), os.path.join(folder, "filler")
environment = {**os.environ, "KERNELC_CACHE_DIR": cache, "TMPDIR": folder}


def files():
    """All but the cache's, whose entries may find room."""
    return sorted(os.path.join(d, f) for d, _, names in os.walk(folder) for f in names if not d.startswith(cache))


def run(what, *arguments, ends):
    result = subprocess.run([kernelc, *arguments], env=environment, capture_output=True, text=True)
    assert result.returncode == ends, f"{what}: {result.returncode}, not {ends}: {result.stderr}"
    return result.stdout + result.stderr


def compile_to(path, ends, what):
    return run(what, "compile", kernel, "--arch", "sm_90a", "-o", path, ends=ends)


good = os.path.join(folder, "good.cubin")
run("with room", "compile", kernel, "--arch", "sm_80", "-o", good, ends=0)
whole = open(good, "rb").read()
with open(filler, "wb", buffering=0) as f:
    try:
        while f.write(bytes(4096)):
            pass
    except OSError:
        pass
    f.truncate(max(0, f.tell() - 4096))
before = files()

assert "No space left on device" in compile_to(good, 1, "a result")
assert open(good, "rb").read() == whole, "the old result is another one"
compile_to("/dev/null", 0, "the cache is full, the result is elsewhere")
said = run("the emulator", "check", kernel, "--device", "emulator", "--set", "N=10", "a=2", ends=1)
assert "No space left on device" in said, said
assert files() == before, f"left: {set(files()) - set(before)}"

os.unlink(filler)
compile_to(good, 0, "room again")
assert open(good, "rb").read() != whole
print("verified:", run("the cache", "cache", "verify", ends=0).strip().replace("\n", "; "))
