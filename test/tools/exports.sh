#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# usage: exports.sh NM LIBRARY GOLDEN: the library exports exactly the golden list.
set -e
"$1" -D --defined-only --format=posix "$2" | cut -d' ' -f1 | LC_ALL=C sort | diff "$3" -
