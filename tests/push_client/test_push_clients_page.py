"""docs/push-clients.md: its examples run, and it names what there is."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from penstock import AsyncBrokerClient, BrokerClient, consumer
from penstock.client.push import errors
from penstock.consumers.metrics import ConsumerMetrics
from tests.push_client.test_readme_examples import example
from tests.support.penstock_process import PenstockProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("Q-01", "P-10")

PAGE = Path(__file__).parents[2] / "docs" / "push-clients.md"


def blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def test_the_examples_of_the_clients_run(node: PenstockProcess, tmp_path: Path) -> None:
    publishing, subscribing, framework, asynchronous = (blocks()[index] for index in (0, 1, 3, 2))
    assert framework.startswith("# prices.py")
    # The client begins at a partition of its own.
    for text, told in ((publishing, r"[01] 0\n"), (subscribing, r"b'187\.20'"), (asynchronous, "")):
        with example(text, node, tmp_path) as (process, output):
            assert process.wait(30) == 0, output.read_text()
            assert re.search(told, output.read_text())
    with BrokerClient(node.host, node.port) as client:
        assert client.partition_count("quotes") == 1


def test_the_example_of_the_framework_runs(node: PenstockProcess, client: BrokerClient, tmp_path: Path) -> None:
    (tmp_path / "prices.py").write_text(blocks()[3])
    client.create_topic("prices")
    client.publish("prices", '{"symbol": "AAPL", "price": 187.2}')
    client.publish("prices", "{}")
    output = tmp_path / "output"
    command = [sys.executable, "-u", "-m", "penstock", "consumers", "run", "prices", "--broker", node.bootstrap]
    with output.open("wb") as out, subprocess.Popen(command, cwd=tmp_path, stdout=out, stderr=out) as process:
        try:
            for told in ("AAPL 187.2", "prices\n", "given up: <Message prices-0@1", "Field required"):
                wait_until(lambda told=told: told in output.read_text(), what=told)  # type: ignore[misc]
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0, output.read_text()
        finally:
            process.kill()


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
