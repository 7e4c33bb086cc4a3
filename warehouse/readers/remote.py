"""Files on the web and on object stores, named by URL: their bytes, their state, lists of them."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from warehouse.config.installation import adding
from warehouse.errors import InputError, WarehouseError, first_line, url

_T = TypeVar("_T")
_WEB = ("http", "https")
_STORES = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs")
# Seconds for which a server may say nothing: when it is asked first, and while a file is read.
_ANSWER = 15
_SECONDS = 60
# How S3 and Google are asked so that they give up before that.
_S3 = {"connect_timeout": 5, "request_timeout": 5}
_GOOGLE = "retry_limit_seconds=10"
# The characters that stand unquoted in the path of a URL, and in a URL.
_IN_PATH = "/!$&'()+,;=:@~"
_IN_URL = f"{_IN_PATH}*?#[]%"


def scheme(text: str) -> str | None:
    """Return the scheme of a URL, None for a path.

    >>> scheme("s3://bucket/a.run"), scheme("a.run")
    ('s3', None)
    """
    named = url(text)
    return None if named is None else named.partition(":")[0]


def check(text: str) -> InputError | None:
    """Return the error for a URL of a kind that is not read."""
    named = url(text)
    if named is None or scheme(text) in (*_WEB, *_STORES):
        return None
    return InputError(
        f"{named}: is a URL of a kind that is not read; those of https, s3, gs, abfs and hdfs are: "
        "fetch it, or pipe it to -"
    )


def is_listed(text: str) -> bool:
    """Whether a text is a URL of a store that can list its files.

    >>> is_listed("s3://bucket/*.run"), is_listed("https://example.org/?raw=true")
    (True, False)
    """
    return scheme(text) in _STORES


def name(named: str) -> str:
    """Return the name of the file that a URL names.

    >>> name("https://example.org/runs/bm25%20k1.run?raw=true")
    'bm25 k1.run'
    """
    return PurePosixPath(unquote(urlsplit(named).path)).name


class State(NamedTuple):
    """The size of a file and the time of its last change, under the names of `os.stat`.

    A web server that gives no time has a number there that changes with the content.
    """

    st_size: int
    st_mtime_ns: int


@dataclass(frozen=True)
class RemoteFile:
    """A file behind a URL, with the methods of a path that loading uses.

    If it was found in a list, `listed` has the states of all files in the list by their URLs, and the
    store is not asked again; `afresh` is the same file without them.

    >>> file = RemoteFile("s3://bucket/bm25.run.gz")
    >>> file.name, file.suffix, str(file.with_name("bm25.json"))
    ('bm25.run.gz', '.gz', 's3://bucket/bm25.json')
    """

    url: str
    listed: Mapping[str, State] | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return self.url

    def __fspath__(self) -> str:
        return self.url

    @property
    def name(self) -> str:
        """The last part of its path."""
        return name(self.url)

    @property
    def suffix(self) -> str:
        """The suffix of its name."""
        return PurePosixPath(self.name).suffix

    @property
    def stem(self) -> str:
        """Its name without the suffix."""
        return PurePosixPath(self.name).stem

    @property
    def afresh(self) -> RemoteFile:
        """The same file, whose store is asked."""
        return replace(self, listed=None)

    def with_name(self, name: str) -> RemoteFile:
        """Return the file of another name in the same folder."""
        return replace(self, url=f"{self.url.rpartition('/')[0]}/{quote(name, _IN_PATH)}")

    def stat(self) -> State:
        """Return its state. Raises FileNotFoundError, and InputError if the server fails."""
        found = _state(self.url) if self.listed is None else self.listed.get(self.url)
        if found is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", self.url)
        return found

    def exists(self) -> bool:
        """Whether it is there."""
        with contextlib.suppress(FileNotFoundError):
            return bool(self.stat())
        return False

    def is_file(self) -> bool:
        """Whether it is there: a URL never names a folder."""
        return self.exists()

    def read_text(self, encoding: str) -> str:
        """Return its text."""
        with opened(self.url) as stream:
            return stream.read().decode(encoding)


Location = Path | RemoteFile


def location(text: str | os.PathLike[str]) -> Location:
    """Return the file that a URL or a path names.

    >>> location("s3://bucket/a.run")
    RemoteFile(url='s3://bucket/a.run')
    """
    named = url(os.fspath(text))
    return Path(text) if named is None else RemoteFile(named)


def afresh(file: Location) -> Location:
    """Return a file without the facts that a list of files gave about it."""
    return file.afresh if isinstance(file, RemoteFile) else file


def files_in(folder: str) -> list[RemoteFile]:
    """Return the files in a folder of a store and in the folders in it, by URL.

    Raises InputError if the store does not answer, or the URL is of a kind that cannot be listed.
    """
    if not is_listed(folder):
        raise InputError(f"{folder}: files of this kind of URL cannot be listed; name each file")

    def ask() -> dict[str, State]:
        from pyarrow import fs

        store, path = _store(folder)
        selector = fs.FileSelector(path, recursive=True, allow_not_found=True)
        found = [one for one in store.get_file_info(selector) if one.type == fs.FileType.File]
        base = folder.rstrip("/")
        return {
            f"{base}/{quote(one.path.removeprefix(path).lstrip('/'), _IN_PATH)}": _state_of(one)
            for one in found
        }

    with _blamed(folder):
        listed = _within(_ANSWER, ask)
    return [RemoteFile(named, listed) for named in sorted(listed)]


def _state(named: str) -> State | None:
    """Ask for the state of a file; None if it is not there."""

    def ask() -> State | None:
        if scheme(named) in _WEB:
            return _state_of_web(named)
        store, path = _store(named)
        found = store.get_file_info(path)
        return _state_of(found) if found.is_file else None

    try:
        with _blamed(named):
            return _within(_ANSWER, ask)
    except FileNotFoundError:
        return None


def _state_of(found: Any) -> State:
    return State(int(found.size or 0), int(found.mtime_ns or 0))


def _state_of_web(named: str) -> State:
    from email.utils import parsedate_to_datetime
    from urllib.error import HTTPError

    try:
        answer = _web(named, "HEAD")
    except HTTPError as error:
        if error.code not in (405, 501):  # the server knows no HEAD
            raise
        answer = _web(named)
    with answer:
        headers = answer.headers
    size = int(headers.get("Content-Length") or 0)
    if tag := headers.get("ETag"):
        return State(size, _number(tag.encode()))
    if changed := headers.get("Last-Modified"):
        return State(size, int(parsedate_to_datetime(changed).timestamp()) * 10**9)
    with _web(named) as answer:  # the content alone says whether it has changed
        content = answer.read()
    return State(len(content), _number(content))


def _number(content: bytes) -> int:
    """Return a number in the place of a time, long ago, that changes with a content."""
    return int.from_bytes(hashlib.sha256(content).digest()[:7]) % 10**18


@contextlib.contextmanager
def opened(named: str) -> Iterator[BinaryIO]:
    """Yield the bytes behind a URL. Whatever goes wrong meanwhile is an InputError."""
    try:
        with _blamed(named), _within(_ANSWER, lambda: _stream(named)) as stream:
            yield stream
    except FileNotFoundError:
        raise InputError(f"{named}: no such file") from None


@contextlib.contextmanager
def _blamed(named: str) -> Iterator[None]:
    """Name the URL in every error, except that a file is not there."""
    if (refused := check(named)) is not None:
        raise refused
    try:
        yield
    except (WarehouseError, BlockingIOError, InterruptedError, FileNotFoundError):
        raise
    except Exception as error:  # each library has its own
        if getattr(error, "code", None) in (404, 410):
            raise FileNotFoundError(named) from None
        reason = getattr(error, "reason", None) or error  # urllib wraps what happened
        raise InputError(f"{named}: cannot be read: {first_line(reason)}") from error


def _within(seconds: float, ask: Callable[[], _T]) -> _T:
    """Return a server's answer. Raises TimeoutError if it does not in so many seconds."""
    answers: list[_T] = []
    errors: list[BaseException] = []

    def wait() -> None:
        try:
            answers.append(ask())
        except BaseException as error:  # raised where it is waited for
            errors.append(error)

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not answers:
        raise TimeoutError(f"no answer within {seconds} seconds")
    return answers[0]


def _stream(named: str) -> BinaryIO:
    if scheme(named) in _WEB:
        return cast(BinaryIO, _web(named))
    store, path = _store(named)
    return cast(BinaryIO, store.open_input_stream(path, compression=None))


def _web(named: str, method: str = "GET") -> Any:
    import urllib.request  # loads http, ssl and email

    agent = {"User-Agent": "ranking-warehouse"}
    asked = urllib.request.Request(named, headers=agent, method=method)
    return urllib.request.urlopen(asked, timeout=_SECONDS)


def _store(named: str) -> tuple[Any, str]:
    """Return the store of a URL, and the path in it."""
    try:
        from pyarrow import fs
    except ImportError:
        raise InputError(f"{named}: reading it needs pyarrow: {adding('arrow')}") from None
    named = quote(named, _IN_URL)
    parts = urlsplit(named)
    asked = dict(parse_qsl(parts.query))
    if parts.scheme in ("gs", "gcs") and "retry_limit_seconds" not in asked:
        named += f"{'&' if parts.query else '?'}{_GOOGLE}"
    store, path = fs.FileSystem.from_uri(named)
    if parts.scheme == "s3":
        # the same store, which gives up sooner
        keys = {
            "access_key": unquote(parts.username or ""),
            "secret_key": unquote(parts.password or ""),
        }
        known: dict[str, str] = {
            key: asked[key] for key in ("endpoint_override", "scheme") if key in asked
        }
        if given := os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL"):
            server = urlsplit(given)
            known = {"endpoint_override": server.netloc, "scheme": server.scheme} | known
        store = fs.S3FileSystem(
            region=store.region, retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=2),
            **_S3, **known, **(keys if parts.username else {}),
        )  # fmt: skip
    return store, path
