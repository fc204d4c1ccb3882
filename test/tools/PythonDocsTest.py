# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The examples of docs/python.md, each as a program of its own; those that import another framework where it is installed."""
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest

DOCS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "python.md")


class Examples(unittest.TestCase):
    def test_all(self):
        with open(DOCS, encoding="utf-8") as f:
            blocks = re.findall(r"```python\n(.*?)```", f.read(), re.S)
        self.assertGreater(len(blocks), 2)
        for block in blocks:
            if any(f" {name}" in block and importlib.util.find_spec(name) is None for name in ("torch", "jax", "ray")):
                continue
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "example.py")
                with open(path, "w") as f:
                    f.write(block)
                result = subprocess.run([sys.executable, "-W", "ignore", path], capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, block + result.stderr)


if __name__ == "__main__":
    unittest.main()
