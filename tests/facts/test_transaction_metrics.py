"""Transactions on /metrics, on a broker of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.metrics_page import metric
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient
from tests.support.transaction_client import V1, V2, TransactionClient
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("K-07")

ENDS = ("committed", "aborted", "timed_out")


@pytest.fixture
def process(tmp_path: Path) -> Iterator[PenstockProcess]:
    broker = PenstockProcess(tmp_path)
    broker.start()
    try:
        yield broker
    finally:
        broker.kill9()


@pytest.fixture
def client(process: PenstockProcess) -> Iterator[RawClient]:
    with RawClient(process.host, process.port) as client:
        yield client


def ends(process: PenstockProcess) -> tuple[float, ...]:
    return tuple(metric(process, f"penstock_transactions_{how}_total") for how in ENDS)


def test_ends_are_counted(process: PenstockProcess, client: RawClient) -> None:
    topic = client.create_topic(partitions=2)
    assert ends(process) == (0, 0, 0)
    for generation in (V1, V2):
        tx = TransactionClient(client, f"tx-{generation}", generation).init()
        tx.send(topic, "a")
        tx.send(topic, "b", partition=1)
        tx.commit()
        tx.send(topic, "c")
        tx.abort()
    wait_until(lambda: ends(process) == (2, 2, 0), what="all ends are complete")
    tx.wait_for("CompleteAbort")
    tx.abort()  # of nothing, which is no transaction
    tx.wait_for("CompleteAbort")
    late = TransactionClient(client, "late", V2, timeout=1_000).init()
    late.send(topic, "d")
    wait_until(lambda: ends(process) == (2, 3, 1), what="the timeout")
    fenced = TransactionClient(client, "fenced", V2).init()
    fenced.send(topic, "e")
    fenced.init()
    wait_until(lambda: ends(process) == (2, 4, 1), what="the abort of what was open")


def test_what_is_open_is_shown(process: PenstockProcess, client: RawClient) -> None:
    names = ("transactional_ids", "open_transactions", "oldest_transaction_seconds", "uncoordinated_transactions")

    def gauges() -> tuple[float, ...]:
        return tuple(metric(process, f"penstock_{name}") for name in names)

    assert gauges() == (0, 0, 0, 0)
    topic = client.create_topic(partitions=2)
    first, second = (TransactionClient(client, name, V2).init() for name in ("first", "second"))
    assert gauges() == (2, 0, 0, 0)
    first.send(topic, "a")
    wait_until(lambda: gauges()[2] > 1, what="it has been open for a second")
    second.send(topic, "b", partition=1)
    ids, count, oldest, uncoordinated = gauges()
    assert (ids, count, uncoordinated) == (2, 2, 0)
    assert oldest > 1
    first.commit()
    first.wait_for("CompleteCommit")
    assert gauges()[1] == 1
    assert gauges()[2] < oldest
    second.abort()
    second.wait_for("CompleteAbort")
    assert gauges() == (2, 0, 0, 0)


def test_what_is_open_is_shown_after_a_restart(process: PenstockProcess, client: RawClient) -> None:
    topic = client.create_topic()
    tx = TransactionClient(client, "tx", V2).init()
    tx.send(topic, "a")
    process.kill9()
    process.start()
    with RawClient(process.host, process.port) as again:
        tx.client = again
        tx.wait_for("Ongoing")
        assert metric(process, "penstock_open_transactions") == 1
        assert metric(process, "penstock_uncoordinated_transactions") == 0
        tx.commit()
        wait_until(lambda: ends(process) == (1, 0, 0), what="the commit")
