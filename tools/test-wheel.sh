#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A wheel in a bare Debian, where nothing of the build is: debootstrap, its own Python, the wheel, test/tools/python_installed.py.
# usage: test-wheel.sh WHEEL [SUITE: bookworm, trixie, ..] [FOLDER: kept, and used again]
set -euo pipefail
wheel=$1 suite=${2:-trixie} root=${3:-}
here=$(cd "$(dirname "$0")/.." && pwd)
if [ -z "$root" ]; then
  root=$(mktemp -d)
  trap 'rm -rf "$root"' EXIT
fi
command -v debootstrap >/dev/null || apt-get install -y -qq debootstrap
[ -x "$root/usr/bin/python3" ] || debootstrap --variant=minbase --include=python3,python3-venv "$suite" "$root" >/dev/null
cp "$wheel" "$here/test/tools/python_installed.py" "$root/root/"
# The loader finds $ORIGIN through /proc.
unshare -m bash -ec 'mount -t proc proc "$0/proc" && exec chroot "$0" /bin/bash -ec "$1"' "$root" '
  cd /root
  rm -rf venv
  python3 -m venv venv
  venv/bin/pip install -q --no-index '"$(basename "$wheel")"'
  venv/bin/python python_installed.py
  ldd --version | head -1'
