# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: header.sh WORK FILE.kc
set -e
if kernelc --version | grep -q 'no NVRTC'; then
  echo "no NVRTC: skipped"
  exit 0
fi
kernelc compile "$2" -o "$1/k.h"
grep -q '_launch(' "$1/k.h"
kernelc compile "$2" -o "$1/k.ptx" && grep -q '.visible .entry' "$1/k.ptx"
kernelc compile "$2" -o "$1/k.cubin" && head -c 4 "$1/k.cubin" | grep -q ELF
if [ -f /usr/local/cuda/include/cuda.h ]; then
  printf '#include "k.h"\n' > "$1/k.c"
  cp "$1/k.c" "$1/k.cpp"
  clang-22 -std=c11 -Wall -Wextra -Werror -Wno-unused-function -I/usr/local/cuda/include -fsyntax-only "$1/k.c"
  clang++-22 -std=c++17 -Wall -Wextra -Werror -Wno-unused-function -I/usr/local/cuda/include -fsyntax-only "$1/k.cpp"
fi
