#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs what kernelc is built with, on Debian 12. Does nothing where all of it
# is there. NVRTC and the CUDA driver are opened at run time and are not needed.
set -euo pipefail
packages=(
  build-essential ccache cmake git ninja-build python3-dev python3-hypothesis
  python3-ipykernel python3-nbclient python3-numpy xz-utils
  clang-22 clang-format-22 libclang-rt-22-dev libmlir-22-dev lld-22 llvm-22-dev llvm-22-tools mlir-22-tools
  libabsl-dev libboost-context-dev libgmock-dev libgtest-dev nlohmann-json3-dev zlib1g-dev libzstd-dev
)
missing=()
for p in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'install ok installed' || missing+=("$p")
done
if [ ${#missing[@]} -gt 0 ]; then
  as_root=""
  [ "$(id -u)" = 0 ] || as_root=sudo
  $as_root apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi
