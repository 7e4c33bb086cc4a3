"""The pages, their paths, and the values for their templates."""

from __future__ import annotations

import datetime as dt
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode

from warehouse.analyze import metric_catalogue
from warehouse.config.settings import VERSION
from warehouse.errors import UsageError, command, counted, visible
from warehouse.evaluate.compose import compose
from warehouse.metrics import protocols
from warehouse.metrics.aggregates import WORDS
from warehouse.metrics.catalogue import MetricTemplate, catalogue
from warehouse.metrics.notation import known_metric
from warehouse.report import charts
from warehouse.report.pages import added, analyses, reference, rendering
from warehouse.report.pages.contents import ROWS, BoardRow, Contents, Lists, State, metric_title
from warehouse.report.pages.keys import keys

# How many runs a card on the first page shows, how many runs are called new, and how many queries
# stand at each end of a run's.
_ON_CARD, _NEWEST, _ENDS = 5, 20, 5
# As many as tables show; and enough for differences of values, without the last bits of a double.
_DECIMALS, _DIGITS = 4, 6
# As much of a document's text as its page shows.
_MOST_TEXT = 4_000
PROTOCOLS = "reference/protocols.html"
ASSETS = ("report.css", "report.js", "charts.js", "vega.js", "long_board.js")
LIVE_ASSETS = ("live.js",)


@dataclass(frozen=True)
class About:
    """The facts about the whole on every page: its title, the database, and when it was written.

    Live pages come from a server, and have controls that need one. What a page loads later has its
    `stamp`, or is of another state.
    """

    database: str
    written_at: dt.datetime
    title: str = "Ranking warehouse"
    version: str = VERSION
    is_live: bool = False
    stamp: str = ""


def folder_of(dataset: str, protocol: str) -> str:
    """Return the folder of a dataset under a protocol."""
    name = dataset if protocol == protocols.DEFAULT else f"{dataset}.{protocol}"
    return keys([name])[name]


def metric_path(name: str, protocol: str) -> str:
    """Return where the page of a metric under a protocol is."""
    under = "" if protocol == protocols.DEFAULT else f".{keys([protocol])[protocol]}"
    return f"metrics/{keys([name])[name]}{under}.html"


class Paths:
    """Where the pages of a dataset under a protocol are, from the first folder on.

    Live pages of other metrics than the stored ones, or of a past state, name them in each link.
    """

    def __init__(self, contents: Contents, *, is_live: bool = False) -> None:
        dataset, protocol = contents.dataset, contents.protocol
        by_default = protocol == protocols.DEFAULT
        self.protocol, self.is_live = protocol, is_live
        self.title = dataset if by_default else f"{dataset}, {protocol}"
        self.folder = folder_of(dataset, protocol)
        self.metric_keys = keys(contents.names)
        self.run_keys = keys(contents.runs)
        self.query_keys = keys(query["query_id"] for query in contents.queries)
        words: dict[str, Any] = {"metric": contents.names} if is_live and contents.is_asked else {}
        words |= contents.then.words
        self.asked = f"?{urlencode(words, doseq=True)}" if words else ""
        self.board = self._at("index.html")
        self.rows = self._at("data/board.js")
        self.queries = self._at("queries/index.html")
        self.comparisons = self._at("compare.html")
        self.history = self._at("history.html")
        self.agreement = self._at("agreement.html")
        self.holes = self._at("judge-next.html")
        self.to_judge = self._at("judge-next.csv")
        self.slices = self._at("slices.html")
        self.curves = self._at("curves.html")
        self.fusions = self._at("fusion.html")
        self.imported = self._at("imported.html")
        has = contents.kinds
        there = (
            ("Board", self.board, True), ("Queries", self.queries, True),
            ("Compare", self.comparisons, True), ("History", self.history, True),
            ("Slices", self.slices, has["slices"]), ("Curves", self.curves, has["curves"]),
            ("Fusion", self.fusions, has["fusions"]),
            ("Imported", self.imported, has["imported"]),
            ("Agreement", self.agreement, len(contents.runs) > 1),
            *((page.title, self.added(page), has["judgments"]) for page in added.pages()),
            ("Judge next", self.holes, has["judgments"]),
        )  # fmt: skip
        self.tabs = tuple((name, path) for name, path, is_there in there if is_there)

    def _at(self, path: str) -> str:
        return f"{self.folder}/{path}{self.asked}"

    def added(self, page: added.DatasetPage) -> str:
        """Return where the page of an extension is."""
        return self._at(f"{page.name}.html")

    def run(self, name: str) -> str:
        """Return where the page of a run is."""
        return self._at(f"runs/{self.run_keys[name]}.html")

    def file_of_run(self, name: str) -> str:
        """Return where the page of a run is, from the folder of the dataset on."""
        return self.run(name).removeprefix(f"{self.folder}/")

    def file_of_query(self, query: str) -> str:
        """Return where the page of a query is, from the folder of the dataset on."""
        return self.query(query).removeprefix(f"{self.folder}/")

    def anchor(self, metric: str) -> str:
        """Return the place of a metric on the page of a run."""
        return f"why-{self.metric_keys[metric]}"

    def number(self, run: str, metric: str) -> str:
        """Return where a value is proved."""
        return f"{self.run(run)}#{self.anchor(metric)}"

    def query(self, query: str) -> str:
        """Return where the page of a query is."""
        return self._at(f"queries/{self.query_keys[query]}.html")

    def texts(self, query: str) -> str:
        """Return where the script with the texts of a query's documents is."""
        return self._at(f"queries/{self.query_keys[query]}.js")

    def metric(self, name: str) -> str:
        """Return where the page of a metric is, with its SQL under this protocol."""
        return f"{metric_path(name, self.protocol)}{self.asked}"

    def compare(self, base: str, run: str, metric: str) -> str:
        """Return the link to the comparison of two runs."""
        words = (self.metric_keys[metric], self.run_keys[base], self.run_keys[run])
        return f"{self.comparisons}#metric={words[0]}&base={words[1]}&run={words[2]}"

    @property
    def rules(self) -> str | None:
        """Where the rules of the protocol are; None for one that is gone."""
        base = self.protocol.partition(protocols.WITHOUT)[0]
        return protocol_path(base) if base in protocols.catalogue() else None

    @property
    def left_out(self) -> str | None:
        """Which documents the protocol leaves out of the rankings."""
        return protocols.left_out(self.protocol)

    def values(self, run: str) -> str:
        """Return where the script with the values of a run is that is not tested with the others."""
        return self._at(f"data/runs/{self.run_keys[run]}.js")

    def pairs(self, metric: str) -> str:
        """Return where the script with the values of a metric is."""
        return self._at(f"data/{self.metric_keys[metric]}.js")


# The path of a page or script, and the function that makes its text: a report writes all, a server one.
Files = Iterator[tuple[str, Callable[[], str]]]


def files(about: About, state: State, found: Sequence[Contents]) -> Files:
    """Yield the path of every page and script with its maker, the first page last."""
    pages = [(contents, Paths(contents, is_live=about.is_live)) for contents in found]
    for name in (*ASSETS, *(LIVE_ASSETS if about.is_live else ())):
        path = f"assets/{name}"
        yield path, partial((rendering.FOLDER / path).read_text, encoding="utf-8")
    for contents, at in pages:
        others = [
            other for those, other in pages if those.dataset == contents.dataset and other is not at
        ]
        yield from _of_dataset(_Writer(about, at), contents, others)
    yield from _metrics(_Writer(about), pages)
    yield from _reference(_Writer(about), state)
    yield _Writer(about).page("index.html", "home.html", "home", partial(_home, state, pages))


class _Writer:
    """Renders pages with the values that all of them get."""

    def __init__(self, about: About, at: Paths | None = None) -> None:
        self.about, self.at = about, at

    def page(
        self, path: str, template: str, here: str, values: Callable[[], Mapping[str, Any]]
    ) -> tuple[str, Callable[[], str]]:
        """Return the path of a page, and its maker; `values` is called then."""
        given = {"site": self.about, "at": self.at, "here": here}

        def make() -> str:
            return rendering.render(template, "../" * path.count("/"), {**given, **values()})

        return path, make


def _home(state: State, pages: Sequence[tuple[Contents, Paths]]) -> dict[str, Any]:
    """Return what the first page shows: a card for each dataset and protocol, and the newest runs."""
    cards = []
    for row in state.datasets:
        label = f"{row['label']} · " if row["label"] else ""
        mine = [(c, at) for c, at in pages if c.dataset == row["dataset"]]
        for contents, at in mine:
            records = [row for row in contents.timeline(contents.names[0]).rows if row["is_record"]]
            cards.append(
                {
                    "record": records[-1] if records else None,
                    "title": at.title,
                    "about": f"{label}{_counts(contents)}",
                    "at": at,
                    "measure": contents.measures[0],
                    "rows": contents.board.rows[:_ON_CARD],
                }
            )
        if not mine:
            how = command("evaluate", row["dataset"])
            status = f"{label}{counted(row['runs'], 'run')}, none evaluated"
            cards.append(
                {"title": row["dataset"], "about": status, "at": None, "rows": (), "command": how}
            )
    known = {
        (contents.dataset, run): at.run(run)
        for contents, at in reversed(pages)
        for run in at.run_keys
    }
    newest = [(row, known.get((row["dataset"], row["run"]))) for row in state.runs[:_NEWEST]]
    gates = [
        (gate, known.get((gate.verdict["dataset"], gate.verdict["run"])))
        for gate in state.gates
        if gate.state != "green"
    ]
    green = sum(gate.state == "green" for gate in state.gates)
    return {"state": state, "cards": cards, "newest": newest, "gates": gates, "green": green}


def _counts(contents: Contents) -> str:
    """Return how many runs, metrics and queries the page of a board has."""
    runs, metrics = counted(len(contents.runs), "run"), counted(len(contents.names), "metric")
    return f"{runs}, {metrics}, {counted(contents.num_queries, 'query')}"


def _of_dataset(writer: _Writer, contents: Contents, others: Sequence[Paths]) -> Files:
    """Yield the pages of a dataset under a protocol."""
    at = writer.at
    assert at is not None
    yield writer.page(at.board, "board.html", "Board", partial(_board, contents, others))
    if contents.is_long and not writer.about.is_live:
        yield at.rows, partial(_rows, contents, at, writer.about.stamp)
    yield writer.page(at.queries, "queries.html", "Queries", lambda: {"contents": contents})
    for run in contents.runs:
        yield writer.page(at.run(run), "run.html", "Board", partial(_run, contents, at, run))
    for number, query in enumerate(contents.queries):
        yield writer.page(
            at.query(query["query_id"]), "query.html", "Queries",
            partial(_query, contents, at, number),
        )  # fmt: skip
        if contents.with_text:
            yield (
                at.texts(query["query_id"]),
                partial(_texts, contents, query["query_id"], writer.about.stamp),
            )
    yield writer.page(at.comparisons, "compare.html", "Compare", partial(_compare, contents, at))
    for index, name in enumerate(contents.names):
        yield at.pairs(name), partial(_pairs, contents, at, name, index, writer.about.stamp)
    for run in contents.runs[len(contents.listed_runs) :]:
        yield at.values(run), partial(_values, contents, at, run, writer.about.stamp)
    yield writer.page(at.history, "history.html", "History", partial(_history, contents, at))
    more: dict[str, tuple[str, Callable[[], Mapping[str, Any]]]] = {
        at.slices: ("slices.html", lambda: {"contents": contents}),
        at.curves: ("curves.html", partial(_curves, contents, at)),
        at.fusions: ("fusion.html", partial(_fusions, contents, at)),
        at.imported: ("imported.html", lambda: {"contents": contents}),
        at.agreement: ("agreement.html", lambda: {"contents": contents, "texts": _agreement()}),
        at.holes: ("holes.html", partial(_holes, contents)),
    }
    for page in added.pages():
        more[at.added(page)] = "added.html", partial(_added, contents, page)
    for name, path in at.tabs:
        if path in more:
            template, values = more[path]
            yield writer.page(path, template, name, values)
    if at.holes in dict(at.tabs).values():
        yield at.to_judge, lambda: "" if contents.holes is None else contents.holes.csv


def _board(contents: Contents, others: Sequence[Paths]) -> dict[str, Any]:
    """Return the contents of the page of the board."""
    board, tested = contents.board, contents.comparison(contents.names[0])
    test = "; ".join(tested.notes)
    groups = [f"places such as 2\u20135: runs that cannot be told apart ({test})"]
    return {
        "contents": contents,
        "board": board,
        "leaderboard": leaderboard_command(contents),
        "rows": board.rows[:ROWS] if contents.is_long else board.rows,
        "others": others,
        "systems": sorted({row.system for row in board.rows if row.system}),
        "tags": sorted({tag for row in board.rows for tag in row.tags}),
        "notes": [
            *contents.not_evaluated,
            *board.notes,
            *(groups if board.has_groups else tested.notes),
        ],
    }


def leaderboard_command(contents: Contents) -> str:
    """Return the command that writes the whole board."""
    return _how(contents, "leaderboard -f csv -o board.csv")


def _rows(contents: Contents, at: Paths, stamp: str) -> str:
    """Return a script with the rows of a long board, in its order, one list for each column."""
    rows = contents.board.rows
    systems = sorted({row.system for row in rows if row.system})
    tags = sorted({tag for row in rows for tag in row.tags})
    system_numbers = {word: index for index, word in enumerate(systems)}
    numbers = {word: index for index, word in enumerate(tags)}
    cells = [[row.cells[name] for row in rows] for name in contents.names]
    found = {
        "runs": [visible(row.run) for row in rows],
        "keys": {
            index: key
            for index, row in enumerate(rows)
            if (key := at.run_keys[row.run]) != row.run
        },
        "systems": [visible(system) for system in systems],
        "system": [system_numbers.get(row.system or "") for row in rows],
        "tags": [visible(tag) for tag in tags],
        "tag": [[numbers[tag] for tag in row.tags] for row in rows] if tags else [],
        "answered": [row.answered for row in rows],
        "judged": [row.judged for row in rows],
        "metrics": [
            {
                "key": at.metric_keys[measure.name],
                "count": measure.is_count,
                "low": measure.low,
                "high": measure.high,
                "values": [_rounded(cell.value, _DECIMALS) for cell in of],
                "places": [cell.place for cell in of],
                "best": [index for index, cell in enumerate(of) if cell.is_best],
            }
            for measure, of in zip(contents.measures, cells, strict=True)
        ],
    }  # fmt: skip
    return rendering.script("board", found, stamp)


def _compare(contents: Contents, at: Paths) -> dict[str, Any]:
    """Return the contents of the comparison of two runs before its values are loaded."""
    best, runs = contents.runs[0], contents.comparison(contents.names[0]).runs

    def how(**words: Any) -> str:
        texts = f"compare {shlex.quote(best)} --all-pairs"
        return command(texts, contents.dataset, protocol=contents.protocol, **words)

    return {
        "contents": contents,
        "runs": runs,
        "command": how(metrics=contents.names[:1]),
        "data": {
            "runs": _linked(runs, at.run_keys),
            "queries": _linked([query["query_id"] for query in contents.queries], at.query_keys),
            "metrics": [
                {
                    "key": at.metric_keys[measure.name],
                    "name": measure.name,
                    "direction": measure.direction,
                    "low": measure.low,
                    "high": measure.high,
                }
                for measure in contents.measures
            ],
            "command": how(),
            # the words with which a server is asked to test two runs that are not tested here
            "tests": [
                ["dataset", contents.dataset],
                ["protocol", contents.protocol],
                *map(list, contents.then.words.items()),
            ]
            if at.is_live
            else None,
        },
    }


def _history(contents: Contents, at: Paths) -> dict[str, Any]:
    """Return the contents of the page of the history."""
    drawn = [timeline.chart and _with_links(timeline.chart, at) for timeline in contents.timelines]
    return {"contents": contents, "charts": drawn}


def _curves(contents: Contents, at: Paths) -> dict[str, Any]:
    """Return the contents of the page of curves."""
    drawn = [_with_links(curve.chart, at) for curve in contents.curves]
    return {"contents": contents, "charts": drawn, "command": _how(contents, "curve NAME")}


def _with_links(chart: charts.Spec, at: Paths) -> charts.Spec:
    """Return a chart whose lines and points lead to the pages of their runs."""
    links = {charts.text(run): at.file_of_run(run) for run in at.run_keys}

    def linked(layer: charts.Spec) -> charts.Spec:
        rows = layer["data"]["values"]
        if not rows or "run" not in rows[0]:
            return layer
        return layer | {"data": {"values": [row | {"go": links.get(row["run"])} for row in rows]}}

    return chart | {"layer": [linked(layer) for layer in chart["layer"]]}


def _how(contents: Contents, arguments: str, **words: Any) -> str:
    """Return the command whose answer a page shows."""
    return command(arguments, contents.dataset, protocol=contents.protocol, **words)


def _fusions(contents: Contents, at: Paths) -> dict[str, Any]:
    """Return the contents of the page of merged runs: each with its best parent, by the first metric."""
    metric = contents.names[0]
    found = [(run, merged(contents, run)) for run in contents.runs if run in contents.fusions]
    return {"contents": contents, "found": found, "metric": contents.measures[0], "name": metric}


@dataclass(frozen=True)
class Parent:
    """A parent of a merged run: its row on the board, and the tested gain over it, if there are any."""

    name: str
    about: Mapping[str, Any]
    row: BoardRow | None
    gain: float | None
    test: Mapping[str, Any] | None


@dataclass(frozen=True)
class Merged:
    """A merged run with its row on the board, and its parents."""

    fused: analyses.Fused
    row: BoardRow
    parents: tuple[Parent, ...]


def merged(contents: Contents, run: str) -> Merged | None:
    """Return a merged run with its parents; None for a run that is not merged."""
    fused = contents.fusions.get(run)
    if fused is None:
        return None
    board = {row.run: row for row in contents.board.rows}
    tested = {
        (row["base"], row["run"]): row for row in contents.comparison(contents.names[0]).pairs
    }
    parents = []
    for about in fused.parents:
        name = about["source"]
        test = tested.get((name, run)) or tested.get((run, name))
        sign = 1 if (name, run) in tested else -1
        parents.append(
            Parent(
                name,
                about,
                board.get(name) if about["source_is_current"] else None,
                None if test is None else sign * test["difference"],
                test,
            )
        )
    return Merged(fused, board[run], tuple(parents))


def _agreement() -> dict[str, str]:
    """Return the descriptions of the measures of agreement, for the page about them."""
    return {
        "tau_ap": "AP correlation: as Kendall's tau, and the top of the lists counts more",
        "tau_b": "Kendall's tau: shared order minus turned order, over all pairs",
        "rbo_ext": "rank-biased overlap (p = 0.9): how much the lists share, from the top down",
    }


def _holes(contents: Contents) -> dict[str, Any]:
    """Return the contents of the page of unjudged documents."""
    known = {query["query_id"] for query in contents.queries}
    return {
        "contents": contents,
        "holes": contents.holes,
        "known": known,
        "command": _how(contents, "holes -f trec -o to_judge.txt"),
    }


def _added(contents: Contents, page: added.DatasetPage) -> dict[str, Any]:
    """Return the values of the page of an extension."""
    return {"contents": contents, "title": page.title, "page": contents.added[page.name]}


def _linked(names: Sequence[str], known: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return names with their keys."""
    return [(visible(name), known[name]) for name in names]


def _rounded(value: float | None, digits: int = _DIGITS) -> float | None:
    return None if value is None else round(value, digits)


def _chance(p: float | None) -> float | None:
    """Return p as tables show it; 0 stands for less than that."""
    return 0 if p is not None and p < 10**-_DECIMALS else _rounded(p, _DECIMALS)


def _run(contents: Contents, at: Paths, run: str) -> dict[str, Any]:
    """Return the contents of the page of a run."""
    row = next(row for row in contents.board.rows if row.run == run)
    first = contents.measures[0]
    queries = list(contents.values_of_run(run).items())
    valued = [(query, value) for query, of in queries if (value := of[0]) is not None]
    sign = 1 if first.direction == "lower" else -1
    ranked = sorted(valued, key=lambda item: sign * item[1])
    best = contents.runs[0]
    return {
        "contents": contents,
        "run": run,
        "row": row,
        "now": next(v for v in contents.versions[run] if v["forgotten_at"] is None),
        "versions": contents.versions[run],
        "numbers": contents.numbers[run],
        "intervals": contents.board.has_intervals,
        "other": None if len(contents.runs) < 2 else contents.runs[1] if run == best else best,
        "queries": queries,
        "gates": [(gate, None) for gate in contents.gates if gate.verdict["run"] == run],
        "merged": merged(contents, run),
        "best": ranked[:_ENDS],
        "worst": ranked[::-1][:_ENDS],
        "verify": command("verify", contents.dataset),
        "scales": [
            {"name": m.name, "direction": m.direction, "low": m.low, "high": m.high}
            for m in contents.measures
        ],
    }


def _query(contents: Contents, at: Paths, number: int) -> dict[str, Any]:
    """Return the contents of the page of a query: runs in the order of their values, and their lists."""
    query = contents.queries[number]
    neighbours = {"before": number - 1, "after": number + 1}
    name = query["query_id"]
    first = contents.measures[0]
    values = contents.values_of_query(name)

    sign = 1 if first.direction == "lower" else -1

    def order(run: str) -> tuple[bool, float]:
        value = values[run][0]
        return value is None, 0.0 if value is None else sign * value

    rows = [
        (run, values[run]) for run in sorted(filter(values.__contains__, contents.runs), key=order)
    ]
    documents, grades = _numbered(contents.lists(name))
    lists: dict[str, Any] = {}
    for run, found in contents.lists(name).items():
        if run in at.run_keys:
            lists[at.run_keys[run]] = [
                [documents[document] for document, _, _ in found],
                [round(part * 10**_DECIMALS) for _, _, part in found if part is not None],
            ]
    how = command(
        "explain RUN METRIC " + shlex.quote(name), contents.dataset, protocol=contents.protocol
    )
    return {
        "contents": contents,
        "query": query,
        **{
            side: contents.queries[index]["query_id"]
            if 0 <= index < len(contents.queries)
            else None
            for side, index in neighbours.items()
        },
        "text": contents.query_texts.get(name),
        "rows": rows,
        "explain": how,
        "data": {
            "metric": first.name,
            "documents": [visible(document) for document in documents],
            "grades": grades,
            "lists": lists,
            "start": [at.run_keys[run] for run in _ends(rows)],
            "texts": at.texts(name).rpartition("/")[2] if contents.document_texts(name) else None,
        },
    }


def _numbered(lists: Lists) -> tuple[dict[str, int], list[float | None]]:
    """Return the number of each document of some lists, and their grades in this order."""
    documents: dict[str, int] = {}
    grades: list[float | None] = []
    for found in lists.values():
        for document, relevance, _ in found:
            if document not in documents:
                documents[document] = len(documents)
                grades.append(relevance)
    return documents, grades


def _texts(contents: Contents, query: str, stamp: str) -> str:
    """Return a script with the texts of a query's documents, each behind its id."""
    known = contents.document_texts(query)
    documents, _ = _numbered(contents.lists(query))
    found = [
        (visible(document), visible(known[document].whole[:_MOST_TEXT], lines=True))
        for document in documents
        if document in known
    ]
    return rendering.script("texts", found, stamp)


def _ends(rows: Sequence[tuple[str, Any]]) -> list[str]:
    """Return the best and the worst run of a query."""
    return list(dict.fromkeys([rows[0][0], rows[-1][0]])) if rows else []


def _values(contents: Contents, at: Paths, run: str, stamp: str) -> str:
    """Return a script with the values of a run that is not tested with the others, by query."""
    key, best = at.run_keys[run], contents.runs[0]
    numbers = contents.numbers[run]
    found = {
        "name": visible(run),
        "values": {
            at.query_keys[query]: [_rounded(value) for value in of]
            for query, of in contents.values_of_run(run).items()
        },
        "means": [
            _rounded(numbers[name]["value"]) if name in numbers else None for name in contents.names
        ],
        "command": _how(contents, f"compare {shlex.quote(best)} {shlex.quote(run)}"),
    }
    return rendering.script(f"run-{key}", found, stamp)


def _pairs(contents: Contents, at: Paths, name: str, index: int, stamp: str) -> str:
    """Return a script with the values of a metric by query and run, and the tests of every two runs."""
    compared, values = contents.comparison(name), contents.values()
    number = at.run_keys
    nothing = (None,) * len(contents.measures)
    found = {
        "runs": [at.run_keys[run] for run in compared.runs],
        "values": {
            at.query_keys[query["query_id"]]: [
                _rounded(values[query["query_id"]].get(run, nothing)[index])
                for run in compared.runs
            ]
            for query in contents.queries
        },
        "pairs": [
            [
                number[row["base"]],
                number[row["run"]],
                *(_rounded(row[key], _DECIMALS) for key in ("difference", "low", "high")),
                _rounded(row["effect_size"], 2),
                *(row[key] for key in ("wins", "ties", "losses", "queries")),
                *(_chance(row[key]) for key in ("p", "p_adjusted")),
                int(bool(row["is_significant"])),
            ]
            for row in compared.pairs
        ],
        "means": [
            _rounded(contents.numbers[run][name]["value"])
            if name in contents.numbers[run]
            else None
            for run in compared.runs
        ],
        "notes": [visible(note) for note in (*compared.notes, *compared.without_relevant)],
    }
    return rendering.script(at.metric_keys[name], found, stamp)


def _metrics(writer: _Writer, datasets: Sequence[tuple[Contents, Paths]]) -> Files:
    """Yield the catalogue, and a page with the SQL of each metric that the report shows."""
    shown: dict[str, tuple[str, str, str, str]] = {}
    for contents, at in datasets:
        for name in contents.names:
            path = at.metric(name)
            if path not in shown:
                shown[path] = (path, name, metric_title(name), contents.protocol)
                yield writer.page(
                    path, "metric.html", "Metrics", partial(_metric, name, contents.protocol)
                )
    yield writer.page(
        "metrics/index.html", "metrics.html", "Metrics",
        lambda: {"shown": shown.values(), "catalogue": _catalogue()},
    )  # fmt: skip


def _reference(writer: _Writer, state: State) -> Files:
    """Yield the pages of the protocols and of the schema."""
    yield writer.page(
        PROTOCOLS, "protocols.html", "Protocols",
        lambda: {"protocols": reference.all_protocols(), "keys": keys(protocols.catalogue())},
    )  # fmt: skip
    yield writer.page("reference/schema.html", "schema.html", "Schema", partial(_schema, state))


def _schema(state: State) -> dict[str, Any]:
    """Return the contents of the page of the schema: views, macros, and the tables below them."""
    found = state.relations
    macros = "Common questions, written as functions that give rows."
    tables = "The views read these. Their numbers (run_id …) belong to one file."
    groups = (
        ("Views", "", [one for one in found if one.kind == "view" and not one.is_table]),
        ("Macros", macros, [one for one in found if one.kind == "macro"]),
        ("Tables", tables, [one for one in found if one.is_table]),
    )
    return {
        "groups": [group for group in groups if group[2]],
        "keys": keys(one.view for one in found),
        "command": "warehouse query",
    }


def protocol_path(name: str) -> str:
    """Return where the rules of a protocol are."""
    return f"{PROTOCOLS}#{keys([name])[name]}"


def _catalogue() -> list[dict[str, str]]:
    """Return each metric's entry on the page of all metrics."""
    return [
        {
            "usage": metric_catalogue.usage(found),
            "title": found.title,
            "summary": metric_catalogue.in_short(found.summary),
            "formula": found.formula,
            "better": found.direction,
            "elsewhere": metric_catalogue.elsewhere(found),
        }
        for found in catalogue().values()
    ]


def metric_page(about: About, name: str, protocol: str) -> str:
    """Return the page of a metric."""
    values = partial(_metric, name, protocol)
    return _Writer(about).page(metric_path(name, protocol), "metric.html", "Metrics", values)[1]()


def _metric(name: str, protocol: str) -> dict[str, Any]:
    """Return the contents of the page of a metric; of one that is gone only that it is."""
    metric = known_metric(name)
    shown: dict[str, Any] = {
        "name": name, "protocol": protocol, "title": "no longer defined", "facts": (), "sql": "",
        "summary": "Its values are the stored ones; no formula of that name is known any more.",
    }  # fmt: skip
    if metric is None:
        return shown
    found = metric.definition
    facts = [("Formula", found.formula), ("Better", f"{metric.direction} {metric.arrow}".strip())]
    if isinstance(found, MetricTemplate):
        facts.append(("Range", f"{found.range[0]:g} to {found.range[1]:g}"))
    facts.append(("Over queries", WORDS[metric.aggregate]))
    facts.append(("Reference", found.reference))
    facts.append(("Elsewhere", metric_catalogue.elsewhere(found)))
    facts += [(key, str(value)) for key, value in metric.params.items() if value is not None]
    shown |= {
        "title": found.title,
        "summary": found.summary,
        "facts": [(key, text) for key, text in facts if text],
    }
    if protocol in protocols.catalogue():
        try:
            shown["sql"] = compose([metric], protocols.get(protocol))
        except UsageError:
            return shown
        how = f"sql {shlex.quote(name)}"
        option = "" if protocol == protocols.DEFAULT else f" --protocol {shlex.quote(protocol)}"
        shown["command"] = f"warehouse {how}{option}"
    return shown
