"""Which runs are read: by patterns of their names and systems, and by their tags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from duckdb import DuckDBPyConnection as Connection

from warehouse.errors import UsageError, check_names, listing, nearest, no_such_run, none_yet
from warehouse.sql_text.templates import render

Names = str | Iterable[str]
# Values, or patterns of them, by the tag's name; or texts of name=value.
Tags = Mapping[str, Names] | Names


@dataclass(frozen=True)
class Choice:
    """Runs by patterns, as in 'tas*': a run fits if its name, its system and each tag fit one.

    An empty sequence fits everything. `named` are runs that are read as well. What counts is the
    current version of a run, or with `of_versions` each version for itself.
    """

    runs: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    tags: tuple[tuple[str, str], ...] = ()
    named: tuple[str, ...] = ()
    of_versions: bool = False

    @property
    def is_all(self) -> bool:
        """Whether every run fits."""
        return not (self.runs or self.systems or self.tags)

    def __str__(self) -> str:
        words = [f"run {run}" for run in self.runs]
        words += [f"system {system}" for system in self.systems]
        return ", ".join(words + [f"tag {key}={value}" for key, value in self.tags])


ALL = Choice()


def choice(
    runs: object = (),
    systems: object = (),
    tags: object = (),
    *,
    named: Iterable[str] = (),
    of_versions: bool = False,
) -> Choice:
    """Return the choice that arguments mean.

    >>> str(choice("tas*", (), {"stage": ["first", "re*"]})), choice().is_all
    ('run tas*, tag stage=first, tag stage=re*', True)
    """
    if isinstance(tags, Mapping):
        pairs = [(str(key), one) for key in tags for one in check_names("tag", tags[key])]
    else:
        pairs = [_pair(text) for text in check_names("tag", tags)]
    return Choice(
        tuple(check_names("run", runs)), tuple(check_names("system", systems)), tuple(pairs),
        tuple(named), of_versions,
    )  # fmt: skip


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise UsageError(f"tag {text}: write it as KEY=VALUE")
    return key.strip(), value


def apply(con: Connection, datasets: Sequence[str], wanted: Choice) -> None:
    """Make the table `chosen_run` of the runs of some datasets that fit.

    Raises UsageError if none does, or if a part of the choice fits none, with the nearest that does.
    """
    con.execute(
        render("statements/fitting_runs", of_versions=wanted.of_versions),
        {
            "datasets": list(datasets),
            "runs": list(wanted.runs),
            "systems": list(wanted.systems),
            "keys": [key for key, _ in wanted.tags],
            "values": [value for _, value in wanted.tags],
            "named": list(wanted.named),
        },
    )
    _check(con, datasets, wanted)
    con.execute(render("statements/chosen_runs", of_versions=wanted.of_versions))


def _check(con: Connection, datasets: Sequence[str], wanted: Choice) -> None:
    ((found, there),) = con.execute(
        "select count(*) filter (where fits), count(*) from fitting_run"
    ).fetchall()
    if not there:
        raise UsageError(none_yet("run", datasets[0]))
    where = listing(datasets)
    for run in wanted.runs:
        if not _any(con, "run", run):
            raise UsageError(no_such_run(run, where, _known(con, "run")))
    for system in wanted.systems:
        if not _any(con, "system", system):
            hint = _hint(system, _known(con, "system"))
            raise UsageError(f"{system}: {where} has no run of that system{hint}")
    for key, value in wanted.tags:
        pair = f"{key}={value}"
        if not con.execute(
            "select 1 from fitting_run, unnest(pairs) as tag (pair) "
            "where pair.key = $key and (pair.value = $value or pair.value glob $value) limit 1",
            {"key": key, "value": value},
        ).fetchall():
            rows = con.execute(
                "select distinct pair.key || '=' || pair.value "
                "from fitting_run, unnest(pairs) as tag (pair) order by 1"
            ).fetchall()
            raise UsageError(
                f"tag {pair}: {where} has no run with it{_hint(pair, [str(row[0]) for row in rows])}"
            )
    if not found:
        raise UsageError(f"{where}: no run fits all of {wanted}; leave one of them out")


def _any(con: Connection, column: str, pattern: str) -> bool:
    rows = con.execute(
        f"select 1 from fitting_run where {column} = $1 or {column} glob $1 limit 1", [pattern]
    ).fetchall()
    return bool(rows)


def _known(con: Connection, column: str) -> list[str]:
    rows = con.execute(
        f"select distinct {column} from fitting_run where {column} is not null order by 1"
    ).fetchall()
    return [str(row[0]) for row in rows]


def _hint(word: str, known: Sequence[str]) -> str:
    return nearest(word.strip("*?"), known) or f"; there are {listing(known) or 'none'}"


def expanded(
    con: Connection, dataset: str, patterns: Sequence[str], *, rest: bool = False
) -> list[str]:
    """Return the current runs that names and patterns mean, in this order, and sorted by name for each.

    With `rest`, the other runs that are read follow. A name that is no run's is returned as it is.
    What is named is not repeated by a pattern.
    """
    rows = con.execute(
        render("analyses/named_runs"),
        {"dataset": dataset, "patterns": list(patterns), "rest": rest},
    ).fetchall()
    named = {run for run, is_name in rows if is_name}
    others = dict.fromkeys(run for run, is_name in rows if not is_name and run not in named)
    found: list[str] = []
    for run, is_name in rows:
        if is_name or others.pop(run, run) is None:
            found.append(str(run))
    return found
