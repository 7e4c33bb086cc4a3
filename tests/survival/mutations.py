"""Files of every format with mistakes: read the same way by every path, or refused in a sentence.

A file is read by itself, once more line by line if it is TREC, and together with a copy of it if it is
a run; attributes and texts have one way. The ways agree on every row, or all refuse it. The work is
done in forks of this process, so that one that crashes is found, with the file that did it.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import random
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from tests.survival.outcome import Outcome, check_sentence
from warehouse import readers
from warehouse.errors import InputError, UsageError
from warehouse.readers import batches, trec
from warehouse.readers.attributes import stage_attributes
from warehouse.readers.texts import stage_texts
from warehouse.store import database

# How many files one process reads.
CHUNK = 500
QUERIES, DOCS = 4, 5


def _rows() -> list[tuple[str, str, int]]:
    return [(f"q{q}", f"d{q}{d}", DOCS - d) for q in range(QUERIES) for d in range(DOCS)]


def _lines(template: str, head: str = "") -> bytes:
    lines = (
        template.format(q=q, d=d, n=n, g=n % 3, rank=DOCS + 1 - n, s=n / 4) for q, d, n in _rows()
    )
    return (head + "".join(f"{line}\n" for line in lines)).encode()


def _nested(of: Callable[[int], float]) -> bytes:
    found: dict[str, dict[str, float]] = {}
    for q, d, n in _rows():
        found.setdefault(q, {})[d] = of(n)
    return json.dumps(found).encode()


def _parquet(columns: str) -> bytes:
    import duckdb

    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as con:
        path = Path(folder) / "x.parquet"
        values = ", ".join(f"('{q}', '{d}', {n})" for q, d, n in _rows())
        con.execute(f"copy (select {columns} from (values {values}) as t(q, d, n)) to '{path}'")
        return path.read_bytes()


# By name: the suffix, the kind, and a good file.
FILES: dict[str, tuple[str, str, Callable[[], bytes]]] = {
    "TREC run": (".run", "run", lambda: _lines("{q} Q0 {d} {rank} {s} tag")),
    "TREC run, tabs": (".run", "run", lambda: _lines("{q}\tQ0\t{d}\t{rank}\t{s}\ttag")),
    "TREC qrels": (".txt", "qrels", lambda: _lines("{q} 0 {d} {g}")),
    "TREC qrels, iterations": (".txt", "iterations", lambda: _lines("{q} {n} {d} {g}")),
    "preferences": (".prefs", "preferences", lambda: _lines("{q} j 0 {d} {s}")),
    "CSV run": (".csv", "run", lambda: _lines('{q},"{d}",{s}', "query_id,doc_id,score\n")),
    "CSV qrels": (".csv", "qrels", lambda: _lines("{q},{d},{g}", "query_id,doc_id,relevance\n")),
    "TSV run": (".tsv", "run", lambda: _lines("{q}\t{d}\t{rank}", "query_id\tdoc_id\trank\n")),
    "TSV training": (".tsv", "training", lambda: _lines("{q}\t{d}", "query_id\tdoc_id\n")),
    "JSON Lines run": (".jsonl", "run", lambda: _lines(
        '{{"query_id": "{q}", "doc_id": "{d}", "score": {s}}}')),
    "JSON Lines qrels": (".jsonl", "qrels", lambda: _lines(
        '{{"query_id": "{q}", "doc_id": "{d}", "relevance": {g}}}')),
    "ranx run": (".json", "run", lambda: _nested(lambda n: n / 4)),
    "ranx qrels": (".json", "qrels", lambda: _nested(lambda n: n % 3)),
    "TREC training": (".txt", "training", lambda: _lines("{q} 0 {d} {g}")),
    "CSV attributes": (".csv", "attributes", lambda: _lines(
        '{d},"kind {n}",{s},{rank}', "doc_id,kind,size,rank\n")),
    "JSON Lines attributes": (".jsonl", "attributes", lambda: _lines(
        '{{"doc_id": "{d}", "year": {n}, "tags": ["a{n}", "b"]}}')),
    "Parquet attributes": (".parquet", "attributes", lambda: _parquet(
        "d as doc_id, q as kind, n as year, [q, d] as tags")),
    "TSV texts": (".tsv", "texts", lambda: _lines("{d}\tthe text of {d}, {s}")),
    "JSON Lines texts": (".jsonl", "texts", lambda: _lines(
        '{{"_id": "{d}", "title": "on {q}", "text": "the text of {d}"}}')),
    "Parquet run": (".parquet", "run", lambda: _parquet(
        "q as query_id, d as doc_id, n::double as score")),
    "Parquet qrels": (".parquet", "qrels", lambda: _parquet(
        "q as query_id, d as doc_id, n::integer as relevance")),
}  # fmt: skip

# What a mistake puts into a file.
TOKENS = [
    b"\x00", b"\xff", b"\xc3\x28", b"\xef\xbb\xbf", "\u2028".encode(), "\u00a0".encode(), b"\r",
    b"\r\n", b"\n\n", b"\t", b" ", b"  ", b",", b'"', b'""', b"'", b"#", b"# c\n", b"\\", b"{", b"}",
    b"[", b"]", b"[" * 600, b"null", b"NaN", b"nan", b"inf", b"-inf", b"1e999", b"-0", b"+1", b"0x10",
    b"1_000", b"9" * 30, b"1.5", b"1,5", b"-3", b"true", b"", b"\x1a", b"\x1b[31m", b"a" * 5000,
    "\u0661".encode(), "\U0001f600".encode(), b"query_id", b"--", b"/*", b";", b"%s", b"{{x}}",
]  # fmt: skip


def _flip(data: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << dice.randrange(8))]) + data[at + 1 :]


def _cut(data: bytes, dice: random.Random) -> bytes:
    return data[: dice.randrange(len(data) + 1)]


def _drop(data: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(data))
    return data[:at] + data[at + dice.choice([1, 1, 2, 7, 40]) :]


def _insert(data: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(data) + 1)
    return data[:at] + dice.choice(TOKENS) + data[at:]


def _field(data: bytes, dice: random.Random) -> bytes:
    """Put a token in the place of a word."""
    words = data.replace(b"\n", b" \n ").split(b" ")
    words[dice.randrange(len(words))] = dice.choice(TOKENS)
    return b" ".join(words).replace(b" \n ", b"\n")


def _by_line(data: bytes, dice: random.Random) -> bytes:
    """Double, drop, swap or join lines."""
    lines = data.splitlines(keepends=True)
    one, other = dice.randrange(len(lines)), dice.randrange(len(lines))
    how = dice.randrange(5)
    if how == 0:
        lines.insert(other, lines[one])
    elif how == 1:
        del lines[one]
    elif how == 2:
        lines[one], lines[other] = lines[other], lines[one]
    elif how == 3:
        lines[one] = lines[one].rstrip(b"\r\n")
    else:
        lines[one] = lines[one].replace(b" ", b"\t", 1)
    return b"".join(lines)


def _ends(data: bytes, dice: random.Random) -> bytes:
    """Take other line ends, everywhere or once."""
    end = dice.choice([b"\r\n", b"\r", b" \n", b"\n\n", "\u2028".encode(), b"\x0b", b"\x0c"])
    return data.replace(b"\n", end, dice.choice([-1, 1]))


def _twice(data: bytes, dice: random.Random) -> bytes:
    return data + dice.choice([b"", b"\xef\xbb\xbf", b"\n"]) + data


def _encoded(data: bytes, dice: random.Random) -> bytes:
    text = data.decode("latin-1")
    return text.encode(dice.choice(["utf-16", "utf-16-le", "utf-8-sig", "utf-32"]))


MUTATORS = [
    _flip, _cut, _drop, _insert, _insert, _field, _field, _by_line, _by_line, _ends, _twice, _encoded,
]  # fmt: skip


def mutated(seed: int) -> tuple[str, str, bytes]:
    """Return the name of a format, a suffix and the bytes of a file with one to three mistakes."""
    dice = random.Random(seed)
    name = dice.choice(list(FILES))
    suffix, _, good = FILES[name]
    data = good()
    for _ in range(dice.choice([1, 1, 2, 3])):
        data = dice.choice(MUTATORS)(data or b"\n", dice)
    if dice.random() < 0.1:
        data, suffix = gzip.compress(data, mtime=0), f"{suffix}.gz"
        if dice.random() < 0.5:
            data = dice.choice([_flip, _cut, _drop, _twice])(data, dice)
    return name, suffix, data


Read = tuple[str, Any]
# Where a compressed file is unpacked, in messages of the engine.
_COPY = re.compile(r"[^\s'\"]*warehouse-[\w.]+/")


def _read(con: Any, stage: Callable[[], object], file: str, table: str = "staged") -> Read:
    """Return what is staged of the file, or why nothing is."""
    try:
        stage()
    except (InputError, UsageError) as refusal:
        check_sentence(str(refusal), file)
        return "refused", _COPY.sub("", str(refusal))
    columns = [row[0] for row in con.execute(f"describe {table}").fetchall()]
    kept = ", ".join(column for column in columns if column != "run_number")
    first = "where run_number = 0" if "run_number" in columns else ""
    return "read", con.execute(f"select {kept} from {table} {first} order by all").fetchall()


# What is read in one way alone, with the table where it then is.
_OF_DOCUMENTS: dict[str, tuple[Callable[..., object], str]] = {
    "attributes": (stage_attributes, "staged_attribute"),
    "texts": (stage_texts, "staged_text"),
}


def read_every_way(con: Any, path: Path, kind: Any) -> str:
    """Read a file in every way and return how it ended. Raises AssertionError if the ways differ."""
    if kind in _OF_DOCUMENTS:
        stage, table = _OF_DOCUMENTS[kind]
        return _read(con, lambda: stage(con, str(path), "document"), path.name, table)[0]
    format = "prefs" if kind == "preferences" else None
    as_kind = "qrels" if kind == "preferences" else kind

    def alone() -> object:
        return readers.stage(con, str(path), as_kind, format=format)

    def together() -> object:
        with contextlib.closing(batches.groups([str(path), str(copy)])) as groups:
            first = next(next(groups).read(con))
        if isinstance(first, batches.Refusal):
            raise first.error
        return first

    found = _read(con, alone, path.name)
    with mock.patch.object(trec, "_is_regular", return_value=False):
        careful = _read(con, alone, path.name)
    assert found == careful, f"{found}, but line by line {careful}"
    if kind == "run":
        copy = path.with_name(f"copy-{path.name}")
        copy.write_bytes(path.read_bytes())
        beside = _read(con, together, path.name)
        assert found == beside, f"{found}, but beside another {beside}"
    return found[0]


def survive(outcome: Outcome, count: int, seed: int) -> None:
    """Read so many files, and check each."""
    outcome.begin(count, f"{count:,} files of {len(FILES)} kinds")
    done = 0
    while done < count:
        first, size = seed * 1_000_000 + done, min(CHUNK, count - done)
        done += _chunk(outcome, first, size)


def _chunk(outcome: Outcome, first: int, size: int) -> int:
    """Read files in a fork of this process; return how many, up to one that crashed it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "w") as told, tempfile.TemporaryDirectory() as folder:
            con = database.memory(database.Resources(threads=1))
            for number in range(first, first + size):
                name, suffix, data = mutated(number)
                path = Path(folder) / f"mutated{suffix}"
                path.write_bytes(data)
                one = Outcome("")
                with one.case(f"{name}, seed {number}"):
                    one.add(read_every_way(con, path, FILES[name][1]), name)
                print(json.dumps([name, dict(one.ends), one.failures]), file=told, flush=True)
        os._exit(0)
    os.close(writing)
    lines = 0
    with os.fdopen(reading) as answers:
        for line in answers:
            name, ends, failures = json.loads(line)
            for end, number in ends.items():
                outcome.add(end, name, number)
            outcome.failures += [tuple(failure) for failure in failures]
            lines += 1
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) == 0:
        return size
    outcome.failures.append((f"{mutated(first + lines)[0]}, seed {first + lines}", "a crash"))
    return lines + 1
