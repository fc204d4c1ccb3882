#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Six kinds of attention on small tensors, for compute-sanitizer: each result is compared with f64.

    compute-sanitizer --tool memcheck --kernel-name kns=kc_ python3 bench/sanitize.py
    compute-sanitizer --tool racecheck --kernel-name kns=kc_ python3 bench/sanitize.py causal window
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "python"))
sys.path.insert(0, HERE)
os.environ.setdefault("KERNELC_UNTUNED", "1")
os.environ.setdefault("KERNELC_COMPILE", "block")

import torch  # noqa: E402

import kernelc  # noqa: E402
from attention import Masked  # noqa: E402
from harness import largest_error  # noqa: E402
from workloads import Attention, Cascade, Paged  # noqa: E402

# More blocks than fit the GPU at once, so that some take several tiles; keys that fill no whole tile.
VARIANTS = {"plain": Attention(10, 8, 8, 300, 128, False), "causal": Attention(10, 8, 4, 300, 64, True), "window": Masked("window", 10, 8, 300, 64, 100),
            "documents": Masked("documents", 10, 8, 300, 64), "decode": Cascade("decode", 20, 8, 4, 700, 128), "paged": Paged(20, 8, 4, 512, 64, 128)}


def main():
    device, failed = torch.device("cuda", 0), False
    for name, workload in VARIANTS.items():
        if sys.argv[1:] and name not in sys.argv[1:]:
            continue
        torch.manual_seed(0)
        inputs = workload.inputs(device, 1)
        program = kernelc.compile(workload.source(), workload.file, **workload.constants)
        result = (program[workload.kernel] if workload.kernel else program._only())(*inputs)
        torch.cuda.synchronize()
        error = largest_error(result, workload.expected(*inputs), workload.by_row)
        failed |= not error <= workload.tolerance
        print(f"{name}: largest relative error {error:.3g}, allowed {workload.tolerance:.3g}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
