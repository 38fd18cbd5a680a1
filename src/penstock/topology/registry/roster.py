"""Everybody the registry knows, and who of them can be the parent of whom. No decisions: those are `hierarchy`'s.

The order among candidates is here: the nearest role above; there, the longest shared site; there, the fewest
children; then by id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from heapq import nsmallest

from penstock.model.role import Role
from penstock.topology.registry.errors import UnknownNode
from penstock.topology.registry.member import Member, shared_site

FALLBACKS_MAX = 5
_ROLES_UP = tuple(reversed(Role))


class Roster:
    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        self._by_role: dict[Role, dict[str, Member]] = {role: {} for role in Role}
        self._children: Counter[str] = Counter()  # live ones only

    def add(self, member: Member) -> None:
        self.members[member.node_id] = member
        self._by_role[member.role][member.node_id] = member
        self.count_child(member, member.live)

    def remove(self, member: Member) -> None:
        self.count_child(member, -member.live)
        del self.members[member.node_id]
        del self._by_role[member.role][member.node_id]

    def find(self, node_id: str) -> Member:
        if node_id not in self.members:
            raise UnknownNode(node_id)
        return self.members[node_id]

    def get(self, node_id: str | None) -> Member | None:
        return self.members.get(node_id) if node_id is not None else None

    def change_role(self, member: Member, role: Role) -> None:
        del self._by_role[member.role][member.node_id]
        member.role = role
        self._by_role[role][member.node_id] = member

    def children(self, node_id: str) -> int:
        """Live ones."""
        return self._children[node_id]

    def count_child(self, member: Member, more: int) -> None:
        """The parent has so many live children more: 1, 0 or -1."""
        if member.parent is not None:
            self._children[member.parent] += more

    # -------------------------------------------------------------------------------------------------- candidates

    def candidates(self, member: Member, *, settled_only: bool = False) -> Iterator[Member]:
        """The best of each role above, nearest role first; those that come and go after all others, or not at all."""
        for settled in (True,) if settled_only else (True, False):
            for role in _above(member.role):
                best = min(
                    (other for other in self._possible(member, role) if other.settled is settled),
                    key=lambda other: (*_near(member, other), self._children[other.node_id], other.node_id),
                    default=None,
                )
                if best is not None:
                    yield best

    def has_nearer(self, member: Member, parent: Member) -> bool:
        """Whether some role between the two has a candidate that is settled."""
        return any(
            other.settled
            for role in _above(member.role)
            if role.level > parent.role.level
            for other in self._possible(member, role)
        )

    def fallbacks(self, member: Member) -> list[Member]:
        """Parents for a child whose own does not answer it: by role and site, then in an order of the child's own, so
        that not all children of one parent go to the same other one.
        """
        chosen: list[Member] = []
        for role in _above(member.role):
            chosen += nsmallest(
                FALLBACKS_MAX - len(chosen),
                (other for other in self._possible(member, role) if other.node_id != member.parent),
                key=lambda other: (*_near(member, other), _mixed(member.node_id, other.node_id)),
            )
        return chosen

    def _possible(self, member: Member, role: Role) -> Iterator[Member]:
        for other in self._by_role[role].values():
            if other.can_be_parent and self.path_up(other, member.node_id) is None:
                yield other

    def path_up(self, start: Member, goal: str) -> list[str] | None:
        """The ids from `start` upwards to `goal`, over parents in force and those set by hand; None if no way leads
        there.
        """
        paths = [[start.node_id]]
        seen = {start.node_id}
        while paths:
            path = paths.pop()
            if path[-1] == goal:
                return path
            member = self.members.get(path[-1])
            for above in (member.parent, member.pinned) if member is not None else ():
                if above is not None and above not in seen:
                    seen.add(above)
                    paths.append([*path, above])
        return None


def _above(role: Role) -> tuple[Role, ...]:
    """Nearest first."""
    return _ROLES_UP[len(_ROLES_UP) - role.level :]


def _near(member: Member, other: Member) -> tuple[int]:
    return (-shared_site(member.site, other.site),)


def _mixed(one: str, other: str) -> bytes:
    return blake2b(f"{one}\0{other}".encode(), digest_size=8).digest()
