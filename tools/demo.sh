#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sets the machine up, builds kernelc, and does its main job: compiles a softmax and a matrix
# product to CUDA C, runs both on the CPU, checks them against f64, and says what to do next.
# Needs no GPU. Leaves the CUDA C in build/demo/. PRESET (default ci) picks the build.
set -euo pipefail
cd "$(dirname "$0")/.."
bash tools/setup.sh
preset="${PRESET:-ci}"
cmake --preset "$preset" >/dev/null
cmake --build "build/$preset" --target kernelc libkernelc
kernelc="build/$preset/tools/kernelc"
mkdir -p build/demo

# Prints a command and runs it.
say() {
  echo
  echo "\$ $*"
  "$@"
}

for example in softmax linear; do
  say "$kernelc" compile "examples/$example.kc" --arch sm_90a --emit cuda -o "build/demo/$example.cu"
done
echo
echo "A softmax over 0, 1, .. 7:"
say "$kernelc" run examples/softmax.kc x=iota --set M=1 --set N=8 --device cpu
say "$kernelc" check examples/softmax.kc --device cpu --set M=1000 --set N=1000
say "$kernelc" check examples/linear.kc --device cpu --set M=256 --set N=192 --set K=320
echo
echo "Made:"
printf '  %-34s%s\n' "build/$preset/tools/kernelc" "the program" \
  "build/$preset/lib/libkernelc.so" "the library of the C interface and the Python package" \
  build/demo/softmax.cu "CUDA C of examples/softmax.kc for sm_90a, $(wc -l <build/demo/softmax.cu) lines" \
  build/demo/linear.cu "CUDA C of examples/linear.kc for sm_90a, $(wc -l <build/demo/linear.cu) lines"
cat <<END

Type next:
  export PATH=\$PWD/build/$preset/tools:\$PATH
  kernelc check examples/softmax.kc --device emulator --set M=5 --set N=70   # that CUDA C, on the CPU
  kernelc explain examples/linear.kc --set M=4096 --set N=4096 --set K=4096  # its launches and schedules
  kernelc doctor                                                             # what this machine has
  export PYTHONPATH=\$PWD/python KERNELC_LIBRARY=\$PWD/build/$preset/lib/libkernelc.so
  /usr/bin/python3 -c "import kernelc; print(kernelc.__version__)"           # Debian's Python has NumPy
and read docs/tutorial.md: a kernel of your own in five steps.
END
