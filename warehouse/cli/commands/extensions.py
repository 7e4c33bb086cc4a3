"""`warehouse extensions`."""

from __future__ import annotations

from warnings import catch_warnings, simplefilter

from warehouse.cli import options

SECTION, PLACE = "Catalogue", 5
EXAMPLES = {"extensions": ("warehouse extensions", "warehouse extensions -f json")}


def extensions(table: options.Table) -> None:
    """List the extensions: where they are from, what they give, and what of it does not work.

    An extension is an installed package that adds metrics, fusion methods, protocols, formats,
    commands or names; see "Write an extension" in the manual. What does not work is left out.
    """
    from warehouse.analyze import extension_catalogue
    from warehouse.cli import application

    with catch_warnings():
        simplefilter("ignore")  # the table has them
        application.examples()
    table.show(extension_catalogue.extensions())
