"""Files on disk, compressed or not, and standard input: one plain local file, looked at once at most.

The look, in blocks, tells whether the quick way of reading text is safe, in a fraction of the time that
reading takes; what is no text is not looked at. The hash, where it is asked for, is that of the same
bytes; that of a long file is computed beside what follows.
"""

from __future__ import annotations

import codecs
import contextlib
import difflib
import hashlib
import io
import os
import re
import stat
import sys
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path, PurePath
from typing import BinaryIO

from warehouse.errors import InputError, is_utf8

BLOCK = 1 << 20
HEAD = 1 << 16
BOM = codecs.BOM_UTF8
# how a packed stream begins
_PACKED = {
    "gzip": re.compile(rb"\x1f\x8b"),
    "bzip2": re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)"),  # BZh9 alone could be a query
    "xz": re.compile(rb"\xfd7zXZ\x00"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),  # or a frame to be skipped
}
_LONGEST_MAGIC = 10
# what of the standard library unpacks it
_UNPACKERS = {"gzip": "gzip", "bzip2": "bz2", "xz": "lzma"}
_LZ4 = b"\x04\x22\x4d\x18"
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
# Characters that mean something to DuckDB when they are part of a path.
_GLOB = re.compile(r"[*?\[\]{}]|://")


@dataclass(frozen=True)
class Look:
    """What the bytes of a text tell of how it can be read."""

    has_blank: bool
    has_tab: bool
    has_underscore: bool
    has_return: bool
    has_nul: bool
    has_comment: bool
    is_utf8: bool
    windows_ends: bool
    longest_gap: int
    """The most bytes without a newline that go on from one block of 1 MB to the next."""

    @property
    def is_text(self) -> bool:
        """Whether the bytes are UTF-8 without NUL."""
        return self.is_utf8 and not self.has_nul


@dataclass(frozen=True)
class LocalFile:
    """A plain file: where it is, how it begins, and what its bytes tell when that is asked for."""

    path: str
    source: str
    name: str
    digest: Callable[[], str | None]
    size: int
    head: bytes
    looked: Callable[[], Look]

    @property
    def sha256(self) -> str | None:
        """The hash of the bytes, waited for if need be; None where nobody asked for it."""
        return self.digest()

    @cached_property
    def look(self) -> Look:
        """What the bytes tell; a file that was not copied is read for it. Raises InputError."""
        try:
            return self.looked()
        except OSError as error:
            raise _unreadable(self.source, error) from error

    @cached_property
    def lines(self) -> int:
        """The number of lines, a last one without a newline too; the file is read for it."""
        newlines, last = 0, b"\n"
        with Path(self.path).open("rb") as handle:
            while block := handle.read(BLOCK):
                newlines += block.count(b"\n")
                last = block[-1:]
        return newlines + (last != b"\n")


def _nothing() -> None:
    """The hash that nobody asked for."""


class _Beside(threading.Thread):
    """Hashes an open file while other work goes on; called, it gives the hash."""

    def __init__(self, handle: io.BufferedReader) -> None:
        super().__init__(daemon=True)
        self._handle = handle
        self._found: str | Exception = ""
        self.start()

    def run(self) -> None:
        try:
            with self._handle:
                self._found = hashlib.file_digest(self._handle, "sha256").hexdigest()
        except Exception as error:  # for whoever asks
            self._found = error

    def __call__(self) -> str:
        self.join()
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


class _Looking:
    """Collects what the bytes of a file tell while its blocks go by."""

    def __init__(self) -> None:
        self.returns = self.window_ends = 0
        self.last = b"\n"
        self.blank = self.tab = self.nul = self.comment = self.underscore = False
        self.plain_end = False
        self.utf8 = True
        self.gap = self.longest_gap = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._clean = True

    def see(self, block: bytes) -> None:
        for start in range(0, len(block), BLOCK):
            self._see(block if len(block) <= BLOCK else block[start : start + BLOCK])

    def _see(self, block: bytes) -> None:
        self.blank = self.blank or b" " in block
        self.tab = self.tab or b"\t" in block
        self.nul = self.nul or b"\x00" in block
        self.underscore = self.underscore or b"_" in block
        if not self.comment and b"#" in block:
            starts = self.last == b"\n" and block.startswith((b"#", BOM + b"#"))
            self.comment = starts or b"\n#" in block
        if b"\r" in block or self.last == b"\r":
            ends = block.count(b"\r\n") + (self.last == b"\r" and block.startswith(b"\n"))
            self.returns += block.count(b"\r")
            self.window_ends += ends
            self.plain_end = self.plain_end or block.count(b"\n") > ends
        else:
            self.plain_end = self.plain_end or b"\n" in block
        self._decode(block)
        self.last = block[-1:]
        newline = block.find(b"\n")
        self.gap += len(block) if newline < 0 else newline
        self.longest_gap = max(self.longest_gap, self.gap)
        if newline >= 0:
            self.gap = len(block) - block.rfind(b"\n") - 1

    def _decode(self, block: bytes) -> None:
        if not self.utf8 or (self._clean and block.isascii()):
            return
        try:
            self._decoder.decode(block)
            self._clean = self._decoder.getstate()[0] == b""
        except UnicodeDecodeError:
            self.utf8 = False

    def look(self) -> Look:
        ends = self.returns == self.window_ends
        return Look(
            has_blank=self.blank,
            has_tab=self.tab,
            has_return=self.returns > 0,
            has_underscore=self.underscore,
            has_nul=self.nul,
            has_comment=self.comment,
            is_utf8=self.utf8 and self._clean,
            windows_ends=ends and self.window_ends > 0 and not self.plain_end,
            longest_gap=self.longest_gap,
        )


@contextlib.contextmanager
def open_file(given: str | os.PathLike[str], *, hashed: bool = True) -> Iterator[LocalFile]:
    """Give the plain file behind a path or `-`; copies are removed after. Raises InputError."""
    text = os.fspath(given)
    source = "<stdin>" if text == "-" else str(text)
    with contextlib.ExitStack() as stack:
        try:
            yield _opened(stack, text, source, hashed)
        except OSError as error:
            if isinstance(error, BlockingIOError | InterruptedError):
                raise
            raise _unreadable(source, error) from error


def _unreadable(source: str, error: OSError) -> InputError:
    return InputError(f"{source}: cannot be read: {error.strerror or error}")


def _opened(stack: contextlib.ExitStack, text: str, source: str, hashed: bool) -> LocalFile:
    if text == "-":
        return _copied(stack, sys.stdin.buffer, source, "", hashed)
    check_name(text)
    path = Path(text)
    if path.is_dir():
        raise InputError(f"{source}: is a directory: name the files in it")
    try:
        handle = stack.enter_context(path.open("rb"))
    except FileNotFoundError:
        raise _absent(source, path) from None
    is_file = stat.S_ISREG(os.fstat(handle.fileno()).st_mode)
    start = handle.read(_LONGEST_MAGIC) if is_file else None
    if start is None or _packing(start):
        if start is not None:
            handle.seek(0)
        return _copied(stack, handle, source, path.name, hashed)
    if start.startswith(_LZ4):
        raise InputError(
            f"{source}: is LZ4, which is not read: save it as JSON, or unpack it: lz4 -d"
        )
    handle.seek(0)
    first = handle.read(BLOCK)
    size = os.fstat(handle.fileno()).st_size
    digest: Callable[[], str | None] = _nothing
    if hashed:
        digest = _Beside(path.open("rb")) if size > BLOCK else hashlib.sha256(first).hexdigest
    return LocalFile(
        path=_plain_path(stack, path),
        source=source,
        name=path.name,
        digest=digest,
        size=size,
        head=first[:HEAD],
        looked=lambda: _looked_at(path),
    )


def _looked_at(path: Path) -> Look:
    looking = _Looking()
    with path.open("rb") as handle:
        while block := handle.read(BLOCK):
            looking.see(block)
    return looking.look()


def check_name(path: str) -> None:
    """Refuse a file whose name could not be stored as its source."""
    if not is_utf8(path):
        raise InputError(f"{path}: its name is not UTF-8, and could not be stored: rename it")


def missing(source: object) -> InputError | None:
    """Return what is wrong with a source that names a file which is not there, before it is opened."""
    if not isinstance(source, str | os.PathLike) or os.fspath(source) == "-":
        return None
    path = Path(os.fspath(source))
    try:
        return None if path.exists() else _absent(str(path), path)
    except OSError as error:
        return _unreadable(str(path), error)


def _absent(source: str, path: Path) -> InputError:
    return InputError(f"{source}: no such file{_neighbour(path)}")


def _neighbour(path: Path) -> str:
    """Name the nearest file beside a missing one, if its folder can be listed."""
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return ""
    near = difflib.get_close_matches(path.name, names, n=1, cutoff=0.75)
    return f"; did you mean {near[0]}?" if near else ""


def _plain_path(stack: contextlib.ExitStack, path: Path) -> str:
    """Return the path; behind a link if DuckDB would read it as a pattern, or not at all."""
    absolute = str(path.absolute())
    if is_utf8(absolute) and not _GLOB.search(absolute):
        return absolute
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="warehouse-"))
    link = Path(folder) / "file"
    link.symlink_to(absolute)
    return str(link)


def _copied(
    stack: contextlib.ExitStack, handle: BinaryIO, source: str, name: str, hashed: bool
) -> LocalFile:
    """Copy a stream, decompressed if it is compressed, to a temporary file, and look at it meanwhile."""
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="warehouse-"))
    target = Path(folder) / "file"
    looking, digest, head, size = _Looking(), hashlib.sha256(), b"", 0
    with target.open("wb") as out:
        for block in _plain_blocks(handle, source):
            looking.see(block)
            if hashed:
                digest.update(block)
            head += block[: HEAD - len(head)]
            size += len(block)
            out.write(block)
    for suffix in COMPRESSED:
        name = name.removesuffix(suffix)
    return LocalFile(
        path=str(target),
        source=source,
        name=name,
        digest=digest.hexdigest if hashed else _nothing,
        size=size,
        head=head,
        looked=looking.look,
    )


def _plain_blocks(handle: BinaryIO, source: str) -> Iterator[bytes]:
    first = handle.read(BLOCK)
    packing = _packing(first)
    if packing == "zstd":
        yield from _unzstd(_Rejoined(first, handle), source)
    elif packing is not None:
        yield from _unpacked(_Rejoined(first, handle), source, packing)
    else:
        while first:
            yield first
            first = handle.read(BLOCK)


def _packing(start: bytes) -> str | None:
    """Return how a stream is packed that begins so, None where it is not."""
    return next((packing for packing, magic in _PACKED.items() if magic.match(start)), None)


class _Rejoined:
    """A stream whose first block has been read already."""

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


def _unpacked(stream: _Rejoined, source: str, packing: str) -> Iterator[bytes]:
    unpacker = import_module(_UNPACKERS[packing])
    # gzip and bz2 say it as errors of the system, but those of a failing disk have a number
    damages = (zlib.error, getattr(unpacker, "LZMAError", zlib.error), OSError)
    try:
        with unpacker.open(stream, "rb") as plain:
            while block := plain.read(BLOCK):
                yield block
    except EOFError:
        raise InputError(
            f"{source}: the {packing} stream ends early: the file is truncated"
        ) from None
    except damages as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError(f"{source}: the {packing} stream is damaged: {error}") from None


def _unzstd(stream: _Rejoined, source: str) -> Iterator[bytes]:
    import zstandard

    # The stream reader of zstandard ends a truncated stream without a word; this one knows.
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


def default_name(source: str) -> str:
    """Return the name that a run gets from its file.

    >>> default_name("runs/bm25.run.gz")
    'bm25'
    """
    path = PurePath(source)
    if path.suffix.lower() in COMPRESSED:
        path = path.with_suffix("")
    return path.stem


def check_file(file: LocalFile) -> None:
    """Refuse a file without content and one in UTF-16."""
    if not file.head:
        raise InputError(f"{file.source}: is empty: there is no line of data")
    if file.head.startswith(_UTF16):
        raise InputError(f"{file.source}: is UTF-16 text: convert it to UTF-8")
