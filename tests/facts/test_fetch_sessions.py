"""Incremental fetch sessions (KIP-227): opening, going on, forgetting, closing, and the two errors."""

from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from tests.support import batches
from tests.support.batches import decode_records
from tests.support.raw_client import RawClient

pytestmark = pytest.mark.feature("F-01")

NO_SESSION = 0
OPEN, CLOSE = 0, -1


class Session:
    """A fetch session over both partitions of a topic, driven request by request."""

    def __init__(self, client: RawClient, topic: str) -> None:
        self.client = client
        self.topic = topic
        answer = self.request([(0, 0), (1, 0)], session_id=NO_SESSION, epoch=OPEN)
        assert answer.error_code == ErrorCode.none
        self.opened_with = answer
        self.session_id = answer.session_id
        self.epoch = 1

    def request(
        self,
        changes: list[tuple[int, int]],
        *,
        session_id: int,
        epoch: int,
        forgotten: list[int] | None = None,
        version: int = 12,
    ) -> Any:
        values = self.client.fetch_values(self.topic, 0, session_id=session_id, session_epoch=epoch)
        template = values["topics"][0]["partitions"][0]
        values["topics"][0]["partitions"] = [
            {**template, "partition": partition, "fetch_offset": offset} for partition, offset in changes
        ]
        if not changes:
            values["topics"] = []
        if forgotten:
            values["forgotten_topics_data"] = [{"topic": self.topic, "partitions": forgotten}]
        return self.client.call("fetch", version, **values)

    def go_on(self, *changes: tuple[int, int], forgotten: list[int] | None = None) -> dict[int, Any]:
        """The next incremental fetch; the partitions in its answer by number."""
        answer = self.request(list(changes), session_id=self.session_id, epoch=self.epoch, forgotten=forgotten)
        assert answer.error_code == ErrorCode.none, answer
        assert answer.session_id == self.session_id
        self.epoch += 1
        return {each.partition_index: each for topic in answer.responses for each in topic.partitions}


@pytest.fixture
def session(client: RawClient) -> Session:
    topic = client.create_topic(partitions=2)
    for partition in range(2):
        client.appended(topic, batches.values("first"), partition=partition)
    return Session(client, topic)


def test_a_full_fetch_opens_a_session(session: Session) -> None:
    """A fetch with session id 0 and epoch 0 gets a session id and all of its partitions."""
    assert session.session_id != NO_SESSION
    assert len(session.opened_with.responses[0].partitions) == 2


def test_a_fetch_without_a_session_opens_none(client: RawClient, topic: str) -> None:
    """A fetch with epoch −1 wants no session and is given none."""
    answer = client.call("fetch", 12, **client.fetch_values(topic, 0, session_epoch=-1))
    assert (answer.error_code, answer.session_id) == (ErrorCode.none, NO_SESSION)


def test_an_unchanged_incremental_answer_is_empty(session: Session) -> None:
    """A partition without news is left out of an incremental answer."""
    session.go_on((0, 1), (1, 1))
    assert session.go_on() == {}


def test_an_incremental_answer_holds_only_what_changed(session: Session) -> None:
    """Only the partition with new records is in an incremental answer; the session remembers the offsets."""
    session.go_on((0, 1), (1, 1))
    session.client.appended(session.topic, batches.values("second"), partition=1)
    changed = session.go_on()
    assert list(changed) == [1]
    assert [record.value for record in decode_records(changed[1].records)] == [b"second"]


def test_a_moved_log_start_is_news(session: Session) -> None:
    """A new log start offset is told in an incremental answer even though there are no records."""
    session.go_on((0, 1), (1, 1))
    session.client.delete_records(session.topic, 1, partition=0)
    changed = session.go_on()
    assert list(changed) == [0]
    assert (changed[0].log_start_offset, changed[0].records) == (1, b"")


def test_a_session_that_has_been_quiet_hears_of_everything(session: Session) -> None:
    """However long nothing was told: records, a moved log start and the end of the topic are."""
    session.go_on((0, 1), (1, 1))
    for _ in range(3):
        assert session.go_on() == {}
    session.client.appended(session.topic, batches.values("second"))
    assert [record.value for record in decode_records(session.go_on()[0].records)] == [b"second"]
    assert session.go_on((0, 2)) == {}
    session.client.delete_records(session.topic, 2)
    assert session.go_on()[0].log_start_offset == 2
    assert session.go_on() == {}
    session.client.delete_topic(session.topic)
    errors = {partition: answer.error_code for partition, answer in session.go_on().items()}
    assert errors == dict.fromkeys((0, 1), ErrorCode.unknown_topic_or_partition)


def test_forgotten_partitions_are_left_out(session: Session) -> None:
    """A partition that the client forgets is not in the session any more."""
    session.go_on((0, 1), (1, 1))
    session.go_on(forgotten=[1])
    for partition in range(2):
        session.client.appended(session.topic, batches.values("second"), partition=partition)
    assert list(session.go_on()) == [0]


def test_an_error_is_told_in_each_incremental_answer(session: Session) -> None:
    """A partition with an error is in every incremental answer as long as the error lasts."""
    for changes in ([(0, 99)], []):
        assert session.go_on(*changes)[0].error_code == ErrorCode.offset_out_of_range


@pytest.mark.parametrize("version", [7, 11, 12, 15, 18])
def test_an_unknown_session_id(client: RawClient, topic: str, version: int) -> None:
    """A session that does not exist is FETCH_SESSION_ID_NOT_FOUND for the whole answer."""
    values = {**client.fetch_values(topic, 0, session_id=123_456, session_epoch=3), "topics": []}
    answer = client.call("fetch", version, **values)
    assert (answer.error_code, answer.responses) == (ErrorCode.fetch_session_id_not_found, ())


def test_a_wrong_session_epoch(session: Session) -> None:
    """An epoch that is not the next one is INVALID_FETCH_SESSION_EPOCH, and the session goes on."""
    answer = session.request([], session_id=session.session_id, epoch=9)
    assert (answer.error_code, answer.responses) == (ErrorCode.invalid_fetch_session_epoch, ())
    session.go_on((0, 1), (1, 1))


def test_closing_a_session(session: Session) -> None:
    """Epoch −1 with a session id closes it: a full answer without session, and then it is not found."""
    answer = session.request([(0, 0)], session_id=session.session_id, epoch=CLOSE)
    assert (answer.error_code, answer.session_id) == (ErrorCode.none, NO_SESSION)
    assert len(answer.responses) == 1
    again = session.request([], session_id=session.session_id, epoch=1)
    assert again.error_code == ErrorCode.fetch_session_id_not_found


def test_a_session_can_be_replaced(session: Session) -> None:
    """Epoch 0 with an old session id ends that one and opens another."""
    answer = session.request([(0, 0)], session_id=session.session_id, epoch=OPEN)
    assert answer.error_code == ErrorCode.none
    assert answer.session_id not in (NO_SESSION, session.session_id)
    old = session.request([], session_id=session.session_id, epoch=1)
    assert old.error_code == ErrorCode.fetch_session_id_not_found
