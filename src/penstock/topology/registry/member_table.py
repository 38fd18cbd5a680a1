"""All nodes that the registry knows, and the possible parents of each. The decisions are made in `hierarchy`.

The order among candidates is here: the nearest role above; there, the longest shared site; there, the fewest
children; then by id. With thousands of nodes this is asked at every poll after a change, so what is below a node and
how many children it has is kept, not searched.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from penstock.model.role import Role
from penstock.topology.registry.candidates import Candidates, place_on_ring
from penstock.topology.registry.errors import UnknownNode
from penstock.topology.registry.member import Member

FALLBACKS_MAX = 5
_ROLES_UP = tuple(reversed(Role))


class MemberTable:
    """`parent` and `pinned` of a member, once it is here, are changed by `attach` and `pin` only."""

    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        self._candidates = Candidates()
        self._children: Counter[str] = Counter()  # live ones only
        self._below: defaultdict[str, set[str]] = defaultdict(set)  # by parents in force and those set by hand

    def add(self, member: Member) -> None:
        self.members[member.node_id] = member
        self._candidates.add(member)
        self.count_child(member, member.live)
        self._link(member)

    def remove(self, member: Member) -> None:
        self.count_child(member, -member.live)
        self._unlink(member)
        del self.members[member.node_id]
        self._candidates.remove(member)

    def find(self, node_id: str) -> Member:
        if node_id not in self.members:
            raise UnknownNode(node_id)
        return self.members[node_id]

    def get(self, node_id: str | None) -> Member | None:
        return self.members.get(node_id) if node_id is not None else None

    def change_role(self, member: Member, role: Role) -> None:
        self._candidates.remove(member)
        member.role = role
        self._candidates.add(member)

    def changed(self, member: Member) -> None:
        """Note that a node went live or silent, or registered with other values."""
        self._candidates.changed(member.role)

    def attach(self, member: Member, parent_id: str | None) -> None:
        self.count_child(member, -member.live)
        self._unlink(member)
        member.parent = parent_id
        self._link(member)
        self.count_child(member, member.live)

    def pin(self, member: Member, parent_id: str | None) -> None:
        self._unlink(member)
        member.pinned = parent_id
        self._link(member)

    def children(self, node_id: str) -> int:
        """Number of live children."""
        return self._children[node_id]

    def count_child(self, member: Member, more: int) -> None:
        """Change the parent's number of live children by 1, 0 or -1."""
        if member.parent is not None:
            self._children[member.parent] += more

    def followers(self, node_id: str) -> list[Member]:
        """Children of a node, in force or set by hand."""
        return [self.members[follower] for follower in sorted(self._below.get(node_id, ()))]

    def _link(self, member: Member) -> None:
        for above in (member.parent, member.pinned):
            if above is not None:
                self._below[above].add(member.node_id)

    def _unlink(self, member: Member) -> None:
        for above in (member.parent, member.pinned):
            if above is not None:
                self._below[above].discard(member.node_id)

    # -------------------------------------------------------------------------------------------------- candidates

    def candidates(self, member: Member, *, settled_only: bool = False) -> Iterator[Member]:
        """The best of each role above, nearest role first; those that come and go after all others, or not at all."""
        below = self._all_below(member)
        for settled in (True,) if settled_only else (True, False):
            for role in _above(member.role):
                for ring in self._candidates.near(member, role):
                    best = min(
                        (other for other in ring.members if other.settled is settled and other.node_id not in below),
                        key=lambda other: (self._children[other.node_id], other.node_id),
                        default=None,
                    )
                    if best is not None:
                        yield best
                        break

    def has_nearer(self, member: Member, parent: Member) -> bool:
        """Whether some role between the two has a candidate that is settled."""
        rings = [
            ring
            for role in _above(member.role)
            if role.level > parent.role.level
            for ring in self._candidates.near(member, role)
        ]
        if not rings:
            return False
        below = self._all_below(member)
        return any(other.settled and other.node_id not in below for ring in rings for other in ring.members)

    def fallbacks(self, member: Member) -> list[Member]:
        """Parents for a child whose own does not answer it: by role and site, then in an order of the child's own."""
        left_out = self._all_below(member) | {member.parent}
        start = place_on_ring(member.node_id)
        chosen: list[Member] = []
        for role in _above(member.role):
            for ring in self._candidates.near(member, role):
                for other in ring.beginning_at(start):
                    if len(chosen) == FALLBACKS_MAX:
                        return chosen
                    if other.node_id not in left_out:
                        left_out.add(other.node_id)
                        chosen.append(other)
        return chosen

    def _all_below(self, member: Member) -> set[str | None]:
        """The nodes that cannot be a parent of this one: its children and theirs, parents set by hand included."""
        found: set[str | None] = set()
        waiting = [member.node_id]
        while waiting:
            new = self._below.get(waiting.pop(), set()) - found
            found |= new
            waiting += new
        return found

    def path_up(self, start: Member, goal: str) -> list[str] | None:
        """The ids from `start` upwards to `goal`, over parents in force and those set by hand; None if there is
        no path.
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
    """Roles above, nearest first."""
    return _ROLES_UP[len(_ROLES_UP) - role.level :]
