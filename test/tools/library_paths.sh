#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Where programs and libraries look for others is relative to them, never the current folder (an empty element, or a path that is relative).
# usage: library_paths.sh READELF FILE..
readelf=$1
shift
for file; do
  path=$("$readelf" -d "$file" | sed -n 's/.*(\(RPATH\|RUNPATH\)).*\[\(.*\)\].*/\2/p')
  [ -n "$path" ] || { echo "$file: no path"; exit 1; }
  case ":$path:" in
  *::* | *:[!/\$]*) echo "$file: '$path' has the current folder"; exit 1 ;;
  esac
  echo "$file: $path"
done
