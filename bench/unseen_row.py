# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a row of bench/unseen.py is."""


class Row:
    """`sizes`: `M=4096 N=8192/64 R:3`, a size that a seed draws anew, one of multiples of 64, a fixed one. `ints`: the numbers below
    which an input's integers lie (or the size). `positive`: inputs that are positive. `made`: inputs that are functions of
    (torch, device, sizes). `compiled`: beside torch.compile, too. `limit`: of the difference, by the largest value. `named`: sizes that
    no input has."""

    def __init__(self, file, kernel, sizes, peer, compiled=True, ints=None, positive=(), made=None, scalars=None, limit=None, named=()):
        self.file, self.kernel, self.sizes, self.peer, self.compiled = file, kernel, sizes, peer, compiled
        self.ints, self.positive, self.made, self.scalars, self.limit = ints or {}, positive, made or {}, scalars or {}, limit
        self.named = named

    def title(self, sizes):
        return f"{self.file}: {self.kernel} {' '.join(f'{n}={v}' for n, v in sizes.items())}"


ROWS = []


def row(*args, **options):
    ROWS.append(Row(*args, **options))
