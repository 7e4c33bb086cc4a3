"""What a wheel has for the shell: `python docs/share.py` writes the man page and completions anew."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
SHARE = HERE / "share"
_SHELLS = {
    "bash": "bash-completion/completions/warehouse",
    "zsh": "zsh/site-functions/_warehouse",
    "fish": "fish/vendor_completions.d/warehouse.fish",
}
_HEAD = r""".TH WAREHOUSE 1 2026 ranking\-warehouse "User Commands"
.SH NAME
warehouse \- keep and evaluate rankings: runs and qrels in DuckDB, every metric one SQL template
.SH SYNOPSIS
.B warehouse
.I COMMAND
.RI [ OPTIONS ]
.SH DESCRIPTION
Runs (the ranked, scored documents of a system by query) and qrels (the judgments) are loaded into a
DuckDB file. Metrics are computed from them and stored, and boards, comparisons and reports are read from
there.
.PP
.B warehouse
.I COMMAND
.B \-\-help
shows the arguments and options of a command, and examples.
.SH COMMANDS
"""
_TAIL = r""".SH ENVIRONMENT
.TP
.B WAREHOUSE_DB
The database, if neither \-\-db nor warehouse.toml names one; else it is warehouse.duckdb.
.TP
.B WAREHOUSE_CONFIG
The project's file, in the place of the nearest warehouse.toml.
.SH FILES
.TP
.I warehouse.toml
The datasets, sources of runs, metrics and gates of a project;
.B warehouse init
writes one.
.SH EXIT STATUS
0 if all is good; 1 if a check or a gate fired, or if SQL failed; 2 for wrong usage or bad input; 3 if
the database is locked; 130 if interrupted.
.SH SEE ALSO
.BR duckdb (1)
"""


def man_page() -> str:
    """Return the man page: each command with its first sentence."""
    reference = importlib.import_module("generate")
    lines = [
        f".TP\n.B {_roff(name)}\n{_roff(reference.first_sentence(command))}\n"
        for name, command in reference.commands().items()
    ]
    return _HEAD + "".join(lines) + _TAIL


def _roff(text: str) -> str:
    """Return a text as roff prints it."""
    text = " ".join(text.replace("\b", "").split()).replace("\\", r"\e").replace("-", r"\-")
    text = "".join(one if one.isascii() else rf"\[u{ord(one):04X}]" for one in text)
    return rf"\&{text}" if text.startswith((".", "'")) else text


def completions() -> Iterator[tuple[str, str]]:
    """Yield the path and the text of the completion of each shell, as Typer writes it."""
    from typer._completion_shared import get_completion_script

    for shell, path in _SHELLS.items():
        script = get_completion_script(
            prog_name="warehouse", complete_var="_WAREHOUSE_COMPLETE", shell=shell
        )
        yield path, script.strip() + "\n"


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    for path, text in (("man/man1/warehouse.1", man_page()), *completions()):
        file = SHARE / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
