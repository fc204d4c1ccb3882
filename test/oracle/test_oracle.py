# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The oracle against hand-computed values, and the compiler against the oracle.

    python3 test/oracle/test_oracle.py                                     as in CI
    python3 test/oracle/test_oracle.py --count 5000 --seed 7               more programs
    python3 test/oracle/test_oracle.py --kinds inouts,covers --device emulator --target sm_90a

A failure is shrunk and printed: the program, its inputs, and the line that draws it again."""
import argparse
import json
import math
import os
import random
import struct
import sys
import unittest

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from oracle.compare import agrees  # noqa: E402
from oracle.draw.case import Case  # noqa: E402
from oracle.draw.programs import KINDS, LARGE, cases  # noqa: E402
from oracle.faults import FAULTS, MENDS  # noqa: E402
from oracle.interval import ANY, Interval  # noqa: E402
from oracle.kernel import run  # noqa: E402
from oracle.run import Disagreement, Tally, check  # noqa: E402
from oracle.table import NONE, ROWS  # noqa: E402
from oracle.element_types import KcError  # noqa: E402

CPU_PROGRAMS, EMULATED_PROGRAMS, LARGE_PROGRAMS = 40, 4, 7  # of each kind
WEIGHTS = {"inouts": 2, "arguments": 2, "reduced": 2}  # times as many
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


class Planted(unittest.TestCase):
    """What plant.py changes stands in the sources as it is quoted."""

    def test_texts(self):
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
        for fault in FAULTS + MENDS:
            for name, old, _ in fault.edits:
                file = os.path.join(root, name)
                if os.path.exists(file):  # (the prelude's text is made by the build)
                    self.assertEqual(open(file).read().count(old), 1, f"{fault.name}: {name}")


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


class Recurrences(unittest.TestCase):
    """Steps h -> a h + b may be composed in any grouping; nothing else may be off."""

    def composed(self, steps, middle):
        """What the last of `steps` comes to where those from `middle` on are composed, from the right, before the rest is there."""
        h, (scale, shift) = 0.0, steps[-1]
        for a, b in steps[:middle]:
            h = f32(f32(a * h) + b)
        for a, b in reversed(steps[middle:-1]):
            scale, shift = f32(scale * a), f32(f32(scale * b) + shift)
        return f32(f32(scale * h) + shift)

    def expected(self, steps, kind="f32"):
        a, b = ([len(steps)], [s[0] for s in steps]), ([len(steps)], [s[1] for s in steps])
        return run(f"def f(a: {kind}[N], b: {kind}[N]) -> (y: {kind}[N]) {{ y[t] = a[t] * y.pad(0)[t - 1] + b[t] }}", {"a": a, "b": b})["y"].data[-1]

    def test_any_grouping(self):
        differ = 0
        for number in range(200):
            draw = random.Random(number)
            steps = [(f32(draw.uniform(-1.5, 1.5)), f32(draw.uniform(-1, 1))) for _ in range(draw.randint(2, 12))]
            value, results = self.expected(steps), {self.composed(steps, m) for m in range(len(steps))}
            self.assertTrue(all(agrees(value, r) for r in results) and tight(value), f"{steps}: {results}, not {value}")
            self.assertFalse(any(agrees(value, r + d) for r in results for d in (1e-3, -1e-3)))
            differ += len(results) > 1
        self.assertGreater(differ, 20)

    def test_infinities(self):
        self.assertIs(self.expected([(1e30, 0.0)] * 3), ANY)  # 1e60 * 0
        self.assertIs(self.expected([(1.0, math.inf), (0.5, 1.0)]), ANY)
        self.assertTrue(math.isnan(self.expected([(1.0, math.nan), (0.5, 1.0)])))

    def test_types_that_go_step_by_step(self):
        self.assertEqual(self.expected([(0.5, 1.0), (0.3330078125, 0.10009765625)], "f16"), 0.43310546875)


class Exponentials(unittest.TestCase):
    def test_beside_what_is_taken_away(self):
        """exp(s - m) may be off by half a unit in the last place of s, in proportion, and by little more."""
        text, arguments = "def f(s: f32[N], m: f32[]) -> (y: f32[N]) { y[i] = exp(s[i] - m[]) }", {"s": ([3], [2000.0, 1999.0, -math.inf]), "m": ([], [2000.0])}
        one, less, nothing = run(text, arguments, {})["y"].data
        for value, exact in (one, 1.0), (less, math.exp(-1)):
            off = 2000 * 2.0 ** -24 * exact
            self.assertTrue(value.lo <= exact - off and exact + off <= value.hi, value)
            self.assertLess(value.hi - value.lo, 2.2 * off)
        self.assertEqual(nothing, 0)


def compare(device, target, kinds, count, number, shrink, tally, record=None):
    """Draws `count` programs of each of `kinds` and compares; `number` is the seed. `record` is told of every program,
    with the failure or None; without it the first failure is raised."""
    phases = [Phase.generate, Phase.shrink] if shrink else [Phase.generate]
    for kind in kinds:
        done = [0]

        @seed(number)
        @settings(max_examples=3 * count * WEIGHTS.get(kind, 1), database=None, deadline=None, phases=phases, suppress_health_check=list(HealthCheck), verbosity=Verbosity.quiet,
                  print_blob=False, report_multiple_bugs=False)
        @given(cases((kind,)))
        def agree(case):
            if done[0] >= count * WEIGHTS.get(kind, 1) and not tally.failed:
                raise unittest.SkipTest  # ends the run: Hypothesis would draw up to twice as many more
            if not tally.is_new(case):
                return
            done[0] += 1
            try:
                check(case, device, target, tally)
            except Disagreement as e:
                if not record:
                    raise
                tally.failed = False
                record(kind, e)
            except Exception:
                tally.failed = True
                raise
            else:
                if record:
                    record(kind, None)
        try:
            agree()
        except unittest.SkipTest:
            pass
        except Disagreement as e:
            e.add_note(f"again, and shrunk: python3 test/oracle/test_oracle.py --device {device} --target {target} --kinds {kind} --count {count} --seed {number}")
            raise


def plan(device):
    """What CI draws: (target, kinds, programs of each kind, seed)."""
    if device == "cpu":
        return [("sm_80", list(KINDS), CPU_PROGRAMS, 1)]
    return [(target, kinds, count, number) for number, target in enumerate(TARGETS)
            for kinds, count in ((list(KINDS), EMULATED_PROGRAMS), (list(LARGE), LARGE_PROGRAMS))]


class Compared(unittest.TestCase):
    """The programs of the table; then fixed seeds, a fixed number of programs of each kind."""

    def rows(self, device, tally):
        for what, signature, body, arguments, _, *more in ROWS:
            sizes, functions = more + [{}, ""][len(more):]
            text = f"{functions}\ndef f({signature}) {{ {body} }}"
            shapes = {name: tensor.shape for name, tensor in run(text, arguments, sizes).items()}
            with self.subTest(what):
                check(Case(text, arguments, shapes, sizes), device, TARGETS[-1], tally)

    def compared(self, device):
        tally = Tally()
        self.rows(device, tally)
        for target, kinds, count, number in plan(device):
            compare(device, target, kinds, count, number, True, tally)
        print(f"{device}: {tally}", file=sys.stderr)
        self.assertGreater(tally.elements, 8 * tally.open)

    def test_cpu(self):
        self.compared("cpu")

    def test_emulator(self):
        self.compared("emulator")


class Recorder:
    """Prints [number, kind and message] of each program that fails, until one does that is not in `known`."""

    def __init__(self, known):
        self.known, self.number = known, 0

    def __call__(self, kind, failure):
        self.number += 1
        if failure is not None:
            print(json.dumps([self.number, f"{kind}: {str(failure).splitlines()[1 if len(str(failure).splitlines()) > 1 else 0].strip()}"]), flush=True)
            if self.known is not None and self.number not in self.known:
                sys.stdout.flush()
                os._exit(0)  # Hypothesis would draw all that is left


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, help="programs of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu", choices=("cpu", "emulator"))
    parser.add_argument("--target", default="sm_80")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--case", help="a file with a Case, as a failure prints it; - is the standard input")
    parser.add_argument("--record", action="store_true", help="as in CI, but prints all failures, for plant.py")
    parser.add_argument("--known", help="with --record: ends at the first failure beside these")
    a, rest = parser.parse_known_args()
    if a.case:
        check(eval(sys.stdin.read() if a.case == "-" else open(a.case).read(), {"Case": Case, "inf": math.inf, "nan": math.nan}), a.device, a.target, Tally())
        return print("agrees")
    if a.record:
        recorder = Recorder(None if a.known is None else {int(n) for n in a.known.split(",") if n})
        for target, kinds, count, number in plan(a.device):
            compare(a.device, target, kinds, count, number, False, Tally(), recorder)
        return
    if a.count is None:
        unittest.main(argv=[sys.argv[0], *rest])
    tally = Tally()
    compare(a.device, a.target, a.kinds.split(","), a.count, a.seed, not a.no_shrink, tally)
    print(tally)


if __name__ == "__main__":
    main()
