"""Fetch sessions (KIP-227): what a client has to say again, and what it is told."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.differential.peer import Answer, Peer
from tests.differential.script import script
from tests.differential.steps.topics import (
    WRONG_ID,
    create,
    delete,
    delete_records,
    fetch_body,
    produce,
    values,
    wanted,
)

Wanted = Mapping[str, Sequence[dict[str, Any]]]


class Session:
    """A fetch session of one client: it counts epochs, unless it is told to get them wrong."""

    def __init__(self, peer: Peer, *, version: int = 12) -> None:
        self._peer, self._version = peer, version
        self.id, self.epoch = 0, 0

    def fetch(self, topics: Wanted | None = None, label: str = "", **more: Any) -> Answer:
        """Continue with what changed; `more` can change session_id, session_epoch and the limits."""
        more = {"session_id": self.id, "session_epoch": self.epoch, **more}
        body = fetch_body(topics or {}, by_id=self._version >= 13, **more)
        answer = self._peer.ask("fetch", self._version, body, label=label)
        if answer.get("error_code") == 0 and answer.get("session_id"):
            self.id, self.epoch = answer["session_id"], self.epoch + 1
        return answer


@script("session-life", seconds=2, family="fetch-sessions")
def life(peer: Peer) -> None:
    """A session from its first full fetch to its end."""
    topic, other = create(peer, "life", partitions=3), create(peer, "other")
    produce(peer, topic, values("a", "b"))
    produce(peer, topic, values("c"), partition=1)
    for version in (7, 10, 11, 12):
        session = Session(peer, version=version)
        session.fetch({topic: [wanted(0), wanted(0, partition=1), wanted(0, partition=2)]}, "the first one")
        session.fetch({}, "nothing said: the same data again")
        session.fetch({topic: [wanted(2), wanted(1, partition=1)]}, "gone on: nothing new")
        session.fetch({}, "nothing new")
        produce(peer, topic, values("d"), partition=2)
        session.fetch({}, "one partition has something")
        end = {7: 1, 10: 2, 11: 3, 12: 4}[version]
        session.fetch({topic: [wanted(end, partition=2)]}, "all are at the end")
        session.fetch({other: [wanted(0)]}, "another topic, which is empty")
        session.fetch({}, "nothing new")
        produce(peer, other, values("e"))
        session.fetch({}, "the other one")
        session.fetch({}, "forget the other one", forgotten={other: [0]})
        session.fetch({}, "it is forgotten")
        session.fetch({topic: [wanted(0)]}, "back to the begin")
        session.fetch({}, "forget what is not there", forgotten={topic: [7], peer.name("missing"): [0]})
        session.fetch({topic: [wanted(0, partition=1)]}, "change and forget", forgotten={topic: [1]})
        session.fetch({}, "after that")
        session.fetch({topic: [wanted(0)]}, "close", session_epoch=-1)
        session.fetch({}, "it is closed")
        delete_records(peer, other, 1)


@script("session-wrong", seconds=2, family="fetch-sessions")
def wrong(peer: Peer) -> None:
    """Ids and epochs that are not right; none of them harms the session."""
    topic = create(peer, "wrong")
    produce(peer, topic, values("a"))
    first = {topic: [wanted(0)]}
    for version in (7, 12):
        session = Session(peer, version=version)
        session.fetch(first, "unknown id", session_id=12345, session_epoch=1)
        session.fetch(first, "no id but an epoch", session_id=0, session_epoch=1)
        session.fetch(first, "an id that never was, to be closed", session_id=12345, session_epoch=-1)
        session.fetch(first, "nonsense epoch", session_id=0, session_epoch=-2)
        session.fetch(first, "the first one")
        session.fetch({}, "old epoch", session_epoch=session.epoch - 1)
        session.fetch({}, "future epoch", session_epoch=session.epoch + 1)
        session.fetch({}, "far future epoch", session_epoch=2**31 - 1)
        session.fetch({}, "negative epoch", session_epoch=-7)
        session.fetch({}, "the right one")
        old = session.id
        session.fetch(first, "begin anew with the id", session_epoch=0)
        renewed = session.id
        session.epoch = 1
        session.fetch({}, "the new one goes on")
        session.fetch({}, "the old one is gone", session_id=old, session_epoch=2)
        session.id = renewed
        session.fetch({}, "close with nothing", session_epoch=-1)
        session.fetch({}, "it is closed")
        session.fetch({}, "a session of nothing", session_id=0, session_epoch=0)


@script("session-errors", seconds=2, family="fetch-sessions")
def errors(peer: Peer) -> None:
    """Partitions with errors are told again and again; what is fixed is told once."""
    topic = create(peer, "errors", partitions=2)
    missing = peer.name("missing")
    produce(peer, topic, values("a"))
    session = Session(peer)
    session.fetch({topic: [wanted(0), wanted(5, partition=1), wanted(0, partition=9)], missing: [wanted(0)]}, "first")
    session.fetch({}, "errors again")
    session.fetch({topic: [wanted(1), wanted(0, partition=1)]}, "two are right now")
    session.fetch({}, "the others again")
    session.fetch({}, "forget the wrong ones", forgotten={topic: [9], missing: [0]})
    session.fetch({}, "nothing new")
    session.fetch({topic: [wanted(1, current_leader_epoch=9)]}, "an epoch of the future")
    session.fetch({topic: [wanted(1, current_leader_epoch=0)]}, "the right epoch")
    session.fetch({topic: [wanted(1, last_fetched_epoch=9)]}, "a last epoch of the future")
    session.fetch({topic: [wanted(-1)]}, "offset -1")
    session.fetch({topic: [wanted(0)]}, "right again")
    delete_records(peer, topic, 1)
    session.fetch({}, "its record is gone")
    session.fetch({topic: [wanted(1)]}, "after it")
    delete_records(peer, topic, 1)
    session.fetch({}, "nothing new")


@script("session-by-id", seconds=2, family="fetch-sessions")
def by_id(peer: Peer) -> None:
    """From v13 on topics are named by id, and a session is by names or by ids."""
    topic = create(peer, "by-id", partitions=2)
    topic_id = peer.topic_id(topic)
    produce(peer, topic, values("a"))
    for version in (13, 16, 17):
        session = Session(peer, version=version)
        session.fetch({topic_id: [wanted(0), wanted(0, partition=1)], WRONG_ID: [wanted(0)]}, "first, one wrong")
        session.fetch({}, "again")
        session.fetch({topic_id: [wanted(1)]}, "forget the wrong one", forgotten={WRONG_ID: [0]})
        session.fetch({}, "nothing new")
        session.fetch({WRONG_ID: [wanted(0, partition=3)]}, "the wrong one anew")
        by_name = Session(peer, version=12)
        by_name.id, by_name.epoch = session.id, session.epoch
        by_name.fetch({}, "go on by name")
        by_name.fetch({topic: [wanted(0)]}, "a session by name", session_id=0, session_epoch=0)
        session.id, session.epoch = by_name.id, 1
        session.fetch({}, "go on by id")


@script("session-topic-deleted", seconds=3, family="fetch-sessions")
def topic_deleted(peer: Peer) -> None:
    """A topic is deleted inside a session by name, and made again."""
    topic, other = create(peer, "deleted"), create(peer, "other")
    produce(peer, topic, values("a"))
    session = Session(peer, version=12)
    session.fetch({topic: [wanted(0)], other: [wanted(0)]}, "first")
    delete(peer, topic)
    session.fetch({}, "deleted")
    session.fetch({}, "still deleted")
    create(peer, "deleted")
    session.fetch({}, "made again, and empty")
    session.fetch({topic: [wanted(0)]}, "from the begin")
    produce(peer, topic, values("b"))
    session.fetch({}, "the new one's record")


@script("session-id-deleted", seconds=3, family="fetch-sessions")
def id_deleted(peer: Peer) -> None:
    """A topic is deleted inside a session by id, and made again: its old id never comes back."""
    topic, other = create(peer, "deleted"), create(peer, "other")
    produce(peer, topic, values("a"))
    old_id, other_id = peer.topic_id(topic), peer.topic_id(other)
    session = Session(peer, version=13)
    session.fetch({old_id: [wanted(0)], other_id: [wanted(0)]}, "first")
    delete(peer, topic)
    session.fetch({}, "deleted")
    session.fetch({}, "still deleted")
    create(peer, "deleted")
    produce(peer, topic, values("b"))
    session.fetch({}, "made again")
    new_id = peer.topic_id(topic)
    session.fetch({new_id: [wanted(0)]}, "the new one beside the old one")
    session.fetch({}, "forget the old one", forgotten={old_id: [0]})
    session.fetch({}, "only the new one")
    full = Session(peer, version=13)
    full.fetch({old_id: [wanted(0)], new_id: [wanted(0)]}, "a full fetch with both")


@script("session-limits", seconds=2, family="fetch-sessions")
def limits(peer: Peer) -> None:
    """max_bytes over several partitions: who got data goes to the end of the line."""
    topic = create(peer, "limits", partitions=4)
    for partition in range(4):
        for name in "abc":
            produce(peer, topic, values(name * 200), partition=partition)
    session = Session(peer)
    everything = [wanted(0, partition=partition) for partition in range(4)]
    session.fetch({topic: everything}, "only the first has room", max_bytes=300)
    session.fetch({}, "turn 1", max_bytes=300)
    session.fetch({}, "turn 2", max_bytes=300)
    session.fetch({}, "turn 3", max_bytes=300)
    session.fetch({}, "turn 4", max_bytes=300)
    session.fetch({}, "turn 5, for two", max_bytes=700)
    session.fetch({}, "turn 6, for two", max_bytes=700)
    session.fetch({topic: [wanted(3, partition=0)]}, "one has nothing left", max_bytes=300)
    session.fetch({}, "turn 8", max_bytes=300)
    session.fetch({}, "turn 9, for all", max_bytes=1 << 20)
    session.fetch({}, "no bytes at all", max_bytes=0)
    session.fetch({}, "one byte", max_bytes=1)


@script("session-waits", seconds=3, family="fetch-sessions")
def waits(peer: Peer) -> None:
    """min_bytes and max_wait inside a session."""
    topic = create(peer, "waits", partitions=2)
    session = Session(peer)
    session.fetch({topic: [wanted(0), wanted(0, partition=1)]}, "first")
    session.fetch({}, "waits in vain", max_wait=150)
    body = fetch_body({}, session_id=session.id, session_epoch=session.epoch, max_wait=8_000)
    waiting = peer.send("fetch", 12, body, on="waiting", label="waits for a record")
    assert peer.pending(waiting, for_s=0.1)
    produce(peer, topic, values("a"), partition=1)
    peer.take(waiting)
    session.epoch += 1
    session.fetch({topic: [wanted(1, partition=1)]}, "waits in vain", max_wait=150, min_bytes=100)
    session.fetch({topic: [wanted(0, partition=1)]}, "less than it wants", max_wait=150, min_bytes=10_000)
    session.fetch({topic: [wanted(9, partition=1)]}, "an error does not wait", max_wait=8_000)
