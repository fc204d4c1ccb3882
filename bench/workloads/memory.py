# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels that memory bounds, over rows and columns of a matrix."""
import os

import torch
import torch.nn.functional as F

from .base import KERNELS, TOLERANCE, Workload, rows


class RowWorkload(Workload):
    kind = ""
    rounding_steps = 1

    def __init__(self, m, n, dtype):
        self.m, self.n, self.dtype = m, n, dtype
        self.name = f"{self.kind} {m}x{n} {dtype}"
        self.kernel = self.kind
        self.file = os.path.join(KERNELS, f"memory_{dtype}.kc")
        self.tolerance = TOLERANCE[dtype] * self.rounding_steps

    def inputs(self, device, scale):
        return (rows(self.m, self.n, self.dtype, device, scale),)


class Copy(RowWorkload):
    kind = "copy"

    def torch(self, x):
        return x.clone()


class GeluAdd(RowWorkload):
    kind = "gelu_add"

    def inputs(self, device, scale):
        x = rows(self.m, self.n, self.dtype, device, scale)
        return x, torch.randn(self.n, device=device).to(x.dtype), torch.randn_like(x)

    def torch(self, x, b, z):
        return F.gelu(x + b, approximate="tanh") * z

    # What eager rounds to the tensors' type on the way, kernelc keeps in f32.
    rounding_steps = 3


class RowSum(RowWorkload):
    kind = "row_sum"

    def torch(self, x):
        return x.sum(1)

    def output_bytes(self, x):
        return x.shape[0] * x.element_size()


class ColumnSum(RowWorkload):
    kind = "column_sum"

    def torch(self, x):
        return x.sum(0)

    def output_bytes(self, x):
        return x.shape[1] * x.element_size()


class Transpose(RowWorkload):
    kind = "transpose"

    def torch(self, x):
        return x.T.contiguous()


class Softmax(RowWorkload):
    kind = "softmax_rows"

    def torch(self, x):
        return torch.softmax(x, 1)

    def peers(self, device):
        if device.type != "cuda":
            return {}
        from triton_kernels import softmax
        return {"triton": softmax}


class LayerNorm(RowWorkload):
    kind = "layer_norm"
    rounding_steps = 4

    def inputs(self, device, scale):
        x = rows(self.m, self.n, self.dtype, device, scale)
        return x, torch.randn(self.n, device=device).to(x.dtype), torch.randn(self.n, device=device).to(x.dtype)

    def torch(self, x, gain, bias):
        return F.layer_norm(x, (x.shape[1],), gain, bias, 1e-5)

    def peers(self, device):
        if device.type != "cuda":
            return {}
        from triton_kernels import layer_norm
        return {"triton": layer_norm}
