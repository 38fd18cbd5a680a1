"""Penstock gives the verdicts that Apache Kafka gave: every API under every set of rules."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.protocol.kafka.apis import APIS
from tests.acls.requests import REQUESTS
from tests.acls.rule_sets import RULE_SETS
from tests.acls.table import Verdicts, load, run
from tests.acls.world import AclWorld
from tests.fuzz.samples import API_NAMES

pytestmark = pytest.mark.feature("F-05", "F-20")

WITHOUT_RIGHTS = {
    "api_versions", "sasl_handshake", "sasl_authenticate", "get_telemetry_subscriptions", "push_telemetry",
}  # fmt: skip
"""APIs that ask for no right."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verdicts]:
    with AclWorld(tmp_path_factory.mktemp("verdicts") / "data") as world:
        yield run(world.client)


EXPECTED = load()


def test_every_api_has_a_row() -> None:
    assert {API_NAMES[key] for key in APIS} == {asked.api for asked in REQUESTS} | WITHOUT_RIGHTS
    assert {name: set(rows) for name, rows in EXPECTED.items()} == {asked.name: set(RULE_SETS) for asked in REQUESTS}
    assert sum(len(rows) for rows in EXPECTED.values()) > 3_000


@pytest.mark.parametrize("request_name", EXPECTED)
def test_verdicts_are_kafkas(found: Verdicts, request_name: str) -> None:
    expected = EXPECTED[request_name]
    different = {
        rules: {"kafka": expected[rules], "penstock": verdict}
        for rules, verdict in found[request_name].items()
        if verdict != expected[rules]
    }
    assert different == {}
