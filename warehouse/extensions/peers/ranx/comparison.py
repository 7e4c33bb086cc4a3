"""ranx's `compare`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from warehouse.errors import UsageError, check_several, check_word
from warehouse.extensions.peers.ranx.evaluation import PROTOCOL, canonical, check_queries
from warehouse.extensions.peers.ranx.lists import Qrels, Run
from warehouse.extensions.peers.ranx.report import TESTS, Report, Tested
from warehouse.extensions.peers.ranx.scratch import DATASET, names_of, warehouse


def compare(
    qrels: Qrels,
    runs: Sequence[Run],
    metrics: str | Iterable[str],
    stat_test: str = "student",
    n_permutations: int = 1000,
    max_p: float = 0.01,
    random_seed: int = 42,
    threads: int = 0,
    rounding_digits: int = 3,
    show_percentages: bool = False,
    make_comparable: bool = False,
) -> Report:
    """Evaluate several runs, test the differences between them, and return a `Report`.

    `stat_test` is "student" (paired t-test), "fisher" (randomisation test with `n_permutations` from
    `random_seed`) or "tukey" (Tukey's HSD, randomised over the queries with the same two numbers). As
    in ranx, no p is corrected for the number of tests. The other arguments are as in `evaluate`.

    >>> qrels = Qrels({q: {"a": 1} for q in "pqrs"})
    >>> one = Run({q: {"b": 2, "a": 1} for q in "pqrs"}, name="one")
    >>> two = Run({q: {"b": 1, "a": 2} for q in "pqr"} | {"s": {"b": 2, "a": 1}}, name="two")
    >>> print(compare(qrels, [one, two], "mrr", max_p=0.1))
    #    Model    MRR
    ---  -------  ------
    a    one      0.500
    b    two      0.875ᵃ
    """
    names = check_several("metrics", metrics)
    check_word("stat_test", stat_test, TESTS)
    if len(runs) < 2:
        raise UsageError("runs: give two or more to compare")
    models = names_of(runs)
    for model, run in zip(models, runs, strict=True):
        if make_comparable:
            run.make_comparable(qrels)
        check_queries(qrels.to_dict(), run.to_dict(), model)
    ours = canonical(names)
    with warehouse(runs, threads) as wh:
        wh.ingest_qrels(DATASET, qrels.to_dict())
        wh.evaluate(DATASET, metrics=names, protocol=PROTOCOL)
        found = wh.compare(
            DATASET, models, list(dict.fromkeys(ours.values())), all_pairs=True,
            test=TESTS[stat_test].ours, correction="none", alpha=max_p, resamples=n_permutations,
            seed=random_seed, judged=False, protocol=PROTOCOL,
        )  # fmt: skip
        tested = {
            (row.metric, row.base, row.run): Tested(row.p, row.wins, row.ties, row.losses)
            for row in found
        }
        means = {(row.metric, row.run): row.value for row in found.values}
    return Report(
        model_names=models,
        metrics=names,
        results={model: {name: means[ours[name], model] for name in names} for model in models},
        tested={
            (name, base, other): one
            for name in names
            for (metric, base, other), one in tested.items()
            if metric == ours[name]
        },
        max_p=max_p,
        rounding_digits=rounding_digits,
        show_percentages=show_percentages,
        stat_test=stat_test,
    )
