#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lists the longest functions and files, longest first.

    python3 tools/sizes.py [--functions 60] [--files 500] [FOLDER ..]

Of the C++ sources (all folders but test and bench, unless some are named), each function of more lines than that, as
LINES FILE:LINE NAME, and each file. A function's lines are those from the one with its name to its last brace; lambdas count with
the function that has them.
"""
import argparse
import pathlib
import re

FOLDERS = ("codegen", "driver", "emulator", "frontend", "ir", "passes", "python", "reference", "runtime", "support", "tools")
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b(?![^{;]*\))")
NAME = re.compile(r"((?:\w+(?:<[^<>]*>)?::)*~?(?:operator\s*\S+?|\w+))\s*\($")


def without_text(text: str) -> str:
    """The same lines, without comments, strings, characters and directives of the preprocessor."""
    def blank(m):
        return "\n" * m[0].count("\n") if m[0].startswith(("/", "#")) else '""' + "\n" * m[0].count("\n")
    pattern = r'R"(\w*)\((?:.|\n)*?\)\1"|//[^\n]*|/\*(?:.|\n)*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*'
    return re.sub(pattern, blank, text, flags=re.M)


def name_of(head: str) -> str:
    """The name before the first bracket of parameters at the top level of `head`."""
    depth = 0
    for at, c in enumerate(head):
        depth += c in "<[" if c != "(" else 0
        depth -= c in ">]" and depth > 0
        if c == "(" and (m := NAME.search(head[:at + 1])) and m[1] not in ("decltype", "alignas", "requires", "__attribute__"):
            return m[1]
    return "?"


def functions_of(text: str):
    """(lines, first line, name) of each function that stands in no other one."""
    text, stack, start, line, since = without_text(text), [], None, 1, 0
    for at, c in enumerate(text):
        if c == "\n":
            line += 1
        elif c == ";" and start is None:
            since = at + 1
        elif c == "{":
            head = text[since:at]
            opens = start is None and "(" in head and not SCOPE.search(head.rsplit(")", 1)[-1] if ")" in head else head) and \
                not re.match(r"\s*(?:template\s*<[^{}]*>\s*)?(?:class|struct|union|enum|namespace)\b[^()]*$", head)
            stack.append(opens)
            if opens:
                lead = len(head) - len(head.lstrip())
                start = (line - head[lead:].count("\n"), name_of(head.strip()), len(stack))
            if start is None:
                since = at + 1
        elif c == "}" and stack:
            stack.pop()
            if start and len(stack) < start[2]:
                yield line - start[0] + 1, start[0], start[1]
                start = None
            if start is None:
                since = at + 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--functions", type=int, default=60, metavar="LINES")
    parser.add_argument("--files", type=int, default=500, metavar="LINES")
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    args = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    functions, files, count = [], [], 0
    for folder in args.folders or FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".cpp", ".h"):
                continue
            text, name = path.read_text(), path.relative_to(root)
            if (lines := text.count("\n")) > args.files:
                files.append((lines, str(name)))
            for size, first, function in functions_of(text):
                count += 1
                if size > args.functions:
                    functions.append((size, f"{name}:{first}", function))
    for size, place, function in sorted(functions, key=lambda f: (-f[0], f[1])):
        print(f"{size:5} {place} {function}")
    print(f"{len(functions)} of {count} functions have more than {args.functions} lines")
    for size, name in sorted(files, key=lambda f: (-f[0], f[1])):
        print(f"{size:5} {name}")
    print(f"{len(files)} files have more than {args.files} lines")


if __name__ == "__main__":
    main()
