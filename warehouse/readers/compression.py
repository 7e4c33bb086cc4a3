"""Streams compressed by gzip, bzip2, xz or zstd: their content, block by block."""

from __future__ import annotations

import re
import sys
import zlib
from collections.abc import Iterator
from importlib import import_module
from typing import BinaryIO

from warehouse.config import limits
from warehouse.errors import InputError

# The number of bytes of a file that are read at a time.
BLOCK = 1 << 20
# first bytes of compressed streams
_MAGIC = {
    "gzip": re.compile(rb"\x1f\x8b"),
    "bzip2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),  # BZh9 alone could be a query
    "xz": re.compile(rb"\xfd7zXZ\x00"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),  # or a skippable frame
}
LONGEST_MAGIC = 10
# Modules that decompress it; the last is in the standard library from Python 3.14 on.
_MODULES = {"gzip": "gzip", "bzip2": "bz2", "xz": "lzma", "zstd": "backports.zstd"}
if sys.version_info >= (3, 14):
    _MODULES["zstd"] = "compression.zstd"
# The largest window of a zstd stream, as a power of 2.
_WINDOW = 31


def plain_blocks(handle: BinaryIO, source: str) -> Iterator[bytes]:
    """Yield the content of a stream, decompressed if necessary.

    Raises InputError if it is damaged, or larger than the limit.
    """
    most, size = limits.current(), 0
    for block in _plain_blocks(handle, source):
        size += len(block)
        most.check_unpacked(source, size)
        yield block


def _plain_blocks(handle: BinaryIO, source: str) -> Iterator[bytes]:
    first = handle.read(BLOCK)
    compression = compression_of(first)
    if compression is not None:
        yield from _decompress(_Stream(first, handle), source, compression)
    else:
        while first:
            yield first
            first = handle.read(BLOCK)


def compression_of(start: bytes) -> str | None:
    """Return the compression of a stream that begins so, or None."""
    return next((compression for compression, magic in _MAGIC.items() if magic.match(start)), None)


class _Stream:
    """A stream whose first block has already been read."""

    def __init__(self, first: bytes, rest: BinaryIO) -> None:
        self._first = first
        self._rest = rest

    def read(self, size: int = -1) -> bytes:
        if self._first:
            taken, self._first = (
                (self._first, b"") if size < 0 else (self._first[:size], self._first[size:])
            )
            return taken
        return self._rest.read(size)


def _decompress(stream: _Stream, source: str, compression: str) -> Iterator[bytes]:
    module = import_module(_MODULES[compression])
    # gzip and bz2 report it as OSError, but errors of a failing disk have an errno
    named = (getattr(module, name, zlib.error) for name in ("LZMAError", "ZstdError"))
    damages = (zlib.error, OSError, *named)
    how = {}
    if compression == "zstd":
        how["options"] = {module.DecompressionParameter.window_log_max: _WINDOW}
    try:
        with module.open(stream, "rb", **how) as plain:
            while block := plain.read(BLOCK):
                yield block
    except EOFError:
        raise InputError(
            f"{source}: the {compression} stream ends early: the file is truncated"
        ) from None
    except damages as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(f"{source}: the {compression} stream is damaged: {error}") from None
