"""`warehouse protocols`."""

from __future__ import annotations

from typing import Annotated

import typer

from warehouse.cli import options, output

SECTION, PLACE = "Catalogue", 4
EXAMPLES = {
    "protocols": ("warehouse protocols",),
    "protocols show": ("warehouse protocols show trec_eval_9 trec_eval_10 default",),
}


def protocols(context: typer.Context, table: options.Table) -> None:
    """List the protocols: the rules of an evaluation.

    A protocol holds the rules that are not a metric's own, such as the order of equal scores. To
    add a protocol, write a table [protocols.NAME] in warehouse.toml, with the keys that 'protocols
    show' lists, or with extends = "NAME" and the keys that differ. Its origin is "project".

    The table has the first sentence of each summary, the other formats all of it.
    """
    if context.invoked_subcommand is not None:
        return
    from warehouse.analyze import protocol_catalogue

    table.show(protocol_catalogue.protocols_for_people(table.format))
    output.say("one in full, or several side by side: warehouse protocols show NAME NAME")


def show(names: Annotated[list[str], "One or more protocols."], table: options.Table) -> None:
    """Show protocols side by side; ≠ marks the rules that differ.

    Their summaries go to stderr.
    """
    from warehouse.analyze import protocol_catalogue

    table.show(protocol_catalogue.compare_protocols(names))
    for summary in protocol_catalogue.summaries(names):
        output.say(summary)
