"""Members of classic groups, and the bodies of the requests about groups and offsets."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tests.differential.peer import Peer, Ticket
from tests.support.group_client import subscription

SESSION_MS, REBALANCE_MS = 30_000, 30_000
EMPTY, PREPARING, COMPLETING = "Empty", "PreparingRebalance", "CompletingRebalance"
STABLE, DEAD = "Stable", "Dead"
NO_GENERATION = -1

Body = dict[str, Any]


class Member:
    """One member (or one that would like to be), on a connection of its own that has its name."""

    def __init__(
        self,
        peer: Peer,
        name: str,
        group: str,
        *,
        protocols: Mapping[str, bytes] | None = None,
        instance: str | None = None,
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        protocol_type: str = "consumer",
    ) -> None:
        self.peer, self.name, self.group = peer, name, group
        self.protocols = {"range": subscription("news")} if protocols is None else protocols
        self.instance = instance
        self.session_ms, self.rebalance_ms = session_ms, rebalance_ms
        self.protocol_type = protocol_type
        self.id = ""
        self.generation = NO_GENERATION
        self.protocol: str | None = None

    # --- joining -----------------------------------------------------------------------------------------------------

    def join_body(self, **changes: Any) -> Body:
        return {
            "group_id": self.group,
            "session_timeout": self.session_ms,
            "rebalance_timeout": self.rebalance_ms,
            "member_id": self.id,
            "group_instance_id": self.instance,
            "protocol_type": self.protocol_type,
            "protocols": [{"name": name, "metadata": data} for name, data in self.protocols.items()],
            "reason": "a test",
            **changes,
        }

    def _joined(self, answer: Body) -> Body:
        if answer["error_code"] in (0, 79):  # none, or MEMBER_ID_REQUIRED, which brings the id
            self.id = answer["member_id"]
        if answer["error_code"] == 0:
            self.generation = answer["generation_id"]
            self.protocol = answer["protocol_name"]
        return answer

    def join(self, version: int = 5, *, label: str = "", **changes: Any) -> Body:
        body = self.join_body(**changes)
        return self._joined(self.peer.ask("join_group", version, body, on=self.name, client_id=self.name, label=label))

    def start_join(self, version: int = 5, **changes: Any) -> Ticket:
        return self.peer.send("join_group", version, self.join_body(**changes), on=self.name, client_id=self.name)

    def finish_join(self, ticket: Ticket) -> Body:
        return self._joined(self.peer.take(ticket))

    def ask_for_id(self, version: int = 5) -> str:
        """The id that a first join is answered with; the join itself is still to come."""
        answer = self.join(version)
        assert answer["error_code"] == 79, answer
        return self.id

    # --- syncing and living ------------------------------------------------------------------------------------------

    def sync_body(self, shares: Mapping[str, bytes] | None = None, **changes: Any) -> Body:
        return {
            "group_id": self.group,
            "generation_id": self.generation,
            "member_id": self.id,
            "group_instance_id": self.instance,
            "protocol_type": self.protocol_type,
            "protocol_name": self.protocol or next(iter(self.protocols), ""),
            "assignments": [{"member_id": member, "assignment": share} for member, share in (shares or {}).items()],
            **changes,
        }

    def sync(self, shares: Mapping[str, bytes] | None = None, version: int = 3, **changes: Any) -> Body:
        return self.peer.ask("sync_group", version, self.sync_body(shares, **changes), on=self.name)

    def start_sync(self, shares: Mapping[str, bytes] | None = None, version: int = 3, **changes: Any) -> Ticket:
        return self.peer.send("sync_group", version, self.sync_body(shares, **changes), on=self.name)

    def heartbeat_body(self, **changes: Any) -> Body:
        return {
            "group_id": self.group,
            "generation_id": self.generation,
            "member_id": self.id,
            "group_instance_id": self.instance,
            **changes,
        }

    def heartbeat(self, version: int = 3, *, on: str = "main", **changes: Any) -> int:
        return int(self.peer.ask("heartbeat", version, self.heartbeat_body(**changes), on=on)["error_code"])

    def leave(self, version: int = 4, **changes: Any) -> Body:
        leaving = {"member_id": self.id, "group_instance_id": self.instance, "reason": "bye", **changes}
        return self.peer.ask("leave_group", version, leave_body(self.group, [leaving]))

    # --- offsets -----------------------------------------------------------------------------------------------------

    def commit(self, topic: str, offset: int, version: int = 8, **changes: Any) -> Body:
        body = commit_body(self.group, [(topic, 0, offset)])
        body |= {
            "generation_id_or_member_epoch": self.generation,
            "member_id": self.id,
            "group_instance_id": self.instance,
            **changes,
        }
        return self.peer.ask("offset_commit", version, body)


def join_alone(member: Member, share: bytes = b"all", version: int = 5) -> None:
    """A stable group of one, its leader."""
    if version >= 4 and member.instance is None:
        member.ask_for_id(version)
    member.join(version)
    member.sync({member.id: share})


def join_beside(leader: Member, others: Sequence[Member], shares: Mapping[str, bytes] | None = None) -> None:
    """Add members to the stable group of `leader`, one after the other, and end in a stable group of all."""
    gathered: list[tuple[Member, Ticket]] = []
    for count, other in enumerate(others, start=1):
        if other.instance is None:
            other.ask_for_id()
        ticket = other.start_join()
        wait_members(leader.peer, leader.group, PREPARING, count + 1)
        gathered.append((other, ticket))
    leader.join()
    for other, ticket in gathered:
        other.finish_join(ticket)
    everyone = [leader, *others]
    leader.sync(shares or {member.id: member.name.encode() for member in everyone})
    for other in others:
        other.sync()


# --- what is seen from outside ---------------------------------------------------------------------------------------


def describe(peer: Peer, *groups: str, version: int = 5, operations: bool = False) -> Body:
    return peer.ask("describe_groups", version, {"groups": list(groups), "include_authorized_operations": operations})


def wait_state(peer: Peer, group: str, state: str, version: int = 5) -> Body:
    """Poll until the group is in this state, and record it."""
    return peer.until(
        lambda: peer.quietly("describe_groups", version, {"groups": [group]}),
        lambda answer: answer["groups"][0]["group_state"] == state,
    )


def wait_members(peer: Peer, group: str, state: str, count: int) -> Body:
    """Poll until the group is in this state with so many members, and record it."""

    def done(answer: Body) -> bool:
        (described,) = answer["groups"]
        return bool(described["group_state"] == state and len(described["members"]) == count)

    return peer.until(lambda: peer.quietly("describe_groups", 5, {"groups": [group]}), done)


# --- bodies ----------------------------------------------------------------------------------------------------------


def leave_body(group: str, members: Sequence[Mapping[str, Any]]) -> Body:
    """The first one is also the member of the versions that know only one."""
    return {
        "group_id": group,
        "member_id": members[0]["member_id"] if members else "",
        "members": [{"group_instance_id": None, "reason": None, **member} for member in members],
    }


def commit_body(group: str, offsets: Iterable[tuple[str, int, int]], **partition: Any) -> Body:
    """A commit without a member; `offsets` are (topic name or id, partition, offset)."""
    topics: dict[str, list[Body]] = {}
    for topic, index, offset in offsets:
        topics.setdefault(topic, []).append(
            {
                "partition_index": index,
                "committed_offset": offset,
                "committed_leader_epoch": -1,
                "committed_metadata": "",
                **partition,
            }
        )
    return {
        "group_id": group,
        "generation_id_or_member_epoch": NO_GENERATION,
        "member_id": "",
        "group_instance_id": None,
        "retention_time": -1,
        "topics": [_named(topic) | {"partitions": partitions} for topic, partitions in topics.items()],
    }


def fetch_offsets_body(group: str, topics: Mapping[str, Sequence[int]] | None) -> Body:
    """OffsetFetch of one group, in the old form and in the new one; None asks for everything."""
    wanted = None
    if topics is not None:
        wanted = [_named(topic) | {"partition_indexes": list(indexes)} for topic, indexes in topics.items()]
    one = {"group_id": group, "topics": wanted}
    return {**one, "groups": [one | {"member_id": None, "member_epoch": -1}], "require_stable": False}


def _named(topic: str) -> Body:
    """By id from v10 on, by name before; ids are UUIDs as text."""
    return {"topic_id": topic} if len(topic) == 36 and topic.count("-") == 4 else {"name": topic}
