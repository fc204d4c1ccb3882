#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call costs on the host: microseconds, medians of rounds that all rows take in turns, for a kernel of three tensors of 16
elements, so that next to nothing is computed.

usage: python_call.py [--rounds 200] [--calls 200] [--cuda]     (KERNELC_LIBRARY names the library in a build)

Rows: how the kernel is called, on which device, with whose arrays; beside it what NumPy, PyTorch, Triton and JAX take for the same,
where they are installed, and loops in C (call_loops.c, compiled with `cc`) around the driver's cuLaunchKernel, with as many
arguments, and around the C interface. `--cuda`: on cuda:0 as well, with PyTorch; what is queued has finished before the next round.
With KERNELC_LIBCUDA naming libKernelcFakeCuda.so of a build a driver that does nothing takes the launches, with stand-ins for
arrays: the cost of the call path alone.
"""
import argparse
import ctypes as C
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

os.environ.setdefault("KERNELC_COMPILE", "block")  # what is timed is the full code
import kernelc
from kernelc import _library as lib

TEXT = "def add(x: f32[N], w: f32[N]) -> (y: f32[N]) { y[i] = x[i] + w[i] }"
HERE = os.path.dirname(os.path.abspath(__file__))


def timed(function):
    """Seconds for `calls` calls of a Python function."""
    def loop(calls):
        start = time.perf_counter()
        for _ in range(calls):
            function()
        return time.perf_counter() - start
    return loop


def installed(module):
    try:
        return __import__(module)
    except ImportError:
        return None


# ---- loops in C

def c_loops():
    """call_loops.c as a library, or None without a compiler."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        print("no C compiler: rows of loops in C are left out", file=sys.stderr)
        return None
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "loops.so")
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", os.path.join(HERE, "call_loops.c"), "-o", target], check=True)
        loops = C.CDLL(target)
    for name in ("loop_launch_kernel", "loop_bound_launch", "loop_bound_call"):
        getattr(loops, name).restype = C.c_double
    return loops


def address(function):
    return C.cast(function, C.c_void_p)


def bound_in_c(loops, bound, device, whose):
    """The C interface around a bound call."""
    library, call = lib.library(), bound._call
    yield "kc_bound_launch in C", device, whose, lambda n: loops.loop_bound_launch(address(library.kc_bound_launch), bound._handle, None, n)
    yield "kc_bound_call in C", device, whose, lambda n: loops.loop_bound_call(
        address(library.kc_bound_call), bound._handle, call.values, C.c_size_t(call.num_values), None, n)


PTX = b""".version 7.0
.target sm_50
.address_size 64
.visible .entry nothing(.param .u64 x, .param .u64 w, .param .u64 y, .param .u64 n) { ret; }
"""


def bare_launch(loops, addresses):
    """cuLaunchKernel of a kernel that does nothing, in the context that is current."""
    cuda, module, function = C.CDLL("libcuda.so.1"), C.c_void_p(), C.c_void_p()
    for code in (cuda.cuModuleLoadData(C.byref(module), PTX), cuda.cuModuleGetFunction(C.byref(function), module, b"nothing")):
        if code:
            raise RuntimeError(f"the driver answers {code}")
    values = [C.c_uint64(a) for a in (*addresses, 16)]
    params = (C.c_void_p * 4)(*(C.addressof(v) for v in values))
    return lambda n, alive=(values, module): loops.loop_launch_kernel(address(cuda.cuLaunchKernel), function, params, None, n)


# ---- rows: (call, device, whose arrays, seconds of so many calls)

def on_cpu(loops):
    import numpy as np
    k = kernelc.compile(TEXT).add
    x, w, y = (np.ones(16, np.float32) for _ in range(3))
    yield "k(x, w, y)", "cpu", "NumPy", timed(lambda: k(x, w, y))
    yield "k(x, w, y=y)", "cpu", "NumPy", timed(lambda: k(x, w, y=y))
    yield "k(x, w)", "cpu", "NumPy", timed(lambda: k(x, w))
    bound = k.bind(x, w, y)
    yield "bound.launch()", "cpu", "NumPy", timed(bound.launch)
    if loops:
        yield from bound_in_c(loops, bound, "cpu", "NumPy")
    yield "np.add(x, w, out=y)", "cpu", "NumPy", timed(lambda: np.add(x, w, out=y))
    torch = installed("torch")
    if torch:
        yield from of_torch(torch, k, "cpu", *(torch.ones(16) for _ in range(3)))


def of_torch(torch, k, device, x, w, y):
    yield "k(x, w, y)", device, "PyTorch", timed(lambda: k(x, w, y))
    yield "k(x, w)", device, "PyTorch", timed(lambda: k(x, w))
    yield "bound.launch()", device, "PyTorch", timed(k.bind(x, w, y).launch)
    import kernelc.torch
    op = kernelc.torch.register(k, f"kernelcbench::add_{device[:3]}")
    yield "torch.ops.kernelc.k(x, w)", device, "PyTorch", timed(lambda: op(x, w))
    if installed("tvm_ffi"):
        f = k.tvm_ffi()
        yield "k.tvm_ffi()(x, w, y)", device, "PyTorch", timed(lambda: f(x, w, y))
    yield "torch.add(x, w, out=y)", device, "PyTorch", timed(lambda: torch.add(x, w, out=y))
    yield "torch.add(x, w)", device, "PyTorch", timed(lambda: torch.add(x, w))


def of_triton(x, w, y):
    triton = installed("triton")
    if not triton:
        return
    import triton.language as tl
    globals()["tl"] = tl

    @triton.jit
    def add(x, w, y, n, block: tl.constexpr):
        i = tl.arange(0, block)
        tl.store(y + i, tl.load(x + i, mask=i < n) + tl.load(w + i, mask=i < n), mask=i < n)
    yield "Triton: add[(1,)](x, w, y, 16, block=16)", "cuda:0", "PyTorch", timed(lambda: add[(1,)](x, w, y, 16, block=16))


def of_jax(k):
    jax = installed("jax")
    if not jax or jax.default_backend() != "gpu":
        return
    x = jax.numpy.ones(16)
    add = jax.jit(lambda a, b: a + b)
    yield "jax.jit(add)(x, w)", "cuda:0", "JAX", timed(lambda: add(x, x))
    k(x, x)  # waits; later calls go by jit
    yield "k(x, w)", "cuda:0", "JAX", timed(lambda: k(x, x))


def fake_arrays():
    """Tensors of a module like torch on a driver that does nothing. Their exchange API is Python's own, and slower than PyTorch's."""
    sys.path.insert(0, os.path.join(HERE, "..", "test", "tools"))
    from python_fakes import Memory, add_exchange_api, make_torch
    sys.modules["torch"] = torch = make_torch(lambda gpu, shape: None)
    add_exchange_api(torch)
    fake = C.CDLL(os.environ["KERNELC_LIBCUDA"])
    fake.fakecuda_new_memory.restype, fake.fakecuda_new_memory.argtypes = C.c_void_p, [C.c_int, C.c_ulonglong]
    fake.fakecuda_accept_real_cubins()
    return [torch.Tensor(Memory([16], fake.fakecuda_new_memory(0, 64), 0)) for _ in range(3)]


def on_cuda(loops):
    k = kernelc.compile(TEXT).add
    if os.environ.get("KERNELC_LIBCUDA"):
        arrays, whose = fake_arrays(), "stand-ins"
        yield "k(x, w, y)", "cuda:0", whose, timed(lambda: k(*arrays))
        yield "bound.launch()", "cuda:0", whose, timed(k.bind(*arrays).launch)
    else:
        import torch
        arrays, whose = [torch.ones(16, device="cuda") for _ in range(3)], "PyTorch"
        if loops:
            yield "cuLaunchKernel in C", "cuda:0", "", bare_launch(loops, [a.data_ptr() for a in arrays])
        yield from of_torch(torch, k, "cuda:0", *arrays)
        yield from of_triton(*arrays)
        yield from of_jax(k)
    if loops:
        yield from bound_in_c(loops, k.bind(*arrays), "cuda:0", whose)


def synchronizer(device):
    """What waits for all that is queued."""
    torch = sys.modules.get("torch")
    return torch.cuda.synchronize if device == "cuda:0" and hasattr(torch.cuda, "synchronize") else lambda: None


def measure(rows, rounds, calls):
    """Microseconds of each row; every round times all of them."""
    times = [[] for _ in rows]
    for i in range(rounds + 1):
        for (call, device, _, loop), found in zip(rows, times):
            seconds = loop(calls)
            synchronizer(device)()
            if seconds < 0:
                sys.exit(f"{call} on {device} fails")
            if i:  # the first is for caches to get warm
                found.append(seconds / calls * 1e6)
    return [statistics.median(found) for found in times]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--cuda", action="store_true")
    options = parser.parse_args()
    loops = c_loops()
    print("| call | device | arrays | µs |\n|---|---|---|---|")
    for make in (on_cpu, on_cuda) if options.cuda else (on_cpu,):
        rows = list(make(loops))
        for (call, device, arrays, _), us in zip(rows, measure(rows, options.rounds, options.calls)):
            print(f"| `{call}` | {device} | {arrays} | {us:.2f} |", flush=True)


main()
