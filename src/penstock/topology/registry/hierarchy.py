"""The choice of every node's parent: a core without I/O, which takes messages and the time as arguments.

Rules, for a node without a parent set by hand:

1. Candidates are live nodes with an HTTP port, of a role above, that are not below the node itself; `member_table` has
   the order among them.
2. A node keeps its parent. Reasons for another one: the parent has missed `missed_polls` polls, was removed or is
   no longer a candidate; or a nearer role above has a candidate, as when an L3 starts below an L2.
3. A node that was away keeps its role, id and version. It gets children that have a parent only after it has polled
   for a while (`Member.settled`), so that an unstable node does not disturb others.

A parent set by hand wins while it is live; while it is not, the rules apply. The parents in force and those set by hand
together never form a cycle.

Versions come from one counter; a node gets a new one when its answer differs from the last. `changes` has the changes
to store; nothing may be answered before they are stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from penstock.model.role import Role
from penstock.topology.model import Topology
from penstock.topology.registry.errors import Cycle, Full, IdInUse, InstanceWanted, NotAParent, NotOwner, UnknownNode
from penstock.topology.registry.member import ANYBODY, FORGIVEN_POLLS, Asker, Member, Registration, role_by_name
from penstock.topology.registry.member_table import MemberTable

MISSED_POLLS = 3
NODES_MAX = 10_000


class Changes(NamedTuple):
    """Changes to store: members as they are now, ids that are gone, and the last version given out."""

    members: list[Member]
    removed: list[str]
    version: int


class Hierarchy:
    """All nodes. A method that raises a `Refusal` has changed nothing."""

    def __init__(self, *, missed_polls: int = MISSED_POLLS, nodes_max: int = NODES_MAX) -> None:
        self.version = 0
        self.reparented = 0
        """Number of times that a node with a parent was given another."""
        self._table = MemberTable()
        self._missed_polls = missed_polls
        self._nodes_max = nodes_max
        self._changes = [0] * len(Role)  # by level: rises with every change that may affect answers to that level
        self._restless = True  # something has changed since `advance` last checked all parents
        self._dirty: set[str] = set()
        self._removed: set[str] = set()
        self._advanced_ms: int | None = None

    @property
    def members(self) -> Mapping[str, Member]:
        return self._table.members

    def find(self, node_id: str) -> Member:
        return self._table.find(node_id)

    def children(self, node_id: str) -> int:
        """The number of live children."""
        return self._table.children(node_id)

    def load(self, members: Iterable[Member], version: int, now_ms: int) -> None:
        """Load the stored members. No node could poll while the registry was down, so all of them count as seen now."""
        self.version = version
        for member in members:
            member.last_poll_ms = now_ms
            self._table.add(member)

    def changes(self) -> Changes | None:
        """The changes since the last call; None if there are none."""
        if not self._dirty and not self._removed:
            return None
        changed = [self.members[node_id] for node_id in sorted(self._dirty)]
        taken = Changes(changed, sorted(self._removed), self.version)
        self._dirty, self._removed = set(), set()
        return taken

    def put_back(self, changes: Changes) -> None:
        """Take back changes that could not be stored: the next `changes` have them, too."""
        self._dirty |= {member.node_id for member in changes.members} & self.members.keys()
        self._removed |= set(changes.removed) - self.members.keys()

    # ------------------------------------------------------------------------------------------- requests of nodes

    def register(self, registration: Registration, now_ms: int, asker: Asker = ANYBODY) -> Topology:
        """Register a new node, or one that has restarted: its role stays unless it asks for another."""
        member = self.members.get(registration.node_id)
        if member is None:
            if len(self.members) >= self._nodes_max:
                raise Full(self._nodes_max)
            role = registration.role or role_by_name(registration.node_id)
            member = Member(node_id=registration.node_id, role=role)
            self._table.add(member)
            self._removed.discard(member.node_id)
        else:
            _check_principal(member, asker)
            self._check_instance(member, registration.instance_id, now_ms)
            self._arrive(member)
            self._change_role(member, registration.role or member.role)
        member.take(registration, asker.principal)
        self._changed(member)
        return self._answer(member, now_ms)

    def poll(self, node_id: str, instance_id: str | None, now_ms: int, asker: Asker = ANYBODY) -> Topology:
        member = self.find(node_id)
        _check_principal(member, asker)
        if not self._check_instance(member, instance_id, now_ms):
            raise UnknownNode(node_id)  # it has to register first: the URL of the other one is not its own
        self._arrive(member)
        return self._answer(member, now_ms)

    def _check_instance(self, member: Member, instance_id: str | None, now_ms: int) -> bool:
        """Whether the request comes from the node itself; another one may replace it when it is gone.

        A second node with the id of a live one is refused, and so is a request that leaves out the instance id of a
        node that has one: that would be a way round.
        """
        if member.instance_id in (None, instance_id):
            return True
        if instance_id is None:
            raise InstanceWanted(member.node_id)
        self._lapse_if_silent(member, now_ms)
        if member.live:
            raise IdInUse(member.node_id, member.url, now_ms - member.last_poll_ms)
        return False

    def _answer(self, member: Member, now_ms: int) -> Topology:
        member.last_poll_ms = now_ms
        member.polls += 1
        if member.lapses:
            self._restless = True  # it may have become settled
            if member.polls >= FORGIVEN_POLLS:
                member.lapses = 0
                self._dirty.add(member.node_id)
        self._review_parent(member)
        if member.answer is None or member.answer_change != self._changes[member.role.level]:
            answer = self._topology(member)
            if answer != member.answer:
                self.version += 1
                answer = replace(answer, version=self.version)
                self._dirty.add(member.node_id)
            member.answer, member.answer_change = answer, self._changes[member.role.level]
        return member.answer

    def _topology(self, member: Member) -> Topology:
        """The topology of a node with the version of its last answer, so that a comparison shows other changes only."""
        parent = self._table.get(member.parent)
        return Topology(
            node_id=member.node_id,
            version=member.answer.version if member.answer is not None else 0,
            role=member.role,
            parent_url=parent.url if parent is not None else None,
            fallbacks=tuple(other.url for other in self._table.fallbacks(member) if other.url is not None),
        )

    # ----------------------------------------------------------------------------------- timeouts, changes by hand

    def advance(self, now_ms: int) -> None:
        """Note nodes that have gone silent, and give parents to the others. Called more often than any node polls."""
        stopped_ms = now_ms - (self._advanced_ms if self._advanced_ms is not None else now_ms)
        self._advanced_ms = now_ms
        for member in self.members.values():
            # If the registry was suspended for a while, perhaps with its machine, it missed the polls itself.
            if stopped_ms > member.poll_interval_ms:
                member.last_poll_ms = min(now_ms, member.last_poll_ms + stopped_ms)
            self._lapse_if_silent(member, now_ms)
        for _ in Role:  # a new parent on one level may be a reason for another one further down
            if not self._restless:
                break
            self._restless = False
            for node_id in sorted(self.members):
                if self.members[node_id].live:
                    self._review_parent(self.members[node_id])

    def set_parent(self, node_id: str, parent_id: str | None) -> None:
        """Set a parent by hand; None gives the node back to the rules."""
        member = self.find(node_id)
        if parent_id is not None:
            self._check_parent(member, self.find(parent_id))
        self._pin(member, parent_id)
        if member.live:
            self._review_parent(member)

    def _check_parent(self, member: Member, parent: Member) -> None:
        if member.role is Role.ROOT:
            raise NotAParent(f"{member.node_id} is a ROOT, which has no parent; register it with another role first")
        if parent.url is None:
            raise NotAParent(f"{parent.node_id} has no HTTP port that children could ask; set http.enabled on it")
        path = self._table.path_up(parent, member.node_id)
        if path is not None:
            raise Cycle([member.node_id, *path])

    def remove(self, node_id: str) -> None:
        """Forget a node. Its children get other parents; if it is still live, it registers again."""
        self._table.remove(self.find(node_id))
        self._dirty.discard(node_id)
        self._removed.add(node_id)
        self._all_changed()
        for other in self._table.followers(node_id):
            if other.pinned == node_id:
                self._pin(other, None)
            if other.parent == node_id:
                self._attach(other, None)
        for other in list(self.members.values()):
            if other.live and other.parent is None:
                self._review_parent(other)

    # ----------------------------------------------------------------------------------------------- coming, going

    def _lapse_if_silent(self, member: Member, now_ms: int) -> None:
        if member.live and member.missed_polls(now_ms) >= self._missed_polls:
            self._table.count_child(member, -1)
            member.live = False
            member.lapses += 1
            member.polls = 0
            self._changed(member)

    def _arrive(self, member: Member) -> None:
        if not member.live:
            member.live = True
            self._table.count_child(member, 1)
            self._changed(member)

    def _change_role(self, member: Member, role: Role) -> None:
        if member.role is role:
            return
        self._table.change_role(member, role)
        self._all_changed()
        if role is Role.ROOT:
            self._pin(member, None)
            self._attach(member, None)

    def _changed(self, member: Member) -> None:
        """Note a change of a node, for itself and as a candidate for all nodes below its level."""
        self._dirty.add(member.node_id)
        self._restless = True
        self._table.changed(member)
        member.answer_change = -1
        for follower in self._table.followers(member.node_id):
            follower.answer_change = -1  # by hand it may be on any level
        for level in range(member.role.level + 1, len(self._changes)):
            self._changes[level] += 1

    def _all_changed(self) -> None:
        self._restless = True
        self._changes = [change + 1 for change in self._changes]

    # ----------------------------------------------------------------------------------------------------- parents

    def _review_parent(self, member: Member) -> None:
        """Give a live node the parent that it should have; without a reason it keeps the current one."""
        if member.role is Role.ROOT:
            return
        current = self._table.get(member.parent)
        pinned = self._table.get(member.pinned)
        has_live_one = current is not None and current.can_be_parent
        if pinned is not None and pinned.can_be_parent and (pinned.settled or not has_live_one):
            self._attach(member, pinned)
        elif current is None or (current is not pinned and current.role.level >= member.role.level):
            self._attach(member, next(self._table.candidates(member), None))
        elif not has_live_one:
            other = next(self._table.candidates(member), None)
            # Without another candidate the node keeps its parent: perhaps only the registry misses the parent's polls.
            self._attach(member, other or (current if current.url is not None else None))
        elif current is not pinned and self._table.has_nearer(member, current):
            self._attach(member, next(self._table.candidates(member, settled_only=True)))

    def _attach(self, member: Member, parent: Member | None) -> None:
        parent_id = parent.node_id if parent is not None else None
        if member.parent == parent_id:
            return
        self.reparented += member.parent is not None and parent is not None
        self._table.attach(member, parent_id)
        self._dirty.add(member.node_id)
        self._restless = True
        member.answer_change = -1

    def _pin(self, member: Member, parent_id: str | None) -> None:
        """Set or remove a parent by hand. It may be of any role, so the answers to all nodes are built again."""
        self._table.pin(member, parent_id)
        self._dirty.add(member.node_id)
        self._all_changed()


def _check_principal(member: Member, asker: Asker) -> None:
    """An id belongs to the principal that registered it, also while its node is away."""
    if member.principal not in (None, asker.principal) and not asker.may_replace():
        raise NotOwner(member.node_id)
