"""A dataset that is removed whole: nothing of it is left but what its runs were."""

from __future__ import annotations

from pathlib import Path

import pytest
from projects import command, invoked
from refusals import expect_refusal
from test_changes import everything

from warehouse.errors import UsageError
from warehouse.ingest import forget
from warehouse.sql_text import templates
from warehouse.warehouse import Warehouse

# What stays: of runs, what they were, and what was said of them; of gates, what was spent.
KEPT = {
    "alembic_version", "clock_behind", "dataset", "forgotten_run", "fusion", "fusion_query",
    "fusion_source", "gate_acceptance", "gate_alert", "gate_baseline", "gate_place", "run_tag",
    "table_total",
}  # fmt: skip


def counts(wh: Warehouse) -> dict[str, int]:
    """Return how many rows each stored table has."""
    with wh.file.read() as con:
        tables = con.execute(
            "select table_name from duckdb_tables() where schema_name = 'store' order by all"
        ).fetchall()
        return {
            name: con.execute(f'select count(*) from store."{name}"').fetchall()[0][0]
            for (name,) in dict.fromkeys(tables)
        }


@pytest.fixture
def wh(tmp_path: Path) -> Warehouse:
    made = Warehouse(tmp_path / "w.duckdb")
    everything(made)
    return made


@pytest.mark.slow
def test_every_table_is_emptied_and_the_rest_stays(wh: Warehouse) -> None:
    # as it was filled: the runs one, two, numbered and both, and the judgments of a judge as well
    would = wh.forget_dataset("tiny", dry_run=True)
    assert (would.num_runs, would.num_qrels, would.num_texts) == (4, 2, 2)
    before = counts(wh)
    others = {row[0] for row in wh.query("select run from runs where dataset = 'sides'").fetchall()}
    assert wh.forget_dataset("tiny", reason="a trial") == would
    assert [row[0] for row in wh.datasets().fetchall()] == ["sides"]
    assert {row[0] for row in wh.query("select run from runs").fetchall()} == others
    assert wh.verify().is_good
    reasons = wh.query("select reason, count(*) from store.forgotten_run group by all order by all")
    assert reasons.fetchall() == [("a trial", 4), ("why not", 1)]
    wh.forget_dataset("sides")
    left = {name for name, count in counts(wh).items() if count}
    assert left <= KEPT
    assert left >= {name for name in KEPT - {"dataset"} if before[name]}
    assert wh.verify().is_good
    # the name can be taken again, with the same contents
    wh.ingest_qrels("tiny", {"q1": {"a": 1}})
    wh.ingest_run("tiny", {"q1": {"a": 1.0}}, name="one")
    assert wh.leaderboard(metrics="RR").fetchall()[0][3] == 1.0
    assert wh.verify().is_good


def test_counts_are_of_the_dataset_alone(tmp_path: Path) -> None:
    wh = Warehouse(tmp_path / "w.duckdb")
    for dataset in ("tiny", "sides"):
        wh.ingest_qrels(dataset, {"q1": {"a": 1, "b": 0}})
        wh.ingest_run(dataset, {"q1": {"a": 1.0}}, name="one")
        wh.ingest_text(dataset, {"q1": {"text": "it"}}, of="queries", name="q")
    wh.evaluate(metrics="RR P@1")
    wh.ingest_run("tiny", {"q1": {"b": 2.0, "a": 1.0}}, name="one", replace=True)
    wh.ingest_qrels("tiny", {"q1": {"a": 1}}, replace=True)
    wh.evaluate("tiny", metrics="RR")
    expected = forget.ForgottenDataset(
        "tiny", num_runs=2, num_predictions=3, num_evaluations=3, num_qrels=2, num_judgments=3,
        num_texts=1,
    )  # fmt: skip
    assert wh.forget_dataset("tiny", dry_run=True) == expected
    assert wh.forget_dataset("tiny") == expected
    assert wh.leaderboard("sides", metrics="RR").fetchall()[0][-1] == 1.0


def test_the_number_of_a_forgotten_run_is_not_given_again(tmp_path: Path) -> None:
    wh = Warehouse(tmp_path / "w.duckdb")
    for number, name in enumerate(("one", "two", "three"), 1):
        wh.ingest_run("tiny", {"q1": {"a": 1.0}}, name=name)
        found = wh.query(f"select run_id from store.run where name = '{name}'").fetchall()
        assert found == [(number,)]
        wh.forget_dataset("tiny")


def test_a_failure_in_the_middle_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wh = Warehouse(tmp_path / "w.duckdb")
    wh.ingest_qrels("tiny", {"q1": {"a": 1}})
    wh.ingest_run("tiny", {"q1": {"a": 1.0}}, name="one")
    wh.evaluate(metrics="RR")
    before = counts(wh)

    def render(name: str, **words: object) -> str:
        sql = templates.render(name, **words)
        end = "; select error('the power failed')" if name == "statements/forget_dataset" else ""
        return sql + end

    with monkeypatch.context() as patched:
        patched.setattr(forget, "render", render)
        with pytest.raises(Exception, match="the power failed"):
            wh.forget_dataset("tiny")
    assert counts(wh) == before
    assert wh.verify().is_good


def test_it_is_asked_for_and_a_replica_is_refused(tmp_path: Path) -> None:
    wh = Warehouse(tmp_path / "w.duckdb")
    wh.ingest_qrels("tiny", {"q1": {"a": 1}})
    call = ("forget", "-d", "tiny", "--everything", "--db", str(wh.path))
    told = str(invoked(*call).exception)
    assert "1 version of qrels with 1 judgment" in told
    assert "add --yes" in told
    for words in (("one",), ("--version", "1"), ("--text", "docs"), ("--scores",)):
        refused = invoked(*call, *words, "--yes").exception
        assert isinstance(refused, UsageError)
        assert f"leave {'RUN' if words == ('one',) else words[0]} out" in str(refused)
    assert "--everything" in str(invoked("forget", "-d", "tiny", "--db", str(wh.path)).exception)
    assert len(wh.datasets()) == 1
    replica = Warehouse(wh.publish(tmp_path / "replica.duckdb").path)
    with pytest.raises(UsageError, match="replica"):
        replica.forget_dataset("tiny")
    with expect_refusal("tinny … tiny"):
        wh.forget_dataset("tinny")
    assert invoked(*call, "--yes").exit_code == 0
    # without a run there is nothing to keep, not even the name
    assert wh.query("select count(*) from store.dataset").fetchall() == [(0,)]


def test_a_removed_dataset_is_refused_by_name(wh: Warehouse) -> None:
    """Also as one of several: a board of the others alone would be another board than was asked for."""
    for name in ("one", "two"):
        wh.ingest_qrels(name, {"q": {"a": 1}})
        wh.ingest_run(name, {"q": {"a": 1.0}}, name="first")
    wh.evaluate(metrics="RR")
    wh.forget_dataset("two")
    for given in (["one", "two"], "two"):
        with pytest.raises(
            UsageError, match=r"dataset two: everything was removed .* known are one"
        ):
            wh.leaderboard(given)
    for line in (
        "evaluate -d two",
        "status -d two",
        "history -d two",
        "forget -d two --everything",
    ):
        code, _, err = command(*line.split(), "--db", str(wh.path))
        assert code == 2
        assert "everything was removed" in err
    wh.ingest_qrels("two", {"q": {"a": 1}})
    assert len(wh.leaderboard("one")) == 1
