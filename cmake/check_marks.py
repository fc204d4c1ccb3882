# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Refuses attributes that are set or read by name: an op's own attributes have accessors, and what a pass leaves for a later
one on an op of another dialect is a mark of the tables in ir/*/Marks.h (see ir/Mark.h). Also refuses a mark that the table of
its dialect does not list, and a mark, or a hint of a statement (ir/te/Hints.h), that nobody leaves or reads. cmake/marks.txt
names the exceptions, each with its reason (`*`: in all files).

    python3 cmake/check_marks.py ROOT          the check: status 1, and a line for each fault
    python3 cmake/check_marks.py ROOT --list   hints and marks: who leaves each, and who reads it
"""
import pathlib
import re
import sys

from check_thresholds import read_exceptions

LAYERS = ("ir", "frontend", "reference", "passes", "codegen", "driver", "tools")
BY_NAME = re.compile(r"(?:->|\.)((?:set|get|has|remove)(?:Discardable|Inherent)?Attr(?:OfType<[\w:]+>)?)\(\s*([^,()]*(?:\([^()]*\))?[^,()]*)")
MARK = re.compile(r"inline constexpr \w*Mark(?:<[\w:]+>)? (k\w+)\{")
USE = re.compile(r"\b(k[A-Z]\w*)\.(?:(put(?:All)?On|copy|removeFrom)|(isOn|isAllOn|find\w*On))\(")
HINT = re.compile(r"(?:UnitAttr|DefaultValued\w*<[^<>]*>):\$(\w+)")


def hints(root: pathlib.Path) -> list[str]:
    """What statements declare for passes: the hints of all of them, and what stands behind these in an op's arguments."""
    found = []
    for path in sorted((root / "ir" / "te").glob("*.td")):
        text = path.read_text()
        for part in re.findall(r"dag hints = \((.*?)\);", text, re.S) + re.findall(r", hints,\s*\(ins(.*?)\)\);", text, re.S):
            found += [name for name in HINT.findall(part) if name not in found]
    return found


def without_comments(text: str) -> str:
    """The same lines, without comments."""
    return re.sub(r'//[^\n]*|("(?:\\.|[^"\\\n])*")', lambda m: m[1] or "", text)


def sources(root: pathlib.Path):
    for layer in LAYERS:
        for path in sorted((root / layer).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                yield str(path.relative_to(root)), without_comments(path.read_text())


def main(root: pathlib.Path, lists: bool) -> int:
    exceptions = read_exceptions(root / "cmake" / "marks.txt")
    used, bad, texts = set(), [], dict(sources(root))
    for name, text in texts.items():
        if name.startswith("ir/Mark."):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            for call, what in BY_NAME.findall(line):
                used |= {(name, what), ("*", what)}
                if (name, what) not in exceptions and ("*", what) not in exceptions:
                    bad.append(f"{name}:{number}: {call}({what}..) names an attribute; an op's own have accessors, what is left for later "
                               "passes is a mark (ir/Mark.h), and cmake/marks.txt takes exceptions with their reason")
    count = 0
    # By file the marks that it leaves (True) or reads.
    uses = {f: {(mark, bool(left)) for mark, left, read in USE.findall(t)} for f, t in texts.items()}
    for name, text in texts.items():
        if not name.endswith("/Marks.h"):
            continue
        dialect, listed = name.split("/")[1], set(re.findall(r"&(k\w+)", text.split("kMarks[]", 1)[-1]))
        for mark in MARK.findall(text):
            count += 1
            outside = {f: u for f, u in uses.items() if not f.startswith(f"ir/{dialect}/Marks")}
            writers = sorted(f for f, u in outside.items() if any(m == mark and w for m, w in u))
            readers = sorted(f for f, u in outside.items() if any(m == mark and not w for m, w in u))
            if lists:
                print(f"{dialect} {mark}: left by {', '.join(writers) or 'nobody'}; read by {', '.join(readers) or 'nobody'}")
            if mark not in listed:
                bad.append(f"{name}: kMarks does not list {mark}, which is not verified then")
            if readers and writers:
                continue
            used.add((name, mark))
            if (name, mark) not in exceptions:
                bad.append(f"{name}: nobody {'leaves' if readers else 'reads'} {mark}")
    for hint in hints(root):
        count += 1
        name = "".join(word.capitalize() for word in hint.split("_"))
        outside = {f: t for f, t in texts.items() if not f.startswith("ir/te/")}
        writers = sorted(f for f, t in outside.items() if re.search(rf"\bset{name}\(", t))
        readers = sorted(f for f, t in outside.items() if re.search(rf"\b(?:get|has|is){name}(?:Dims)?\(", t))
        if lists:
            print(f"te {hint}: left by {', '.join(writers) or 'nobody'}; read by {', '.join(readers) or 'nobody'}")
        if not (readers and writers):
            bad.append(f"ir/te: nobody {'leaves' if readers else 'reads'} the hint {hint}")
    bad += [f"cmake/marks.txt:{line}: nothing in {name} is '{what}' any more" for (name, what), line in exceptions.items()
            if (name, what) not in used]
    print("\n".join(bad + [f"checked {len(texts)} files and {count} hints and marks, {len(exceptions)} exceptions, {len(bad)} faults"]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), "--list" in sys.argv[2:]))
