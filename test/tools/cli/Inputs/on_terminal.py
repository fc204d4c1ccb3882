# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command whose standard error is a terminal, and prints what it wrote there with escapes spelled out."""
import os
import pty
import subprocess
import sys

master, slave = pty.openpty()
child = subprocess.Popen(sys.argv[1:], stderr=slave)
os.close(slave)
text = b""
try:
    while part := os.read(master, 4096):
        text += part
except OSError:  # the other end is closed
    pass
child.wait()
print(text.decode().replace("\r\n", "\n").replace("\x1b", "ESC"), end="")
