"""The footer of a Parquet file as nested fields, to be changed and written again.

A footer is a structure in Thrift's compact protocol. PyArrow can read it, but cannot write one that it did not make
itself. Fields are kept by number, so a footer of any version of the format stays as it is.
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from dataclasses import dataclass
from typing import Any

_TRUE, _FALSE, _BYTE, _I16, _I32, I64, _DOUBLE, _BINARY, LIST, _SET, _MAP, STRUCT = range(1, 13)
MAGIC = b"PAR1"
_TAIL_BYTES = 8  # length of the footer, and MAGIC

Struct = dict[int, tuple[int, Any]]
"""Number of a field -> (type, value), in the order of the file."""


@dataclass
class List:
    """A list of values of one type."""

    type: int
    values: list[Any]


def read_footer(file: memoryview) -> Struct:
    """The footer of a complete Parquet file."""
    size = int.from_bytes(file[-_TAIL_BYTES:-4], "little")
    return _Reader(bytes(file[-_TAIL_BYTES - size : -_TAIL_BYTES])).struct()


def footer_bytes(footer: Struct) -> bytes:
    """The end of a Parquet file: the footer, its length and the magic number."""
    content = bytearray()
    _write_struct(content, footer)
    return bytes(content) + len(content).to_bytes(4, "little") + MAGIC


class _Reader:
    def __init__(self, data: bytes):
        self._data, self._at = data, 0

    def struct(self) -> Struct:
        fields: Struct = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            kind = head & 15
            fields[number] = kind, None if kind in (_TRUE, _FALSE) else self._value(kind)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in (_I16, _I32, I64):
            return self._integer()
        if kind == _BINARY:
            return self._take(self._unsigned())
        if kind == STRUCT:
            return self.struct()
        if kind in (LIST, _SET):
            head = self._byte()
            size, kind = head >> 4 if head >> 4 < 15 else self._unsigned(), head & 15
            return List(kind, [self._value(kind) for _ in range(size)])
        if kind == _DOUBLE:
            return self._take(8)
        if kind in (_TRUE, _FALSE, _BYTE):  # in a list, a truth value is a byte of its own
            return self._take(1)
        raise ValueError(f"type {kind} does not occur in a Parquet footer")

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _take(self, size: int) -> bytes:
        self._at += size
        return self._data[self._at - size : self._at]

    def _unsigned(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value |= (byte & 127) << shift
            shift += 7
        return value | byte << shift

    def _integer(self) -> int:
        value = self._unsigned()
        return value >> 1 ^ -(value & 1)


def _write_struct(out: bytearray, fields: Struct) -> None:
    before = 0
    for number, (kind, value) in fields.items():
        if 0 < number - before < 16:
            out.append(number - before << 4 | kind)
        else:
            out.append(kind)
            _write_integer(out, number)
        before = number
        if kind not in (_TRUE, _FALSE):
            _write(out, kind, value)
    out.append(0)


def _write(out: bytearray, kind: int, value: Any) -> None:
    if kind in (_I16, _I32, I64):
        _write_integer(out, value)
    elif kind == _BINARY:
        _write_unsigned(out, len(value))
        out += value
    elif kind == STRUCT:
        _write_struct(out, value)
    elif kind in (LIST, _SET):
        size = len(value.values)
        out.append(min(size, 15) << 4 | value.type)
        if size >= 15:
            _write_unsigned(out, size)
        for element in value.values:
            _write(out, value.type, element)
    else:
        out += value


def _write_integer(out: bytearray, value: int) -> None:
    _write_unsigned(out, value << 1 if value >= 0 else (-value << 1) - 1)


def _write_unsigned(out: bytearray, value: int) -> None:
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
