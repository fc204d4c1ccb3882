# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""On which stream of a GPU a call is queued, and the order between it and the streams that the
arrays' frameworks queue on."""
from . import _library as lib
from ._arrays import DEFAULT_STREAM, cuda_interface
from ._frameworks import cupy_stream, module_of, torch_stream


def handle_of(stream):
    """The address of a stream given as a number or as an object of PyTorch, CuPy, Numba or any
    that has `__cuda_stream__`; 0: the default stream."""
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        stream = (protocol() if callable(protocol) else protocol)[1]
    for attribute in ("cuda_stream", "ptr", "handle"):  # PyTorch, CuPy, Numba
        stream = getattr(stream, attribute, stream)
    stream = getattr(stream, "value", stream) or 0  # a c_void_p
    if isinstance(stream, (bool, float, str)) or not hasattr(stream, "__int__") or int(stream) < 0:
        raise TypeError(f"'stream' must be a stream or its address, got {type(stream).__name__}")
    return 0 if int(stream) == DEFAULT_STREAM else int(stream)


class Streams:
    """The streams that a call's arrays are on. Without arrays on a GPU there are none, and nothing is done."""

    def __init__(self, device):
        self._device = device
        self._current = []  # a function for each framework or array that says its stream
        self._known = set()
        self._tensors = []  # of PyTorch
        self._awaited = set()  # streams that the launch waits for and cannot be queued on
        self._finish = self._finish_always = False
        self._led = False  # the launch is on the stream of the first of _current
        self.on_gpu = device.device_type == lib.DEVICE_CUDA

    def add(self, x, framework):
        """An array that the call reads or writes."""
        if not self.on_gpu:
            return
        if framework == "torch":
            self._tensors.append(x)
        if framework in ("torch", "cupy"):
            return self.add_framework(framework)
        if framework == "jax":  # its streams are its own: it makes ours wait, but nobody can make its wait
            self._finish = self._finish_always = True
        elif cuda_interface(x) is not None:
            self._current.append(lambda: handle_of(cuda_interface(x).get("stream") or 0))
        else:
            self._finish = True

    def add_framework(self, framework):
        """A framework whose current stream results are made on."""
        if not self.on_gpu or framework in self._known:
            return
        self._known.add(framework)
        if framework in ("torch", "cupy"):
            ask, ordinal = (torch_stream if framework == "torch" else cupy_stream), self._device.device_id
            self._current.append(lambda: handle_of(ask(ordinal)))

    def described_on_default(self):
        """Arrays without a stream to ask for were made ready for the default stream, not for the launch's."""
        if self._finish:
            self._awaited.add(0)

    def are_one(self):
        """Whether a launch on the stream that `choose` finds has nothing to wait for, and nobody who waits for it."""
        return not self.on_gpu or (len(self._current) == 1 and not self._awaited and not self._finish)

    def choose(self, given):
        """The stream to queue on: the caller's, else that of the first array that says one, else the default one."""
        if given is not None:
            return handle_of(given)
        self._led = bool(self._current)
        return self._current[0]() if self._led else 0

    def before(self, launch, given):
        """What is queued on `launch` from now on waits for what the arrays' streams still do."""
        for other in self._others(launch, given) | (self._awaited - {launch}):
            lib.check(lib.library().kc_stream_wait(self._device, launch, other))

    def after(self, launch, given):
        """Orders what the arrays' frameworks do next behind the call. Under a stream of the caller's choice
        that is left to the caller, but PyTorch's memory is not used again too early."""
        if given is None:
            for other in self._others(launch, given):
                lib.check(lib.library().kc_stream_wait(self._device, other, launch))
        elif self._tensors:
            self._keep_memory(launch)
        if self._finish_always or self._finish and given is None:
            lib.check(lib.library().kc_stream_synchronize(self._device, launch))

    def _others(self, launch, given):
        if given is None and self._led and len(self._current) == 1:
            return set()
        return {current() for current in self._current} - {launch}

    def _keep_memory(self, launch):
        cuda, ordinal = module_of("torch").cuda, self._device.device_id
        if handle_of(torch_stream(ordinal)) == launch:
            return
        stream = cuda.ExternalStream(launch, device=ordinal) if launch else cuda.default_stream(ordinal)
        for tensor in self._tensors:
            tensor.record_stream(stream)
