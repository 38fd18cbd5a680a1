"""A Kafka Streams application: Kafka's own word count, without a change, at least once.

It makes topics for itself, keeps its counts in RocksDB and in a compacted topic, and shares its work by a group whose
assignor is its own. One scenario after the other over the same counts: each begins where the last one ended.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.compat.clients.java import run_tool
from tests.compat.clients.streams import APPLICATION, INPUT, WordCount
from tests.compat.counting import COUNTED_WITHIN_S, LINES, PARTITIONS, Counting
from tests.support.broker_process import BrokerProcess
from tests.support.group_client import committed
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.feature("F-02"), pytest.mark.timeout(400)]


@pytest.fixture
def counting(own_broker: BrokerProcess) -> Counting:
    if not own_broker.is_durable:
        pytest.skip("needs a broker that can be killed")
    return Counting(own_broker)


@pytest.fixture
def instances(counting: Counting, tmp_path: Path) -> Iterator[list[WordCount]]:
    made = [WordCount(counting.broker.bootstrap, tmp_path / name) for name in ("first", "second")]
    yield made
    for instance in made:
        instance.kill9()


def test_word_count(counting: Counting, instances: list[WordCount]) -> None:
    """Counts stay right through a kill -9 of the broker, a second instance, lost state, and a reset."""
    first, second = instances
    first.start()
    counting.write(*LINES)
    counting.check(first)
    check_internal_topics(counting)

    for number in range(10):
        counting.write(*LINES, f"line {number}")
    counting.broker.kill9()
    counting.broker.start()
    counting.write("after the kill")
    counting.check(first)

    second.start()
    wait_until(
        lambda: len(counting.shares()) == 2 and min(counting.shares()) >= 2,
        what="both instances have work",
        within_s=COUNTED_WITHIN_S,
    )
    counting.write("work for two", *LINES)
    counting.check(first, second)

    first.stop()
    second.stop()
    first.forget_state()
    counting.forget()
    counting.write(*counting.written)  # every word once more, so that each has a new count
    first.start()
    counting.check(first)
    first.stop()

    check_reset(counting)
    first.forget_state()
    counting.forget()
    first.start()
    counting.check(first)


def check_internal_topics(counting: Counting) -> None:
    """Internal topics of Streams: partitions like the input's, one compacted forever, one kept until it is read."""
    changelog, repartition = counting.internal_topics()
    assert changelog.endswith("-changelog")
    assert repartition.endswith("-repartition")
    with counting.client() as client:
        assert [len(topic.partitions) for topic in client.metadata(changelog, repartition).topics] == [PARTITIONS] * 2
    kept, passing = counting.configs(changelog), counting.configs(repartition)
    assert kept == {"cleanup.policy": "compact", "message.timestamp.type": "CreateTime"}
    assert passing == {
        "cleanup.policy": "delete",
        "message.timestamp.type": "CreateTime",
        "retention.ms": "-1",
        "segment.bytes": "52428800",
    }


def check_reset(counting: Counting) -> None:
    """Kafka's own tool resets an application: offsets at the start, internal topics gone."""
    wait_until(lambda: not counting.shares(), what="the group is empty")
    printed = run_tool(
        "StreamsResetter", "--bootstrap-server", counting.broker.bootstrap,
        "--application-id", APPLICATION, "--input-topics", INPUT,
    )  # fmt: skip
    assert "Done." in printed, printed
    wait_until(lambda: not counting.internal_topics(), what="the internal topics are gone")
    with counting.client() as client:
        offsets = [committed_offset(committed(client, APPLICATION, INPUT, index)) for index in range(PARTITIONS)]
    assert offsets == [0] * PARTITIONS


def committed_offset(answer: Any) -> int:
    return int(answer.committed_offset)
