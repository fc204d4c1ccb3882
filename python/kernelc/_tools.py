# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the command line says of a kernel and its arguments: explain, check, bench (tune: _tune.py). Each runs the program in a process
of its own, which a signal or a time limit ends, on files of the arguments' values."""
import json
import os
import subprocess
import sys
import tempfile

from . import _library as lib
from ._call import assign
from ._frameworks import framework_of


class Report:
    """What a command said: `text`, for `check` whether it held (`ok`), and as `data` what it said in JSON, if it did."""

    def __init__(self, text, ok, data=None):
        self.text, self.ok, self.data = text, ok, data

    def __bool__(self):
        return self.ok

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        import html
        return f"<pre>{html.escape(self.text)}</pre>"


def _to_file(folder, name, x):
    """A tensor's values as the command line takes them."""
    import numpy
    framework = framework_of(x)
    if framework == "torch":
        torch = sys.modules["torch"]
        x = x.detach().cpu().contiguous()
        narrow = {torch.bfloat16: torch.uint16, getattr(torch, "float8_e4m3fn", None): torch.uint8, getattr(torch, "float8_e5m2", None): torch.uint8}
        x = x.view(narrow.get(x.dtype, x.dtype)).numpy()
    elif framework == "cupy":
        x = x.get()
    x = numpy.ascontiguousarray(x) if getattr(x, "ndim", 1) else numpy.asarray(x)
    if x.dtype.name in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        x = x.view("uint16" if x.dtype.itemsize == 2 else "uint8")
    path = os.path.join(folder, name + ".npy")
    numpy.save(path, x)
    return path


def arguments(kernel, folder, args, named, target):
    """Command-line arguments that name the kernel's text, what was fixed in it, and these inputs."""
    given, sizes = assign(kernel, args, dict(named))
    text = os.path.join(folder, os.path.basename(kernel._source["file"] or "kernel.kc"))
    with open(text, "w") as f:
        f.write(kernel._source["text"])
    result = [text, "--kernel", kernel.name]
    for name, value in {**kernel._source["constants"], **sizes}.items():
        result += ["--set", f"{name}={value}"]
    if kernel._source["precision"]:
        result += ["--tolerance" if kernel._source["precision"].startswith("rel=") else "--precision", kernel._source["precision"]]
    if kernel._source["schedule"]:
        with open(os.path.join(folder, "schedule.json"), "w") as f:
            f.write(kernel._source["schedule"])
        result += ["--schedule", f.name]
    for i, x in given.items():
        name, _, role, _ = kernel.params[i]
        if role == lib.PARAM_SCALAR:
            result.append(f"{name}={x}")
        elif role != lib.PARAM_OUTPUT:
            result.append(f"{name}={_to_file(folder, name, x)}")
    return result + (["--device", target] if target else [])


def run(command, kernel, args, named, device=None, options=(), timeout=None):
    """(exit code, output) of a command on these arguments. KernelcError where it could not be carried out."""
    with tempfile.TemporaryDirectory(prefix="kernelc-") as folder:
        line = [lib.tool_path(), command, *arguments(kernel, folder, args, named, device), *options]
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                out, err = process.communicate(timeout=timeout)
            except BaseException:  # Ctrl-C, or the time is up
                process.kill()
                raise
    if process.returncode not in (0, 1) or (process.returncode == 1 and not out):
        raise lib.KernelcError(lib.INVALID_ARGUMENT, (err or "").replace("kernelc: ", "", 1).strip() or f"'kernelc {command}' ended with {process.returncode}")
    return process.returncode, out


def read_json(out):
    try:
        return json.loads(out)
    except ValueError:
        return None

