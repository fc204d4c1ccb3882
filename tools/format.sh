#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Lays every C++ source out as .clang-format says; with --check, names those that are not.
set -euo pipefail
cd "$(dirname "$0")/.."
how=(-i)
[ "${1:-}" != --check ] || how=(--dry-run -Werror)
git ls-files '*.cpp' '*.h' '*.c' | xargs -P "$(nproc)" -n 32 clang-format-22 "${how[@]}"
