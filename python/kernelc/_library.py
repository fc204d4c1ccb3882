# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""libkernelc.so through ctypes: the structures and functions of kernelc.h, and errors as
exceptions. Knows no arrays."""
import atexit
import ctypes as C
import os
import re
import threading
import typing

KC_ABI_VERSION = 1
CANCELLED, INVALID_ARGUMENT, FAILED_PRECONDITION, UNAVAILABLE = 1, 3, 9, 14
DEVICE_CPU, DEVICE_CUDA, DEVICE_CUDA_MANAGED, DEVICE_EMULATOR = 1, 2, 13, 1000
VALUE_NONE, VALUE_TENSOR, VALUE_INT, VALUE_FLOAT, VALUE_UINT = 0, 1, 2, 3, 4
PARAM_INPUT, PARAM_OUTPUT, PARAM_INOUT, PARAM_SCALAR = 0, 1, 2, 3


class Diagnostic(typing.NamedTuple):
    """One thing that is wrong with a text. `severity`: error, warning, note or remark."""
    file: str
    line: int
    column: int
    severity: str
    message: str


class KernelcError(RuntimeError):
    """What kernelc refused or could not do; the text has source lines. `code` is absl's; `diagnostics` all that was said of a
    program, `file`, `line` and `column` those of the first (None: not of a program's text)."""

    def __init__(self, code, text):
        super().__init__(code, text)
        self.code, self.text = code, text

    def __str__(self):
        return self.text

    @property
    def diagnostics(self):
        found = re.findall(r"^(.+?):(\d+):(\d+): (error|warning|note|remark): (.*)$", self.text, re.M)
        located = re.match(r"(\S+?):(\d+):(\d+): (.*)", self.text) if not found else None
        if located:  # of a call: where the parameter is declared
            found = [(*located.groups()[:3], "error", located[4])]
        return [Diagnostic(file, int(line), int(column), severity, message) for file, line, column, severity, message in found]

    file = property(lambda self: next((d.file for d in self.diagnostics), None))
    line = property(lambda self: next((d.line for d in self.diagnostics), None))
    column = property(lambda self: next((d.column for d in self.diagnostics), None))


class KernelcWarning(UserWarning):
    """What a program says that hardly was meant; the text has source lines."""


class Device(C.Structure):
    _fields_ = [("device_type", C.c_int32), ("device_id", C.c_int32)]


class DType(C.Structure):
    _fields_ = [("code", C.c_uint8), ("bits", C.c_uint8), ("lanes", C.c_uint16)]


class Tensor(C.Structure):  # DLTensor
    _fields_ = [("data", C.c_void_p), ("device", Device), ("ndim", C.c_int32), ("dtype", DType),
                ("shape", C.POINTER(C.c_int64)), ("strides", C.POINTER(C.c_int64)), ("byte_offset", C.c_uint64)]


class Value(C.Structure):
    _fields_ = [("kind", C.c_int32), ("tensor", C.POINTER(Tensor)), ("i", C.c_int64), ("f", C.c_double)]


class Named(C.Structure):
    _fields_ = [("name", C.c_char_p), ("value", C.c_int64)]


class NamedFloat(C.Structure):
    _fields_ = [("name", C.c_char_p), ("value", C.c_double)]


class NamedUnsigned(C.Structure):
    _fields_ = [("name", C.c_char_p), ("value", C.c_uint64)]


class SessionOptions(C.Structure):
    _fields_ = [("size", C.c_size_t), ("cache_path", C.c_char_p), ("disk_cache", C.c_int32), ("max_variants", C.c_int32),
                ("emulator_target", C.c_char_p), ("cpu_threads", C.c_int32), ("untuned", C.c_int32), ("compile", C.c_char_p)]


class CompileOptions(C.Structure):
    _fields_ = [("size", C.c_size_t), ("file_name", C.c_char_p), ("constants", C.POINTER(Named)), ("num_constants", C.c_size_t),
                ("precision", C.c_char_p), ("schedule", C.c_char_p), ("schedule_name", C.c_char_p),
                ("float_constants", C.POINTER(NamedFloat)), ("num_float_constants", C.c_size_t),
                ("unsigned_constants", C.POINTER(NamedUnsigned)), ("num_unsigned_constants", C.c_size_t),
                ("known_only", C.c_int32)]


class Param(C.Structure):
    _fields_ = [("size", C.c_size_t), ("name", C.c_char_p), ("type", C.c_char_p), ("kind", C.c_int32), ("rank", C.c_int32),
                ("dtype", DType), ("shape", C.c_char_p)]


_P = C.c_void_p
_CALL = [_P, Device, C.POINTER(Value), C.c_size_t, C.POINTER(Named), C.c_size_t]
_SIGNATURES = {
    "kc_abi_version": (C.c_int32, []),
    "kc_version": (C.c_char_p, []),
    "kc_last_error": (C.c_char_p, []),
    "kc_session_create": (C.c_int32, [C.POINTER(SessionOptions), C.POINTER(_P)]),
    "kc_session_destroy": (None, [_P]),
    "kc_session_default_device": (Device, [_P]),
    "kc_compile": (C.c_int32, [_P, C.c_char_p, C.c_size_t, C.POINTER(CompileOptions), C.POINTER(_P)]),
    "kc_program_destroy": (None, [_P]),
    "kc_program_num_kernels": (C.c_size_t, [_P]),
    "kc_program_num_warnings": (C.c_size_t, [_P]),
    "kc_program_warning": (C.c_char_p, [_P, C.c_size_t]),
    "kc_program_kernel": (C.c_int32, [_P, C.c_size_t, C.POINTER(_P)]),
    "kc_kernel_destroy": (None, [_P]),
    "kc_kernel_name": (C.c_char_p, [_P]),
    "kc_kernel_num_params": (C.c_size_t, [_P]),
    "kc_kernel_param": (C.c_int32, [_P, C.c_size_t, C.POINTER(Param)]),
    "kc_kernel_num_sizes": (C.c_size_t, [_P]),
    "kc_kernel_size_name": (C.c_char_p, [_P, C.c_size_t]),
    "kc_kernel_shape": (C.c_int32, [_P, C.POINTER(Value), C.c_size_t, C.POINTER(Named), C.c_size_t, C.c_size_t, C.POINTER(C.c_int64)]),
    "kc_prepare_exit": (C.c_int32, []),
    "kc_prepare": (C.c_int32, _CALL + [_P]),
    "kc_set_interrupt": (None, [_P]),
    "kc_call": (C.c_int32, _CALL + [_P]),
    "kc_bind": (C.c_int32, _CALL + [C.POINTER(_P)]),
    "kc_bind_on": (C.c_int32, _CALL + [_P, C.POINTER(_P)]),
    "kc_bound_launch": (C.c_int32, [_P, _P]),
    "kc_bound_replace": (C.c_int32, [_P, C.POINTER(Value), C.c_size_t]),
    "kc_bound_call": (C.c_int32, [_P, C.POINTER(Value), C.c_size_t, _P]),
    "kc_bound_destroy": (None, [_P]),
    "kc_stream_wait": (C.c_int32, [Device, _P, _P]),
    "kc_stream_synchronize": (C.c_int32, [Device, _P]),
    "kc_memory_device": (C.c_int32, [_P, C.POINTER(Device)]),
    "kc_cuda_text": (C.c_int32, [_P, C.c_char_p, C.POINTER(Value), C.c_size_t, C.POINTER(Named), C.c_size_t, C.POINTER(_P)]),
    "kc_string_destroy": (None, [_P]),
    "kc_fill": (C.c_int32, [C.POINTER(Tensor), C.c_char_p]),
}

_lock = threading.Lock()
_library = None


def _find(folders, names):
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in folders:
        for name in names:
            path = os.path.normpath(os.path.join(here, *folder, name))
            if os.path.exists(path):
                return path
    return None


def library_path():
    """Where libkernelc.so is looked for: $KERNELC_LIBRARY, inside the package (the wheel), beside it, the bundle's lib
    folder, then the loader's own search."""
    return os.environ.get("KERNELC_LIBRARY") or _find((("lib",), (), ("..", "..", "lib"), ("..", "lib")),
                                                       ("libkernelc.so.1", "libkernelc.so")) or "libkernelc.so.1"


def tool_path():
    """The command-line program: $KERNELC_TOOL, the wheel's or the bundle's, that of the build that $KERNELC_LIBRARY is of, else
    that of $PATH."""
    beside = os.path.join(os.path.dirname(os.environ.get("KERNELC_LIBRARY", "")), "..")
    import shutil
    path = (os.environ.get("KERNELC_TOOL") or _find((("bin",), ("..", "..", "bin"), (beside, "tools"), (beside, "bin")), ("kernelc",))
            or shutil.which("kernelc"))
    if path is None:
        raise FileNotFoundError("the program 'kernelc' is neither in the package nor in $KERNELC_TOOL nor in $PATH")
    return path


def library():
    global _library
    with _lock:
        if _library is None:
            loaded = C.CDLL(library_path())
            for name, (result, args) in _SIGNATURES.items():
                function = getattr(loaded, name)
                function.restype, function.argtypes = result, args
            if loaded.kc_abi_version() != KC_ABI_VERSION:
                raise ImportError(f"{library_path()} speaks version {loaded.kc_abi_version()} of the interface, "
                                  f"this package {KC_ABI_VERSION}")
            _library = loaded
            atexit.register(loaded.kc_prepare_exit)
    return _library


def raise_interrupt():
    """Raises what a signal's handler raised while a kernel ran. The extension's, where there is one (_warm.py)."""


def check(code):
    if code:
        if code == CANCELLED:
            raise_interrupt()
        raise KernelcError(code, library().kc_last_error().decode("utf-8", "replace"))
