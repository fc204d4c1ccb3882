# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The .npy files of the tests, without NumPy: what is written and read here is checked against literals."""
import ast
import math
import struct

# Element type: NumPy's name of it, struct's letter.
KINDS = {
    "f64": ("<f8", "d"), "f32": ("<f4", "f"), "f16": ("<f2", "e"), "i64": ("<i8", "q"), "i32": ("<i4", "i"), "i16": ("<i2", "h"),
    "i8": ("|i1", "b"), "u64": ("<u8", "Q"), "u32": ("<u4", "I"), "u16": ("<u2", "H"), "u8": ("|u1", "B"), "bool": ("|b1", "?"),
}


def shape_of(values):
    return (len(values), *(shape_of(values[0]) if values else ())) if isinstance(values, list) else ()


def flat(values):
    return [f for v in values for f in flat(v)] if isinstance(values, list) else [values]


def write(path, element, values, shape=None):
    descr, letter = KINDS[element]
    shape = shape_of(values) if shape is None else shape
    header = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    data = flat(values)
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(data)}{letter}", *data))


def read(path):
    """The elements of the file, in one list."""
    with open(path, "rb") as f:
        raw = f.read()
    size = struct.unpack("<H", raw[8:10])[0]
    header = ast.literal_eval(raw[10:10 + size].decode())
    letter = next(k for d, k in KINDS.values() if d == header["descr"])
    data = raw[10 + size:]
    count = math.prod(header["shape"])
    return list(struct.unpack(f"<{count}{letter}", data[:count * struct.calcsize(letter)]))


def same(a, b):
    return len(a) == len(b) and all(x == y or (x != x and y != y) for x, y in zip(a, b))
