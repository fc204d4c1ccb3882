"""The oracle against hand-computed values, and the compiler against the oracle.

    python3 test/oracle/test_oracle.py                                     as in CI
    python3 test/oracle/test_oracle.py --count 5000 --seed 7               more programs
    python3 test/oracle/test_oracle.py --kinds inouts,covers --device emulator --target sm_90a

A failure is shrunk and printed: the program, its inputs, and the line that draws it again."""
import argparse
import os
import sys
import unittest

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from oracle.compare import agrees  # noqa: E402
from oracle.draw.programs import KINDS, cases  # noqa: E402
from oracle.interval import ANY, Interval  # noqa: E402
from oracle.kernel import run  # noqa: E402
from oracle.run import Tally, check  # noqa: E402
from oracle.table import NONE, ROWS  # noqa: E402
from oracle.element_types import KcError  # noqa: E402

CPU_PROGRAMS, EMULATED_PROGRAMS = 560, 28
TARGETS = ("sm_80", "sm_90a")


def tight(value):
    """Whether `value` is known, up to a few units in the last place of f32."""
    return value is not None and value is not ANY and (type(value) is not Interval or value.hi - value.lo < 1e-4 * max(1, abs(value.lo)))


class ByHand(unittest.TestCase):
    def test_rows(self):
        for what, signature, body, arguments, wanted, *more in ROWS:
            with self.subTest(what):
                sizes, functions = more + [{}, ""][len(more):]
                got = run(f"{functions}\ndef f({signature}) {{ {body} }}", arguments, sizes)
                for name, values in wanted.items():
                    self.assertEqual(len(values), len(got[name].data))
                    for a, b in zip(got[name].data, values):
                        self.assertTrue(agrees(a, b) and tight(a), f"{name}: {got[name].data}, not {values}")

    def test_programs_that_are_none(self):
        for message, signature, body, arguments in NONE:
            with self.subTest(body), self.assertRaisesRegex(KcError, message):
                run(f"def f({signature}) {{ {body} }}", arguments)


def compare(device, target, kinds, count, number, shrink, tally):
    """Draws `count` programs of each of `kinds` and compares; `number` is the seed."""
    phases = [Phase.generate, Phase.shrink] if shrink else [Phase.generate]
    for kind in kinds:
        done = [0]

        @seed(number)
        @settings(max_examples=3 * count, database=None, deadline=None, phases=phases, suppress_health_check=list(HealthCheck), verbosity=Verbosity.quiet,
                  print_blob=False, report_multiple_bugs=False)
        @given(cases((kind,)))
        def agree(case):
            if tally.failed or done[0] < count and tally.is_new(case):
                done[0] += 1
                check(case, device, target, tally)
        try:
            agree()
        except Exception as e:
            e.add_note(f"again: python3 test/oracle/test_oracle.py --device {device} --target {target} --kinds {kind} --count {count} --seed {number}")
            raise


class Compared(unittest.TestCase):
    """Fixed seeds, a fixed number of programs of each kind."""

    def compared(self, device, target, count, number):
        tally = Tally()
        compare(device, target, KINDS, count, number, True, tally)
        print(f"{device} {target}: {tally}", file=sys.stderr)
        self.assertGreater(tally.compared, 3 * tally.refused, tally.words)
        self.assertGreater(tally.elements, 8 * tally.open)

    def test_cpu(self):
        self.compared("cpu", "sm_80", CPU_PROGRAMS // len(KINDS), 1)

    def test_emulator(self):
        for number, target in enumerate(TARGETS):
            self.compared("emulator", target, EMULATED_PROGRAMS // len(KINDS) // len(TARGETS), number)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, help="programs of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu", choices=("cpu", "emulator"))
    parser.add_argument("--target", default="sm_80")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--no-shrink", action="store_true")
    a, rest = parser.parse_known_args()
    if a.count is None:
        unittest.main(argv=[sys.argv[0], *rest])
    tally = Tally()
    compare(a.device, a.target, a.kinds.split(","), a.count, a.seed, not a.no_shrink, tally)
    print(tally)
    for words, case in tally.words.items():
        print("refused:", words)


if __name__ == "__main__":
    main()
