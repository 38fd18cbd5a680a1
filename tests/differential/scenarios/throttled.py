"""Clients over their quotas: the throttle times themselves, to the millisecond where they follow from the request.

Quotas are those of a client id that nobody else has. Each request of it has a connection of its own, since the one that
was told to wait is not read meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.differential.peer import Peer
from tests.differential.requests.fetch import fetch_body, fill, place
from tests.differential.requests.produce import rows
from tests.differential.requests.quotas import EXACT, FETCH, MUTATION, PRODUCE, REQUEST, entry
from tests.differential.script import advertised, script, versions
from tests.support.batches import values
from tests.support.waiting import wait_until

RATE = 1_000
AHEAD = 10 * RATE  # what may be sent at once
TINY_PERCENTAGE = 0.000_001


@contextmanager
def quota(peer: Peer, key: str, value: float, base: str = "client") -> Iterator[str]:
    """A client id with this quota, which is gone afterwards; what the client has used is remembered."""
    client = peer.name(base)
    asked = [{"entity_type": "client-id", "match_type": EXACT, "match": client}]

    def is_set() -> bool:
        return bool(peer.quietly("describe_client_quotas", 1, {"components": asked, "strict": True})["entries"])

    def set_to(wanted: float | None) -> None:
        body = {"entries": [entry([("client-id", client)], (key, wanted))], "validate_only": False}
        assert peer.quietly("alter_client_quotas", 1, body)["entries"][0]["error_code"] == 0
        wait_until(lambda: is_set() == (wanted is not None), what=f"{key} of {client} is {wanted}")

    set_to(value)
    try:
        yield client
    finally:
        set_to(None)


def is_muted(peer: Peer, client: str, on: str) -> bool:
    """Whether the next request of the connection is not answered for a while."""
    return peer.pending(peer.send("api_versions", 0, on=on, client_id=client))


@versions("produce", name="throttled-produce", seconds=2, alone=True)
def throttled_produce(peer: Peer, version: int) -> None:
    """Bytes above a quota are stored, and are throttled for as long as they exceed it."""
    topic = peer.topic()

    def produce(label: str, size: int, on: str) -> None:
        records = values("x" * size, base_timestamp_ms=peer.time())
        body = {"acks": -1, "timeout": 10_000, "topic_data": [rows(peer, topic, records)]}
        peer.ask("produce", version, body, on=on, client_id=client, label=label)

    with quota(peer, PRODUCE, RATE, "within") as client:
        produce("five seconds' worth", AHEAD // 2, "within")
        peer.note("is muted within its quota", is_muted(peer, client, "within"))
    with quota(peer, PRODUCE, RATE, "over") as client:
        produce("a hundred seconds' worth", 10 * AHEAD, "over")
        peer.note("is muted over its quota", is_muted(peer, client, "over"))


REQUESTS: dict[str, dict[str, Any]] = {
    # What every version of these answers without an error, and quickly.
    "api_versions": {"client_software_name": "wire", "client_software_version": "1"},
    "metadata": {"topics": [], "allow_auto_topic_creation": False},
    "fetch": fetch_body(),
    "list_offsets": {"replica_id": -1, "topics": []},
    "produce": {"acks": -1, "timeout": 10_000, "topic_data": []},
    "describe_groups": {"groups": []},
    "list_groups": {},
    "describe_configs": {"resources": []},
}


@script("throttled-requests", seconds=4, alone=True)
def throttled_requests(peer: Peer) -> None:
    """Time of the broker: hardly any is allowed, so that each request is told to wait as long as can be, a second."""
    with quota(peer, REQUEST, TINY_PERCENTAGE) as client:
        for api, body in REQUESTS.items():
            for version in (advertised(api)[0], advertised(api)[-1]):
                peer.ask(api, version, body, on=f"{api} {version}", client_id=client, label="over its share")
        peer.note("is muted", is_muted(peer, client, "metadata 0"))


@script("throttled-fetch", seconds=3, alone=True)
def throttled_fetch(peer: Peer) -> None:
    """A fetch over its quota is answered without records; for how long depends on when the last one was."""
    topic = peer.topic()
    fill(peer, topic, "x" * (AHEAD * 6 // 10))
    body = fetch_body({"topic": topic, "partitions": [place(0)]})
    with quota(peer, FETCH, RATE) as client:
        first = peer.quietly("fetch", 12, body, on="first", client_id=client)
        second = peer.quietly("fetch", 12, body, on="second", client_id=client)
        for answer in (first, second):
            told = {**answer, "throttle_time": answer["throttle_time"] > 0}
            peer.note("answer, and whether it is to wait", told)
        peer.note("is muted", is_muted(peer, client, "second"))


@script("throttled-mutations", seconds=3, alone=True)
def throttled_mutations(peer: Peer) -> None:
    """Too many partitions: refused from the versions on that have an error for it, and done before."""
    wanted = {"num_partitions": 50, "replication_factor": 1, "assignments": [], "configs": []}

    def create(version: int, base: str) -> None:
        body = {"topics": [{"name": peer.name(base), **wanted}], "timeout": 10_000, "validate_only": True}
        answer = peer.quietly("create_topics", version, body, on=base, client_id=client)
        codes = [row["error_code"] for row in answer["topics"]]
        told = {"codes": codes, "waits": answer["throttle_time"] > 0, "is_muted": is_muted(peer, client, base)}
        peer.note(f"create_topics v{version}: {base}", told)

    with quota(peer, MUTATION, 1.0) as client:
        create(7, "first")
        create(7, "second")
        create(5, "old")
