"""Compiled templates are kept between processes: that is quicker, and never anything else."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from pathlib import Path

import jinja2
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


def test_a_template_that_was_changed_is_compiled_again(cache: Path) -> None:
    for text in ("select 1", "select 2", "select 1"):
        _forget()
        env = templates.environment()
        env.loader = jinja2.DictLoader({"one": text})
        assert env.get_template("one").render() == text


def kept_in(cache: Path) -> Path:
    """Return the file of the text, once it is compiled."""
    rendered()
    return cache / templates._kept().get_cache_key(templates._digest(TEXT))


def is_kept(text: str = TEXT) -> bool:
    """Whether a text is found without being compiled."""
    _forget()
    templates.environment()
    compiled: list[str] = []
    env = type(templates.environment())
    compile_it = env.compile
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(env, "compile", lambda *of: compiled.append(of[1]) or compile_it(*of))
        assert rendered(text) == "select 2 as two"
    return not compiled


def test_what_others_could_have_written_is_not_used(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = kept_in(cache)
    assert is_kept()
    assert {path.stat().st_mode & 0o777 for path in cache.iterdir()} == {0o600}
    for place, wrong, right in ((cache, 0o770, 0o700), (cache, 0o702, 0o700), (kept, 0o620, 0o600)):
        place.chmod(wrong)
        assert not is_kept(), (place, wrong)
        (cache / kept.name).chmod(0o600)
        place.chmod(right)
        assert is_kept()
    monkeypatch.setattr(os, "geteuid", lambda: kept.stat().st_uid + 1)
    assert not is_kept()
    monkeypatch.undo()


def test_a_link_to_another_file_is_not_used(cache: Path) -> None:
    kept = kept_in(cache)
    elsewhere = kept.rename(cache.parent / "elsewhere")
    kept.symlink_to(elsewhere)
    assert not is_kept()


def test_no_relative_folder_and_no_pickle(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = kept_in(cache)
    kept.write_bytes(pickle.dumps("anything"))
    _forget()
    assert rendered() == "select 2 as two"
    monkeypatch.chdir(cache.parents[1])
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(cache.parents[1] / "home"))
    _forget()
    assert rendered() == "select 2 as two"
    assert not Path("relative").exists()
    assert (Path("home") / ".cache" / "ranking-warehouse" / "templates" / kept.name).exists()
    monkeypatch.setenv("HOME", "home")
    _forget()
    assert rendered() == "select 2 as two"
