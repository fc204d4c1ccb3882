#!/bin/sh
# usage: exports.sh NM LIBRARY GOLDEN: the library exports exactly the golden list.
set -e
"$1" -D --defined-only --format=posix "$2" | cut -d' ' -f1 | LC_ALL=C sort | diff "$3" -
