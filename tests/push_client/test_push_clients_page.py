"""docs/push-clients.md names what there is; tests/docs runs its examples."""

import re
from pathlib import Path

import pytest

from penstock import AsyncBrokerClient, BrokerClient, consumer
from penstock.client.push import errors
from penstock.consumers.metrics import ConsumerMetrics

pytestmark = pytest.mark.feature("Q-01", "P-10")

PAGE = Path(__file__).parents[2] / "docs" / "push-clients.md"


def test_both_clients_have_the_methods_of_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    table = text.partition("| `BrokerClient(")[2].partition("\n\n")[0]
    named = set(re.findall(r"`(\w+)\(", table)) | set(re.findall(r"^\| `(\w+)", table, re.MULTILINE))
    for client in (BrokerClient, AsyncBrokerClient):
        methods = {name for name in dir(client) if not name.startswith("_")}
        assert named <= methods | {"BrokerClient"}
        assert methods - named <= {"partition_count", "join", "acknowledge", "generation"}


def test_errors_and_metrics_of_the_page_exist() -> None:
    text = PAGE.read_text(encoding="utf-8")
    table = text.partition("### Errors")[2].partition("\n## ")[0]
    for name in re.findall(r"`([A-Z]\w+)`", table):
        assert issubclass(getattr(errors, name), errors.BrokerClientError)
    metrics = {family.name for family in ConsumerMetrics().families()}
    for name in ("calls", "messages", "failures", "retries", "dead_letters", "skipped", "seconds"):
        assert f"penstock_handler_{name}" in metrics
        assert name in text
    assert consumer.__kwdefaults__ is not None
    assert consumer.__kwdefaults__["credit"] == 100
