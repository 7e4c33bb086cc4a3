"""Files on the web and on object stores, named by URL, as streams of bytes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import BinaryIO, cast
from urllib.parse import unquote, urlsplit

from warehouse.config.installation import adding
from warehouse.errors import InputError, WarehouseError, first_line, url

_WEB = ("http", "https")
_STORES = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs")
_SECONDS = 60


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


def name(named: str) -> str:
    """Return the name of the file that a URL names.

    >>> name("https://example.org/runs/bm25%20k1.run?raw=true")
    'bm25 k1.run'
    """
    return PurePosixPath(unquote(urlsplit(named).path)).name


@contextlib.contextmanager
def opened(named: str) -> Iterator[BinaryIO]:
    """Yield the bytes behind a URL. Whatever goes wrong meanwhile is an InputError."""
    if (refused := check(named)) is not None:
        raise refused
    try:
        with _stream(named) as stream:
            yield stream
    except (WarehouseError, BlockingIOError, InterruptedError):
        raise
    except FileNotFoundError:
        raise InputError(f"{named}: no such file") from None
    except Exception as error:  # each library has its own
        reason = getattr(error, "reason", None) or error  # urllib wraps what happened
        raise InputError(f"{named}: cannot be read: {first_line(reason)}") from error


def _stream(named: str) -> BinaryIO:
    if scheme(named) in _WEB:
        import urllib.request  # loads http, ssl and email

        asked = urllib.request.Request(named, headers={"User-Agent": "ranking-warehouse"})
        return cast(BinaryIO, urllib.request.urlopen(asked, timeout=_SECONDS))
    try:
        from pyarrow import fs
    except ImportError:
        raise InputError(f"{named}: reading it needs pyarrow: {adding('arrow')}") from None
    store, path = fs.FileSystem.from_uri(named)
    return cast(BinaryIO, store.open_input_stream(path, compression=None))
