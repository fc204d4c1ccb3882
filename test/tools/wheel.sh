#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds the wheel from a finished build, checks what it asks of a machine, installs it into an empty venv and
# uses it there, without NumPy and with it. 77 (a visible skip): no interpreter that makes a venv with pip, or scikit-build-core cannot be had.
# usage: wheel.sh SOURCE BUILD WORK
set -eu
source=$1 build=$2 work=$3
here=$source/test/tools
rm -rf "$work"
mkdir -p "$work"
for python in python3 /usr/bin/python3; do
  "$python" -m venv "$work/make" 2>/dev/null && break
done
[ -x "$work/make/bin/pip" ] || { echo "SKIP: no python3 that makes a venv"; exit 77; }
"$work/make/bin/pip" install -q --disable-pip-version-check scikit-build-core wheel pathspec ninja 2>"$work/log" ||
  { echo "SKIP: scikit-build-core cannot be installed: $(tail -1 "$work/log")"; exit 77; }
PATH=$work/make/bin:$PATH KERNELC_BUILD=$build "$work/make/bin/pip" wheel -q --disable-pip-version-check --no-build-isolation --no-deps \
  -C build-dir="$work/build" -w "$work" "$source"
"$work/make/bin/python" "$source/tools/wheel_check.py" "$work"/kernelc-*.whl --retag
ls "$work"/kernelc-*-py3-none-manylinux_*.whl
for python in ${WHEEL_PYTHONS:-"$work/make/bin/python"}; do
  rm -rf "$work/venv"
  "$python" -m venv "$work/venv"
  "$work/venv/bin/pip" install -q --disable-pip-version-check --no-index "$work"/kernelc-*.whl
  (cd "$work" && env -i HOME="$work" "$work/venv/bin/python" "$here/python_installed.py")
  if "$work/venv/bin/pip" install -q --disable-pip-version-check numpy 2>"$work/log"; then
    (cd "$work" && env -i HOME="$work" PATH="$PATH" "$work/venv/bin/python" "$here/python_user.py")
  else
    echo "SKIP: a new user's script, since NumPy cannot be installed: $(tail -1 "$work/log")"
  fi
done
