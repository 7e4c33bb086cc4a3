"""Compiled templates are kept between processes: that is quicker, and never anything else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from warehouse.sql_text import templates

TEXT = "select {{ 1 + 1 }} as two"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    _forget()
    yield tmp_path / "ranking-warehouse" / "templates"
    monkeypatch.undo()
    _forget()


def _forget() -> None:
    """Be as a new process is."""
    for made in (templates._kept, templates.environment, templates.compiled):
        made.cache_clear()


def rendered(text: str = TEXT) -> str:
    return templates.compiled(text).render()


def test_what_was_compiled_is_found_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rendered() == "select 2 as two"
    assert list(cache.iterdir())
    _forget()
    templates.environment()

    def never(*_: object, **__: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr(type(templates.environment()), "compile", never)
    assert rendered() == "select 2 as two"
    with pytest.raises(AssertionError, match="compiled again"):
        rendered(TEXT + ", 3 as three")


def test_what_a_text_asks_for_is_found_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "{% set own = 1 %}select {{ given + own | literal }}, {{ gain_of(of, own) }}"
    assert templates.variables(text) == {"given", "of"}
    _forget()
    parsed: list[str] = []
    parse = type(templates.environment()).parse
    monkeypatch.setattr(
        type(templates.environment()), "parse", lambda *of: parsed.append(of[1]) or parse(*of)
    )
    assert templates.variables(text) == {"given", "of"}
    assert parsed == []
    assert templates.variables(f"{text}, {{{{ other }}}}") == {"given", "of", "other"}
    assert len(parsed) == 1


@pytest.mark.parametrize("keep", [0, 1, 8, 20, 40, 90])
def test_a_damaged_file_is_as_none(cache: Path, keep: int) -> None:
    text = "select {{ given }}, {{ other }}"
    rendered()
    templates.variables(text)
    for file in cache.iterdir():
        file.write_bytes(file.read_bytes()[:keep])
    _forget()
    assert rendered() == "select 2 as two"
    assert templates.variables(text) == {"given", "other"}


def test_a_folder_that_cannot_be_made_is_no_matter(cache: Path) -> None:
    cache.parent.write_text("a file, where a folder would be")
    assert rendered() == "select 2 as two"
    assert templates.variables("select {{ given }}") == {"given"}
