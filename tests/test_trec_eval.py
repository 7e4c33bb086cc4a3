"""`warehouse trec-eval` against trec_eval."""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance import PROTOCOLS, SUITE, suite_file
from projects import command
from shared_cases import needs_cases
from test_golden_suite import ZSCORES

pytestmark = pytest.mark.slow

COMMANDS = [
    (version, *line.split("\t"))
    for version in PROTOCOLS
    for line in (SUITE / "commands.tsv").read_text(encoding="utf-8").splitlines()[1:]
    if version == "10.0" or "comment" not in line  # which 9 does not know
] if SUITE.exists() else []  # fmt: skip


@needs_cases
@pytest.mark.sample(3, 3)
@pytest.mark.parametrize(("version", "expected", "options", "qrels", "run"), COMMANDS)
def test_trec_eval_prints_the_same_bytes(
    version: str, expected: str, options: str, qrels: str, run: str
) -> None:
    """The commands of trec_eval's `make quicktest`, of either release."""
    words = options.replace("zscores_file", str(suite_file(ZSCORES[version]))).split()
    files = (str(suite_file(qrels)), str(suite_file(run)))
    release = version.partition(".")[0]
    code, printed, problem = command("trec-eval", "--release", release, *words, *files)
    assert code == 0, problem
    assert printed == (SUITE / "upstream_golden" / version / expected).read_text(encoding="utf-8")


def test_trec_eval_gives_its_exit_codes(tmp_path: Path) -> None:
    """Those that trec_eval 9.0.8 gave for the same calls; its words are not repeated."""
    files = {
        "qrels": "q 0 a 1\nq 0 b 0\n",
        "run": "q Q0 a 1 2.0 tag\nq Q0 b 2 1.0 tag\n",
        "twice": "q Q0 a 1 2.0 tag\nq Q0 a 2 1.0 tag\n",
        "short": "q Q0 a\n",
        "others": "p Q0 a 1 2.0 tag\n",
        "empty": "",
        "blank": "\n\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for code, words in (
        (0, "-m map -n qrels run"), (0, "-v"), (0, "-h"), (0, "--measure=map qrels run -q"),
        (1, "qrels"), (1, "-x qrels run"), (1, "-m nothing qrels run"), (1, "-m P. qrels run"),
        (1, "-l qrels run"), (2, "-m P.5,5 qrels run"), (2, "-m ndcg.x qrels run"),
        (2, "qrels missing"), (2, "missing run"), (2, "qrels short"), (2, "short run"),
        (2, "-R other qrels run"), (2, "-T other qrels run"), (4, "qrels twice"),
        (7, "qrels others"), (255, "-Z missing qrels run"), (7, "-c qrels others"),
        (2, "qrels empty"), (2, "-c qrels empty"), (7, "-c qrels blank"),
    ):  # fmt: skip
        given = [
            str(tmp_path / word) if word in {*files, "missing"} else word for word in words.split()
        ]
        found, printed, problem = command("trec-eval", *given)
        assert found == code, (words, problem)
        assert bool(printed) == (code == 0 and words not in ("-m map -n qrels run", "-v"))
    # trec_eval 10.0 with -c scores judged queries that the results do not have
    zeros = "num_q                 \tall\t1\nmap                   \tall\t0.0000\n"
    for code, run, expected in ((0, "others", zeros), (0, "blank", zeros), (2, "empty", "")):
        given = ("--release", "10", "-c", "-m", "num_q", "-m", "map", "qrels", run)
        found, printed, _ = command(
            "trec-eval", *(str(tmp_path / word) if word in files else word for word in given)
        )
        assert (found, printed) == (code, expected)
