#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call from Python costs on the host: microseconds, median of many rounds, for a kernel of three tensors
of 16 elements, so that next to nothing is computed.

usage: python_call.py [--rounds 200] [--calls 200] [--cuda]     (KERNELC_LIBRARY names the library in a build)

Rows: how the kernel is called, on which device, with whose arrays. `--cuda`: on cuda:0 as well, with arrays of PyTorch;
the launches are really queued. With KERNELC_LIBCUDA naming libKernelcFakeCuda.so of a build a driver that does nothing
takes them, with stand-ins for arrays: the cost of the call path alone, against the same with a bound call.
"""
import argparse
import os
import statistics
import sys
import time

import kernelc

TEXT = "def add(x: f32[N], w: f32[N]) -> (y: f32[N]) { y[i] = x[i] + w[i] }"


def median_us(function, rounds, calls):
    """Median over rounds of the mean over calls, in microseconds."""
    for _ in range(calls):
        function()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            function()
        times.append((time.perf_counter() - start) / calls)
    return statistics.median(times) * 1e6


def on_cpu():
    import numpy as np
    k = kernelc.compile(TEXT).add
    x, w, y = (np.ones(16, np.float32) for _ in range(3))
    yield "k(x, w, y)", "cpu", "NumPy", lambda: k(x, w, y)
    yield "k(x, w, y=y)", "cpu", "NumPy", lambda: k(x, w, y=y)
    yield "k(x, w)", "cpu", "NumPy", lambda: k(x, w)
    bound = bind(k, x, w, y)
    if bound:
        yield "bound.launch()", "cpu", "NumPy", bound.launch
    yield "np.add(x, w, out=y)", "cpu", "NumPy", lambda: np.add(x, w, out=y)
    try:
        import torch
    except ImportError:
        return
    a, b, c = (torch.ones(16) for _ in range(3))
    yield "k(x, w, y)", "cpu", "PyTorch", lambda: k(a, b, c)
    yield "k(x, w)", "cpu", "PyTorch", lambda: k(a, b)
    yield from operator(k, "cpu", a, b)
    try:
        f = k.tvm_ffi()
        yield "k.tvm_ffi()(x, w, y)", "cpu", "PyTorch", lambda: f(a, b, c)
    except ImportError:
        pass
    yield "torch.add(x, w, out=y)", "cpu", "PyTorch", lambda: torch.add(a, b, out=c)


def operator(k, device, x, w):
    """The same as an operator of PyTorch, where that is real and new enough."""
    try:
        import kernelc.torch
        op = kernelc.torch.register(k, f"kernelcbench::add_{device[:3]}")
    except (ImportError, AttributeError):
        return
    yield "torch.ops.kernelc.k(x, w)", device, "PyTorch", lambda: op(x, w)


def bind(k, *args):
    try:
        return k.bind(*args)
    except kernelc.KernelcError:
        return None


def fake_arrays():
    """Tensors of a module like torch on a driver that does nothing. Their exchange API is Python's own, and slower than PyTorch's."""
    import ctypes as C
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test", "tools"))
    from python_fakes import Memory, add_exchange_api, make_torch
    sys.modules["torch"] = torch = make_torch(lambda gpu, shape: None)
    add_exchange_api(torch)
    fake = C.CDLL(os.environ["KERNELC_LIBCUDA"])
    fake.fakecuda_new_memory.restype, fake.fakecuda_new_memory.argtypes = C.c_void_p, [C.c_int, C.c_ulonglong]
    fake.fakecuda_accept_real_cubins()
    return [torch.Tensor(Memory([16], fake.fakecuda_new_memory(0, 64), 0)) for _ in range(3)]


def on_cuda():
    k = kernelc.compile(TEXT).add
    if os.environ.get("KERNELC_LIBCUDA"):
        arrays, whose = fake_arrays(), "stand-ins"
    else:
        import torch
        arrays, whose = [torch.ones(16, device="cuda") for _ in range(3)], "PyTorch"
        yield from operator(k, "cuda:0", *arrays[:2])
        yield "torch.add(x, w, out=y)", "cuda:0", whose, lambda: torch.add(arrays[0], arrays[1], out=arrays[2])
    yield "k(x, w, y)", "cuda:0", whose, lambda: k(*arrays)
    yield "bound.launch()", "cuda:0", whose, k.bind(*arrays).launch


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--cuda", action="store_true")
    options = parser.parse_args()
    print("| call | device | arrays | µs |\n|---|---|---|---|")
    for rows in (on_cpu, on_cuda) if options.cuda else (on_cpu,):
        for call, device, arrays, function in rows():
            print(f"| `{call}` | {device} | {arrays} | {median_us(function, options.rounds, options.calls):.2f} |", flush=True)


main()
