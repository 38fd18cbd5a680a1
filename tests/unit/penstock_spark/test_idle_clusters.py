"""Connections that are kept between calls: who gets them, and when they are closed."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from penstock.client.address import Address
from penstock.client.cluster import Cluster
from penstock_spark.idle_clusters import IDLE_S_MAX, MOST, IdleClusters


class Peer:
    """A port that takes connections and says nothing."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = Address(*self._server.getsockname())
        self.streams: list[socket.socket] = []
        self._came = threading.Condition()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                stream, _ = self._server.accept()
            except OSError:
                return
            with self._came:
                self.streams.append(stream)
                self._came.notify_all()

    def wait_for(self, count: int) -> None:
        with self._came:
            assert self._came.wait_for(lambda: len(self.streams) >= count, 10)

    def connect(self) -> Cluster:
        cluster = Cluster([self.address])
        cluster.any_connection()
        return cluster

    def close(self) -> None:
        self._server.close()
        for stream in self.streams:
            stream.close()


@pytest.fixture
def peer() -> Iterator[Peer]:
    made = Peer()
    yield made
    made.close()


def test_the_next_call_gets_what_the_last_one_left(peer: Peer) -> None:
    idle = IdleClusters()
    with idle.lease("a", peer.connect) as first:
        with idle.lease("a", peer.connect) as meanwhile:
            assert meanwhile is not first
        with idle.lease("a", peer.connect) as again:
            assert again is meanwhile
    with idle.lease("b", peer.connect) as other:
        assert other not in (first, meanwhile)
    with idle.lease("a", peer.connect) as last:
        assert last is first


def test_a_call_that_failed_leaves_nothing(peer: Peer) -> None:
    idle = IdleClusters()
    with pytest.raises(ValueError, match="no"), idle.lease("a", peer.connect) as failed:
        raise ValueError("no")
    assert not failed.is_idle()
    with idle.lease("a", peer.connect) as next_one:
        assert next_one is not failed


def test_a_connection_that_the_broker_has_closed_is_not_used(peer: Peer) -> None:
    idle = IdleClusters()
    with idle.lease("a", peer.connect) as first:
        pass
    peer.wait_for(1)
    peer.streams[0].close()
    with idle.lease("a", peer.connect) as second:
        assert second is not first
    assert not first.is_idle()


def test_old_ones_and_too_many_are_closed(peer: Peer) -> None:
    now = [0.0]
    idle = IdleClusters(lambda: now[0])
    left = []
    for number in range(MOST + 1):
        with idle.lease(number, peer.connect) as cluster:
            left.append(cluster)
    assert [each.is_idle() for each in left] == [False, *[True] * MOST]
    now[0] = IDLE_S_MAX + 1
    with idle.lease(1, peer.connect) as fresh:
        assert fresh is not left[1]
    assert not any(each.is_idle() for each in left)
    assert fresh.is_idle()
