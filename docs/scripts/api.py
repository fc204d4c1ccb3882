#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/api/c.md from the comments of driver/capi/kernelc.h, and docs/api/python.md from the
docstrings of python/kernelc, without running either.

    python3 docs/scripts/api.py            writes them (so does `ninja docs`)
    python3 docs/scripts/api.py --check    says which are not current

Of the header, a comment in column 0 belongs to the declarations behind it, up to an empty line or
the next such comment. Of the package, `__all__` says what is public.
"""
import argparse
import ast
import inspect
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from pages import deliver, read  # noqa: E402
from wrap import ROOT, wrap  # noqa: E402

NOTE = "<!-- Generated from {} by docs/scripts/api.py; do not edit, run `ninja docs`. -->\n\n"
HEADER = "driver/capi/kernelc.h"
PACKAGE = "python/kernelc"


# ---- C ----

def prose(comment):
    """The sentences of a C comment, paragraph by paragraph."""
    lines = [re.sub(r"^( \*|   )? ?", "", line) for line in comment.strip()[2:-2].strip().split("\n")]
    return "\n".join(lines).strip()


def declared(code):
    """What a stretch of declarations is called: functions, types, else constants."""
    names = re.findall(r"\b(kc_\w+)\(", code) + re.findall(r"^\} (kc_\w+);", code, re.M)
    names += re.findall(r"^typedef (?:\w+ )+(kc_\w+);", code, re.M) + re.findall(r"^#define (KC_\w+)", code, re.M)
    names += re.findall(r"\benum \{ (KC_\w+)", code)
    return list(dict.fromkeys(names))


def entries(text):
    """(comment, declarations) of the header's body."""
    body = text[text.index("#define KC_ABI_VERSION"):text.rindex("#ifdef __cplusplus")]
    comment, code = "", []
    inside = False  # a comment of several lines
    for line in body.split("\n") + [""]:
        if inside or line.startswith("/*"):
            if not inside and (code or comment):
                yield comment, "\n".join(code)
                comment, code = "", []
            comment += line + "\n"
            inside = "*/" not in line
        elif line.strip() or (code and "".join(code).count("{") > "".join(code).count("}")):
            code.append(line)
        elif code or comment:
            yield comment, "\n".join(code)
            comment, code = "", []


def c_page():
    text = re.sub(r"^/\* SPDX-License-Identifier.*\n", "", read(os.path.join(ROOT, HEADER)))
    page = NOTE.format(HEADER) + "# C reference\n\n" + prose(text[:text.index("#ifndef")])
    page += ("\n\nThe header is `driver/capi/kernelc.h`, the library `libkernelc.so`. How to embed them, and what is true of"
             " arguments, streams and views: [embedding](../embedding.md).\n")
    for comment, code in entries(text):
        names = declared(code)
        if not names:
            sys.exit(f"{HEADER}: nothing is declared by\n{code}")
        title = ", ".join(f"`{n}`" for n in names[:3]) + (", .." if len(names) > 3 else "")
        code = re.sub(r"^KC_API ", "", code, flags=re.M)
        page += f"\n## {title}\n\n" + (prose(comment) + "\n\n" if comment else "") + f"```c\n{code}\n```\n"
    return wrap(page)


# ---- Python ----

def signature(node, method):
    arguments = ast.unparse(node.args)
    if method:
        arguments = re.sub(r"^self(, )?", "", arguments)
    return f"{node.name}({arguments})"


def documentation(node):
    found = ast.get_docstring(node, clean=False)
    return inspect.cleandoc(found) + "\n" if found else ""


def describe(name, node):
    """A class with its public methods, or a function."""
    if not isinstance(node, ast.ClassDef):
        return f"\n## `{signature(node, False)}`\n\n" + documentation(node)
    bases = ", ".join(b for b in map(ast.unparse, node.bases) if not b.startswith("_"))
    made = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
    text = f"\n## `{name}`\n\n" + (f"A `{bases}`.\n\n" if bases and bases != "object" else "") + documentation(node)
    if made and ast.get_docstring(made):
        text += f"\n### `{name}({signature(made, True).partition('(')[2]}`\n\n" + documentation(made)
    for method in node.body:
        if not isinstance(method, ast.FunctionDef) or method.name.startswith("_") and method.name != "__call__":
            continue
        if not ast.get_docstring(method):
            continue
        shown = signature(method, True)
        if method.name == "__call__":
            shown = "kernel" + shown[len("__call__"):]
        if any(ast.unparse(d) == "property" for d in method.decorator_list):
            shown = method.name
        text += f"\n### `{shown}`\n\n" + documentation(method)
    return text


def python_page():
    package = ast.parse(read(os.path.join(ROOT, f"{PACKAGE}/__init__.py")))
    public, origin = [], {}
    for node in package.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            public = ast.literal_eval(node.value)
        elif isinstance(node, ast.ImportFrom):
            origin.update({alias.asname or alias.name: (node.module, alias.name) for alias in node.names})
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            origin[node.name] = (None, node.name)
    page = NOTE.format(f"{PACKAGE}/*.py") + "# Python reference\n\n" + documentation(package)
    page += "\nWhat goes in and comes out, and on which stream: [the Python package](../python.md).\n"
    for name in public:
        if name not in origin:
            continue  # a value: its meaning stands in the package's description
        module, original = origin[name]
        tree = ast.parse(read(os.path.join(ROOT, f"{PACKAGE}/{module}.py"))) if module else package
        node = next((n for n in tree.body if getattr(n, "name", "") == original), None)
        if node is None:
            continue
        page += describe(name, node)
    return wrap(page)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    return deliver({"docs/api/c.md": c_page(), "docs/api/python.md": python_page()}, args.check)


if __name__ == "__main__":
    sys.exit(main())
