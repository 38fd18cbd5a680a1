"""The memory of texts that are committed with offsets."""

from __future__ import annotations

import pytest

from penstock.broker.groups.claim import NO_MEMBER
from penstock.broker.groups.offsets.records import OffsetChange
from penstock.broker.groups.offsets.texts import RECOUNT_INTERVAL_MS, UNCOUNTED_BYTES_MAX, CommittedTexts
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import OFFSET_TEXT_BYTES_MAX
from tests.support.group_requests import change, code_of, committed
from tests.support.group_world import HandClock, World, run

pytestmark = pytest.mark.feature("F-06")


class Texts:
    """A bound of 100 KB, and what groups have stored."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.stored: dict[str, int] = {}
        self.counts = 0
        self.texts = CommittedTexts(self._count, self.clock.monotonic_ms, 100_000)

    def _count(self, group_id: str) -> int:
        self.counts += 1
        return self.stored.get(group_id, 0)

    def commit(self, group_id: str, size: int) -> bool:
        """Replace all that the group has by a text of this size."""
        is_taken = self.texts.take(group_id, size)
        if is_taken:
            self.stored[group_id] = size
        return is_taken


def test_texts_that_replace_others_can_be_committed_for_ever() -> None:
    world = Texts()
    assert all(world.commit("g", 30) for _ in range(100_000))
    assert world.counts < 100, "counting is rare"
    assert world.texts.held_bytes <= UNCOUNTED_BYTES_MAX + 100


def test_the_bound_holds_and_what_was_removed_makes_room(caplog: pytest.LogCaptureFixture) -> None:
    world = Texts()
    assert all(world.commit(f"g{number}", 10_000) for number in range(10))
    assert not any(world.commit("late", 10_000) for _ in range(5))
    assert caplog.text.count("texts committed with offsets") == 1
    assert world.counts < 15, "all groups are counted once in a while only"
    del world.stored["g3"]
    assert not world.commit("late", 10_000)
    world.clock.time_ms += RECOUNT_INTERVAL_MS
    assert world.commit("late", 10_000)
    assert world.texts.held_bytes == 100_000


def test_a_commit_with_a_text_that_finds_no_room_is_refused_and_one_without_is_not() -> None:
    async def test() -> None:
        async with World() as world:
            await world.create_topic("t", 2)
            groups = world.groups
            with_text = change(world, 1)
            assert with_text.committed is not None
            with_text = OffsetChange("t", 0, with_text.committed._replace(metadata="m" * 100))
            await groups.commit("g", NO_MEMBER, [with_text], 149)
            with pytest.raises(KafkaError) as refused:
                await groups.commit("other", NO_MEMBER, [with_text], OFFSET_TEXT_BYTES_MAX)
            assert code_of(refused) is ErrorCode.OFFSET_METADATA_TOO_LARGE
            assert groups.find("other") is None
            await groups.commit("other", NO_MEMBER, [change(world, 2)])
            assert (committed(world, "g"), committed(world, "other")) == (1, 2)
            assert groups._text_bytes("g") == 149
            await groups.delete_group("g")
            assert groups._text_bytes("g") == 0

    run(test())
