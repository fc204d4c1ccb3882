"""Sessions, programs and kernels as Python objects."""
import ctypes as C
import json
import operator
import threading
import weakref

from . import _arrays
from . import _library as lib


def _number(name, value):
    """`value`, a number of Python, NumPy or PyTorch, as an int or a float."""
    try:
        number = value.item() if hasattr(value, "item") else value
        return number if isinstance(number, float) else operator.index(number)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"'{name}' must be a number, got {type(value).__name__}") from None


def _named(values, struct=lib.Named):
    """Sizes and constants given by name, for the C interface."""
    items = (struct * max(1, len(values)))()
    for i, (name, value) in enumerate(values.items()):
        if struct is lib.Named:
            value = _number(name, value)
            if isinstance(value, float):
                raise TypeError(f"'{name}' must be an integer, got {value}")
            if not -2**63 <= value < 2**63:
                raise ValueError(f"'{name}': {value} does not fit in i64")
        items[i] = struct(name.encode(), value)
    return items, len(values)


def _scalar(name, kind, value):
    """A scalar argument of element type `kind`."""
    value = _number(name, value)
    if isinstance(value, int) and not -2**63 <= value < 2**64:
        try:
            value = float(value) if "f" in kind else None
        except OverflowError:
            value = None
        if value is None:
            raise ValueError(f"'{name}': the number does not fit in {kind}")
    if isinstance(value, float):
        return lib.Value(lib.VALUE_FLOAT, None, 0, value)
    return lib.Value(lib.VALUE_INT if value < 2**63 else lib.VALUE_UINT, None, value, 0)


def _device(text):
    kind, _, number = str(text).partition(":")
    kinds = {"cpu": lib.DEVICE_CPU, "cuda": lib.DEVICE_CUDA, "emulator": lib.DEVICE_EMULATOR}
    if kind not in kinds:
        raise ValueError(f"unknown device '{text}'; devices are cpu, emulator, cuda and cuda:N")
    return lib.Device(kinds[kind], int(number or 0))


class Session:
    """Compiled kernels and what they share: caches, threads, streams. `tuned`: kernels without a schedule of
    their own take what `kernelc tune` has kept in the cache."""

    def __init__(self, cache_path=None, disk_cache=True, max_variants=0, emulator_target=None, cpu_threads=0, tuned=True):
        encode = lambda s: s.encode() if s else None
        options = lib.SessionOptions(C.sizeof(lib.SessionOptions), encode(cache_path), int(disk_cache), max_variants,
                                     encode(emulator_target), cpu_threads, int(not tuned))
        handle = C.c_void_p()
        lib.check(lib.library().kc_session_create(C.byref(options), C.byref(handle)))
        self._handle = handle
        weakref.finalize(self, lib.library().kc_session_destroy, handle)

    def compile(self, text, file=None, precision=None, schedule=None, **constants):
        """All kernels of a source text. Keywords fix sizes and const parameters;
        `precision` is a policy: "contract=tf32", "accumulate=fast", or "rel=1e-3" for a tolerance;
        `schedule` a list of records that replace the cost model's, as dicts or as JSON text:
        [{"kernel": "linear", "launch": "y", "tiles": {"i": 128}, "stages": 6}]."""
        data = text.encode()
        numbers = {name: _number(name, value) for name, value in constants.items()}
        named, count = _named({name: value for name, value in numbers.items() if isinstance(value, int)})
        floats, float_count = _named({name: value for name, value in numbers.items() if isinstance(value, float)}, lib.NamedFloat)
        if schedule is not None and not isinstance(schedule, str):
            schedule = json.dumps(schedule)
        options = lib.CompileOptions(C.sizeof(lib.CompileOptions), file.encode() if file else None, named, count,
                                     precision.encode() if precision else None, schedule.encode() if schedule else None, None,
                                     floats, float_count)
        handle = C.c_void_p()
        lib.check(lib.library().kc_compile(self._handle, data, len(data), C.byref(options), C.byref(handle)))
        return Program(self, handle)

    def default_device(self):
        """"cuda:0" where a driver and a GPU answer, else "cpu"."""
        d = lib.library().kc_session_default_device(self._handle)
        return f"cuda:{d.device_id}" if d.device_type == lib.DEVICE_CUDA else "cpu"


_default = None
_lock = threading.Lock()


def default_session():
    global _default
    with _lock:
        if _default is None:
            _default = Session()
    return _default


def compile(text, file=None, precision=None, schedule=None, **constants):
    """Compiles a source text in the default session."""
    return default_session().compile(text, file, precision, schedule, **constants)


class Program:
    """The kernels of one text: attributes and items by name; a program of one kernel can be called."""

    def __init__(self, session, handle):
        L = lib.library()
        self.kernels = {}
        try:
            for i in range(L.kc_program_num_kernels(handle)):
                kernel = C.c_void_p()
                lib.check(L.kc_program_kernel(handle, i, C.byref(kernel)))
                k = Kernel(session, kernel)
                self.kernels[k.name] = k
        finally:
            L.kc_program_destroy(handle)

    def __getattr__(self, name):
        if name in self.__dict__.get("kernels", ()):
            return self.kernels[name]
        raise AttributeError(f"the program has no kernel '{name}'; it has {', '.join(self.__dict__.get('kernels', ()))}")

    def __getitem__(self, name):
        return self.kernels[name]

    def _only(self):
        if len(self.kernels) != 1:
            raise TypeError(f"the program has several kernels ({', '.join(self.kernels)}); call one of them")
        return next(iter(self.kernels.values()))

    def __call__(self, *args, **named):
        return self._only()(*args, **named)

    def bind(self, *args, **named):
        return self._only().bind(*args, **named)


class _Call:
    """Arguments laid out for the C interface, and what must live as long as they."""
    __slots__ = ("values", "tensors", "alive", "sizes", "num_sizes", "device", "outputs")


class Kernel:
    """`k(x, y)` runs it: positional arguments are the inputs in order; outputs are allocated unless
    given by name (`k(x, y=out)`) or as `out=`; sizes that no argument has by name (`N=8`)."""

    def __init__(self, session, handle):
        L = lib.library()
        self._session, self._handle = session, handle
        weakref.finalize(self, L.kc_kernel_destroy, handle)
        self.name = L.kc_kernel_name(handle).decode()
        self.params = []
        for i in range(L.kc_kernel_num_params(handle)):
            p = lib.Param(size=C.sizeof(lib.Param))
            lib.check(L.kc_kernel_param(handle, i, C.byref(p)))
            self.params.append((p.name.decode(), p.type.decode(), p.kind, p.rank))
        self.sizes = [L.kc_kernel_size_name(handle, i).decode() for i in range(L.kc_kernel_num_sizes(handle))]

    def __repr__(self):
        kinds = {lib.PARAM_INPUT: "", lib.PARAM_OUTPUT: "-> ", lib.PARAM_INOUT: "inout ", lib.PARAM_SCALAR: ""}
        return f"<kernel {self.name}({', '.join(f'{kinds[k]}{n}: {t}' for n, t, k, r in self.params)})>"

    def _assign(self, args, named):
        """Each parameter's argument, and the sizes given by name."""
        inputs = [i for i, p in enumerate(self.params) if p[2] != lib.PARAM_OUTPUT]
        outputs = [i for i, p in enumerate(self.params) if p[2] == lib.PARAM_OUTPUT]
        order = inputs + outputs
        if len(args) > len(order):
            raise TypeError(f"{self.name}() takes {len(order)} arguments, got {len(args)}")
        given = dict(zip(order, args))
        if "out" in named and not any(p[0] == "out" for p in self.params):
            out = named.pop("out")
            for i, value in zip(outputs, out if isinstance(out, (tuple, list)) else (out,)):
                given[i] = value
        sizes = {}
        names = {p[0]: i for i, p in enumerate(self.params)}
        for name, value in named.items():
            if name in names:
                if names[name] in given:
                    raise TypeError(f"{self.name}() got two values for '{name}'")
                given[names[name]] = value
            elif name in self.sizes:
                sizes[name] = value
            else:
                raise TypeError(f"{self.name}() has no parameter or size '{name}'")
        for i in inputs:
            if i not in given:
                raise TypeError(f"{self.name}() is missing argument '{self.params[i][0]}'")
        return given, sizes

    def _prepare(self, args, named, device):
        given, sizes = self._assign(args, named)
        call = _Call()
        call.alive, call.outputs = [], []
        call.values = (lib.Value * max(1, len(self.params)))()
        call.tensors = [None] * len(self.params)
        call.sizes, call.num_sizes = _named(sizes)
        call.device = _device(device) if device is not None else None
        like = None
        for i, x in given.items():
            if self.params[i][2] == lib.PARAM_SCALAR:
                call.values[i] = _scalar(self.params[i][0], self.params[i][1], x)
                continue
            if not _arrays.is_array(x):
                raise TypeError(f"{self.name}(): '{self.params[i][0]}' must be an array, got {type(x).__name__}")
            self._set_tensor(call, i, x)
            like = x if like is None else like
        if call.device is None:
            call.device = _device(self._session.default_device()) if like is None else lib.Device(lib.DEVICE_CPU, 0)
        shape = (C.c_int64 * 32)()
        for i, (name, kind, role, rank) in enumerate(self.params):
            if role == lib.PARAM_OUTPUT:
                if i not in given:
                    lib.check(lib.library().kc_kernel_shape(self._handle, call.values, len(self.params), call.sizes, call.num_sizes, i, shape))
                    given[i] = _arrays.empty(tuple(shape[:rank]), kind, like, call.device)
                    self._set_tensor(call, i, given[i])
                call.outputs.append(given[i])
        return call

    def _set_tensor(self, call, i, x):
        tensor, alive = _arrays.describe(x, self.params[i][2] in (lib.PARAM_OUTPUT, lib.PARAM_INOUT))
        call.alive.append((tensor, alive))
        call.values[i].kind = lib.VALUE_TENSOR
        call.values[i].tensor = C.pointer(tensor)
        if call.device is None and tensor.device.device_type in (lib.DEVICE_CUDA, 13):
            call.device = lib.Device(lib.DEVICE_CUDA, tensor.device.device_id)

    @staticmethod
    def _result(call):
        return None if not call.outputs else call.outputs[0] if len(call.outputs) == 1 else tuple(call.outputs)

    def __call__(self, *args, device=None, stream=None, **named):
        call = self._prepare(args, named, device)
        stream = stream if stream is not None else _arrays.current_stream(call.device)
        lib.check(lib.library().kc_call(self._handle, call.device, call.values, len(self.params), call.sizes, call.num_sizes, stream))
        return self._result(call)

    def bind(self, *args, device=None, **named):
        """Compiles, checks and packs a call on a GPU once; `.launch()` then only queues it."""
        call = self._prepare(args, named, device)
        handle = C.c_void_p()
        lib.check(lib.library().kc_bind(self._handle, call.device, call.values, len(self.params), call.sizes, call.num_sizes,
                                        C.byref(handle)))
        return Bound(self, call, handle)

    def cuda_text(self, *args, target="sm_90a", **named):
        """The CUDA C that these arguments would run on `target`."""
        call = self._prepare(args, named, None)
        text = C.c_void_p()
        lib.check(lib.library().kc_cuda_text(self._handle, target.encode(), call.values, len(self.params), call.sizes, call.num_sizes,
                                             C.byref(text)))
        try:
            return C.string_at(text.value).decode()
        finally:
            lib.library().kc_string_destroy(text)


class Bound:
    """A call that is ready: `outputs` is what it writes."""

    def __init__(self, kernel, call, handle):
        self._kernel, self._call, self._handle = kernel, call, handle
        self._launch = lib.library().kc_bound_launch
        self.outputs = Kernel._result(call)
        weakref.finalize(self, lib.library().kc_bound_destroy, handle)

    def launch(self, stream=None):
        if stream is None:
            stream = _arrays.current_stream(self._call.device)
        code = self._launch(self._handle, stream)
        if code:
            lib.check(code)
        return self.outputs
