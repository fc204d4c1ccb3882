# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plants each fault of faults.py and says by which of the programs that CI draws the oracle finds it.

    python3 test/oracle/plant.py --build build/ci             all faults; the table is Markdown
    python3 test/oracle/plant.py --build build/ci window cast
    python3 test/oracle/plant.py --build build/ci --results plant.jsonl       the same again goes on where it was ended

`--build` is a finished build. Neither it nor its sources are changed: a fault's files are compiled apart and linked
before the archives that hold the right ones. A program counts if the compiler without the fault passes it."""
import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

import hypothesis  # noqa: F401  (the searches need it, and would take its lack for a find)

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from oracle.faults import FAULTS, MENDS  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))


class Build:
    def __init__(self, folder):
        self.folder = os.path.abspath(folder)
        with open(os.path.join(self.folder, "compile_commands.json")) as f:
            self.compiles = {e["file"]: e["command"] for e in json.load(f)}
        with open(os.path.join(self.folder, "CMakeCache.txt")) as f:
            self.source = next(line.split("=", 1)[1].strip() for line in f if line.startswith("CMAKE_HOME_DIRECTORY"))
        lines = subprocess.run(["ninja", "-t", "commands", "libkernelc"], cwd=self.folder, check=True, capture_output=True, text=True).stdout.splitlines()
        self.link = next(line for line in lines if " -o lib/libkernelc.so" in line)
        self.library = os.path.join(self.folder, "lib", "libkernelc.so")

    def find(self, name):
        """A file of the sources or of the build, or None."""
        return next((f for f in (os.path.join(self.source, name), os.path.join(self.folder, name)) if os.path.exists(f)), None)

    def has(self, fault):
        files = [self.find(name) for name, _, _ in fault.edits]
        return all(files) and all(open(f).read().count(old) == 1 for f, (_, old, _) in zip(files, fault.edits))

    def compile(self, file, changed, made, include):
        words = shlex.split(self.compiles[file])
        words[words.index("-o") + 1], words[words.index(file)] = made, changed
        subprocess.run([words[0], "-I", include, *words[1:]], cwd=self.folder, check=True)

    def plant(self, fault, scratch):
        """The library with the fault."""
        scratch = os.path.join(scratch, fault.name.replace(" ", "-").replace(",", ""))
        objects = []
        for name, old, new in fault.edits:
            file, changed = self.find(name), os.path.join(scratch, name)
            os.makedirs(os.path.dirname(changed), exist_ok=True)
            with open(file) as f, open(changed, "w") as g:
                g.write(f.read().replace(old, new))
            if file in self.compiles:
                objects.append(changed + ".o")
                self.compile(file, changed, objects[-1], scratch)
        for name in fault.through:
            objects.append(os.path.join(scratch, name + ".o"))
            os.makedirs(os.path.dirname(objects[-1]), exist_ok=True)
            self.compile(self.find(name), self.find(name), objects[-1], scratch)
        library = os.path.join(scratch, "libkernelc.so")
        before, after = self.link.split(" -o lib/libkernelc.so", 1)
        command = f"{before} -o {library} {' '.join(objects)} {after.split(' ', 1)[1]}"
        if subprocess.run(command, cwd=self.folder, shell=True).returncode:
            raise SystemExit(f"{fault.name}: does not link; is the build finished?")
        return library

    def failures(self, library, device, known):
        """{number of a program: kind and message} of those that fail; the first that is not `known` ends it."""
        environment = {**os.environ, "KERNELC_LIBRARY": library, "PYTHONPATH": os.path.join(self.source, "python"), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, os.path.join(HERE, "test_oracle.py"), "--record", "--device", device]
        if known is not None:
            command += ["--known", ",".join(map(str, known))]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        found = dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))
        if done.returncode:
            last = done.stderr.strip().splitlines()[-1:] or ["no message"]
            found[max(found, default=0) + 1] = f"the compiler ends the process ({done.returncode}): {last[0]}"
        return found


class Results:
    """What was found, [name, {number: kind and message}] a line, and the file that keeps it; devices are the program without a fault."""

    def __init__(self, path):
        self.path, self.known = path, {}
        if path and os.path.exists(path):
            self.known = {name: {int(n): m for n, m in found.items()} for name, found in map(json.loads, open(path))}

    def of(self, name, search):
        if name not in self.known:
            self.known[name] = search()
            if self.path:
                with open(self.path, "a") as f:
                    f.write(json.dumps([name, self.known[name]]) + "\n")
        return self.known[name]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--results", help="a file that keeps what is found, for the next run")
    parser.add_argument("names", nargs="*")
    a = parser.parse_args()
    build, missed, results = Build(a.build), 0, Results(a.results)
    chosen = [f for f in FAULTS + MENDS if not a.names or any(n in f.name for n in a.names)]
    for fault in [f for f in chosen if not build.has(f)]:
        print(f"{fault.name}: the text to change is not there", file=sys.stderr)
        missed += fault in FAULTS
        chosen.remove(fault)
    with tempfile.TemporaryDirectory() as scratch:
        sound = shutil.copy(build.library, scratch)  # the build may go on meanwhile
        print("| fault | in the compiler | found by |\n|---|---|---|", flush=True)
        for fault in chosen:
            known = results.of(fault.device, lambda: build.failures(sound, fault.device, None))
            for number, message in sorted(known.items()):
                print(f"without a fault, on {fault.device}: program {number}, {message}", file=sys.stderr, flush=True)
            found = results.of(fault.name, lambda: build.failures(build.plant(fault, scratch), fault.device, known))
            new = sorted(set(found) - set(known))
            missed += not new
            print(f"| {fault.name} | {fault.what} | {f'program {new[0]}, {found[new[0]]}' if new else 'nothing'} |", flush=True)
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
