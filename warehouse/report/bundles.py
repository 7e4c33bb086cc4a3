"""A bundle: a board with all that is needed to check it and to compute it again, in a folder.

`export` writes it, `verify` computes it again from the files in it, and compares every bit.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import duckdb

from warehouse.analyze import stored_metrics
from warehouse.config.ownership import refuse_links
from warehouse.config.settings import BUNDLE_FILES, VERSION
from warehouse.errors import InputError, UsageError, counted, listing
from warehouse.evaluate import file_scoring
from warehouse.evaluate.chain import fingerprint_of
from warehouse.evaluate.compose import compose
from warehouse.evaluate.plan import Plan, plan
from warehouse.evaluate.scope import ATTRIBUTES, Scope
from warehouse.ingest import steps
from warehouse.metrics import protocols
from warehouse.metrics.notation import Metric, Metrics, known_metric
from warehouse.readers.in_place import provide_predictions
from warehouse.readers.ir_metadata import SECTIONS
from warehouse.readers.kinds import IDS
from warehouse.report import signatures
from warehouse.report.file_replacement import new_version
from warehouse.sql_text.quoting import literal
from warehouse.sql_text.templates import render
from warehouse.store import database, datasets

(MANIFEST, STATEMENT), README = BUNDLE_FILES, "README.md"
_BOARD, _VALUES, _QRELS = "board.csv", "query_values.csv", "data/qrels.parquet"
_VERSION = 1
# The types of the keys of a manifest.
_KINDS: dict[str, type] = {
    "dataset": str, "protocol": dict, "metrics": list, "qrels": dict, "runs": list,
    "attributes": list, "data": dict, "has_data": bool,
}  # fmt: skip
_CALLED = {str: "a text", dict: "an object", list: "a list", bool: "true or false"}
_STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
_PREDICATE_TYPE = "urn:ranking-warehouse:bundle:1"
_TRAINING, _ATTRIBUTES = "data/training.parquet", "data/attributes_of_{}.parquet"
# Data that a bundle does not hold.
_LACKS = {"preferences", "assignments", "citations"}
DIFFERENCES = "bundle_difference"


@dataclass(frozen=True)
class Exported:
    """A bundle that was written: its folder, and how many runs, metrics and values it holds."""

    path: Path
    num_runs: int
    num_metrics: int
    num_values: int


@dataclass(frozen=True)
class Checked:
    """The outcome of computing a bundle again.

    `differences` has the columns `what, run, metric, query_id, stored, computed`; `problems` are
    sentences about its files, and `notes` say what else is worth knowing.
    """

    differences: duckdb.DuckDBPyRelation
    problems: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def is_good(self) -> bool:
        """Whether every file and every value is the same."""
        return not self.problems and not self.differences.limit(1).fetchall()


def export(
    con: duckdb.DuckDBPyConnection,
    target: Path,
    dataset: str | None,
    metrics: Metrics,
    protocol: str,
    *,
    with_data: bool,
    sign: Path | None = None,
    lock_timeout: float,
) -> Exported:
    """Write a bundle of a dataset's current values into a new folder; see `Warehouse.export`."""
    if target.exists():
        raise UsageError(f"{target}: is there already; a bundle is a new folder")
    if sign is not None and not sign.is_file():
        raise UsageError(f"{sign}: no such key")
    name = datasets.chosen(con, dataset)
    rules = stored_metrics.stored_rules(con, protocol)
    if protocols.is_imported(rules.name):
        raise UsageError(f"{rules.name}: computed by another program; a bundle is computed again")
    wanted = stored_metrics.names(con, [name], metrics, rules)
    stored_metrics.with_missing(con, [name], wanted, rules)
    shown = stored_metrics.choose(con, name, wanted, rules)
    work = plan([_metric(one) for one in shown], rules)
    if lacks := sorted(work.needs & _LACKS):
        those = [str(metric) for metric in work.queries if work.needs_of(metric) & _LACKS]
        raise UsageError(
            f"{listing(those)}: {listing(lacks)} are no part of a bundle; name the other metrics with -m"
        )
    with new_version(target, lock_timeout) as part:
        (part / "data" / "runs").mkdir(parents=True)
        made = _write(con, part, name, work, with_data=with_data)
        if sign is not None:
            signatures.sign(part / STATEMENT, sign)
        part.replace(target)
    return Exported(target, *made)


def _metric(name: str) -> Metric:
    found = known_metric(name)
    if found is None:
        raise UsageError(f"{name}: is no longer defined, so it cannot be computed again")
    return found


def _write(
    con: duckdb.DuckDBPyConnection, folder: Path, dataset: str, work: Plan, *, with_data: bool
) -> tuple[int, int, int]:
    """Write the files; return the numbers of runs, metrics and values of queries."""
    names = [str(metric) for metric in work.queries]
    chosen = {"dataset": dataset, "protocol": work.protocol.name, "metrics": names}
    con.execute(render("statements/bundle_values", **chosen))
    _copy(con, "select * exclude (fingerprint) from bundle_board", folder / _BOARD)
    _copy(con, "from bundle_query_value", folder / _VALUES)
    (qrels,) = _rows(
        con,
        "select qrels.* exclude (dataset_id, checksum) from qrels where qrels_id in "
        "(select qrels_id from scores where dataset = $1)",
        [dataset],
    )
    runs = _rows(con, "select * exclude (dataset_id, checksum) from bundle_run order by number", [])
    tags = _tags(con)
    data = {
        _QRELS: "select query_id, doc_id, relevance, iteration from store.judgment "
        f"where qrels_id = {qrels['qrels_id']} order by query_id, doc_id, iteration"
    }
    more_files = _other_inputs(con, dataset, work)
    data |= more_files
    described = []
    for run in runs:
        run["file"] = f"data/runs/{run['number']:03}.parquet"
        data[run["file"]] = (
            "select query_id, doc_id, score from prediction "
            f"where run_id = {run['run_id']} order by query_id, position"
        )
        empty = con.execute(
            "select query_id from ranking where run_id = $1 and num_ret = 0 order by query_id",
            [run["run_id"]],
        ).fetchall()
        about = _described(run, tags.get(run["run_id"], {}))
        described.append(about | {"empty_lists": [query_id for (query_id,) in empty]})
        text = _yaml(_ir_metadata(run, tags.get(run["run_id"], {}), dataset))
        _text(folder / f"ir_metadata/{run['number']:03}.yml", text)
    provide_predictions(con, [run["run_id"] for run in runs])
    for path, sql in data.items():
        _copy(con, sql, folder / path, "(format parquet, compression zstd)")
    digests = {path: _sha256(folder / path) for path in data}
    if not with_data:
        shutil.rmtree(folder / "data")
    metrics = [
        {
            "metric": str(metric), "fingerprint": fingerprint_of(work, metric),
            "sql": f"sql/{fingerprint_of(work, metric)}.sql",
        }
        for metric in work.queries
    ]  # fmt: skip
    for metric, about in zip(work.queries, metrics, strict=True):
        _text(folder / about["sql"], compose([metric], work.protocol))
    _json(
        folder / MANIFEST,
        {
            "bundle": _VERSION, "dataset": dataset,
            "program_version": VERSION, "engine_version": duckdb.__version__,
            "protocol": asdict(work.protocol), "metrics": metrics,
            "qrels": {**_described(qrels, {}), "file": _QRELS}, "runs": described,
            "training": _TRAINING if _TRAINING in more_files else None,
            "attributes": [path for path in more_files if path != _TRAINING],
            "data": digests, "has_data": with_data,
        },
    )  # fmt: skip
    _text(folder / README, _readme(dataset, work, len(runs), with_data=with_data))
    _json(folder / STATEMENT, _statement(folder, digests, dataset))
    ((num_values,),) = con.execute("select count(*) from bundle_query_value").fetchall()
    return len(runs), len(metrics), num_values


def _other_inputs(con: duckdb.DuckDBPyConnection, dataset: str, work: Plan) -> dict[str, str]:
    """Return the SQL of the other files that the metrics read, by their paths."""
    found: dict[str, str] = {}
    if "training" in work.needs:
        # a query without an example counts, too: it has an empty list
        found[_TRAINING] = (
            "select query_id, list(doc_id order by doc_id) filter (where doc_id is not null) as doc_id, "
            "list(relevance order by doc_id) filter (where doc_id is not null) as relevance "
            "from store.example join store.training_version using (training_id) "
            f"where dataset = {literal(dataset)} and is_current group by query_id order by query_id"
        )
    Scope(con).attributes(dataset)
    for subject, view in ATTRIBUTES.items():
        read = work.attributes_of if subject == "document" else work.query_attributes_of
        wanted = {name for metric in work.queries for name in read(metric)}
        sql = render(
            "statements/bundle_attribute_types", dataset=dataset, subject=subject, view=view
        )
        columns = {name: type for name, type in con.execute(sql).fetchall() if name in wanted}
        if columns:
            found[_ATTRIBUTES.format(f"{subject}s" if subject == "document" else "queries")] = (
                render("statements/bundle_attributes", columns=columns, view=view, id=IDS[subject])
            )
    return found


def _rows(con: duckdb.DuckDBPyConnection, sql: str, bound: list[Any]) -> list[dict[str, Any]]:
    found = con.execute(sql, bound)
    names = [column[0] for column in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _tags(con: duckdb.DuckDBPyConnection) -> dict[int, dict[str, str]]:
    rows = con.execute(
        "select run_id, tags from runs where run_id in (select run_id from bundle_run)"
    ).fetchall()
    return {run_id: dict(tags or {}) for run_id, tags in rows}


def _described(row: Mapping[str, Any], tags: Mapping[str, str]) -> dict[str, Any]:
    """Return the description of a run or qrels, without what only its database or machine knows."""
    kept = {key: value for key, value in row.items() if key not in ("run_id", "qrels_id", "number")}
    kept["source"] = Path(str(row["source"])).name
    return {**kept, **({"tags": tags} if tags else {})}


def _ir_metadata(run: Mapping[str, Any], tags: Mapping[str, str], dataset: str) -> dict[str, Any]:
    """Return the description of a run in the sections of ir_metadata."""
    found: dict[str, Any] = {
        "tag": run["system"] or run["name"],
        "data": {"test collection": {"name": dataset}},
    }
    for key, value in tags.items():
        path = key.split(".") if key.partition(".")[0] in SECTIONS else ["method", "tags", key]
        below = found
        for step in path[:-1]:
            inner = below.setdefault(step, {})
            below = inner if isinstance(inner, dict) else below
        below[path[-1]] = value
    start = {"start time": run["run_at"].isoformat()}
    found.setdefault("resources", {}).setdefault("runtime", {}).update(start)
    return found


def _yaml(value: Mapping[str, Any], indent: str = "") -> str:
    """Return nested texts as YAML; a text in double quotes is the same in JSON."""
    lines = []
    for key, below in value.items():
        name = json.dumps(key, ensure_ascii=False)
        if isinstance(below, Mapping):
            lines.append(f"{indent}{name}:\n{_yaml(below, indent + '  ')}")
        else:
            lines.append(f"{indent}{name}: {json.dumps(below, ensure_ascii=False)}\n")
    return "".join(lines)


def _statement(folder: Path, data: Mapping[str, str], dataset: str) -> dict[str, Any]:
    """Return an in-toto statement of the digests of all files, including left out data."""
    paths = sorted(
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    )
    digests = {**data, **{path: _sha256(folder / path) for path in paths}}
    return {
        "_type": _STATEMENT_TYPE,
        "subject": [{"name": n, "digest": {"sha256": d}} for n, d in sorted(digests.items())],
        "predicateType": _PREDICATE_TYPE,
        "predicate": {"dataset": dataset, "program": f"ranking-warehouse {VERSION}"},
    }


def _readme(dataset: str, work: Plan, num_runs: int, *, with_data: bool) -> str:
    metrics = "\n".join(f"- `{metric}`" for metric in work.queries)
    more = "" if with_data else " --data FOLDER"
    apart = (
        "" if with_data else
        "\nThe judgments and runs are not in it: give the folder that has them with `--data`; their "
        f"digests are in `{MANIFEST}`.\n"
    )  # fmt: skip
    return f"""# Evaluation of {counted(num_runs, "run")} on {dataset}

Values of these metrics under the protocol `{work.protocol.name}`:

{metrics}

With ranking-warehouse {VERSION} installed, `warehouse verify .{more}` in this folder computes all values
again and compares every bit.
{apart}
| file | content |
|---|---|
| `{_BOARD}` | the value of each run and metric |
| `{_VALUES}` | the values of the queries |
| `{MANIFEST}` | runs, judgments, metrics, protocol and versions, with hashes |
| `sql/` | the SQL of each metric, by its fingerprint |
| `ir_metadata/` | what is known of each run |
| `data/` | the judgments, the runs, and what else the metrics read |
| `{STATEMENT}` | an in-toto statement of the SHA-256 of every file |
"""


def _copy(con: duckdb.DuckDBPyConnection, sql: str, path: Path, how: str = "(header)") -> None:
    con.execute(f"copy ({sql}) to {literal(str(path))} {how}")


def _text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def _json(path: Path, value: object) -> None:
    _text(path, json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# --------------------------------------------------------------------------- computing it again


def verify(bundle: Path, data: Path | None = None, signers: Path | None = None) -> Checked:
    """Check a bundle's files and compute its values again; see `Warehouse.verify_bundle`."""
    if signers is not None and not signers.is_file():
        raise UsageError(f"{signers}: no such list of allowed signers")
    refuse_links(bundle, "bundle")
    try:
        found = _verify(bundle, data)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise InputError(
            f"{bundle / MANIFEST}: is not as a bundle has it ({type(error).__name__}: {error})"
        ) from error
    if signers is None:
        return found
    try:
        return replace(
            found, notes=(*found.notes, signatures.signed_by(bundle / STATEMENT, signers))
        )
    except InputError as error:
        return replace(found, problems=(*found.problems, str(error)))


def _verify(bundle: Path, data: Path | None) -> Checked:
    manifest = _read(bundle / MANIFEST)
    if manifest.get("bundle") != _VERSION:
        raise InputError(f"{bundle / MANIFEST}: is no bundle of version {_VERSION}")
    for key, kind in _KINDS.items():
        if not isinstance(manifest.get(key), kind):
            raise InputError(f"{bundle / MANIFEST}: {key}: must be {_CALLED[kind]}")
    if data is None and not manifest["has_data"]:
        raise UsageError(f"{bundle}: has no data; give the folder with {_QRELS} with --data FOLDER")
    root = bundle if data is None else data
    problems = list(_changed(bundle, manifest, root))
    name = manifest["protocol"]["name"]
    rules = protocols.get(name)
    notes = [f"{counted(len(manifest['runs']), 'run')}, protocol {name}"]
    if json.loads(json.dumps(asdict(rules), default=str)) != manifest["protocol"]:
        problems.append(f"the protocol {name} has other rules here")
    metrics = [_metric(one["metric"]) for one in manifest["metrics"]]
    work = plan(metrics, rules)
    for metric, about in zip(metrics, manifest["metrics"], strict=True):
        if fingerprint_of(work, metric) != about["fingerprint"]:
            notes.append(f"{metric}: is computed by other SQL here than in the bundle")
    con = database.scratch(database.Resources())
    try:
        problems += _other_content(con, manifest, root)
        _compute(con, manifest, root, work)
        for table, file in (("board", _BOARD), ("query_value", _VALUES)):
            types = (
                "{'run': 'varchar', 'query_id': 'varchar', 'metric': 'varchar', 'value': 'double'}"
            )
            if table == "board":
                types = types.replace("'query_id': 'varchar', ", "")
            con.execute(
                f"create or replace temp table bundled_{table} as from read_csv("
                f"{literal(str(bundle / file))}, header = true, columns = {types})"
            )
            twice = con.execute(
                f"select count(*) from (select * exclude (value) from bundled_{table} "
                "group by all having count(*) > 1)"
            ).fetchall()[0][0]
            if twice:
                problems.append(f"{file}: has {counted(twice, 'value')} more than once")
    except duckdb.Error as error:
        con.close()
        raise InputError(f"{bundle}: {str(error).splitlines()[0]}") from error
    except BaseException:
        con.close()
        raise
    differences = database.keep(con, render("analyses/bundle_differences"), name=DIFFERENCES)
    ((compared,),) = con.execute("select count(*) from computed").fetchall()
    notes.append(f"computed again: {counted(compared, 'value')}")
    return Checked(differences, tuple(problems), tuple(notes))


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}; is it a bundle?") from error
    except ValueError as error:
        raise InputError(f"{path}: is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise InputError(f"{path}: holds no object")
    return found


def _changed(bundle: Path, manifest: Mapping[str, Any], root: Path) -> Iterator[str]:
    """Yield the problems of the files, by the digests of the statement."""
    try:
        subjects = {
            str(one["name"]): str(one["digest"]["sha256"])
            for one in _read(bundle / STATEMENT)["subject"]
        }
    except (KeyError, TypeError):
        raise InputError(f"{bundle / STATEMENT}: is no statement of digests") from None
    for name, digest in subjects.items():
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise InputError(f"{bundle / STATEMENT}: {name}: lies outside the bundle")
        path = (root if name in manifest["data"] else bundle) / name
        if not path.is_file():
            yield f"{name}: is missing"
        elif _sha256(path) != digest:
            yield f"{name}: has other content than when it was written"
    listed = {*subjects, STATEMENT, STATEMENT + signatures.SUFFIX}
    for path in sorted(bundle.rglob("*")):
        if path.is_file() and path.relative_to(bundle).as_posix() not in listed:
            yield f"{path.relative_to(bundle).as_posix()}: was not there when it was written"


def _other_content(
    con: duckdb.DuckDBPyConnection, manifest: Mapping[str, Any], root: Path
) -> Iterator[str]:
    """Yield of which judgments and runs the hash or the numbers are others than their rows give."""
    qrels = manifest["qrels"]
    judged, query = (
        "judgment_hash(query_id, doc_id, relevance, iteration)",
        "hash(query_id, doc_id, score)",
    )
    described: list[tuple[str, Any, str, int, str, list[str]]] = [
        ("the judgments", qrels, judged, qrels["num_judgments"], "", [])
    ]
    described += [
        (
            f"run {one['name']}", one, query, one["num_predictions"],
            "-lower" if one["lower_is_better"] else "", one["empty_lists"],
        )
        for one in manifest["runs"]
    ]  # fmt: skip
    for name, about, row_hash, num_rows, suffix, empty in described:
        path = root / _inside(about["file"])
        found = con.execute(
            f"select count(*), count(distinct query_id), coalesce(sum({row_hash}), 0) "
            f"+ (select coalesce(sum(hash(query_id)), 0) from unnest($1::varchar[]) as t(query_id)) "
            f"from read_parquet({literal(str(path))})",
            [empty],
        ).fetchall()[0]
        content = steps.Content.of(
            manifest["dataset"], found[0], found[1] + len(set(empty)), found[2], suffix
        )
        if content.content_hash != about["content_hash"]:
            yield f"{name}: has other rows than those that its hash is of"
        if (content.num_rows, content.num_queries) != (num_rows, about["num_queries"]):
            yield f"{name}: has other numbers of rows and queries than the manifest says"


def _compute(
    con: duckdb.DuckDBPyConnection, manifest: Mapping[str, Any], root: Path, work: Plan
) -> None:
    """Compute the values of all runs into the table `computed`: `run, metric, query_id, value`."""
    con.execute(
        "create or replace temp table computed "
        "(run varchar, metric varchar, query_id varchar, value double)"
    )
    columns = {name: name for name in ("query_id", "doc_id")}
    training, attributes = manifest.get("training"), manifest.get("attributes", ())
    truth = file_scoring.read_truth(
        con, str(root / _inside(manifest["qrels"]["file"])), work,
        format="parquet", columns={**columns, "relevance": "relevance"},
        iterations=manifest["qrels"].get("kind") == "iterations",
        training=None if training is None else str(root / _inside(training)),
        attributes=[str(root / _inside(path)) for path in attributes],
    )  # fmt: skip
    names = [str(metric) for metric in work.queries]
    for is_turned in (False, True):
        runs = [run for run in manifest["runs"] if bool(run["lower_is_better"]) is is_turned]
        if not runs:
            continue
        mapping = {**columns, "score": "score"}
        reading = file_scoring.Reading("parquet", mapping, lower_is_better=is_turned)
        paths = [str(root / _inside(run["file"])) for run in runs]
        for _ in file_scoring.score_runs(con, truth, paths, work, reading):
            bound = {"runs": [run["name"] for run in runs], "metrics": names}
            for query_id, table in (("query_id", "query_score"), ("null", "score")):
                con.execute(
                    f"insert into computed select $runs[run_id + 1], $metrics[metric_number + 1], "
                    f"{query_id}, value from {table} join pending using (evaluation_id)",
                    bound,
                )


def _inside(name: str) -> str:
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise InputError(f"{MANIFEST}: {name}: lies outside the bundle")
    return name
