# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""interrupt.py KERNELC FILE.kc: SIGINT and SIGKILL in the middle of a compilation; workers must end with the program."""
import os
import signal
import subprocess
import sys
import tempfile
import time


def workers(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children") as f:
            found += f.read().split()
    return found


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return ") Z" not in f.read()  # one that nobody has asked for has ended
    except OSError:
        return False


for number in (signal.SIGINT, signal.SIGKILL):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "k.h")
        program = subprocess.Popen([sys.argv[1], "compile", sys.argv[2], "-o", out], env={**os.environ, "KERNELC_CACHE_SIZE": "0"},
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # which test drivers ignore
        while not (children := workers(program.pid)):
            time.sleep(0.002)
        time.sleep(0.1)
        assert program.poll() is None, "compiled too soon for this test"
        start = time.monotonic()
        program.send_signal(number)
        assert program.wait() == -number
        while any(map(is_running, children)):
            assert time.monotonic() - start < 5, f"{number.name}: workers are left"
            time.sleep(0.002)
        print(f"{number.name}: {time.monotonic() - start < 1}")  # a fifth of that, but for other work on the machine
        assert os.listdir(folder) == []
