# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One call's arguments: checked, laid out for the C interface, and kept alive."""
import ctypes as C

from . import _arrays, _numbers, _results
from . import _library as lib
from ._errors import nearest
from ._frameworks import framework_of, module_of
from ._refusals import check_array
from ._streams import Streams

_WRITTEN = (lib.PARAM_OUTPUT, lib.PARAM_INOUT)


def assign(kernel, args, named):
    """Each parameter's argument by its position, and the sizes given by name."""
    params = kernel.params
    inputs = [i for i, p in enumerate(params) if p[2] != lib.PARAM_OUTPUT]
    outputs = [i for i, p in enumerate(params) if p[2] == lib.PARAM_OUTPUT]
    order = inputs + outputs
    if len(args) > len(order):
        raise TypeError(f"{kernel.name}() takes {len(order)} arguments, got {len(args)}: {kernel._text()}")
    given = dict(zip(order, args))
    if "out" in named and not any(p[0] == "out" for p in params):
        _assign_outputs(kernel, outputs, named.pop("out"), given)
    sizes, names = {}, {p[0]: i for i, p in enumerate(params)}
    for name, value in named.items():
        if name in names:
            if names[name] in given:
                raise TypeError(f"{kernel.name}() got two values for '{name}'")
            given[names[name]] = value
        elif name in kernel.sizes:
            sizes[name] = value
        else:
            raise TypeError(f"{kernel.name}() has no parameter or size '{name}'{nearest(name, [*names, *kernel.sizes])}")
    for i in inputs:
        if i not in given:
            raise TypeError(f"{kernel.name}() is missing argument '{params[i][0]}': {kernel._text()}")
    return given, sizes


def _assign_outputs(kernel, outputs, out, given):
    out = out if isinstance(out, (tuple, list)) else (out,)
    if len(out) != len(outputs):
        raise TypeError(f"{kernel.name}() has {len(outputs)} outputs, and 'out' gives {len(out)}")
    for i, value in zip(outputs, out):
        if i in given:
            raise TypeError(f"{kernel.name}() got two values for '{kernel.params[i][0]}'")
        given[i] = value


class Call:
    """`values`, `sizes` and `device` are arguments of kc_call and kc_bind. Lives as long as the kernel may
    read the arrays. `bound`: it is launched more than once. `stream`: the caller's choice, or None."""

    __slots__ = ("values", "num_values", "sizes", "num_sizes", "device", "streams", "launch", "arrays", "makers", "held", "_kernel", "_alive", "_frameworks", "_outputs",
                 "written")

    def __init__(self, kernel, args, named, device=None, stream=None, bound=False):
        given, sizes = assign(kernel, args, named)
        params = kernel.params
        self.num_values = len(params)
        self.values = (lib.Value * max(1, len(params)))()
        self.sizes, self.num_sizes = _numbers.named(sizes)
        self._kernel, self._alive, self._outputs = kernel, [], []
        self.held = []  # (parameter, array), of results too
        self.written = []  # of PyTorch, which is told
        self._frameworks = {}  # of the arrays, by parameter
        for i, x in given.items():
            name, kind, role, _ = params[i]
            if role == lib.PARAM_SCALAR:
                try:
                    self.values[i] = _numbers.scalar(name, kind, x)
                except TypeError as error:
                    raise TypeError(f"{kernel.name}(): {error}: {kernel._text()}") from None
                continue
            self._frameworks[i] = framework_of(x)
            if not self._frameworks[i] and not _arrays.is_array(x):
                way = f"; convert it, as with numpy.asarray({name}, '{_results._type_name(kind)}')" if isinstance(x, (list, tuple)) else ""
                raise TypeError(f"{kernel.name}(): '{name}' must be an array, got {type(x).__name__}{way}")
            check_array(name, x, self._frameworks[i], role in _WRITTEN)
        arrays = [(i, given[i]) for i in self._frameworks]
        self.device = self._find_device(kernel, arrays, device)
        self._queue(arrays, params, stream, bound)
        for i, x in arrays:
            self._set(i, params[i], x)
            if params[i][2] in _WRITTEN and self._frameworks[i] == "torch":
                self.written.append(x)
        self.arrays, self.makers = [x for _, x in arrays], []
        self._add_outputs(kernel, given, arrays, bound)
        if bound:
            self.streams.described_on_default()

    def _find_device(self, kernel, arrays, given):
        """The device that was asked for, else that of the first array on a GPU, else the CPU; without arrays the session's."""
        if given is None and not arrays:
            return _numbers.device(kernel._session.default_device())
        device = _numbers.device(given) if given is not None else lib.Device(lib.DEVICE_CPU, 0)
        if given is not None and device.device_type != lib.DEVICE_CUDA:
            return device
        gpus = [_arrays.gpu_of(kernel.params[i][0], x, self._frameworks[i]) for i, x in arrays]
        on_gpu = [gpu for gpu in gpus if gpu is not None]
        if given is None and not on_gpu:
            return device
        if given is None:
            device = lib.Device(lib.DEVICE_CUDA, on_gpu[0])
        if not on_gpu and kernel._session.default_device() == "cpu":
            raise lib.KernelcError(lib.UNAVAILABLE, f"the call asks for {given}, and there is no GPU here ('kernelc doctor' says why); "
                                   "device='cpu' and device='emulator' need none")
        for (i, _), gpu in zip(arrays, gpus):  # said before results are made there
            if gpu is None:
                raise lib.KernelcError(lib.INVALID_ARGUMENT, f"parameter '{kernel.params[i][0]}': lies in host memory, and the call runs on "
                                       f"cuda:{device.device_id}; copy it there")
        return device

    def _queue(self, arrays, params, stream, bound):
        """Chooses the stream: before anything is asked to be ready for it."""
        self.streams = Streams(self.device)
        for i, x in arrays:
            self.streams.add(x, self._frameworks[i])
        if not arrays and any(p[2] == lib.PARAM_OUTPUT for p in params):
            self.streams.add_framework(_results.framework_for("", self.device))
        self.launch = 0 if bound else self.streams.choose(stream)

    def _add_outputs(self, kernel, given, arrays, bound):
        like, shape = next((x for _, x in arrays), None), (C.c_int64 * 32)()
        framework = self._frameworks[arrays[0][0]] if arrays else ""
        for i, param in enumerate(kernel.params):
            name, kind, role, rank = param
            if role != lib.PARAM_OUTPUT:
                continue
            made = i not in given
            if made:
                lib.check(lib.library().kc_kernel_shape(kernel._handle, self.values, self.num_values, self.sizes, self.num_sizes, i, shape))
                framework = _results.framework_for(framework, self.device)
                if bound and framework == "jax":
                    raise TypeError(f"output '{name}' must be passed in: a bound call writes it at every launch, and JAX arrays are immutable")
                self.makers.append(_results.maker(name, tuple(shape[:rank]), kind, framework, like, self.device))
                given[i] = self.makers[-1]()
                self._frameworks[i] = framework_of(given[i])
                self.streams.add(given[i], self._frameworks[i])
                self._set(i, param, given[i])
                if bound and self._frameworks[i] == "torch":
                    self.written.append(given[i])  # at every launch again
            self._outputs.append((given[i], framework if made else "", like, kind))

    def _set(self, i, param, x):
        fresh = self._frameworks[i] == "jax"  # a JAX array that is written is one that was made for the result
        tensor, alive = _arrays.describe(param[0], x, self._frameworks[i], param[2] in _WRITTEN and not fresh, self.launch)
        self._alive.append((tensor, alive))
        self.held.append((i, x))
        self.values[i].kind = lib.VALUE_TENSOR
        self.values[i].tensor = C.pointer(tensor)

    def check_memory(self):
        """Raises where an array's memory was freed or moved since it was described, as far as its framework tells."""
        for i, x in self.held:
            tensor, now = self.values[i].tensor[0], _arrays.address_of(x, self._frameworks[i])
            if now is not None and now != (tensor.data or 0) + tensor.byte_offset:
                raise lib.KernelcError(lib.FAILED_PRECONDITION, f"parameter '{self._kernel.params[i][0]}': the array's memory was freed or moved since "
                                       "the call was bound; bind it again, or pass arrays to replace()")

    def device_name(self):
        kind = {lib.DEVICE_CPU: "cpu", lib.DEVICE_EMULATOR: "emulator"}.get(self.device.device_type)
        return kind or f"cuda:{self.device.device_id}"

    def mark_written(self):
        """Tells PyTorch of what was written, so that it notices where it had kept the values for a gradient."""
        for x in self.written:
            increment = getattr(module_of("torch").autograd.graph, "increment_version", None)
            if increment is not None:
                increment(x)

    def finish(self):
        """The results: None, one array, or a tuple. To be called once the kernel is queued or has run."""
        outputs = [_results.deliver(*output) for output in self._outputs]
        return None if not outputs else outputs[0] if len(outputs) == 1 else tuple(outputs)
