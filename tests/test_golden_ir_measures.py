"""Our values against those that ir_measures printed, in the shared cases; see test_golden."""

from __future__ import annotations

import math

import pytest
from conformance import (
    Ours,
    peer_keys,
    tied_queries,
)
from shared_cases import EDGES, Case, aggregate, needs_cases

from warehouse import metrics as notation
from warehouse import protocols
from warehouse.errors import UsageError
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


@pytest.mark.parametrize(("data", "run", "opts"), peer_keys("ir_measures"))
def test_ir_measures(data: Case, run: str, opts: str) -> None:
    """ir_measures asks pytrec_eval for most measures and counts a missing query as 0 (trec_eval -c).

    Its names are read as they are. Not comparable where two scores of the query are equal in 32 bits:
    the measures of `OTHER_TIES` and `GDEVAL`, and RBP, whose order cwl_eval leaves as it comes.
    """
    golden = dict((data.golden("ir_measures-0.4.3", "base") or {}).get(run, {}))
    for row in aggregate(data):
        mine = (row["tool"], row["qrels"], row["run"])
        if mine == ("ir_measures", data.qrels_name, run):
            golden[row["measure"], "all"] = row["exact"]
    plain = {m: IR_MEASURES_OTHERWISE.get(m, m) for m, _ in golden}
    readable = {m: name for m, name in plain.items() if m not in IR_MEASURES_NOT_YET}
    judged = {m: n.replace("(judged_only=True)", "") for m, n in readable.items() if "judged" in n}
    plain = {m: n for m, n in readable.items() if m not in judged}

    tied = tied_queries(data.runs[run], single=True)
    compared = 0
    wrong = []
    for names, judged_only in ((plain, False), (judged, True)):
        if not names:
            continue
        ours = scored_by_name(data, run, tuple(sorted(names.items())), judged_only)
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


def scored_by_name(
    data: Case, run: str, names: tuple[tuple[str, str], ...], judged_only: bool
) -> Ours:
    """Score under trec_eval_c and key the values by the peer's own names."""
    rules = protocols.get("trec_eval_c").defaults()
    settled = {peer: str(notation.parse(name, defaults=rules)[0]) for peer, name in names}
    wanted = [*settled.values(), "NumRel", "NumQ"]
    full = Warehouse.score(data.qrels, data.runs[run], ["NumRel", "NumQ"])
    everyone = {(m, q): value for q, m, value in full.relation.fetchall()}
    part = Warehouse.score(
        data.qrels, data.runs[run], wanted, protocol="trec_eval_c", judged_only=judged_only
    )
    peers: dict[str, list[str]] = {}
    for peer, name in settled.items():
        peers.setdefault(name, []).append(peer)
    rows = part.relation.fetchall()
    silent = {q for _, q in everyone} - {q for q, _, _ in rows}
    lost = math.fsum(v for (m, q), v in everyone.items() if m == "NumRel" and q in silent)
    mine = {(peer, query): value for query, metric, value in rows for peer in peers.get(metric, [])}
    if ("NumQ", "all") in mine:
        assert mine["NumQ", "all"] == len({q for _, q in everyone}) - 1
    mine["NumRel of the silent", "all"] = lost
    return Ours(mine, frozenset(), frozenset(), frozenset(silent), {})
