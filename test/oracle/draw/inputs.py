# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elements of inputs: small numbers first, so that failures shrink to them."""
import math

from hypothesis import strategies as st

from ..element_types import F64, round_float

_PLAIN = [0.0, 1.0, -1.0, 2.0, 0.5, -3.0, 0.25, 1.5, 7.0, 0.1, -0.7, 3.14159, 100.0, -0.0]
_SPECIAL = [math.nan, math.inf, -math.inf, math.nan, 0.0, 1.0, -1.0, 2.0, -0.5, 1e30, 1e-42, -1e-30]


def floats(t, special=False):
    plain = sorted({round_float(v, t) for v in _PLAIN}, key=_PLAIN.index) if t is F64 else list(dict.fromkeys(round_float(v, t) for v in _PLAIN))
    uniform = st.floats(-2, 2, width=32).map(lambda x: round_float(x, t))
    if not special:
        return st.one_of(st.sampled_from(plain), uniform)
    strange = [round_float(v, t) for v in _SPECIAL]
    return st.one_of(st.sampled_from(plain), st.sampled_from(strange))


def scores(t):
    """What stands under a softmax: numbers, and infinities of either sign."""
    return st.sampled_from([round_float(v, t) for v in (1.0, -math.inf, 0.5, -math.inf, -2.0, math.inf, 3.0, -math.inf)])


def whole(t, most=4):
    """Small whole numbers, of which any order of summation gives the same."""
    return st.sampled_from([round_float(float(v), t) for v in (0, 1, 2, -1, 3, -2, -3, most)])


def integers(t):
    edge = [t.lowest, t.highest, t.highest - 1, t.lowest + 1, 0, t.highest // 2 + 1]
    small = [v for v in (0, 1, 2, 3, -1, -2, 5, -7) if t.lowest <= v <= t.highest]
    return st.one_of(st.sampled_from(small), st.sampled_from(small), st.sampled_from(edge), st.integers(t.lowest, t.highest))


def positions(t, around=6):
    """Subscripts: mostly about a small tensor, now and then far away."""
    near = [v for v in range(-around // 2, around + 1) if t.lowest <= v <= t.highest]
    near.sort(key=lambda v: (abs(v), v < 0))
    return st.one_of(st.sampled_from(near), st.sampled_from(near), st.sampled_from([t.lowest, t.highest, t.highest // 2 + 1, t.highest - 1]))


def elements(t, special=False):
    if t.kind == "bool":
        return st.booleans()
    return floats(t, special) if t.kind == "float" else integers(t)
