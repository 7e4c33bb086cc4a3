"""Names of metrics as trec_eval and ranx write them: `ndcg_cut_10`, `P.5,10`, `map@100-l2`, `rbp.95`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from warehouse.config.project import per_project
from warehouse.errors import UsageError, WarehouseError, nearest
from warehouse.metrics.catalogue import catalogue
from warehouse.metrics.metric import Defaults, Metric, Requested, arguments, read_values, settle
from warehouse.metrics.parameters import Gains, Levels, Parameter, Value
from warehouse.metrics.template import RanxName, Template, TrecName

_RANX_DECIMALS = re.compile(r"^(?P<name>\w+)[.@](?P<decimals>\d+)(?:-l(?P<level>\d+))?$")
_RANX_LEVEL = re.compile(r"^(?P<rest>.+)-l(?P<level>\d+)$")
_COUNTS = "runid num_q num_ret num_rel num_rel_ret"
_PREFS = "prefs_num_prefs_poss prefs_num_prefs_ful prefs_num_prefs_ful_ret"
# trec_eval 10.0's nicknames, each with its measures in the order in which it prints them.
TREC_SETS: dict[str, tuple[str, ...]] = {
    name: tuple(measures.split())
    for name, measures in {
        "official": f"{_COUNTS} map gm_map Rprec bpref recip_rank iprec_at_recall P",
        "set": f"{_COUNTS} utility set_P set_relative_P set_recall set_map set_F",
        "all_trec": f"{_COUNTS} map gm_map Rprec bpref recip_rank iprec_at_recall P relstring recall "
        "infAP gm_bpref Rprec_mult utility 11pt_avg binG G ndcg ndcg_rel Rndcg ndcg_cut "
        "map_cut relative_P success set_P set_relative_P set_recall set_map set_F "
        "num_nonrel_judged_ret rbp rbp_resid unj",
        "prefs": f"runid num_q {_PREFS} prefs_simp prefs_pair prefs_avgjg",
        "all_prefs": f"runid num_q {_PREFS} prefs_simp prefs_pair prefs_avgjg prefs_avgjg_Rnonrel "
        "prefs_simp_ret prefs_pair_ret prefs_avgjg_ret prefs_avgjg_Rnonrel_ret "
        "prefs_simp_imp prefs_pair_imp prefs_avgjg_imp",
        "qrels_jg": "runid num_q map_avgjg P_avgjg Rprec_mult_avgjg",
    }.items()
}
# All measures of trec_eval, in the order in which it prints them.
TREC_ORDER = (
    *TREC_SETS["all_trec"][: TREC_SETS["all_trec"].index("ndcg")], "dcg", "ideal_dcg",
    *TREC_SETS["all_trec"][TREC_SETS["all_trec"].index("ndcg") : -3], *TREC_SETS["all_prefs"][2:],
    *TREC_SETS["qrels_jg"][2:], "yaap", *TREC_SETS["all_trec"][-3:],
)  # fmt: skip
# The tag of the run, which is printed next to the metrics of a set.
_RUNID = "runid"


@dataclass(frozen=True)
class Relstring:
    """trec_eval's relstring: the grades of the first documents of a ranking in one string.

    It is not a metric, because it has no value over queries; it is printed in trec_eval's layout
    only.
    """

    length: int
    trec_name: str


def relstring(text: str) -> Relstring | None:
    """Read `relstring` or `relstring.20`; None for other names."""
    name, dot, length = text.partition(".")
    if name != "relstring":
        return None
    if not dot:
        return Relstring(10, name)
    if not length.isdecimal() or int(length) < 1:
        raise UsageError(f"{text}: write the length as in relstring.20")
    return Relstring(int(length), f"{name}_{length}")


@per_project
def trec_names() -> dict[str, tuple[Template, TrecName]]:
    """Return trec_eval's names, each with its metric."""
    return {t.name: (d, t) for d in catalogue().values() for t in d.trec_names}


@per_project
def ranx_names() -> dict[str, list[tuple[Template, RanxName]]]:
    """Return ranx's names, each with the metrics that it may mean."""
    known: dict[str, list[tuple[Template, RanxName]]] = {}
    for found in catalogue().values():
        for ranx in found.ranx_names:
            known.setdefault(ranx.name, []).append((found, ranx))
    return known


def read(
    text: str, defaults: Defaults, *, only: str | None = None, complete: bool = True
) -> list[Requested] | None:
    """Read a name as ranx and trec_eval write it, or `only` one of them; None for other names."""
    return (
        (_ranx_decimals(text, defaults) if only != "trec_eval" else None)
        or (_trec(text, defaults) if only != "ranx" else None)
        or (_ranx(text, defaults, complete=complete) if only != "trec_eval" else None)
    )


# --------------------------------------------------------------------------- trec_eval


def trec_set(name: str, defaults: Defaults) -> list[Requested | Relstring]:
    """Return the lines of one of trec_eval's sets, without those that its release does not have."""
    members: list[Requested | Relstring] = []
    for member in TREC_SETS[name]:
        string = relstring(member)
        if member == _RUNID or member in defaults.lacks:
            continue
        if string is not None:
            members.append(string)
        else:
            members += _trec_metrics(member, *trec_names()[member], None, defaults)
    return members


def trec_lines(asked: Iterable[str], defaults: Defaults) -> list[Requested | Relstring]:
    """Read names as trec_eval's -m does; a name means its measure, whatever else is called so.

    Each measure is there once, in trec_eval's order, with the first parameters that are given to it.
    The run's tag, `runid`, has no line here.
    """
    given: dict[str, str | None] = {}
    for text in asked:
        name, dot, listed = text.partition(".")
        if name in TREC_SETS:
            for member in TREC_SETS[name]:
                if member not in defaults.lacks:
                    given.setdefault(member, None)
            continue
        if name not in TREC_ORDER or name in defaults.lacks or (dot and not listed):
            raise UsageError(f"{text}: no measure of trec_eval{nearest(name, TREC_ORDER)}")
        given[name] = given.get(name) or listed or None
    found: list[Requested | Relstring] = []
    for name in sorted(given.keys() - {_RUNID}, key=TREC_ORDER.index):
        text = f"{name}.{given[name]}" if given[name] else name
        string = relstring(text)
        if string is None:
            found += _trec_metrics(text, *trec_names()[name], given[name], defaults)
        else:
            found.append(string)
    return found


def _trec(text: str, defaults: Defaults) -> list[Requested] | None:
    """Read `map`, `P_5`, `ndcg_cut_10`, `P.5,10`, `ndcg.1=3,2=9`; None for other names."""
    name, dot, listed = text.partition(".")
    if name in trec_names():
        return _trec_metrics(text, *trec_names()[name], listed if dot else None, defaults)
    stem, _, last = text.rpartition("_")
    if stem in trec_names() and re.fullmatch(r"[\d.,-]*\d[\d.,-]*|.+=.+", last):
        found, known = trec_names()[stem]
        if known.param is not None or known.numbers:
            return _trec_metrics(text, found, known, last, defaults)
    return None


def example(text: str) -> str | None:
    """Return an example of trec_eval's names with this prefix and a number, ndcg_cut_5, or None."""
    found = trec_names().get(text.rpartition("_")[0])
    if found is None or not found[1].values:
        return None
    known = found[1]
    return f"{known.name}_{known.format.format(known.values[0])}"


def _trec_metrics(
    text: str, found: Template, known: TrecName, listed: str | None, defaults: Defaults
) -> list[Requested]:
    try:
        values = _listed(found, known, listed)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{text}: {error}") from None
    return [
        Requested(settle(text, found, {**known.given, **given}, defaults), label)
        for given, label in values
    ]


def _listed(
    found: Template, known: TrecName, listed: str | None
) -> list[tuple[Mapping[str, Value], str]]:
    """Return the parameters of each metric that a name with a list stands for, with their labels."""
    if known.numbers:
        if listed is None:
            return [({}, known.name)]
        words = listed.split(",")
        if len(words) < len(known.numbers) or (len(words) > len(known.numbers) and not known.first):
            raise ValueError(f"{known.name} lists {len(known.numbers)} numbers, not {len(words)}")
        pairs = zip(known.numbers, words, strict=False)
        return [
            (
                {name: _parameter(found, known, name).read(word) for name, word in pairs},
                f"{known.name}_{listed}",
            )
        ]
    if known.param is None:
        if listed is not None:
            raise ValueError(f"{known.name} takes no parameters")
        return [({}, known.name)]
    parameter = _parameter(found, known, known.param)
    if parameter.type in ("gains", "levels"):
        if listed is None:
            return [({}, known.name)]
        of = _of_pairs if parameter.type == "gains" else _of_levels
        return [(of(found, known, parameter, listed), f"{known.name}_{listed}")]
    if listed is None and not known.values:
        return [({}, known.name)]
    words = listed.split(",") if listed else [str(v) for v in known.values]
    if parameter.type == "integer":  # trec_eval stops reading where the number ends
        words = [re.sub(r"^(\d+)\.\d*$", r"\1", word) for word in words]
    values = [parameter.read(word) for word in words]
    if len(set(values)) < len(values):
        raise ValueError("a value is there twice")
    order = sorted(values, key=lambda value: float(str(value)))
    return [({known.param: v}, f"{known.name}_{known.format.format(v)}") for v in order]


def _of_levels(
    found: Template, known: TrecName, parameter: Parameter, listed: str
) -> dict[str, Value]:
    return {parameter.name: parameter.levels(listed.split(","))}


def _of_pairs(
    found: Template, known: TrecName, parameter: Parameter, listed: str
) -> dict[str, Value]:
    """Read `1=3,2=9`, with `p=0.8` among them if the name allows it."""
    given: dict[str, Value] = {}
    pairs = []
    for word in listed.split(","):
        key, equals, value = word.partition("=")
        if not equals:
            is_cutoff = word.isdecimal() and found.parameter("cutoff") is not None
            hint = f"; a cutoff is {found.name}@{word}" if is_cutoff else ""
            raise ValueError(
                f"write gains as in {known.name}.1=3,2=9, not {word or 'nothing'}{hint}"
            )
        if key in known.named:
            given[key] = _parameter(found, known, key).read(value)
        elif key.startswith("-"):
            raise ValueError(f"a document without a grade has no gain; {key} is no grade")
        else:
            pairs.append((key, value))
    return given | {parameter.name: parameter.gains(pairs)}


def _parameter(found: Template, known: TrecName, name: str) -> Parameter:
    parameter = found.parameter(name)
    if parameter is None:
        raise WarehouseError(f"{found.name}: trec_eval name {known.name} has a wrong parameter")
    return parameter


def trec_name(metric: Metric, defaults: Defaults) -> tuple[str, TrecName | None]:
    """Return trec_eval's name for a metric under some defaults, else its canonical name."""
    for known in metric.definition.trec_names:
        named = (*known.numbers, *known.named, *([known.param] if known.param else []))
        for given in ({name: metric.params[name] for name in named}, {}):
            if known.param is not None and known.values and given.get(known.param) is None:
                continue
            if settle(known.name, metric.definition, {**known.given, **given}, defaults) == metric:
                label = _label(known, metric, defaults) if given else ""
                return known.name + (f"_{label}" if label else ""), known
    return str(metric), None


def _label(known: TrecName, metric: Metric, defaults: Defaults) -> str:
    """Return trec_eval's suffix of a name for parameters that differ from the implied ones."""
    plain = settle(known.name, metric.definition, known.given, defaults, complete=False).params
    values = metric.params
    if known.numbers:
        words = [f"{values[name]}" for name in known.numbers]
        return ",".join(words) if any(values[n] != plain[n] for n in known.numbers) else ""
    words = [f"{name}={values[name]}" for name in known.named if values[name] != plain[name]]
    value = values[known.param] if known.param is not None else None
    if isinstance(value, Gains):
        words += [f"{grade}={gain:g}" for grade, gain in value]
    elif isinstance(value, Levels):
        words += [f"{level:g}" for level in value] if value != plain[str(known.param)] else []
    elif value is not None:
        words.append(known.format.format(value))
    return ",".join(words)


# --------------------------------------------------------------------------- ranx


def _ranx(text: str, defaults: Defaults, *, complete: bool = True) -> list[Requested] | None:
    """Read `ndcg@10`, `map@100-l2`, `precision`; None for other names."""
    level = _RANX_LEVEL.match(text)
    rest = level["rest"] if level else text
    name, at_sign, at = rest.partition("@")
    candidates = ranx_names().get(name, [])
    for found, known in candidates:
        if known.fraction is None and (bool(at_sign) == found.needs_cutoff or len(candidates) == 1):
            _, given = arguments(
                text, found, f"rel={level['level']}" if level else None, at or None
            )
            each: Sequence[Mapping[str, Value]] = [{}]
            if known.param is not None:
                each = [{known.param: value} for value in known.values]
            return [
                Requested(
                    settle(
                        text, found, {**known.given, **one, **given}, defaults, complete=complete
                    )
                )
                for one in each
            ]
    return None


def _ranx_decimals(text: str, defaults: Defaults) -> list[Requested] | None:
    """Read `rbp.95`, `rbp@95` and `rbp.95-l2`; None for other names."""
    match = _RANX_DECIMALS.match(text)
    if match is None:
        return None
    for found, known in ranx_names().get(match["name"], ()):
        if known.fraction is not None:
            level = {"rel": match["level"]} if match["level"] else {}
            values = read_values(text, found, {known.fraction: f"0.{match['decimals']}", **level})
            return [Requested(settle(text, found, {**known.given, **values}, defaults))]
    return None
