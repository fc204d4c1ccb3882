# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: header-launch.sh WORK EXAMPLES
set -e
if kernelc --version | grep -q 'no NVRTC' || [ ! -f /usr/local/cuda/include/cuda.h ]; then
  echo "no NVRTC or no cuda.h: skipped"
  exit 0
fi
here=$(dirname "$0")
kernelc compile "$2/linear.kc" --arch sm_90a -o "$1/dense.h"
echo 'def copy(double: f32[M, N]) -> (int: f32[M, N]) { int[i, j] = double[i, j] }' > "$1/copy.kc"
kernelc compile "$1/copy.kc" --variant general -o "$1/strided.h"
kernelc compile "$here/large.kc" --kernel rows --set M=65536 --set N=65536 --arch sm_90a -o "$1/rows.h"
kernelc compile "$here/large.kc" --kernel square --set M=32768 --set K=16 --arch sm_90a -o "$1/square.h"
kernelc compile "$here/large.kc" --kernel rows --variant general --arch sm_80 -o "$1/open.h"
sed -i 's/kc_rows/kc_open/g' "$1/open.h" # beside the other one
clang-22 -std=c11 -Wall -Wextra -Werror -Wno-unused-function -I/usr/local/cuda/include -I"$1" "$here/header-launch.c" -o "$1/launch"
"$1/launch"
