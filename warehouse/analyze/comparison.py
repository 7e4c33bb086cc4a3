"""A comparison as people and programs read it: relations, letters, places and notes."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from string import ascii_lowercase
from typing import Any

from duckdb import DuckDBPyConnection as Connection
from duckdb import DuckDBPyRelation as Relation

from warehouse.analyze import past_state, ranked_lists, run_choice, significance, stored_metrics
from warehouse.analyze.paired_tests import (
    PAIRS,
    POSTERIORS,
    POWERS,
    SCALES,
    VALUES,
    Compared,
    Gathered,
    How,
    current_runs,
    gather,
    is_hypothesis,
    pairs_of,
    standardise,
)
from warehouse.analyze.paired_tests import compare as compare_pairs
from warehouse.analyze.run_choice import Choice
from warehouse.errors import UsageError, check_names, counted, listing, option
from warehouse.evaluate import candidates, scope, stored_hits, unanswerable, unstored_values
from warehouse.evaluate.candidates import Candidate
from warehouse.evaluate.unstored_values import Values
from warehouse.metrics.notation import Metric, Metrics, known_metric, parse_one
from warehouse.metrics.protocols import Protocol, left_out
from warehouse.store import database
from warehouse.store.file import WarehouseFile

# The most pairs that are noted one by one.
_LISTED = 6
# From so many queries on, what a test is about weighs more than its power.
_MANY = 200


def letter(number: int) -> str:
    """Return the letter of a run in the marks: a to z, then aa, ab and so on.

    >>> [letter(n) for n in (0, 25, 26, 52)]
    ['a', 'z', 'aa', 'ba']
    """
    before, last = divmod(number, 26)
    return (letter(before - 1) if before else "") + ascii_lowercase[last]


def relation(
    con: Connection, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], name: str
) -> Relation:
    """Return rows as a relation with these columns, in their order."""
    made = ", ".join(f"unnest(${column}::{kind}[]) as {column}" for column, kind in columns.items())
    given = {column: [row[column] for row in rows] for column in columns}
    return database.keep(con, f"select {made}", given, name=name)


def compare(
    file: WarehouseFile,
    dataset: str | None,
    runs: str | Iterable[str],
    metrics: Metrics,
    how: How,
    *,
    bases: str | Iterable[str],
    all_pairs: bool,
    judged_only: bool,
    judged: bool,
    all_relevant: bool,
    store: bool,
    protocol: str,
    as_of: past_state.Moment | None,
    qrels: int | None,
    on_step: Callable[[str], None] | None,
    choice: Choice = run_choice.ALL,
    sort: str | None = None,
) -> Compared:
    """Compare runs with some bases; the arguments are as in `Warehouse.compare`."""
    if judged_only and (as_of is not None or qrels is not None):
        raise UsageError(
            "judged_only: is computed from what there is now; leave as_of and qrels out"
        )
    named, against = check_names("runs", runs), check_names("bases", bases)
    state = past_state.state(as_of, qrels)
    # what is named is read, whatever is chosen next to it
    reads = replace(choice, named=(*named, *against))
    if how.scale is not None and (all_relevant or store):
        raise UsageError(
            "scale: values that depend on the other runs are not stored, and unjudged documents not "
            f"supposed: leave {'all_relevant' if all_relevant else 'store'} out"
        )
    with (
        file.read() as con,
        past_state.read_one(con, dataset, state, reads, stored_only=not metrics) as (name, gone),
    ):
        rules = stored_metrics.stored_rules(con, protocol)
        wanted = stored_metrics.names(con, [name], metrics, rules)
        shown = wanted or stored_metrics.with_values(con, [name], rules)
        named = run_choice.expanded(con, name, named, rest=bool(named) and not choice.is_all)
        given = [*(base for base in against if base not in named), *named]
        read = given if named and len(given) > 1 else []
        ranked_lists.current_runs(con, name, read)
        made_here = stored_metrics.with_missing(con, [name], shown, rules, runs=read)
        computed = stored_metrics.computed_notes(
            [name], made_here, rules, qrels=qrels, is_past=as_of is not None
        )
        names, apart = _hypotheses(stored_metrics.choose(con, name, wanted, rules))
        chosen = current_runs(con, name, given, names, rules, with_others=not named)
        significance.check(how.test)
        asked = candidates.find(con, name, chosen, qrels)
        known = [m for m in map(known_metric, names) if m is not None]
        if rules.is_imported and (judged_only or all_relevant):
            raise UsageError(
                "judged_only and all_relevant: need metrics that are computed here, not imported values"
            )
        if judged_only or all_relevant:
            _check_known(names, known)
        if judged_only:
            unstored_values.compute_judged_only(con, known, rules, asked)
        # a run that is named alone is held against the others
        all_pairs = all_pairs or not (against or len(named) == 1)
        bases_ = against or chosen[:1]
        if sort is not None:
            chosen = _best_first(con, name, chosen, names, sort, rules)
        found = gather(con, name, chosen, names, rules)
        without_relevant: tuple[str, ...] = ()
        if how.scale is None:
            without_relevant = unanswerable.of_stored(con, name, names, rules)
        else:
            standardise(con, found, how.scale)
            if sort is not None:
                chosen = _best_scaled_first(con, name, found, sort, rules)
                found = gather(con, name, chosen, names, rules)
                standardise(con, found, how.scale)
        pairs = pairs_of(chosen, bases_, all_pairs=all_pairs)
        rows = compare_pairs(con, found, pairs, how, on_step)
        judged = judged and as_of is None and not rules.is_imported
        shares = _judged(con, known, rules, asked) if judged else {}
        supposed = unstored_values.all_relevant(con, known, rules, asked) if all_relevant else {}
        made = compared(
            con, found, rows, name, rules, how, shares, supposed, judged_only=judged_only
        )
    if store:
        from warehouse.analyze import stored_comparisons

        with file.transaction() as con:
            number = stored_comparisons.keep(con, made)
        gone += (f"kept as comparison {number}: from comparisons where comparison_id = {number}",)
    protocol_notes = [text for text in (left_out(rules.name),) if text]
    return replace(
        made,
        notes=(*made.notes, *protocol_notes, *(apart if wanted else ()), *computed, *gone),
        labels=stored_metrics.labels(metrics, rules),
        bases=() if len(pairs) == math.comb(len(chosen), 2) else tuple(bases_),
        without_relevant=without_relevant,
    )


def _best_first(
    con: Connection,
    dataset: str,
    runs: Sequence[str],
    metrics: Sequence[str],
    sort: str,
    rules: Protocol,
) -> list[str]:
    """Return the runs in the order of a metric that they are compared by, best first."""
    by = stored_metrics.one_name(con, [dataset], sort, rules)
    if by not in metrics:
        raise UsageError(
            f"{sort}: runs are sorted by a metric that is compared: {listing(metrics)}"
        )
    rows = con.execute(
        "select run, value from scores where dataset = $dataset "
        "and protocol = $protocol and metric = $metric",
        {"dataset": dataset, "protocol": rules.name, "metric": by},
    ).fetchall()
    sign = -1 if stored_metrics.direction(con, [dataset], by, rules) != "lower" else 1
    key = {
        run: round(sign * value, stored_metrics.DIGITS) for run, value in rows if value is not None
    }
    return sorted(runs, key=lambda run: key.get(run, float("inf")))


def _best_scaled_first(
    con: Connection, dataset: str, found: Gathered, sort: str, rules: Protocol
) -> list[str]:
    """Return the runs in the order of their standardised values, best first."""
    number = found.metrics.index(stored_metrics.one_name(con, [dataset], sort, rules))

    def badness(run: str) -> float:
        value = found.scores[number, found.runs.index(run)]
        sign = -1 if found.directions[number] != "lower" else 1
        return math.inf if value is None else round(sign * value, stored_metrics.DIGITS)

    return sorted(found.runs, key=badness)


def _hypotheses(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the metrics to compare, and a note about those that are no hypothesis."""
    judged = [name for name in names if not is_hypothesis(name)]
    if len(judged) == len(names) > 0:
        raise UsageError(
            f"{listing(judged)}: says how much is judged, not how good a run is, so it is not "
            "compared; it stands beside the values of other metrics"
        )
    left = [name for name in names if name not in judged]
    return left, [
        f"{listing(judged)}: stands beside the values, and is no hypothesis"
    ] if judged else []


def _check_known(names: Sequence[str], known: Sequence[Metric]) -> None:
    """Refuse to compute metrics that no longer exist."""
    gone = [name for name in names if name not in map(str, known)]
    if gone:
        raise UsageError(f"{', '.join(gone)}: no longer defined, so it cannot be recomputed")


def _judged(
    con: Connection, metrics: Sequence[Metric], rules: Protocol, runs: Sequence[Candidate]
) -> Values:
    """Return, by metric and run, the share of judged documents down to the metric's cutoff."""
    if any(
        r.qrels_id is None or scope.qrels_kind(con, r.qrels_id) == scope.PREFERENCES for r in runs
    ):
        return {}
    if stored_hits.without_lists(con, runs):
        return {}
    cutoffs = {str(metric): metric.depth for metric in metrics}
    names = {c: "Judged" if c is None else f"Judged@{c}" for c in cutoffs.values()}
    shares = {c: parse_one(name).metric for c, name in names.items()}
    found = unstored_values.values(con, list(shares.values()), rules, runs)
    return {
        (metric, run.run): found.get((str(shares[cutoff]), run.run))
        for metric, cutoff in cutoffs.items()
        for run in runs
    }


def compared(
    con: Connection,
    found: Gathered,
    rows: Sequence[Mapping[str, Any]],
    dataset: str,
    protocol: Protocol,
    how: How,
    judged: Values,
    if_all_relevant: Values,
    *,
    judged_only: bool,
) -> Compared:
    """Assemble a comparison. `judged` has the share of judged documents by metric name."""
    better_than = _better_than(found, rows)
    places = _places(found)
    values = [
        {
            "metric": name,
            "run": run,
            "letter": letter(run_number),
            "value": found.scores[number, run_number],
            "place": places.get((number, run_number)),
            "better_than": better_than.get((name, run), []),
            "judged": judged.get((name, run)),
            "if_all_relevant": if_all_relevant.get((name, run)),
            "queries": found.queries.get((number, run_number)),
        }
        for number, name in enumerate(found.metrics)
        for run_number, run in enumerate(found.runs)
    ]
    return Compared(
        values=relation(con, values, VALUES, "compared_values"),
        pairs=relation(con, rows, _pair_columns(how), "compared_pairs"),
        dataset=dataset,
        runs=tuple(found.runs),
        metrics=tuple(found.metrics),
        directions={name: found.directions[n] for n, name in enumerate(found.metrics)},
        protocol=protocol.name,
        how=how,
        run_ids=found.run_ids,
        qrels_id=found.qrels_id,
        judged_only=judged_only,
        notes=tuple(_notes(found, rows, how, judged_only=judged_only)),
    )


def _pair_columns(how: How) -> dict[str, str]:
    """Return the columns of the pairs, with those on request."""
    posteriors = {} if how.rope is None else POSTERIORS
    return {**PAIRS, **(POWERS if how.power else {}), **posteriors}


def _better_than(
    found: Gathered, rows: Sequence[Mapping[str, Any]]
) -> dict[tuple[str, str], list[str]]:
    """Return, by metric and run, the letters of the runs that it is significantly better than."""
    letters = {run: letter(number) for number, run in enumerate(found.runs)}
    better = {name: found.better(number) for number, name in enumerate(found.metrics)}
    marks: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        gain = better[row["metric"]] * (row["leaning"] or 0)
        if row["is_significant"] and gain:
            one, other = (row["run"], row["base"]) if gain > 0 else (row["base"], row["run"])
            marks.setdefault((row["metric"], one), []).append(letters[other])
    order = {one: number for number, one in enumerate(letters.values())}
    return {key: sorted(found_, key=order.__getitem__) for key, found_ in marks.items()}


def _places(found: Gathered) -> dict[tuple[int, int], int]:
    """Return, by metric and run, the rank of its value, 1 for the best; equal values share one."""
    places: dict[tuple[int, int], int] = {}
    for metric in range(len(found.metrics)):
        better = found.better(metric)
        of_metric = {run: value for (m, run), value in found.scores.items() if m == metric}
        known = {
            run: round(better * value, stored_metrics.DIGITS)
            for run, value in of_metric.items()
            if value is not None
        }
        if better:
            for run, goodness in known.items():
                places[metric, run] = 1 + sum(other > goodness for other in known.values())
    return places


def _in_whole(found: Gathered) -> Iterator[str]:
    """Say where Tukey's test is over fewer queries than a pair: over those that every run has."""
    for number, (whole, listed) in found.whole.items():
        if whole < listed:
            yield (
                f"{found.metrics[number]}: the test is over the queries that all runs have values "
                f"of, {whole:,} of {listed:,}"
            )


def _variances(rows: Sequence[Mapping[str, Any]], *, is_test: bool) -> Iterator[str]:
    """Yield one note per metric with its analysis of variance, on which its tests are based."""
    found = {row["metric"]: row["variance"] for row in rows if "variance" in row}
    for metric, one in found.items():
        ratio, p = one["variance_ratio"], one["p_of_runs"]
        test = "" if ratio is None else f"; F = {ratio:.4g}"
        test += "" if p is None else f", p {significance.equal_or_below(p)}"
        test += "; d: differences by the square root of this error" if is_test else ""
        yield (
            f"{metric}: two-way ANOVA of {one['num_runs']:,} runs and {one['num_queries']:,} queries: "
            f"mean squared error {one['mean_square']:.5g}, {one['degrees']:,} degrees of freedom"
            f"{test}"
        )


def _caption(found: Gathered, rows: Sequence[Mapping[str, Any]], how: How) -> str:
    """Say how many queries were compared by which test, and what its p is corrected for."""
    sizes = sorted({row["queries"] for row in rows})
    queries = _spread(sizes, "query")
    tested = Counter(row["metric"] for row in rows if row["p"] is not None)
    pairs = sorted(set(tested.values()))
    of, each = "", " of each metric" if len(found.metrics) > 1 else ""
    if how.family == "all":
        pairs, of, each = [sum(tested.values())], " of all metrics", ""
    corrected = how.over(_spread(pairs, "pair") + of + each)
    if how.corrected_by != "none" and (not pairs or pairs[-1] < 2):
        corrected = f"one pair{each}, so nothing to correct" if any(pairs) else "no pair to test"
    return f"{queries}; {how}, {corrected}, alpha {how.alpha:g}; {how.interval_in_words}"


def _unresolved(found: Gathered, rows: Sequence[Mapping[str, Any]], how: How) -> list[str]:
    """Say which differences cannot be significant, as their queries, or the resamples, are too few."""
    families: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
    for row in rows:
        if row["p"] is None:
            continue
        chance = row.get("chance")
        drawn = 0.0 if chance is None or chance.is_exact else 1 / (1 + chance.permutations)
        least = max((row["least_p"], "queries"), (drawn, "resamples"))
        families["" if how.family == "all" else row["metric"]].append(least)
    notes = []
    for metric, attainable in families.items():
        p, which = min(attainable)
        times = len(attainable) if how.corrected_by in ("holm", "bonferroni") else 1
        corrected = "" if times == 1 else " after the correction"
        of = metric or "all metrics"
        if times * p >= how.alpha:
            notes.append(
                f"{of}: cannot be resolved with these {which}: no p can be below "
                f"{significance.probability(min(1.0, times * p))}{corrected}, and alpha is {how.alpha:g}"
            )
    without = sum(
        row["low"] is None and row["queries"] > 0 and found.has_interval(row["metric_number"])
        for row in rows
    )
    if without:
        notes.append(
            f"no interval for {without} of {counted(len(rows), 'pair')}: cannot be resolved with these "
            "queries, as too few differ, or all differ by as much"
        )
    return notes


def _spread(sizes: Sequence[int], noun: str) -> str:
    """Return a number of things, or from which to which number there are."""
    if not sizes:
        return counted(0, noun)
    if len(sizes) == 1:
        return counted(sizes[0], noun)
    return f"{sizes[0]:,} to {counted(sizes[-1], noun)}"


def _notes(
    found: Gathered, rows: Sequence[Mapping[str, Any]], how: How, *, judged_only: bool
) -> list[str]:
    """Return the notes that no column holds."""
    notes = [_caption(found, rows, how)]
    if found.left_out:
        notes.append(
            "values and differences are over the held-out queries, without the "
            f"{counted(len(found.left_out), 'training query')} that {listing(found.trained)} left out"
        )
    if how.scale is not None:
        notes.append(f"values are standardised ({how.scale}): {SCALES[how.scale]}")
    if judged_only:
        notes.append("unjudged documents were removed from the lists first")
    chances = [row["chance"] for row in rows if "chance" in row]
    errors = [chance.standard_error for chance in chances]
    if any(errors):
        notes.append(f"standard error of p: at most {max(errors):.1g}")
    notes += _variances(rows, is_test=how.test == "tukey-anova")
    exact = sum(chance.is_exact for chance in chances)
    if exact:
        of = "p is" if exact == len(rows) else f"{exact} of {len(rows)} p are"
        notes.append(f"{of} exact: every choice of signs was tried")
    notes += _unresolved(found, rows, how)
    if how.test in ("wilcoxon", "sign") and max(row["queries"] for row in rows) >= _MANY:
        notes.append(
            f"{significance.TESTS[how.test]} is about the median: with so many queries it finds "
            f"differences that the means do not have (Urbano and others 2019): {option('test', 't')}"
        )
    if how.power:
        notes.append(how.power_in_words)
    if how.rope is not None:
        notes.append(how.rope_in_words)
    undefined = sum(row["p"] is None and found.has_test(row["metric_number"]) for row in rows)
    if undefined:
        why = (
            "cannot be resolved with these queries, as none differs, or fewer than two have values of "
            "both; the correction leaves them out"
        )
        if how.test in significance.OVER_ALL_PAIRS:
            why = "no query has values of all runs"
        notes.append(f"p is undefined for {undefined} of {len(rows)}: {why}")
    if how.test in significance.OVER_ALL_PAIRS:
        notes += _in_whole(found)
    if found.silent:
        silent = [f"{run} {n:,} of {judged:,}" for run, (n, judged) in found.silent.items()]
        notes.append(
            f"judged queries that a run has no document for count, as empty lists: {listing(silent, 4)}"
        )
    left_out = [
        f"{row['metric']}, {row['base']} and {row['run']}: "
        f"{counted(row['left_out'], 'query')} left out, undefined or missing for one of them"
        for row in rows
        if row["left_out"]
    ]
    if len(left_out) > _LISTED:
        left_out = [f"{len(left_out)} pairs have queries left out: see left_out (-f csv)"]
    notes += left_out
    logged = [
        name for n, name in enumerate(found.metrics) if found.has_test(n) > found.has_interval(n)
    ]
    if logged:
        notes.append(
            f"{listing(logged)}: geometric mean; differences are those of the values, without an "
            "interval, and the test is of the logarithms of the queries' values"
        )
    untested = [name for n, name in enumerate(found.metrics) if not found.has_test(n)]
    if untested:
        notes.append(
            f"{listing(untested)}: no mean over the queries; differences are those of the values, "
            "without test and interval"
        )
    neither = [name for n, name in enumerate(found.metrics) if not found.better(n)]
    if neither:
        notes.append(
            f"{listing(neither)}: neither higher nor lower is better, so nothing is marked; wins "
            "are queries with more"
        )
    return notes
