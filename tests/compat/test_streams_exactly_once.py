"""Kafka's own word count with processing.guarantee=exactly_once_v2, killed in the middle of its transactions.

It writes a word's count whenever that rises, so a reader of committed records sees 1, 2, 3 … for each word, nothing
left out and nothing twice. Of every kill something stays in the output that is not to be seen.
"""

import struct
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.clients.streams import OUTPUT, SETTINGS, WordCount
from tests.compat.clients.topic_reader import TopicReader
from tests.compat.counting import COUNTED_WITHIN_S, LINES, Counting
from tests.support.broker_process import BrokerProcess
from tests.support.waiting import DeadlinePassed, wait_until

pytestmark = [pytest.mark.feature("K-07", "F-02"), pytest.mark.timeout(400)]

KILLS = 3
EXACTLY_ONCE = SETTINGS | {
    "processing.guarantee": "exactly_once_v2",
    "commit.interval.ms": "1000",  # so long a transaction is open
}

Counts = dict[str, list[int]]


@pytest.fixture
def counting(own_broker: BrokerProcess) -> Counting:
    return Counting(own_broker)


@pytest.fixture
def instance(counting: Counting, tmp_path: Path) -> Iterator[WordCount]:
    made = WordCount(counting.broker.bootstrap, tmp_path / "instance", EXACTLY_ONCE)
    yield made
    made.kill9()


def counts_in(found: list[tuple[bytes, bytes]]) -> Counts:
    """Every count of each word, in order."""
    counts: Counts = defaultdict(list)
    for word, count in found:
        counts[word.decode()] += struct.unpack(">q", count)
    return counts


def has_open_output(counting: Counting) -> bool:
    """Whether the output has records of an undecided transaction."""
    with counting.client() as client:
        answer = client.fetch(OUTPUT, 0, isolation_level=1, partition_max_bytes=1)
    return bool(answer.last_stable_offset < answer.high_watermark)


def wait_for_output(counting: Counting, instance: WordCount, *, is_open: bool) -> None:
    try:
        wait_until(
            lambda: has_open_output(counting) == is_open,
            what=f"a transaction that is {'open' if is_open else 'ended'}",
            within_s=COUNTED_WITHIN_S,
        )
    except DeadlinePassed as error:
        raise AssertionError(f"{error}\n{instance.log_tail()}") from error


def check(counting: Counting, instance: WordCount) -> None:
    """A reader of committed records sees every count once; others see more than that."""
    expected = {word: list(range(1, count + 1)) for word, count in counting.written.items()}
    total = sum(counting.written.values())
    bootstrap = counting.broker.bootstrap
    reader = TopicReader(bootstrap, OUTPUT, "read_committed")
    try:
        wait_until(lambda: len(reader.read()) >= total, what="every word is counted", within_s=COUNTED_WITHIN_S)
    except DeadlinePassed as error:
        raise AssertionError(f"{error}\n{instance.log_tail()}") from error
    reader.close()
    instance.stop()
    assert counts_in(TopicReader(bootstrap, OUTPUT, "read_committed").read_to_the_end()) == expected
    written = TopicReader(bootstrap, OUTPUT, "read_uncommitted").read_to_the_end()
    assert len(written) > total, "no kill left anything, so nothing is shown"
    assert counts_in(written) != expected


def test_word_count_exactly_once(counting: Counting, instance: WordCount) -> None:
    """Three kills of the application, and one of the broker, each with a transaction open."""
    instance.start()
    for number in range(KILLS):
        for _ in range(10):
            counting.write(*LINES, f"line {number}")
        wait_for_output(counting, instance, is_open=True)
        instance.kill9()
        instance.start()
        wait_for_output(counting, instance, is_open=False)
    if counting.broker.kind == "penstock" and counting.broker.is_durable:  # for Kafka see the chaos tests
        counting.write(*LINES)
        wait_for_output(counting, instance, is_open=True)
        counting.broker.kill9()
        counting.broker.start()
    counting.write("after the kills")
    check(counting, instance)
