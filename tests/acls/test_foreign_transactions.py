"""Transactions of others: who may write to a common topic under a transactional id of its own gets into none of them.

A log knows a transaction by its producer id, and the right to write is that of the transactional id.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from kio.schema.errors import ErrorCode

from penstock.model.batch_builder import NewRecord, build_batch
from tests.acls.world import AclWorld
from tests.support.acl_client import GROUP, READ, TRANSACTIONAL_ID, WRITE, AclClient, rule
from tests.support.batches import now_ms, values
from tests.support.raw_client import RawClient, unique_name
from tests.support.transaction_client import V1, TransactionClient

pytestmark = pytest.mark.feature("F-05")

NOT_OWN = ErrorCode.invalid_producer_id_mapping
DENIED = ErrorCode.transactional_id_authorization_failed
NAMES = ("alice", "bob")
VERSIONS = (3, 8, 9, 11, 12)


@pytest.fixture
def topic(world: AclWorld, acls: AclClient) -> str:
    """Alice and bob may write to it."""
    name = world.client().create_topic(partitions=2)
    acls.created(*(rule(name=name, principal=f"User:{who}", operation=WRITE) for who in NAMES))
    return name


@pytest.fixture
def producers(world: AclWorld, acls: AclClient, topic: str) -> tuple[TransactionClient, TransactionClient]:
    """Alice's, with a transaction that is open in both partitions, and bob's, which has begun nothing."""
    ids = {who: unique_name(who) for who in NAMES}
    acls.created(*(rule(TRANSACTIONAL_ID, ids[who], principal=f"User:{who}", operation=WRITE) for who in NAMES))
    alice, bob = (TransactionClient(world.client(who), ids[who], V1).init() for who in NAMES)
    for partition in (0, 1):
        alice.send(topic, "first", partition=partition)
    return alice, bob


def forged(bob: TransactionClient, topic: str, alice: TransactionClient, sequence: int, version: int) -> ErrorCode:
    identity = {"producer_id": alice.producer_id, "epoch": alice.epoch}
    return bob.produce(topic, "forged", sequence=sequence, version=version, **identity)


def check_own(alice: TransactionClient, topic: str) -> None:
    """Alice's next record is stored, and with her commit it is there for readers of her topic."""
    alice.send(topic, "second")
    alice.commit()


def stored(world: AclWorld, topic: str) -> list[bytes | None]:
    """The values of partition 0, without markers."""
    batches = world.client().fetch_batches(topic)
    return [record.value for batch in batches if not batch.attributes & 0x20 for record in batch.records]


Producers = tuple[TransactionClient, TransactionClient]


@pytest.mark.parametrize("version", VERSIONS)
def test_under_a_transactional_id_of_ones_own(world: AclWorld, producers: Producers, topic: str, version: int) -> None:
    alice, bob = producers
    assert forged(bob, topic, alice, 1, version) is NOT_OWN
    check_own(alice, topic)
    assert stored(world, topic) == [b"first", b"second"]


@pytest.mark.parametrize("version", [10, 12])
def test_on_the_repeat_path(world: AclWorld, producers: Producers, topic: str, version: int) -> None:
    alice, bob = producers
    bob.add(topic, 0)
    for sequence in range(4):
        assert bob.produce(topic, "own", sequence=sequence, version=version) == ErrorCode.none
    assert forged(bob, topic, alice, 1, version) is NOT_OWN
    assert bob.produce(topic, "own", sequence=4, version=version) == ErrorCode.none
    check_own(alice, topic)
    assert stored(world, topic) == [b"first", *[b"own"] * 5, b"second"]


@pytest.mark.parametrize("version", [10, 12])
def test_the_name_of_another_with_plain_batches_first(
    world: AclWorld, producers: Producers, topic: str, version: int
) -> None:
    """Plain batches need no right to the name beside them, and so do not settle it for those that do."""
    alice, bob = producers
    client, named = bob.client, {"transactional_id": alice.transactional_id}
    for _ in range(4):
        answer = client.call("produce", version, **client.produce_values(topic, values("plain")) | named)
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.none
    code = bob.produce(
        topic, "forged", sequence=1, version=version, producer_id=alice.producer_id, epoch=alice.epoch,
        transactional_id=alice.transactional_id,
    )  # fmt: skip
    assert code == DENIED
    check_own(alice, topic)
    assert stored(world, topic) == [b"first", *[b"plain"] * 4, b"second"]


def several(client: RawClient, topic: str, transactional_id: str, batches: Sequence[bytes]) -> list[ErrorCode]:
    """The answers to a request with a batch for each partition."""
    data = [{"index": index, "records": batch} for index, batch in enumerate(batches)]
    request = client.produce_values(topic, b"") | {"topic_data": [{"name": topic, "partition_data": data}]}
    answer = client.call("produce", 9, **request | {"transactional_id": transactional_id})
    return [ErrorCode(each.error_code) for each in answer.responses[0].partition_responses]


def of(producer: TransactionClient, sequence: int) -> bytes:
    return bytes(
        build_batch(
            [NewRecord(None, b"x")],
            timestamp=now_ms(),
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            base_sequence=sequence,
            transactional=True,
        )
    )


def test_among_batches_of_ones_own(world: AclWorld, producers: Producers, topic: str) -> None:
    alice, bob = producers
    bob.add(topic, 0, 1)
    send = bob.client, topic, bob.transactional_id
    assert several(*send, [of(bob, 0), of(alice, 1)]) == [NOT_OWN, NOT_OWN]
    assert several(*send, [of(alice, 1), of(alice, 1)]) == [NOT_OWN, NOT_OWN]
    assert several(*send, [values("plain"), of(alice, 1)]) == [ErrorCode.none, NOT_OWN]
    assert several(*send, [of(bob, 0), of(bob, 0)]) == [ErrorCode.none, ErrorCode.none]
    assert world.client().log_end(topic, 1) == 2
    check_own(alice, topic)


@pytest.mark.parametrize("version", VERSIONS)
def test_without_a_transactional_id(producers: Producers, topic: str, version: int) -> None:
    alice, bob = producers
    identity = {"producer_id": alice.producer_id, "epoch": alice.epoch}
    code = bob.produce(topic, "forged", sequence=1, version=version, transactional_id=None, **identity)
    assert code == DENIED
    check_own(alice, topic)


@pytest.mark.parametrize("version", [2, 3, 4, 5])
def test_offsets(world: AclWorld, acls: AclClient, producers: Producers, topic: str, version: int) -> None:
    alice, bob = producers
    group = unique_name("group")
    for who in NAMES:
        acls.created(*(rule(kind, name, principal=f"User:{who}", operation=READ)
                       for kind, name in ((GROUP, group), (2, topic))))  # fmt: skip
    assert alice.add_offsets(group) == ErrorCode.none
    assert alice.commit_offset(group, topic, 1) == ErrorCode.none
    identity = {"producer_id": alice.producer_id, "producer_epoch": alice.epoch}
    assert bob.commit_offset(group, topic, 0, version=version, **identity) == NOT_OWN
    alice.commit()
