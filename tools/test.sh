#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Sets the machine up, builds, and runs every test that needs no GPU. Ends with
# CTest's summary. PRESET (default ci) picks the build.
set -euo pipefail
cd "$(dirname "$0")/.."
bash tools/setup.sh
preset="${PRESET:-ci}"
cmake --preset "$preset"
cmake --build "build/$preset"
ctest --test-dir "build/$preset" --output-on-failure -j "$(nproc)"
