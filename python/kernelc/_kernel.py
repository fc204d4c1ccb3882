# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sessions, programs and kernels as Python objects."""
import ctypes as C
import os
import sys
import threading
import warnings

from . import _library as lib
from ._bound import Bound, destroy_with
from ._call import Call
from ._patience import patiently
from . import _warm
from ._numbers import named as _named, number as _number


_DEVICE_OF_CALL = "it compiles for the device that a call's arrays are on, or that its device= names"
#: Keywords of other compilers, and how it is said here.
_FOREIGN_KEYWORDS = {"arch": _DEVICE_OF_CALL, "target": _DEVICE_OF_CALL, "device": _DEVICE_OF_CALL, "backend": _DEVICE_OF_CALL,
                     "kernel": "kernels are attributes of what it returns, as in compile(text).linear",
                     "name": "kernels have the names that the text gives them; 'file' names the text in messages"}


class Session:
    """Compiled kernels and what they share: caches, threads, streams. Thread-safe.

    `cache_path`, `disk_cache`: where compiled code is kept, and whether; `max_variants`: specialised variants of a kernel
    (0: 8); `emulator_target`: the architecture that the emulator runs ("sm_90a"); `cpu_threads`: of the CPU device (0: all);
    `tuned`: kernels without a schedule of their own take what `kernelc tune` has kept in the cache; `compile_policy`: what calls
    on a GPU do whose code is not there yet. "block" waits for it; "tiered", the default, may run code that is compiled fast until
    then; "strict" refuses."""

    def __init__(self, cache_path=None, disk_cache=True, max_variants=0, emulator_target=None, cpu_threads=0, tuned=True,
                 compile_policy=None):
        encode = lambda s: s.encode() if s else None
        options = lib.SessionOptions(C.sizeof(lib.SessionOptions), encode(cache_path), int(disk_cache), max_variants,
                                     encode(emulator_target), cpu_threads, int(not tuned), encode(compile_policy))
        handle = C.c_void_p()
        lib.check(lib.library().kc_session_create(C.byref(options), C.byref(handle)))
        self._handle = handle
        destroy_with(self, lib.library().kc_session_destroy, handle)

    def compile(self, text, file=None, precision=None, schedule=None, constants=None, **named_constants):
        """All kernels of a source text. Keywords fix sizes and const parameters (`constants`: the same as a dict, for any name);
        `precision` is a policy: "contract=tf32", "accumulate=fast", or "rel=1e-3" for a tolerance;
        `schedule` a list of records that replace the cost model's, as dicts or as JSON text:
        [{"kernel": "linear", "launch": "y", "tiles": {"i": 128}, "stages": 6}].

        Returns a Program. Raises KernelcError, with source lines, for a text, a policy or a schedule that is
        refused; what a schedule's records say of a launch is checked at the kernel's first call, on every device."""
        constants = {**(constants or {}), **named_constants}
        if not isinstance(text, str):
            raise TypeError(f"the text must be a str, got {type(text).__name__}" +
                            ("; kernelc.load(path) reads a file" if isinstance(text, os.PathLike) else
                             "; @kernelc.kernel takes a function" if callable(text) else ""))
        if text.endswith(".kc") and "\n" not in text and "{" not in text:
            raise ValueError(f"'{text}' is the name of a file; kernelc.load('{text}') reads it")
        if precision is not None and not isinstance(precision, str):
            raise TypeError(f"'precision' is a policy's text, as in 'contract=tf32', not {type(precision).__name__}")
        if isinstance(schedule, str) and schedule.endswith(".json") and "[" not in schedule:
            raise ValueError(f"'{schedule}' is the name of a file; 'schedule' takes its records, as in json.load(open('{schedule}'))")
        for name, value in named_constants.items():
            if isinstance(value, str) and name in _FOREIGN_KEYWORDS:
                raise TypeError(f"compile() has no keyword '{name}': {_FOREIGN_KEYWORDS[name]}")
        data = text.encode()
        numbers = {name: _number(name, value) for name, value in constants.items()}
        kinds = {name: lib.NamedFloat if isinstance(value, float) else lib.NamedUnsigned if value >= 2**63 else lib.Named
                 for name, value in numbers.items()}
        (named, count), (floats, float_count), (unsigned, unsigned_count) = (
            _named({name: value for name, value in numbers.items() if kinds[name] is kind}, kind)
            for kind in (lib.Named, lib.NamedFloat, lib.NamedUnsigned))
        if schedule is not None and not isinstance(schedule, str):
            import json
            schedule = json.dumps(schedule)
        options = lib.CompileOptions(C.sizeof(lib.CompileOptions), file.encode() if file else None, named, count,
                                     precision.encode() if precision else None, schedule.encode() if schedule else None, None,
                                     floats, float_count, unsigned, unsigned_count, 1)
        handle = C.c_void_p()
        # What the disk cache knows is there before another thread would have begun.
        if lib.library().kc_compile(self._handle, data, len(data), C.byref(options), C.byref(handle)):
            options.known_only = 2
            patiently(lambda: lib.check(lib.library().kc_compile(self._handle, data, len(data), C.byref(options), C.byref(handle))))
        return Program(self, handle, {"text": text, "file": file, "precision": precision, "schedule": schedule, "constants": numbers})

    def load(self, path, **options):
        """All kernels of a file; `options` as for compile."""
        if isinstance(path, str) and ("{" in path or "\n" in path):
            raise ValueError("a file's name was expected, and this is a text; kernelc.compile(text) takes it")
        with open(path, encoding="utf-8") as f:
            return self.compile(f.read(), os.fspath(path), **options)

    def _restore(self, source, name):
        return self.compile(**source)[name]

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


def compile(text, file=None, precision=None, schedule=None, constants=None, **named_constants):
    """Compiles a source text in the default session; see Session.compile."""
    return default_session().compile(text, file, precision, schedule, constants, **named_constants)


def load(path, **options):
    """Compiles a file in the default session: `kernelc.load("attention.kc", causal=True).attention`."""
    return default_session().load(path, **options)


def kernel(function=None, **options):
    """`@kernelc.kernel`: the kernel that a Python function spells (docs/python.md). `options` as for Session.compile."""
    if function is None:
        return lambda f: kernel(f, **options)
    from ._spelling import text_of
    text, file = text_of(function)
    result = default_session().compile(text, file, **options)[function.__name__]
    result.__doc__, result.__module__, result.__qualname__ = function.__doc__, function.__module__, function.__qualname__
    result.__name__, result.__wrapped__ = function.__name__, function
    return result


def _restored(source, name):
    """What a pickled kernel becomes: compiled anew in the default session."""
    return default_session()._restore(source, name)


class Program:
    """The kernels of one text: attributes and items by name; a program of one kernel can be used as that kernel."""

    def __init__(self, session, handle, source):
        L = lib.library()
        self.kernels, self._source = {}, source
        try:
            for i in range(L.kc_program_num_warnings(handle)):
                warnings.warn(L.kc_program_warning(handle, i).decode(), lib.KernelcWarning, stacklevel=4)
            for i in range(L.kc_program_num_kernels(handle)):
                kernel = C.c_void_p()
                lib.check(L.kc_program_kernel(handle, i, C.byref(kernel)))
                k = Kernel(session, kernel, source)
                self.kernels[k.name] = k
        finally:
            L.kc_program_destroy(handle)

    def __getattr__(self, name):
        kernels = self.__dict__.get("kernels", {})
        if name in kernels:
            return kernels[name]
        if len(kernels) == 1 and name[:1] != "_" and hasattr(self._only(), name):
            return getattr(self._only(), name)
        raise AttributeError(f"the program has no kernel '{name}'; it has {', '.join(kernels)}")

    def __getitem__(self, name):
        if not isinstance(name, str):
            raise TypeError("kernels have no launch grid in brackets: kernelc chooses it; "
                            f"in brackets stands a kernel's name, as in program['{next(iter(self.kernels))}']")
        if name not in self.kernels:
            raise KeyError(f"the program has no kernel '{name}'; it has {', '.join(self.kernels)}")
        return self.kernels[name]

    def __dir__(self):
        return [*super().__dir__(), *self.kernels]

    def __iter__(self):
        return iter(self.kernels.values())

    def __repr__(self):
        return f"<program of {', '.join(map(repr, self.kernels.values()))}>"

    def __reduce__(self):
        return _restored_program, (self._source,)

    def _only(self):
        if len(self.kernels) != 1:
            raise TypeError(f"the program has several kernels ({', '.join(self.kernels)}); call one of them")
        return next(iter(self.kernels.values()))

    def __call__(self, *args, **named):
        return self._only()(*args, **named)


def _restored_program(source):
    return default_session().compile(**source)


class Kernel(_warm.Caller):
    """A compiled kernel. `k(x, y)` runs it: positional arguments are the inputs in the order of the text.

    Arrays are anything that speaks DLPack, NumPy's or Numba's array interface; their element types and
    shapes must be the parameters'. Results are new arrays of the framework of the first array, with its own types
    for bf16 and f8, unless given by name (`k(x, y=out)`) or as `out=`; sizes that no argument has are given by name
    (`N=8`). `device` ("cpu", "emulator", "cuda", "cuda:1") is where the arrays lie unless given.

    On a GPU the call is queued and returns: on `stream` (an address, or a stream of PyTorch, CuPy or Numba), else on
    the current stream of the first array's framework; either way after what the arrays' own streams still do.
    Without `stream`, what the frameworks queue next comes after the call. The first call with JAX arrays of some shapes has finished when
    it returns; later ones go by JAX's own queue.

    Raises KernelcError for what the kernel refuses, GradientError where gradients would be lost, TypeError and
    ValueError for arrays that cannot be passed, each naming the parameter. Thread-safe."""

    def __init__(self, session, handle, source):
        L = lib.library()
        self._session, self._handle, self._source = session, handle, source
        destroy_with(self, L.kc_kernel_destroy, handle)
        self.name = L.kc_kernel_name(handle).decode()
        self.params, self.shapes = [], []
        for i in range(L.kc_kernel_num_params(handle)):
            p = lib.Param(size=C.sizeof(lib.Param))
            lib.check(L.kc_kernel_param(handle, i, C.byref(p)))
            self.params.append((p.name.decode(), p.type.decode(), p.kind, p.rank))
            self.shapes.append(p.shape.decode())
        self.sizes = [L.kc_kernel_size_name(handle, i).decode() for i in range(L.kc_kernel_num_sizes(handle))]
        self._known, self._names = set(), {p[0] for p in self.params} | set(self.sizes)
        self._jax_known, self._jax_eager = set(), None  # calls that may go by JAX's jit, and what it made
        _warm.link()
        order = self._positions()
        self._setup(sum(p[2] != lib.PARAM_OUTPUT for p in self.params),
                    tuple((i, self.params[i][2] == lib.PARAM_SCALAR, self.params[i][2] in (lib.PARAM_OUTPUT, lib.PARAM_INOUT)) for i in order),
                    tuple(self.params[i][0] for i in order))

    def __repr__(self):
        return f"<kernel {self._text()}>"

    def __getitem__(self, grid):
        raise TypeError(f"{self.name}[..](..): a kernel takes no grid, which the compiler chooses; call it as {self.name}(..)")

    def _text(self):
        """The signature as the language has it."""
        parts = [(role, f"{'inout ' if role == lib.PARAM_INOUT else ''}{name}: {kind}{shape if role != lib.PARAM_SCALAR else ''}")
                 for (name, kind, role, _), shape in zip(self.params, self.shapes)]
        outputs = [text for role, text in parts if role == lib.PARAM_OUTPUT]
        arrow = f" -> ({', '.join(outputs)})" if outputs else ""
        return f"{self.name}({', '.join(text for role, text in parts if role != lib.PARAM_OUTPUT)}){arrow}"

    @property
    def __signature__(self):
        import inspect
        P, names = inspect.Parameter, []
        for i in self._positions():
            name, kind, role, _ = self.params[i]
            annotation = kind + (self.shapes[i] if role != lib.PARAM_SCALAR else "")
            names.append(P(name, P.POSITIONAL_OR_KEYWORD, annotation=annotation, **({"default": None} if role == lib.PARAM_OUTPUT else {})))
        return inspect.Signature(names)

    def _repr_html_(self):
        import html
        return f"<b>kernel</b> <code>{html.escape(self._text())}</code><pre>{html.escape(self._source['text'].strip())}</pre>"

    def __reduce__(self):
        return _restored, (self._source, self.name)

    def _options(self, named):
        """(device, stream) taken out of the keywords: those of these names, unless parameters or sizes of the kernel are called so; then
        `device_` and `stream_`."""
        return tuple(named.pop(option + "_" if option in self._names else option, None) for option in ("device", "stream"))

    def _call_slow(self, *args, **named):
        """A call that nothing is known of: every argument is looked at."""
        jitted = self._find_jitted(args, named)
        if jitted:
            return jitted(*args)
        device, stream = self._options(named)
        call = Call(self, args, named, device, stream)
        if self._is_new(call):
            self._prepare(call, call.launch)
        call.streams.before(call.launch, stream)
        lib.check(lib.library().kc_call(self._handle, call.device, call.values, call.num_values, call.sizes, call.num_sizes, call.launch))
        call.streams.after(call.launch, stream)
        call.mark_written()
        for x in call.arrays:
            _warm.learn(x)
        if "jax" in sys.modules and not named:
            from . import _jax
            _jax.learn_eager(self, args)
        return call.finish()

    def _find_jitted(self, args, named):
        """The kernel under JAX's own jit, which does not wait, for JAX arrays on a GPU in a call that has been checked before; else None."""
        if named or "jax" not in sys.modules:
            return None
        from . import _jax
        return _jax.find_eager(self, args)

    def _positions(self):
        """The parameters in the order of positional arguments: inputs, then outputs."""
        output = lambda i: self.params[i][2] == lib.PARAM_OUTPUT
        return sorted(range(len(self.params)), key=output)

    # What the extension (python/fast) asks for.
    def _bind_for(self, args):
        """The handle of a bound call for arguments by position, all of them."""
        return self._bind(Call(self, args, {}, bound=True)).value

    def _is_new(self, call):
        """Whether the call may have to compile, as far as that is known cheaply."""
        shapes = (getattr(x, "shape", None) for x in call.arrays)  # (which another library than those known may have as it likes)
        signature = call.device.device_type, call.device.device_id, *(s if isinstance(s, tuple) else None for s in shapes)
        if signature in self._known:
            return False
        if len(self._known) > 1000:
            self._known.clear()
        self._known.add(signature)
        return True

    def _bind(self, call, stream=None):
        """The handle of a bound call: compiles, where Ctrl-C is heard; not while a graph is captured."""
        stream, handle = call.streams.choose(None) if stream is None else stream, C.c_void_p()
        patiently(lambda: lib.check(lib.library().kc_bind_on(self._handle, call.device, call.values, call.num_values, call.sizes,
                                                             call.num_sizes, stream, C.byref(handle))))
        return handle

    def _prepare(self, call, stream):
        """Compiles what the call needs, where Ctrl-C is heard; not while a graph is captured."""
        patiently(lambda: lib.check(lib.library().kc_prepare(self._handle, call.device, call.values, call.num_values, call.sizes,
                                                             call.num_sizes, stream)))

    def _makers_for(self, args):
        """Functions that make the outputs for such inputs."""
        return tuple(Call(self, args, {}, bound=True).makers)

    def _raise(self, code):
        lib.check(code)

    def bind(self, *args, **named):
        """Compiles, checks and packs a call once; `.launch()` then only queues it, on the CPU and the emulator runs it. The
        arrays stay alive with the result. Outputs of JAX must be passed in as arrays of another framework."""
        device, _ = self._options(named)
        call = Call(self, args, named, device, bound=True)
        return Bound(self, call, self._bind(call))

    def explain(self, *args, **named):
        """What these arguments make of the kernel: launches, schedules, bytes, flops, occupancy (`kernelc explain`)."""
        from . import _tools
        device, _ = self._options(named)
        return _tools.Report(_tools.run("explain", self, args, named, device)[1], True)

    def check(self, *args, timeout=None, **named):
        """Compares every output with the reference in f64 (`kernelc check`), on `device`; on the emulator also looks for races,
        accesses out of bounds and barrier mistakes. A Report, true where everything held."""
        from . import _tools
        device, _ = self._options(named)
        code, out = _tools.run("check", self, args, named, device, timeout=timeout)
        return _tools.Report(out, code == 0)

    def bench(self, *args, repeats=30, timeout=None, **named):
        """Medians on a GPU, the L2 cache flushed before every run (`kernelc bench`). A Report, with `data`."""
        from . import _tools
        device, _ = self._options(named)
        out = _tools.run("bench", self, args, named, device, ["--json", "--repeats", str(repeats)], timeout)[1]
        return _tools.Report(out, True, _tools.read_json(out))

    def tune(self, *args, budget=60, records=None, executor=None, progress=True, patience=30, timeout=None, **named):
        """Searches faster schedules on a GPU for `budget` seconds (`kernelc tune`). The best is returned, as for compile's `schedule`, and
        kept in the cache, where later calls find it.

        The search is a process of its own, which compiles candidates in others: it is ended where a candidate's code has not ended
        within `patience` seconds, or has taken it along, and goes on without that one. Ctrl-C and `timeout` (seconds;
        subprocess.TimeoutExpired) end the search. `records`: a file that every trial is appended to, and that a later search of the
        same call goes on from. `progress`: a bar on a terminal and in a notebook. `executor`: any of concurrent.futures' kind,
        such as Dask's (docs/python.md has one of Ray's tasks); the result then is its future, and the arguments are pickled."""
        from . import _tune
        for option, seconds in (("budget", budget), ("patience", patience)):
            if not isinstance(seconds, (int, float)) or not seconds > 0:
                raise TypeError(f"'{option}' is a positive number of seconds, not {seconds!r}")
        device, _ = self._options(named)
        work = self._source, self.name, args, named, device, budget, records and os.fspath(records), patience, timeout, progress
        return executor.submit(_tune.tune, *work) if executor is not None else _tune.tune(*work)

    def tvm_ffi(self):
        """The kernel as a function of apache-tvm-ffi (`pip install apache-tvm-ffi`), for its callers in other languages and
        frameworks: f(..) takes every parameter in the order of the text, outputs too, and returns nothing."""
        import tvm_ffi
        symbol, handle = C.cast(lib.library().__getattr__("__tvm_ffi_kernelc_call"), C.c_void_p).value, self._handle.value
        call = tvm_ffi.core.Function.__from_extern_c__(symbol)

        def function(*values, _kernel=self):  # which lives as long as it is called
            call(handle, *values)
        return function

    def jax(self):
        """The kernel as a function for JAX's jit, grad by jax.custom_vjp, vmap (call by call): f(*inputs, **sizes) returns the outputs, and
        inout parameters among them, in the order of the text, as new arrays. Scalars are numbers that jit knows."""
        from . import _jax
        return _jax.function(self)

    def cuda_text(self, *args, target="sm_90a", **named):
        """The CUDA C that these arguments would run on `target`."""
        if "arch" in named and "arch" not in self.sizes and not any(p[0] == "arch" for p in self.params):
            raise TypeError(f"cuda_text() has no argument 'arch'; write target={named['arch']!r}")
        call = Call(self, args, named)
        text = C.c_void_p()
        patiently(lambda: lib.check(lib.library().kc_cuda_text(self._handle, target.encode(), call.values, call.num_values, call.sizes,
                                                               call.num_sizes, C.byref(text))))
        try:
            return C.string_at(text.value).decode()
        finally:
            lib.library().kc_string_destroy(text)
