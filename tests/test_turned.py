"""A metric whose values are negated, and whose direction is turned, has the same places and verdicts."""

from __future__ import annotations

import datetime as dt
import json
import math
import random
import shlex
from pathlib import Path

import pytest
from extended import needs
from projects import SETTINGS, invoked

from warehouse.warehouse import Warehouse

METRIC = """\
/*
title = "Reciprocal rank"
summary = "The reciprocal of the rank of the first relevant document."
formula = "RR"
reads = ["hits"]
direction = "{direction}"
range = [-1, 1]
aggregate = "mean"
undefined = 0
reference = "made up"
params = ["rel"]
*/
select run_id, query_id, coalesce({sign}ratio(1, min(rank) filter (where is_rel)), 0) as value
from {{{{ hits }}}}
group by run_id, query_id
"""
PAIRS = "compare -d tiny -m M --only pairs"
CALLS = [
    "compare -d tiny -m M",
    f"{PAIRS} --base old",
    *(
        f"{PAIRS} {how}"
        for how in (
            "--test wilcoxon", "--test randomisation", "--test bootstrap", "--test tukey",
            "--test tukey-anova", "--scale z", "--rope 0.01", "--power", "--interval bca",
        )
    ),
    "leaderboard -d tiny -m M",
    "leaderboard -d tiny -m M --ranks --ci --ties",
    "leaderboard -d tiny -m M --ranks --together",
    "leaderboard -d tiny -m M --slice kind",
    "leaderboard -d tiny -d other -m M --ranks",
    "leaderboard -d tiny -d other -m M --by system --each",
    "history -d tiny -m M",
    "queries old -d tiny -m M --worst 3",
    "queries old -d tiny -m M --slice kind --worst 2",
    "agree -d tiny -d other --of runs -m M",
    *(
        pytest.param(f"{name} -d tiny -m M", marks=needs("collections"))
        for name in ("discriminate", "reusability")
    ),
    "check -d tiny -m M --max-drop 0.01",
    "check -d tiny -m M --max-drop 0.01 --against best",
    "check -d tiny -m M --max-drop 0.1 --against old --strict",
    "query \"from leaderboard where metric = 'M' and dataset = 'tiny' order by place, run\"",
    "query \"from history where metric = 'M' and dataset = 'tiny' order by step\"",
    "query \"from compare('tiny', 'old', 'bad', 'M')\"",
    "query \"from board_as_of('tiny', current_date + 1, metric_name := 'M')\"",
]  # fmt: skip
# Columns that have the metric's sign. The ends of an interval change their places as well.
SIGNED = {
    "M", "value", "their value", "their_value", "base_value", "difference", "mean_difference",
    "effect_size", "statistic", "low", "high", "best_so_far", "gain",
    "M tiny", "M other", "value_before", "value_after",
}  # fmt: skip
TURNED = {"low": "high", "high": "low"}
UNLIKE = {"direction", "metric", "evaluation_id", "fingerprint", "evaluated_at"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with the metrics Up and Down, and five runs on two datasets."""
    made = tmp_path_factory.mktemp("turned")
    (made / "warehouse.toml").write_text(SETTINGS, encoding="utf-8")
    (made / "formulas").mkdir()
    for name, direction, sign in (("Up", "higher", ""), ("Down", "lower", "-")):
        text = METRIC.format(direction=direction, sign=sign)
        (made / "formulas" / f"{name}.sql.j2").write_text(text, encoding="utf-8")
    rng = random.Random(3)
    queries = [f"q{n}" for n in range(20)]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        wh = Warehouse("w.duckdb")
        for dataset in ("tiny", "other"):
            wh.ingest_qrels(dataset, {q: {"a": 1, "x1": 0} for q in queries})
            kinds = {q: {"kind": "ab"[n % 2]} for n, q in enumerate(queries)}
            wh.ingest_attributes(dataset, kinds, of="queries", name="qs")
            lowest = {"old": 3, "new": 5, "mid": 2, "same": 2, "bad": 9}
            for day, (name, last) in enumerate(lowest.items(), 1):
                ranks = {q: rng.randint(1, last) for q in queries}
                run = {
                    q: {"a" if k == rank else f"x{k}": -float(k) for k in range(1, rank + 1)}
                    for q, rank in ranks.items()
                }
                at = dt.datetime(2026, 1, day, tzinfo=dt.UTC)
                wh.ingest_run(dataset, run, name=name, system=name[:1].upper(), run_at=at)
        wh.evaluate("tiny", metrics="Up Down", slices="kind")
        wh.evaluate("other", metrics="Up Down")
    return made


def answer(call: str, metric: str) -> tuple[int, list[dict[str, object]]]:
    """Return the exit code and the rows of a call with a metric in place of M."""
    words = [metric if w == "M" else w.replace("'M'", f"'{metric}'") for w in shlex.split(call)]
    found = invoked(*words, "--db", "w.duckdb", "-f", "json")
    assert found.exit_code in (0, 1), (call, found.output)
    rows = json.loads(found.stdout)
    for row in rows:
        for name in [name for name in row if metric in name]:
            row[name.replace(metric, "M")] = row.pop(name)
    return found.exit_code, rows


def is_equal(one: object, other: object) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        return one is not None and other is not None and math.isclose(one, other, abs_tol=1e-9)
    return one == other


@pytest.mark.sample(6)
@pytest.mark.parametrize("call", CALLS)
def test_a_turned_metric_has_the_same_verdicts(
    folder: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (code, up), (turned_code, down) = answer(call, "Up"), answer(call, "Down")
    assert code == turned_code
    assert len(up) == len(down) > 0
    for row, turned in zip(up, down, strict=True):
        for name in row.keys() - UNLIKE:
            value, other = row[name], turned[TURNED.get(name, name)]
            if name in SIGNED and isinstance(other, int | float):
                # a statistic of ranks, or of squares, has no sign
                is_like = is_equal(value, -other) or (name == "statistic" and value == other)
            else:
                is_like = is_equal(value, other)
            assert is_like, (name, row, turned)
