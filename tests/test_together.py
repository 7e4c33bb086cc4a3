"""Many runs at once: what is read, scored and stored together is what each is by itself."""

from __future__ import annotations

import gzip
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from warehouse import Warehouse
from warehouse.errors import ConflictError, InputError, UsageError
from warehouse.ingest import many_runs
from warehouse.ingest.runs import load_staged
from warehouse.readers import batches

pytestmark = pytest.mark.core

METRICS = ("AP", "nDCG@5", "P@3", "RR", "bpref", "NumRet", "Judged@5")
QRELS = {f"q{q}": {f"d{n}": (q * n) % 3 for n in range(0, 40, 1 + q)} for q in range(6)}
Rows = list[tuple[str, str, float]]
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes rows as a TREC run."""

    def write(name: str, rows: Rows, *, blank: str = " ", end: str = "\n") -> Path:
        lines = [
            blank.join((query, "Q0", doc, str(rank), repr(score), name)) + end
            for rank, (query, doc, score) in enumerate(rows)
        ]
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes("".join(lines).encode())
        return path

    return write


def listed(seed: int, *, shuffled: bool = False) -> Rows:
    """Return the lists of a run with equal scores, one of them for a query that nobody judged."""
    rng = random.Random(seed)
    rows = [
        (f"q{q}", f"d{n}", float(rng.randint(0, 12)) + 1e-9 * rng.randint(0, 1))
        for q in range(1 + seed % 2, 7)
        for n in rng.sample(range(60), 25)
    ]
    rng.shuffle(rows)
    return rows if shuffled else sorted(rows, key=lambda row: (row[0], -row[2]))


def some(write: Write) -> list[Path]:
    """Write runs of several layouts, so that some are read together and some by themselves."""
    paths = [write(f"run{n}.run", listed(n)) for n in range(3)]
    paths.append(write("shuffled.run", listed(3, shuffled=True)))
    paths.append(write("tabs.run", listed(4), blank="\t"))
    paths.append(write("more_tabs.run", listed(5), blank="\t"))
    paths.append(write("blanks.run", listed(6), blank="  "))
    paths.append(write("windows.run", listed(7), end="\r\n"))
    packed = paths[0].with_name("packed.run.gz")
    packed.write_bytes(gzip.compress(write("plain.run", listed(8)).read_bytes()))
    table = paths[0].with_name("table.csv")
    rows = "".join(f"{query},{doc},{score!r}\n" for query, doc, score in listed(9))
    table.write_text(f"query_id,doc_id,score\n{rows}")
    return [*paths, packed, table, *(write(f"last{n}.run", listed(10 + n)) for n in range(2))]


def sizes(paths: list[Path]) -> list[int]:
    """Return how many sources each group has."""
    return [len(group.sources) for group in batches.groups(paths)]


def test_regular_files_of_one_layout_are_read_at_once(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = some(write)
    assert sizes(paths) == [4, 2, 1, 1, 1, 1, 2]
    assert [group.first for group in batches.groups(paths)] == [0, 4, 6, 7, 8, 9, 10]
    monkeypatch.setattr(batches, "_BYTES", 2 * max(path.stat().st_size for path in paths))
    assert sizes(paths) == [2, 2, 2, 1, 1, 1, 1, 2]
    monkeypatch.undo()
    monkeypatch.setattr(batches, "_FILES", 3)
    assert sizes(paths) == [3, 1, 2, 1, 1, 1, 1, 2]
    assert sizes([paths[0], paths[0].with_name("absent.run"), paths[1]]) == [1, 1, 1]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="this system has no such limit")
def test_no_more_files_are_open_than_the_system_lets_a_process_have(
    tmp_path: Path, program
) -> None:
    for number in range(80):
        (tmp_path / f"{number}.run").write_text("q1 Q0 a 1 1 t\n")
    line = "ulimit -n 64; warehouse ingest run '*.run' -d tiny --db w.duckdb"
    found = program.shell(line, tmp_path)
    assert found.stderr.endswith("80 of 80 files loaded or unchanged\n")


@pytest.mark.slow
@pytest.mark.sample(2, 2)
@pytest.mark.parametrize("protocol", ["default", "rectools"])
def test_scores_are_those_of_each_run(
    write: Write, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    paths, metrics = some(write), METRICS
    if protocol == "rectools":
        paths, metrics = paths[:5], ("AP", "P@3")
    alone = [Warehouse.score(QRELS, path, metrics, protocol=protocol) for path in paths]
    for bytes_ in (1 << 20, 2 * paths[0].stat().st_size):
        monkeypatch.setattr(batches, "_BYTES", bytes_)
        scores = Warehouse.score(QRELS, paths, metrics, protocol=protocol)
        expected = [
            (name, *row)
            for name, one in zip(scores.names, alone, strict=True)
            for row in one.relation.fetchall()
        ]
        assert scores.relation.fetchall() == expected
        assert scores.read == tuple(one.read[0] for one in alone)
        assert [row[1:] for row in scores.board().fetchall()] == [
            tuple(one.means().values()) for one in alone
        ]


def test_a_query_may_be_called_all(write: Write) -> None:
    paths = [write("a.run", [("all", "d", 1.0), ("q", "x", 1.0)])]
    paths.append(write("b.run", [("all", "x", 1.0), ("q", "d", 1.0)]))
    scores = Warehouse.score({"all": {"d": 1}, "q": {"d": 1}}, paths, "RR")
    assert scores.board().fetchall() == [("a", 0.5), ("b", 0.5)]


@pytest.mark.sample(2)
@pytest.mark.parametrize("size", [3, 20])
def test_no_line_is_too_long(write: Write, size: int) -> None:
    """The CSV reader drops a line that is longer than its buffers, and says nothing of it."""
    paths = [write(f"{n}.run", [("q", "a", 2.0), ("q", "b", 1.0)]) for n in range(2)]
    paths[1].write_text(paths[1].read_text().replace(" 1.run\n", f" {'t' * (size << 20)}\n"))
    assert sizes(paths) == [1, 1]
    assert Warehouse.score({"q": {"b": 1}}, paths, "RR NumRet").board().fetchall() == [
        ("0", 0.5, 2.0), ("1", 0.5, 2.0),
    ]  # fmt: skip


def test_a_metric_that_is_asked_twice_has_one_column(write: Write) -> None:
    scores = Warehouse.score(QRELS, [write("a.run", listed(0))], "AP map AP")
    assert scores.names == ("a",)
    assert scores.board().columns == ["run", "AP"]
    shown = repr(scores)
    assert "query_id" in shown
    assert not any(word in shown for word in ("Staged(", "Requested("))
    with pytest.raises(UsageError, match="use board"):
        scores.means()
    with pytest.raises(UsageError, match="use means"):
        Warehouse.score(QRELS, write("b.run", listed(0)), "AP").board()


def test_judgments_for_all_queries_are_for_those_of_each_run(write: Write) -> None:
    paths = some(write)[:3]
    scores = Warehouse.score({"d1", "d7"}, paths, "P@5 R@5", is_global=True)
    for path, row in zip(paths, scores.board().fetchall(), strict=True):
        one = Warehouse.score({"d1", "d7"}, path, "P@5 R@5", is_global=True)
        assert row[1:] == tuple(one.means().values())


def test_warnings_are_of_the_run_that_they_are_true_of(write: Write) -> None:
    flat = [(query, doc, 1.0) for query, doc, _ in listed(1)]
    against = write("against.run", listed(2))
    lines = [line.split() for line in against.read_text().splitlines()]
    ranks = [str(len(lines) - place) for place in range(len(lines))]
    against.write_text(
        "".join(
            " ".join((*line[:3], rank, *line[4:])) + "\n"
            for line, rank in zip(lines, ranks, strict=True)
        )
    )
    paths = [write("plain.run", listed(0)), write("flat.run", flat), against]
    assert sizes(paths) == [3]
    alone = [Warehouse.score(QRELS, path).read[0].staged.warnings for path in paths]
    assert [len(warnings) for warnings in alone] == [0, 1, 1]
    scores = Warehouse.score(QRELS, paths)
    assert [read.staged.warnings for read in scores.read] == alone


@pytest.mark.slow
def test_the_first_bad_file_is_told_with_its_line(write: Write) -> None:
    bad = write("bad.run", [("q1", "a", 2.0), ("q1", "b", 1.0), ("q1", "a", 0.5)])
    with pytest.raises(InputError, match=r"bad\.run: 1 problem") as found:
        Warehouse.score(QRELS, [write("good.run", listed(0)), bad])
    assert str(found.value).splitlines()[1:] == [
        "  line 3: document 'a' is there twice for query 'q1', first on line 1"
    ]
    # the CSV reader takes 1_0 for ten, in whichever file
    bad.write_text("q1 Q0 a 1 1_0 t\n")
    with pytest.raises(InputError, match="line 1: score '1_0' is not a number"):
        Warehouse.score(QRELS, [write("good.run", listed(0)), bad])
    with pytest.raises(InputError, match="no query of the run is judged"):
        Warehouse.score(QRELS, [write("good.run", listed(0)), write("x.run", [("x", "a", 1.0)])])
    with pytest.raises(InputError, match="no such file"):
        Warehouse.score(QRELS, [bad.with_name("good.run"), bad.with_name("absent.run")])


def test_what_is_of_one_run_is_refused_of_several(write: Write, tmp_path: Path) -> None:
    paths = [write("a.run", listed(0)), write("b.run", listed(1))]
    zscores = tmp_path / "z.txt"
    zscores.write_text("q1 map 0.5 0.1\n")
    for options, message in (({"zscores": zscores}, "z-scores"), ({}, "relstring")):
        with pytest.raises(UsageError, match=f"{message}: needs? one run"):
            Warehouse.score(QRELS, paths, "relstring" if not options else "AP", **options)
    with pytest.raises(UsageError, match="the list is empty"):
        Warehouse.score(QRELS, [])
    with pytest.raises(UsageError, match=r"a\.run: is given twice"):
        Warehouse.score(QRELS, [paths[0], paths[0]])


def test_columns_are_not_named_for_trec_files(write: Write, tmp_path: Path) -> None:
    paths = [write("a.run", listed(0)), write("b.run", listed(1))]
    wh = Warehouse(tmp_path / "w.duckdb")
    done = wh.ingest_runs("d", paths, columns={"score": "s"})
    assert [str(one).partition(" for csv")[0] for one in done] == ["columns can be named"] * 2


TABLES = (
    "select * exclude (run_at, ingested_at, checksum) from store.run order by run_id",
    "select run_id, query_id, doc_id, score, row_number() over () from store.prediction_by_number",
    "select run_id, query_id, doc_id, score, row_number() over () from store.prediction_by_text",
    "select run_id, query_id, num_ret from store.ranking order by all",
    "select run_id, key, value from store.run_tag order by all",
)


def stored(warehouse: Warehouse) -> list[Any]:
    """Return what a warehouse holds of its runs, the times left out, and checksums, which hold them."""
    return [warehouse.query(sql).fetchall() for sql in TABLES]


def numbers(rows: Rows) -> Rows:
    """Return the same lists with documents whose ids are whole numbers."""
    return [(query, doc.removeprefix("d"), score) for query, doc, score in rows]


@pytest.mark.slow
def test_what_is_stored_is_what_each_run_stores(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = some(write)[2:7]
    paths[1:1] = [write("numbers.run", numbers(listed(20))), write("more.run", numbers(listed(21)))]
    each = Warehouse(tmp_path / "each.duckdb")
    each.ingest_qrels("d", QRELS)
    one_by_one = [each.ingest_run("d", path, system="s", tags={"a": "b"}) for path in paths]
    monkeypatch.setattr(batches, "_FILES", 3)
    assert sizes(paths) == [3, 1, 2, 1]
    at_once = Warehouse(tmp_path / "at_once.duckdb")
    at_once.ingest_qrels("d", QRELS)
    assert at_once.ingest_runs("d", paths, system="s", tags={"a": "b"}) == one_by_one
    assert stored(at_once) == stored(each)
    again = at_once.ingest_runs("d", paths)
    assert {done.status for done in again} == {"unchanged"}  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_file_that_fails_undoes_no_other(write: Write, tmp_path: Path) -> None:
    wh = Warehouse(tmp_path / "w.duckdb")
    wh.ingest_run("d", write("taken.run", listed(1)))
    paths = [
        write("a.run", listed(0)),
        write("taken.run", listed(2)),
        write("bad.run", [("q1", "a", 1.0), ("q1", "a", 0.5)]),
        write("b.run", listed(3)),
        tmp_path / "absent.run",
        write("deeper/a.run", listed(4)),
        write("c.run", listed(5)),
    ]
    done = wh.ingest_runs("d", paths)
    kinds = [
        "Loaded",
        "ConflictError",
        "InputError",
        "Loaded",
        "InputError",
        "ConflictError",
        "Loaded",
    ]
    assert [type(one).__name__ for one in done] == kinds
    assert isinstance(done[1], ConflictError)
    assert [row[0] for row in wh.query("select name from store.run order by run_id").fetchall()] == [
        "taken", "a", "b", "c",
    ]  # fmt: skip
    again = wh.ingest_runs("d", paths[:2], replace=True)
    assert [one.status for one in again] == ["unchanged", "replaced"]  # type: ignore[union-attr]
    wh.ingest_qrels("d", QRELS)
    wh.evaluate("d", metrics="AP")
    board = wh.leaderboard("d").relation.project("run").fetchall()
    assert sorted(board) == [("a",), ("b",), ("c",), ("taken",)]


def test_a_run_without_a_name_makes_no_dataset(write: Write, tmp_path: Path) -> None:
    wh = Warehouse(tmp_path / "w.duckdb")
    table = tmp_path / "table.csv"
    table.write_text("query_id,doc_id,score\nq1,a,1\n")
    (done,) = wh.ingest_runs("new", [table], name_from="tag")
    assert "has no TREC tag" in str(done)
    assert wh.datasets().fetchall() == []


@pytest.mark.slow
def test_one_source_is_the_only_one(write: Write, tmp_path: Path) -> None:
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    rows = {"query_id": ["q"], "doc_id": ["d"], "score": [1.0]}
    path = write("one.run", [("q", "d", 1.0)])
    for one in (path, str(path), iter([path]), {path}):
        (done,) = Warehouse(tmp_path / "w.duckdb").ingest_runs("d", one)
        assert (done.name, done.num_rows) == ("one", 1)  # type: ignore[union-attr]
    for table in ({"q": {"d": 1.0}}, pd.DataFrame(rows), pl.DataFrame(rows), pa.table(rows)):
        # it has no name, which is what is wrong, and not that its columns are no files
        (refused,) = Warehouse(tmp_path / "w.duckdb").ingest_runs("d", table)
        assert "name" in str(refused)


def test_the_names_may_come_from_the_tags(write: Write, tmp_path: Path) -> None:
    paths = [write("one", listed(0)), write("two", listed(1))]
    wh = Warehouse(tmp_path / "w.duckdb")
    done = wh.ingest_runs(
        "d", [path.rename(path.with_suffix(".run")) for path in paths], name_from="tag"
    )
    assert [one.name for one in done] == ["one", "two"]  # type: ignore[union-attr]


@pytest.mark.slow
@pytest.mark.parametrize("replace", [False, True])
def test_one_name_twice_is_refused(write: Write, tmp_path: Path, replace: bool) -> None:
    """Which of them were the run, their order would say; the same file again is the same."""
    rows = listed(1)
    paths = [write("a/x.run", rows), write("b/x.run", rows), write("c/x.run", listed(2))]
    # a table is read by itself
    paths += [write("d/y.run", rows), write("e/x.csv", listed(3)), paths[0]]
    done = {}
    for way in ("at once", "one by one"):
        wh = Warehouse(tmp_path / f"{way}.duckdb")
        wh.ingest_run("d", write("x.run", listed(9)))
        wh.forget("d", "x", reason="a test")
        if way == "at once":
            loaded = wh.ingest_runs("d", paths, tags={"a": "b"}, replace=replace)
        else:
            each = (paths[0], paths[3])
            loaded = [wh.ingest_run("d", path, tags={"a": "b"}, replace=replace) for path in each]
        done[way] = loaded, stored(wh)
    loaded = done["at once"][0]
    assert [loaded[0], loaded[3]] == done["one by one"][0]
    assert done["at once"][1] == done["one by one"][1]
    assert (loaded[5].status, loaded[5].version) == ("unchanged", 2)  # type: ignore[union-attr]
    assert "same as those of run x" in loaded[3].warnings[0]  # type: ignore[union-attr]
    for number in (1, 2, 4):
        assert isinstance(loaded[number], ConflictError)
        assert str(loaded[number]).startswith(
            f"{paths[number]}: would be run x, like {paths[0]}: load one of them by itself"
        )


def test_one_tag_twice_is_refused(write: Write, tmp_path: Path) -> None:
    paths = [write(f"{name}.run", listed(1)) for name in ("x", "y")]
    paths[1].write_text(paths[1].read_text().replace(" y.run\n", " x.run\n"))
    done = Warehouse(tmp_path / "w.duckdb").ingest_runs("d", paths, name_from="tag", replace=True)
    assert [type(one).__name__ for one in done] == ["Loaded", "ConflictError"]


def test_what_is_read_at_once_is_stored_whole_or_not_at_all(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wh = Warehouse(tmp_path / "w.duckdb")
    paths = [write(f"run{n}.run", listed(n)) for n in range(4)]
    monkeypatch.setattr(batches, "_FILES", 2)
    calls = iter([None, RuntimeError("the disk is full")])

    def load(*arguments: Any) -> Any:
        done = load_staged(*arguments)
        if error := next(calls):
            raise error
        return done

    monkeypatch.setattr(many_runs, "load_staged", load)
    done: list[tuple[object, object]] = []
    with pytest.raises(RuntimeError, match="the disk is full"):
        wh.ingest_runs("d", paths, on_run=lambda path, one: done.append((path, one.name)))  # type: ignore[union-attr]
    assert done == [(paths[0], "run0"), (paths[1], "run1")]
    assert wh.query("select name from store.run order by run_id").fetchall() == [
        ("run0",),
        ("run1",),
    ]
    runs = "select distinct run_id from store.prediction union select distinct run_id from store.ranking"
    assert sorted(wh.query(runs).fetchall()) == [(1,), (2,)]
