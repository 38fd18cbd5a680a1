"""The classic group protocol: joining, syncing, generations, static members, rebalances and members that go."""

from collections.abc import Callable
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from tests.support.group_client import (
    Member,
    heartbeat,
    join,
    join_values,
    joined_alone,
    leave,
    new_member_id,
    subscription,
    sync,
)
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until
from tests.support.wire import Connection

pytestmark = pytest.mark.feature("K-05", "F-01")

SHORTEST_SESSION_MS, LONGEST_SESSION_MS = 6_000, 1_800_000
AS_RANGE, AS_ROUNDROBIN = subscription("as-range"), subscription("as-roundrobin")
PROTOCOLS = {"range": AS_RANGE, "roundrobin": AS_ROUNDROBIN}
GROUP_OPERATIONS = 3400
NOT_ASKED = -(2**31)


@pytest.fixture
def group() -> str:
    return unique_name("group")


def describe(client: RawClient, group: str, version: int = 5, **options: Any) -> Any:
    (described,) = client.call("describe_groups", version, groups=[group], **options).groups
    return described


def wait_for_state(client: RawClient, group: str, state: str) -> None:
    wait_until(lambda: describe(client, group).group_state == state, what=f"group {group} is {state}")


def start_joining(client: Connection, group: str, member_id: str, **options: Any) -> None:
    """Send JoinGroup without waiting: the answer comes when the rebalance is over."""
    client.send("join_group", 5, **join_values(group, member_id=member_id, **options))


def finish_joining(client: Connection) -> Any:
    _, answer = client.receive("join_group", 5)
    assert answer.error_code == ErrorCode.none, answer
    return answer


def pair(client: RawClient, group: str, connect: Callable[[], RawClient]) -> tuple[Member, Member]:
    """Two members of a stable group of generation 2; the first one leads."""
    leader_connection, follower_connection = connect(), connect()
    leader = joined_alone(leader_connection, group, protocols=PROTOCOLS)
    follower_id = new_member_id(follower_connection, group, protocols=PROTOCOLS)
    start_joining(follower_connection, group, follower_id, protocols=PROTOCOLS)
    wait_for_state(client, group, "PreparingRebalance")
    joined = join(leader_connection, group, member_id=leader.member_id, protocols=PROTOCOLS)
    assert finish_joining(follower_connection).generation_id == joined.generation_id
    shares = {leader.member_id: b"first", follower_id: b"second"}
    assert sync(leader_connection, group, joined.generation_id, leader.member_id, shares).assignment == b"first"
    follower = Member(follower_connection, group, follower_id, joined.generation_id)
    leader.generation = joined.generation_id
    return leader, follower


# ------------------------------------------------------------------------------------------------------- joining


@pytest.mark.parametrize("version", range(4, 10))
def test_a_member_id_is_required(client: RawClient, group: str, version: int) -> None:
    """From v4 a first join without a member id is MEMBER_ID_REQUIRED, and the answer holds one (KIP-394)."""
    answer = join(client, group, version=version)
    assert answer.error_code == ErrorCode.member_id_required
    assert answer.member_id
    again = join(client, group, version=version, member_id=answer.member_id)
    assert (again.error_code, again.member_id) == (ErrorCode.none, answer.member_id)


@pytest.mark.parametrize("version", range(4))
def test_old_versions_join_at_once(client: RawClient, group: str, version: int) -> None:
    """Before v4 a join without a member id joins at once."""
    answer = join(client, group, version=version)
    assert (answer.error_code, answer.generation_id) == (ErrorCode.none, 1)
    assert answer.leader == answer.member_id


def test_member_ids_start_with_the_client_id(client: RawClient, group: str) -> None:
    """A member id is the client's id, a dash and something unique; a static member's starts with its instance."""
    assert new_member_id(client, group).startswith("wire-")
    static = join(client, unique_name("group"), group_instance_id="instance")
    assert static.member_id.startswith("instance-")


@pytest.mark.parametrize("timeout", [SHORTEST_SESSION_MS - 1, LONGEST_SESSION_MS + 1, 0, -1])
def test_session_timeouts_out_of_bounds(client: RawClient, group: str, timeout: int) -> None:
    """A session timeout outside 6,000–1,800,000 ms is INVALID_SESSION_TIMEOUT."""
    assert join(client, group, session_timeout=timeout).error_code == ErrorCode.invalid_session_timeout


@pytest.mark.parametrize("timeout", [SHORTEST_SESSION_MS, LONGEST_SESSION_MS])
def test_session_timeouts_at_the_bounds(client: RawClient, group: str, timeout: int) -> None:
    """The bounds themselves are fine."""
    assert join(client, group, version=3, session_timeout=timeout).error_code == ErrorCode.none


def test_an_empty_group_id(client: RawClient) -> None:
    """A group without a name is INVALID_GROUP_ID for joins and heartbeats."""
    assert join(client, "").error_code == ErrorCode.invalid_group_id
    assert heartbeat(client, "", 1, "member") == ErrorCode.invalid_group_id


def test_an_unknown_member_id(client: RawClient, group: str) -> None:
    """A member id that was never given out is UNKNOWN_MEMBER_ID."""
    joined_alone(client, group)
    assert join(client, group, member_id="stranger").error_code == ErrorCode.unknown_member_id
    assert heartbeat(client, group, 1, "stranger") == ErrorCode.unknown_member_id
    assert sync(client, group, 1, "stranger").error_code == ErrorCode.unknown_member_id


def test_a_group_nobody_knows(client: RawClient) -> None:
    """In a group that does not exist every member is unknown."""
    name = unique_name("group")
    assert heartbeat(client, name, 1, "member") == ErrorCode.unknown_member_id
    assert leave(client, name, "member").members[0].error_code == ErrorCode.unknown_member_id


@pytest.mark.parametrize(
    "options", [{"protocols": {}}, {"protocol_type": ""}], ids=["no protocols", "no protocol type"]
)
def test_a_join_without_protocols(client: RawClient, group: str, options: dict[str, Any]) -> None:
    """A join without a protocol or protocol type is INCONSISTENT_GROUP_PROTOCOL."""
    assert join(client, group, **options).error_code == ErrorCode.inconsistent_group_protocol


@pytest.mark.parametrize(
    "options", [{"protocols": {"unheard-of": b""}}, {"protocol_type": "connect"}], ids=["protocol", "type"]
)
def test_a_protocol_that_the_others_do_not_have(
    client: RawClient, group: str, connect: Callable[[], RawClient], options: dict[str, Any]
) -> None:
    """A member with no protocol in common with the others, or of another type, is refused."""
    joined_alone(client, group, protocols=PROTOCOLS)
    answer = join(connect(), group, **options)
    assert answer.error_code == ErrorCode.inconsistent_group_protocol


def test_the_common_protocol_is_chosen(client: RawClient, group: str, connect: Callable[[], RawClient]) -> None:
    """The group uses a protocol that all members have, whatever the first one would like best."""
    first, second = connect(), connect()
    leader = joined_alone(first, group, protocols=PROTOCOLS)
    only = {"roundrobin": subscription("only-this")}
    member_id = new_member_id(second, group, protocols=only)
    start_joining(second, group, member_id, protocols=only)
    wait_for_state(client, group, "PreparingRebalance")
    answer = join(first, group, member_id=leader.member_id, protocols=PROTOCOLS)
    assert answer.protocol_name == "roundrobin"
    assert {member.member_id: member.metadata for member in answer.members} == {
        leader.member_id: AS_ROUNDROBIN,
        member_id: only["roundrobin"],
    }


def test_the_leader_alone_sees_the_members(client: RawClient, group: str, connect: Callable[[], RawClient]) -> None:
    """The leader gets all members with their metadata, the others none; all have the same generation."""
    leader, follower = connect(), connect()
    first = joined_alone(leader, group, protocols=PROTOCOLS)
    member_id = new_member_id(follower, group, protocols=PROTOCOLS)
    start_joining(follower, group, member_id, protocols=PROTOCOLS)
    wait_for_state(client, group, "PreparingRebalance")
    told = join(leader, group, member_id=first.member_id, protocols=PROTOCOLS)
    other = finish_joining(follower)
    assert {member.member_id for member in told.members} == {first.member_id, member_id}
    assert other.members == ()
    assert (told.generation_id, other.generation_id) == (2, 2)
    assert told.leader == other.leader == first.member_id


# -------------------------------------------------------------------------------------------- syncing, heartbeats


def test_sync_waits_for_the_leader(client: RawClient, group: str, connect: Callable[[], RawClient]) -> None:
    """A follower's SyncGroup is answered when the leader's assignments are there, with its own share."""
    _, follower = pair(client, group, connect)
    synced = sync(follower.connection, group, follower.generation, follower.member_id)
    assert (synced.error_code, synced.assignment) == (ErrorCode.none, b"second")


def test_a_follower_is_silent_until_the_leader_synced(
    client: RawClient, group: str, connect: Callable[[], RawClient]
) -> None:
    """Before the leader has synced, a follower's SyncGroup gets no answer; afterwards it does at once."""
    leader_connection, follower = connect(), connect()
    leader = joined_alone(leader_connection, group)
    member_id = new_member_id(follower, group)
    start_joining(follower, group, member_id)
    wait_for_state(client, group, "PreparingRebalance")
    generation = join(leader_connection, group, member_id=leader.member_id).generation_id
    finish_joining(follower)
    follower.send("sync_group", 3, group_id=group, generation_id=generation, member_id=member_id, assignments=[])
    assert follower.silent(for_s=0.3)
    sync(leader_connection, group, generation, leader.member_id, {member_id: b"yours"})
    follower.settimeout(5.0)
    assert follower.receive("sync_group", 3)[1].assignment == b"yours"


@pytest.mark.parametrize("version", range(6))
def test_sync_at_every_version(client: RawClient, group: str, version: int) -> None:
    """SyncGroup gives the assignment at every version, also when asked again in a stable group."""
    member_id = new_member_id(client, group)
    generation = join(client, group, member_id=member_id).generation_id
    for shares in ({member_id: b"mine"}, {}):
        answer = sync(client, group, generation, member_id, shares, version=version)
        assert (answer.error_code, answer.assignment) == (ErrorCode.none, b"mine")


def test_sync_with_the_wrong_protocol(client: RawClient, group: str) -> None:
    """From v5 SyncGroup names type and protocol, and another one is INCONSISTENT_GROUP_PROTOCOL."""
    member_id = new_member_id(client, group)
    generation = join(client, group, member_id=member_id).generation_id
    answer = client.call(
        "sync_group",
        5,
        group_id=group,
        generation_id=generation,
        member_id=member_id,
        protocol_type="consumer",
        protocol_name="another",
        assignments=[],
    )
    assert answer.error_code == ErrorCode.inconsistent_group_protocol


def test_a_wrong_generation(client: RawClient, group: str) -> None:
    """A heartbeat or sync of another generation is ILLEGAL_GENERATION."""
    member = joined_alone(client, group)
    assert heartbeat(client, group, member.generation + 1, member.member_id) == ErrorCode.illegal_generation
    answer = sync(client, group, member.generation + 1, member.member_id)
    assert answer.error_code == ErrorCode.illegal_generation


@pytest.mark.parametrize("version", range(5))
def test_heartbeat_at_every_version(client: RawClient, group: str, version: int) -> None:
    """A member of a stable group may go on, at every version."""
    member = joined_alone(client, group)
    assert heartbeat(client, group, member.generation, member.member_id, version=version) == ErrorCode.none


def test_heartbeat_tells_of_a_rebalance(client: RawClient, group: str, connect: Callable[[], RawClient]) -> None:
    """While a rebalance gathers its members, a heartbeat is REBALANCE_IN_PROGRESS."""
    member = joined_alone(client, group)
    newcomer = connect()
    member_id = new_member_id(newcomer, group)
    start_joining(newcomer, group, member_id)
    wait_until(lambda: member.heartbeat() == ErrorCode.rebalance_in_progress, what="a rebalance is told")


def test_a_follower_that_joins_again_unchanged_disturbs_nobody(
    client: RawClient, group: str, connect: Callable[[], RawClient]
) -> None:
    """A follower that joins a stable group again with the same metadata is told the current generation."""
    leader, follower = pair(client, group, connect)
    again = join(follower.connection, group, member_id=follower.member_id, protocols=PROTOCOLS)
    assert again.generation_id == follower.generation
    assert leader.heartbeat() == ErrorCode.none


def test_a_leader_that_joins_again_starts_a_rebalance(
    client: RawClient, group: str, connect: Callable[[], RawClient]
) -> None:
    """The leader joins again when something changed, for example partitions: everyone has to."""
    leader, follower = pair(client, group, connect)
    start_joining(leader.connection, group, leader.member_id, protocols=PROTOCOLS)
    wait_until(lambda: follower.heartbeat() == ErrorCode.rebalance_in_progress, what="a rebalance is told")
    again = join(follower.connection, group, member_id=follower.member_id, protocols=PROTOCOLS)
    assert again.generation_id == finish_joining(leader.connection).generation_id == follower.generation + 1


def test_changed_metadata_starts_a_rebalance(client: RawClient, group: str, connect: Callable[[], RawClient]) -> None:
    """A follower that joins again with other metadata (another subscription) makes everyone join again."""
    leader, follower = pair(client, group, connect)
    start_joining(follower.connection, group, follower.member_id, protocols={"range": subscription("changed")})
    wait_until(lambda: leader.heartbeat() == ErrorCode.rebalance_in_progress, what="a rebalance is told")


# ---------------------------------------------------------------------------------------------- members that go


@pytest.mark.parametrize("version", range(6))
def test_leave_at_every_version(client: RawClient, group: str, version: int) -> None:
    """LeaveGroup takes a member out at once, one at a time before v3 and several from then on."""
    member = joined_alone(client, group)
    members = [{"member_id": each, "group_instance_id": None} for each in (member.member_id, "stranger")]
    answer = client.call("leave_group", version, group_id=group, member_id=member.member_id, members=members)
    assert answer.error_code == ErrorCode.none
    if version >= 3:
        codes = {each.member_id: each.error_code for each in answer.members}
        assert codes == {member.member_id: ErrorCode.none, "stranger": ErrorCode.unknown_member_id}
    assert describe(client, group).group_state == "Empty"
    assert member.heartbeat() == ErrorCode.unknown_member_id


def test_a_member_that_leaves_starts_a_rebalance(
    client: RawClient, group: str, connect: Callable[[], RawClient]
) -> None:
    """When the leader leaves, the others rebalance and one of them leads."""
    leader, follower = pair(client, group, connect)
    assert leader.leave() == ErrorCode.none
    assert follower.heartbeat() == ErrorCode.rebalance_in_progress
    again = join(follower.connection, group, member_id=follower.member_id, protocols=PROTOCOLS)
    assert (again.leader, again.generation_id) == (follower.member_id, follower.generation + 1)
    assert [member.member_id for member in again.members] == [follower.member_id]


def test_a_member_that_is_silent_is_removed(client: RawClient, group: str, connect: Callable[[], RawClient]) -> None:
    """A member that sends nothing for its session timeout is out, and the next join does not wait for it."""
    silent = joined_alone(client, group, session_timeout=SHORTEST_SESSION_MS, rebalance_timeout=60_000)
    newcomer = connect()
    member_id = new_member_id(newcomer, group)
    answer = join(newcomer, group, member_id=member_id)
    assert [member.member_id for member in answer.members] == [member_id]
    assert silent.heartbeat() == ErrorCode.unknown_member_id


def test_a_member_that_does_not_rejoin_is_removed(
    client: RawClient, group: str, connect: Callable[[], RawClient]
) -> None:
    """A member that heartbeats but does not join again within the rebalance timeout is out."""
    late = joined_alone(client, group, rebalance_timeout=1_000)
    newcomer = connect()
    member_id = new_member_id(newcomer, group, rebalance_timeout=1_000)
    answer = join(newcomer, group, member_id=member_id, rebalance_timeout=1_000)
    assert [member.member_id for member in answer.members] == [member_id]
    assert late.heartbeat() == ErrorCode.unknown_member_id


# ------------------------------------------------------------------------------------------------ static members


def static_member(client: RawClient, group: str, instance: str = "instance") -> Member:
    joined = join(client, group, group_instance_id=instance, version=9)
    assert joined.error_code == ErrorCode.none, joined
    shares = {joined.member_id: b"share"}
    synced = sync(client, group, joined.generation_id, joined.member_id, shares, group_instance_id=instance)
    assert synced.assignment == b"share"
    return Member(client, group, joined.member_id, joined.generation_id)


def test_a_static_member_joins_without_a_member_id(client: RawClient, group: str) -> None:
    """A static member needs no member id for its first join (KIP-345)."""
    assert static_member(client, group).generation == 1


def test_a_static_member_comes_back_without_a_rebalance(
    client: RawClient, group: str, connect: Callable[[], RawClient]
) -> None:
    """A static member that starts again has a new member id, the same generation and the same share."""
    before = static_member(client, group)
    restarted = connect()
    joined = join(restarted, group, group_instance_id="instance", version=9)
    assert (joined.error_code, joined.generation_id) == (ErrorCode.none, before.generation)
    assert joined.member_id != before.member_id
    assert joined.skip_assignment  # it leads, but need not assign again (KIP-814)
    synced = sync(restarted, group, joined.generation_id, joined.member_id, group_instance_id="instance")
    assert synced.assignment == b"share"


def test_the_old_incarnation_is_fenced(client: RawClient, group: str, connect: Callable[[], RawClient]) -> None:
    """Requests of a static member's old incarnation are FENCED_INSTANCE_ID."""
    old = static_member(client, group)
    join(connect(), group, group_instance_id="instance", version=9)
    fenced = ErrorCode.fenced_instance_id
    instance: dict[str, Any] = {"group_instance_id": "instance"}
    assert heartbeat(client, group, old.generation, old.member_id, **instance) == fenced
    assert sync(client, group, old.generation, old.member_id, **instance).error_code == fenced
    assert join(client, group, member_id=old.member_id, **instance).error_code == fenced
    assert old.commit("any", 1, **instance) in (fenced, ErrorCode.unknown_topic_or_partition)


def test_a_static_member_can_be_removed_by_its_instance(client: RawClient, group: str) -> None:
    """LeaveGroup with only the instance id removes a static member, as an administrator does."""
    static_member(client, group)
    assert leave(client, group, "", group_instance_id="instance").members[0].error_code == ErrorCode.none
    unknown = leave(client, group, "", group_instance_id="other").members[0].error_code
    assert unknown == ErrorCode.unknown_member_id


def test_static_members_are_described(client: RawClient, group: str) -> None:
    """DescribeGroups from v4 tells the instance ids."""
    static_member(client, group)
    (member,) = describe(client, group, version=4).members
    assert member.group_instance_id == "instance"


# ---------------------------------------------------------------------------------------- describing and deleting


@pytest.mark.parametrize("version", range(7))
def test_describe_a_stable_group(client: RawClient, group: str, connect: Callable[[], RawClient], version: int) -> None:
    """A stable group is described with protocol, members, their hosts, metadata and assignments."""
    leader, follower = pair(client, group, connect)
    described = describe(client, group, version=version)
    assert described.error_code == ErrorCode.none
    assert (described.group_state, described.protocol_type) == ("Stable", "consumer")
    assert described.protocol_data == "range"
    members = {member.member_id: member for member in described.members}
    assert set(members) == {leader.member_id, follower.member_id}
    assert {member.member_assignment for member in members.values()} == {b"first", b"second"}
    assert {member.member_metadata for member in members.values()} == {AS_RANGE}
    assert {member.client_id for member in members.values()} == {"wire"}
    assert all("127.0.0.1" in member.client_host for member in members.values())


def test_describe_authorized_operations(client: RawClient, group: str) -> None:
    """The operations that a client may do on a group are shown only if requested."""
    joined_alone(client, group)
    assert describe(client, group).authorized_operations == NOT_ASKED
    asked = describe(client, group, include_authorized_operations=True)
    assert asked.authorized_operations == GROUP_OPERATIONS


@pytest.mark.parametrize("version", range(7))
def test_describe_an_unknown_group(client: RawClient, version: int) -> None:
    """A group that does not exist is Dead, without an error before v6 and GROUP_ID_NOT_FOUND from then on."""
    described = describe(client, unique_name("group"), version=version)
    expected = ErrorCode.group_id_not_found if version >= 6 else ErrorCode.none
    assert (described.group_state, described.error_code, described.members) == ("Dead", expected, ())


def test_the_states_of_a_group(client: RawClient, group: str, connect: Callable[[], RawClient]) -> None:
    """A group goes from CompletingRebalance to Stable, PreparingRebalance and, without members, Empty."""
    member_id = new_member_id(client, group)
    generation = join(client, group, member_id=member_id).generation_id
    assert describe(client, group).group_state == "CompletingRebalance"
    sync(client, group, generation, member_id, {member_id: b""})
    assert describe(client, group).group_state == "Stable"
    newcomer = connect()
    newcomer_id = new_member_id(newcomer, group)
    start_joining(newcomer, group, newcomer_id)
    wait_for_state(client, group, "PreparingRebalance")
    for each in (member_id, newcomer_id):
        leave(client, group, each)
    wait_for_state(client, group, "Empty")


@pytest.mark.parametrize("version", range(6))
def test_list_groups(client: RawClient, group: str, version: int) -> None:
    """ListGroups names every group with its protocol type, from v4 its state, from v5 its kind."""
    joined_alone(client, group)
    (listed,) = [each for each in client.call("list_groups", version).groups if each.group_id == group]
    assert listed.protocol_type == "consumer"
    if version >= 4:
        assert listed.group_state == "Stable"
    if version >= 5:
        assert listed.group_type == "classic"


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"states_filter": ["Stable"]}, True),
        ({"states_filter": ["stable", "Dead"]}, True),
        ({"states_filter": ["Empty"]}, False),
        ({"types_filter": ["classic"]}, True),
        ({"types_filter": ["Classic"]}, True),
        ({"types_filter": ["consumer"]}, False),
        ({"states_filter": ["no such state"]}, False),
    ],
)
def test_list_groups_with_filters(client: RawClient, group: str, filters: dict[str, list[str]], found: bool) -> None:
    """ListGroups filters by state and kind, whatever the case of the letters."""
    joined_alone(client, group)
    answer = client.call("list_groups", 5, **filters)
    assert answer.error_code == ErrorCode.none
    assert (group in {each.group_id for each in answer.groups}) == found


@pytest.mark.parametrize("version", range(3))
def test_delete_groups(client: RawClient, group: str, version: int) -> None:
    """DeleteGroups: NON_EMPTY_GROUP with members, GROUP_ID_NOT_FOUND if unknown, else gone."""
    member = joined_alone(client, group)
    unknown = unique_name("group")
    answer = client.call("delete_groups", version, groups_names=[group, unknown])
    codes = {each.group_id: each.error_code for each in answer.results}
    assert codes == {group: ErrorCode.non_empty_group, unknown: ErrorCode.group_id_not_found}
    member.leave()
    (result,) = client.call("delete_groups", version, groups_names=[group]).results
    assert result.error_code == ErrorCode.none
    assert describe(client, group).group_state == "Dead"
