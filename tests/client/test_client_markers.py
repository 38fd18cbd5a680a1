"""Markers: the last committed one of a name is found, whatever others have open, and after any number of them."""

from __future__ import annotations

import pytest

from penstock.client.cluster import Cluster
from penstock.client.markers import HINT_AFTER, Markers
from penstock.client.offsets import committed_offsets
from penstock.client.transactions import TransactionalProducer
from tests.support.batches import now_ms
from tests.support.raw_client import unique_name


class Worker:
    """Marks its work, in transactions under its name."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self.name = unique_name("worker")
        self.markers = Markers(cluster, topic)
        self._producer = TransactionalProducer(cluster, self.name)

    def latest(self) -> object:
        found = self.markers.begin(self._producer)
        return None if found is None else found.content["batch"]

    def mark(self, number: int) -> None:
        self._producer.send(self.markers.place, self.markers.batch(self.name, {"batch": number}, now_ms()))

    def end(self, *, commit: bool) -> None:
        self._producer.commit() if commit else self._producer.abort()


@pytest.fixture
def marker_topic() -> str:
    return unique_name("markers")


def test_the_last_committed_marker_of_a_name(cluster: Cluster, marker_topic: str) -> None:
    one, two = Worker(cluster, marker_topic), Worker(cluster, marker_topic)
    assert one.latest() is None
    assert two.latest() is None
    for number, commit in ((1, True), (2, True), (3, False)):
        one.mark(number)
        one.end(commit=commit)
    two.mark(7)
    two.end(commit=True)
    assert one.latest() == 2
    assert two.latest() == 7


def test_an_open_transaction_of_another_hides_nothing(cluster: Cluster, marker_topic: str) -> None:
    other, one = Worker(cluster, marker_topic), Worker(cluster, marker_topic)
    other.latest()
    other.mark(1)  # and dies
    one.latest()
    one.mark(5)
    one.end(commit=True)
    assert one.latest() == 5
    assert other.latest() is None


def test_what_died_before_its_end_does_not_count(cluster: Cluster, marker_topic: str) -> None:
    one = Worker(cluster, marker_topic)
    one.latest()
    one.mark(1)
    one.end(commit=True)
    one.mark(2)  # and dies
    assert one.latest() == 1


def test_a_long_history_is_read_once(cluster: Cluster, marker_topic: str) -> None:
    one = Worker(cluster, marker_topic)
    one.latest()
    for number in range(HINT_AFTER):
        one.mark(number)
        one.end(commit=True)
    assert one.latest() == HINT_AFTER - 1
    hint = committed_offsets(cluster, f"penstock-marker-{one.name}")[one.markers.place]
    assert hint == 2 * (HINT_AFTER - 1)  # each has a control batch behind it
    assert one.latest() == HINT_AFTER - 1
    one.mark(1000)
    one.end(commit=True)
    assert one.latest() == 1000
