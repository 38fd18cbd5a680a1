"""Invariants of the registry, whatever nodes, people and time do: no cycles, no node without a possible parent,
versions that only rise, no node moved without a reason, and the same after a restart.
"""

from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from penstock.model.role import Role
from penstock.topology.registry.errors import Cycle, Refusal
from penstock.topology.registry.hierarchy import Hierarchy
from penstock.topology.registry.member import Member
from tests.unit.topology.registry_world import World

NAMES = [f"n{number}" for number in range(8)]
names = st.sampled_from(NAMES)
roles = st.sampled_from(list(Role))
sites = st.sampled_from([None, "eu", "eu/berlin", "us"])


class Registries(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.world = World()
        self.version = 0
        self.told: dict[str, int] = {}

    @property
    def members(self) -> dict[str, Member]:
        return dict(self.world.hierarchy.members)

    @rule(name=names, role=st.none() | roles, site=sites, url=st.booleans())
    def join(self, name: str, role: Role | None, site: str | None, url: bool) -> None:
        self._remember(self.world.join(name, role, site=site, url=url).version, name)

    @rule(name=names)
    def switch_off(self, name: str) -> None:
        self.world.up.pop(name, None)

    @rule(name=names)
    def come_back(self, name: str) -> None:
        if name in self.members:
            role = self.members[name].role
            self.world.up[name] = f"instance of {name}"
            self._remember(self.world.poll(name).version, name)
            assert self.members[name].role is role

    @rule(name=names)
    def ask(self, name: str) -> None:
        """Answers from memory equal answers that are computed from scratch."""
        if name not in self.world.up or name not in self.members:
            return
        answer = self.world.poll(name)
        anew = Hierarchy()
        anew.load(
            [replace(member, answer=None, answer_change=-1) for member in self.members.values()], 0, self.world.now_ms
        )
        assert replace(anew.poll(name, self.world.up[name], self.world.now_ms), version=answer.version) == answer

    @rule(seconds=st.sampled_from([0.25, 1, 2, 5, 30]))
    def time_passes(self, seconds: float) -> None:
        before = {name: replace(member) for name, member in self.members.items()}
        self.world.run(seconds)
        for name, answer in self.world.answers.items():
            if name in self.world.up:
                self._remember(answer.version, name)
        if seconds < 1:
            self._nobody_moved_without_reason(before)

    @rule(name=names, parent=st.none() | names)
    def set_parent(self, name: str, parent: str | None) -> None:
        before = {node_id: (member.parent, member.pinned) for node_id, member in self.members.items()}
        refusal = None
        try:
            self.world.hierarchy.set_parent(name, parent)
        except Refusal as refused:
            refusal = refused
        if refusal is not None:
            assert before == {node_id: (member.parent, member.pinned) for node_id, member in self.members.items()}
        if isinstance(refusal, Cycle):
            steps = zip(refusal.path[1:], refusal.path[2:], strict=False)
            assert refusal.path[0] == refusal.path[-1] == name
            assert all(above in before[below] for below, above in steps)

    @rule(name=names)
    def remove(self, name: str) -> None:
        if name in self.members:
            self.world.up.pop(name, None)
            self.world.hierarchy.remove(name)

    @rule()
    def restart(self) -> None:
        """The stored members equal those in memory."""
        stored = [replace(member, polls=0, answer_change=-1) for member in self.members.values()]
        again = Hierarchy()
        again.load(stored, self.world.hierarchy.version, self.world.now_ms)
        self.world.hierarchy = again

    def _remember(self, version: int, name: str) -> None:
        assert version >= self.told.get(name, 0)
        self.told[name] = version

    def _nobody_moved_without_reason(self, before: dict[str, Member]) -> None:
        """Within one tick: judged by what was there before it and is there after it."""
        now = self.members
        for name, was in before.items():
            if was.parent is None or now[name].parent == was.parent:
                continue
            parent, member = now.get(was.parent), now[name]
            chosen = now[str(member.parent)] if member.parent is not None else None
            gone = parent is None or not parent.can_be_parent
            misfit = parent is not None and was.pinned != was.parent and parent.role.level >= member.role.level
            by_hand = member.pinned is not None and member.parent == member.pinned
            nearer = parent is not None and chosen is not None and chosen.role.level > parent.role.level
            assert gone or misfit or by_hand or nearer, f"{name}: {was} -> {member}"

    @invariant()
    def there_is_no_cycle(self) -> None:
        members = self.members
        edges = {name: {member.parent, member.pinned} - {None} for name, member in members.items()}
        while leaves := [name for name in edges if not edges[name] & edges.keys()]:
            for name in leaves:
                del edges[name]
        assert not edges

    @invariant()
    def everybody_who_can_has_a_live_parent(self) -> None:
        self.world.hierarchy.advance(self.world.now_ms)
        members = self.members
        for name, member in members.items():
            if not member.live or member.role is Role.ROOT:
                continue
            parent = members.get(member.parent) if member.parent is not None else None
            candidates = [
                other
                for other in members.values()
                if other.can_be_parent and other.role.level < member.role.level and not self._is_below(other, name)
            ]
            assert not candidates or (parent is not None and parent.can_be_parent)
            assert member.pinned == member.parent or parent is None or parent.role.level < member.role.level

    def _is_below(self, member: Member, name: str) -> bool:
        above = [node_id for node_id in (member.parent, member.pinned) if node_id is not None]
        return any(node_id == name or self._is_below(self.members[node_id], name) for node_id in above)

    @invariant()
    def roots_have_no_parent_and_parents_exist(self) -> None:
        for member in self.members.values():
            assert member.role is not Role.ROOT or member.parent is None
            assert {member.parent, member.pinned} - {None} <= self.members.keys()

    @invariant()
    def children_are_counted(self) -> None:
        for name in NAMES:
            count = sum(member.parent == name and member.live for member in self.members.values())
            assert self.world.hierarchy.children(name) == count

    @invariant()
    def the_version_only_rises(self) -> None:
        assert self.world.hierarchy.version >= self.version
        self.version = self.world.hierarchy.version


TestRegistries = pytest.mark.feature("P-11")(Registries.TestCase)
TestRegistries.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
