# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels as operators of PyTorch: seen by torch.compile, with fake kernels and, given a kernel for it, a backward pass.

    import kernelc, kernelc.torch
    program = kernelc.load("scale.kc")                      # scale(a: f32, x: f32[N]) -> (y: f32[N]), and scale_backward
    scale = kernelc.torch.register(program.scale, backward="scale_backward")
    torch.compile(lambda x: scale(2.0, x).sum(), fullgraph=True)(x).backward()

Sizes that no argument has are keywords, as in a call of the kernel. Works for tensors on the CPU and on CUDA devices,
on the current stream. Must be called where PyTorch can be imported.
"""
import ast

import torch

from . import _library as lib
from ._errors import GradientError
from ._kernel import Program
from ._results import _type_name

__all__ = ["register"]

_libraries = {}  # by namespace: a library's operators live as long as it


def register(kernel, name=None, backward=None):
    """The operator `name` ("namespace::operator"; kernelc::NAME of the kernel) that runs `kernel`, as a function.

    `backward`: the kernel of the gradients, or its name in the same text. Its parameters are called as parameters of `kernel`
    (their values), or grad_NAME for the gradient of output NAME; its outputs grad_NAME are the gradients of inputs. Inputs
    without one have none. Without `backward` the operator runs forwards, and a backward pass through it is a GradientError."""
    kernel = kernel._only() if isinstance(kernel, Program) else kernel
    space, _, short = (name or kernel.name).rpartition("::")
    operator = _Operator(kernel, space or "kernelc", short)
    if isinstance(backward, str):
        backward = kernel._session._restore(kernel._source, backward)
    operator.define()
    operator.differentiate(_Operator(backward, operator.space, short + "_backward") if backward is not None else None)
    return operator.function


class _Operator:
    def __init__(self, kernel, space, name):
        self.kernel, self.space, self.name = kernel, space, name
        self.params = [(*p, shape) for p, shape in zip(kernel.params, kernel.shapes)]
        self.inputs = [p for p in self.params if p[2] != lib.PARAM_OUTPUT]
        self.outputs = [p for p in self.params if p[2] == lib.PARAM_OUTPUT]
        self.written = [p for p in self.inputs if p[2] == lib.PARAM_INOUT]
        self.dims = {p[0]: ast.parse(p[4], mode="eval").body.elts for p in self.params}
        self.named = [s for s in kernel.sizes if s not in self.solvable()]

    # ---- sizes, also symbolic ones

    def solvable(self):
        """Sizes that dims of inputs tell: in parameter order, from dims with one unknown."""
        found = set()
        for p in self.inputs:
            for dim in self.dims[p[0]]:
                unknown = _names(dim) - found
                if len(unknown) == 1 and _is_linear(dim):
                    found |= unknown
        return found

    def sizes(self, shapes, named):
        """Every size by name; `shapes`: of the input tensors by name."""
        sizes = dict(named)
        for p in self.inputs:
            for dim, extent in zip(self.dims[p[0]], shapes.get(p[0], ())):
                unknown = _names(dim) - set(sizes)
                if len(unknown) == 1 and _is_linear(dim):
                    size, = unknown
                    at0, at1 = (_value(dim, {**sizes, size: n}) for n in (0, 1))
                    sizes[size] = extent if (at0, at1) == (0, 1) else (extent - at0) // (at1 - at0)
        return sizes

    # ---- the operator

    def schema(self):
        kinds = {"f": "float", "b": "bool", "i": "SymInt", "u": "SymInt"}
        letters = iter("abcdefghijklmnopqrstuvwxyz")
        words = []
        for name, kind, role, *_ in self.inputs:
            scalar = "float" if kind.startswith("bf") else kinds[kind[0]]
            words.append(f"{scalar if role == lib.PARAM_SCALAR else f'Tensor({next(letters)}!)' if role == lib.PARAM_INOUT else 'Tensor'} {name}")
        if self.named:
            words += ["*"] + [f"SymInt {s}" for s in self.named]
        results = ["Tensor"] * len(self.outputs)
        return f"{self.name}({', '.join(words)}) -> {results[0] if len(results) == 1 else '(' + ', '.join(results) + ')'}"

    @property
    def qualified(self):
        return f"{self.space}::{self.name}"

    def define(self):
        library = _libraries.setdefault(self.space, torch.library.Library(self.space, "FRAGMENT"))
        library.define(self.schema(), tags=(torch.Tag.pt2_compliant_tag,))
        for key in ("CPU", "CUDA"):
            library.impl(self.name, self.kernel, key)
        torch.library.register_fake(self.qualified, self.fake, lib=library)
        self.library = library
        self.function = getattr(getattr(torch.ops, self.space), self.name)
        self.overload = self.function.default

    def fake(self, *args, **named):
        given = dict(zip((p[0] for p in self.inputs), args))
        tensors = {name: x for name, x in given.items() if isinstance(x, torch.Tensor)}
        for name, x in tensors.items():
            torch._check(x.dim() == len(self.dims[name]), lambda: f"parameter '{name}': expected rank {len(self.dims[name])}, got {x.dim()}")
        sizes = self.sizes({name: x.shape for name, x in tensors.items()}, named)
        device = next(iter(tensors.values())).device if tensors else torch.device("cpu")
        results = [torch.empty([_value(d, sizes) for d in self.dims[name]], dtype=getattr(torch, _type_name(kind)), device=device)
                   for name, kind, *_ in self.outputs]
        return results[0] if len(results) == 1 else tuple(results) if results else None

    # ---- gradients

    def differentiate(self, backward):
        if backward is None:
            def refuse(ctx, *grads):
                raise GradientError(f"operator {self.qualified} has no backward kernel; register it with backward=")
            if not self.written:
                self.derive(refuse)
            return
        if self.written:
            raise TypeError(f"kernel '{self.kernel.name}' updates '{self.written[0][0]}' in place; a backward pass takes kernels with inputs and outputs only")
        self.check(backward)
        backward.define()
        names = [p[0] for p in self.inputs + self.outputs]
        wanted = [p[0] for p in backward.inputs]
        gradients = [p[0].removeprefix("grad_") for p in backward.outputs]

        def setup_context(ctx, inputs, output, keyword_only_inputs=None):
            values = dict(zip(names, (*inputs, *(output if isinstance(output, tuple) else (output,)))))
            ctx.shapes = {p[0]: values[p[0]].shape for p in self.outputs}
            ctx.like = values[self.outputs[0][0]].detach() if len(self.outputs) > 1 else None
            kept = [n for n in wanted if n in values]
            ctx.tensors = [n for n in kept if isinstance(values[n], torch.Tensor)]
            ctx.numbers = {n: values[n] for n in kept if n not in ctx.tensors}
            ctx.named = dict(keyword_only_inputs or {})
            ctx.save_for_backward(*(values[n] for n in ctx.tensors))

        def run(ctx, *grads):
            values = {**ctx.numbers, **dict(zip(ctx.tensors, ctx.saved_tensors))}
            for p, grad in zip(self.outputs, grads):
                if grad is None:
                    grad = ctx.like.new_zeros(ctx.shapes[p[0]], dtype=getattr(torch, _type_name(p[1])))
                values["grad_" + p[0]] = grad
            sizes = {s: ctx.named[s] for s in backward.named if s in ctx.named}
            result = backward.overload(*(values[n] for n in wanted), **sizes)
            found = dict(zip(gradients, result if isinstance(result, tuple) else (result,)))
            return tuple(found.get(p[0]) for p in self.inputs)

        self.derive(run, setup_context)
        backward.derive(_twice(backward))

    def derive(self, run, setup_context=None):
        """Registers the backward pass `run`. As torch.library.register_autograd does it, but that a call which no gradient is asked of
        goes from the dispatcher to the kernel at once, where nothing but the device is in between."""
        if not all(hasattr(torch._C, name) for name in _BELOW):
            return torch.library.register_autograd(self.qualified, run, setup_context=setup_context, lib=self.library)
        kernel, overload, enabled, any_requires = self.kernel, self.overload, torch.is_grad_enabled, torch._C._any_requires_grad
        below, dense = torch._C._after_autograd_keyset, {torch._C.DispatchKeySet(key).raw_repr() for key in _devices()}
        is_plain = {}  # by the keys of a call

        def forward(keyset, args, named):
            with torch._C._AutoDispatchBelowAutograd():
                return overload.redispatch(keyset & below, *args, **named)

        def differentiated(ctx, keyset, named, *args):
            output = forward(keyset, args, named)
            if setup_context:
                setup_context(ctx, args, output, named)
            return output
        Differentiated = type(f"{self.name}_differentiated", (torch.autograd.Function,), {
            "forward": staticmethod(differentiated), "backward": staticmethod(lambda ctx, *grads: (None, None, *run(ctx, *grads)))})

        def call(keyset, *args, **named):
            if enabled() and any_requires(*args):
                return Differentiated.apply(keyset, named, *args)
            keys = keyset.raw_repr()
            plain = is_plain.get(keys)
            if plain is None:
                plain = is_plain[keys] = (keyset & below).raw_repr() in dense
            return kernel(*args, **named) if plain else forward(keyset, args, named)
        self.library.impl(self.name, call, "Autograd", with_keyset=True)

    def check(self, backward):
        names = {p[0]: p for p in self.params}
        for name, kind, role, rank, _ in backward.params:
            about = names.get(name.removeprefix("grad_") if name.startswith("grad_") and name not in names else name)
            output = role == lib.PARAM_OUTPUT
            if role == lib.PARAM_INOUT or about is None or (output and (not name.startswith("grad_") or about[2] == lib.PARAM_OUTPUT)):
                raise TypeError(f"'{name}' of backward kernel '{backward.kernel.name}' is neither a parameter of '{self.kernel.name}' nor the gradient of one")
            if about[3] != rank:
                raise TypeError(f"'{name}' of backward kernel '{backward.kernel.name}' has rank {rank}, and '{about[0]}' of '{self.kernel.name}' {about[3]}")


_BELOW = ("_AutoDispatchBelowAutograd", "_after_autograd_keyset", "_any_requires_grad", "DispatchKeySet")  # what `derive` takes of PyTorch


def _devices():
    return torch._C.DispatchKey.CPU, torch._C.DispatchKey.CUDA


def _twice(backward):
    def refuse(ctx, *grads):
        raise GradientError(f"operator {backward.qualified} is a backward pass, and has none itself")
    return refuse


_FUNCTIONS = {"min": torch.sym_min, "max": torch.sym_max, "ceildiv": lambda a, b: -(-a // b)}  # those of dims


def _names(dim):
    return {n.id for n in ast.walk(dim) if isinstance(n, ast.Name)} - set(_FUNCTIONS)


def _is_linear(dim):
    return all(isinstance(n, (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Add, ast.Sub, ast.Mult, ast.USub, ast.Load)) for n in ast.walk(dim)) \
        and not any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mult) and _names(n.left) and _names(n.right) for n in ast.walk(dim))


def _value(dim, sizes):
    """A dim's extent, of numbers or of symbols."""
    return eval(compile(ast.Expression(dim), "<shape>", "eval"), {"__builtins__": {}, **_FUNCTIONS}, sizes)
