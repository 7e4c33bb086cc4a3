"""Our values against those that ir_measures printed, in the shared cases; see test_golden."""

from __future__ import annotations

from functools import lru_cache

import pytest
from conformance import Ours, looked_at_with, peer_keys, tied_queries
from shared_cases import EDGES, Case, Golden, aggregate_of, needs_cases, opened

from warehouse.errors import UsageError
from warehouse.metrics import notation, protocols
from warehouse.warehouse import Warehouse

pytestmark = needs_cases


# Names of ir_measures that are no metric here yet. `test_ir_measures` fails when one is read.
IR_MEASURES_NOT_YET: set[str] = set()
# Names that mean something else there.
IR_MEASURES_OTHERWISE = {
    # `beta` is handed to trec_eval's set_F as its x, which is beta squared.
    "SetF(beta=0.5)": "SetF(x=0.5)",
    # With a level, NumRet counts the relevant documents retrieved.
    "NumRet(rel=1)": "NumRelRet",
    # The area under the ROC curve; elsewhere Accuracy is a hit or none.
    "Accuracy": "AUC(ties=input)",
    "Accuracy@10": "AUC(ties=input)@10",
}
# Served by providers that order equal scores by document id, ascending, or leave them as they came.
OTHER_TIES = {
    "RR@10", "RR(rel=2)@10", "Judged@5", "Judged@10", "Judged@100", "Compat", "Compat(p=0.8)",
    "Accuracy", "Accuracy@10", "RBP(rel=1)",
}  # fmt: skip
# Served by gdeval, which keeps scores as doubles and prints five decimals.
GDEVAL = {"nDCG(dcg='exp-log2')@10", "ERR@10", "ERR@20"}


def test_ir_measures_not_yet_is_not_there():
    for name in IR_MEASURES_NOT_YET:
        with pytest.raises(UsageError):
            notation.parse(name)


@pytest.mark.sample(2, 2)
@pytest.mark.parametrize(("data", "run", "opts"), peer_keys("ir_measures"))
def test_ir_measures(data: Case, run: str, opts: str) -> None:
    """ir_measures asks pytrec_eval for most measures and counts a missing query as 0 (trec_eval -c).

    Its names are read as they are. Not comparable where two scores of the query are equal in 32 bits:
    the measures of `OTHER_TIES` and `GDEVAL`, and RBP, whose order cwl_eval leaves as it comes.
    """
    golden = golden_of(data, run)
    together = looked_at_with(data, run)
    measures = {measure for each in together for measure, _ in golden_of(data, each)}
    plain = {m: IR_MEASURES_OTHERWISE.get(m, m) for m in measures}
    readable = {m: name for m, name in plain.items() if m not in IR_MEASURES_NOT_YET}
    judged = {m: n.replace("(judged_only=True)", "") for m, n in readable.items() if "judged" in n}
    plain = {m: n for m, n in readable.items() if m not in judged}

    tied = tied_queries(data.runs[run])
    compared = 0
    wrong = []
    for names, judged_only in ((plain, False), (judged, True)):
        if not names:
            continue
        ours = scored_by_name(data, tuple(together), tuple(sorted(names.items())), judged_only)[run]
        silent = ours.silent
        for (measure, query), text in golden.items():
            if measure not in names:
                continue
            value = ours.values.get((measure, query))
            theirs = float(text)
            if query in silent:
                assert value is None
                assert theirs == 0.0, f"{measure} of the missing query {query}"
                continue
            everything = query == "all"
            open_order = measure in OTHER_TIES | GDEVAL or "RBP" in measure
            if open_order and (tied if everything else query in tied):
                continue
            if "RBP" in measure and data.name == f"{EDGES}/interleaved_queries":
                continue  # cwl_eval takes the lines of a query that stand together for all of them
            if measure == "NumQ" and everything:
                theirs += len(silent)  # a query of which the run is silent is not counted there
            if measure == "NumRel" and everything:
                theirs += ours.values["NumRel of the silent", "all"]
            if data.name == f"{EDGES}/interleaved_queries" and measure == "RBP(rel=1)":
                # The lines of a query do not stand together: cwl_eval is given each part as a ranking
                # of its own, and the last part's value stays.
                assert value is not None
                assert everything or theirs <= value
                continue
            tolerance = 5.1e-6 if measure in GDEVAL else 1e-9
            compared += 1
            if value is None or abs(value - theirs) > tolerance:
                wrong.append(f"{measure} {query}: golden {text}, ours {value}")
    assert not wrong, f"{len(wrong)} of {compared} differ: {wrong[:10]}"
    assert compared


def golden_of(data: Case, run: str) -> Golden:
    found = dict((data.golden("ir_measures-0.4.3", "base") or {}).get(run, {}))
    return found | {
        (row["measure"], "all"): row["exact"] for row in aggregate_of(data, "ir_measures", run)
    }


@lru_cache(maxsize=1)
def relevant_by_query(data: Case) -> dict[str, int]:
    """Count the relevant documents of every query of the qrels."""
    found: dict[str, int] = {}
    with opened(data.qrels) as lines:
        for line in lines:
            query, *_, grade = line.split()
            found[query] = found.get(query, 0) + (int(grade) > 0)
    return found


@lru_cache(maxsize=2)
def scored_by_name(
    data: Case, runs: tuple[str, ...], names: tuple[tuple[str, str], ...], judged_only: bool
) -> dict[str, Ours]:
    """Score runs at once under trec_eval_c; key the values of each by the peer's own names."""
    rules = protocols.get("trec_eval_c").defaults()
    settled = {peer: str(notation.parse(name, defaults=rules)[0]) for peer, name in names}
    wanted = [*settled.values(), "NumRel", "NumQ"]
    scores = Warehouse.score(
        data.qrels, [data.runs[run] for run in runs], wanted,
        protocol="trec_eval_c", judged_only=judged_only,
    )  # fmt: skip
    peers: dict[str, list[str]] = {}
    for peer, name in settled.items():
        peers.setdefault(name, []).append(peer)
    rows: dict[str, list[tuple[str, str, float]]] = {name: [] for name in scores.names}
    for name, *row in scores.relation.fetchall():
        rows[name].append(tuple(row))
    everyone = relevant_by_query(data)
    found = {}
    for run, name in zip(runs, scores.names, strict=True):
        silent = set(everyone) - {query for query, _, _ in rows[name]}
        mine = {
            (peer, query): value
            for query, metric, value in rows[name]
            for peer in peers.get(metric, [])
        }
        if ("NumQ", "all") in mine:
            assert mine["NumQ", "all"] == len(everyone)
        mine["NumRel of the silent", "all"] = sum(everyone[query] for query in silent)
        found[run] = Ours(mine, frozenset(), frozenset(), frozenset(silent), {})
    return found
