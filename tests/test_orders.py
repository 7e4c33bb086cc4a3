"""However the lines of a run stand in its source, its documents are ranked by score and tie rule.

Ranks are found by place, by counting or by sorting, as it is fastest for what is read; the twins in
plain Python know nothing of that.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import duckdb
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from quick import examples
from rows import insert
from test_metric_properties import Qrels, Run, collection
from twins import close, counted, own, ranked, rules_of, twin

from warehouse import Warehouse
from warehouse.metrics import notation
from warehouse.metrics.protocols import Protocol
from warehouse.readers import checks

METRICS = ("RR", "AP", "AP@3", "P@2", "bpref", "NumRet")
Rows = list[tuple[str, str, float]]
Values = dict[tuple[str, str], float | None]


def by_list(rows: Rows) -> Rows:
    """Return the rows list by list, each in the order that it has."""
    return sorted(rows, key=lambda row: row[0])


# How the shuffled rows of a run may stand in its source.
ORDERS: dict[str, Callable[[Rows], Rows]] = {
    "as they come": lambda rows: rows,
    "list by list": by_list,
    "best first": lambda rows: by_list(sorted(rows, key=lambda row: -row[2])),
    "best first in 32 bits": lambda rows: by_list(
        sorted(rows, key=lambda row: -oracles.single(row[2]))
    ),
    "best first, the lists in one another": lambda rows: sorted(rows, key=lambda row: -row[2]),
    "worst first": lambda rows: by_list(sorted(rows, key=lambda row: row[2])),
}


def trec(path: Path, rows: Rows, rank: Callable[[int], int]) -> Path:
    lines = [f"{q} Q0 {d} {rank(place)} {s!r} t\n" for place, (q, d, s) in enumerate(rows, 1)]
    path.write_text("".join(lines))
    return path


def table(path: Path, rows: Rows) -> Path:
    with duckdb.connect() as con:
        con.execute("create table run (query_id varchar, doc_id varchar, score double)")
        insert(con, "run", rows)
        con.execute(f"copy run to '{path}'")
    return path


def nested(rows: Rows) -> Run:
    run: Run = {}
    for query, doc, score in rows:
        run.setdefault(query, {})[doc] = score
    return run


SOURCES: dict[str, Callable[[Path, Rows], object]] = {
    "TREC": lambda folder, rows: trec(folder / "a.run", rows, lambda place: place),
    "TREC without ranks": lambda folder, rows: trec(folder / "a.run", rows, lambda place: 0),
    "TREC, ranks that fall": lambda folder, rows: trec(
        folder / "a.run", rows, lambda place: -place
    ),
    "CSV": lambda folder, rows: table(folder / "a.csv", rows),
    "Parquet": lambda folder, rows: table(folder / "a.parquet", rows),
    "dict": lambda folder, rows: nested(rows),
}


def scored(qrels: Qrels, source: object, folder: Path, protocol: str, lower: bool) -> Values:
    options = {"protocol": protocol, "lower_is_better": lower}
    rows = Warehouse.score(qrels, source, METRICS, **options).relation.fetchall()
    return {(metric, query): value for query, metric, value in rows if query != "all"}


def together(qrels: Qrels, source: object, folder: Path, protocol: str, lower: bool) -> Values:
    """Score it as the second of two runs, which are read at once if they can be."""
    other = trec(folder / "other.run", [("anchor", "a", 1.0)], lambda place: place)
    options = {"protocol": protocol, "lower_is_better": lower}
    rows = Warehouse.score(qrels, [other, source], METRICS, **options).relation.fetchall()
    run = rows[-1][0]
    return {(m, query): value for name, query, m, value in rows if name == run and query != "all"}


def stored(qrels: Qrels, source: object, folder: Path, protocol: str, lower: bool) -> Values:
    """Evaluate it, with other runs and another dataset's before and after it in the file."""
    wh = Warehouse(folder / "orders.duckdb")
    wh.ingest_qrels("d", qrels)
    first = {"anchor": {"1": 2.0, "a": 1.0}}
    numbers = {"anchor": {"1": 2.0, "2": 2.0, "3": 1.0}}
    wh.ingest_run("d", first, name="first")
    wh.ingest_run("d", numbers, name="numbers")
    wh.ingest_run("d", source, name="run", lower_is_better=lower)
    wh.ingest_run("another", first, name="first")
    wh.ingest_run("another", numbers, name="numbers")
    wh.ingest_run("d", source, name="last", lower_is_better=not lower)
    wh.evaluate("d", metrics=METRICS, protocol=protocol)
    rows = wh.query("select metric, query_id, value from query_scores where run = 'run'").fetchall()
    return {(metric, query): value for metric, query, value in rows}


def numbered(doc: str) -> str:
    """Return a number as the id of a document; in text they stand in another order."""
    return str(sum(ord(letter) * 7**place for place, letter in enumerate(doc)))


IDS: dict[str, Callable[[str], str]] = {
    "words": lambda doc: doc,
    "numbers": numbered,
    "numbers that begin with 0": lambda doc: "0" + numbered(doc),
    "numbers and words": lambda doc: numbered(doc) if doc < "h" else doc,
}


def expected(qrels: Qrels, run: Run, rules: Protocol) -> Values:
    found: Values = {}
    for query in (query for query in counted(qrels, run, rules) if query in run):
        one = ranked(query, run, qrels.get(query, {}), rules)
        if rules.relevant_only and not oracles.relevant(one.grades, 1):
            continue
        for metric in notation.parse(*METRICS, defaults=rules.defaults()):
            value = twin(metric.name, oracles)(one.docs, one.grades, **own(metric))
            found[str(metric), query] = rules.undefined_of(metric) if value is None else value
    return found


def named(lists: Run, name: Callable[[str], str]) -> Run:
    """Give the documents of qrels or a run other names."""
    return {q: {name(doc): value for doc, value in found.items()} for q, found in lists.items()}


@given(
    seed=st.integers(0, 2**32 - 1),
    order=st.sampled_from(list(ORDERS)),
    source=st.sampled_from(list(SOURCES)),
    way=st.sampled_from([scored, scored, together, stored, stored]),
    ids=st.sampled_from(list(IDS)),
    protocol=st.sampled_from(["default", "trec_eval_9", "trec_eval_10", "rectools"]),
    lower=st.booleans(),
    in_pieces=st.booleans(),
)
@examples(12)
def test_ranks_do_not_depend_on_the_order_of_the_lines(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    order: str,
    source: str,
    way: Callable[..., Values],
    ids: str,
    protocol: str,
    lower: bool,
    in_pieces: bool,
) -> None:
    rng = random.Random(seed)
    qrels, run = (named(each, IDS[ids]) for each in collection(rng))
    rows = [(query, doc, score) for query, found in run.items() for doc, score in found.items()]
    rng.shuffle(rows)
    rows = ORDERS[order](rows)
    wanted = expected(qrels, nested(rows), rules_of(protocol))
    given_rows = [(query, doc, -score if lower else score) for query, doc, score in rows]
    folder = tmp_path_factory.mktemp("orders")
    with pytest.MonkeyPatch.context() as patch:
        if in_pieces:  # as lists of a million rows are
            patch.setattr(checks, "_WALK", 1)
            patch.setattr(checks, "_PIECE", 2)
            patch.setattr(checks, "_PIECES", 2)
        found = way(qrels, SOURCES[source](folder, given_rows), folder, protocol, lower)
    assert wanted
    assert wanted.keys() <= found.keys()
    for key, value in wanted.items():
        assert close(found[key], value), (key, found[key], value)
