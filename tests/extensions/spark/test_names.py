"""The name of the engine, which needs no Spark."""

from __future__ import annotations

from refusals import expect_refusal

from warehouse import Warehouse
from warehouse.errors import UsageError


def test_a_wrong_name_gets_the_nearest() -> None:
    run = {"q": {"a": 1.0}}
    with expect_refusal("sprak … spark", UsageError):
        Warehouse.score({"q": {"a": 1}}, [run, run], "RR", engine="sprak")
