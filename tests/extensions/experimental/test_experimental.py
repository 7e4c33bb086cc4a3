"""The experimental metrics against their twins, and the same bits with any number of threads."""

from __future__ import annotations

import random

import pytest
import test_recsys
from extended import oracles
from test_metric_properties import collection

from warehouse.warehouse import Warehouse

(TWINS,) = (module for module in oracles() if module.__name__ == "oracles_experimental")


@pytest.mark.sample(7, 3)
@pytest.mark.parametrize("seed", range(len(test_recsys.PROTOCOLS)))
def test_twins(seed: int) -> None:
    rng = random.Random(seed)
    test_recsys.compare(
        collection(rng, 20), test_recsys.surroundings(rng), test_recsys.PROTOCOLS[seed],
        depth=rng.choice([None, None, 3]), judged_only=rng.choice([False, False, True]),
        metrics=TWINS.METRICS, module=TWINS,
    )  # fmt: skip


@pytest.mark.slow
def test_the_same_bits_with_any_number_of_threads() -> None:
    (qrels, run) = collection(random.Random(5))
    world = test_recsys.surroundings(random.Random(6))
    rows = [
        Warehouse.score(
            qrels, run, TWINS.METRICS, threads=threads, attributes=[world.attributes]
        ).relation.fetchall()
        for threads in (1, 2, 4)
    ]
    assert rows[0] == rows[1] == rows[2]
