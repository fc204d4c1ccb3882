# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Kernel.tune() does around `kernelc tune`, with a stand-in for that: candidates that hang or take the process along, resuming,
cancelling, time limits, the bar."""
import concurrent.futures
import contextlib
import importlib.util
import io
import json
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import numpy as np

import kernelc
from kernelc import _tune

SCALE = "def scale(x: f32[N]) -> (y: f32[N]) { y[i] = 2 * x[i] }"

# Tries warps 1 to 6: 3 hangs, 5 kills the process, the others take 10 us less for each warp. As kernelc tune does, it tries nothing
# that the records have, and hands out the best of them.
TOOL = f"""#!{sys.executable}
import json, os, sys, time
args = sys.argv[1:]
option = lambda name: args[args.index(name) + 1]
assert args[0] == "tune" and "--resume" in args, args
records, plan = option("--records"), json.load(open(os.path.join(os.path.dirname(__file__), "plan.json")))
like = {{"kernel": "scale", "sizes": {{"N": 4}}}}
tried = {{}}
if os.path.exists(records):
    for line in open(records):
        record = json.loads(line)
        tried[record["schedule"][0]["warps"]] = record.get("median_us")
progress = open(option("--progress"), "a")
def say(event):
    print(json.dumps(event), file=progress, flush=True)
for warps in range(1, 7):
    if warps in tried:
        continue
    schedule = [{{"kernel": "scale", "launch": "y", "warps": warps}}]
    say({{**like, "checks": schedule}})
    what = plan.get(str(warps))
    if what == "hangs": time.sleep(600)
    if what == "dies": os.abort()
    say({{"measures": 1}})
    if what == "waits": time.sleep(600)
    tried[warps] = 100.0 - 10 * warps
    with open(records, "a") as f:
        f.write(json.dumps({{**like, "schedule": schedule, "median_us": tried[warps]}}) + "\\n")
    say({{"trial": warps, "median_us": tried[warps], "best_us": 0}})
if plan.get("fails"):
    sys.exit("kernelc: " + plan["fails"])
best = min((us, warps) for warps, us in tried.items() if us)[1]
print(json.dumps([{{"kernel": "scale", "launch": "y", "warps": best}}]))
"""


class Tune(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.records, self.plan, tool = (os.path.join(folder.name, name) for name in ("records.jsonl", "plan.json", "kernelc"))
        with open(tool, "w") as f:
            f.write(TOOL)
        os.chmod(tool, stat.S_IRWXU)
        environment = mock.patch.dict(os.environ, KERNELC_TOOL=tool)
        environment.start()
        self.addCleanup(environment.stop)
        self.k, self.x = kernelc.compile(SCALE).scale, np.ones(4, np.float32)

        self.write_plan()

    def write_plan(self, plan=()):
        with open(self.plan, "w") as f:  # a file, since an executor's processes may run already
            json.dump(dict(plan), f)

    def tune(self, plan=(), **options):
        self.write_plan(plan)
        return self.k.tune(self.x, records=self.records, progress=False, patience=0.5, **options)

    def outcomes(self):
        with open(self.records) as f:
            found = [json.loads(line) for line in f]
        return {r["schedule"][0]["warps"]: r.get("median_us") or r["rejected"] for r in found}

    def test_candidates_that_hang_or_take_the_process_along(self):
        best = self.tune({"3": "hangs", "5": "dies"})
        self.assertEqual(best[0]["warps"], 6)
        self.assertEqual(self.outcomes(), {1: 90, 2: 80, 3: "its code did not end", 4: 60, 5: f"the process ended with {-signal.SIGABRT}", 6: 40})
        with open(self.records) as f:
            self.assertTrue(all(json.loads(line)["kernel"] == "scale" for line in f), "rejected ones are records as others are")

    def test_timing_that_does_not_end(self):
        self.assertEqual(self.tune({"2": "waits"})[0]["warps"], 6)
        self.assertEqual(self.outcomes(), {1: 90, 2: "its timing did not end", 3: 70, 4: 60, 5: 50, 6: 40})

    def test_resumes_after_a_time_limit(self):
        with self.assertRaises(subprocess.TimeoutExpired):
            self.tune({"4": "waits"}, timeout=1.5)
        self.assertEqual(sorted(self.outcomes()), [1, 2, 3])
        start = time.monotonic()
        self.assertEqual(self.tune({"1": "hangs", "2": "dies"})[0]["warps"], 6, "what was tried is not tried again")
        self.assertLess(time.monotonic() - start, 10)

    def test_is_cancelled_by_a_signal(self):
        timer = threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        start = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            self.tune({"2": "waits"})
        self.assertLess(time.monotonic() - start, 10)
        self.assertEqual(self.outcomes(), {1: 90})

    def test_executors_of_concurrent_futures(self):
        spawn = multiprocessing.get_context("spawn")
        for pool in (concurrent.futures.ThreadPoolExecutor(2), concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn)):
            with pool:
                self.search_by(pool)

    @unittest.skipUnless(importlib.util.find_spec("distributed"), "Dask is not installed")
    def test_executor_of_dask(self):
        from dask.distributed import Client, LocalCluster
        with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
            with client.get_executor() as pool:
                self.search_by(pool)

    @unittest.skipUnless(importlib.util.find_spec("ray"), "Ray is not installed")
    def test_executor_of_ray(self):
        """Ray has tasks and no executor: docs/python.md shows this one."""
        import ray

        class Tasks(concurrent.futures.Executor):
            def submit(self, function, *args, **named):
                return ray.remote(function).remote(*args, **named).future()

        paths = os.pathsep.join(p for p in sys.path if p)
        ray.init(num_cpus=1, include_dashboard=False, runtime_env={"env_vars": {"PYTHONPATH": paths}})
        self.addCleanup(ray.shutdown)
        self.search_by(Tasks())

    def search_by(self, pool):
        """By a worker of `pool`, a search in which a candidate takes its process along, and one that fails."""
        with contextlib.suppress(FileNotFoundError):
            os.remove(self.records)
        self.assertEqual(self.tune({"5": "dies"}, executor=pool).result(120)[0]["warps"], 6)
        self.assertEqual(self.outcomes()[5], f"the process ended with {-signal.SIGABRT}")
        with self.assertRaisesRegex(kernelc.KernelcError, "there is no GPU"):
            self.tune({"fails": "there is no GPU"}, executor=pool).result(120)

    def test_failures_are_said(self):
        with self.assertRaisesRegex(kernelc.KernelcError, "^there is no GPU$"):
            self.tune({"fails": "there is no GPU"})
        self.assertEqual(len(self.outcomes()), 6)

    def test_the_bar(self):
        class Terminal(io.StringIO):
            def isatty(self):
                return True
        terminal = Terminal()
        with mock.patch.object(sys, "stderr", terminal):
            self.k.tune(self.x)
        last = terminal.getvalue().rstrip("\n").split("\r")[-1]
        self.assertRegex(last, r"^\[ *#* *\] 6 schedules, best 40.00 us, \d+ of 60 s, ")
        quiet = io.StringIO()
        with mock.patch.object(sys, "stderr", quiet):
            self.k.tune(self.x)
        self.assertEqual(quiet.getvalue(), "", "no bar in a log")

    def test_the_bar_of_a_notebook(self):
        shown = []
        ipython, display = mock.Mock(), mock.Mock()
        display.HTML = lambda text: text
        display.display.return_value.update = shown.append
        with mock.patch.dict(sys.modules, {"IPython": ipython, "IPython.display": display}):
            bar = _tune._Bar(True, 60)
            bar.show(30, 5, 12.5, "checks")
        self.assertEqual(shown, ["<progress max='1' value='0.500'></progress> 5 schedules, best 12.50 us, 30 of 60 s, checks"])


if __name__ == "__main__":
    unittest.main()
