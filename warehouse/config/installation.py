"""How this copy of the program was installed, and the command that adds an extra to it."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

NAME = "ranking-warehouse"
# Files by which pipx and uv know the environment of a tool.
_OF_PIPX, _OF_UV = "pipx_metadata.json", "uv-receipt.toml"


def adding(extra: str) -> str:
    """Return the command that adds an extra to this copy.

    It names the source that this copy came from, for none may be on a registry: a checkout, a file
    or a repository; and the program that manages the environment: pip, pipx or uv.
    """
    target = _target(extra)
    environment = Path(sys.prefix)
    if (environment / _OF_PIPX).exists():
        return f"pipx install --force {target}"
    if (environment / _OF_UV).exists():
        return f"uv tool install --force {target}"
    if find_spec("pip") is None and shutil.which("uv"):
        return f"uv pip install --python {shlex.quote(sys.executable)} {target}"
    return f"{_pip()} install {target}"


def _target(extra: str) -> str:
    """Return the requirement for pip: the source of this copy, with the extra."""
    came_from = _came_from()
    url = str(came_from.get("url", ""))
    if "dir_info" in came_from:
        editable = "-e " if came_from["dir_info"].get("editable") else ""
        return f"{editable}{shlex.quote(f'{unquote(urlsplit(url).path)}[{extra}]')}"
    if "vcs_info" in came_from:
        vcs = came_from["vcs_info"]
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    return f"'{NAME}[{extra}]{f' @ {url}' if url else ''}'"


def _came_from() -> dict[str, Any]:
    """Return the source as pip, pipx or uv wrote it down; nothing if it came from a registry."""
    from importlib.metadata import PackageNotFoundError, distribution  # takes 10 ms

    try:
        text = distribution(NAME).read_text("direct_url.json")
    except PackageNotFoundError:
        checkout = Path(__file__).resolve().parents[2]
        is_checkout = (checkout / "pyproject.toml").exists()
        return {"url": checkout.as_uri(), "dir_info": {"editable": True}} if is_checkout else {}
    found: dict[str, Any] = json.loads(text) if text else {}
    return found


def _pip() -> str:
    """Return how pip of this environment is called: by its name if that is the one on the path."""
    found = shutil.which("pip")
    if found is not None and Path(found).parent == Path(sys.executable).parent:
        return "pip"
    return f"{shlex.quote(sys.executable)} -m pip"
