"""Producer ids of others: they can be guessed, and a batch under one would fence its owner in a common topic.

Those of transactions are in `test_foreign_transactions`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.model.errors import ErrorCode
from penstock.protocol.push import messages as m
from tests.acls.world import AclWorld
from tests.support.acl_client import TRANSACTIONAL_ID, WRITE, AclClient, rule
from tests.support.batches import idempotent
from tests.support.push_client import PushClient
from tests.support.raw_client import RawClient, unique_name
from tests.support.transaction_client import V1, TransactionClient
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-05")

LAST_EPOCH = 32_767
NOT_OWN = ErrorCode.INVALID_PRODUCER_ID_MAPPING


def common_topic(world: AclWorld, acls: AclClient) -> str:
    """Alice and bob may write to it."""
    name = world.client().create_topic()
    acls.created(*(rule(name=name, principal=f"User:{who}", operation=WRITE) for who in ("alice", "bob")))
    return name


@pytest.fixture
def topic(world: AclWorld, acls: AclClient) -> str:
    return common_topic(world, acls)


def refusal(client: RawClient, topic: str, producer_id: int, epoch: int = LAST_EPOCH) -> ErrorCode:
    return ErrorCode(client.produce(topic, idempotent(producer_id, epoch, 0)).error_code)


def test_a_transaction_ends_whatever_others_send(world: AclWorld, acls: AclClient, topic: str) -> None:
    name = unique_name("orders")
    acls.created(rule(TRANSACTIONAL_ID, name, principal="User:alice", operation=WRITE))
    alice = TransactionClient(world.client("alice"), name, V1).init()
    bob = world.client("bob")
    denied = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert refusal(bob, topic, alice.producer_id) is denied
    assert list(map(int, alice.add(topic, 0))) == [0]
    alice.send(topic, "one")
    assert refusal(bob, topic, alice.producer_id) is denied
    alice.end(commit=True)
    wait_until(lambda: world.client().log_end(topic) == 2, what="the record and its marker")


def test_the_repeat_path_asks_too(world: AclWorld, topic: str) -> None:
    alice, bob = world.client("alice"), world.client("bob")
    (own, epoch), (other, _) = bob.new_producer_id(), alice.new_producer_id()
    for sequence in range(4):
        assert bob.produce(topic, idempotent(own, epoch, sequence)).error_code == ErrorCode.NONE
    assert refusal(bob, topic, other) is NOT_OWN
    assert bob.produce(topic, idempotent(own, epoch, 4)).error_code == ErrorCode.NONE
    assert alice.produce(topic, idempotent(other, 0, 0)).error_code == ErrorCode.NONE


def test_ids_that_nobody_has_yet(world: AclWorld, topic: str) -> None:
    bob = world.client("bob")
    next_one = bob.new_producer_id()[0] + 1
    assert refusal(bob, topic, next_one) is NOT_OWN
    given, epoch = world.client("alice").new_producer_id()
    assert given == next_one
    assert world.client("alice").produce(topic, idempotent(given, epoch, 0)).error_code == ErrorCode.NONE


def test_nobody_pushes_the_ids_of_others_out_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.broker.produce.producer_rights.OWNERS_MAX", 20)
    with AclWorld(tmp_path / "data") as world:
        topic = common_topic(world, world.acls())
        alice, bob = world.client("alice"), world.client("bob")
        given, epoch = alice.new_producer_id()
        assert alice.produce(topic, idempotent(given, epoch, 0)).error_code == ErrorCode.NONE
        own = [bob.new_producer_id()[0] for _ in range(25)]
        assert refusal(bob, topic, given) is NOT_OWN
        assert alice.produce(topic, idempotent(given, epoch, 1)).error_code == ErrorCode.NONE
        assert refusal(bob, topic, own[-1]) is ErrorCode.NONE
        for client in (alice, bob):  # whose it was is not known any more
            assert refusal(client, topic, own[0]) is NOT_OWN


def publish(client: PushClient, topic: str, sequence: int) -> int:
    return int(client.ask(m.Publish("till-1", 5, sequence, topic, 0, None, b"x")).offset)


def test_the_producers_of_push_clients(world: AclWorld, topic: str) -> None:
    alice, bob = world.push("alice"), world.client("bob")
    publish(alice, topic, 0)
    own = bob.new_producer_id()[0]
    for epoch in (0, 1, LAST_EPOCH):
        assert refusal(bob, topic, own - 1, epoch) is NOT_OWN
    assert publish(alice, topic, 1) == 1
    assert publish(alice, topic, 1) == 1


@pytest.mark.parametrize("door", [True, False])
def test_the_producers_of_push_clients_after_a_restart(tmp_path: Path, door: bool) -> None:
    """And while the push door is shut: what is in the log then is there when it opens again."""
    on_disk = {"storage": {"engine": "disk"}}
    with AclWorld(tmp_path / "data", **on_disk) as world:
        topic = common_topic(world, world.acls())
        publish(world.push("alice"), topic, 0)
        known = world.client("alice").new_producer_id()[0] - 1
    shut = {} if door else {"push": {"enabled": False}}
    with AclWorld(tmp_path / "data", **on_disk, **shut) as world:
        assert refusal(world.client("bob"), topic, known) is NOT_OWN
    with AclWorld(tmp_path / "data", **on_disk) as world:
        assert publish(world.push("alice"), topic, 1) == 1


def test_ids_of_before_the_start_are_for_all_who_may_write(tmp_path: Path) -> None:
    on_disk = {"storage": {"engine": "disk"}}
    with AclWorld(tmp_path / "data", **on_disk) as world:
        topic = common_topic(world, world.acls())
        given, _ = world.client("alice").new_producer_id()
    with AclWorld(tmp_path / "data", **on_disk) as world:
        assert refusal(world.client("alice"), topic, given, 0) is ErrorCode.NONE
        assert refusal(world.client("bob"), topic, given) is ErrorCode.NONE
