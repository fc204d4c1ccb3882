# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Refuses numbers that decide outside the planner: a comparison with a literal above 1, and a constant, an enumerator or
an option's default above 1 that may stand for one, in passes/ outside passes/plan; in passes/plan constants, which belong
in support/TargetCosts.h. cmake/thresholds.txt names the exceptions, each with its reason.

    python3 cmake/check_thresholds.py ROOT

Exit status 1 and one line for each number that is not there, and for each exception that nothing needs any more.
"""
import pathlib
import re
import sys

NUMBER = r"(?:0x[\da-fA-F.p+-]+|\d[\d.']*(?:e-?\d+)?)"
# size() < 3, bits >= 32: what is compared, to its last name or bracket.
COMPARED = re.compile(rf"((?:[\w.:]|->|\([^()]*\)|\[[^\[\]]*\])+)\s*(<=|>=|<|>)\s*({NUMBER})(?![\w.:]|\s*>)")
TURNED = re.compile(rf"(?:[(&|!,=?]|return)\s*({NUMBER})\s*(<=|>=|<)\s*([\w.]+)")
# constexpr int64_t kLeast = 64, kMost = 256;  enum { Few = 4 };
CONSTANT = re.compile(r"\b(k[A-Z]\w*)(?:\[\])?\s*(?:=|\{)\s*([^;,{}]*)")
DEFAULT = re.compile(r'Option<"(\w+)",\s*"[\w-]+",\s*"(?:u?int\w*|unsigned|double|float|size_t)",\s*"([^"]*)"')


def value_of(text: str) -> float:
    try:
        return abs(float(int(text.replace("'", ""), 0)))
    except ValueError:
        return abs(float.fromhex(text)) if text.startswith("0x") else abs(float(text.rstrip(".")))


def is_large(text: str) -> bool:
    return any(value_of(n) > 1 for n in re.findall(rf"(?<![\w.]){NUMBER}", text))


def without_comments(text: str) -> str:
    """The same lines, without comments and the insides of strings."""
    return re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"', lambda m: '""' if m[0][0] == '"' else "", text)


def numbers_of(path: pathlib.Path, in_plan: bool):
    """(line, the words that an exception is written with) of a file."""
    text = path.read_text()
    if path.suffix == ".td":
        for number, line in enumerate(text.splitlines(), 1):
            for name, default in DEFAULT.findall(line):
                if is_large(default):
                    yield number, name
        return
    for number, line in enumerate(without_comments(text).splitlines(), 1):
        if re.search(r"\b(constexpr|const|enum)\b", line) or re.match(r"\s*k[A-Z]\w*\s*=", line):
            for name, given in CONSTANT.findall(line):
                if is_large(given):
                    yield number, name
        if in_plan:
            continue
        for what, sign, literal in COMPARED.findall(line):
            if value_of(literal) > 1:
                yield number, f"{what} {sign} {literal}"
        for literal, sign, what in TURNED.findall(line):
            if value_of(literal) > 1:
                yield number, f"{literal} {sign} {what}"


def read_exceptions(path: pathlib.Path) -> dict[tuple[str, str], int]:
    """By file and number the line of an exception: FILE: WHAT: reason."""
    found = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = line.split(": ", 2)
        if len(parts) < 3 or not parts[2].strip():
            sys.exit(f"{path}:{number}: an exception is FILE: WHAT: reason")
        found[parts[0], parts[1]] = number
    return found


def main(root: pathlib.Path) -> int:
    exceptions = read_exceptions(root / "cmake" / "thresholds.txt")
    used, bad, count = set(), [], 0
    for path in sorted((root / "passes").rglob("*")):
        if path.suffix not in (".h", ".cpp", ".td"):
            continue
        name = str(path.relative_to(root))
        for line, what in numbers_of(path, name.startswith("passes/plan/")):
            count += 1
            used.add((name, what))
            if (name, what) not in exceptions:
                bad.append(f"{name}:{line}: '{what}' decides here; numbers that decide speed belong in support/TargetCosts.h, "
                           "others in cmake/thresholds.txt with their reason")
    bad += [f"cmake/thresholds.txt:{line}: nothing in {name} is '{what}' any more" for (name, what), line in exceptions.items()
            if (name, what) not in used]
    print("\n".join(bad + [f"checked {count} numbers, {len(exceptions)} exceptions, {len(bad)} faults"]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
