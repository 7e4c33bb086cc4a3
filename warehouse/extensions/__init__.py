"""Our own extensions, in the form in which anyone's are attached; nothing else imports them.

Each is a folder of this one, with its code, its SQL and the modules of its commands. One whose folder
is removed is not there, and everything else works.
"""

from __future__ import annotations

from pathlib import Path

from warehouse.extending import API, Extension

_FOLDER = Path(__file__).parent
_FORMATS = (
    "matrix:Matrix", "npz:Npz", "quepid:Quepid", "part_folders:PartFolders", "letor:Letor",
    "wrapped_json:Mteb", "wrapped_json:RankEval", "candidates:Candidates", "ir_datasets:IrDatasets",
)  # fmt: skip

EXTENSIONS = {
    "answers": Extension(
        summary="Judges: judgments compared and made into qrels, and judgments of answers.",
        api=API,
        sql=_FOLDER / "answers" / "sql",
        commands={
            "judgments": "warehouse.extensions.answers.commands.judgments",
            "judges": "warehouse.extensions.answers.commands.judgments",
            "judgments load": "warehouse.extensions.answers.commands.load",
            "ingest judgments": "warehouse.extensions.answers.commands.load",
        }
        | {
            f"ingest {one}": "warehouse.extensions.answers.commands.answers"
            for one in ("nuggets", "assignments", "citations")
        },
    ),
    "collections": Extension(
        summary="Reports on test collections, and how well runs reproduce others.",
        api=API,
        sql=_FOLDER / "collections" / "sql",
        pages=["warehouse.extensions.collections.page:COLLECTION"],
        commands={
            one: f"warehouse.extensions.collections.commands.{one}"
            for one in ("collection", "discriminate", "reproduce", "reusability")
        },
    ),
    "experimental": Extension(
        summary="Metrics that no other program computes: AWRF and U.",
        api=API,
        sql=_FOLDER / "experimental" / "sql",
    ),
    "imports": Extension(
        summary="Formats of other programs: matrices, LETOR, Quepid, MTEB, ir_datasets, MLflow …",
        api=API,
        sql=_FOLDER / "imports" / "sql",
        formats=[f"warehouse.extensions.imports.{one}" for one in _FORMATS],
        logs=["warehouse.extensions.imports.benchmark_logs"],
        commands={"ingest mlflow": "warehouse.extensions.imports.commands.mlflow"},
    ),
    "lake": Extension(
        summary="A lake of Delta tables, into which a team pushes values.",
        api=API,
        sql=_FOLDER / "lake" / "sql",
        lakes=["warehouse.extensions.lake.shared_lake"],
        commands={
            one: f"warehouse.extensions.lake.commands.{one}"
            for one in ("lake", "push", "collect", "pull")
        },
    ),
    "peers": Extension(
        summary="The interfaces of pytrec_eval, ir_measures and ranx, for programs that use them.",
        api=API,
    ),
    "server": Extension(
        summary="The pages live, as a read-only server.",
        api=API,
        sql=_FOLDER / "server" / "sql",
        commands={"serve": "warehouse.extensions.server.commands.serve"},
    ),
    "spark": Extension(
        summary="Spark as an engine: tasks of a cluster score runs.",
        api=API,
        engines={"spark": "warehouse.extensions.spark.engine"},
    ),
    "training": Extension(
        summary="Callbacks of training frameworks and Optuna, PyTerrier's runs, trackers.", api=API
    ),
}
