# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Searches of schedules: `kernelc tune` in a process of its own, which is ended where a candidate's code does not end, and started
again, without that candidate, where one has taken the process or its device along. The records file is what is known."""
import json
import os
import select
import subprocess
import sys
import tempfile
import time

from . import _library as lib
from ._tools import arguments, read_json


class _Bar:
    """How far a search is: a line of a terminal that is written over, a cell's output in a notebook, or nothing."""

    def __init__(self, shown, budget, stream=None):
        self.budget, self.stream, self.display, self.width = budget, stream or sys.stderr, None, 0
        self.shown = shown and (self._find_notebook() or self.stream.isatty())

    def _find_notebook(self):
        shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
        if shell is None or not hasattr(shell, "kernel"):
            return False
        from IPython.display import HTML, display
        self.html, self.display = HTML, display(HTML(""), display_id=True)
        return True

    def show(self, seconds, trials, best, what):
        if not self.shown:
            return
        part = min(1.0, seconds / self.budget)
        text = f"{trials} schedules, {f'best {best:.2f} us' if best else 'none measured'}, {seconds:.0f} of {self.budget:.0f} s, {what}"
        if self.display:
            return self.display.update(self.html(f"<progress max='1' value='{part:.3f}'></progress> {text}"))
        line = f"[{'#' * round(20 * part):20}] {text}"
        self.stream.write("\r" + line.ljust(self.width))
        self.stream.flush()
        self.width = len(line)

    def close(self):
        if self.shown and not self.display:
            self.stream.write("\n")


class _Search:
    def __init__(self, line, records, budget, patience, deadline, bar):
        self.line, self.records, self.budget, self.patience, self.bar = line, records, budget, patience, bar
        self.start, self.deadline = time.monotonic(), deadline
        self.trials, self.best, self.what = 0, None, "starts"
        self.checked = self.since = None  # the record of the candidate whose code runs for the first time, and since when
        self.contenders, self.timed, self.stuck = [], 0, None  # candidates that are or will be timed together, how many now, and who did not end before

    def seconds(self):
        return time.monotonic() - self.start

    def hear(self, event):
        self.since, self.checked = time.monotonic(), {**event, "schedule": event.pop("checks")} if "checks" in event else None
        if self.checked:
            self.contenders.append(self.checked)
        self.timed = event.get("measures", 0)
        if "trial" in event:
            self.contenders.clear()
            self.trials += 1
            found = event.get("median_us")
            self.best = min(filter(None, (self.best, found)), default=None)
        self.what = "checks" if self.checked else "measures" if "measures" in event else "compiles"

    def process(self):
        """One process: (exit code, what it printed, what it said)."""
        left = max(1.0, self.budget - self.seconds())
        read, write = os.pipe()
        line = [*self.line, "--budget", f"{left:.3f}s", "--records", self.records, "--resume", "--progress", f"/dev/fd/{write}"]
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as said:
            process = subprocess.Popen(line, stdout=out, stderr=said, pass_fds=(write,), stdin=subprocess.DEVNULL)
            os.close(write)
            try:
                self.follow(process, read)
            finally:  # Ctrl-C and a time limit end it; what was tried is in the records
                process.kill()
                process.wait()
                os.close(read)
            out.seek(0)
            said.seek(0)
            return process.returncode, out.read(), said.read()

    def follow(self, process, read):
        pending = b""
        while True:
            ready, _, _ = select.select([read], [], [], 0.2)
            data = os.read(read, 1 << 16) if ready else None
            if data == b"":
                return process.wait(60)
            *lines, pending = (pending + (data or b"")).split(b"\n")
            for line in lines:
                self.hear(json.loads(line))
            self.bar.show(self.seconds(), self.trials, self.best, self.what)
            if self.deadline is not None and self.seconds() > self.deadline:
                raise subprocess.TimeoutExpired(self.line, self.deadline)
            # Of what is timed together nobody knows who does not end, and each runs many times.
            if self.timed and time.monotonic() - self.since > self.patience * (1 + self.timed):
                return
            if self.checked is not None and time.monotonic() - self.since > self.patience:
                return

    def reject(self, candidate, why):
        """Writes down that a candidate which was being checked or timed is none."""
        record = {key: value for key, value in candidate.items() if key != "checks"}
        with open(self.records, "a", encoding="utf-8") as f:
            f.write(json.dumps({**record, "rejected": why}) + "\n")

    def give_up_timing(self):
        """Lets those that are timed together have one more try, in a new process; then none of them is a candidate."""
        if self.stuck != self.contenders:
            self.stuck = list(self.contenders)
            return
        for candidate in self.contenders:
            self.reject(candidate, "its timing did not end")

    def run(self):
        while True:
            self.checked, self.timed, before = None, 0, self.trials
            self.contenders.clear()
            code, out, said = self.process()
            if code in (0, 1) and out:
                return read_json(out)
            if self.checked is not None:
                self.reject(self.checked, "its code did not end" if code == -9 else f"the process ended with {code}")
            elif self.timed and code == -9:
                self.give_up_timing()
            elif self.trials == before:  # nothing was learnt: it would end so again
                raise lib.KernelcError(lib.INVALID_ARGUMENT, said.replace("kernelc: ", "", 1).strip() or f"'kernelc tune' ended with {code}")
            if self.seconds() > self.budget:
                raise lib.KernelcError(lib.INVALID_ARGUMENT, f"no search within {self.budget} s: {said.strip()}")


def tune(source, name, args, named, device, budget, records, patience, timeout, progress):
    """The best schedule; what a worker of an executor runs."""
    from ._kernel import Session
    kernel = Session(disk_cache=False)._restore(source, name)
    with tempfile.TemporaryDirectory(prefix="kernelc-") as folder:
        line = [lib.tool_path(), "tune", *arguments(kernel, folder, args, named, device)]
        bar = _Bar(progress, budget)
        try:
            return _Search(line, records or os.path.join(folder, "records.jsonl"), budget, patience, timeout, bar).run()
        finally:
            bar.close()
