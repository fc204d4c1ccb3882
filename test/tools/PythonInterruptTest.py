# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ctrl-C in long compilations and runs, each in a process of its own; the interpreter's exit; and fork."""
import os
import signal
import subprocess
import sys
import time
import unittest

SLOW = "def f(x: f32[N, N]) -> (y: f32[N]) { y[i] = sum[j, k](sin(x[i, j]) * cos(x[j, k]) * exp(x[i, k])) }"

RUN = f"""
import sys, time, threading
import numpy as np, kernelc
k = kernelc.compile({SLOW!r}).f
k(np.ones((2, 2), np.float32), device=sys.argv[1])
n = int(sys.argv[2])
x, y = np.ones((n, n), np.float32), np.full(n, 7, np.float32)
ticks = []
def tick():
    while True:
        ticks.append(time.monotonic())
        time.sleep(0.01)
threading.Thread(target=tick, daemon=True).start()
print("ready", flush=True)
start = time.monotonic()
try:
    k(x, y, device=sys.argv[1]) if sys.argv[1] == "emulator" else k(x, y)
    print("finished", time.monotonic() - start)
except KeyboardInterrupt:
    print("interrupted", len(ticks) > 5, (y == 7).all() if sys.argv[1] == "emulator" else True, flush=True)
z = k(np.ones((2, 2), np.float32))
print("goes on", z.shape)
"""

COMPILE = """
import os, signal, sys, threading, time
import kernelc
from kernelc import _patience
def slow():
    time.sleep(1.5)
    return 5
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
start = time.monotonic()
try:
    _patience.patiently(slow)
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - start < 1.2)
print(_patience.patiently(lambda: 3))
try:
    _patience.patiently(lambda: 1 / 0)
except ZeroDivisionError:
    print("raises")
me = lambda: _patience.patiently(threading.get_ident)
print("kept", me() == me() != threading.get_ident())
pid = os.fork()
if pid == 0:
    os._exit(0 if me() != threading.get_ident() else 1)
print("forked", os.waitpid(pid, 0)[1])
_patience.IDLE_SECONDS = 0.01
me()
time.sleep(2.0)  # the first one, too
print("ends", threading.active_count(), me() != threading.get_ident())
def late():
    time.sleep(1.0)
    print("waited for", flush=True)
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    _patience.patiently(late)
except KeyboardInterrupt:
    print("leaves", flush=True)
"""

FORK = """
import os, sys, threading
import numpy as np, kernelc
k = kernelc.compile("def f(x: f32[M, K], w: f32[K, N]) -> (y: f32[M, N]) { y[i, j] = sum[k](x[i, k] * w[k, j]) }").f
x = np.ones((200, 200), np.float32)
expected = k(x, x)
stop = False
def busy():
    while not stop:
        k(x, x)
threads = [threading.Thread(target=busy, daemon=True) for _ in range(2)]
for t in threads: t.start()
for i in range(20):
    pid = os.fork()
    if pid == 0:
        ok = (k(x, x) == expected).all() and (kernelc.compile("def g(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] + 1 }")(x[0]) == 2).all()
        os._exit(0 if ok else 1)
    assert os.waitpid(pid, 0)[1] == 0
stop = True
for t in threads: t.join()
print("ok")
"""

LONG = f"""
import os, threading, time
import numpy as np, kernelc
k, add = kernelc.compile({SLOW!r}).f, kernelc.compile("def g(x: f32[N]) -> (y: f32[N]) {{ y[i] = x[i] + 1 }}")
x, small = np.ones((2500, 2500), np.float32), np.ones(3, np.float32)
add(small)
k(x[:2, :2])
threading.Thread(target=lambda: k(x), daemon=True).start()
time.sleep(0.5)
if os.fork() == 0:
    y = np.full(3, 7, np.float32)
    try:
        add(small, y)
        print("ran", flush=True)
    except kernelc.KernelcError as error:
        print("refused" if "forked while another thread" in str(error) and (y == 7).all() else error, flush=True)
    os._exit(0)
os.wait()
print(add(small)[0], flush=True)
"""

EXIT = """
import sys, threading, time
import numpy as np, kernelc
k = kernelc.compile("def f(x: f32[M, K], w: f32[K, N]) -> (y: f32[M, N]) { y[i, j] = sum[k](x[i, k] * w[k, j]) }").f
x = np.ones((300, 300), np.float32)
k(x, x)
def call():
    while True:
        k(x, x)
def emulate():
    while True:
        k(x[:40, :40], x[:40, :40], device="emulator")
def compile():
    for n in range(10 ** 6):
        kernelc.Session(disk_cache=False).compile("def g(x: f32[N]) -> (y: f32[N]) { y[i] = x[i] + %d }" % n).g(x[0])
def destroy():  # by functions that keep the interpreter lock, as an extension's deallocators do
    import ctypes
    from kernelc import _library as lib
    held = ctypes.PyDLL(lib.library_path())
    while True:
        session = ctypes.c_void_p()
        lib.library().kc_session_create(None, ctypes.byref(session))
        held.kc_session_destroy(session)
for _ in range(3):
    threading.Thread(target=globals()[sys.argv[1]], daemon=True).start()
time.sleep(float(sys.argv[2]))
print("ends")
"""


def run(code, *args, timeout=120):
    """The process's end. One that has none by then is asked where its threads are."""
    child = subprocess.Popen([sys.executable, "-X", "faulthandler", "-c", code, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        child.send_signal(signal.SIGABRT)
        try:
            out, err = child.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            child.kill()
            out, err = child.communicate()
        err = f"hung for {timeout} s with arguments {args}; it wrote {out!r}, and its threads were at\n{err}"
    return subprocess.CompletedProcess(args, child.returncode, out, err)


class Interrupts(unittest.TestCase):
    def interrupted(self, device, size):
        child = subprocess.Popen([sys.executable, "-c", RUN, device, str(size)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "ready\n")
        time.sleep(0.5)
        start = time.monotonic()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=300)
        self.assertIn("interrupted True True", out, out + err)
        self.assertIn("goes on (2,)", out, out + err)
        self.assertLess(time.monotonic() - start, 5)

    def test_the_cpu_device_lets_other_threads_run_and_hears_signals(self):
        from kernelc import _warm
        if _warm._fast is None:
            self.skipTest("without the extension signals wait for the kernel's end")
        self.interrupted("cpu", 4000)

    def test_the_emulator_hears_signals_and_writes_nothing(self):
        from kernelc import _warm
        if _warm._fast is None:
            self.skipTest("without the extension signals wait for the kernel's end")
        self.interrupted("emulator", 700)

    def test_compilations(self):
        self.assertEqual(run(COMPILE).stdout.split("\n"),
                         ["interrupted True", "3", "raises", "kept True", "forked 0", "ends 1 True", "leaves", "waited for", ""])

    def test_fork_after_use_with_live_threads(self):
        result = run(FORK)
        self.assertEqual((result.stdout, result.returncode), ("ok\n", 0), result.stderr)

    def test_fork_in_the_middle_of_a_long_call(self):
        result = run(LONG)
        self.assertEqual((result.stdout, result.returncode), ("refused\n2.0\n", 0), result.stderr)

    def test_exit_with_live_threads(self):
        for what in ("call", "emulate", "compile", "destroy"):
            for seconds in (0.0, 0.1, 0.4):
                with self.subTest(what=what, seconds=seconds):
                    result = run(EXIT, what, str(seconds), timeout=60)
                    self.assertEqual((result.stdout, result.returncode), ("ends\n", 0), result.stderr)


if __name__ == "__main__":
    unittest.main()
