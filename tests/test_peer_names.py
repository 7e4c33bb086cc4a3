"""The names that peers have for metrics: trec_eval's with their lists, ranx's, ir_measures' registry."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import log2

import pytest

from warehouse.analyze.metric_catalogue import names_elsewhere
from warehouse.errors import UsageError
from warehouse.metrics import protocols
from warehouse.metrics.catalogue import catalogue
from warehouse.metrics.curves import parse as parse_curve
from warehouse.metrics.notation import (
    TREC_SETS,
    Defaults,
    Relstring,
    definition,
    lines,
    parse,
    parse_one,
    peers,
    request,
    trec_name,
)
from warehouse.metrics.template import Template
from warehouse.warehouse import Warehouse


def read(text: str, **options: object) -> list[str]:
    return [str(metric) for metric in parse(text, **options)]


@pytest.mark.parametrize(
    ("text", "metrics", "labels"),
    [
        ("map", ["AP"], ["map"]),
        ("recip_rank", ["RR"], ["recip_rank"]),
        ("ndcg", ["nDCG"], ["ndcg"]),
        ("P_5", ["P@5"], ["P_5"]),
        ("P.5,10", ["P@5", "P@10"], ["P_5", "P_10"]),
        ("P.10,5,7", ["P@5", "P@7", "P@10"], ["P_5", "P_7", "P_10"]),
        ("recall_100", ["R@100"], ["recall_100"]),
        ("ndcg_cut_10", ["nDCG@10"], ["ndcg_cut_10"]),
        ("ndcg_cut.10", ["nDCG@10"], ["ndcg_cut_10"]),
        ("map_cut_100", ["AP@100"], ["map_cut_100"]),
        ("success_1", ["Success@1"], ["success_1"]),
        ("iprec_at_recall_0.10", ["IPrec@0.1"], ["iprec_at_recall_0.10"]),
        ("iprec_at_recall..10,.20", ["IPrec@0.1", "IPrec@0.2"],
         ["iprec_at_recall_0.10", "iprec_at_recall_0.20"]),
        ("set_F", ["SetF"], ["set_F"]),
        ("set_F_2.0", ["SetF(x=2.0)"], ["set_F_2.0"]),
        ("set_F.0.5", ["SetF(x=0.5)"], ["set_F_0.5"]),
        ("set_F.2,3", ["SetF(x=2.0)"], ["set_F_2,3"]),  # only the first has a say
        ("ndcg_cut.10,20,23.4", ["nDCG@10", "nDCG@20", "nDCG@23"],
         ["ndcg_cut_10", "ndcg_cut_20", "ndcg_cut_23"]),  # read as far as it is whole
        ("Rprec_mult.5.0,0.2", ["Rprec(multiple=0.2)", "Rprec(multiple=5.0)"],
         ["Rprec_mult_0.20", "Rprec_mult_5.00"]),
        ("utility.2,-1,0,0", ["Utility(p1=2.0)"], ["utility_2,-1,0,0"]),
        ("utility_2,-1,0,0", ["Utility(p1=2.0)"], ["utility_2,-1,0,0"]),
        ("11pt_avg..25,.5,.75", ["IAP(levels=[0.25,0.5,0.75])"], ["11pt_avg_.25,.5,.75"]),
        ("11pt_avg_.25,.5,.75", ["IAP(levels=[0.25,0.5,0.75])"], ["11pt_avg_.25,.5,.75"]),
        ("ndcg.1=3,2=9,4=4.5", ["nDCG(gains={1:3,2:9,4:4.5})"], ["ndcg_1=3,2=9,4=4.5"]),
        ("ndcg_1=3,2=9", ["nDCG(gains={1:3,2:9})"], ["ndcg_1=3,2=9"]),
        ("ndcg.1=1", ["nDCG"], ["ndcg_1=1"]),
        ("dcg.1=3", ["DCG(gains={1:3})"], ["dcg_1=3"]),
        ("ideal_dcg.1=3", ["IdealDCG(gains={1:3})"], ["ideal_dcg_1=3"]),
        ("G.1=3", ["G(gains={1:3})"], ["G_1=3"]),
        ("Rndcg.1=3", ["Rndcg(gains={1:3})"], ["Rndcg_1=3"]),
        ("ndcg_rel.0=-1", ["nDCGrel(gains={0:-1})"], ["ndcg_rel_0=-1"]),
        ("rbp.p=0.8,1=0.5", ["RBP(gain=normalised, gains={1:0.5})"], ["rbp_p=0.8,1=0.5"]),
        ("rbp.p=0.5", ["RBP(p=0.5, gain=normalised)"], ["rbp_p=0.5"]),
        ("set_P", ["SetP"], ["set_P"]),
        ("set_recall", ["SetR"], ["set_recall"]),
        ("num_rel_ret", ["NumRelRet"], ["num_rel_ret"]),
        ("success", ["Success@1", "Success@5", "Success@10"],
         ["success_1", "success_5", "success_10"]),
    ],
)  # fmt: skip
def test_names_of_trec_eval(text: str, metrics: list[str], labels: list[str]) -> None:
    assert read(text) == metrics
    assert [one.trec_name for one in request(text)] == labels


def test_lists_of_trec_eval() -> None:
    cutoffs = [5, 10, 15, 20, 30, 100, 200, 500, 1000]
    assert read("P.") == [
        f"P@{k}" for k in cutoffs
    ]  # "P" alone is the metric, which needs a cutoff
    assert read("recall") == [f"R@{k}" for k in cutoffs]
    assert read("ndcg_cut") == [f"nDCG@{k}" for k in cutoffs]
    assert read("map_cut") == [f"AP@{k}" for k in cutoffs]
    assert read("iprec_at_recall") == [f"IPrec@{k / 10}" for k in range(11)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("map.5", "map takes no parameters"),
        ("bpref.3", "bpref takes no parameters"),
        ("num_ret_5", "no such metric"),
        ("P_0", "cutoff is at least 1"),
        ("P.5,0", "cutoff is at least 1"),
        ("P.x", "cutoff is a number, not x"),
        ("P.5,5.2", "a value is there twice"),
        ("utility.1,2", "utility lists 4 numbers, not 2"),
        ("utility.1,2,3,4,5", "utility lists 4 numbers, not 5"),
        ("utility.1,x,3,4", "utility lists 4 numbers, not 1"),
        ("ndcg.5", "write gains as in ndcg.1=3,2=9, not 5"),
        ("ndcg.", "write gains as in ndcg.1=3,2=9, not nothing"),
        ("ndcg.1=x", "the gain of 1 is a number, not x"),
        ("ndcg.1=2,1=3", "the grade 1 is there twice"),
        ("ndcg.p=2", "a grade is a number, not p"),
        # there -1 stands for documents that are not judged at all
        ("ndcg.-1=1", "a document without a grade has no gain"),
        ("11pt_avg.2", "levels is at most 1"),
        ("11pt_avg.", "levels is a number, not nothing"),
        ("rbp.p=2", "p is at most 1"),
        ("rbp_resid.p=0.8", "rbp_resid takes no parameters"),
    ],
)
def test_wrong_parameters_of_trec_eval(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        parse(text)


@pytest.mark.parametrize("protocol", ["default", "trec_eval_9", "trec_eval_10"])
@pytest.mark.parametrize("level", [None, 2])
def test_labels_come_back_from_metrics(protocol: str, level: int | None) -> None:
    """Under any protocol and level, what all_trec asks for is printed under trec_eval's label."""
    defaults = protocols.get(protocol).defaults(level)
    several = (
        "set_F_2.0 utility.2.0,-1.0,0.5,0.0 11pt_avg.0.25,0.5 ndcg.1=3,2=9.5 rbp.p=0.8,1=0.5 G.0=-1"
    )
    for one in request("all_trec", several, defaults=defaults):
        label = "Rprec" if one.trec_name == "Rprec_mult_1.00" else one.trec_name  # the same metric
        assert trec_name(one.metric, defaults)[0] == label
    assert trec_name(parse("AP(rel=3)")[0], defaults) == ("AP(rel=3)", None)
    assert trec_name(parse("Judged@5")[0], defaults) == ("Judged@5", None)


def test_sets() -> None:
    names = [one.trec_name for one in request("official")]
    assert names[:6] == ["num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map"]
    assert names[8:10] == ["recip_rank", "iprec_at_recall_0.00"]
    assert names[-1] == "P_1000"
    names = [one.trec_name for one in request("set")]
    assert names[4:] == [
        "utility", "set_P", "set_relative_P", "set_recall", "set_map", "set_F",
    ]  # fmt: skip
    everything = request("all_trec")
    assert len(everything) == len(set(everything)) > 90


def test_a_release_lacks_what_came_later() -> None:
    later = {"rbp", "rbp_resid", "unj_5", "unj_10", "unj_20"}
    ten = {one.trec_name for one in request("all_trec")}
    for protocol in ("trec_eval_9", "trec_eval_c"):
        defaults = protocols.get(protocol).defaults()
        nine = {one.trec_name for one in request("all_trec", defaults=defaults)}
        assert ten - nine == later
        assert [str(one.metric) for one in request("unj_5", defaults=defaults)] == ["Unjudged@5"]
    for found in protocols.catalogue().values():
        assert set(found.lacks) <= set(TREC_SETS["all_trec"])


def test_relstring_is_a_line_and_no_metric() -> None:
    at = [getattr(one, "trec_name", None) for one in lines("all_trec")].index("relstring")
    longer = lines("all_trec", "relstring.20")
    assert longer[at] == Relstring(20, "relstring_20")
    assert sum(isinstance(one, Relstring) for one in longer) == 1
    assert lines("relstring", "map")[0] == Relstring(10, "relstring")
    assert lines("relstring.5", "relstring.20", "relstring.7") == [Relstring(7, "relstring_7")]
    assert not any(isinstance(one, Relstring) for one in request("all_trec"))
    with pytest.raises(UsageError, match="not a metric"):
        parse("relstring")
    for wrong in ("relstring.0", "relstring.x", "relstring."):
        with pytest.raises(UsageError, match=r"relstring\.20"):
            lines(wrong)


@pytest.mark.parametrize("level", [None, 2])
def test_a_name_may_stand_for_parameters(level: int | None) -> None:
    """trec_eval's rbp ignores -l, as its ndcg does."""
    assert read("rbp rbp_resid", defaults=Defaults(level=level)) == [
        "RBP(p=0.9, gain=normalised)", "RBPresid(p=0.9, tail=trec_eval_10)",
    ]  # fmt: skip


# --------------------------------------------------------------------------- the other peers


def test_interpolated_precision_of_ranx() -> None:
    """Eleven levels, each asking for as many documents as trec_eval 9's: int(recall * R + 0.9)."""
    levels = [f"@{k / 10}" for k in range(11)]
    name = "interpolated_precision_at_recall"
    assert read(name) == [f"IPrec(needed=trec_eval_9){level}" for level in levels]
    assert read(f"{name}-l2") == [f"IPrec(rel=2, needed=trec_eval_9){level}" for level in levels]
    assert read(name) == read("iprec_at_recall", defaults=protocols.get("trec_eval_9").defaults())


# What ir_measures 0.4.3 has registered, with every parameter of each beside `judged_only`, and what it
# means here. The diversity family (alpha_nDCG, ERR_IA, NRBP, AP_IA, P_IA, StRecall and their like) has
# tests of its own.
IR_MEASURES = {
    "AP": "AP", "AP(rel=2)@10": "AP(rel=2)@10", "MAP": "AP", "MAP(cutoff=10)": "AP@10",
    "Accuracy": "AUC(ties=input)", "Accuracy(rel=2)@10": "AUC(rel=2, ties=input)@10",
    "BPM(max_rel=3)@10": "BPM(max_rel=3)@10",
    "BPM(T=2.5, min_rel=1, max_rel=3)@10": "BPM(T=2.5, min_rel=1, max_rel=3)@10",
    "Bpref": "bpref", "BPref(rel=2)": "bpref(rel=2)",
    "Compat": "Compat", "Compat(p=0.8, normalize=False)": "Compat(p=0.8, normalize=False)",
    "ERR": "ERR", "ERR@20": "ERR@20",
    "INSQ(max_rel=3)": "INSQ(max_rel=3)", "INSQ(T=2.0, min_rel=1, max_rel=3)":
    "INSQ(T=2.0, min_rel=1, max_rel=3)",
    "INST(max_rel=3)": "INST(max_rel=3)", "INST(T=2.0, min_rel=1, max_rel=3)":
    "INST(T=2.0, min_rel=1, max_rel=3)",
    "IPrec@0.1": "IPrec@0.1", "IPrec(rel=2, recall=0.5)": "IPrec(rel=2)@0.5",
    "infAP": "infAP", "infAP(rel=2)": "infAP(rel=2)",
    "Judged": "Judged", "Judged@10": "Judged@10",
    "nDCG": "nDCG", "NDCG@10": "nDCG@10", "nDCG(dcg='exp-log2')@10": "nDCG(dcg=exp-log2)@10",
    "nDCG(gains={0:0,1:1,2:5})@10": "nDCG(gains={2:5})@10",
    "nDCG(dcg='log2', gains={0: 1, 1: 3})": "nDCG(gains={0:1,1:3})",
    "NERR8(min_rel=1, max_rel=3)@10": "NERR8(min_rel=1, max_rel=3)@10",
    "NERR9(min_rel=1, max_rel=3)@10": "NERR9(min_rel=1, max_rel=3)@10",
    "NERR10(p=0.8, min_rel=1, max_rel=3)": "NERR10(p=0.8, min_rel=1, max_rel=3)",
    "NERR11(T=2.0, min_rel=1, max_rel=3)": "NERR11(T=2.0, min_rel=1, max_rel=3)",
    "NumQ": "NumQ", "NumRel": "NumRel", "NumRel(rel=2)": "NumRel(rel=2)",
    # with a level it counts the relevant documents retrieved
    "NumRet": "NumRet", "NumRet(rel=1)": "NumRelRet", "NumRet(rel=2)": "NumRelRet(rel=2)",
    "NumRelRet": "NumRelRet", "NumRelRet(rel=2)": "NumRelRet(rel=2)",
    "P@5": "P@5", "P(rel=2)@5": "P(rel=2)@5", "Precision@5": "P@5",
    "R@5": "R@5", "R(rel=2)@5": "R(rel=2)@5", "Recall@5": "R@5",
    "RBP": "RBP", "RBP(rel=1)": "RBP", "RBP(p=0.5, rel=2)@10": "RBP(rel=2, p=0.5)@10",
    "Rprec": "Rprec", "RPrec(rel=2)": "Rprec(rel=2)",
    "RR": "RR", "RR(rel=2)@10": "RR(rel=2)@10", "MRR@10": "RR@10",
    "SDCG(max_rel=3)@10": "SDCG(max_rel=3)@10",
    "SDCG(dcg='log2', min_rel=1, max_rel=3)@10": "SDCG(min_rel=1, max_rel=3)@10",
    "SetAP(rel=2)": "SetAP(rel=2)",
    # beta is beta; ir_measures hands it on to trec_eval as x, which is beta squared: SetF(x=2.0) there
    "SetF": "SetF", "SetF(rel=2, beta=2.0)": "SetF(rel=2, beta=2.0)",
    "SetP": "SetP", "SetP(rel=2, relative=False)": "SetP(rel=2)",
    "SetP(relative=True)": "SetRelP", "SetP(relative=True, rel=2)": "SetRelP(rel=2)",
    "SetRelP": "SetRelP", "SetRelP(rel=2)": "SetRelP(rel=2)", "SetR(rel=2)": "SetR(rel=2)",
    "Success@5": "Success@5", "Success(rel=2)@5": "Success(rel=2)@5",
}  # fmt: skip


@pytest.mark.parametrize(("text", "metric"), IR_MEASURES.items())
def test_the_registry_of_ir_measures(text: str, metric: str) -> None:
    for written in (text, text.replace(" ", "")):
        assert read(written, defaults=Defaults(names="ir_measures")) == [metric]


# --------------------------------------------------------------------------- one name, two meanings


def meanings() -> dict[str, dict[tuple[str, str], str]]:
    """Return what every name means, by the name in small letters, the peer and the name as it is.

    ranx's have a cutoff where the metric needs one: `recall` and `recall@k` are two names.
    """
    known: dict[str, dict[tuple[str, str], str]] = {}

    def add(name: str, peer: str, found: Template, fixed: Mapping[str, object]) -> None:
        told = ", ".join(f"{key}={value}" for key, value in fixed.items())
        meaning = found.name + (f"({told})" if told else "")
        known.setdefault(name.lower(), {})[peer, name] = meaning

    for found in catalogue().values():
        add(found.name, "", found, {})
        for alias in found.names:
            if alias.peer != "ranx":
                add(alias.name, alias.peer, found, alias.fixed)
        for ranx in found.ranx_names:
            at = "@k" if found.needs_cutoff else f".{ranx.fraction}" if ranx.fraction else ""
            add(ranx.name + at, "ranx", found, ranx.given)
        for trec in found.trec_names:
            add(trec.name, "trec_eval", found, trec.given)
    return known


# Each name with several meanings, and what it means where no protocol says whose names come first.
AMBIGUOUS = {
    "accuracy": {"Accuracy": "Success"},
    "ndcg_at_k": {"nDCG_at_k": "nDCG", "ndcg_at_k": "nDCG"},
    "novelty": {"Novelty": "Unseen", "novelty": "MIUF"},
    "precision": {"Precision": "P", "precision": "SetP"},
    "recall": {"Recall": "R", "recall": "R"},
    "rbp": {"RBP": "RBP", "rbp": "RBP"},
}


def test_a_name_with_two_meanings_is_known() -> None:
    """A new name that another peer has for something else, also in other letters, is decided here."""
    found = {name for name, each in meanings().items() if len(set(each.values())) > 1}
    assert found == set(AMBIGUOUS)
    for spelled in AMBIGUOUS.values():
        assert {name: definition(name).name for name in spelled} == spelled


@pytest.mark.parametrize(
    ("text", "protocol", "metric"),
    [
        # trec_eval's is a list of cutoffs, ranx's one number
        ("recall", "default", "R@5 R@10 R@15 R@20 R@30 R@100 R@200 R@500 R@1000"),
        ("recall", "trec_eval_9", "R@5 R@10 R@15 R@20 R@30 R@100 R@200 R@500 R@1000"),
        ("recall", "ranx", "SetR"),
        ("recall@7", "ranx", "R@7"),
        ("recall-l2", "default", "SetR(rel=2)"),
        ("recall_5", "ranx", "R@5"),  # trec_eval's, whatever comes first
        # a hit nearly everywhere; ir_measures' is the area under a curve, RecTools' a share of decisions
        ("Accuracy@2", "default", "Success@2"),
        ("Accuracy@2", "ir_measures", "AUC(ties=input)@2"),
        ("Accuracy@2", "rectools", "Correct@2"),
        ("accuracy@2", "rectools", "Correct@2"),
        ("Accuracy(catalogue=9)@2", "rectools", "Correct(catalogue=9)@2"),
        # RePlay's is what a query had not seen, recommenders' how rare it is
        ("Novelty@2", "default", "Unseen@2"),
        ("novelty@2", "default", "MIUF(population=examples, cold=zero, aggregate=pooled)@2"),
        # trec_eval's and ranx's are in small letters, and say what they are by what follows
        ("RBP", "default", "RBP"),
        ("rbp", "default", "RBP(p=0.9, gain=normalised)"),
        ("rbp.9", "default", "RBP(p=0.9, gain=grade)"),
        # a notation that only another peer has
        ("k@recall(0.5)", "rectools", "KAtRecall@0.5"),
        ("P.5,10", "rectools", "P@5 P@10"),
        # a metric's own name is its own everywhere
        ("bpref", "ranx", "bpref(negatives=nonrelevant)"),
    ],
)
def test_whose_name_comes_first(text: str, protocol: str, metric: str) -> None:
    assert " ".join(read(text, defaults=protocols.get(protocol).defaults())) == metric


def test_a_protocol_has_the_names_of_a_peer() -> None:
    for found in protocols.catalogue().values():
        assert found.names is None or found.names in peers(), found.name


def test_letters_that_leave_it_open_are_refused() -> None:
    with pytest.raises(UsageError, match=r"novelty \(MIUF\) and Novelty \(Unseen\) are different"):
        parse("NOVELTY@2")


@pytest.mark.parametrize("name", list(catalogue()))
def test_every_name_of_a_peer_is_read_as_its_page_says(name: str) -> None:
    """Without a protocol, or with each of those that put the peer's names first."""
    found = catalogue()[name]
    listed = names_elsewhere(found)
    for alias in (*found.names, *found.ranx_names):
        peer = getattr(alias, "peer", "ranx")
        cutoff = peer == "ranx" and found.needs_cutoff
        text = alias.name + ("@10" if cutoff else "@9" if getattr(alias, "fraction", None) else "")
        first = [p for p in protocols.catalogue().values() if p.names == peer]
        for protocol in first:
            read_as = parse_one(text, defaults=protocol.defaults(), settle=False)
            assert read_as.metric.name == name, (text, protocol.name)
        told = next(one for one in listed[peer] if re.match(rf"{re.escape(alias.name)}\b", one))
        if definition(text) is found:
            assert "protocol" not in told
        else:
            assert first
            assert all(f"protocol {protocol.name}" in told for protocol in first)


@pytest.mark.parametrize("name", list(catalogue()))
def test_what_a_parameter_means_elsewhere_is_there(name: str) -> None:
    for target in catalogue()[name].other.values():
        for other in [target] if isinstance(target, str) else target.values():
            assert other in catalogue()


# --------------------------------------------------------------------------- what gains are worth

GRADED = {"q": {"a": 3, "b": 2, "c": 1, "d": 1, "e": 0}, "r": {"a": 0, "b": -1, "c": 2}}
RUN = {"q": {"c": 4.0, "a": 3.0, "x": 2.0, "b": 1.0, "e": 0.5}, "r": {"a": 2.0, "b": 1.0, "c": 0.5}}


def scored(name: str) -> dict[str, float]:
    rows = Warehouse.score(GRADED, RUN, name).relation.fetchall()
    return {query: value for query, _, value in rows if query != "all"}


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("nDCG(gains={0:0,1:3,2:9})", {"q": 0.6407741545625972, "r": 0.5}),
        ("nDCG(gains={0:0,1:3,2:9})@2", {"q": 0.4491768952476266, "r": 0.0}),
        ("nDCG(gains={0:2,1:0,-1:4})", {"q": 0.670456515712977, "r": 0.8821211986607034}),
    ],
)
def test_gains_are_worth_what_ir_measures_prints(name: str, theirs: dict[str, float]) -> None:
    """The values are those of ir_measures 0.4.3 with pytrec_eval."""
    assert scored(name) == pytest.approx(theirs, rel=1e-12)


def test_a_gain_below_0_is_taken_off_as_in_trec_eval() -> None:
    """ir_measures turns the grade into one below 0, which pytrec_eval takes for unjudged: 0."""
    in_ir_measures = {"q": 0.7229882141809968, "r": 0.5}
    assert scored("nDCG(gains={0:0})") == pytest.approx(in_ir_measures, rel=1e-12)
    ours = scored("nDCG(gains={0:-1})")
    ideal = 3 + 2 / log2(3) + 1 / log2(4) + 1 / log2(5)
    assert ours["q"] == pytest.approx(in_ir_measures["q"] - 1 / log2(6) / ideal, rel=1e-12)


def test_gains_closer_than_1_are_put_in_order() -> None:
    """trec_eval 9 and 10 compare gains as whole numbers: ndcg.1=0.1,2=0.5,3=0.9 is 0 there."""
    perfect = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}
    found = Warehouse.score({"q": {"a": 3, "b": 2, "c": 1}}, perfect, "ndcg.1=0.1,2=0.5,3=0.9")
    assert found.means() == {"nDCG(gains={1:0.1,2:0.5,3:0.9})": 1.0}


# Graded judgments and a run whose values BEIR 2.2.0 (custom_metrics, which rounds to five digits) and
# sentence-transformers 6.2.0 (InformationRetrievalEvaluator.compute_metrics) printed.
COMMUNITY_QRELS = {
    "q1": {"a": 1, "b": 2, "c": 0, "e": 1},
    "q2": {"f": 1, "g": 1},
    "q3": {"a": 0, "h": 3},
}
COMMUNITY_RUN = {
    "q1": {"a": 0.9, "x": 0.8, "b": 0.7, "f": 0.6, "c": 0.5},
    "q2": {"y": 0.9, "f": 0.8, "z": 0.7, "g": 0.6},
    "q3": {"z": 0.9, "a": 0.8, "y": 0.7},
}
OF_THEIR_COMMUNITY = {
    # BEIR
    "R_cap@1": 0.33333, "R_cap@3": 0.38889, "recall_cap@3": 0.38889, "capped_recall@3": 0.38889,
    "Hole@1": 0.66667, "Hole@2": 0.5, "Hole@3": 0.55556, "hole_at_3": 0.55556,
    "Accuracy@1": 0.33333, "Accuracy@3": 0.66667, "top_k_accuracy@3": 0.66667, "MRR@3": 0.5,
    # sentence-transformers, whose relevant documents have no grades
    "cosine_accuracy@1": 0.3333333333333333, "dot_accuracy@3": 0.6666666666666666,
    "accuracy_at_3": 0.6666666666666666, "cosine_precision@3": 0.3333333333333333,
    "cosine_recall@1": 0.1111111111111111, "cosine_recall@3": 0.38888888888888884,
    "cosine_ndcg@3": 0.3635902987562254, "cosine_mrr@3": 0.5, "dot_map@3": 0.2685185185185185,
    # MTEB calls pytrec_eval and renames ndcg_cut_3: by hand, the mean of (1 + 2 / 2) / (2 + 1 / log2(3)
    # + 1 / 2), (1 / log2(3)) / (1 + 1 / log2(3)) and 0
    "ndcg_at_3": (2 / (2.5 + 1 / log2(3)) + (1 / log2(3)) / (1 + 1 / log2(3))) / 3,
    "mrr_at_3": 0.5, "recall_at_3": (2 / 3 + 1 / 2) / 3, "hit_rate@3": 2 / 3,
    # ml_metrics divides by min(R, k): the sums of precisions are 1 + 2/3, 1/2 + 2/4 and 0
    "apk@4": ((1 + 2 / 3) / 3 + (1 / 2 + 2 / 4) / 2) / 3,
    "mapk@3": ((1 + 2 / 3) / 3 + (1 / 2) / 2) / 3,
    # Bollu's ap@K divides by the number of relevant documents found
    "ap@K(3)": ((1 + 2 / 3) / 2 + (1 / 2) / 1) / 3,
}  # fmt: skip


@pytest.mark.sample(6, 2)
@pytest.mark.parametrize("name", OF_THEIR_COMMUNITY)
def test_names_as_their_community_writes_them(name: str) -> None:
    scores = Warehouse.score(COMMUNITY_QRELS, COMMUNITY_RUN, [name], per_query=False)
    (value,) = scores.means().values()
    assert value == pytest.approx(OF_THEIR_COMMUNITY[name], abs=5e-6, rel=0)


def test_grouped_auc() -> None:
    """RecBole's GAUC: the users' AUC, weighted by their positive items; equal scores are half pairs.

    ann: of four pairs, a is above two, c above one and equal to one: (2 + 1.5) / 4. bob: 0 of one.
    """
    qrels = {"ann": {"a": 1, "b": 0, "c": 1, "d": 0}, "bob": {"x": 0, "y": 1}}
    run = {"ann": {"a": 0.9, "b": 0.8, "c": 0.8, "d": 0.1}, "bob": {"x": 0.5, "y": 0.4}}
    (value,) = Warehouse.score(qrels, run, ["GAUC"]).means().values()
    assert value == pytest.approx((2 * 3.5 / 4 + 1 * 0) / 3, abs=1e-15)


def test_precision_of_roerei_is_1_where_nothing_is_relevant() -> None:
    """performance.hpp returns 1 for an empty set of dependencies: (1 + 1/2) / 2."""
    qrels, run = {"q": {"a": 0}, "p": {"a": 1}}, {"q": {"a": 1.0}, "p": {"b": 2.0, "a": 1.0}}
    scores = Warehouse.score(qrels, run, "precision ooprecision", protocol="roerei")
    assert list(scores.means().values()) == [0.75, 0.75]


def test_names_of_the_sources() -> None:
    assert read("100Cover 100Precision") == ["Cover@100", "P(norm=retrieved)@100"]
    assert read("1-F1 error") == ["E"]
    # the words say that the ideal has every actual label; the program cuts it at k
    assert read("nDCG_at_k@5") == read("nDCG_at_k_by_decile@5") == ["nDCG(dcg=binary, best=all)@5"]
    assert read("nDCG_at_k_as_coded@5 nDCG_at_k_by_decile_as_coded@5") == ["nDCG(dcg=binary)@5"]
    assert read("prediction_proportions_by_decile@5") == read("prediction_proportions@5")
    assert read("positive_coverage_by_decile@5") == read("positive_coverage@5")
    assert str(parse_curve("precision@recall")) == "PrecisionRecall"
    for axis in ("TPR", "FPR"):
        with pytest.raises(UsageError, match="curve ROC"):
            parse(axis)


@pytest.mark.parametrize(
    ("protocol", "metrics"),
    [
        ("roerei", ["Cover@100", "P(norm=retrieved, no_relevant=1.0)@100", "MaxRank", "AvgRank",
                    "AUC(empty=roerei)"]),
        ("ardoco", ["AP(norm=hits)", "LAG(aggregate=pooled)", "AUC(ties=input, aggregate=pooled)"]),
    ],
)  # fmt: skip
def test_a_protocol_alone_has_metrics_of_its_own(protocol: str, metrics: list[str]) -> None:
    """The lists of the thesis on premise selection and of ArDoCo's calculator."""
    scores = Warehouse.score(COMMUNITY_QRELS, COMMUNITY_RUN, protocol=protocol)
    assert list(scores.means()) == metrics
