"""The pipe under chosen crashes, losses, delays and times: a child is always a prefix of its parent, gets everything,
and says how it stands with it.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.topology.pipe.reading import first_batch_offset
from penstock.topology.pipe.wire import Status, decode_answer
from tests.support.pipe_world import PAUSE_MS, PLACE, Child, Node, Root, Time, damaged, same_where_both_have_it

pytestmark = pytest.mark.feature("P-12", "P-28")

STEPS = 120


def transfer(child: Child, parent: Node, random: Random) -> None:
    """One question, whose answer may take its time, arrive, be lost, be damaged, or come when the child has died."""
    answer = child.ask(parent)
    if random.random() < 0.2:
        child.time.passes(random.choice([1, PAUSE_MS, 30_000]))
    fate = random.random()
    if fate < 0.7:
        child.take(answer)
        check_time(child, answer)
    elif fate < 0.8:
        child.failed()
    elif fate < 0.9:
        child.take(damaged(answer, random))
    else:
        child.crash()


def check_time(child: Child, answer: bytes) -> None:
    """Behind since some moment up to now, or not behind; and whom the parent cannot answer for is left alone for a
    while.
    """
    one = child.follower.partitions.get(PLACE)
    if one is None:
        return
    assert -1 <= one.behind_since_ms <= child.time.now_ms
    assert (one.behind_since_ms == -1) >= (one.lag == 0)
    is_put_off = any(each.status in (Status.BEHIND, Status.UNAVAILABLE) for each in decode_answer(answer).partitions)
    if is_put_off:
        assert one.ask_again_ms == child.time.now_ms + PAUSE_MS
        assert not child.follower.request(child.time.now_ms + PAUSE_MS - 1).partitions
        assert child.follower.request(child.time.now_ms + PAUSE_MS).partitions


def settle(child: Child, parent: Node) -> None:
    parent.flush()
    for _ in range(1_000):
        child.time.passes(PAUSE_MS)
        child.take(child.ask(parent))
        child.flush()
        if child.log.flushed == parent.log.flushed and child.log.log_start >= parent.log.log_start:
            return
    raise AssertionError(f"{child.log.flushed} of {parent.log.flushed}")


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32))
def test_three_levels_whatever_happens(seed: int) -> None:
    random = Random(seed)
    time = Time()
    root, middle, leaf = Root(random), Child(time), Child(time)
    leafs_parent: Node = middle

    def change_parent() -> None:
        nonlocal leafs_parent
        leafs_parent = random.choice([root, middle])
        leaf.begin_anew()

    actions = [
        root.produce, root.produce, root.produce, root.end_transaction, root.flush, root.flush, root.crash,
        lambda: transfer(middle, root, random), lambda: transfer(middle, root, random),
        lambda: transfer(leaf, leafs_parent, random), lambda: transfer(leaf, leafs_parent, random),
        middle.flush, leaf.flush, middle.crash, leaf.crash, change_parent,
        lambda: time.passes(random.choice([1, PAUSE_MS, 61_000])),
    ]  # fmt: skip
    trims = random.random() < 0.3
    for _ in range(STEPS):
        random.choice(actions)()
        if trims and random.random() < 0.05:
            root.trim()
        for child in (middle, leaf):
            assert not child.diverged
            assert child.log.log_end <= root.log.flushed
            assert same_where_both_have_it(child.log, root.log, child.log.log_end)
    root.flush()
    settle(middle, root)
    leaf.begin_anew()
    settle(leaf, middle)
    for child, parent in ((middle, root), (leaf, middle)):
        for _ in range(3):  # as many good answers as make it healthy, whatever was before
            child.time.passes(PAUSE_MS)
            child.take(child.ask(parent))
        assert (child.lag_ms, child.health.state.name) == (0, "HEALTHY")
        assert same_where_both_have_it(child.log, root.log, root.log.flushed)
        if not trims:  # what is known of a transaction that began in what was deleted differs
            assert child.log.stable_end(child.log.flushed) == root.log.stable_end(root.log.flushed)
            assert child.gaps == 0


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_a_parent_that_forgot_what_it_had_shown_is_noticed(seed: int) -> None:
    """A disk that lies, or an old copy of it: the child stops before it mixes two histories."""
    random = Random(seed)
    root, child = Root(random), Child()
    for _ in range(random.randint(1, 10)):
        root.produce()
    root.flush()
    settle(child, root)
    had = child.log.log_end
    kept = random.randint(0, had)
    root.crash(keep=kept)
    kept = root.log.log_end  # whole batches
    for _ in range(random.randint(0, 10)):
        root.produce()
    root.flush()
    if random.random() < 0.5:
        child.crash()
    for _ in range(5):
        child.take(child.ask(root))
    if kept < had:
        assert child.diverged
        assert child.log.log_end == had
    else:
        assert not child.diverged


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_a_gap_is_told_once_and_the_log_starts_after_it(seed: int) -> None:
    random = Random(seed)
    root, child = Root(random), Child()
    for _ in range(5):
        root.produce()
    root.flush()
    settle(child, root)
    end = child.log.log_end
    for _ in range(5):
        root.produce()
    root.flush()
    root.log.delete_records(random.randint(end + 1, root.log.flushed))
    first_base = first_batch_offset(root.partition, wait=True)
    settle(child, root)
    gaps = int(first_base > end)  # otherwise the batch is there, and some of its records are deleted
    assert child.gaps == gaps
    assert child.log.log_start == root.log.log_start
    assert same_where_both_have_it(child.log, root.log, root.log.flushed)
    child.crash()
    settle(child, root)
    assert child.gaps == gaps
