"""ranx's `Report`: the outcome of `compare` as a table, LaTeX, a dict or a data frame."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tabulate import tabulate

from warehouse.analyze.comparison import letter
from warehouse.config import installation
from warehouse.errors import UsageError

_LABELS = {
    "hits": "Hits", "hit_rate": "Hit Rate", "precision": "P", "recall": "Recall", "f1": "F1",
    "r-precision": "R-Prec", "mrr": "MRR", "map": "MAP", "dcg": "DCG", "dcg_burges": "DCG Burges",
    "ndcg": "NDCG", "ndcg_burges": "NDCG Burges", "bpref": "BPref", "rbp": "RBP",
}  # fmt: skip
_RAISED = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖ۹ʳˢᵗᵘᵛʷˣʸᶻ")


class Test(NamedTuple):
    """A test of significance: its name here, and its name for people."""

    ours: str
    label: str


TESTS = {
    "student": Test("t", "paired Student's t-test"),
    "fisher": Test("randomisation", "Fisher's randomization test"),
    "tukey": Test("tukey", "Tukey's HSD test"),
}


class Tested(NamedTuple):
    """A pair of runs on one metric; wins are queries on which the second is better."""

    p: float | None
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True)
class Report:
    """Runs compared with each other.

    `results` has the mean of each metric by run, `tested` each pair of runs by `(metric, one, other)`.
    `print(report)` shows a table in which the letters next to a value say which runs it is significantly
    better than.
    """

    model_names: Sequence[str]
    metrics: Sequence[str]
    results: Mapping[str, Mapping[str, float]]
    tested: Mapping[tuple[str, str, str], Tested]
    max_p: float
    rounding_digits: int = 3
    show_percentages: bool = False
    stat_test: str = "student"

    def p_value(self, metric: str, one: str, other: str) -> float | None:
        """Return the p of a pair, None if no query differs."""
        pair = self.tested.get((metric, one, other)) or self.tested[metric, other, one]
        return pair.p

    def win_tie_loss(self, metric: str, one: str, other: str) -> dict[str, int]:
        """Return on how many queries the first of two runs is better, equal and worse."""
        pair = self.tested.get((metric, other, one))
        if pair is not None:
            return {"W": pair.wins, "T": pair.ties, "L": pair.losses}
        pair = self.tested[metric, one, other]
        return {"W": pair.losses, "T": pair.ties, "L": pair.wins}

    def format_score(self, score: float) -> str:
        """Return a mean as it is shown."""
        if self.show_percentages:
            return f"{100 * score:.{max(0, self.rounding_digits - 2)}f}"
        return f"{score:.{self.rounding_digits}f}"

    def get_metric_label(self, m: str) -> str:
        """Return the heading of a metric.

        >>> Report([], [], {}, {}, 0.01).get_metric_label("map@100-l2")
        'MAP@100-l2'
        """
        stem = next(
            (name for name in sorted(_LABELS, key=len, reverse=True) if m.startswith(name)), ""
        )
        return _LABELS.get(stem, "") + m[len(stem) :]

    def get_stat_test_label(self, stat_test: str) -> str:
        """Return the name of a test for people."""
        return TESTS[stat_test].label

    def get_superscript_for_table(self, model: str, metric: str) -> str:
        """Return the raised letters of the runs that a run is significantly better than."""
        return self._worse(model, metric).translate(_RAISED)

    def get_superscript_for_latex(self, model: str, metric: str) -> str:
        """Return the letters of the runs that a run is significantly better than."""
        return self._worse(model, metric)

    def to_table(self) -> str:
        """Return the table as text."""
        rows = [
            [letter(number), model]
            + [
                self.format_score(self.results[model][metric])
                + self.get_superscript_for_table(model, metric)
                for metric in self.metrics
            ]
            for number, model in enumerate(self.model_names)
        ]
        headers = ["#", "Model", *map(self.get_metric_label, self.metrics)]
        return str(tabulate(rows, headers=headers, disable_numparse=True))

    def to_latex(self) -> str:
        """Return the table for LaTeX with booktabs, the best value of each metric in bold."""
        best = {
            metric: max(
                self.format_score(self.results[model][metric]) for model in self.model_names
            )
            for metric in self.metrics
        }
        lines = [
            "% Add in preamble: \\usepackage{booktabs}",
            "\\begin{table*}[ht]",
            "\\centering",
            "\\caption{Overall effectiveness of the models. The best results are in boldface. "
            "Superscripts denote significant differences in "
            f"{self.get_stat_test_label(self.stat_test)} with $p \\le {self.max_p}$.}}",
            f"\\begin{{tabular}}{{c|l{'|c' * len(self.metrics)}}}",
            "\\toprule",
            " & ".join(
                f"\\textbf{{{_latex(head)}}}"
                for head in ("#", "Model", *map(self.get_metric_label, self.metrics))
            )
            + " \\\\",
            "\\midrule",
        ]
        for number, model in enumerate(self.model_names):
            cells = [letter(number), _latex(model)]
            for metric in self.metrics:
                shown = self.format_score(self.results[model][metric])
                bold = f"\\textbf{{{shown}}}" if shown == best[metric] else shown
                raised = self._worse(model, metric)
                cells.append(bold + (f"$^{{{raised}}}$" if raised else ""))
            lines.append(" & ".join(cells) + " \\\\")
        lines += ["\\bottomrule", "\\end{tabular}", "\\label{tab:results}", "\\end{table*}"]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a dict: of each model `scores`, `comparisons` and `win_tie_loss`."""
        found: dict[str, Any] = {
            "stat_test": self.stat_test,
            "metrics": list(self.metrics),
            "model_names": list(self.model_names),
        }
        for one in self.model_names:
            others = [other for other in self.model_names if other != one]
            found[one] = {
                "scores": dict(self.results[one]),
                "comparisons": {
                    other: {metric: self.p_value(metric, one, other) for metric in self.metrics}
                    for other in others
                },
                "win_tie_loss": {
                    other: {
                        metric: self.win_tie_loss(metric, one, other) for metric in self.metrics
                    }
                    for other in others
                },
            }
        return found

    def to_dataframe(self) -> Any:
        """Return the means as a data frame of pandas: `model_names` and a column for each metric."""
        try:
            import pandas as pd
        except ImportError:
            raise UsageError(
                f"to_dataframe: needs pandas: {installation.adding('pandas')}"
            ) from None
        rows = [{"model_names": model, **self.results[model]} for model in self.model_names]
        return pd.DataFrame(rows, columns=["model_names", *self.metrics])

    def save(self, path: str) -> None:
        """Write `to_dict` as JSON."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=4), encoding="utf-8")

    def print_results(self) -> None:
        """Print the means as JSON."""
        print(json.dumps({model: dict(of) for model, of in self.results.items()}, indent=4))

    def __str__(self) -> str:
        return self.to_table()

    def _worse(self, model: str, metric: str) -> str:
        """Return the letters of the runs that a run is significantly better than."""
        letters = []
        for number, other in enumerate(self.model_names):
            if other != model and self.results[model][metric] > self.results[other][metric]:
                p = self.p_value(metric, model, other)
                if p is not None and p <= self.max_p:
                    letters.append(letter(number))
        return "".join(letters)


def _latex(text: str) -> str:
    """Return a text with the special characters of LaTeX escaped."""
    for special in "\\_#&%$":
        text = text.replace(special, "\\textbackslash{}" if special == "\\" else f"\\{special}")
    return text
