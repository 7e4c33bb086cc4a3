"""The notation of metrics: reading, settling, printing, and the peers' names for the same things."""

from __future__ import annotations

import oracles_user_models
import pytest
from hypothesis import given
from hypothesis import strategies as st

from warehouse import protocols
from warehouse.catalogue import Definition, Parameter, catalogue
from warehouse.errors import UsageError
from warehouse.metrics import (
    TREC_SETS,
    Defaults,
    Metric,
    Relstring,
    lines,
    parse,
    parse_one,
    request,
    trec_name,
)


def read(text: str, **options: object) -> list[str]:
    return [str(metric) for metric in parse(text, **options)]


# --------------------------------------------------------------------------- there and back


def values_of(parameter: Parameter) -> st.SearchStrategy[str]:
    if parameter.type == "choice":
        return st.sampled_from(parameter.choices).flatmap(
            lambda word: st.sampled_from([word, f"'{word}'", f'"{word}"'])
        )
    if parameter.type == "boolean":
        return st.sampled_from(["True", "False"])
    low = (1 if parameter.above else 0) if parameter.minimum is None else parameter.minimum
    high = 10_000 if parameter.maximum is None else parameter.maximum
    if parameter.type == "integer":
        return st.integers(int(low), int(high)).map(str)
    return st.floats(low, high, allow_nan=False).map(repr)


@st.composite
def notations(draw: st.DrawFn) -> str:
    found: Definition = catalogue()[draw(st.sampled_from(sorted(catalogue())))]
    given = {
        p.name: draw(values_of(p)) for p in found.parameters if p.required or draw(st.booleans())
    }
    for p in found.parameters:
        needed = p.needs.get(given.get(p.name, "").strip("'\""))
        if needed is not None and needed not in given:
            other = found.parameter(needed)
            assert other is not None
            given[needed] = draw(values_of(other))
    for p in found.parameters:
        if p.above in given and p.name in given:
            given[p.name] = str(int(given[p.above]) + 1 + int(given[p.name]))
    at = given.pop(found.at, None) if draw(st.booleans()) else None
    order = draw(st.permutations(list(given.items())))
    comma = draw(st.sampled_from([",", ", ", " , "]))
    params = f"({comma.join(f'{k}={v}' for k, v in order)})" if order else ""
    return found.name + params + ("" if at is None else f"@{at}")


@given(notations())
def test_there_and_back(text: str) -> None:
    (metric,) = parse(text)
    printed = str(metric)
    (again,) = parse(printed)
    assert again == metric
    assert hash(again) == hash(metric)
    assert str(again) == printed
    assert parse_one(printed).metric == metric


@given(notations(), notations())
def test_different_metrics_print_differently(one: str, two: str) -> None:
    (a,), (b,) = parse(one), parse(two)
    assert (a == b) == (str(a) == str(b))


@pytest.mark.core
@pytest.mark.parametrize("name", list(catalogue()))
def test_every_metric_by_its_own_name(name: str) -> None:
    found = catalogue()[name]
    required = {p.name for p in found.parameters if p.required}
    at = "(max_rel=3)" if "max_rel" in required else ""
    if found.at in required:
        at += "@0.5" if found.at == "recall" else "@5"
    assert read(name + at) == [name + at]
    if name not in ("R", "RBP", "Success"):  # r is nobody's name, the others are trec_eval's own
        assert read(name.lower() + at) == [name + at]
    for alias in found.aliases.get("ir_measures", ()):
        assert read(alias + at) == [name + at]


def test_defaults_are_not_printed() -> None:
    assert read("AP(rel=1, norm=R)") == ["AP"]
    assert read("SetF(beta=1)") == ["SetF"]
    assert read("nDCG(cutoff=10, dcg='log2')") == ["nDCG@10"]
    assert read("P(cutoff=5,rel=2)") == ["P(rel=2)@5"]


def test_one_argument_may_hold_several_names() -> None:
    assert read("AP P(rel=2)@5  nDCG@10") == ["AP", "P(rel=2)@5", "nDCG@10"]
    assert read("AP(rel = 2, norm = hits)@5 RR") == ["AP(rel=2, norm=hits)@5", "RR"]
    assert [str(m) for m in parse("AP", "map", "AP(rel=1)")] == ["AP"] * 2
    assert [r.trec_name for r in request("AP", "map", "AP(rel=1)")] == [None, "map"]


# --------------------------------------------------------------------------- trec_eval's names


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
    "text", ["map.5", "bpref.3", "num_ret_5", "P_0", "P.5,0", "P.x", "ndcg_cut.23.4"]
)
def test_wrong_parameters_of_trec_eval(text: str) -> None:
    with pytest.raises(UsageError):
        parse(text)


@pytest.mark.parametrize("protocol", ["default", "trec_eval_9", "trec_eval_10"])
@pytest.mark.parametrize("level", [None, 2])
def test_labels_come_back_from_metrics(protocol: str, level: int | None) -> None:
    """Under any protocol and level, what all_trec asks for is printed under trec_eval's label."""
    defaults = protocols.get(protocol).defaults(level)
    for one in request("all_trec", "set_F_2.0", defaults=defaults):
        label = "Rprec" if one.trec_name == "Rprec_mult_1.00" else one.trec_name  # the same metric
        assert trec_name(one.metric, defaults)[0] == label
    assert trec_name(parse("AP(rel=3)")[0], defaults) == ("AP(rel=3)", None)
    assert trec_name(parse("Judged@5")[0], defaults) == ("Judged@5", None)


def test_sets() -> None:
    missing: list[str] = []
    names = [one.trec_name for one in request("official", missing=missing)]
    assert names[:6] == ["num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map"]
    assert names[8:10] == ["recip_rank", "iprec_at_recall_0.00"]
    assert names[-1] == "P_1000"
    names = [one.trec_name for one in request("set", missing=missing)]
    assert names[4:] == [
        "utility", "set_P", "set_relative_P", "set_recall", "set_map", "set_F",
    ]  # fmt: skip
    everything = request("all_trec", missing=missing)
    assert len(everything) == len(set(everything)) > 90
    assert missing == []


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
    assert not any(isinstance(one, Relstring) for one in request("all_trec"))
    with pytest.raises(UsageError, match="no metric"):
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


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        ("ndcg@10", "nDCG@10"),
        ("ndcg_burges@10", "nDCG(dcg=exp-log2)@10"),
        ("dcg_burges@10", "DCG(dcg=exp-log2)@10"),
        ("dcg", "DCG"),
        ("rbp.95", "RBP(p=0.95, gain=grade)"),
        ("rbp@5", "RBP(p=0.5, gain=grade)"),
        ("rbp.05-l2", "RBP(rel=2, p=0.05, gain=grade)"),
        ("ndcg@10-l2", "nDCG(rel=2)@10"),
        ("map@100-l2", "AP(rel=2)@100"),
        ("map@100", "AP@100"),
        ("map-l2", "AP(rel=2)"),
        ("precision", "SetP"),
        ("precision@5", "P@5"),
        ("precision@10-l2", "P(rel=2)@10"),
        ("recall@100", "R@100"),
        ("recall-l2", "SetR(rel=2)"),
        ("hits@5", "NumRelRet@5"),
        ("hits", "NumRelRet"),
        ("hit_rate@1", "Success@1"),
        ("r-precision", "Rprec"),
        ("r-precision-l3", "Rprec(rel=3)"),
        ("bpref-l2", "bpref(rel=2)"),
        ("f1", "SetF"),
        ("mrr", "RR"),
        ("mrr@10", "RR@10"),
        ("mrr@10-l2", "RR(rel=2)@10"),
    ],
)
def test_names_of_ranx(text: str, metric: str) -> None:
    assert read(text) == [metric]


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        ("nDCG(dcg='exp-log2')@10", "nDCG(dcg=exp-log2)@10"),
        ("NDCG@5", "nDCG@5"),
        ("P(rel=2)@5", "P(rel=2)@5"),
        ("Precision@5", "P@5"),
        ("Recall@5", "R@5"),
        ("MAP", "AP"),
        ("MAP(rel=2)@100", "AP(rel=2)@100"),
        ("MRR@10", "RR@10"),
        ("RPrec", "Rprec"),
        ("Bpref", "bpref"),
        ("IPrec@0.1", "IPrec@0.1"),
        ("IPrec@1", "IPrec@1.0"),
        ("SetF(beta=0.5)", "SetF(beta=0.5)"),
        ("Judged@10", "Judged@10"),
        ("NumRet", "NumRet"),
    ],
)
def test_names_of_ir_measures(text: str, metric: str) -> None:
    assert read(text) == [metric]


# --------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nDGC@10", ["no such metric", "did you mean nDCG?"]),
        ("ndcg_cuts", ["did you mean ndcg_cut?"]),
        ("Sucess@5", ["did you mean Success?"]),
        ("xyzzy", ["no such metric"]),
        ("P", ["P needs a cutoff, as in P@10"]),
        ("IPrec", ["IPrec needs a recall, as in IPrec@0.5"]),
        ("R", ["needs a cutoff"]),
        ("P@0", ["cutoff is at least 1, not 0"]),
        ("P@-1", ["at least 1"]),
        ("P@2.5", ["whole number, not 2.5"]),
        ("P@ten", ["a number, not ten"]),
        ("P@True", ["a number, not True"]),
        ("P@nan", ["a number, not nan"]),
        ("IPrec@1.5", ["at most 1"]),
        ("IPrec@-0.1", ["at least 0"]),
        ("bpref@10", ["bpref takes no @cutoff"]),
        ("NumQ@3", ["NumQ takes no @cutoff"]),
        ("AP(real=2)", ["no parameter 'real'", "did you mean rel?"]),
        ("NumQ(rel=2)", ["no parameter 'rel'", "none"]),
        ("AP(2)", ["name=value"]),
        ("AP(rel=)", ["rel is a number"]),
        ("AP(rel=0)", ["at least 1"]),
        ("AP(norm=best)", ["R, min, hits, k", "not best"]),
        ("AP(norm=min)", ["needs a cutoff"]),
        ("AP(norm=k)", ["needs a cutoff"]),
        ("nDCG(dcg=log10)", ["log2, exp-log2"]),
        ("AP@", ["not in the notation"]),
        ("@10", ["not in the notation"]),
        ("AP(rel=2", ["not in the notation"]),
        ("AP@5@6", ["not in the notation"]),
        ("SetF(beta=-1)", ["at least 0"]),
        ("AP@1e999", ["AP@1e999"]),
    ],
)
def test_what_is_refused(text: str, words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text)
    message = str(caught.value)
    for word in words:
        assert word in message


def test_all_wrong_names_are_reported_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        parse("AP", "nDGC@10", "P", "bpref@3 AP(norm=min)")
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0] for line in lines] == ["nDGC@10", "P", "bpref@3", "AP(norm=min)"]


def test_one_name_for_one_metric() -> None:
    assert str(parse_one("ndcg_cut_10").metric) == "nDCG@10"
    with pytest.raises(UsageError, match="several metrics"):
        parse_one("ndcg_cut")


# --------------------------------------------------------------------------- level and protocol


def test_the_level_is_for_binary_metrics() -> None:
    level = Defaults(level=2)
    assert read("AP P@5 bpref IPrec@0.1 NumRel", defaults=level) == [
        "AP(rel=2)", "P(rel=2)@5", "bpref(rel=2)", "IPrec(rel=2)@0.1", "NumRel(rel=2)",
    ]  # fmt: skip
    assert read("nDCG nDCG@10 ndcg_cut_5 NumRet Judged@5 NumQ", defaults=level) == [
        "nDCG", "nDCG@10", "nDCG@5", "NumRet", "Judged@5", "NumQ",
    ]  # fmt: skip
    assert read("AP(rel=1) P(rel=3)@5 nDCG(rel=2)", defaults=level) == [
        "AP", "P(rel=3)@5", "nDCG(rel=2)",
    ]  # fmt: skip
    followers = {
        name
        for name, found in catalogue().items()
        if any(p.name == "rel" and p.follows_level for p in found.parameters)
    }
    gains = {"nDCG", "nDCGrel", "Rndcg", "G", "DCG", "IdealDCG"}
    others = {"NumQ", "NumRet", "Judged", "Unjudged", "RBPresid", "Volume"}
    assert set(catalogue()) - followers == gains | others | set(oracles_user_models.TWINS)


def test_a_value_that_must_be_above_another() -> None:
    assert read("SDCG(min_rel=2, max_rel=3)@5") == ["SDCG(min_rel=2, max_rel=3)@5"]
    for text in ("SDCG(max_rel=0)@5", "INST(min_rel=3, max_rel=3)"):
        with pytest.raises(UsageError, match="max_rel is above min_rel"):
            parse(text)
    with pytest.raises(UsageError, match=r"INST needs a max_rel, as in INST\(max_rel=3\)"):
        parse("INST")


def test_a_protocol_settles_what_its_peer_means() -> None:
    nine = protocols.get("trec_eval_9").defaults()
    assert read("IPrec@0.1 iprec_at_recall_0.20", defaults=nine) == [
        "IPrec(needed=trec_eval_9)@0.1", "IPrec(needed=trec_eval_9)@0.2",
    ]  # fmt: skip
    assert read("IPrec(needed=ceil)@0.1 AP", defaults=nine) == ["IPrec@0.1", "AP"]


def test_metrics_compare_by_what_they_are() -> None:
    (one,), (two,) = parse("P(rel=2)@5"), parse("Precision(rel=2, cutoff=5)")
    assert one == two
    assert isinstance(one, Metric)
    assert {one: "x"}[two] == "x"
    assert one != parse("P@5")[0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SetF(beta=1e400)", "beta is a finite number"),
        ("SetF(beta=1e200)", "beta is at most"),
        ("AP(rel=1,rel=2)", "rel is given twice"),
        ("P(cutoff=3)@5", "cutoff is given twice"),
        ("AP(norm='R)", "norm is one of"),
        ("P.5,5", "a value is there twice"),
        ("AP@1e999", "cutoff is a finite number"),
    ],
)
def test_values_that_no_metric_can_take(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        parse(text)
