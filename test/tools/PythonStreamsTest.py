# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""On which stream of a GPU a call of the Python package is queued, and what waits for what: on FakeCuda, which
logs launches and waits, with stand-ins for the frameworks (python_fakes.py). What is launched is NVRTC's; FakeCuda
runs nothing."""
import ctypes as C
import os
import sys
import tempfile
import threading
import unittest
from unittest import mock

_cache = tempfile.TemporaryDirectory(prefix="kernelc-streams-")
os.environ["KERNELC_CACHE_DIR"] = _cache.name

import numpy as np

import kernelc
from kernelc import _library as lib
from kernelc import _warm
from python_fakes import DlpackArray, InterfaceArray, Memory, NumbaArray, add_exchange_api, make_cupy, make_jax, make_numba, make_torch

FAKE = C.CDLL(os.environ["KERNELC_LIBCUDA"])
FAKE.fakecuda_stream_log.restype = C.c_char_p
FAKE.fakecuda_new_stream.restype = FAKE.fakecuda_new_memory.restype = C.c_void_p
FAKE.fakecuda_new_memory.argtypes = [C.c_int, C.c_ulonglong]

ADD = "def add(x: f32[N], w: f32[N]) -> (y: f32[N]) { y[i] = x[i] + w[i] }"


def new_memory(gpu, shape=(8,)):
    return Memory(shape, FAKE.fakecuda_new_memory(gpu, 4 * 8), gpu)


class Streams(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = kernelc.compile(ADD).add
        FAKE.fakecuda_accept_real_cubins()
        try:
            cls.kernel(InterfaceArray(new_memory(0)), InterfaceArray(new_memory(0)), InterfaceArray(new_memory(0)))
        except kernelc.KernelcError as error:
            if "no NVRTC" in str(error):
                raise unittest.SkipTest(str(error)) from None
            raise
        cls.names = {0: "default", 2: "thread's"}
        for name in "ABCD":
            setattr(cls, name, FAKE.fakecuda_new_stream(0))
            cls.names[getattr(cls, name)] = name

    def setUp(self):
        self.torch, self.cupy, self.jax = make_torch(new_memory), make_cupy(new_memory), make_jax(new_memory)
        modules = mock.patch.dict(sys.modules, torch=self.torch, cupy=self.cupy, jax=self.jax, numba=make_numba(new_memory))
        modules.start()
        self.addCleanup(modules.stop)
        self.torch.current, self.cupy.current = self.A, {0: self.B, 1: 0}

    # Arrays of each kind; the streams of torch and of cupy are A and B.
    def in_torch(self, gpu=0):
        return self.torch.Tensor(new_memory(gpu))

    def in_cupy(self, gpu=0):
        return self.cupy.ndarray(new_memory(gpu))

    def in_numba(self, stream):
        return NumbaArray(new_memory(0), stream=stream)

    def in_interface(self, **entries):
        return InterfaceArray(new_memory(0), **entries)

    def in_jax(self):
        return self.jax.Array(new_memory(0), own=self.D)

    def in_dlpack(self, version=None):
        return DlpackArray(new_memory(0), own=self.D, version=version)

    def log(self):
        """What FakeCuda saw, with the streams by name."""
        lines = FAKE.fakecuda_stream_log().decode().splitlines()
        name = lambda word: self.names.get(int(word), word) if word.isdecimal() else word
        return [" ".join(name(word) for word in line.split() if not word.startswith("kc_")) for line in lines]

    def logged(self, call):
        FAKE.fakecuda_clear_stream_log()
        result = call()
        return self.log(), result

    def test_the_stream_and_what_waits_for_what(self):
        cases = [
            # Arrays of one framework: its current stream, and nothing to wait for.
            ("torch", (self.in_torch(), self.in_torch()), None, ["launch on A"]),
            ("cupy", (self.in_cupy(), self.in_cupy()), None, ["launch on B"]),
            ("numba", (self.in_numba(self.C), self.in_numba(self.C)), None, ["wait C for default", "launch on C", "wait default for C"]),
            # Of two: the first one's stream, which waits for the other's, which in turn waits for the kernel.
            ("torch, cupy", (self.in_torch(), self.in_cupy()), None, ["wait A for B", "launch on A", "wait B for A"]),
            ("cupy, torch", (self.in_cupy(), self.in_torch()), None, ["wait B for A", "launch on B", "wait A for B"]),
            ("numba, torch", (self.in_numba(self.D), self.in_torch(), self.in_torch()), None, ["wait D for A", "launch on D", "wait A for D"]),
            # The interface's spellings: 1 and none the default stream, 2 the thread's own.
            ("1", (self.in_interface(stream=1), self.in_interface(stream=1), self.in_interface(stream=1)), None, ["launch on default"]),
            ("none", (self.in_interface(stream=None), self.in_interface(), self.in_interface()), None, ["launch on default"]),
            ("2", (self.in_interface(stream=2), self.in_interface(stream=2), self.in_interface(stream=2)), None, ["launch on thread's"]),
            ("torch, none", (self.in_torch(), self.in_interface()), None, ["wait A for default", "launch on A", "wait default for A"]),
            # DLPack alone: the producer makes the stream wait; nobody can be told to wait, so the call has finished.
            ("dlpack", (self.in_dlpack(), self.in_dlpack()), None,
             ["wait default for D", "wait default for D", "wait default for A", "launch on default", "wait A for default", "synchronize default"]),
            ("dlpack 1.0", (self.in_torch(), self.in_dlpack((1, 0))), None, ["wait A for D", "launch on A", "synchronize A"]),
            ("torch, jax", (self.in_torch(), self.in_jax()), None, ["wait A for D", "launch on A", "synchronize A"]),
            # A stream of the caller's: it waits for all, and what comes after it is the caller's to order.
            ("torch on C", (self.in_torch(), self.in_torch()), self.C, ["wait C for A", "launch on C"]),
            ("torch on A", (self.in_torch(), self.in_torch()), self.A, ["launch on A"]),
            ("torch on 0", (self.in_torch(), self.in_torch()), 0, ["wait default for A", "launch on default"]),
            ("torch on 1", (self.in_torch(), self.in_torch()), 1, ["wait default for A", "launch on default"]),
            ("mixed on A", (self.in_torch(), self.in_numba(self.D)), self.A, ["wait A for D", "launch on A"]),
            ("dlpack on A", (self.in_torch(), self.in_dlpack()), self.A, ["wait A for D", "launch on A"]),
            ("jax on C", (self.in_jax(), self.in_jax()), self.C, ["wait C for D", "wait C for D", "wait C for default", "launch on C", "synchronize C"]),
        ]
        for what, arrays, stream, expected in cases:
            with self.subTest(what):
                self.assertEqual(self.logged(lambda: self.kernel(*arrays, stream=stream))[0], expected)

    def test_every_spelling_of_a_stream(self):
        x = self.in_torch()
        with_attribute = lambda **attributes: type("Stream", (), attributes)()
        for stream in (self.C, with_attribute(cuda_stream=self.C), with_attribute(ptr=self.C), with_attribute(handle=C.c_void_p(self.C)),
                       with_attribute(__cuda_stream__=lambda self_: (0, self.C)), with_attribute(__cuda_stream__=(0, self.C))):
            self.assertEqual(self.logged(lambda: self.kernel(x, x, stream=stream))[0][-1], "launch on C")
        for stream in (-1, True, 1.5, "C", object()):
            with self.assertRaisesRegex(TypeError, "'stream' must be a stream or its address"):
                self.kernel(x, x, stream=stream)

    def test_results_are_the_first_array_s_kind(self):
        for make, kind in ((self.in_torch, self.torch.Tensor), (self.in_cupy, self.cupy.ndarray), (self.in_jax, self.jax.Array),
                           (lambda: self.in_numba(self.C), NumbaArray), (self.in_interface, self.torch.Tensor)):
            result = self.kernel(make(), make())
            self.assertIsInstance(result, kind)
            self.assertEqual(result.memory.gpu, 0)

    def test_memory_of_pytorch_is_kept_on_another_stream(self):
        x, w = self.in_torch(), self.in_torch()
        y = self.kernel(x, w, stream=self.C)
        self.assertEqual([t.recorded for t in (x, w, y)], [[self.C]] * 3)
        y = self.kernel(x, w)
        self.assertEqual([t.recorded for t in (x, w, y)], [[self.C], [self.C], []])

    def test_the_array_says_the_gpu(self):
        self.torch.current = 0
        for make in (self.in_torch, self.in_cupy, lambda gpu: InterfaceArray(new_memory(gpu)), lambda gpu: DlpackArray(new_memory(gpu))):
            result = self.kernel(make(1), make(1), stream=0)
            self.assertEqual(result.memory.gpu, 1)
        for arrays in ((self.in_torch(0), self.in_torch(1)), (InterfaceArray(new_memory(1)), self.in_torch(0))):
            with self.assertRaisesRegex(kernelc.KernelcError, "parameter '[wy]': is on CUDA device [01]"):
                self.kernel(*arrays)
        with self.assertRaisesRegex(kernelc.KernelcError, "parameter 'w': lies in host memory, and the call runs on cuda:0; copy it there"):
            self.kernel(self.in_torch(0), self.torch.Tensor(Memory([8])))
        with self.assertRaisesRegex(kernelc.KernelcError, "parameter 'x': lies on cuda:0, and the call runs on the cpu"):
            self.kernel(self.in_torch(0), self.in_torch(0), device="cpu")
        with self.assertRaisesRegex(kernelc.KernelcError, "parameter 'x': the address lies in no memory of a GPU"):
            self.kernel(InterfaceArray(Memory([8], 4096, 0)), self.in_torch())

    def test_memory_of_another_context(self):
        memory = new_memory(0)
        FAKE.fakecuda_make_foreign(C.c_void_p(memory.address))
        for args, name in (((InterfaceArray(memory), self.in_torch()), "x"), ((self.in_torch(), InterfaceArray(memory)), "w")):
            with self.assertRaisesRegex(kernelc.KernelcError, f"parameter '{name}': the memory belongs to a CUDA context that another library made"):
                self.kernel(*args)

    def test_a_thread_without_a_context(self):
        x, w, y, found = self.in_torch(), self.in_torch(), self.in_torch(), []
        self.kernel(x, w, y)
        thread = threading.Thread(target=lambda: found.append(self.logged(lambda: self.kernel(x, w, y))))
        thread.start()
        thread.join()
        self.assertEqual(found, [(["launch on A"], y)])

    def test_a_forked_child_is_refused(self):
        x, w, y = self.in_torch(), self.in_torch(), self.in_torch()
        self.kernel(x, w, y)
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                self.kernel(x, w, y)
                said = "ran"
            except kernelc.KernelcError as error:
                said = str(error)
            host = kernelc.compile(ADD).add(np.ones(3, np.float32), np.ones(3, np.float32))
            os.write(write, f"{said}; {host[0]}".encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            said = pipe.read()
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertRegex(said, "fork.*; 2.0$")

    def test_jax_arrays_deleted_since_they_were_bound(self):
        x, y = self.in_jax(), self.in_torch()
        bound = self.kernel.bind(x, x, y=y)
        bound.launch()
        x.deleted = True
        with self.assertRaisesRegex(kernelc.KernelcError, "parameter 'x': the array's memory was freed or moved"):
            bound.launch()

    def test_a_bound_call_follows_the_streams(self):
        x, w, y = self.in_torch(), self.in_cupy(), self.in_torch()
        bound = self.kernel.bind(x, w, y=y)
        self.assertIs(bound.outputs, y)
        self.assertEqual(self.logged(bound.launch)[0], ["wait A for B", "launch on A", "wait B for A"])
        self.torch.current, self.cupy.current[0] = self.C, self.C
        self.assertEqual(self.logged(bound.launch)[0], ["launch on C"])
        self.assertEqual(self.logged(lambda: bound.launch(self.D))[0], ["wait D for C", "launch on D"])
        self.assertIs(bound.launch(), y)
        self.assertEqual(self.torch.written.count(y), 4)
        # Arrays that were made ready for the default stream when they were bound.
        bound = self.kernel.bind(self.in_torch(), self.in_dlpack(), y=y)
        self.assertEqual(self.logged(bound.launch)[0], ["wait C for default", "launch on C", "synchronize C"])
        with self.assertRaisesRegex(TypeError, "output 'y' must be passed in: .* JAX arrays are immutable"):
            self.kernel.bind(self.in_jax(), self.in_jax())
        self.assertEqual(self.logged(self.kernel.bind(self.in_jax(), self.in_jax(), y=y).launch)[0][-1], "synchronize C")

    def test_warm_calls_go_to_the_current_stream(self):
        add_exchange_api(self.torch)
        kernel = kernelc.compile(ADD).add
        x, w, y = self.in_torch(), self.in_torch(), self.in_torch()
        kernel(x, w, y)
        cold = mock.patch.object(kernelc.Kernel, "_call_slow", side_effect=AssertionError("a warm call went the cold way"))
        if _warm._fast:
            cold.start()
            self.addCleanup(cold.stop)
        self.assertEqual(self.logged(lambda: kernel(x, w, y)), (["launch on A"], y))
        self.torch.current = self.C
        log, result = self.logged(lambda: kernel(self.in_torch(), w))
        self.assertEqual(log, ["launch on C"])
        self.assertEqual(result.memory.gpu, 0)
        kernel(x, w, y=result)
        self.assertEqual((self.torch.written.count(y), self.torch.written.count(result)), (2, 1))
        cold.stop() if _warm._fast else None
        # Tensors of two GPUs, on two sides, and of two frameworks are Python's to judge.
        with self.assertRaisesRegex(kernelc.KernelcError, "parameter 'w': is on CUDA device 1"):
            kernel(x, self.in_torch(1), y)
        with self.assertRaisesRegex(kernelc.KernelcError, "parameter 'w': lies in host memory"):
            kernel(x, self.torch.Tensor(Memory([8])), y)
        self.assertEqual(self.logged(lambda: kernel(x, self.in_cupy(), y))[0], ["wait C for B", "launch on C", "wait B for C"])
        self.assertEqual(self.logged(lambda: kernel(x, w, y, stream=self.D))[0], ["wait D for C", "launch on D"])

    def test_masks_and_read_only_memory(self):
        x = self.in_torch()
        with self.assertRaisesRegex(TypeError, "parameter 'w' has a mask"):
            self.kernel(x, self.in_interface(mask=self.in_torch()))
        read_only = self.in_interface()
        read_only.entries["data"] = (read_only.memory.address, True)
        self.kernel(x, read_only)
        with self.assertRaisesRegex(ValueError, "parameter 'y': the array is read-only"):
            self.kernel(x, x, y=read_only)
        with self.assertRaisesRegex(ValueError, "parameter 'y' is written by the kernel, and JAX arrays are immutable"):
            self.kernel(x, x, y=self.in_jax())


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    sys.exit(0 if result.testsRun and result.wasSuccessful() else 1 if not result.wasSuccessful() else 77)
