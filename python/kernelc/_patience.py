# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Long compilations that Ctrl-C is heard in: they run in a thread of their own while the main thread waits for it, and
where a signal's handler raises there, that thread finishes for nobody. It may read arrays' addresses and layouts, and
writes none. The interpreter's exit waits for such threads."""
import threading


def patiently(work):
    """work(), which keeps nothing of this thread's. On the main thread signals are heard meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    outcome = []

    def run():
        try:
            outcome.append((work(), None))
        except BaseException as error:
            outcome.append((None, error))
        finally:
            done.release()
    done = threading.Lock()
    done.acquire()
    thread = threading.Thread(target=run, name="kernelc compilation")
    try:
        thread.start()
    except RuntimeError:  # none can be had: the interpreter ends, or the system has no more
        return work()
    done.acquire()  # where signals are heard
    thread.join()
    result, error = outcome[0]
    if error is not None:
        raise error
    return result
