"""Who becomes whose parent, when that changes, and what is refused."""

import pytest

from penstock.model.role import Role
from penstock.topology.registry.errors import (
    Cycle,
    Full,
    IdInUse,
    InstanceWanted,
    NotAParent,
    NotOwner,
    Refusal,
    UnknownNode,
)
from penstock.topology.registry.hierarchy import Hierarchy
from penstock.topology.registry.member import ANYBODY, Asker, Member, Registration, role_by_name
from tests.unit.topology.registry_world import World

pytestmark = pytest.mark.feature("P-11")


def small_world() -> World:
    world = World()
    for node_id in ("root-1", "l2-a", "l2-b", "local-1", "local-2", "local-3"):
        world.join(node_id)
    return world


@pytest.mark.parametrize(
    ("node_id", "role"),
    [
        ("local-001", Role.LOCAL),
        ("root", Role.ROOT),
        ("l2-berlin", Role.L2),
        ("L3.x", Role.L3),
        ("pos7", Role.POS),
        ("POS_7", Role.POS),
        ("17", Role.LOCAL),
        ("rooted", Role.LOCAL),
    ],
)
def test_a_role_follows_from_the_name(node_id: str, role: Role) -> None:
    assert role_by_name(node_id) is role


def test_the_level_above_with_the_fewest_children() -> None:
    world = small_world()
    assert world.parents("root-1", "l2-a", "l2-b") == [None, "root-1", "root-1"]
    assert world.parents("local-1", "local-2", "local-3") == ["l2-a", "l2-b", "l2-a"]
    assert world.answers["local-1"].parent_url == "http://l2-a"
    assert world.poll("local-1").fallbacks == ("http://l2-b", "http://root-1")


def test_the_same_site_comes_first() -> None:
    world = World()
    world.join("root-1")
    world.join("l2-a", site="eu")
    world.join("l2-b", site="us")
    world.join("l2-c", site="us/boston")
    for number in range(4):
        world.join(f"pos-{number}", site="us/boston/shop-7")
    world.join("pos-us", site="us/austin")
    world.join("pos-nowhere")
    assert {world.parent(f"pos-{number}") for number in range(4)} == {"l2-c"}
    assert world.parent("pos-us") == "l2-b"
    assert world.parent("pos-nowhere") == "l2-a"
    assert world.poll("pos-1").fallbacks[0] == "http://l2-b"


def test_three_missed_polls_of_a_parent_and_not_two() -> None:
    world = small_world()
    world.run(5)
    del world.up["l2-a"]
    world.run(3)
    assert world.parent("local-1") == "l2-a"
    world.run(1)
    assert world.parents("local-1", "local-2", "local-3") == ["l2-b", "l2-b", "l2-b"]
    assert not world.hierarchy.members["l2-a"].live
    assert world.poll("local-1").parent_url == "http://l2-b"


def test_a_node_that_comes_back_keeps_its_role_and_takes_nobody_along() -> None:
    world = World()
    world.join("root-1")
    world.join("berlin", Role.L2)
    world.join("local-1")
    del world.up["berlin"]
    world.run(5)
    assert world.parent("local-1") == "root-1"
    assert world.join("berlin").role is Role.L2  # it does not say its role this time
    world.run(1)
    assert world.parent("local-1") == "root-1"
    world.run(3)
    assert world.parent("local-1") == "berlin"


def test_a_node_that_comes_and_goes_waits_longer_every_time() -> None:
    world = World()
    world.join("root-1")
    world.join("l2-a")
    world.join("local-1")
    waits = []
    for _ in range(3):
        del world.up["l2-a"]
        world.run(5)
        assert world.parent("local-1") == "root-1"
        world.join("l2-a")
        started = world.now_ms
        while world.parent("local-1") != "l2-a":
            world.run(1)
        waits.append((world.now_ms - started) // 1_000)
    assert waits == [2, 5, 11]  # its registration is the first of 3, 6 and 12 polls
    world.run(200)
    assert world.hierarchy.members["l2-a"].lapses == 0


def test_a_nearer_level_is_a_reason_to_move_and_another_of_the_same_is_none() -> None:
    world = World()
    world.join("root-1")
    world.join("local-1")
    assert world.parent("local-1") == "root-1"
    world.join("l2-a")
    world.run(1)
    assert world.parent("local-1") == "l2-a"
    world.join("l2-b")
    world.run(1)
    assert world.parent("local-1") == "l2-a"
    assert world.hierarchy.reparented == 1


def test_without_another_candidate_the_silent_parent_stays() -> None:
    world = World()
    world.join("root-1")
    world.join("local-1")
    del world.up["root-1"]
    world.run(10)
    assert world.poll("local-1").parent_url == "http://root-1"


def test_a_node_without_an_http_port_is_no_parent() -> None:
    world = World()
    world.join("root-1", url=False)
    assert world.join("local-1").parent_url is None
    assert world.join("root-1").parent_url is None
    assert world.poll("local-1").parent_url == "http://root-1"
    world.join("root-1", url=False)
    assert world.poll("local-1").parent_url is None


def test_by_hand_and_back_to_the_rules() -> None:
    world = small_world()
    world.hierarchy.set_parent("local-1", "root-1")
    assert world.poll("local-1").parent_url == "http://root-1"
    world.run(5)
    assert world.parent("local-1") == "root-1"
    world.hierarchy.set_parent("local-1", None)
    assert world.parent("local-1") in ("l2-a", "l2-b")


def test_a_parent_set_by_hand_is_helped_out_for_and_taken_again() -> None:
    world = small_world()
    world.hierarchy.set_parent("local-1", "root-1")
    del world.up["root-1"]
    world.run(5)
    assert world.parent("local-1") == "l2-a"
    world.join("root-1")
    world.run(5)
    assert world.parent("local-1") == "root-1"


def test_cycles_are_refused_by_name() -> None:
    world = small_world()
    with pytest.raises(Cycle, match="l2-a → local-1 → l2-a"):
        world.hierarchy.set_parent("l2-a", "local-1")
    with pytest.raises(Cycle, match="l2-a → l2-a"):
        world.hierarchy.set_parent("l2-a", "l2-a")
    world.hierarchy.set_parent("l2-b", "l2-a")
    with pytest.raises(Cycle, match="l2-a → local-2 → l2-b → l2-a"):
        world.hierarchy.set_parent("l2-a", "local-2")
    assert world.hierarchy.members["l2-a"].pinned is None


def test_a_cycle_over_a_parent_that_is_away_is_refused_as_well() -> None:
    world = small_world()
    world.hierarchy.set_parent("l2-b", "l2-a")
    del world.up["l2-a"]
    world.run(5)
    assert world.parent("l2-b") == "root-1"
    with pytest.raises(Cycle):
        world.hierarchy.set_parent("l2-a", "l2-b")


def test_what_else_is_refused() -> None:
    world = small_world()
    world.join("local-9", url=False)
    for refusal, node_id, parent_id in [
        (UnknownNode, "nobody", "root-1"),
        (UnknownNode, "local-1", "nobody"),
        (NotAParent, "root-1", "l2-a"),
        (NotAParent, "local-1", "local-9"),
    ]:
        with pytest.raises(refusal):
            world.hierarchy.set_parent(node_id, parent_id)
    with pytest.raises(UnknownNode):
        world.hierarchy.remove("nobody")
    with pytest.raises(UnknownNode):
        world.hierarchy.poll("nobody", None, 0)


def test_no_more_nodes_than_allowed() -> None:
    world = World(nodes_max=1)
    world.join("root-1")
    with pytest.raises(Full, match="--nodes-max"):
        world.join("local-1")
    world.join("root-1")


def test_two_nodes_of_one_id() -> None:
    world = small_world()
    stranger = Registration(node_id="local-1", instance_id="another", url="http://elsewhere", poll_interval_ms=1_000)
    with pytest.raises(IdInUse, match=r"http://local-1.*NODE_ID"):
        world.hierarchy.register(stranger, world.now_ms)
    with pytest.raises(IdInUse):
        world.hierarchy.poll("local-1", "another", world.now_ms)
    assert world.hierarchy.members["local-1"].url == "http://local-1"
    del world.up["local-1"]
    world.run(5)
    world.hierarchy.register(stranger, world.now_ms)
    assert world.hierarchy.members["local-1"].url == "http://elsewhere"
    with pytest.raises(Refusal):
        world.hierarchy.poll("local-1", "instance of local-1", world.now_ms)


def test_a_request_without_the_instance_of_a_node_is_no_way_round() -> None:
    world = small_world()
    nameless = Registration(node_id="local-1", url="http://elsewhere", role=Role.ROOT, poll_interval_ms=1_000)
    for _ in range(2):  # while it is live, and when it has gone silent
        with pytest.raises(InstanceWanted, match=r"instanceId.*penstock registry remove local-1"):
            world.hierarchy.register(nameless, world.now_ms)
        with pytest.raises(InstanceWanted):
            world.hierarchy.poll("local-1", None, world.now_ms)
        assert world.hierarchy.members["local-1"].url == "http://local-1"
        world.up.pop("local-1", None)
        world.run(5)
    assert not world.hierarchy.members["local-1"].live


def test_polls_of_another_instance_do_not_keep_a_silent_node_live() -> None:
    """The URL that children are given would be that of the silent one."""
    world = small_world()
    del world.up["l2-a"]
    world.run(5)
    with pytest.raises(UnknownNode):
        world.hierarchy.poll("l2-a", "another", world.now_ms)
    assert not world.hierarchy.members["l2-a"].live


def test_a_node_that_never_had_an_instance_may_be_given_one() -> None:
    world = small_world()
    old = Registration(node_id="local-9", url="http://local-9", poll_interval_ms=1_000)
    world.hierarchy.register(old, world.now_ms)
    world.hierarchy.poll("local-9", None, world.now_ms)
    world.join("local-9")
    with pytest.raises(InstanceWanted):
        world.hierarchy.register(old, world.now_ms)


def test_a_removed_node_loses_its_children_and_may_come_again() -> None:
    world = small_world()
    world.hierarchy.set_parent("local-2", "l2-a")
    version = world.poll("local-1").version
    world.hierarchy.remove("l2-a")
    assert world.parents("local-1", "local-2") == ["l2-b", "l2-b"]
    assert world.hierarchy.members["local-2"].pinned is None
    assert world.poll("local-1").version > version
    before = world.hierarchy.version
    assert world.join("l2-a").version > before


def test_the_version_stays_while_the_answer_does() -> None:
    world = small_world()
    version = world.poll("local-1").version
    world.run(10)
    assert world.poll("local-1").version == version
    world.join("l2-a")  # started again, nothing new
    assert world.poll("local-1").version == version


def test_a_new_address_of_a_parent_is_a_new_version_for_its_children() -> None:
    world = small_world()
    version = world.poll("local-1").version
    moved = Registration(node_id="l2-a", instance_id="instance of l2-a", url="http://new", poll_interval_ms=1_000)
    world.hierarchy.register(moved, world.now_ms)
    assert world.poll("local-1").parent_url == "http://new"
    assert world.answers["local-1"].version > version


def test_the_same_for_a_parent_on_the_same_level() -> None:
    world = small_world()
    world.hierarchy.set_parent("l2-b", "l2-a")
    world.poll("l2-b")
    moved = Registration(node_id="l2-a", instance_id="instance of l2-a", url="http://new", poll_interval_ms=1_000)
    world.hierarchy.register(moved, world.now_ms)
    assert world.poll("l2-b").parent_url == "http://new"


def test_children_of_one_parent_have_different_ones_to_fall_back_on() -> None:
    world = World()
    for number in range(10):
        world.join(f"l2-{number}")
    seconds = set()
    for number in range(100):
        world.join(f"local-{number}")
        told = world.poll(f"local-{number}")
        assert len(told.fallbacks) == 5
        assert told.parent_url not in told.fallbacks
        seconds.add(told.fallbacks[0])
    assert len(seconds) > 5


def test_another_role_by_registering_again() -> None:
    world = small_world()
    assert world.join("l2-a", Role.POS).role is Role.POS
    world.run(1)
    assert world.parents("l2-a", "local-1") == ["l2-b", "l2-a"]
    world.join("l2-b", Role.ROOT)
    assert world.parent("l2-b") is None
    world.hierarchy.set_parent("l2-a", "root-1")
    world.join("l2-a", Role.ROOT)
    assert world.hierarchy.members["l2-a"].pinned is None


def test_a_registry_that_starts_again_gives_everybody_time() -> None:
    world = small_world()
    world.run(3)
    del world.up["l2-b"]
    world.run(5)
    stored = list(world.hierarchy.members.values())
    again = Hierarchy()
    again.load(stored, world.hierarchy.version, now_ms=1_000_000)
    again.advance(1_000_000)
    again.advance(1_000_900)
    assert [member.node_id for member in stored if not member.live] == ["l2-b"]
    assert again.poll("local-1", "instance of local-1", 1_000_950) == world.answers["local-1"]
    assert again.changes() is None


def test_a_registry_that_was_stopped_blames_itself() -> None:
    world = small_world()
    world.run(3)
    world.now_ms += 60_000
    world.hierarchy.advance(world.now_ms)
    assert all(member.live for member in world.hierarchy.members.values())
    world.run(5)
    assert world.hierarchy.reparented == 0


def test_changes_are_told_once() -> None:
    world = World()
    world.join("root-1")
    changes = world.hierarchy.changes()
    assert changes is not None
    assert ([member.node_id for member in changes.members], changes.removed, changes.version) == (["root-1"], [], 1)
    world.poll("root-1")
    assert world.hierarchy.changes() is None
    world.hierarchy.remove("root-1")
    changes = world.hierarchy.changes()
    assert changes is not None
    assert (changes.members, changes.removed) == ([], ["root-1"])


@pytest.mark.parametrize(("polls", "settled"), [(0, False), (95, False), (96, True)])
def test_trust_is_a_matter_of_polls(polls: int, settled: bool) -> None:
    assert Member(node_id="x", role=Role.L2).settled
    assert Member(node_id="x", role=Role.L2, lapses=40, polls=polls).settled is settled


def test_an_id_belongs_to_the_principal_that_registered_it() -> None:
    hierarchy = Hierarchy()
    alice, bob = Asker("User:alice"), Asker("User:bob")
    admin = Asker("User:admin", lambda: True)
    mine = Registration(node_id="pos-1", instance_id="a", url="http://a")
    theirs = Registration(node_id="pos-1", instance_id="b", url="http://b")
    hierarchy.register(mine, 0, alice)
    long_after = 100 * mine.poll_interval_ms
    for now_ms in (0, long_after):  # while it lives, and when it is gone for long
        for other in (bob, ANYBODY):
            with pytest.raises(NotOwner, match="penstock registry remove pos-1"):
                hierarchy.register(theirs, now_ms, other)
            with pytest.raises(NotOwner):
                hierarchy.poll("pos-1", "a", now_ms, other)
    assert hierarchy.find("pos-1").url == "http://a"
    hierarchy.poll("pos-1", "a", long_after, alice)
    hierarchy.poll("pos-1", "a", long_after, admin)
    assert hierarchy.find("pos-1").principal == "User:alice"
    hierarchy.register(mine, long_after, admin)
    assert hierarchy.find("pos-1").principal == "User:admin"
    hierarchy.remove("pos-1")
    hierarchy.register(theirs, long_after, bob)
    assert hierarchy.find("pos-1").principal == "User:bob"


def test_a_node_without_a_principal_is_bound_by_its_next_registration() -> None:
    hierarchy = Hierarchy()
    node = Registration(node_id="pos-1", instance_id="a")
    hierarchy.register(node, 0)
    with pytest.raises(IdInUse):
        hierarchy.register(Registration(node_id="pos-1", instance_id="b"), 0, Asker("User:bob"))
    hierarchy.register(node, 0, Asker("User:alice"))
    with pytest.raises(NotOwner):
        hierarchy.register(node, 0, Asker("User:bob"))
