#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# All that needs a released PyTorch, and JAX where it is installed: arrays, the warm path, operators (opcheck, torch.compile, CUDA graphs), jit, and what a call
# costs; on the GPU too, where there is one. Ends with one line.
# usage: test-torch.sh [PYTHON]    KERNELC_LIBRARY: of a build or a bundle; without it the installed package, or the build/ci here
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
python=${1:-python3}
if ! (cd / && "$python" -c 'import kernelc' 2>/dev/null); then
  export PYTHONPATH=$here/python${PYTHONPATH:+:$PYTHONPATH}
  for lib in "$here/build/ci/lib" "$here/build/release/lib" "$here/lib"; do
    [ -n "${KERNELC_LIBRARY:-}" ] || [ ! -e "$lib/libkernelc.so.1" ] || export KERNELC_LIBRARY=$lib/libkernelc.so.1
  done
fi
"$python" -c 'import torch, kernelc; print("torch", torch.__version__, "cuda", torch.cuda.is_available(), "kernelc", kernelc.__version__)' || exit 1
failed=0
for test in PythonArraysTest PythonImportTest PythonWarmTest PythonTorchTest PythonJaxTest PythonGpuTest; do
  echo "== $test"
  (cd "$here/test/tools" && "$python" -W ignore $test.py)
  code=$?
  [ $code = 0 ] || [ $code = 77 ] || failed=$((failed + 1))
done
echo "== torch.compile with its own compiler"
(cd "$here/test/tools" && KERNELC_TORCH_BACKEND=inductor "$python" -W ignore PythonTorchTest.py Operators.test_compile_without_graph_breaks) ||
  failed=$((failed + 1))
cuda=$("$python" -c 'import torch; print("--cuda" if torch.cuda.is_available() else "")')
"$python" "$here/bench/python_call.py" --rounds 100 $cuda || failed=$((failed + 1))
echo "test-torch: $failed failed"
[ $failed = 0 ]
