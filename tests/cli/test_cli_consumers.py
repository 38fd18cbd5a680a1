"""`penstock consumers run`: handlers in a process of their own, and in the process of a broker."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import textwrap
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import BrokerClient
from penstock.model.limits import METRICS_CONNECTIONS_MAX
from tests.doors.crowd import is_closed
from tests.support.broker_process import free_port
from tests.support.command_line import CommandLine
from tests.support.http_client import ask
from tests.support.metrics_page import metric_sum
from tests.support.penstock_process import PenstockProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("P-10")

MODULE = """
import pathlib, time
from pydantic import BaseModel
from penstock import consumer, message_handler, retry_policy

OUT = pathlib.Path(__file__).with_name("out")

class Order(BaseModel):
    number: int

@consumer(topic="TOPIC", group="GROUP")
@retry_policy(attempts=2, initial=0.01)
class Orders:
    @message_handler
    def handle(self, order: Order) -> None:
        if order.number == 3:
            raise ValueError("three is not for sale")
        if order.number == 100:
            time.sleep(SLEEP)
        with OUT.open("a") as out:
            out.write(f"{order.number}\\n")
"""


def write_module(directory: Path, topic: str, sleep_s: float = 0) -> Path:
    path = directory / "orders.py"
    text = MODULE.replace("TOPIC", topic).replace("GROUP", "of-" + topic).replace("SLEEP", str(sleep_s))
    path.write_text(textwrap.dedent(text))
    return path


def handled(module: Path) -> list[int]:
    out = module.with_name("out")
    return [int(line) for line in out.read_text().split()] if out.exists() else []


@contextlib.contextmanager
def started(*args: object, directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    command = [sys.executable, "-m", "penstock", "consumers", "run", *map(str, args)]
    with (
        (directory / "log").open("wb") as log,
        subprocess.Popen(command, cwd=directory, env=environ, stdout=log, stderr=log) as process,
    ):
        try:
            yield process
        finally:
            process.kill()


def publish(node: PenstockProcess, topic: str, *numbers: int) -> None:
    with BrokerClient(node.host, node.port) as client:
        client.create_topic(topic)
        for number in numbers:
            client.publish(topic, f'{{"number": {number}}}')


def test_a_process_of_their_own_with_metrics_and_an_orderly_end(
    node: PenstockProcess, name: str, tmp_path: Path
) -> None:
    publish(node, name, 1, 2, 3, 4)
    module, port = write_module(tmp_path, name), free_port()
    with started("orders", "--broker", node.bootstrap, "--metrics-port", port, directory=tmp_path) as process:
        wait_until(lambda: handled(module) == [1, 2, 4], what="the orders")
        wait_until(lambda: _value(_page(port), "penstock_handler_dead_letters_total") == 1, what="the dead letter")
        page = _page(port)
        assert _value(page, "penstock_handler_messages_total") == 3
        assert _value(page, "penstock_handler_calls_total") == 5
        assert _value(page, "penstock_handler_failures_total") == 2
        assert _value(page, "penstock_handler_retries_total") == 1
        assert _value(page, "penstock_handler_seconds_count") == 5
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0, (tmp_path / "log").read_text()


def test_the_metrics_page_is_guarded_as_other_http_ports_are(node: PenstockProcess, name: str, tmp_path: Path) -> None:
    publish(node, name)
    module, port = write_module(tmp_path, name), free_port()
    with contextlib.ExitStack() as stack:
        stack.enter_context(started(module, "--broker", node.bootstrap, "--metrics-port", port, directory=tmp_path))
        wait_until(lambda: _page(port), what="the page")
        url = f"http://127.0.0.1:{port}"
        foreign = ask(f"{url}/metrics", Host="evil.example")  # a page whose name was rebound to this machine
        assert (foreign.status, foreign.is_problem) == (421, True)
        assert foreign.json["detail"].endswith("use its address")
        assert foreign.headers["X-Content-Type-Options"] == "nosniff"
        assert [ask(f"{url}{path}").status for path in ("/", "/health/ready", "/docs")] == [404] * 3
        assert ask(f"{url}/metrics", "POST").status == 405
        silent = [stack.enter_context(socket.create_connection(("127.0.0.1", port), 10))]
        silent[0].sendall(b"GET /metrics HTTP/1.1\r\nHost")
        for _ in range(METRICS_CONNECTIONS_MAX):
            silent.append(stack.enter_context(socket.create_connection(("127.0.0.1", port), 10)))
        wait_until(lambda: is_closed(silent[0]), what="the oldest connection without a request gives way")
        assert ask(f"{url}/metrics").status == 200


def test_a_metrics_port_in_use_is_named_with_the_remedy(
    alone: CommandLine, name: str, tmp_path: Path, node: PenstockProcess
) -> None:
    told = alone("consumers", "run", write_module(tmp_path, name), "--metrics-port", node.http_port, code=1).err
    assert "choose another port with --metrics-port" in told


def test_a_stop_lets_a_slow_handler_finish(node: PenstockProcess, name: str, tmp_path: Path) -> None:
    publish(node, name, 100, 5)
    module = write_module(tmp_path, name, sleep_s=1.5)
    (tmp_path / "out").touch()
    with started(module, "--broker", node.bootstrap, directory=tmp_path) as process:
        wait_until(lambda: b"consuming" in (tmp_path / "log").read_bytes(), what="the start")
        wait_until(lambda: _lag(node, name) == 2, what="the delivery")
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    assert handled(module) in ([100], [])
    done = len(handled(module))
    wait_until(lambda: _lag(node, name) == 2 - done, what="the acknowledgement")


def test_in_the_process_of_the_broker(tmp_path: Path, name: str) -> None:
    """A handler that blocks does not stop the broker from serving."""
    module = write_module(tmp_path, name, sleep_s=2)
    config = f"groups:\n  initial_rebalance_delay_ms: 0\nconsumers:\n  modules: [{module}]\n"
    broker = PenstockProcess(tmp_path / "broker", config)
    broker.prepare()
    broker.start()
    try:
        publish(broker, name, 100, 3, 7)  # the topic comes after the consumer
        wait_until(lambda: handled(module) == [100, 7], what="the orders", within_s=30)
        wait_until(
            lambda: metric_sum(broker, "penstock_handler_dead_letters_total", f'topic="{name}"') == 1, what="the metric"
        )
        assert metric_sum(broker, "penstock_handler_messages_total", f'topic="{name}"') == 2
        publish(broker, name, 8)
        wait_until(lambda: handled(module) == [100, 7, 8], what="one more")
    finally:
        broker.stop()
    broker.start()  # what was acknowledged does not come again
    publish(broker, name, 9)
    wait_until(lambda: handled(module)[-1:] == [9], what="the order after the restart")
    broker.stop()
    assert handled(module) == [100, 7, 8, 9]


def test_serve_runs_both(tmp_path: Path, name: str) -> None:
    module, kafka_port, http_port = write_module(tmp_path, name), free_port(), free_port()
    ports = ("--kafka-port", kafka_port, "--http-port", http_port, "--set", f"push.port={free_port()}")
    with started(module, "--serve", "--data-dir", tmp_path / "data", *ports, directory=tmp_path) as process:

        def can_publish() -> bool:
            try:
                with BrokerClient("127.0.0.1", kafka_port) as client:
                    client.create_topic(name)
                    client.publish(name, '{"number": 1}')
            except Exception:
                return False
            return True

        wait_until(can_publish, what="the broker", within_s=30)
        wait_until(lambda: handled(module)[:1] == [1], what="the order")
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0, (tmp_path / "log").read_text()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = 1", "has no consumers"),
        ("from penstock import consumer\n@consumer(topic='t', group='g')\ndef f(x: int): ...", "cannot decode a body"),
        ("from penstock import consumer\n@consumer(topic='t', group='g')\nclass C: ...", "has no handler"),
    ],
)
def test_modules_that_cannot_be_run(alone: CommandLine, tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(text)
    assert told in alone("consumers", "run", path, code=2).err
    flags = ("--data-dir", tmp_path / "data", "--kafka-port", 0, "--http-port", 0)
    assert told in alone("consumers", "run", path, "--serve", *flags, code=1).err
    assert not (tmp_path / "data").exists()


def test_what_else_is_wrong(alone: CommandLine, node: PenstockProcess, name: str, tmp_path: Path) -> None:
    module = write_module(tmp_path, name)
    assert "no broker at" in alone("consumers", "run", module, "--broker", f"127.0.0.1:{free_port()}", code=3).err
    assert name in alone("consumers", "run", module, "--broker", node.bootstrap, code=4).err
    assert "there is no module" in alone("consumers", "run", "no_such_module", code=2).err
    assert "write host:port" in alone("consumers", "run", module, "--broker", "nonsense", code=2).err
    assert "--serve" in alone("consumers", "run", module, "--data-dir", tmp_path, code=2).err


def _page(port: int) -> str:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as page:
            text: str = page.read().decode()
            return text
    except OSError:
        return ""


def _value(page: str, name: str) -> float:
    return sum(float(line.split()[-1]) for line in page.splitlines() if line.startswith(f"{name}{{"))


def _lag(node: PenstockProcess, topic: str) -> float:
    return metric_sum(node, "penstock_consumer_lag", f'topic="{topic}"')
