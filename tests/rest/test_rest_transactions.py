"""Transactions over the admin API: what is open, and the end of the one that was looked at."""

from __future__ import annotations

from pathlib import Path

import pytest
from kio.schema.errors import ErrorCode

from penstock.model.topic_name import TRANSACTION_STATE
from tests.rest.conftest import Rest
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient, unique_name
from tests.support.transaction_client import V1, V2, TransactionClient

pytestmark = pytest.mark.feature("K-18")


@pytest.mark.parametrize("generation", [V1, V2])
def test_an_open_transaction_is_shown_and_aborted(rest: Rest, client: RawClient, generation: int) -> None:
    topic = rest.topic(3)
    tx = TransactionClient(client, unique_name("copy/tx"), generation).init()
    path = f"/transactions/{tx.transactional_id.replace('/', '%2F')}"
    tx.send(topic, "a", partition=2)
    shown = rest.ok("GET", path)
    assert (shown["state"], shown["producer_id"], shown["producer_epoch"]) == ("Ongoing", tx.producer_id, tx.epoch)
    assert (shown["partitions"], shown["timeout_ms"]) == ({topic: [2]}, 60_000)
    assert shown["open_for_ms"] >= 0
    body = {"producer_id": tx.producer_id, "producer_epoch": tx.epoch}
    after = rest.ok("POST", f"{path}/abort", body)
    assert after["state"] in ("PrepareAbort", "CompleteAbort")
    assert tx.end_answer(commit=True).error_code != ErrorCode.none
    assert rest.ok("GET", f"/topics/{topic}/partitions/2/messages")["messages"] == []
    told = rest.refused(409, "INVALID_TXN_STATE", "POST", f"{path}/abort", body)
    assert "nothing was aborted" in told


def test_the_next_transaction_is_not_hit(rest: Rest, client: RawClient) -> None:
    topic = rest.topic()
    tx = TransactionClient(client, unique_name("tx"), V2).init()
    tx.send(topic, "a")
    looked_at = {"producer_id": tx.producer_id, "producer_epoch": tx.epoch}
    tx.commit()
    tx.send(topic, "b")
    rest.refused(409, "INVALID_TXN_STATE", "POST", f"/transactions/{tx.transactional_id}/abort", looked_at)
    assert rest.ok("GET", f"/transactions/{tx.transactional_id}")["state"] == "Ongoing"
    tx.commit()


def test_lists_by_state_in_pages(rest: Rest, client: RawClient) -> None:
    topic, prefix = rest.topic(), unique_name("listed")
    open_ones = [TransactionClient(client, f"{prefix}-{number}", V2).init() for number in range(3)]
    TransactionClient(client, f"{prefix}-idle", V2).init()
    for tx in open_ones:
        tx.send(topic, "x")
    everything = [
        each["transactional_id"] for page in rest.pages("/transactions?limit=2", "transactions") for each in page
    ]
    assert [name for name in everything if name.startswith(prefix)] == [
        f"{prefix}-0", f"{prefix}-1", f"{prefix}-2", f"{prefix}-idle",
    ]  # fmt: skip
    ongoing = rest.ok("GET", "/transactions?state=Ongoing")["transactions"]
    assert [each["transactional_id"] for each in ongoing] == [f"{prefix}-{number}" for number in range(3)]
    assert rest.ok("GET", "/transactions?open_for_ms=86400000")["transactions"] == []
    assert rest.ok("GET", "/hanging-transactions") == {"transactions": [], "truncated": False}
    where = {"topic": topic, "partition": 0, "producer_id": open_ones[0].producer_id}
    told = rest.refused(409, "INVALID_TXN_STATE", "POST", "/hanging-transactions/abort", where)
    assert "those that a coordinator knows are aborted by their id" in told
    for tx in open_ones:
        tx.commit()


def test_what_is_not_there(rest: Rest) -> None:
    rest.refused(404, "TRANSACTIONAL_ID_NOT_FOUND", "GET", "/transactions/nobody")
    body = {"producer_id": 1, "producer_epoch": 1}
    rest.refused(404, "TRANSACTIONAL_ID_NOT_FOUND", "POST", "/transactions/nobody/abort", body)
    rest.refused(400, "INVALID_REQUEST", "POST", "/transactions/nobody/abort", {})
    rest.refused(400, "INVALID_REQUEST", "GET", "/transactions?state=ongoing")
    where = {"topic": "nowhere", "partition": 0, "producer_id": 1}
    rest.refused(404, "UNKNOWN_TOPIC_OR_PARTITION", "POST", "/hanging-transactions/abort", where)


def test_a_coordinator_that_has_lost_its_log_is_not_guessed_for(tmp_path: Path) -> None:
    process = PenstockProcess(tmp_path)
    process.start()
    rest = Rest(process)
    try:
        topic = rest.topic()
        with RawClient(process.host, process.port) as client:
            tx = TransactionClient(client, "orders", V2).init()
            tx.send(topic, "a")
        process.stop()
        segments = (process.data_directory / "topics" / TRANSACTION_STATE).glob("*/*/*.log")
        (segment,) = (path for path in segments if path.read_bytes().strip(b"\0"))
        content = bytearray(segment.read_bytes())
        content[80] ^= 0xFF
        segment.write_bytes(content)
        process.start()
        rest.refused(503, "COORDINATOR_NOT_AVAILABLE", "GET", "/hanging-transactions")
        where = {"topic": topic, "partition": 0, "producer_id": tx.producer_id}
        answer = rest("POST", "/hanging-transactions/abort", where)
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert rest.ok("GET", f"/topics/{topic}/partitions/0")["last_stable"] == 0
    finally:
        process.kill9()
