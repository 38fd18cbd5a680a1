"""The tables of topics and partitions, by themselves."""

import uuid

import pytest

from penstock.cluster.partitions import PartitionTable
from penstock.cluster.topics import Topic, TopicChange, TopicTable
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.ids import PartitionId
from penstock.storage.interface import LogConfig, LogState
from tests.support.plain_engine import PlainEngine, opened_log


def topic(name: str, partitions: int = 1, topic_id: uuid.UUID | None = None, epoch: int = 2) -> Topic:
    return Topic(
        name=name,
        topic_id=topic_id or uuid.uuid4(),
        partition_count=partitions,
        configs={},
        internal=False,
        leader_epochs=(epoch,) * partitions,
    )


def code_of(error: pytest.ExceptionInfo[KafkaError]) -> ErrorCode:
    return error.value.code


def test_topics_are_found_by_name_and_id() -> None:
    table = TopicTable()
    orders = topic("orders", 3)
    table.put(orders)
    assert table.get("orders") is table.get_by_id(orders.topic_id) is orders
    assert table.get("other") is table.get_by_id(uuid.uuid4()) is table.get_by_id(None) is None
    assert (len(table), "orders" in table, table.partition_count) == (1, True, 3)


def test_names_come_in_order_from_anywhere() -> None:
    table = TopicTable()
    for name in ("b", "d", "a"):
        table.put(topic(name))
    assert [each.name for each in table.all()] == ["b", "d", "a"]
    assert list(table.names_from()) == ["a", "b", "d"]
    assert list(table.names_from("b")) == ["b", "d"]
    assert list(table.names_from("c")) == ["d"]
    table.put(topic("c"))
    assert list(table.names_from("c")) == ["c", "d"]


def test_listeners_hear_of_every_change() -> None:
    table = TopicTable()
    heard: list[TopicChange] = []
    table.subscribe(heard.append)
    first = topic("t", 1)
    grown = topic("t", 2, first.topic_id)
    table.put(first)
    table.put(grown)
    table.remove(first.topic_id)
    assert heard == [(None, first), (first, grown), (grown, None)]
    assert [change.created for change in heard] == [first, None, None]
    assert [change.deleted for change in heard] == [None, None, grown]
    assert (len(table), table.partition_count, list(table.names_from())) == (0, 0, [])
    table.unsubscribe(heard.append)
    table.put(topic("u"))
    assert len(heard) == 3


class Tables:
    """A topic table and a partition table over an engine, as the controller drives them."""

    def __init__(self) -> None:
        self.engine = PlainEngine()
        self.topics = TopicTable()
        self.partitions = PartitionTable(engine=self.engine, topics=self.topics)

    def put(self, new: Topic) -> Topic:
        for index in range(new.partition_count):
            partition = PartitionId(new.topic_id, index)
            if partition not in self.engine.declared:
                self.engine.declare(new.name, partition, LogConfig(), 0)
        self.topics.put(new)
        return new


def test_partitions_open_on_first_use() -> None:
    tables = Tables()
    orders = tables.put(topic("orders", 2))
    assert not tables.engine.opened
    partition = tables.partitions.get("orders", 1)
    assert (partition.topic, partition.index, partition.topic_id) == ("orders", 1, orders.topic_id)
    assert partition.leader_epoch == 2
    assert tables.partitions.get("orders", 1) is tables.partitions.get_by_id(orders.topic_id, 1) is partition
    assert list(tables.partitions.opened()) == [partition]


def test_partitions_that_do_not_exist() -> None:
    tables = Tables()
    orders = tables.put(topic("orders", 1))
    for name, index in (("orders", 1), ("orders", -1), ("other", 0)):
        with pytest.raises(KafkaError) as error:
            tables.partitions.get(name, index)
        assert code_of(error) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    with pytest.raises(KafkaError) as error:
        tables.partitions.get_by_id(uuid.uuid4(), 0)
    assert code_of(error) is ErrorCode.UNKNOWN_TOPIC_ID
    with pytest.raises(KafkaError) as error:
        tables.partitions.get_by_id(None, 0)
    assert code_of(error) is ErrorCode.UNKNOWN_TOPIC_ID
    with pytest.raises(KafkaError) as error:
        tables.partitions.get_by_id(orders.topic_id, 1)
    assert code_of(error) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_partitions_are_added_to_open_ones() -> None:
    tables = Tables()
    first = tables.put(topic("t", 1))
    opened = tables.partitions.get("t", 0)
    tables.put(topic("t", 3, first.topic_id))
    assert tables.partitions.get("t", 0) is opened
    assert tables.partitions.get_by_id(first.topic_id, 2).index == 2


def test_a_table_made_late_knows_earlier_topics() -> None:
    tables = Tables()
    tables.put(topic("t", 1))
    late = PartitionTable(engine=tables.engine, topics=tables.topics)
    assert late.get("t", 0).topic == "t"


def test_a_flush_reaches_those_who_wait() -> None:
    tables = Tables()
    tables.put(topic("t", 1))
    partition = tables.partitions.get("t", 0)
    log = opened_log(partition._log)
    woken: list[object] = []
    log.grow(5)
    partition.when_stored(4, lambda code: woken.append(("stored", code)))
    partition.when_visible(4, lambda code: woken.append(("visible", code)))
    partition.add_data_waiter(lambda: woken.append("data"))
    assert woken == []
    log.flush()
    tables.partitions.on_flushed(log)
    assert woken == [("stored", ErrorCode.NONE), ("visible", ErrorCode.NONE), "data"]
    partition.when_visible(4, woken.append)
    assert woken[-1] is ErrorCode.NONE, "called at once"


def test_deletion_wakes_those_who_wait() -> None:
    tables = Tables()
    doomed = tables.put(topic("t", 1))
    partition = tables.partitions.get("t", 0)
    log = opened_log(partition._log)
    woken: list[ErrorCode] = []
    log.grow(1)
    partition.when_stored(0, woken.append)
    partition.when_visible(0, woken.append)
    assert woken == []
    partition.add_data_waiter(lambda: woken.append(partition.failure))
    tables.topics.remove(doomed.topic_id)
    assert woken == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 3
    assert partition.failed
    partition.when_visible(0, woken.append)
    partition.when_stored(0, woken.append)
    assert woken == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * 5
    tables.partitions.on_flushed(log)  # a round that was under way
    with pytest.raises(KafkaError):
        tables.partitions.get("t", 0)


def test_a_failed_log_takes_its_partition_offline() -> None:
    tables = Tables()
    owner = tables.put(topic("t", 2))
    partition = tables.partitions.get("t", 1)
    woken: list[ErrorCode] = []
    opened_log(partition._log).grow(1)
    partition.when_visible(0, woken.append)
    opened_log(partition._log).state = LogState.OFFLINE
    tables.partitions.on_flushed(partition._log)
    assert woken == [ErrorCode.KAFKA_STORAGE_ERROR]
    assert tables.partitions.offline_in(owner) == {1}
    assert tables.partitions.offline_count == 1
    tables.topics.remove(owner.topic_id)
    assert tables.partitions.offline_count == 0


def test_a_log_that_cannot_be_opened() -> None:
    tables = Tables()
    owner = tables.put(topic("t", 1))
    tables.engine.open_error = OSError(5, "Input/output error")
    with pytest.raises(KafkaError) as error:
        tables.partitions.get("t", 0)
    assert code_of(error) is ErrorCode.KAFKA_STORAGE_ERROR
    assert tables.partitions.offline_in(owner) == {0}


def test_a_log_that_can_be_opened_after_all_is_online_again() -> None:
    tables = Tables()
    owner = tables.put(topic("t", 2))
    tables.engine.open_error = OSError(24, "Too many open files")
    for index in range(2):
        with pytest.raises(KafkaError):
            tables.partitions.get("t", index)
    assert tables.partitions.offline_count == 2
    tables.engine.open_error = None
    assert not tables.partitions.get("t", 0).failed
    # A partition without a leader gets no requests: a query of offline partitions is enough.
    assert tables.partitions.offline_in(owner) == frozenset()
    assert tables.partitions.offline_count == 0
