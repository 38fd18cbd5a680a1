"""kill -9 in the middle of publishing and delivery: nothing lost, nothing stored twice, nothing acknowledged again."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

import pytest

from penstock.protocol.push import messages as m
from penstock.protocol.push.data import AckData, AckRange
from tests.support.penstock_process import PenstockProcess
from tests.support.push_client import PushClient, PushRefused

pytestmark = pytest.mark.feature("Q-05", "P-08", "P-09")

TOPIC, GROUP = "orders", "shop"
SETTLED_S = 1.0
"""An ACK that the broker had so long before the kill has been written, however busy the machine is."""
LATER = (14, 15, 16)  # the group's log is being loaded
CONFIG = """\
groups:
  initial_rebalance_delay_ms: 0
push:
  ack_timeout_ms: 2000
  deliveries_max: 1000
"""


class Publisher(threading.Thread):
    """One message after the other, each until it is answered."""

    def __init__(self, node: PenstockProcess, name: str) -> None:
        super().__init__(daemon=True)
        self._node = node
        self._name = name
        self.acked: dict[bytes, int] = {}
        self.stopping = threading.Event()

    def run(self) -> None:
        sequence, window = 0, 4
        while not self.stopping.is_set():
            try:
                with PushClient(self._node.push_port, timeout_s=5) as client:
                    while not self.stopping.is_set():
                        sequence = self._publish(client, sequence, window)
            except (OSError, AssertionError):
                time.sleep(0.05)

    def _publish(self, client: PushClient, sequence: int, window: int) -> int:
        """Some at once; after a crash all of them are sent again."""
        bodies = [f"{self._name}-{number}".encode() for number in range(sequence, sequence + window)]
        for index, body in enumerate(bodies):
            client.send(m.Publish(self._name, 1, sequence + index, TOPIC, 0, None, body), index + 1)
        answers: dict[int, int] = {}
        while len(answers) < window:
            frame = client.next_frame()
            answer = m.decode(frame)
            if isinstance(answer, m.PublishAck):
                answers[frame.message_id] = answer.offset
            elif isinstance(answer, m.Error):
                raise OSError(answer.message)
        for index, body in enumerate(bodies):
            offset = answers[index + 1]
            assert self.acked.setdefault(body, offset) == offset
        return sequence + window


class Subscriber(threading.Thread):
    """Acknowledges most of what it gets, in no order; notes when."""

    def __init__(self, node: PenstockProcess, seed: int) -> None:
        super().__init__(daemon=True)
        self._node = node
        self._chance = random.Random(seed)
        self.acked_at: dict[int, float] = {}
        self.received: list[tuple[float, int]] = []
        self.stopping = threading.Event()

    def run(self) -> None:
        while not self.stopping.is_set():
            try:
                with PushClient(self._node.push_port, timeout_s=1) as client:
                    client.ask(m.Subscribe("", TOPIC, GROUP, credit=50))
                    while not self.stopping.is_set():
                        self._take(client)
            except (OSError, AssertionError, PushRefused):
                time.sleep(0.05)

    def _take(self, client: PushClient) -> None:
        try:
            data = client.receive(0.2)
        except TimeoutError:
            return
        if isinstance(data, m.Disconnect | m.Error):
            raise OSError("told to go")
        now = time.monotonic()
        chosen = [item for item in data.items if self._chance.random() < 0.9]
        self._chance.shuffle(chosen)
        self.received += [(now, item.offset) for item in data.items]
        client.send(AckData(GROUP, tuple(AckRange(0, item.offset, item.offset) for item in chosen)))
        client.ask(m.CreateTopic(TOPIC, 0))  # its answer says that the broker has seen the ACK before it
        for item in chosen:
            self.acked_at.setdefault(item.offset, time.monotonic())


def run(directory: Path, kills: int) -> None:
    node = PenstockProcess(directory, CONFIG)
    node.prepare()
    node.start()
    with PushClient(node.push_port) as client:
        client.ask(m.CreateTopic(TOPIC, 1))
    publishers = [Publisher(node, f"p{number}") for number in range(2)]
    subscribers = [Subscriber(node, seed) for seed in range(2)]
    workers: list[Publisher | Subscriber] = [*publishers, *subscribers]
    killed_at = []
    try:
        for worker in workers:
            worker.start()
        for _ in range(kills):
            time.sleep(2.0 + random.random())
            node.kill9()
            killed_at.append(time.monotonic())
            node.start()
        time.sleep(1.0)
        for worker in workers:
            worker.stopping.set()
            worker.join(20)
        acked = {body: offset for publisher in publishers for body, offset in publisher.acked.items()}
        check_log(node, acked)
        check_deliveries(subscribers, acked, killed_at)
    finally:
        for worker in workers:
            worker.stopping.set()
            worker.join(10)
        node.kill9()


def check_log(node: PenstockProcess, acked: dict[bytes, int]) -> None:
    assert len(acked) > 100, "too little happened to prove anything"
    stored: list[bytes] = []
    with PushClient(node.push_port) as client:
        client.ask(m.Subscribe("", TOPIC, "auditor", credit=1000, messages_per_frame=100))
        while True:
            try:
                data = client.data(2.0)
            except TimeoutError:
                break
            client.acknowledge(data)
            stored += [item.body or b"" for item in data.items]
    assert len(stored) == len(set(stored)), "a message is stored twice"
    for body, offset in acked.items():
        assert stored[offset] == body, "what was acknowledged is not where it was said to be"


def check_deliveries(subscribers: list[Subscriber], acked: dict[bytes, int], killed_at: list[float]) -> None:
    acked_at: dict[int, float] = {}
    for subscriber in subscribers:
        for offset, moment in subscriber.acked_at.items():
            acked_at[offset] = min(moment, acked_at.get(offset, moment))
    for subscriber in subscribers:
        for moment, offset in subscriber.received:
            first = acked_at.get(offset)
            if first is None or moment <= first:
                continue
            near = any(first > kill - SETTLED_S and first < kill + 0.5 for kill in killed_at)
            before = min((kill - first for kill in killed_at if kill > first), default=None)
            assert near, f"{offset} was acknowledged and came again after {moment - first:.3f} s (a kill: {before} s)"


@pytest.mark.timeout(120)
def test_a_kill(tmp_path: Path) -> None:
    run(tmp_path, kills=1)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_many_kills(tmp_path: Path) -> None:
    run(tmp_path, kills=20)
