"""Words that hide who does what: how often each may stand in a part of the project.

Plain English names its subject: "those of the run" are its queries, "what is said of it" is its
description, and a "place" is a rank, a file, an index or a position. The numbers only fall.
`python tests/test_words.py` prints them as they are, in the form of `words.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MOST = Path(__file__).with_name("words.toml")
WORDS = ("what", "those of", "that of", "beside", "anew", "told", "said", "place")
# Where to look: code and SQL with its comments and messages, and the manual.
PARTS = {
    "code": (("warehouse",), (".py",)),
    "sql": (("sql", "warehouse", "migrations"), (".j2", ".sql")),
    "docs": (("docs",), (".md", ".py", ".toml")),
}

pytestmark = pytest.mark.skipif(
    not (ROOT / "docs").is_dir(), reason="the tests do not run from a checkout"
)


def texts(folders: tuple[str, ...], suffixes: tuple[str, ...]) -> Iterator[str]:
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*")):
        is_generated = "scripts" in path.parts or ("reference" in path.parts and "docs" in folders)
        if path.name.endswith(suffixes) and not is_generated:
            yield path.read_text(encoding="utf-8").lower()


def counts(part: str) -> dict[str, int]:
    """Count the words in a part, also as parts of names with underscores."""
    found: Counter[str] = Counter()
    for text in texts(*PARTS[part]):
        for word in WORDS:
            found[word] += len(re.findall(rf"(?<![a-z]){word}s?(?![a-z])", text))
    return {word: found[word] for word in WORDS}


@pytest.mark.parametrize("part", PARTS)
def test_no_word_stands_more_often(part: str) -> None:
    most = tomllib.loads(MOST.read_text(encoding="utf-8"))[part]
    assert {word: n for word, n in counts(part).items() if n > most[word]} == {}


if __name__ == "__main__":
    print("# How often words that hide the subject stand in a part of the project, at most.")
    for part in PARTS:
        print(f"\n[{part}]")
        print("\n".join(f'"{word}" = {number}' for word, number in counts(part).items()))
