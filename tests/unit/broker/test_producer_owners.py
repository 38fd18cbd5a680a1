"""Who has which producer id: the table is bounded, and whoever fills it loses ids of its own."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping

import pytest

from penstock.broker.produce.producer_owners import CHANCES_MAX, FORGOTTEN_AT_ONCE, ProducerOwners
from penstock.broker.produce.producer_rights import ProducerRights
from penstock.broker.transactions.producer_ids import ProducerIds
from penstock.model.batch import BatchHeader, read_header
from penstock.model.errors import ErrorCode, KafkaError
from penstock.security.access import Access
from penstock.security.principal import Principal
from penstock.security.session import Session
from tests.support.batches import idempotent

ALICE, BOB, CAROL = (Principal("User", name) for name in ("alice", "bob", "carol"))


def counts(owners: ProducerOwners) -> Mapping[Principal, int]:
    return Counter(owner.principal for owner in owners.of.values())


def test_one_principal_pushes_out_its_own() -> None:
    owners = ProducerOwners(100)
    owners.given(0, ALICE)
    for producer_id in range(1, 10_000):
        owners.given(producer_id, BOB)
    assert owners.of[0].principal == ALICE
    assert sorted(owners.of) == [0, *range(9_901, 10_000)]


def test_a_full_table_has_room_for_those_with_few() -> None:
    owners = ProducerOwners(100)
    ids = itertools.count()
    for _ in range(1_000):
        owners.given(next(ids), BOB)
    for _ in range(1_000):
        owners.given(next(ids), CAROL)
    assert set(counts(owners)) == {BOB, CAROL}
    assert counts(owners)[BOB] >= 49
    for _ in range(30):
        owners.given(next(ids), ALICE)
        assert len(owners.of) <= 100
    assert counts(owners)[ALICE] == 30
    assert min(counts(owners).values()) >= 30


def test_many_principals_with_one_each() -> None:
    owners = ProducerOwners(100)
    for producer_id in range(1_000):
        owners.given(producer_id, Principal("User", str(producer_id)))
        assert len(owners.of) <= 100
    assert len(counts(owners)) == 100


def test_room_for_others_is_made_in_stretches() -> None:
    count_max = 10 * FORGOTTEN_AT_ONCE
    owners = ProducerOwners(count_max)
    for producer_id in range(count_max):
        owners.given(producer_id, BOB)
    owners.given(count_max, ALICE)
    assert counts(owners) == {ALICE: 1, BOB: count_max - 1}  # his share is all there is
    owners.given(count_max + 1, ALICE)
    assert counts(owners) == {ALICE: 2, BOB: count_max - 1 - FORGOTTEN_AT_ONCE}


def test_of_a_crowded_table_the_ids_go_that_were_not_used() -> None:
    owners = ProducerOwners(10)
    for producer_id in range(5):
        owners.given(producer_id, BOB)
    crowded = [owners.is_crowded]
    for producer_id in range(5, 100):
        owners.given(producer_id, BOB)
        crowded.append(owners.is_crowded)
        owners.note_use(0)
    assert crowded == [False] + [True] * 95
    assert sorted(owners.of) == [0, *range(91, 100)]


def test_where_all_were_used_one_goes_all_the_same() -> None:
    count_max = CHANCES_MAX * 2
    owners = ProducerOwners(count_max)
    for producer_id in range(count_max):
        owners.given(producer_id, BOB)
    for producer_id in range(count_max):
        owners.note_use(producer_id)
    owners.given(count_max, BOB)
    assert counts(owners) == {BOB: count_max}
    assert CHANCES_MAX not in owners.of


def test_those_of_push_clients_stay_until_they_are_released() -> None:
    owners = ProducerOwners(10)
    owners.keep((producer_id, ALICE) for producer_id in range(50))
    owners.keep([(50, BOB)])
    for producer_id in range(51, 200):
        owners.given(producer_id, BOB)
        owners.note_use(50)
    assert counts(owners) == {ALICE: 50, BOB: 11}
    owners.release([*range(50), 1_000])
    assert counts(owners) == {BOB: 11}


# --- what that means for batches -------------------------------------------------------------------------------------


async def _no_block(_: int) -> int:
    raise AssertionError


def rights(names: Mapping[int, str] | None = None, first: int = 1_000) -> ProducerRights:
    return ProducerRights(Access(), ProducerIds(_no_block, first), names or {})


def session(principal: Principal) -> Session:
    return Session(listener="test", host="127.0.0.1", client_id="c").with_principal(principal)


def header(producer_id: int) -> BatchHeader:
    return read_header(idempotent(producer_id, 0, 0))


@pytest.mark.parametrize("producer_id", [1_000, 1_001, 5_000])
def test_an_id_of_this_start_that_nobody_is_known_to_have_is_nobodys(producer_id: int) -> None:
    for who in (ALICE, BOB):
        with pytest.raises(KafkaError) as refused:
            rights().check(session(who), header(producer_id))
        assert refused.value.code is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_an_id_of_before_the_start_is_for_all_but_those_of_push_clients() -> None:
    known = rights()
    known.check(session(BOB), header(999))
    known.owners.keep([(999, ALICE)])
    known.check(session(ALICE), header(999))
    with pytest.raises(KafkaError):
        known.check(session(BOB), header(999))


def test_an_id_that_was_pushed_out_is_not_its_owners_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.broker.produce.producer_rights.OWNERS_MAX", 10)
    known = rights()
    for producer_id in range(1_000, 1_015):
        known.given(producer_id, BOB)
        known.check(session(BOB), header(producer_id))
        known.check(session(BOB), header(1_000))  # in use
    for producer_id in (1_001, 1_005):
        with pytest.raises(KafkaError):
            known.check(session(BOB), header(producer_id))
