"""Many tables at once: what is read, scored and stored together is what each is by itself."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from refusals import expect_refusal

from warehouse import Warehouse
from warehouse.errors import InputError
from warehouse.readers import batches
from warehouse.store import database

QRELS = {f"q{q}": {f"d{n}": (q * n) % 3 for n in range(0, 40, 1 + q)} for q in range(6)}
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a table, what a query gives, in the format of the extension."""

    def write(name: str, sql: str) -> Path:
        path = tmp_path / name
        how = {
            ".parquet": "format parquet",
            ".csv": "format csv, header",
            ".tsv": "format csv, header, delimiter '\t'",
        }[path.suffix]
        with database.memory() as con:
            con.execute(f"copy ({sql}) to '{path}' ({how})")
        return path

    return write


def listed(seed: int) -> str:
    """Return SQL of the lists of a run, with equal scores and a query that nobody judged."""
    rng = random.Random(seed)
    rows = [
        (f"q{q}", f"d{n}{', odd' if rng.random() < 0.1 else ''}", rng.randint(0, 12) / 4)
        for q in range(1 + seed % 2, 7)
        for n in rng.sample(range(60), 25)
    ]
    if seed % 3:
        rows.sort(key=lambda row: (row[0], -row[2]))
    values = ", ".join(str(row) for row in rows)
    return f"select * from (values {values}) as t(query_id, doc_id, score)"


def sizes(paths: list[Path], **how: object) -> list[int]:
    return [len(group.sources) for group in batches.groups(paths, **how)]  # type: ignore


def at_once(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the files that are read at once, each time."""
    counted: list[int] = []
    read = batches._read_together

    def counting(con: object, files: list[object], *others: object) -> object:
        readings = read(con, files, *others)  # type: ignore
        counted.append(len(files) if readings else 0)
        return readings

    monkeypatch.setattr(batches, "_read_together", counting)
    return counted


@pytest.mark.slow
@pytest.mark.sample(3, 3)
@pytest.mark.core
@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".tsv"])
def test_what_each_is_by_itself(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    paths = [write(f"run{n}{suffix}", listed(n)) for n in range(3)]
    alone = [Warehouse.score(QRELS, path, "AP nDCG@5 NumRet Judged@5") for path in paths]
    each = Warehouse(tmp_path / "each.duckdb")
    one_by_one = [each.ingest_run("d", path) for path in paths]
    read = at_once(monkeypatch)
    scores = Warehouse.score(QRELS, paths, "AP nDCG@5 NumRet Judged@5")
    assert read == [3]
    assert scores.relation.fetchall() == [
        (name, *row)
        for name, one in zip(scores.names, alone, strict=True)
        for row in one.relation.fetchall()
    ]
    assert scores.read == tuple(one.read[0] for one in alone)
    wh = Warehouse(tmp_path / "at_once.duckdb")
    assert wh.ingest_runs("d", paths) == one_by_one
    assert read == [3, 3]
    for sql in (
        "from store.prediction order by all",
        "select * exclude (run_at, ingested_at, checksum) from store.run",
    ):
        assert wh.query(sql).fetchall() == each.query(sql).fetchall()


@pytest.mark.slow
def test_only_tables_of_one_format_and_header_are_read_at_once(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [write(f"{n}.csv", listed(n)) for n in range(2)]
    paths += [write(f"{n}.csv", f"select *, 1 as more from ({listed(n)})") for n in range(2, 4)]
    paths += [write("4.tsv", listed(4)), *(write(f"{n}.parquet", listed(n)) for n in range(5, 7))]
    assert sizes(paths) == [2, 2, 1, 2]
    assert sizes(paths[:4], normalise="lower(doc_id)") == [1, 1, 1, 1]
    # as many lines are skipped in each file: two of data in one without blank lines
    blank = write("blank.csv", listed(1))
    blank.write_text("\n\n" + blank.read_text())
    assert sizes([blank, *paths[:2]]) == [1, 2]
    monkeypatch.setattr(batches, "_BYTES", 4 * paths[-1].stat().st_size)
    assert sizes(paths[-2:]) == [1, 1]  # a byte of Parquet counts for more than one of text


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_columns_may_have_other_names_and_ranks_may_do(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    mapping = {"query_id": "topic", "doc_id": "item", "rank": "place"}
    sql = (
        "select query_id as topic, doc_id as item, "
        "row_number() over (partition by query_id order by score, doc_id) as place from ({})"
    )
    paths = [write(f"run{n}{suffix}", sql.format(listed(n))) for n in range(3)]
    read = at_once(monkeypatch)
    boards = []
    for way in ("at_once", "each"):
        wh = Warehouse(tmp_path / f"{way}.duckdb")
        wh.ingest_qrels("d", QRELS)
        for some in [paths] if way == "at_once" else [[path] for path in paths]:
            done = wh.ingest_runs("d", some, columns=mapping)
            assert {one.status for one in done} == {"loaded"}  # type: ignore[union-attr]
        wh.evaluate("d", metrics="AP P@5")
        boards.append(wh.leaderboard("d").fetchall())
    assert boards[0] == boards[1]
    assert read == [3]
    with expect_refusal("doc_idd … doc_id"):
        wh.ingest_runs("d", paths, columns={"doc_idd": "item"})


def test_types_are_those_of_each_file(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read as one table, the number 7 would be taken for what the texts 07 and 7.0 are, or be them."""
    texts = (
        "select 'q1' as query_id, unnest(['07', '7.0', '7']) as doc_id, unnest([3, 2, 1]) as score"
    )
    numbers = "select 'q1' as query_id, unnest([7, 8]) as doc_id, unnest([0.5, 0.25]) as score"
    paths = [write("texts.parquet", texts), write("numbers.parquet", numbers)]
    read = at_once(monkeypatch)
    board = Warehouse.score({"q1": {"7": 1}}, paths, "RR").board().fetchall()
    assert board == [("texts", 1 / 3), ("numbers", 1.0)]
    assert read == [0]
    # 2 ** 53 + 1 has no real number of its own
    lost = "select 'q1' as query_id, 9007199254740993::double as doc_id, 1.0 as score"
    paths = [write(f"lost{n}.parquet", lost) for n in range(2)]
    with pytest.raises(InputError, match="holds ids as real numbers"):
        Warehouse.score({"q1": {"7": 1}}, paths, "RR")


@pytest.mark.slow
@pytest.mark.core
def test_a_column_may_have_the_name_that_tells_files_apart(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken for the place of the file, it would make each of these runs the other."""
    sql = "select {} as File_Index, * from ({})"
    paths = [write(f"{n}.parquet", sql.format(1 - n, listed(n))) for n in (0, 1)]
    paths += [write(f"{n}.csv", f"select 0 as file_index, * from ({listed(n)})") for n in (2, 4)]
    alone = [tuple(Warehouse.score(QRELS, path, "AP P@5").means().values()) for path in paths]
    read = at_once(monkeypatch)
    board = Warehouse.score(QRELS, paths, "AP P@5").board().fetchall()
    assert [row[1:] for row in board] == alone
    assert read == [0, 2]


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_the_bad_ones_are_told_and_undo_no_other(write: Write, tmp_path: Path, suffix: str) -> None:
    wrong = {
        "select 'q1', 'd1', 1.0 union all select 'q1', 'd1', 0.5": "'d1' is there twice",
        "select 'q1', 'd1', 'nan'": "score",
        "select 'q1', '', '1'": "empty",
        "select 'q1', 'd1', 1.0 where false": "is empty",
    }
    bad = [
        write(f"bad{n}{suffix}", f"from ({sql}) as t(query_id, doc_id, score)")
        for n, sql in enumerate(wrong)
    ]
    first, last = write(f"a{suffix}", listed(0)), write(f"b{suffix}", listed(1))
    done = Warehouse(tmp_path / "w.duckdb").ingest_runs("d", [first, *bad, last])
    assert [isinstance(one, InputError) for one in done] == [False, *[True] * len(wrong), False]
    for path, error, message in zip(bad, done[1:-1], wrong.values(), strict=True):
        assert f"{path.name}: " in str(error)
        assert message in str(error)
        if message == "is empty":  # it can be scored: it answers nothing
            found = Warehouse.score(QRELS, [first, path, last], "AP").relation
            assert found.filter("run = 'bad3' and value > 0").fetchall() == []
            assert found.filter("run = 'bad3'").fetchall()
            continue
        with pytest.raises(InputError, match=re.escape(f"{path.name}: ")):
            Warehouse.score(QRELS, [first, path, last], "AP")


@pytest.mark.sample(5)
@pytest.mark.core
@pytest.mark.parametrize(
    ("place", "cut", "alike"),
    [(0, True, True), (1, False, True), (2, True, True), (1, True, False), (2, False, False)],
)
def test_a_damaged_file_is_told_and_undoes_no_other(
    write: Write, tmp_path: Path, place: int, cut: bool, alike: bool
) -> None:
    """DuckDB ends a transaction in which it could not read a table, without an error at its commit."""
    sql = "select 'q1' as query_id, 'd' || n as doc_id, n::{} as score from range(2000) t(n)"
    types = ["double"] * 3 if alike else ["double", "float", "integer"]
    paths = [write(f"{n}.parquet", sql.format(type)) for n, type in enumerate(types)]
    bytes_ = paths[place].read_bytes()
    damaged = bytes_[:-20] if cut else bytes_[:300] + b"\xff" * 300 + bytes_[600:]
    paths[place].write_bytes(damaged)
    wh = Warehouse(tmp_path / "w.duckdb")
    done = wh.ingest_runs("d", paths)
    assert isinstance(done[place], InputError)
    assert f"{place}.parquet: cannot be read as a table" in str(done[place])
    loaded = [str(n) for n in range(3) if n != place]
    assert [one.name for one in done if not isinstance(one, Exception)] == loaded
    assert wh.query("select name from store.run order by run_id").fetchall() == [
        (n,) for n in loaded
    ]
    with pytest.raises(InputError, match=f"{place}.parquet: cannot be read as a table"):
        Warehouse.score({"q1": {"d1": 1}}, paths, "AP")


@pytest.mark.slow
def test_a_line_that_does_not_fit_is_told(write: Write, tmp_path: Path) -> None:
    paths = [write(f"{n}.csv", listed(n)) for n in range(3)]
    text = paths[1].read_bytes()
    for line, told in (
        (b"q1,d99\n", "1.csv: 1 problem\n  line 127: "),
        (b"q1,d99,\xff\n", "1.csv: not UTF-8 text: 1 line\n  line 127: not UTF-8"),
    ):
        paths[1].write_bytes(text + line)
        done = Warehouse(tmp_path / "w.duckdb").ingest_runs("d", paths)
        assert [type(one).__name__ for one in done] == ["Loaded", "InputError", "Loaded"]
        assert told in str(done[1])


@pytest.mark.slow
@pytest.mark.core
def test_lines_may_end_in_several_ways(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of a line is no part of its last document, whatever the ends in other files are."""
    paths = [
        write(f"{n}.csv", f"select query_id, score, doc_id from ({listed(n)})") for n in range(6)
    ]
    for path in (paths[1], paths[2], paths[5]):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    for path in paths[2:4]:
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert sizes(paths) == [1, 2, 2, 1]
    alone = [tuple(Warehouse.score(QRELS, path, "AP P@5").means().values()) for path in paths]
    read = at_once(monkeypatch)
    board = Warehouse.score(QRELS, paths, "AP P@5").board().fetchall()
    assert [row[1:] for row in board] == alone
    assert read == [2, 2]


@pytest.mark.slow
def test_columns_in_another_order_are_other_columns(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    turned = "select doc_id, query_id, score"
    paths = [write("c.csv", listed(2)), write("d.csv", f"{turned} from ({listed(3)})")]
    paths += [write("a.parquet", listed(0)), write("b.parquet", f"{turned} from ({listed(1)})")]
    assert sizes(paths) == [1, 1, 2]
    alone = [tuple(Warehouse.score(QRELS, path, "AP P@5").means().values()) for path in paths]
    read = at_once(monkeypatch)
    board = Warehouse.score(QRELS, paths, "AP P@5").board().fetchall()
    assert ([row[1:] for row in board], read) == (alone, [0])


@pytest.mark.slow
def test_ranks_rank_and_scores_contradict_them(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranked = "select query_id, doc_id, rank() over (partition by query_id order by doc_id) as rank"
    paths = [write(f"{n}.parquet", f"{ranked} from ({listed(n)})") for n in range(3)]
    paths += [write(f"{n}.csv", f"{ranked}, score from ({listed(n)})") for n in range(3, 6)]
    alone = [Warehouse.score(QRELS, path, "AP P@5") for path in paths]
    read = at_once(monkeypatch)
    scores = Warehouse.score(QRELS, paths, "AP P@5")
    assert read == [3, 3]
    assert [row[1:] for row in scores.board().fetchall()] == [
        tuple(one.means().values()) for one in alone
    ]
    assert scores.read == tuple(one.read[0] for one in alone)
    assert [read.staged.ranked_by for read in scores.read] == ["rank"] * 3 + ["score"] * 3
    assert all("contradict the rank" in read.staged.warnings[0] for read in scores.read[3:])
