# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m kernelc ..` and the `kernelc` command of the wheel: the command line (docs/cli.md)."""
import os
import sys

from ._library import tool_path


def main():
    path = tool_path()
    os.execv(path, ["kernelc", *sys.argv[1:]])


if __name__ == "__main__":
    main()
