"""The application with every command."""

from __future__ import annotations

from warehouse.cli.commands import application

app = application()
