"""Recognition of hanging transactions, with a cluster whose answers change from one request to the next.

Penstock itself ends what nobody coordinates when it comes across it, so a real one cannot be asked to leave it open.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from penstock.cli.kafka.kafka_connection import KafkaConnection
from penstock.cli.terminal.errors import CommandError
from penstock.cli.transaction.abort import abort_in_partition
from penstock.cli.transaction.hanging import Hanging, find_hanging
from penstock.cli.transaction.requests import Place
from penstock.protocol.kafka.describe_transactions import DescribedTransaction

PRODUCER = 7
PLACE = Place("t", 0)
COORDINATED = DescribedTransaction(0, "tx", "Ongoing", 60_000, 1, PRODUCER, 3, (("t", (0,)),))
ELSEWHERE = DescribedTransaction(0, "tx", "Ongoing", 60_000, 1, PRODUCER, 4, (("other", (0,)),))
OVER = DescribedTransaction(0, "tx", "CompleteCommit", 60_000, 1, PRODUCER, 4, ())
OPEN, CLOSED = 5, -1


class Cluster:
    """Answers as a broker with one partition and one transactional id, or none.

    `starts` are the first offsets of the producer's transaction in the partition, look by look; the last one stays.
    """

    def __init__(self, known: DescribedTransaction | None, *starts: int) -> None:
        self.known = known
        self.starts = list(starts)
        self.markers: list[Any] = []

    def ask(self, request: Any, decode: Callable[..., Any]) -> Any:
        assert type(request).__name__ == "DescribeTransactionsRequest"
        return [self.known]

    def call(self, request: Any, reply: type[Any]) -> Any:
        assert reply.__name__ == type(request).__name__.replace("Request", "Response")
        match type(request).__name__:
            case "DescribeProducersRequest":
                return self._producers()
            case "ListTransactionsRequest":
                assert request.producer_id_filters == (PRODUCER,)
                rows = [] if self.known is None else [SimpleNamespace(transactional_id="tx")]
                return SimpleNamespace(error_code=0, unknown_state_filters=(), transaction_states=rows)
            case _:
                self.markers += request.markers
                partition = SimpleNamespace(error_code=0)
                topic = SimpleNamespace(partitions=[partition])
                return SimpleNamespace(markers=[SimpleNamespace(topics=[topic])])

    def _producers(self) -> Any:
        start = self.starts.pop(0) if len(self.starts) > 1 else self.starts[0]
        producer = SimpleNamespace(
            producer_id=PRODUCER,
            producer_epoch=3,
            last_timestamp=1,
            coordinator_epoch=2,
            current_txn_start_offset=start,
        )
        partition = SimpleNamespace(partition_index=0, error_code=0, active_producers=[producer])
        return SimpleNamespace(topics=[SimpleNamespace(partitions=[partition])])

    def hanging(self, timeout_max_ms: int = 1 << 62) -> list[Hanging]:
        return list(find_hanging(cast(KafkaConnection, self), {"t": [0]}, timeout_max_ms))

    def abort(self, *, force: bool = False) -> str:
        return abort_in_partition(cast(KafkaConnection, self), PLACE, PRODUCER, force=force, yes=True)


@pytest.mark.parametrize("known", [None, ELSEWHERE, OVER])
def test_open_in_a_partition_and_in_no_transaction(known: DescribedTransaction | None) -> None:
    cluster = Cluster(known, OPEN)
    (found,) = cluster.hanging()
    assert found.why == "no coordinator knows it"
    assert found.remedy.endswith("--topic t --partition 0 --producer-id 7")
    assert "producer 7 in t-0" in cluster.abort()
    (marker,) = cluster.markers
    assert (marker.producer_epoch, marker.coordinator_epoch, marker.transaction_result) == (3, 2, False)


def test_what_is_coordinated_does_not_hang_and_is_not_torn() -> None:
    cluster = Cluster(COORDINATED, OPEN)
    assert cluster.hanging() == []
    with pytest.raises(CommandError, match="`penstock transaction abort tx` ends all of it"):
        cluster.abort()
    assert cluster.markers == []
    cluster.abort(force=True)
    assert len(cluster.markers) == 1


def test_what_is_coordinated_hangs_beyond_every_timeout() -> None:
    (found,) = Cluster(COORDINATED, OPEN).hanging(timeout_max_ms=900_000)
    assert found.why == "open beyond every timeout"
    assert found.remedy == "to end it: penstock transaction abort tx"


@pytest.mark.parametrize("later", [CLOSED, OPEN + 10])
def test_what_ends_meanwhile_does_not_hang(later: int) -> None:
    """Open at the first look, unknown to its coordinator a moment later because it has ended, or the next has begun."""
    assert Cluster(OVER, OPEN, later).hanging() == []
    cluster = Cluster(OVER, OPEN, later)
    with pytest.raises(CommandError, match="nothing was aborted"):
        cluster.abort()
    assert cluster.markers == []


def test_nothing_is_open() -> None:
    assert Cluster(None, CLOSED).hanging() == []
