"""The checksums of a Parquet file's pages, which DuckDB does not verify.

A page has a header in Thrift's compact protocol; its field 4, if it is there, is the CRC-32 of the bytes
that follow, as they are compressed.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import BinaryIO

# Fields of a page's header.
_SIZE, _CHECKSUM = 3, 4
# The most bytes that a header is given; those without long statistics take less than a hundred.
_HEADER = 1 << 16
_ALL_BITS = 0xFFFFFFFF
# Thrift's types of fields.
_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _STRUCT = 0, 1, 2, 3, 7, 8, 12
_INTEGERS = (4, 5, 6)
_LISTS = (9, 10)


def any_damaged(file: BinaryIO, chunks: Iterable[tuple[int, int]]) -> bool:
    """Whether a page of the column chunks, each of an offset and a size, is not as it was written.

    Pages without a checksum pass. A header that cannot be read ends its chunk: the engine says why.
    """
    return any(_is_damaged(file, start, start + size) for start, size in chunks)


def _is_damaged(file: BinaryIO, offset: int, end: int) -> bool:
    while offset < end:
        header = _Header(_bytes(file, offset, _HEADER))
        try:
            fields = header.numbers()
        except (IndexError, ValueError, RecursionError):
            return False
        offset += header.size
        size, checksum = fields.get(_SIZE, -1), fields.get(_CHECKSUM)
        if size < 0:
            return False
        if checksum is not None and zlib.crc32(_bytes(file, offset, size)) != checksum & _ALL_BITS:
            return True
        offset += size
    return False


def _bytes(file: BinaryIO, start: int, size: int) -> bytes:
    file.seek(start)
    return file.read(size)


class _Header:
    """The header of a page, read from its first byte on; `size` is then its length."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.size = 0

    def numbers(self) -> dict[int, int]:
        """Return its fields that are integers."""
        found: dict[int, int] = {}
        field = 0
        while (head := self._byte()) & 15 != _STOP:
            kind, step = head & 15, head >> 4
            field = field + step if step else self._integer()
            if kind in _INTEGERS:
                found[field] = self._integer()
            else:
                self._skip(kind)
        return found

    def _byte(self) -> int:
        self.size += 1
        return self._data[self.size - 1]

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError(shift)

    def _integer(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)

    def _skip(self, kind: int) -> None:
        if kind in _INTEGERS:
            self._unsigned()
        elif kind in (_BYTE, _DOUBLE):
            self.size += 1 if kind == _BYTE else 8
        elif kind == _BINARY:
            length = self._unsigned()
            self.size += length
        elif kind == _STRUCT:
            self.numbers()
        elif kind in _LISTS:
            head = self._byte()
            for _ in range(self._unsigned() if head >> 4 == 15 else head >> 4):
                self._skip(max(head & 15, _BYTE))  # a truth value is a byte there
        elif kind not in (_TRUE, _FALSE):
            raise ValueError(kind)
