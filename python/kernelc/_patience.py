# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Long compilations that Ctrl-C is heard in: they run in another thread while the main thread waits for it, and where a
signal's handler raises there, that thread finishes for nobody. It may read arrays' addresses and layouts, and writes none.
A thread that has finished waits a while for the next time, since one takes as long to start as what the disk cache holds takes
to come. The interpreter's exit waits for those at work."""
import atexit
import os
import queue
import threading


IDLE_SECONDS = 1


class _Work:
    """What is to be done, and what came of it."""

    def __init__(self, do):
        self.do, self.result, self.error = do, None, None
        self.done = threading.Lock()
        self.done.acquire()

    def run(self):
        try:
            self.result = self.do()
        except BaseException as error:
            self.error = error
        self.do = None  # nothing is kept alive by a thread that waits


_idle = []  # queues of the threads that wait for work
_at_work = set()


def _serve(works):
    while True:
        try:
            work = works.get(timeout=IDLE_SECONDS)
        except queue.Empty:
            try:
                _idle.remove(works)
            except ValueError:  # somebody has taken it, and hands over work
                continue
            return
        work.run()
        _at_work.discard(work)
        keep = not _idle
        if keep:
            _idle.append(works)  # before anybody may look for it
        work.done.release()
        del work
        if not keep:
            return


def _hand(work):
    """To a thread that waits, or a new one. RuntimeError where none can be had: the interpreter ends, or the system has no more."""
    try:
        works = _idle.pop()
    except IndexError:
        works = queue.SimpleQueue()
        threading.Thread(target=_serve, args=(works,), name="kernelc compilation", daemon=True).start()
    _at_work.add(work)
    works.put(work)


def patiently(do):
    """do(), which keeps nothing of this thread's. On the main thread signals are heard meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        return do()
    work = _Work(do)
    try:
        _hand(work)
    except RuntimeError:
        return do()
    work.done.acquire()  # where signals are heard
    if work.error is not None:
        try:
            raise work.error
        finally:
            del work  # whose error knows this frame
    return work.result


@atexit.register
def _wait():
    for work in list(_at_work):
        work.done.acquire()


def _forget():
    """In a forked child, which has no thread but its own."""
    _idle.clear()
    _at_work.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
