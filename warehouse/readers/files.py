"""Files on disk or behind a URL, compressed or not, and standard input, each as one plain local file.

A scan of the bytes finds the traits of a text that tell whether the fast way of reading it is safe, in
a fraction of the reading time; binary files are not scanned. The hash, if requested, is made from the
same bytes; the hash of a long file is computed in parallel with reading.
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import BinaryIO

from warehouse.errors import EmptyError, InputError, is_utf8, url
from warehouse.readers import remote
from warehouse.readers.compression import BLOCK, LONGEST_MAGIC, compression_of, plain_blocks
from warehouse.store.scratch_folders import NO_ROOM, scratch_folder

HEAD = 1 << 16
BOM = codecs.BOM_UTF8
# Of two marks that follow each other, the most bytes in one block that do not show it.
_INNER = 2 * len(BOM) - 1
# Sources with this prefix are datasets of the package ir_datasets, and no files.
BY_NAME = "ir_datasets:"
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ZIP = b"PK\x03\x04"
# First bytes of files that are not read, with what to do about them.
_NOT_READ = {
    b"\x04\x22\x4d\x18": "LZ4, which is not read: save it as JSON, or unpack it: lz4 -d",
    _ZIP: "a zip archive, which is not read: unpack it: unzip",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive, which is not read: unpack it: 7z x",
    b"\x80\x04\x95": "a pickle of Python's, which is not read: save it as Parquet",
    b"\x80\x05\x95": "a pickle of Python's, which is not read: save it as Parquet",
    b"\x93NUMPY": "an array of NumPy's, which is not read: save a table as Parquet",
    b"\x89HDF": "an HDF5 file, which is not read: save it as Parquet",
}
# Suffixes of zip archives that are not unpacked first.
_WORKBOOK = ".xlsx", "a workbook of Excel's, which is not read: save it as CSV"
SPARSE_MATRIX = ".npz"
_TAR, _TAR_AT = b"ustar", 257
# Seconds for which a named pipe waits for somebody who writes into it.
_WAIT_FOR_WRITER = 10.0
# Characters in paths that have a meaning for DuckDB.
_GLOB = re.compile(r"[*?\[\]{}]|://")


class TextTraits:
    """The properties of a text that decide how it is read, found block by block."""

    def __init__(self) -> None:
        self.has_blank = self.has_tab = self.has_underscore = self.has_feed = False
        self.has_nul = False
        self.longest_gap = 0
        """The most bytes without a newline that go on from one block of 1 MB to the next."""
        self._gap = self._returns = self._windows_ends = 0
        self._has_plain_end = False
        self._has_inner_mark = False
        self._last = b"\n"
        self._tail = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._is_utf8 = self._is_whole = True

    @property
    def has_return(self) -> bool:
        """Whether there is a carriage return."""
        return self._returns > 0

    @property
    def windows_ends(self) -> bool:
        """Whether CR LF ends every line, and nothing else has a carriage return."""
        return self._returns == self._windows_ends > 0 and not self._has_plain_end

    @property
    def is_text(self) -> bool:
        """Whether the bytes are UTF-8 without NUL, and no line but the first begins with a mark."""
        return self._is_utf8 and self._is_whole and not self.has_nul and not self._has_inner_mark

    def add(self, block: bytes) -> None:
        """Look at the next bytes, in pieces of one size, so that gaps are measured alike."""
        for start in range(0, len(block), BLOCK):
            self._add(block if len(block) <= BLOCK else block[start : start + BLOCK])

    def _add(self, block: bytes) -> None:
        self.has_blank = self.has_blank or b" " in block
        self.has_tab = self.has_tab or b"\t" in block
        self.has_feed = self.has_feed or b"\v" in block or b"\f" in block
        self.has_nul = self.has_nul or b"\x00" in block
        self.has_underscore = self.has_underscore or b"_" in block
        if b"\r" in block or self._last == b"\r":
            ends = block.count(b"\r\n") + (self._last == b"\r" and block.startswith(b"\n"))
            self._returns += block.count(b"\r")
            self._windows_ends += ends
            self._has_plain_end = self._has_plain_end or block.count(b"\n") > ends
        else:
            self._has_plain_end = self._has_plain_end or b"\n" in block
        self._find_marks(block)
        self._decode(block)
        self._last = block[-1:]
        newline = block.find(b"\n")
        self._gap += len(block) if newline < 0 else newline
        self.longest_gap = max(self.longest_gap, self._gap)
        if newline >= 0:
            self._gap = len(block) - block.rfind(b"\n") - 1

    def _find_marks(self, block: bytes) -> None:
        """Find byte order marks behind line ends and marks, also over the edge of blocks."""
        edge = self._tail + block[:_INNER]
        for part in (edge, block):
            # a single byte is found many times as fast, and most texts have none that begins a mark
            if (
                BOM[:1] in part
                and BOM in part
                and any(before + BOM in part for before in (b"\n", b"\r", BOM))
            ):
                self._has_inner_mark = True
        self._tail = (self._tail + block[-_INNER:])[-_INNER:]

    def _decode(self, block: bytes) -> None:
        if not self._is_utf8 or (self._is_whole and block.isascii()):
            return
        try:
            self._decoder.decode(block)
            self._is_whole = self._decoder.getstate()[0] == b""
        except UnicodeDecodeError:
            self._is_utf8 = False


@dataclass(frozen=True)
class LocalFile:
    """A plain file: its path, its first bytes, and the traits of its text when requested."""

    path: str
    source: str
    name: str
    digest: Callable[[], str | None]
    size: int
    head: bytes
    scan: Callable[[], TextTraits]
    stays_open: bool = False
    """Whether it is there as long as its staged rows, which then may be read from it."""

    @property
    def sha256(self) -> str | None:
        """The hash of the bytes, after waiting for it if necessary; None if nobody requested it."""
        return self.digest()

    @property
    def suffix(self) -> str:
        """The suffix of its name, in lower case."""
        return PurePath(self.name).suffix.lower()

    @cached_property
    def text(self) -> str:
        """The first bytes as text, whatever they are."""
        return self.head.removeprefix(BOM).decode("utf-8", "replace")

    @cached_property
    def traits(self) -> TextTraits:
        """The traits of its text; a file that was not copied is read for it. Raises InputError."""
        try:
            return self.scan()
        except OSError as error:
            raise _unreadable(self.source, error) from error

    @cached_property
    def lines(self) -> int:
        """The number of lines, including a last one without a newline; the file is read for it."""
        newlines, last = 0, b"\n"
        with Path(self.path).open("rb") as handle:
            while block := handle.read(BLOCK):
                newlines += block.count(b"\n")
                last = block[-1:]
        return newlines + (last != b"\n")


def _no_hash() -> None:
    """The hash if nobody requested it."""


class _HashThread:
    """Hashes an open file in parallel with other work; calling it returns the hash."""

    def __init__(self, handle: io.BufferedReader) -> None:
        self._handle = handle
        self._found: str | Exception = ""
        self._thread = threading.Thread(target=self._hash, daemon=True)
        self._thread.start()

    def _hash(self) -> None:
        try:
            with self._handle:
                self._found = hashlib.file_digest(self._handle, "sha256").hexdigest()
        except Exception as error:  # for the caller
            self._found = error

    def __call__(self) -> str:
        self._thread.join()
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


@contextlib.contextmanager
def open_file(
    given: str | os.PathLike[str], *, hashed: bool = True, watched: bool = True
) -> Iterator[LocalFile]:
    """Yield the plain file behind a path or `-`; copies are removed after. Raises InputError.

    A file that changed meanwhile is refused, unless it is not `watched`: then the caller looks.
    """
    text = os.fspath(given)
    source = "<stdin>" if text == "-" else str(text)
    with contextlib.ExitStack() as stack:
        before = _state(text)
        try:
            yield _open(stack, text, source, hashed)
        except OSError as error:
            if isinstance(error, BlockingIOError | InterruptedError):
                raise
            raise _unreadable(source, error) from error
        if watched and _state(text) != before:
            raise InputError(f"{source}: was changed while it was read: read it again")


def _state(text: str) -> tuple[int, ...] | None:
    """Return values that change with a file's content; None if there is no such file."""
    try:
        found = Path(text).stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    # a writer can set the modification time back, but not the change time of the inode
    at = (found.st_mtime_ns, found.st_ctime_ns)
    return found.st_dev, found.st_ino, found.st_size, *at


def _unreadable(source: str, error: OSError) -> InputError:
    if error.errno in NO_ROOM:
        return InputError(
            f"{source}: there is no room for a plain copy of it in {tempfile.gettempdir()}: "
            f"{error.strerror}; the variable TMPDIR names another folder"
        )
    return InputError(f"{source}: cannot be read: {error.strerror or error}")


def _open(stack: contextlib.ExitStack, text: str, source: str, hashed: bool) -> LocalFile:
    if text == "-":
        return _copy(stack, sys.stdin.buffer, source, "", hashed)
    check_name(text)
    path = Path(text)
    if (named := url(text)) is not None and not path.exists():
        stream = stack.enter_context(remote.opened(named))
        return _copy(stack, stream, named, remote.name(named), hashed)
    if path.is_dir():
        raise InputError(f"{source}: is a directory: name the files in it")
    try:
        mode = path.stat().st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise InputError(f"{source}: is a device: name a file, or - for standard input")
        handle = stack.enter_context(_pipe(path) if stat.S_ISFIFO(mode) else path.open("rb"))
    except FileNotFoundError:
        raise _no_such_file(source, path) from None
    is_file = stat.S_ISREG(os.fstat(handle.fileno()).st_mode)
    start = handle.read(LONGEST_MAGIC) if is_file else None
    if start is None or compression_of(start):
        if start is not None:
            handle.seek(0)
        return _copy(stack, handle, source, path.name, hashed)
    handle.seek(0)
    first = handle.read(BLOCK)
    size = os.fstat(handle.fileno()).st_size
    digest: Callable[[], str | None] = _no_hash
    if hashed:
        digest = _HashThread(path.open("rb")) if size > BLOCK else hashlib.sha256(first).hexdigest
    return LocalFile(
        path=_path_for_engine(stack, path),
        source=source,
        name=path.name,
        digest=digest,
        size=size,
        head=first[:HEAD],
        scan=lambda: _scan_file(path),
    )


def _pipe(path: Path) -> BinaryIO:
    """Open a named pipe, which waits for a writer: not for ever."""
    found: list[BinaryIO] = []
    thread = threading.Thread(target=lambda: found.append(path.open("rb")), daemon=True)
    thread.start()
    thread.join(_WAIT_FOR_WRITER)
    if not found:
        with contextlib.suppress(OSError):  # a writer that comes now
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        thread.join(1)
        for handle in found:
            handle.close()
        raise InputError(f"{path}: is a pipe that nobody writes into")
    return found[0]


def _scan_file(path: Path) -> TextTraits:
    traits = TextTraits()
    with path.open("rb") as handle:
        while block := handle.read(BLOCK):
            traits.add(block)
    return traits


def check_name(path: str) -> None:
    """Refuse a file whose name cannot be stored as its source."""
    if not is_utf8(path):
        raise InputError(f"{path}: its name is not UTF-8, and could not be stored: rename it")


def missing(source: object) -> InputError | None:
    """Return the error for a source that names a missing file, before it is opened."""
    if not isinstance(source, str | os.PathLike) or os.fspath(source) == "-":
        return None
    path = Path(os.fspath(source))
    try:
        if url(str(path)) is not None and not path.exists():
            return remote.check(str(path))
        return None if path.exists() else _no_such_file(str(path), path)
    except OSError as error:
        return _unreadable(str(path), error)


def _no_such_file(source: str, path: Path) -> InputError:
    return InputError(f"{source}: no such file{nearest_path(path)}")


def nearest_path(path: Path, *, is_folder: bool = False) -> str:
    """Name the existing file or folder nearest to a missing one, if its own folder can be listed."""
    try:
        names = [one.name for one in path.parent.iterdir() if one.is_dir() or not is_folder]
    except OSError:
        return ""
    near = difflib.get_close_matches(path.name, names, n=1, cutoff=0.75)
    return f"; did you mean {near[0]}?" if near else ""


def _path_for_engine(stack: contextlib.ExitStack, path: Path) -> str:
    """Return the path, or a link to it if DuckDB would read it as a pattern or not at all."""
    absolute = str(path.absolute())
    if is_utf8(absolute) and not _GLOB.search(absolute):
        return absolute
    folder = stack.enter_context(scratch_folder())
    link = folder / "file"
    link.symlink_to(absolute)
    return str(link)


def _copy(
    stack: contextlib.ExitStack, handle: BinaryIO, source: str, name: str, hashed: bool
) -> LocalFile:
    """Copy a stream, decompressed if necessary, to a temporary file, and scan it meanwhile."""
    folder = stack.enter_context(scratch_folder())
    target = folder / "file"
    traits, digest, head, size = TextTraits(), hashlib.sha256(), b"", 0
    with target.open("wb") as out:
        for block in plain_blocks(handle, source):
            traits.add(block)
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
        digest=digest.hexdigest if hashed else _no_hash,
        size=size,
        head=head,
        scan=lambda: traits,
    )


def default_name(source: str) -> str:
    """Return the name that a run gets from its file, or from the dataset that is its source.

    >>> default_name("runs/bm25.run.gz"), default_name("ir_datasets:beir/fiqa/dev")
    ('bm25', 'beir/fiqa/dev')
    """
    if source.startswith(BY_NAME):
        return source.removeprefix(BY_NAME)
    path = PurePath(source if url(source) is None else remote.name(source))
    if path.suffix.lower() in COMPRESSED:
        path = path.with_suffix("")
    return path.stem


def check_file(file: LocalFile) -> None:
    """Refuse an empty file, an archive of files, and text in UTF-16."""
    if not file.head:
        raise EmptyError(file.source, "line")
    if file.head.startswith(_UTF16):
        raise InputError(f"{file.source}: is UTF-16 text: convert it to UTF-8")
    for start, what in _NOT_READ.items():
        if file.head.startswith(start) and not (start == _ZIP and file.suffix == SPARSE_MATRIX):
            is_workbook = start == _ZIP and file.suffix == _WORKBOOK[0]
            raise InputError(f"{file.source}: is {_WORKBOOK[1] if is_workbook else what}")
    if file.head.startswith(_TAR, _TAR_AT):
        raise InputError(f"{file.source}: is a tar archive, which is not read: unpack it: tar -xf")
