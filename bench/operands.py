#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the register operands of warpgroups' products come from, in compiled code.

    python3 bench/operands.py FILE.cubin..    # needs nvdisasm: $NVDISASM, or on PATH (PyPI: nvidia-cuda-nvdisasm)
    python3 bench/operands.py --self-test

ptxas up to 13.0 may give an operand A that a loop keeps the registers of one that the loop makes (docs/lab/2026-11-26-right-first-4.md).
Then instructions of two kinds (LDSM before the loop, F2FP in it) reach the product, which is what this prints. Exit status 1 where it does.
"""
import os
import re
import subprocess
import sys

INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]+)\*/\s+(?:@(!?U?P\w+)\s+)?(\S+)\s*(.*?)\s*;")
LABEL = re.compile(r"\s*(\.L_x_\d+):")
# Whose first operand is no vector register that they write.
NO_RESULT = ("ST", "BRA", "SYNCS", "UTMA", "BAR", "WARPGROUP", "BSSY", "BSYNC", "RED", "ISETP", "FSETP", "R2UR", "PLOP", "VOTEU")
PLANTED = """
        /*0000*/                   LDSM.16.M88.4 R152, [R18] ;
.L_x_1:
        /*0010*/                   HGMMA.64x128x16.F32.BF16 R24, R152, gdesc[UR16], RZ, !UPT ;
        /*0020*/                   F2FP.BF16.F32.PACK_AB R152, R25, R24 ;
        /*0030*/               @P0 BRA `(.L_x_1) ;
        /*0040*/                   EXIT ;
"""


def width(op):
    """How many registers it writes, from its first operand on."""
    if product := re.match(r"[HQI]GMMA\.64x(\d+)", op):
        return int(product[1]) // 2
    if op.startswith("LDSM"):
        return 4 if ".4" in op else 2 if ".2" in op else 1
    if op.startswith("LD"):
        return 4 if "128" in op else 2 if ".64" in op else 1
    if op.startswith("CS2R"):
        return 1 if ".32" in op else 2
    return 4 if op.startswith("HMMA") else 2 if "WIDE" in op else 1


class Function:
    """The instructions of one section of nvdisasm's text, what each may go on to, and what it writes."""

    def __init__(self, text):
        self.code, labels = [], {}
        for line in text.split("\n"):
            if label := LABEL.match(line):
                labels[label[1]] = len(self.code)
            elif found := INSTRUCTION.match(line):
                self.code.append(found.groups())
        self.before = [[] for _ in self.code]
        for n, (_, guard, op, operands) in enumerate(self.code):
            target = re.search(r"`\((\.L_x_\d+)\)", operands) if op.startswith("BRA") else None
            if target:
                self.before[labels[target[1]]].append(n)
            ends = op.startswith(("BRA", "EXIT", "RET")) and not guard and not (target and "," in operands)
            if not ends and n + 1 < len(self.code):
                self.before[n + 1].append(n)
        self.written = [self.results(op, operands) for _, _, op, operands in self.code]

    @staticmethod
    def results(op, operands):
        names = [name.strip() for name in operands.split(",")]
        if op.startswith("SHFL"):
            names = names[1:]  # behind its predicate
        first = re.fullmatch(r"R(\d+)", names[0]) if names and not op.startswith(NO_RESULT) else None
        return range(int(first[1]), int(first[1]) + width(op)) if first else range(0)

    def writers(self, at, register):
        """The instructions whose value the register may hold before that at `at`."""
        seen, found, work = set(), [], list(self.before[at])
        while work:
            n = work.pop()
            if n in seen:
                continue
            seen.add(n)
            if register in self.written[n]:
                found.append(n)
                if not self.code[n][1]:
                    continue
            work += self.before[n]
        return found

    def mixed(self):
        """(address, register, writers) of operands that instructions of more than one kind reach."""
        for n, (address, _, op, operands) in enumerate(self.code):
            operand = re.fullmatch(r"R(\d+)", operands.split(",")[1].strip()) if "GMMA" in op else None
            for register in range(int(operand[1]), int(operand[1]) + 4) if operand else ():
                writers = [self.code[w] for w in self.writers(n, register)]
                if len({w[2].split(".")[0] for w in writers}) > 1:
                    yield address, register, sorted(f"{w[2]} at {w[0]}" for w in writers)


def check(name, text):
    faults = [fault for part in re.split(r"\n(?=\s*\.section\s+\.text)", text) for fault in Function(part).mixed()]
    for address, register, writers in faults[:3]:
        print(f"{name}: the product at {address} takes R{register} from {' and '.join(writers)}")
    print(f"{name}: {len(faults)} registers of operands from instructions of several kinds")
    return bool(faults)


def main():
    if sys.argv[1:] == ["--self-test"]:
        right = PLANTED.replace("PACK_AB R152", "PACK_AB R156")
        return 0 if check("planted", PLANTED) and not check("right", right) else 1
    if not sys.argv[1:]:
        print(__doc__, file=sys.stderr)
        return 2
    disassembler = os.environ.get("NVDISASM", "nvdisasm")
    texts = [(f, subprocess.run([disassembler, "-c", f], check=True, capture_output=True, text=True).stdout) for f in sys.argv[1:]]
    return 1 if any([check(f, text) for f, text in texts]) else 0


if __name__ == "__main__":
    sys.exit(main())
