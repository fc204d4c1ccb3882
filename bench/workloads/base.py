# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What every workload is made of: a kernel, the same in PyTorch, and what it has to move and compute."""
import os

import torch

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
EXAMPLES, KERNELS = os.path.join(BENCH, "..", "examples"), os.path.join(BENCH, "kernels")
TYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
# A bf16 result is off by up to half a unit in its last place: 2^-9 of its value.
TOLERANCE = {"f32": 2e-5, "bf16": 8e-3, "f16": 1e-3}


class Workload:
    kernel = ""
    file = "<bench>"
    constants = {}
    bound = "memory"
    tolerance = 1e-5
    by_row = False  # whether a result's rows differ in size
    text = None

    def source(self):
        if self.text:
            return self.text
        with open(self.file) as f:
            return f.read()

    def expected(self, *inputs):
        """In f64, by PyTorch."""
        return self.torch(*(x.double() if torch.is_tensor(x) and x.is_floating_point() else x for x in inputs))

    def peers(self, device):
        """name -> function of the inputs that returns a function without arguments."""
        return {}

    def bytes(self, *inputs):
        return sum(x.numel() * x.element_size() for x in inputs if torch.is_tensor(x)) + self.output_bytes(*inputs)

    def output_bytes(self, x, *rest):
        return x.numel() * x.element_size()

    def flops(self, *inputs):
        return 0


def rows(m, n, dtype, device, scale):
    return torch.randn(max(1, m // scale), n, device=device, dtype=torch.float32).to(TYPES[dtype])
