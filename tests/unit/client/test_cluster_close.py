"""A cluster that is closed by one thread while another opens connections."""

from __future__ import annotations

import threading
from typing import Any

from penstock.client.address import Address
from penstock.client.cluster import Cluster


class Slow:
    """A connection whose end takes a while, in which another is opened."""

    def __init__(self, cluster: Cluster, number: int) -> None:
        self._cluster = cluster
        self._number = number
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True
        opening = threading.Thread(target=self._open_another)
        opening.start()
        opening.join()

    def _open_another(self) -> None:
        connections: dict[Address, Any] = self._cluster._connections
        connections[Address("127.0.0.1", 20_000 + self._number)] = Slow(self._cluster, self._number + 1)


def test_closing_is_not_disturbed() -> None:
    cluster = Cluster([Address("127.0.0.1", 1)])
    connections: dict[Address, Any] = cluster._connections
    first = [Slow(cluster, number) for number in range(3)]
    connections |= {Address("127.0.0.1", 1 + number): one for number, one in enumerate(first)}
    cluster.close()
    assert all(one.is_closed for one in first)
