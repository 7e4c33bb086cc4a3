"""Comparisons of runs that are kept: how the runs were compared, and what came of each pair."""

from __future__ import annotations

from alembic import op

revision = "0008"
down_revision = "0007"

# table: (comment, column: (type, comment))
TABLES: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {
    "comparison": (
        "One row per comparison that was kept ('warehouse compare --store').",
        {
            "comparison_id": ("integer not null", "Number of the comparison."),
            "dataset_id": ("integer not null", "The dataset."),
            "qrels_id": (
                "integer not null",
                "The version of the qrels that the values are against.",
            ),
            "protocol": ("varchar not null", "The protocol of the values."),
            "judged_only": (
                "boolean not null",
                "Whether unjudged documents were taken out of the lists; the values are not stored then.",
            ),
            "test": ("varchar not null", "t, wilcoxon, sign, randomisation or tukey; two-sided."),
            "correction": ("varchar not null", "holm, bonferroni, bh or none, over all its pairs."),
            "alpha": ("double not null", "Significant is an adjusted p below this."),
            "interval": ("varchar not null", "t or bootstrap, at the level 1 - alpha."),
            "resamples": ("integer", "Permutations or samples; null where nothing is resampled."),
            "seed": ("bigint", "Where random numbers start; null where nothing is resampled."),
            "compared_at": ("timestamptz not null", "When it was computed."),
            "program_version": ("varchar not null", "Version of this program that computed it."),
            "engine_version": ("varchar not null", "Version of DuckDB that computed it."),
        },
    ),
    "comparison_pair": (
        "One row per comparison, metric and pair of runs.",
        {
            "comparison_id": ("integer not null", "The comparison."),
            "metric": ("varchar not null", "The metric in canonical notation."),
            "base_id": ("integer not null", "The run that the other is held against."),
            "run_id": ("integer not null", "The run."),
            "base_value": ("double", "The base's value over all queries."),
            "value": ("double", "The run's value over all queries."),
            "difference": (
                "double",
                "Mean over the queries that both have a value of: the run's value less the base's.",
            ),
            "low": ("double", "Where the interval of the difference begins."),
            "high": ("double", "Where the interval of the difference ends."),
            "effect_size": (
                "double",
                "The difference over its standard deviation (Cohen's d of pairs).",
            ),
            "wins": ("integer not null", "Queries in which the run is better."),
            "ties": ("integer not null", "Queries in which the values are equal."),
            "losses": ("integer not null", "Queries in which the base is better."),
            "queries": ("integer not null", "Queries that both have a value of."),
            "left_out": (
                "integer not null",
                "Queries that are undefined or missing for one of them.",
            ),
            "statistic": ("double", "The test's statistic, where it has one."),
            "p": ("double", "How likely a difference at least as large is by chance."),
            "p_adjusted": ("double", "p corrected for all pairs of the comparison."),
            "is_significant": ("boolean", "Whether the adjusted p is below alpha."),
        },
    ),
}
VIEW = "comparisons"
VIEW_COMMENT = (
    "One row per comparison that was kept, metric and pair of runs: the values, their difference and how sure "
    "it is."
)
QUERY = """
select
    comparison.comparison_id,
    dataset.name as dataset,
    comparison_pair.metric,
    comparison.protocol,
    qrels.version as qrels_version,
    base.name as base,
    base.version as base_version,
    run.name as run,
    run.version as run_version,
    comparison_pair.base_value,
    comparison_pair.value,
    comparison_pair.difference,
    comparison_pair.low,
    comparison_pair.high,
    comparison_pair.effect_size,
    comparison_pair.wins,
    comparison_pair.ties,
    comparison_pair.losses,
    comparison_pair.queries,
    comparison_pair.left_out,
    comparison.test,
    comparison.correction,
    comparison_pair.statistic,
    comparison_pair.p,
    comparison_pair.p_adjusted,
    comparison_pair.is_significant,
    comparison.alpha,
    comparison.judged_only,
    comparison.compared_at
from comparison_pair
join comparison using (comparison_id)
join dataset using (dataset_id)
join qrels using (qrels_id)
join run using (run_id)
join run as base on base.run_id = comparison_pair.base_id
"""
NAMES: dict[str, str] = {
    "dataset": "Name of the dataset.",
    "qrels_version": "Version of the qrels.",
    "base": "Name of the run that the other is held against.",
    "base_version": "Version of the base.",
    "run": "Name of the run.",
    "run_version": "Version of the run.",
}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def upgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    meanings = dict(NAMES)
    for table, (comment, columns) in TABLES.items():
        body = ", ".join(f'"{name}" {kind}' for name, (kind, _) in columns.items())
        execute(f'create table "{table}" ({body})')
        execute(f'comment on table "{table}" is {_quoted(comment)}')
        for name, (_, meaning) in columns.items():
            execute(f'comment on column "{table}"."{name}" is {_quoted(meaning)}')
            meanings.setdefault(name, meaning)
    execute(f'create view "{VIEW}" as {QUERY}')
    execute(f'comment on view "{VIEW}" is {_quoted(VIEW_COMMENT)}')
    for name, *_ in execute(f'describe "{VIEW}"').fetchall():
        execute(f'comment on column "{VIEW}"."{name}" is {_quoted(meanings[str(name)])}')


def downgrade() -> None:
    execute = op.get_bind().exec_driver_sql
    execute(f'drop view "{VIEW}"')
    for table in reversed(TABLES):
        execute(f'drop table "{table}"')
