# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One case on the oracle and on a device."""
import atexit
import os
import tempfile

from .compare import decided, differences
from .evaluate import Limit
from .kernel import Call
from .parser import parse
from .element_types import KcError, Unsupported


class Disagreement(AssertionError):
    """`what` is wrong with `case` on a device."""

    def __init__(self, what, case, device, target):
        super().__init__(f"{what}\n\n{case.text}\n\nagain: python3 test/oracle/test_oracle.py --device {device} --target {target} --case - <<'END'\n{case.replay()}\nEND")


class Tally:
    """What became of the programs."""

    def __init__(self):
        self.compared, self.none, self.skipped, self.elements, self.open, self.kinds = 0, 0, 0, 0, 0, {}
        self.texts, self.failed = set(), False

    def is_new(self, case):
        """Hypothesis repeats itself; but what has failed has to fail again."""
        if self.failed:
            return True
        known = len(self.texts)
        self.texts.add(case.text)
        return len(self.texts) > known

    def __str__(self):
        return (f"{self.compared} programs compared, {self.none} are none and were refused, {self.skipped} too large; "
                f"{self.elements} elements, of which {self.open} may be anything")


_last = os.path.join(tempfile.gettempdir(), f"oracle-last-{os.getpid()}.txt")
atexit.register(lambda: os.path.exists(_last) and os.remove(_last))


def _keep(case):
    """Leaves the case in a file, which outlives a process that the compiler ends."""
    with open(_last, "w") as f:
        f.write(case.replay())


def _reports(compiled, case, device):
    """Whether a call of what compiles says that data led outside of a tensor, or that an assertion failed."""
    from .device import Failed
    params = next(iter(parse(case.text)[0].values())).params
    try:
        compiled.run(params, case.arguments, case.shapes, {} if case.fixed else case.sizes, device)
    except Failed as e:
        return " leaves 0:" in str(e) or " assertion failed: " in str(e)
    return False


def check(case, device, target, tally):
    """Raises Disagreement where the device's results are none that the language allows."""
    from .device import Compiled, Failed, Refused
    call = expected = invalid = None
    try:
        call = Call(case.text, case.arguments, case.sizes, case.constants)
        expected = call.run()
    except (Limit, Unsupported):
        tally.skipped += 1
        return
    except KcError as e:
        invalid = e
    _keep(case)
    tally.kinds.setdefault(case.kind, 0)
    try:
        compiled = Compiled(case.text, {**case.constants, **(case.sizes if case.fixed else {})}, target)
    except Refused as e:
        if invalid or case.kind == "wrong":  # wrong at other sizes
            tally.none += 1
            return
        tally.failed = True
        raise Disagreement(f"the compiler refuses the program: {e}", case, device, target) from None
    if invalid and _reports(compiled, case, device):
        tally.none += 1
        return
    if invalid:
        tally.failed = True
        raise Disagreement(f"the compiler takes a program that is none: {invalid}", case, device, target)
    try:
        got = compiled.run(call.kernel.params, case.arguments, case.shapes, {} if case.fixed else case.sizes, device)
    except Failed as e:
        tally.failed = True
        raise Disagreement(f"{device} fails: {e}", case, device, target) from None
    tally.compared += 1
    tally.kinds[case.kind] += 1
    some, every = decided(expected)
    tally.elements += every
    tally.open += every - some
    wrong = differences(expected, got)
    tally.failed = tally.failed or bool(wrong)
    if wrong:
        lines = [f"  {name}[{place}]: {a} by the language, {b} on {device}" for name, place, a, b in wrong[:8]]
        raise Disagreement("\n".join([f"{device} disagrees:", *lines]), case, device, target)
