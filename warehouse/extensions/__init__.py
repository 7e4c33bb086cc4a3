"""Our own extensions, in the form in which anyone's are attached; nothing else imports them.

Each is a folder of this one, with its code, its SQL and the modules of its commands. One whose folder
is removed is not there, and everything else works.
"""

from __future__ import annotations

from pathlib import Path

from warehouse.extending import API, Extension

_FOLDER = Path(__file__).parent

EXTENSIONS = {
    "peers": Extension(
        summary="The interfaces of pytrec_eval and ir_measures, for programs that use them.",
        api=API,
    ),
    "ranx": Extension(summary="The interface of ranx, for programs that use it.", api=API),
    "server": Extension(
        summary="The pages live, as a read-only server.",
        api=API,
        sql=_FOLDER / "server" / "sql",
        commands=["warehouse.extensions.server.commands.serve"],
    ),
    "training": Extension(
        summary="Callbacks of training frameworks and Optuna, PyTerrier's runs, trackers.", api=API
    ),
}
