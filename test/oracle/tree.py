# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The syntax tree. Nothing here knows what a name means."""
from dataclasses import dataclass
from typing import Any, Optional


@dataclass(frozen=True, eq=False)
class Number:
    value: Any  # int, or the text of a float


@dataclass(frozen=True, eq=False)
class Name:
    name: str


@dataclass(frozen=True, eq=False)
class Unary:
    op: str  # "-", "+", "~", "not"
    e: Any


@dataclass(frozen=True, eq=False)
class Binary:
    op: str  # arithmetic, "and", "or"
    a: Any
    b: Any


@dataclass(frozen=True, eq=False)
class Compare:
    first: Any
    rest: list  # of (op, expression)


@dataclass(frozen=True, eq=False)
class Select:
    then: Any
    condition: Any
    other: Any


@dataclass(frozen=True, eq=False)
class Access:
    tensor: str
    form: Optional[str]  # "pad", "edge", "reflect", "wrap", "assume_inbounds"
    value: Any  # what `pad` was given
    subscripts: list


@dataclass(frozen=True, eq=False)
class Call:
    name: str
    bracket: Optional[list]  # of expressions and Ranges
    args: list


@dataclass(frozen=True, eq=False)
class Named:
    name: str
    value: Any


@dataclass(frozen=True, eq=False)
class Range:
    """`name in lo:hi`"""
    name: str
    lo: Any
    hi: Any


@dataclass(frozen=True, eq=False)
class Let:
    name: str
    subscripts: list
    type: Optional[str]
    value: Any
    where: list


@dataclass(frozen=True, eq=False)
class Assign:
    name: str
    subscripts: list
    op: str  # "=", "+=", "*=", "min=", "max=", "and=", "or=", "xor="
    value: Any
    where: list
    unique: bool = False


@dataclass(frozen=True, eq=False)
class Param:
    name: str
    type: Optional[str]
    shape: Optional[list]  # None: a scalar
    role: str  # "in", "inout", "out", "const"
    default: Any = None


@dataclass(frozen=True, eq=False)
class Kernel:
    name: str
    params: list
    requires: list
    body: list


@dataclass(frozen=True, eq=False)
class Function:
    name: str
    indices: list
    params: list
    result: Optional[str]
    lets: list
    value: Any


@dataclass(frozen=True, eq=False)
class View:
    """view(tensor, "a (b c) -> ..", b=2)[subscripts]"""
    tensor: str
    pattern: str
    sizes: list  # of Named
    subscripts: list


@dataclass(frozen=True, eq=False)
class Tuple:
    fields: list


@dataclass(frozen=True, eq=False)
class Member:
    e: Any
    field: str


@dataclass(frozen=True, eq=False)
class Reducer:
    """`fields`: (name, type) of each; the name is None of a reducer of scalars."""
    name: str
    params: list  # two names
    fields: list
    identity: Any
    lets: list
    value: Any
