"""Generate the reference from the program: metrics, curves, fusion, protocols, commands, views, keys.

The build of the manual calls `write`. What it writes is not committed: the catalogue of templates,
the help of the commands, the comments of the schema and the declaration of the project's file are
the only sources, besides the sentences in `project_keys.toml` and `symbols.toml`, and the cases that
the tests of metrics have worked by hand.
"""

from __future__ import annotations

import logging
import math
import re
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import typer
from msgspec.structs import fields

from warehouse.analyze import fusion_catalogue, metric_catalogue, protocol_catalogue
from warehouse.cli.application import application, examples
from warehouse.config import project_file
from warehouse.config.problems import toml_types
from warehouse.metrics import protocols
from warehouse.metrics.catalogue import ARROWS, MetricTemplate, catalogue
from warehouse.metrics.curves import curves
from warehouse.metrics.fusion import methods, normalisations
from warehouse.warehouse import Warehouse

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent / "tests"
CASES = ("cases/metrics", "extensions/*/cases")
KEYS = HERE / "project_keys.toml"
SYMBOLS = HERE / "symbols.toml"


def write(folder: Path) -> None:
    """Write all generated pages below a folder; a page that stays the same is not touched."""
    made = dict(all_pages())
    for path, text in made.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    for name in {Path(path).parts[0] for path in made if "/" in path}:
        for file in (folder / name).glob("*.md"):
            if f"{name}/{file.name}" not in made:
                file.unlink()


def all_pages() -> Iterator[tuple[str, str]]:
    """Yield the path and the text of every generated page."""
    yield from metric_reference()
    yield from command_reference()
    yield from schema_reference()
    yield "curves.md", curve_page()
    yield "fusion-methods.md", fusion_page()
    yield "protocol-rules.md", protocol_page()
    yield "project-file.md", project_page()


# --------------------------------------------------------------------------- Markdown


def escaped(text: object) -> str:
    """Return a text in which nothing is markup, for a line or a cell of a table."""
    return re.sub(r"([\\`*_{}\[\]<>#|$~^])", r"\\\1", " ".join(str(text).split()))


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table; its cells are Markdown already."""
    lines = [list(head), *([*row] for row in rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def code(text: str, language: str = "text") -> str:
    """Return a block of code."""
    return f"```{language}\n{text.strip()}\n```\n"


def word(text: object) -> str:
    """Return a text in code; a bar would end a cell."""
    told = str(text).replace("|", "\\|")
    return f"`{told}`" if told else ""


def contents(entries: Iterable[str]) -> str:
    """Return the list of pages below a page, which the menu at the side shows."""
    lines = "\n".join(entries)
    return f"```{{toctree}}\n:hidden:\n\n{lines}\n```\n"


def sections(*parts: str) -> str:
    """Return a page made of parts; empty ones are left out."""
    return "\n".join(part for part in parts if part)


# --------------------------------------------------------------------------- metrics


def metric_reference() -> Iterator[tuple[str, str]]:
    """Yield the list of metrics and a page for each."""
    rows = [
        (
            f"[{escaped(metric_catalogue.usage(found))}]({name}.md)",
            escaped(metric_catalogue.in_short(found.summary)),
            ARROWS.get(found.direction, ""),
            escaped(metric_catalogue.parameters(found)),
            undefined(found),
        )
        for name, found in catalogue().items()
    ]
    yield (
        "metrics/index.md",
        sections(
            "# Metrics\n",
            "Each metric is one file in `sql/metrics`. Parts of a name in brackets can be left out. "
            "Parameters are shown with their defaults. *Undefined* is the value of a query for which "
            "the metric has none, such as a query without relevant documents; null is left out of the "
            "mean.\n",
            table(("metric", "what it is", "better", "parameters", "undefined"), rows),
            contents(catalogue()),
        ),
    )
    for name, found in catalogue().items():
        yield f"metrics/{name}.md", metric_page(found)


def undefined(found: MetricTemplate) -> str:
    """Return the value of a query without one."""
    return "null" if found.undefined is None else f"{found.undefined:g}"


def metric_page(found: MetricTemplate) -> str:
    """Return the page of a metric."""
    *_, sql = metric_catalogue.describe(found.name).partition("SQL of ")
    title, _, script = sql.partition("\n")
    low, high = (f"{bound:g}".replace("inf", "∞") for bound in found.range)
    better = {"higher": "Higher is better.", "lower": "Lower is better."}
    facts = [
        f"Values range from {low} to {high}.",
        better.get(found.direction, "Neither higher nor lower is better."),
        f"Over all queries: {metric_catalogue.WORDS[found.aggregate]}.",
        f"A query without a value counts as {undefined(found)}"
        + (", which is left out." if found.undefined is None else "."),
    ]
    return sections(
        f"# {escaped(found.name)}\n",
        f"**{escaped(found.title)}**: `{metric_catalogue.usage(found)}`\n",
        escaped(found.summary) + "\n",
        formula(found),
        " ".join(facts) + "\n",
        parameter_section(found),
        worked_examples(found.name),
        names_section(found),
        f"## SQL\n\nThe SQL of {escaped(title.strip())}, over two tables in any DuckDB:\n",
        code(script, "sql"),
        f"## Source\n\n{escaped(found.reference)}\n",
    )


def formula(found: MetricTemplate) -> str:
    """Return the formula typeset, what its symbols stand for, and the formula in words."""
    latex = found.latex
    if not latex:
        return sections("## Formula\n", code(found.formula))
    right = latex.partition("=")[2]
    known = tomllib.loads(SYMBOLS.read_text(encoding="utf-8"))
    symbols = [told for pattern, told in known.items() if re.search(pattern, right)]
    where = f"Here {'; '.join(symbols)}.\n" if symbols else ""
    typeset = f"With the default parameters:\n\n$$\n{latex}\n$$\n"
    return sections("## Formula\n", typeset, where, "In words:\n", code(found.formula))


def parameter_section(found: MetricTemplate) -> str:
    """Return a table of the parameters, with what all metrics have named below it."""
    own = [p for p in found.parameters if not p.inherited]
    shared = [p for p in found.parameters if p.inherited]
    rows = [
        (
            word(("@" if p.name == found.at else "") + p.name),
            escaped(metric_catalogue.kind(p)),
            escaped(p.summary),
        )
        for p in own
    ]
    told = (
        "It also has the parameters that all metrics of its kind have: "
        + ", ".join(f"`{p.name}` ({escaped(metric_catalogue.kind(p))})" for p in shared)
        + ".\n"
    )
    if not own and not shared:
        return ""
    return sections(
        "## Parameters\n",
        table(("parameter", "type, default and bounds", "meaning"), rows) if own else "",
        told if shared else "",
    )


def names_section(found: MetricTemplate) -> str:
    """Return a table of the names that other programs have for a metric."""
    names = metric_catalogue.names_elsewhere(found, fixed=True)
    rows = [(peer, ", ".join(map(escaped, listed))) for peer, listed in names.items()]
    if not rows:
        return ""
    return sections("## Names elsewhere\n", table(("program", "names, and what they imply"), rows))


def worked_examples(name: str) -> str:
    """Return a case of a metric that was worked by hand, with its arithmetic: one query if possible."""
    (file,) = (path for one in CASES for path in TESTS.glob(f"{one}/{name}.toml"))
    whole = file.read_text(encoding="utf-8")
    cases = list(zip(tomllib.loads(whole)["case"], whole.split("[[case]]")[1:], strict=True))
    simple = [
        found for found in cases if isinstance(next(iter(found[0]["expected"].values())), str)
    ]
    case, text = (simple or cases)[0]
    notes = dict(re.findall(r'^"([^"\n]+)" = .*?#\s*(.+)$', text, re.MULTILINE))
    rows = [
        (word(metric), escaped(query), word(told), value(told), escaped(notes.get(metric, "")))
        for metric, each in list(case["expected"].items())[: 8 if simple else 3]
        for query, told in (each.items() if isinstance(each, dict) else [("", each)])
    ]
    head = ("metric", "query", "arithmetic", "value", "")
    kept = [at for at, title in enumerate(head) if not title or any(row[at] for row in rows)]
    return sections(
        "## Worked example\n",
        escaped(case["why"]) + ".\n",
        code("\n".join(given(case))),
        "Documents stand with their grade or, in a ranking with ties, with their score. A ranking "
        "begins with its best document.\n",
        table([head[at] for at in kept], [[row[at] for at in kept] for row in rows]),
    )


def given(case: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that say what a case evaluates, and by which rules."""
    judged = case.get("qrels") or case["prefs"]
    titles = {
        "qrels": "judgments",
        "prefs": "preferences",
        "run": "ranking",
        "training": "training",
    }
    for key, title in titles.items():
        for query, documents in case.get(key, {}).items():
            whose = f" of {query}" if len(judged) > 1 else ""
            yield f"{title}{whose}: {documents}"
    for attribute, values in case.get("attributes", {}).items():
        told = (f"{doc}: {' '.join(v) if isinstance(v, list) else v}" for doc, v in values.items())
        yield f"{attribute} of {', '.join(told)}"
    for key in ("protocol", "level", "depth", "judged_only"):
        if key in case:
            yield f"{key}: {case[key]}"


def value(arithmetic: str) -> str:
    """Return what an expression over whole numbers comes to, for people.

    >>> value("(1/2 + 2/4 + 3/5) / 3")
    '0.5333'
    """
    if arithmetic == "null":
        return "null"
    functions = {"log2": math.log2, "ln": math.log, "sqrt": math.sqrt, "__builtins__": {}}
    return f"{eval(arithmetic, functions):.4f}".rstrip("0").rstrip(".")


# --------------------------------------------------------------------------- curves and fusion


def curve_page() -> str:
    """Return the page of the curves."""
    parts = [
        "# Curves\n",
        "`warehouse curve` computes and draws these. Each is one file in `sql/curves`.\n",
    ]
    for name, found in curves().items():
        parts += [
            f"## {escaped(name)}\n",
            f"**{escaped(found.title)}**. {escaped(found.summary)}\n",
            code(found.formula),
            f"Horizontal: {found.x.name}. Vertical: {found.y.name}. "
            f"Over all queries: {found.aggregate}.\n",
            parameter_section(found).replace("## Parameters", "### Parameters"),
            names_section(found).replace("## Names elsewhere", "### Names elsewhere"),
            f"Source: {escaped(found.reference)}\n",
        ]
    return sections(*parts)


def fusion_page() -> str:
    """Return the page of the fusion methods and normalisations."""
    relation = fusion_catalogue.fusions()
    told = [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]
    parts = [
        "# Fusion methods\n",
        "`warehouse fuse` merges runs by one of these methods. Each is one file in `sql/fusion`. In "
        "the formulas, s_r is the score and i_r the rank of the document in run r, w_r the weight of "
        "the run, n_r the length of its list, h the number of runs that have the document, and c the "
        "number of candidates of the query.\n",
        table(
            ("method", "title", "reads", "needs", "parameters", "tuned", "names elsewhere"),
            [
                [
                    f"`{row['method']}`",
                    *(
                        escaped(row[key] or "")
                        for key in ("title", "reads", "needs", "parameters", "tuned", "elsewhere")
                    ),
                ]
                for row in told
            ],
        ),
    ]
    for name, found in methods().items():
        parts += [
            f"## {escaped(name)}\n",
            f"{escaped(found.title)}. {escaped(found.summary)}\n",
            code(found.formula),
            f"Source: {escaped(found.reference)}\n",
        ]
    rows = [
        (word(name), word(found.formula), escaped(found.summary))
        for name, found in normalisations().items()
    ]
    parts += ["## Normalisations\n", table(("`--normalise`", "formula", "what it does"), rows)]
    return sections(*parts)


def protocol_page() -> str:
    """Return the page of the protocols' rules, each protocol against the default."""
    parts = [
        "# Rules of the protocols\n",
        "What [protocols](../explanation/protocols.md) are is explained elsewhere. This page has the "
        "rules of each, as `warehouse protocols show NAME` prints them. Rules that differ from those of "
        "`default` are in bold.\n",
    ]
    for name, found in protocols.catalogue().items():
        rows = protocol_catalogue.compare_protocols([protocols.DEFAULT, name]).fetchall()
        shown = [
            (word(row[0]), f"**{escaped(row[-1])}**" if row[1] and row[-1] else escaped(row[-1]))
            for row in rows
            if row[-1]
        ]
        parts += [
            f"## {escaped(name)}\n",
            escaped(found.summary) + "\n",
            table(("rule", "value"), shown),
        ]
    return sections(*parts)


# --------------------------------------------------------------------------- commands


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield every command that does something, with its full name."""
    inner = getattr(command, "commands", None)
    if path and (inner is None or getattr(command, "invoke_without_command", False)):
        yield " ".join(path), command
    for name, child in (inner or {}).items():
        yield from leaves(child, (*path, name))


def commands() -> dict[str, Any]:
    """Return every command by its full name."""
    return dict(leaves(typer.main.get_command(application())))


def command_reference() -> Iterator[tuple[str, str]]:
    """Yield the list of commands and a page for each."""
    every = commands()
    rows = [
        (f"[warehouse {name}]({file_of(name)}.md)", escaped(first_sentence(command)))
        for name, command in every.items()
    ]
    yield (
        "commands/index.md",
        sections(
            "# Commands\n",
            "Every command has `--help`, from which these pages are made.\n",
            table(("command", "what it does"), rows),
            contents(map(file_of, every)),
        ),
    )
    for name, command in every.items():
        yield f"commands/{file_of(name)}.md", command_page(name, command)


def file_of(command: str) -> str:
    """Return the name of a command's page."""
    return command.replace(" ", "-")


def first_sentence(command: Any) -> str:
    """Return the first paragraph of a command's help."""
    return str(command.help.strip().split("\n\n")[0])


def command_page(name: str, command: Any) -> str:
    """Return the page of a command, from its help."""
    context = command.context_class(command, info_name=f"warehouse {name}")
    usage = " ".join([f"warehouse {name}", *command.collect_usage_pieces(context)])
    records = [p.get_help_record(context) for p in command.params]
    options = "\n".join(f"`{names}`\n: {escaped(told)}\n" for names, told in filter(None, records))
    prose = "\n\n".join(map(escaped, command.help.replace("\b", "").strip().split("\n\n")))
    lines = "\n".join(f"$ {line}" for line in examples()[name])
    return sections(
        f"# warehouse {name}\n",
        code(usage),
        prose + "\n",
        f"## Arguments and options\n\n{options}" if options else "",
        "## Examples\n",
        code(lines, "console"),
    )


# --------------------------------------------------------------------------- views and tables


def schema_reference() -> Iterator[tuple[str, str]]:
    """Yield the list of views, a page for each, and a page of the tables below them."""
    with tempfile.TemporaryDirectory() as folder:
        logging.getLogger("alembic").setLevel(logging.WARNING)
        warehouse = Warehouse(Path(folder) / "empty.duckdb")
        warehouse.init()
        rows = warehouse.schema().fetchall()
    found = {key: list(group) for key, group in groupby(rows, key=lambda row: (row[0], row[1]))}
    views = {
        name: group for (kind, name), group in found.items() if kind == "view" and "." not in name
    }
    macros = {name: group for (kind, name), group in found.items() if kind == "macro"}
    tables = {name: group for (_, name), group in found.items() if "." in name}
    listed = [
        (f"[{escaped(name)}]({name}.md)", escaped(group[0][4])) for name, group in views.items()
    ]
    yield (
        "views/index.md",
        sections(
            "# Views and tables\n",
            "Begin with the views: they have names in place of numbers. `warehouse schema NAME` prints "
            "what is on these pages.\n",
            table(("view", "rows"), listed),
            contents([*views, "macros", "tables"]),
        ),
    )
    for name, group in views.items():
        example = f'$ warehouse query "{group[0][5]}"'
        yield (
            f"views/{name}.md",
            sections(
                f"# {escaped(name)}\n",
                relation_part(group),
                "## Example\n",
                code(example, "console"),
            ),
        )
    asked = [
        part
        for name, group in macros.items()
        for part in (
            f"## {escaped(name)}\n",
            relation_part(group),
            code(f'$ warehouse query "{group[0][5]}"', "console"),
        )
    ]
    about = (
        "Common questions, written as functions that give rows. Arguments with a default are given by "
        "their names: `metric_name := 'AP'`, `protocol_name := 'trec_eval_9'`. Without a metric, all "
        "are shown. A replica has the macros too; an attached one is made the current database first "
        "(`use replica`). If several warehouses are attached, macros refuse: ask their views.\n"
    )
    yield "views/macros.md", sections("# Macros\n", about, *asked)
    below = [
        part
        for name, group in tables.items()
        for part in (f"## {escaped(name)}\n", relation_part(group))
    ]
    about = (
        "The views read these tables, which are in a schema of their own. Their numbers (`run_id` …) "
        "are those of one file; `content_hash` is the same in every file.\n"
    )
    yield "views/tables.md", sections("# Tables\n", about, *below)


def relation_part(group: list[Any]) -> str:
    """Return what the rows and the columns of a view or a table mean."""
    head, *columns = group
    rows = [(word(row[2]), word(str(row[3]).lower()), escaped(row[4] or "")) for row in columns]
    return sections(escaped(head[4]) + "\n", table(("column", "type", "meaning"), rows))


# --------------------------------------------------------------------------- the project's file


def project_page() -> str:
    """Return the page of the keys of `warehouse.toml`. Raises KeyError for one without a sentence."""
    told = tomllib.loads(KEYS.read_text(encoding="utf-8"))
    parts = [
        "# Keys of warehouse.toml\n",
        "`warehouse init` writes this file with comments. The program looks for it in the current "
        "folder, then in the folders above, and refuses it if it or its folder belongs to another user "
        "and `WAREHOUSE_TRUST` does not list the folder; `--config FILE` or `WAREHOUSE_CONFIG` names "
        "another. The "
        "same keys can stand in `pyproject.toml` under `[tool.warehouse]`. Paths are relative to the "
        "file. A key that is not listed here is refused.\n",
    ]
    for title, keys in declared_keys().items():
        sentences = told.pop(title)
        if set(sentences) - {"about"} != set(keys):
            wrong = (set(sentences) - {"about"}) ^ set(keys)
            raise KeyError(f"{KEYS.name}: {title}: {', '.join(sorted(wrong))}")
        about = sentences.pop("about")
        rows = [(word(key), kinds_in_words(keys[key]), text) for key, text in sentences.items()]
        parts += [
            f"## {word(title) if title.startswith('[') else title.capitalize()}\n",
            about + "\n",
            table(("key", "type", "meaning"), rows),
        ]
    if told:
        raise KeyError(f"{KEYS.name}: {', '.join(told)}: no such table")
    return sections(*parts)


def declared_keys() -> Mapping[str, Mapping[str, Any]]:
    """Return the keys of each table of the file, with their types, as the program declares them."""
    tables = {
        "[evaluate]": project_file.Evaluate,
        "[datasets.NAME]": project_file.Dataset,
        "[datasets.NAME.qrels]": project_file.Qrels,
        "[datasets.NAME.training]": project_file.Training,
        "[[datasets.NAME.attributes]]": project_file.Attributes,
        "[[runs]]": project_file.Runs,
        "[[gates]]": project_file.Gate,
        "[limits]": project_file.Limits,
    }
    top = {
        "database", "metrics", "aliases", "settle", "publish", "lake", "report", "on_fire",
        "unchecked",
    }  # fmt: skip
    whole = {one.name: one.type for one in fields(project_file.ProjectFile) if one.name in top}
    return {"the top of the file": whole} | {
        title: {one.encode_name: one.type for one in fields(table)}
        for title, table in tables.items()
    }


def kinds_in_words(kind: Any) -> str:
    """Return the types of a key's value in words."""
    names = {
        str: "text", bool: "true or false", int: "number", float: "number", list: "list",
        dict: "table",
    }  # fmt: skip
    return " or ".join(names[one] for one in toml_types(kind))
