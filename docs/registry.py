"""The README as a package registry shows it: no link leads to a file that the registry does not have.

Relative links become absolute where the project has a `Source` in its URLs, else plain text; pictures
are left out then. The build calls this.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

MetadataHookInterface: Any = object
with suppress(ImportError):  # in the tests, outside a build
    from hatchling.metadata.plugin.interface import MetadataHookInterface

README = Path(__file__).parents[1] / "README.md"
_LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!https?:|#)(?P<path>[^)\s]+)\)")


def readme(text: str, source: str | None) -> str:
    """Return a text with its relative links for readers elsewhere.

    >>> readme("[More](docs/a.md), ![a board](docs/b.png)", None)
    'More, '
    >>> readme("[More](docs/a.md)", "https://example.org/w")
    '[More](https://example.org/w/blob/main/docs/a.md)'
    """

    def link(found: re.Match[str]) -> str:
        if source is None:
            return "" if found["picture"] else found["text"]
        kind = "raw" if found["picture"] else "blob"
        return f"{found['picture']}[{found['text']}]({source}/{kind}/main/{found['path']})"

    return _LINK.sub(link, text)


class Hook(MetadataHookInterface):  # type: ignore[misc]
    """Sets the README of the package."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set it; hatchling calls this."""
        text = readme(README.read_text(encoding="utf-8"), metadata.get("urls", {}).get("Source"))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
