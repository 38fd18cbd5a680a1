"""The producers of push clients: whose they are, how many there may be, and when they are forgotten."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.broker.produce.producer_owners import ProducerOwners
from penstock.broker.push.producers import TOUCH_MS, UNUSED_MS, PushProducers
from penstock.broker.transactions.producer_ids import ProducerIds
from penstock.model.errors import ErrorCode, KafkaError
from penstock.security.principal import ANONYMOUS, Principal
from penstock.storage.metadata.store import MetadataStore
from penstock.testing.clock import ManualClock

BLOCKS = itertools.count(1000, 1000)
ALICE, BOB = Principal("User", "alice"), Principal("User", "bob")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[MetadataStore]:
    opened = MetadataStore(tmp_path / "meta.db")
    yield opened
    opened.close()


def producers(
    store: MetadataStore,
    clock: ManualClock | None = None,
    *,
    count_max: int = 100,
    owners: ProducerOwners | None = None,
) -> PushProducers:
    async def next_block(_: int) -> int:
        return next(BLOCKS)

    return PushProducers(store.push_producers, ProducerIds(next_block), clock or ManualClock(), count_max, owners)


def test_a_foreign_principal_with_the_same_client_id_ends_no_epoch(store: MetadataStore) -> None:
    async def run() -> None:
        known = producers(store)
        alice, bob = known.of(ALICE), known.of(BOB)
        first = await alice.ensure("till-1", 5)
        assert await bob.ensure("till-1", 9) != first
        assert (alice.find("till-1", 5), known.of(ALICE)) == (first, alice)
        with pytest.raises(KafkaError) as refused:
            alice.find("till-1", 4)
        assert refused.value.code is ErrorCode.INVALID_PRODUCER_EPOCH
        again = producers(store)  # after a restart
        assert await again.of(ALICE).ensure("till-1", 5) == first
        with pytest.raises(KafkaError):
            await again.of(BOB).ensure("till-1", 8)
        assert await again.of(ANONYMOUS).ensure("till-1", 0) != first

    asyncio.run(run())


def test_there_is_a_most_and_those_that_are_known_go_on(store: MetadataStore) -> None:
    async def run() -> None:
        known = producers(store, count_max=3)
        own = known.of(ALICE)
        ids = [await own.ensure(f"c{number}", 1) for number in range(3)]
        for principal in (ALICE, BOB):
            with pytest.raises(KafkaError, match=r"push\.producers_max") as refused:
                await known.of(principal).ensure("one-more", 1)
            assert refused.value.code is ErrorCode.POLICY_VIOLATION
        assert [await own.ensure(f"c{number}", 1) for number in range(3)] == ids
        assert await own.ensure("c0", 2) not in ids  # a new epoch is not a new client
        assert store.push_producers.count() == 3
        with pytest.raises(KafkaError):
            await producers(store, count_max=3).of(BOB).ensure("one-more", 1)

    asyncio.run(run())


@pytest.mark.parametrize("client_id", ["x" * 250, "ü" * 125, "x" * 30_000])
def test_a_long_client_id_is_refused(store: MetadataStore, client_id: str) -> None:
    async def run() -> None:
        own = producers(store).of(ALICE)
        with pytest.raises(KafkaError, match="249 bytes") as refused:
            await own.ensure(client_id, 1)
        assert refused.value.code is ErrorCode.INVALID_REQUEST
        assert store.push_producers.count() == 0
        await own.ensure("x" * 249, 1)
        await own.ensure("any \x00 text \u2028", 1)

    asyncio.run(run())


def test_those_that_were_not_used_for_a_week_are_forgotten_and_make_room(store: MetadataStore) -> None:
    async def run() -> None:
        clock = ManualClock()
        known = producers(store, clock, count_max=2)
        alice = known.of(ALICE)
        old, used = await alice.ensure("old", 7), await alice.ensure("used", 7)
        for _ in range(UNUSED_MS // TOUCH_MS + 1):
            clock.advance(TOUCH_MS + 1)
            assert alice.find("used", 7) is None  # to be stored again, as used today
            assert await alice.ensure("used", 7) == used
            assert alice.find("used", 7) == used
        assert await known.forget_unused() == 1
        assert await known.forget_unused() == 0
        assert store.push_producers.count() == 1
        assert await known.of(BOB).ensure("new", 1)
        with pytest.raises(KafkaError):
            await alice.ensure("old", 1)  # known no more, and there is no room
        clock.advance(UNUSED_MS + 1)
        assert await known.forget_unused() == 2
        assert await alice.ensure("old", 1) != old  # its epochs begin again

    asyncio.run(run())


def test_the_owner_of_each_is_known_as_long_as_its_row(store: MetadataStore) -> None:
    async def run() -> None:
        clock, owners = ManualClock(), ProducerOwners(10)
        known = producers(store, clock, owners=owners)
        first = await known.of(ALICE).ensure("till-1", 5)
        other = await known.of(BOB).ensure("till-1", 5)
        assert {key: owner.principal for key, owner in owners.of.items()} == {first: ALICE, other: BOB}
        second = await known.of(ALICE).ensure("till-1", 6)
        assert await known.of(ALICE).ensure("till-1", 6) == second
        assert {key: owner.principal for key, owner in owners.of.items()} == {second: ALICE, other: BOB}
        assert sorted(store.push_producers.owners()) == [(other, "User:bob"), (second, "User:alice")]
        clock.advance(UNUSED_MS + 1)
        assert await known.forget_unused() == 2
        assert not owners.of

    asyncio.run(run())
