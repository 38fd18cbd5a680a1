"""The classic group protocol by hand: join, sync, heartbeat, leave and commit, one raw request each."""

from collections.abc import Mapping
from typing import Any

from kio.schema.errors import ErrorCode

from tests.support.waiting import wait_until
from tests.support.wire import Connection

NOT_READY = (
    ErrorCode.coordinator_load_in_progress,
    ErrorCode.coordinator_not_available,
    ErrorCode.not_coordinator,
)


def subscription(*topics: str) -> bytes:
    """The metadata with which a consumer joins: version 0, its topics, no user data."""
    names = b"".join(len(topic).to_bytes(2, "big") + topic.encode() for topic in topics)
    return b"\x00\x00" + len(topics).to_bytes(4, "big") + names + b"\xff\xff\xff\xff"


def wait_for_coordinator(connection: Connection) -> None:
    """Wait until the broker's group coordinator has loaded what it needs to answer."""

    def loaded() -> bool:
        found = connection.call("find_coordinator", 2, key="warm-up", key_type=0)
        if found.error_code != ErrorCode.none:
            return False
        return fetch_offsets(connection, "warm-up", None).error_code not in NOT_READY

    wait_until(loaded, what="the group coordinator answers", within_s=30.0)


def join(
    connection: Connection,
    group: str,
    *,
    member_id: str = "",
    version: int = 5,
    group_instance_id: str | None = None,
    session_timeout: int = 30_000,
    rebalance_timeout: int = 30_000,
    protocol_type: str = "consumer",
    protocols: Mapping[str, bytes] | None = None,
) -> Any:
    return connection.call(
        "join_group",
        version,
        **join_values(
            group,
            member_id=member_id,
            group_instance_id=group_instance_id,
            session_timeout=session_timeout,
            rebalance_timeout=rebalance_timeout,
            protocol_type=protocol_type,
            protocols=protocols,
        ),
    )


def join_values(
    group: str,
    *,
    member_id: str = "",
    group_instance_id: str | None = None,
    session_timeout: int = 30_000,
    rebalance_timeout: int = 30_000,
    protocol_type: str = "consumer",
    protocols: Mapping[str, bytes] | None = None,
) -> dict[str, Any]:
    offered = {"range": b""} if protocols is None else protocols
    return {
        "group_id": group,
        "session_timeout": session_timeout,
        "rebalance_timeout": rebalance_timeout,
        "member_id": member_id,
        "group_instance_id": group_instance_id,
        "protocol_type": protocol_type,
        "protocols": [{"name": name, "metadata": metadata} for name, metadata in offered.items()],
    }


def sync(
    connection: Connection,
    group: str,
    generation: int,
    member_id: str,
    assignments: Mapping[str, bytes] | None = None,
    *,
    version: int = 3,
    group_instance_id: str | None = None,
) -> Any:
    return connection.call(
        "sync_group",
        version,
        group_id=group,
        generation_id=generation,
        member_id=member_id,
        group_instance_id=group_instance_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[
            {"member_id": member, "assignment": assignment} for member, assignment in (assignments or {}).items()
        ],
    )


def heartbeat(
    connection: Connection,
    group: str,
    generation: int,
    member_id: str,
    *,
    version: int = 3,
    group_instance_id: str | None = None,
) -> ErrorCode:
    answer = connection.call(
        "heartbeat",
        version,
        group_id=group,
        generation_id=generation,
        member_id=member_id,
        group_instance_id=group_instance_id,
    )
    return ErrorCode(answer.error_code)


def leave(connection: Connection, group: str, member_id: str, *, group_instance_id: str | None = None) -> Any:
    members = [{"member_id": member_id, "group_instance_id": group_instance_id, "reason": None}]
    return connection.call("leave_group", 4, group_id=group, members=members)


def commit(
    connection: Connection,
    group: str,
    topic: str,
    offset: int,
    *,
    partition: int = 0,
    generation: int = -1,
    member_id: str = "",
    metadata: str | None = "",
    leader_epoch: int = -1,
    version: int = 8,
    group_instance_id: str | None = None,
) -> ErrorCode:
    """Commit one partition. Returns its error code."""
    committed = {
        "partition_index": partition,
        "committed_offset": offset,
        "committed_leader_epoch": leader_epoch,
        "committed_metadata": metadata,
    }
    answer = connection.call(
        "offset_commit",
        version,
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member_id,
        group_instance_id=group_instance_id,
        retention_time=-1,
        topics=[{"name": topic, "partitions": [committed]}],
    )
    return ErrorCode(answer.topics[0].partitions[0].error_code)


def fetch_offsets(
    connection: Connection, group: str, topics: Mapping[str, list[int]] | None, *, version: int = 7
) -> Any:
    """OffsetFetch up to v7: one group; `None` asks for everything it has committed."""
    wanted = None if topics is None else [{"name": n, "partition_indexes": p} for n, p in topics.items()]
    return connection.call("offset_fetch", version, group_id=group, topics=wanted, require_stable=False)


def committed(connection: Connection, group: str, topic: str, partition: int = 0) -> Any:
    """The answer of OffsetFetch for one partition."""
    answer = fetch_offsets(connection, group, {topic: [partition]})
    assert answer.error_code == ErrorCode.none, answer
    return answer.topics[0].partitions[0]


class Member:
    """A member that has joined and synced, alone or with the members before it."""

    def __init__(self, connection: Connection, group: str, member_id: str, generation: int) -> None:
        self.connection = connection
        self.group = group
        self.member_id = member_id
        self.generation = generation

    def heartbeat(self) -> ErrorCode:
        return heartbeat(self.connection, self.group, self.generation, self.member_id)

    def commit(self, topic: str, offset: int, **options: Any) -> ErrorCode:
        return commit(
            self.connection,
            self.group,
            topic,
            offset,
            generation=self.generation,
            member_id=self.member_id,
            **options,
        )

    def leave(self) -> ErrorCode:
        return ErrorCode(leave(self.connection, self.group, self.member_id).members[0].error_code)


def new_member_id(connection: Connection, group: str, **options: Any) -> str:
    """Ask for a member id, as every dynamic member does first (KIP-394)."""
    answer = join(connection, group, **options)
    assert answer.error_code == ErrorCode.member_id_required, answer
    return str(answer.member_id)


def joined_alone(connection: Connection, group: str, *, assignment: bytes = b"", **options: Any) -> Member:
    """Join an empty group, sync, and be its stable only member."""
    member_id = new_member_id(connection, group, **options)
    answer = join(connection, group, member_id=member_id, **options)
    assert answer.error_code == ErrorCode.none, answer
    synced = sync(connection, group, answer.generation_id, member_id, {member_id: assignment})
    assert synced.error_code == ErrorCode.none, synced
    return Member(connection, group, member_id, answer.generation_id)
