# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tokens of a `.kc` text."""
import re
from typing import NamedTuple

from .element_types import KcError


class Token(NamedTuple):
    kind: str  # "name", "number", "text", "op", "end"
    text: str
    at: int


_TOKEN = re.compile(r"""(?P<space>[ \t\r\n;]+|\#[^\n]*)
  |(?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?)
  |(?P<text>"[^"\n]*")
  |(?P<name>[A-Za-z_]\w*)
  |(?P<op>->|\*\*|//|<<|>>|<=|>=|==|!=|\+=|\*=|[-+*/%&|^~<>=()\[\]{},:.])""", re.X)
_WORD_ASSIGN = ("min", "max", "and", "or", "xor")


def tokenize(text):
    tokens, at = [], 0
    while at < len(text):
        m = _TOKEN.match(text, at)
        if not m:
            raise KcError(f"unexpected character {text[at]!r} at {at}")
        if m.lastgroup != "space":
            end = m.end()
            word_assign = m.group() in _WORD_ASSIGN and text[end:end + 1] == "=" and text[end:end + 2] != "=="
            kind, word = ("op", m.group() + "=") if word_assign else (m.lastgroup, m.group())
            tokens.append(Token(kind, word, at))
            at = end + word_assign
        else:
            at = m.end()
    tokens.append(Token("end", "", at))
    return tokens
