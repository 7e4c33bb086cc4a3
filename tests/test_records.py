"""What people hold in Python: records, generators, lists of hits, splits, sparse matrices."""

from __future__ import annotations

import dataclasses
import re
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
from refusals import expect_refusal
from staging import rows

from warehouse import Warehouse, readers
from warehouse.errors import InputError

QRELS = {"q1": {"a": 2, "b": 0}, "q2": {"c": 1}}
RUN = {"q1": {"b": 0.9, "a": 0.5}, "q2": {"c": 0.25}}
STAGED = [(query, doc, score) for query, docs in RUN.items() for doc, score in docs.items()]
Doc = namedtuple("Doc", ["qid", "docno", "score"])


@dataclasses.dataclass
class Hit:
    """A hit of some library."""

    query_id: str
    doc_id: str
    score: float


HELD: dict[str, Any] = {
    "named tuples": [Doc(*row) for row in STAGED],
    "dataclasses": [Hit(*row) for row in STAGED],
    "dicts": [{"query-id": q, "corpus-id": d, "score": s} for q, d, s in STAGED],
    "hits": {q: [{"corpus_id": d, "score": s} for d, s in docs.items()] for q, docs in RUN.items()},
    "splits": {"dev": {"q1": RUN["q1"]}, "test": {"q2": RUN["q2"]}},
}


@pytest.mark.core
@pytest.mark.parametrize("held", HELD)
def test_one_run_is_scored(con, held):
    """a is second for q1, and c first for q2: RR is 1/2 and 1."""
    readers.stage(con, HELD[held], "run")
    assert rows(con) == STAGED
    assert Warehouse.score(QRELS, HELD[held], "RR").means() == {"RR": 0.75}


def test_qrels_and_runs_of_ir_measures(tmp_path):
    """Lists and generators, as ir_measures reads them; its own value is the same."""
    ir_measures = pytest.importorskip("ir_measures")
    (tmp_path / "q").write_text("q1 0 a 2\nq1 0 b 0\nq2 0 c 1\n")
    (tmp_path / "r").write_text("q1 Q0 b 1 0.9 x\nq1 Q0 a 2 0.5 x\nq2 Q0 c 1 0.25 x\n")

    def qrels():
        return ir_measures.read_trec_qrels(str(tmp_path / "q"))

    def run():
        return ir_measures.read_trec_run(str(tmp_path / "r"))

    wanted = ir_measures.calc_aggregate([ir_measures.nDCG @ 2], qrels(), run())
    ours = Warehouse.score(qrels(), list(run()), "nDCG@2").means()
    assert ours["nDCG@2"] == pytest.approx(wanted[ir_measures.nDCG @ 2], abs=1e-12)
    assert Warehouse.score(list(qrels()), run(), "nDCG@2").means() == ours


def test_frames_of_pyterrier():
    pd = pytest.importorskip("pandas")
    judged = [(q, d, grade) for q, docs in QRELS.items() for d, grade in docs.items()]
    qrels = pd.DataFrame(judged, columns=["qid", "docno", "label"])
    run = pd.DataFrame(STAGED, columns=["qid", "docno", "score"]).assign(docid=1, query="x", rank=0)
    assert Warehouse.score(qrels, run, "RR").means() == {"RR": 0.75}


def test_matrices():
    """Row 0 has its label 2 second, row 1 its label 0 first."""
    sparse = pytest.importorskip("scipy.sparse")
    labels = sparse.csr_matrix([[0, 0, 1], [1, 0, 0]])
    scores = sparse.csr_array([[0.5, 0.0, 0.25], [0.75, 0.5, 0]])
    assert Warehouse.score(labels, scores, "RR P@1").means() == {"RR": 0.75, "P@1": 0.5}
    # a dense one also has the scores of 0
    assert Warehouse.score(labels.toarray(), scores.toarray(), "RR").means() == {"RR": 0.75}


def test_lists_of_hits_by_place(con):
    """As semantic_search of sentence-transformers returns them: the ids are places."""
    hits = [[{"corpus_id": 7, "score": 0.5}], [{"corpus_id": 0, "score": 0.25}]]
    readers.stage(con, hits, "run")
    assert rows(con) == [("0", "7", 0.5), ("1", "0", 0.25)]


def test_what_is_no_record(con):
    with expect_refusal("query 'q' is in several splits (a, b) … source['b']"):
        readers.stage(con, {"a": {"q": {"d": 1}}, "b": {"q": {"e": 1}}}, "run")
    with expect_refusal("holds a int"):
        readers.stage(con, iter([1]), "run")
    with expect_refusal("may be scores or ids"):
        readers.stage(con, pytest.importorskip("numpy").array([[3, 7]]), "run")
    with expect_refusal("there is no record", InputError):
        readers.stage(con, iter([]), "run")
    with pytest.raises(InputError) as caught:
        readers.stage(
            con, [Doc("q", "d", 1.0), Doc("q", "e", float("nan")), Doc("q", "d", 2)], "run"
        )
    assert caught.value.problems == (
        (None, "row 2: score 'nan' is not a finite number"),
        (None, "row 3: document 'd' is there twice for query 'q', first in row 1"),
    )
    # several runs are still several
    board = Warehouse.score(QRELS, [RUN, HELD["named tuples"]], "RR").board().fetchall()
    assert board == [("run 1", 0.75), ("run 2", 0.75)]


def test_columns_that_are_arrays(con):
    """Flat, or one row for each query, of any library whose objects turn into arrays."""
    np = pytest.importorskip("numpy")

    class Tensor:
        """What a library hands out that NumPy can read and that has no other method."""

        def __init__(self, values: Any) -> None:
            self.values = np.array(values)

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return self.values

    ids, scores = [["b", "a"], ["c", "x"]], [[0.9, 0.5], [0.25, 0.125]]
    for held in (
        {"query_id": ["q1", "q2"], "doc_id": np.array(ids), "score": Tensor(scores)},
        {"user": np.array(["q1", "q2"]), "items": ids, "score": scores},
    ):
        readers.stage(con, held, "run")
        assert rows(con) == [*STAGED, ("q2", "x", 0.125)]
    readers.stage(con, {"doc_id": Tensor(ids), "score": Tensor(scores)}, "run")
    assert [row[0] for row in rows(con)] == ["0", "0", "1", "1"]
    flat = dict(
        zip(["query_id", "doc_id", "score"], map(np.array, zip(*STAGED, strict=True)), strict=True)
    )
    assert Warehouse.score(QRELS, flat, "RR").means() == {"RR": 0.75}
    assert Warehouse.score(Tensor([[0, 1]]), Tensor([[0.9, 0.5]]), "RR").means() == {"RR": 0.5}
    with expect_refusal("not of one length: query_id 1, doc_id 2, score 2", InputError):
        readers.stage(con, {**flat, "query_id": ["q1"], "doc_id": ids, "score": scores}, "run")
    with expect_refusal("whole numbers", Exception):
        readers.stage(con, Tensor([[1, 2]]), "run")
    # a query may have the name of a column
    readers.stage(con, {"doc_id": {"d": 1.0}}, "run")
    assert rows(con) == [("doc_id", "d", 1.0)]


@pytest.mark.slow
def test_what_the_manual_lists_is_read():
    """Each line of its table gives the same: 7 stands second for 0, and 5 first for 1."""
    names: dict[str, Any] = {
        "np": pytest.importorskip("numpy"),
        "pd": pytest.importorskip("pandas"),
    }
    names["csr_matrix"] = pytest.importorskip("scipy.sparse").csr_matrix
    names["Hit"] = namedtuple("Hit", ["query_id", "doc_id", "score"])
    names["found"] = [("0", "3", 0.5), ("0", "7", 0.4), ("1", "5", 0.3)]
    page = Path(__file__).parent.parent.joinpath("docs", "how-to", "python.md").read_text()
    lines = re.findall(r"^\| .* \| `(run = .*)` \|$", page, re.MULTILINE)
    assert len(lines) == 11
    for line in lines:
        exec(line, names)
        found = Warehouse.score({"0": {"7": 1}, "1": {"5": 1}}, names["run"], "RR")
        assert found.means() == {"RR": 0.75}, line
