"""Streams compressed by gzip, bzip2, xz or zstd: their content, block by block."""

from __future__ import annotations

import re
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
# modules of the standard library that decompress it
_MODULES = {"gzip": "gzip", "bzip2": "bz2", "xz": "lzma"}


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
    if compression == "zstd":
        yield from _decompress_zstd(_Stream(first, handle), source)
    elif compression is not None:
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
    damages = (zlib.error, getattr(module, "LZMAError", zlib.error), OSError)
    try:
        with module.open(stream, "rb") as plain:
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


def _decompress_zstd(stream: _Stream, source: str) -> Iterator[bytes]:
    import zstandard

    # zstandard's stream reader silently ends a truncated stream; this one does not.
    unzip = zstandard.ZstdDecompressor(max_window_size=2**31).decompressobj()
    ended = False
    try:
        while block := stream.read(BLOCK):
            while block:
                if ended:
                    unzip = zstandard.ZstdDecompressor(max_window_size=2**31).decompressobj()
                plain = unzip.decompress(block)
                ended = unzip.eof
                block = unzip.unused_data if ended else b""
                if plain:
                    yield plain
    except zstandard.ZstdError as error:
        raise InputError(f"{source}: the zstd stream is damaged: {error}") from None
    if not ended:
        raise InputError(f"{source}: the zstd stream ends early: the file is truncated")
