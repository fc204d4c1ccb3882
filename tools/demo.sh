#!/usr/bin/env bash
# Sets the machine up, builds kernelc, and does its main job on data it makes:
# compiles a softmax and a matrix product to CUDA C, runs both on the CPU and
# checks them against f64. Needs no GPU. Leaves the CUDA C in build/demo/.
set -euo pipefail
cd "$(dirname "$0")/.."
bash tools/setup.sh
preset="${PRESET:-ci}"
cmake --preset "$preset" >/dev/null
cmake --build "build/$preset" --target kernelc
kernelc="build/$preset/tools/kernelc"
mkdir -p build/demo
for example in softmax linear; do
  "$kernelc" compile "examples/$example.kc" --arch sm_90a --emit cuda -o "build/demo/$example.cu"
  echo "wrote build/demo/$example.cu"
done
"$kernelc" check examples/softmax.kc --device cpu --set M=1000 --set N=1000
"$kernelc" check examples/linear.kc --device cpu --set M=256 --set N=192 --set K=320
