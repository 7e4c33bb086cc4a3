"""The notation of metrics: reading, settling, printing, and the peers' names for the same things."""

from __future__ import annotations

import math

import extended
import oracles_preferences
import pytest
from hypothesis import given
from hypothesis import strategies as st
from peered import USER_MODELS
from twins import twins_in

from warehouse.errors import UsageError
from warehouse.metrics import protocols
from warehouse.metrics.catalogue import catalogue
from warehouse.metrics.notation import Defaults, Metric, parse, parse_one, request
from warehouse.metrics.parameters import Parameter, split
from warehouse.metrics.template import Template


def read(text: str, **options: object) -> list[str]:
    return [str(metric) for metric in parse(text, **options)]


def number(parameter: Parameter) -> st.SearchStrategy[float]:
    return st.floats(parameter.minimum, parameter.maximum, allow_nan=False)


def values_of(parameter: Parameter) -> st.SearchStrategy[str]:
    if parameter.type == "choice":
        return st.sampled_from(parameter.choices).flatmap(
            lambda word: st.sampled_from([word, f"'{word}'", f'"{word}"'])
        )
    if parameter.type == "boolean":
        return st.sampled_from(["True", "False"])
    if parameter.type == "gains":
        grades = st.dictionaries(
            st.integers(-2, 9) | st.floats(-2, 9), number(parameter), max_size=4
        )
        return grades.map(
            lambda pairs: "{" + ", ".join(f"{k}: {v!r}" for k, v in pairs.items()) + "}"
        )
    if parameter.type == "levels":
        return st.lists(number(parameter), min_size=1, max_size=5, unique=True).map(str)
    low = (1 if parameter.above else 0) if parameter.minimum is None else parameter.minimum
    high = 10_000 if parameter.maximum is None else parameter.maximum
    if parameter.type in ("integer", "grade"):
        whole = st.integers(math.ceil(low), int(high)).map(str)
        if parameter.type == "integer":
            return whole
        return whole | st.floats(low, high, allow_nan=False).map(repr)
    return st.floats(low, high, allow_nan=False).map(repr)


@st.composite
def notations(draw: st.DrawFn) -> str:
    found: Template = catalogue()[draw(st.sampled_from(sorted(catalogue())))]
    given = {
        p.name: draw(values_of(p)) for p in found.parameters if p.required or draw(st.booleans())
    }
    for p in found.parameters:
        if p.only_for is not None:
            given.pop(p.name, None)  # it is drawn where it is needed
    for p in found.parameters:
        needed = p.needs.get(given.get(p.name, "").strip("'\""))
        if needed is not None and needed not in given:
            other = found.parameter(needed)
            assert other is not None
            given[needed] = draw(values_of(other))
    for p in found.parameters:
        for replaced in p.replaces if p.name in given else ():
            given.pop(replaced, None)
    for p in found.parameters:
        if p.above in given and p.name in given:
            given[p.name] = str(float(given[p.above]) + 1 + float(given[p.name]))
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
    at += "(attribute=genre)" if "attribute" in required else ""
    if found.at in required:
        at += "@0.5" if found.at == "recall" else "@5"
    assert read(name + at) == [name + at]
    if name not in ("R", "RBP", "Success"):  # r is nobody's name, the others are trec_eval's own
        assert read(name.lower() + at) == [name + at]
    for alias in found.names:
        if alias.peer == "ir_measures" and not alias.fixed:
            assert read(alias.name + at) == [name + at]


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


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        ("nDCG(gains={0:0,1:3,2:9})@10", "nDCG(gains={1:3,2:9})@10"),  # 0 is worth 0 anyway
        ("nDCG(gains={2: 9, 1: 3.0}) AP", "nDCG(gains={1:3,2:9}) AP"),
        ("nDCG(gains={ 4 : 4.5 , -1 : 1 }, cutoff=5)", "nDCG(gains={-1:1,4:4.5})@5"),
        ("nDCG(gains={})", "nDCG"),
        ("nDCG(gains={0:0, 1:1, 2:2, -3:0})", "nDCG"),
        ("nDCG(gains={0:-1})", "nDCG(gains={0:-1})"),
        ("nDCG(dcg='log2', gains={1:2, 3.5: 2})", "nDCG(gains={1:2,3.5:2})"),
        ("DCG(gains={1:2})@3 IdealDCG(gains={1:2})", "DCG(gains={1:2})@3 IdealDCG(gains={1:2})"),
        ("G(gains={1:2}) nDCGrel(gains={1:2})", "G(gains={1:2}) nDCGrel(gains={1:2})"),
        ("Rndcg(gains={1:1e-7})", "Rndcg(gains={1:1e-07})"),
        ("RBP(gain=grade, gains={1:0.5}, p=0.9)", "RBP(p=0.9, gain=grade, gains={1:0.5})"),
        ("IAP(levels=[0.5, 0, 1.0])", "IAP(levels=[0,0.5,1])"),
        ("IAP(levels=[0,.1,.2,.3,.4,.5,.6,.7,.8,.9,1])", "IAP"),
    ],
)
def test_gains_and_lists(text: str, metric: str) -> None:
    assert " ".join(read(text)) == metric
    assert " ".join(read(metric)) == metric


def test_gains_stand_in_place_of_what_else_says_so() -> None:
    """Gains decide which grades count; no level and no protocol's default has a say beside them."""
    given = Defaults(level=2, params={"nDCG": {"dcg": "exp-log2"}})
    assert read("RBP(gains={1:2}) RBP", defaults=given) == ["RBP(gains={1:2})", "RBP(rel=2)"]
    assert read("nDCG(gains={1:2}) nDCG", defaults=given) == [
        "nDCG(gains={1:2})", "nDCG(dcg=exp-log2)",
    ]  # fmt: skip


def test_a_protocol_may_give_gains_and_lists() -> None:
    """As its TOML has them: a table with the grades as keys, a list."""
    given = Defaults(params={"nDCG": {"gains": {"2": 9, "1": 3}}, "IAP": {"levels": [0.5, 0.25]}})
    assert read("nDCG IAP", defaults=given) == ["nDCG(gains={1:3,2:9})", "IAP(levels=[0.25,0.5])"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", [""]),
        ("a,b", ["a", "b"]),
        ("a={1:2,3:4}, b=[1,(2,3)] ,c", ["a={1:2,3:4}", "b=[1,(2,3)]", "c"]),
        ("a='x,y', b=\"},\"", ["a='x,y'", 'b="},"']),
    ],
)
def test_commas_that_part(text: str, parts: list[str]) -> None:
    assert split(text) == parts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nDGC@10", ["no such metric", "did you mean nDCG@10?"]),
        ("ndcg_cuts", ["did you mean ndcg_cut?"]),
        ("Sucess@5", ["did you mean Success@5?"]),
        ("RPB(p=0.9)", ["did you mean RBP(p=0.9)?"]),
        ("bprf@10", ["did you mean bpref?"]),
        ("ndcg_cut_ten", ["a number is missing, as in ndcg_cut_5"]),
        ("P_ten", ["a number is missing, as in P_5"]),
        ("iprec_at_recall_x", ["a number is missing, as in iprec_at_recall_0.00"]),
        ("P_avgjgg", ["did you mean P_avgjg?"]),
        ("AP,APP", ["no such metric"]),
        ("map_cut@5", ["no such metric; did you mean map_cut?"]),
        ("P@5,10", ["cutoff is a number, not 5,10"]),
        ("", ["an empty text names no metric"]),
        ("xyzzy", ["no such metric"]),
        ("ndcg10", ["did you mean nDCG@10?"]),
        ("R_100", ["did you mean R@100?"]),
        ("P0", ["no such metric"]),
        ("xyzzy10", ["no such metric"]),
        ("ndcg_10", ["write gains as in ndcg.1=3,2=9, not 10; a cutoff is nDCG@10"]),
        ("P", ["P: needs a cutoff, as in P@10"]),
        ("IPrec", ["IPrec: needs a recall, as in IPrec@0.5"]),
        ("SDCG@5", ["SDCG@5: needs a max_rel, as in SDCG(max_rel=3)@5"]),
        ("SDCG(min_rel=4)", ["needs a cutoff, as in SDCG(min_rel=4, max_rel=5)@10"]),
        ("ILD(attribute=x)", ["needs a cutoff, as in ILD(attribute=x)@10"]),
        ("R", ["needs a cutoff"]),
        ("P@0", ["cutoff is at least 1, not 0"]),
        ("P@-1", ["at least 1"]),
        ("P@2.5", ["whole number, not 2.5"]),
        ("MCC@1e15", ["cutoff is too great a number: 1e15; at most 100,000,000,000,000"]),
        ("Utility(collection=9223372036854775807)", ["collection is too great a number"]),
        ("P@ten", ["a number, not ten"]),
        ("P@True", ["a number, not True"]),
        ("P@nan", ["a number, not nan"]),
        ("IPrec@1.5", ["at most 1"]),
        ("IPrec@-0.1", ["at least 0"]),
        ("bpref@10", ["bpref takes no @cutoff"]),
        ("NumQ@3", ["NumQ takes no @cutoff"]),
        ("AP(real=2)", ["no parameter 'real'", "did you mean rel?"]),
        ("NumQ(rel=2)", ["no parameter 'rel'", "judged_only"]),
        ("AP(2)", ["name=value"]),
        ("AP(rel=)", ["rel is a number"]),
        ("AP(rel=0)", ["at least 0.001"]),
        ("AP(norm=best)", ["R, min, hits, k", "not best"]),
        ("AP(norm=min)", ["needs a cutoff"]),
        ("AP(norm=k)", ["needs a cutoff"]),
        ("nDCG(best=k)", ["best=k needs a cutoff"]),
        ("nDCG(best=k)@1000001", ["with best=k the cutoff is at most 1,000,000, not 1000001"]),
        ("alpha_DCG@1000001", ["cutoff is at most 1,000,000, not 1000001"]),
        ("ERR_IA@1e9", ["cutoff is at most 1,000,000, not 1e9"]),
        ("nDCG(dcg=log10)", ["log2, exp-log2"]),
        ("AP@", ["not in the notation"]),
        ("@10", ["not in the notation"]),
        ("AP(rel=2", ["not in the notation"]),
        ("AP@5@6", ["not in the notation"]),
        ("P@10(rel=2)", ["not in the notation", "did you mean P(rel=2)@10?"]),
        ("SetF(beta=-1)", ["at least 0"]),
        ("AP@1e999", ["AP@1e999"]),
        ("nDCG(gains=3)", ["gains is written as in gains={1:3,2:9}, not 3"]),
        ("nDCG(gains={1:x})", ["gains: the gain of 1 is a number, not x"]),
        ("nDCG(gains={1:})", ["the gain of 1 is a number, not nothing"]),
        ("nDCG(gains={x:1})", ["gains: a grade is a number, not x"]),
        ("nDCG(gains={1:3}, rel=1)", ["gains stands in place of rel"]),
        ("nDCG(gains={1})", ["gains pairs grades and gains, as in gains={1:3,2:9}, not 1"]),
        ("nDCG(gains={1:2,1:3})", ["the grade 1 is there twice"]),
        ("nDCG(gains={1:1e400})", ["the gain of 1 is a finite number"]),
        ("nDCG(gains={1:1e7})", ["the gain of 1 is at most 1,000,000"]),
        ("RBP(gains={1:-1})", ["the gain of 1 is at least 0"]),
        ("nDCG(gains={1:3)@5", ["} is missing in gains={1:3"]),
        ("nDCG(gains=1:3})", ["} closes nothing"]),
        ("nDCG(gains={1:3])", ["] closes nothing"]),
        ("nDCG(gains=[1,3])", ["gains is written as in gains={1:3,2:9}, not [1,3]"]),
        ("nDCG(gains=)", ["gains is written as in gains={1:3,2:9}, not nothing"]),
        ("nDCG(gain={1:3})", ["no parameter 'gain'", "did you mean gains?"]),
        ("nDCG(gains={1:3}, rel=2)", ["gains stands in place of rel; give one of them"]),
        ("nDCG(gains={1:3}, dcg=binary)", ["gains stands in place of dcg"]),
        ("AP(gains={1:3})", ["AP has no parameter 'gains'"]),
        ("IAP(levels=0.5)", ["levels is written as in levels=[0.25,0.5], not 0.5"]),
        ("IAP(levels=[])", ["levels lists a number at least"]),
        ("IAP(levels=[0.5,0.5])", ["a number is there twice"]),
        ("IAP(levels=[0.5,2])", ["levels is at most 1, not 2"]),
        ("IAP(levels=[0.5,x])", ["levels is a number, not x"]),
        ("SetP(relative=3)", ["relative is one of True, False, not 3"]),
    ],
)
def test_what_is_refused(text: str, words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text)
    message = str(caught.value)
    for word in words:
        assert word in message


@pytest.mark.parametrize("given", [5, None, ["AP"]])
def test_what_is_no_text_names_no_metric(given: object) -> None:
    with pytest.raises(UsageError, match="a metric is named by a text, as in 'nDCG@10', not "):
        parse(given)  # type: ignore[arg-type]


def test_all_wrong_names_are_reported_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        parse("AP", "nDGC@10", "P", "bpref@3 AP(norm=min)")
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0] for line in lines] == ["nDGC@10", "P", "bpref@3", "AP(norm=min)"]


def test_one_name_for_one_metric() -> None:
    assert str(parse_one("ndcg_cut_10").metric) == "nDCG@10"
    with pytest.raises(UsageError, match="several metrics"):
        parse_one("ndcg_cut")


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
        if any(p.follows_level for p in found.parameters)
    }
    gains = {"nDCG", "nDCGrel", "G", "DCG", "IdealDCG"}
    others = {"Hole", "NumQ", "NumRet", "Judged", "Unjudged", "RBPresid", "Volume"}
    others |= {"RMSE", "MAE", "R2"}
    shown = {"CategoricalDiversity", "Coverage", "Gini", "ILD", "MIUF", "Popularity", "Spread"}
    shown |= {"Entropy", "Share", "Surprisal", "Unseen"}
    without = {metric.name for metric in parse(*USER_MODELS)} | twins_in(oracles_preferences)
    without |= {name for one in extended.oracles() for name in twins_in(one)} - followers
    assert set(catalogue()) - followers == gains | others | shown | without


def test_a_value_that_must_be_above_another() -> None:
    assert read("SDCG(min_rel=2, max_rel=3)@5") == ["SDCG(min_rel=2, max_rel=3)@5"]
    for text in ("SDCG(max_rel=0)@5", "INST(min_rel=3, max_rel=3)"):
        with pytest.raises(UsageError, match="max_rel is above min_rel"):
            parse(text)
    with pytest.raises(UsageError, match=r"^INST: needs a max_rel, as in INST\(max_rel=3\)$"):
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
        ("AP(norm='R)", "' is missing in norm='R"),
        ("P.5,5", "a value is there twice"),
        ("AP@1e999", "cutoff is a finite number"),
    ],
)
def test_values_that_no_metric_can_take(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        parse(text)
