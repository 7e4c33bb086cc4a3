"""The extensions as a table."""

from __future__ import annotations

from warnings import catch_warnings, simplefilter

from duckdb import DuckDBPyRelation as Relation

from warehouse import extending
from warehouse.analyze.protocol_catalogue import relation
from warehouse.extending import Extension
from warehouse.metrics import catalogue, fusion, protocols
from warehouse.readers import registry

_COLUMNS = ("extension", "origin", "gives", "left out", "summary")


def extensions() -> Relation:
    """Return the extensions: `extension, origin, gives, left out, summary`.

    Every part is tried first but commands, which are the command line's.
    """
    with catch_warnings():
        simplefilter("ignore")  # the table has them
        found = extending.found()
        for kind in ("logs", "lakes", "pages"):
            list(extending.objects(kind))
        catalogue.catalogue()
        fusion.methods()
        protocols.catalogue()
        registry.of_files()
    rows = [
        (name, origin or "package", _parts(extension), _problems(name), extension.summary)
        for name, origin, extension in found
    ]
    working = {row[0] for row in rows}
    rows += [(n, "", "", _problems(n), "") for n in sorted(extending.problems) if n not in working]
    return relation(_COLUMNS, rows)


def _problems(name: str) -> str:
    return "\n".join(extending.problems.get(name, ()))


def _parts(extension: Extension) -> str:
    """Return the kinds of parts that an extension gives, each with their names."""
    parts = {
        "metrics": [path.name.partition(".")[0] for path in extension.files("metrics")],
        "functions": extension.functions,
        "fusion methods": [path.name.partition(".")[0] for path in extension.files("fusion")],
        "orders of holes": [path.name.partition(".")[0] for path in extension.files("holes")],
        "protocols": extension.protocols,
        "formats": [text.rpartition(":")[2] for text in extension.formats],
        "logs": extension.logs,
        "lakes": extension.lakes,
        "pages": [text.rpartition(":")[2] for text in extension.pages],
        "commands": extension.commands,
        "engines": extension.engines,
        "names": extension.names,
    }
    given = [f"{kind} {', '.join(names)}" for kind, names in parts.items() if names]
    return "; ".join(given) or "modules to import"
