#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the corpus of illegal programs: one file a mistake, its message in NAME.txt beside NAME.kc.

  messages.py                  compares every message with its text; exit status 1 if one differs
  messages.py --update         writes the texts
  messages.py --table [OLD]    a graded table in Markdown, of OLD (another kernelc) beside this one

Comment lines at the head of a file say what it is about:

  # mistake: in a few words
  # args: compile FILE --arch sm_90    the command (default: compile FILE); JSON is NAME.json
  # fix: REGEX                         what a message that helps says
  # not: REGEX                         what it must not say
  # place: REGEX                       where it points, for what is not in the text

A comment line of blanks and one or more of '^~~' marks the place in the line above it. A grade has a point for each of two things:
the first message points to the place; the messages say what fixes it. One that says what must not be said has none.
"""
import argparse
import difflib
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


class Mistake:
    def __init__(self, path):
        self.path = path
        self.lines = path.read_text().split("\n")
        self.head = dict(m.groups() for m in (re.match(r"# (mistake|args|fix|not|place): (.*)", l) for l in self.lines) if m)

    def run(self, kernelc):
        names = {"FILE": self.path.name, "JSON": self.path.with_suffix(".json").name}
        args = [names.get(a, a) for a in self.head.get("args", "compile FILE").split()]
        done = subprocess.run([kernelc, *args], cwd=HERE, capture_output=True, text=True, timeout=60)
        if done.returncode not in (1, 2) or done.stdout:
            return f"<exit status {done.returncode}>\n{done.stderr}"
        return done.stderr

    def points(self, message):
        """Whether the first message stands where a mark is."""
        if "place" in self.head:
            return re.search(self.head["place"], message) is not None
        m = re.match(re.escape(self.path.name) + r":(\d+):(\d+): ", message)
        if not m:
            return False
        line, column = int(m[1]), int(m[2])
        source = self.lines[line - 1].encode()
        column = len(source[: column - 1].decode(errors="replace")) + 1
        mark = self.lines[line] if line < len(self.lines) else ""
        if not re.fullmatch(r"#[ ^~]+", mark):
            return False
        return any(s.start() < column <= s.end() for s in re.finditer(r"[\^~]+", mark))

    def grade(self, message):
        if "not" in self.head and re.search(self.head["not"], message):
            return 0
        # What fixes it must be said, not quoted from the text.
        said = "\n".join(l for l in message.split("\n") if not l.startswith("  "))
        return int(self.points(message)) + int(re.search(self.head["fix"], said) is not None)


WIDTH = 160  # of a table's row


def first_line(message, most):
    """As a table has it: without the file's name and what stands behind the first `most` characters."""
    line = message.split("\n")[0]
    line = re.sub(r"^\S*?(\.json)?:(\d+:\d+): (error: )?", lambda p: f"{p[1] or ''} {p[2]} ".lstrip(), line)
    line = line.replace("|", "\\|")
    return line if len(line) <= most else line[: most - 1].rstrip("\\") + "…"


def table(mistakes, kernelcs):
    """With two, the message of the second; the first one's are what its grades say."""
    out = ["| mistake | " + ("before | after | message now |" if len(kernelcs) > 1 else "grade | message |")]
    out.append("|---" + "|--:" * len(kernelcs) + "|---|")
    totals = [[0, 0, 0] for _ in kernelcs]
    for m in mistakes:
        row = [m.head["mistake"].replace("|", "\\|")]
        for k, total in zip(kernelcs, totals):
            message = m.run(k)
            grade = m.grade(message)
            total[grade] += 1
            row.append(str(grade))
        left = "| " + " | ".join(row) + " | "
        out.append(left + first_line(message, WIDTH - len(left) - 2) + " |")
    for k, total in zip(kernelcs, totals):
        print(f"{k}: {total[2]} of {len(mistakes)} have grade 2, {total[1]} grade 1, {total[0]} grade 0", file=sys.stderr)
    print("\n".join(out))


def absolute(kernelc):
    """Mistakes run in this folder: a path is taken from where the command was given."""
    return str(pathlib.Path(kernelc).absolute()) if "/" in kernelc else kernelc


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kernelc", default="kernelc")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--table", nargs="?", const="", metavar="OLD")
    parser.add_argument("names", nargs="*", help="only these")
    options = parser.parse_args()
    options.kernelc, options.table = absolute(options.kernelc), options.table and absolute(options.table)
    mistakes = [Mistake(p) for p in sorted(HERE.glob("*.kc")) if not options.names or p.stem in options.names]
    if options.table is not None:
        return table(mistakes, [k for k in (options.table, options.kernelc) if k])
    failed = 0
    for m in mistakes:
        message, golden = m.run(options.kernelc), m.path.with_suffix(".txt")
        if options.update:
            golden.write_text(message)
            continue
        expected = golden.read_text() if golden.exists() else ""
        if message != expected:
            failed += 1
            sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), message.splitlines(True), golden.name, m.path.name))
        if m.grade(message) < 2:
            failed += 1
            print(f"{m.path.name}: grade {m.grade(message)}: the message does not point to the place or does not say what fixes it")
    if failed:
        sys.exit(f"{failed} messages of {len(mistakes)} are not as expected (messages.py --update writes them)")
    if not options.update:
        print(f"{len(mistakes)} messages as expected")


if __name__ == "__main__":
    main()
