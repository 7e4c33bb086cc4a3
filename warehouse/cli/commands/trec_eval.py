"""`warehouse trec-eval`."""

from __future__ import annotations

from typing import Annotated

import typer

SECTION, PLACE = "Evaluate", 3
EXAMPLES = {
    "trec-eval": (
        "warehouse trec-eval qrels.txt runs/bm25.run.gz",
        "warehouse trec-eval -q -c -l2 -m ndcg_cut.5,10 -m map qrels.txt runs/bm25.run.gz",
        "warehouse trec-eval --release 10 -m all_trec -M100 qrels.txt runs/bm25.run.gz",
    )
}
# Arguments after the command are read as trec_eval reads them, -h included.
SETTINGS = {"ignore_unknown_options": True, "help_option_names": ["--help"]}


def trec_eval(
    context: typer.Context,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-OPTION]... QRELS RESULTS",
            show_default=False,
            help="As for trec_eval; the results may be - for stdin.",
        ),
    ] = None,
    release: Annotated[str, "Which trec_eval: 9.0.8 or 10.0.", {"metavar": "9|10"}] = "9",
) -> None:
    """Score a run as trec_eval does: its options, its output, its exit codes.

    -m MEASURE[.PARAMETERS] (repeatable; also official, all_trec, set, prefs, all_prefs, qrels_jg), -q
    each query, -n no summary, -c every judged query, -l LEVEL, -M DOCUMENTS, -N DOCUMENTS in the
    collection, -J judged documents only, -R qrels|qrels_jg|prefs|qrels_prefs, -T trec_results,
    -Z FILE, -v; their long names too, as in --level_for_rel=2. The exit code is 1 for wrong options, 2
    for files that cannot be read, 4 for a document that is twice in a list, and 7 if the two files have
    no query in common. 'warehouse score' has more metrics and more formats.
    """
    from warehouse.cli import output
    from warehouse.report import trec_eval as interface

    call = interface.read(arguments or [])
    if call.version:
        output.say(f"trec_eval version {interface.RELEASES[release]}, by the warehouse")
        return
    if call.help:
        typer.echo(context.get_help())
        return
    text, warnings = interface.evaluate(call, release)
    output.emit(text, None, "trec")
    for warning in warnings:
        output.warn(warning)
