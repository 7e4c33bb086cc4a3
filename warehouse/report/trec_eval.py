"""trec_eval's command line: its options, its output and its exit codes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from getopt import GetoptError, gnu_getopt
from pathlib import Path

from warehouse.errors import InputError, UsageError, WarehouseError, nearest
from warehouse.evaluate.file_scoring import NothingInCommonError
from warehouse.evaluate.scoring import Scores, score
from warehouse.metrics import peer_names, protocols
from warehouse.metrics.notation import Line, Relstring, Requested
from warehouse.metrics.protocols import Protocol
from warehouse.readers import zscores as references
from warehouse.readers.checks import SeveralSystemsError
from warehouse.readers.prefs import Preferences
from warehouse.report import trec

RELEASES = {"9": "9.0.8", "10": "10.0"}
_LONG = {
    "help": "h", "version": "v", "query_eval_wanted": "q", "measure": "m",
    "complete_rel_info_wanted": "c", "level_for_rel": "l", "nosummary": "n", "Debug_level": "D",
    "Judged_docs_only": "J", "Number_docs_in_coll": "N", "Max_retrieved_per_topic": "M",
    "Rel_info_format": "R", "Results_format": "T", "Output_old_results_format": "o", "Zscore": "Z",
}  # fmt: skip
_TAKE_A_VALUE = frozenset("mlDNMRTZ")
# The fields of a call that options set: to true, to a number of at least this, to a text.
_FLAGS = {
    "h": "help", "v": "version", "q": "per_query", "c": "complete", "n": "no_summary",
    "J": "judged_only",
}  # fmt: skip
_NUMBERS = {"l": ("level", 1), "M": ("depth", 1), "N": ("collection", 0)}
_TEXTS = {"R": "rel_info", "Z": "zscores"}
_REL_INFO = ("qrels", "qrels_jg", "prefs", "qrels_prefs")
# A count of relevant documents that -l does not change.
_WHOLE, _ASKED_AS = "NumRel", "NumRel(rel=1)"
_MOST = 2**31 - 1
# Its exit codes: wrong options, files that it does not read, a query that it does not compute,
# nothing in common, a file of z-scores that it does not read.
_USAGE, _FILES, _TWICE, _NOTHING, _ZSCORES = 1, 2, 4, 7, 255


class TrecEvalError(WarehouseError):
    """An error that stops trec_eval, with its exit code."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass
class Call:
    """A call of trec_eval, read from its arguments."""

    measures: list[str] = field(default_factory=list)
    per_query: bool = False
    no_summary: bool = False
    complete: bool = False
    judged_only: bool = False
    version: bool = False
    help: bool = False
    level: int = 1
    depth: int | None = None
    collection: int = 0
    rel_info: str = "qrels"
    zscores: str | None = None
    files: tuple[str, ...] = ()


def read(arguments: Sequence[str]) -> Call:
    """Read trec_eval's arguments, as getopt_long does. Raises TrecEvalError with exit code 1.

    >>> call = read(["-qmP.5,10", "--level_for_rel=2", "qrels.txt", "bm25.run", "-c"])
    >>> call.measures, call.per_query, call.level, call.files
    (['P.5,10'], True, 2, ('qrels.txt', 'bm25.run'))
    """
    short = "".join(c + (":" if c in _TAKE_A_VALUE else "") for c in "hvqmclnDJNMRToZ")
    long = [name + ("=" if c in _TAKE_A_VALUE else "") for name, c in _LONG.items() if c != "o"]
    try:
        # the value of the obsolete option is not used; trec_eval asks for one in the long form only
        given, files = gnu_getopt(list(arguments), short, [*long, "Output_old_results_format="])
    except GetoptError as error:
        raise TrecEvalError(f"{error}; see: warehouse trec-eval --help", _USAGE) from None
    call = Call(files=tuple(files))
    for name, value in given:
        option = _LONG.get(name.removeprefix("--"), name.removeprefix("-"))
        if option in _FLAGS:
            setattr(call, _FLAGS[option], True)
        elif option in _NUMBERS:
            field_name, least = _NUMBERS[option]
            setattr(call, field_name, _number(name, value, least=least))
        elif option in _TEXTS:
            setattr(call, _TEXTS[option], value)
        elif option == "m":
            call.measures.append(value)
        elif option == "D" and value.partition(".")[0] != "0":
            raise TrecEvalError(
                "-D: there is no debugging output here; 'warehouse explain' shows what each "
                "document adds to a value of a stored run",
                _USAGE,
            )
        elif option == "T" and value != "trec_results":
            raise TrecEvalError(f"-T {value}: the results are in trec_results", _FILES)
    call.depth = None if call.depth is not None and call.depth > _MOST else call.depth
    if not (call.help or call.version) and len(files) != 2:
        raise TrecEvalError("give the files of the judgments and of the results", _USAGE)
    return call


def _number(option: str, text: str, *, least: int) -> int:
    if not text.strip().isdecimal() or int(text) < least:
        raise TrecEvalError(f"{option} {text}: is a whole number of at least {least}", _USAGE)
    return int(text)


def evaluate(call: Call, release: str = "9") -> tuple[str, tuple[str, ...]]:
    """Return the output of trec_eval, and warnings about the files.

    `release` is "9" or "10". Raises TrecEvalError with the exit code of trec_eval.
    """
    if release not in RELEASES:
        raise TrecEvalError(f"--release {release}: is 9 or 10", _USAGE)
    if call.rel_info not in _REL_INFO:
        hint = nearest(call.rel_info, _REL_INFO)
        raise TrecEvalError(f"-R {call.rel_info}: is one of {', '.join(_REL_INFO)}{hint}", _FILES)
    rules = _rules(call, release)
    measures = call.measures or ["official"]
    asked = _asked(call, measures, rules)
    if call.zscores is not None:
        try:
            references.read(call.zscores)
        except (WarehouseError, OSError) as error:
            raise TrecEvalError(str(error), _ZSCORES) from None
    for file in call.files:
        if file != "-" and not Path(file).is_file():
            raise TrecEvalError(f"{file}: is no file that can be read", _FILES)
    # over all judged queries, it counts what is above 0, whatever the level
    more = [_ASKED_AS] if call.complete and call.level > 1 and _counts_relevant(asked) else []
    qrels, run = call.files
    score_run = partial(
        score, qrels, metrics=[*asked, *more, "num_q"],
        per_query=call.per_query, protocol=rules.name, level=call.level, complete=call.complete,
        judged_only=call.judged_only, depth=call.depth, zscores=call.zscores,
        qrels_format=Preferences.name if call.rel_info == "prefs" else "trec",
        iterations=call.rel_info in ("qrels_jg", "qrels_prefs"),
    )  # fmt: skip
    # with -c, release 10 scores every judged query, also if the results have none of them
    scores_any = call.complete and release == "10"
    try:
        try:
            scores = _of_all_systems(score_run, run)
            read = scores.read[0]
            is_empty = not read.num_answered and not read.num_unjudged_queries
            warnings = [text for one in scores.read for text in one.staged.warnings]
        except NothingInCommonError as error:
            if not scores_any:
                raise
            scores, is_empty, warnings = score_run({}), False, [str(error)]
    except UsageError as error:
        raise TrecEvalError(str(error), _USAGE) from None
    except InputError as error:
        raise TrecEvalError(str(error), _code(error)) from None
    if is_empty and (run == "-" or not Path(run).stat().st_size):
        raise TrecEvalError(f"{run}: is empty, so there are no results to read", _FILES)
    if is_empty and not scores_any:
        raise TrecEvalError(f"{run}: has no line of results", _NOTHING)
    printed = _printed(call, measures, asked, rules, scores)
    return printed, (*scores.qrels.warnings, *warnings)


def _of_all_systems(score_run: Callable[..., Scores], run: str) -> Scores:
    """Score a run; the lines of several systems are one run, as for trec_eval."""
    try:
        return score_run(run, run_format="trec")
    except SeveralSystemsError:
        if run == "-":  # it is not there a second time
            raise
        return score_run(run, run_format="trec", run_where="true")


def _rules(call: Call, release: str) -> Protocol:
    is_prefs = call.rel_info in ("prefs", "qrels_prefs")
    return protocols.get(f"trec_eval_{release}" + ("_prefs" if is_prefs else ""))


def _asked(call: Call, measures: Iterable[str], rules: Protocol) -> list[Line]:
    for measure in measures:
        name, dot, parameters = measure.partition(".")
        known = (*peer_names.TREC_SETS, *peer_names.TREC_ORDER)
        if name not in known or name in rules.lacks or (dot and not parameters):
            raise TrecEvalError(f"-m {measure}: no such measure{nearest(name, known)}", _USAGE)
    try:
        lines = peer_names.trec_lines(measures, rules.defaults(call.level))
    except UsageError as error:
        raise TrecEvalError(str(error), _FILES) from None
    return [_with_collection(line, call.collection) for line in lines]


def _with_collection(line: Line, size: int) -> Line:
    """Give utility the number of documents in the collection, if it is known."""
    if isinstance(line, Relstring) or line.metric.name != "Utility" or not size:
        return line
    values = {**line.metric.params, "collection": size}
    metric = replace(line.metric, values=tuple(values.items()))
    return Requested(metric, line.trec_name or "utility")


def _counts_relevant(lines: Iterable[Line]) -> bool:
    return any(isinstance(line, Requested) and line.trec_name == "num_rel" for line in lines)


def _printed(
    call: Call, measures: Sequence[str], asked: Sequence[Line], rules: Protocol, scores: Scores
) -> str:
    """Return the lines that are asked for, of what was scored."""
    names = {str(line.metric): line.trec_name for line in asked if isinstance(line, Requested)}
    rows = scores.relation.fetchall()
    num_metrics = len({str(one.metric) for one in scores.requested})
    totals = {metric: value for _, metric, value in rows[len(rows) - num_metrics :]}
    if call.complete and _WHOLE in totals:
        totals |= {metric: totals[_WHOLE] for metric, name in names.items() if name == "num_rel"}
    of_queries = [row for row in rows[: len(rows) - num_metrics] if row[1] in names]
    is_named = any(m.partition(".")[0] in (*peer_names.TREC_SETS, "runid") for m in measures)
    return trec.text(
        [*of_queries, *(("all", metric, totals[metric]) for metric in names)], asked,
        rules.defaults(call.level),
        runid=scores.read[0].staged.tag if is_named else None, strings=scores.strings,
        zscores=call.zscores is not None, summary=not call.no_summary,
    )  # fmt: skip


def _code(error: InputError) -> int:
    """Return the exit code of trec_eval for files that are refused."""
    if isinstance(error, NothingInCommonError):
        return _NOTHING
    is_twice = error.problems and all(" is there twice " in reason for _, reason in error.problems)
    return _TWICE if is_twice else _FILES
