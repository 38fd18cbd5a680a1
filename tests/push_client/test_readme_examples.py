"""The examples of the subscription broker's README, word for word but for the import."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import BrokerClient
from tests.push_client.conftest import CONFIG
from tests.support.command_line import heed_interrupts
from tests.support.fixtures import running
from tests.support.metrics_page import metric
from tests.support.penstock_process import PenstockProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("Q-01", "Q-02")

PUBLISHING = """
from client import BrokerClient

# Create client
client = BrokerClient(host='localhost', port=9999, client_id='publisher-1')
client.connect()

# Create a topic
client.create_topic('events')

# Publish messages
client.publish_text('events', 'Hello, World!')
client.publish_text('events', 'Another message', custom_property='value')

client.disconnect()
"""

SUBSCRIBING = """
from client import BrokerClient

def message_handler(message):
    print(f"Received: {message.body.decode('utf-8')}")

# Create client
client = BrokerClient(host='localhost', port=9999, client_id='subscriber-1')
client.connect()

# Create a subscription for the topic
client.create_subscription('my-consumer-group', 'events', start_offset=0)

# Join the subscription
client.subscribe_to_subscription('my-consumer-group', handler=message_handler)

# Keep running to receive messages
try:
    while True:
        time.sleep(1)
except KeyboardInterrupt:
    client.unsubscribe_from_subscription('my-consumer-group')
    client.disconnect()
"""

SHARING = """
# Subscriber 1
client1 = BrokerClient(client_id='subscriber-1')
client1.connect()
client1.subscribe_to_subscription('my-consumer-group', handler=message_handler)

# Subscriber 2 (joins same subscription)
client2 = BrokerClient(client_id='subscriber-2') 
client2.connect()
client2.subscribe_to_subscription('my-consumer-group', handler=message_handler)

# Messages will be distributed round-robin between subscriber-1 and subscriber-2
"""  # noqa: W291 - as it stands

BEFORE_SHARING = "\n".join(SUBSCRIBING.splitlines()[:5]).replace(
    """print(f"Received: {message.body.decode('utf-8')}")""",
    # Both threads print: each line in one piece, which `print` does not promise.
    r"import os, threading; os.write(1, b'%d %s\n' % (threading.get_ident(), message.body))",
)
AFTER_SHARING = "\nwhile True:\n    time.sleep(1)\n"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PenstockProcess]:
    """One that has no topic `events` yet."""
    for process in running(PenstockProcess(tmp_path_factory.mktemp("fresh"), CONFIG)):
        assert isinstance(process, PenstockProcess)
        yield process


@contextlib.contextmanager
def example(text: str, broker: PenstockProcess, directory: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """The process, and the file with what it prints."""
    script, output = directory / "example.py", directory / "output"
    script.write_text(text.replace("from client import", "from penstock import"))
    command = [sys.executable, "-u", "-m", "tests.push_client.redirected", broker.bootstrap, str(script)]
    with (
        output.open("wb") as out,
        subprocess.Popen(command, stdout=out, stderr=out, preexec_fn=heed_interrupts) as process,
    ):
        try:
            yield process, output
        finally:
            process.kill()


def test_the_examples_run_as_they_stand(fresh: PenstockProcess, tmp_path: Path) -> None:
    with example(PUBLISHING, fresh, tmp_path) as (process, output):
        assert process.wait(30) == 0, output.read_text()
    with example(SUBSCRIBING, fresh, tmp_path) as (process, output):
        expected = "Received: Hello, World!\nReceived: Another message\n"
        wait_until(lambda: output.read_text() == expected, what="both messages")
        # The handler's thread prints; the main thread may still be waiting for the answer to SUBSCRIBE.
        wait_until((tmp_path / "example.py.asleep").exists, what="the loop at the end of the example")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0, output.read_text()
        assert output.read_text() == expected
    with (
        BrokerClient(fresh.host, fresh.port) as client,
        example(BEFORE_SHARING + SHARING + AFTER_SHARING, fresh, tmp_path) as (process, output),
    ):
        client.create_subscription("my-consumer-group", "events")
        wait_until(lambda: metric(fresh, "penstock_push_members") == 2, what="both subscribers")
        for number in range(10):
            client.publish_text("events", str(number))
        wait_until(lambda: output.read_text().count("\n") == 10, what="ten messages")
        by_thread: dict[str, list[int]] = {}
        for line in output.read_text().splitlines():
            thread, told = line.split()
            by_thread.setdefault(thread, []).append(int(told))
        assert sorted(by_thread.values()) == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]
