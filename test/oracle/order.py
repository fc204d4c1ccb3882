# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The order of statements: the text's, but for those that read what later ones define."""
from . import tree
from .element_types import KcError


def names_in(*nodes):
    """All names that a piece of text mentions."""
    found, work = set(), list(nodes)
    while work:
        node = work.pop()
        if isinstance(node, str):
            found.add(node)
        elif isinstance(node, (list, tuple)):
            work += node
        elif hasattr(node, "__dataclass_fields__"):
            work += vars(node).values()
    return found


class Order:
    """Statements that wait for others: a sum over what is not there yet, whoever reads what such a sum changes, and what changes a tensor
    that elements of a system still read. Each stands before or behind all of a system; where neither holds, the last one waits for ever."""

    def __init__(self, execute, is_whole, is_out, is_open, is_waiting):
        """`is_whole`: whether a statement runs as a whole, and not element by element; `is_out`: whether a name is an output's; `is_open`:
        whether a tensor has elements that nobody has defined yet; `is_waiting`: whether elements of a system are."""
        self._execute, self._is_whole, self._is_out, self._is_open, self._is_waiting = execute, is_whole, is_out, is_open, is_waiting
        self._pending, self._later = [], set()  # and the names that later statements define
        self._system, self._defined = set(), set()  # what a system reads, and what it defines

    def run(self, body):
        self._check(body)
        defines = [s for s in body if not isinstance(s, tree.Let) and s.op != "assert"]
        for n, statement in enumerate(body):
            later = [s for s in body[n + 1:] if s in defines]
            self._later = {s.name for s in later}
            self._take(statement)
        self._later = set()
        self._retry()
        for statement in [] if self._is_waiting() else self._pending:  # what it waits for never comes
            self._execute(statement)

    def _check(self, body):
        """Refuses what has no order, whatever the sizes are."""
        behind = [set() for _ in body]  # what each statement stands behind
        for a, reader in enumerate(body):
            reads = self._reads(reader)
            for w, writer in enumerate(body):
                if w == a or writer.name not in reads | {reader.name} or getattr(writer, "op", "") == "assert":
                    continue
                if not self._is_whole(writer):  # elements that are defined once
                    if writer.name in reads or w < a:
                        behind[a].add(w)
                elif w < a:
                    behind[a].add(w)
                elif writer.name in reads:
                    behind[w].add(a)
                    others = [(n, s) for n, s in enumerate(body) if s.name == writer.name and n != a]
                    is_there = not self._is_out(writer.name) or any(n < a for n, _ in others) and not any(n > a and not self._is_whole(s) for n, s in others)
                    if not is_there and reader.name != writer.name:
                        raise KcError(f"'{writer.name}' is read before its statements have defined it")
        for _ in body:
            for before in behind:
                before.update(*[behind[w] for w in before])
        for a, statement in enumerate(body):
            if a in behind[a] and self._is_whole(statement):
                raise KcError(f"the statement of '{statement.name}' stands among those that read each other")

    def _take(self, statement):
        if self._waits(statement):
            self._pending.append(statement)
            return
        self._now(statement)
        self._retry()

    def _now(self, statement):
        self._execute(statement)
        if not self._is_waiting():
            self._system, self._defined = set(), set()
        elif not self._is_whole(statement):
            self._system |= self._reads(statement)
            self._defined.add(statement.name)

    def _retry(self):
        moves = True
        while moves:
            moves, waiting, self._pending = False, self._pending, []
            for statement in waiting:
                if self._waits(statement):
                    self._pending.append(statement)
                else:
                    self._now(statement)
                    moves = True

    def _waits(self, statement):
        reads, whole = self._reads(statement), self._is_whole(statement)
        for earlier in self._pending:
            if earlier.name in reads | {statement.name} or whole and statement.name in self._reads(earlier):
                return True
        if not whole:
            return False
        if self._is_waiting() and statement.name in self._system | self._defined:
            return True
        return any(self._is_open(name) and (name in self._later or self._is_waiting()) for name in reads)

    @staticmethod
    def _reads(statement):
        return names_in(statement.value, statement.subscripts, statement.where)
