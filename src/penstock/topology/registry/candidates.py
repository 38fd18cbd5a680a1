"""Candidates for parents by role and site, each group in the order of a ring; rebuilt when a node comes or goes.

A group has all nodes whose site begins with the same parts; the group of no parts has every node. On a ring each child
begins at a place of its own, so that the children of one parent fall back on different parents, and each of them always
on the same ones.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple
from zlib import crc32

from penstock.model.role import Role
from penstock.topology.registry.member import Member


class Ring(NamedTuple):
    places: list[int]
    members: list[Member]

    def beginning_at(self, place: int) -> Iterator[Member]:
        start = bisect_left(self.places, place)
        yield from self.members[start:]
        yield from self.members[:start]


Groups = dict[tuple[str, ...], Ring]


class Candidates:
    def __init__(self) -> None:
        self._by_role: dict[Role, dict[str, Member]] = {role: {} for role in Role}
        self._groups: dict[Role, Groups] = {}

    def add(self, member: Member) -> None:
        self._by_role[member.role][member.node_id] = member
        self.changed(member.role)

    def remove(self, member: Member) -> None:
        del self._by_role[member.role][member.node_id]
        self.changed(member.role)

    def changed(self, role: Role) -> None:
        """Drop the rings of a role: one of its nodes went live or silent, or has another URL or site."""
        self._groups.pop(role, None)

    def near(self, member: Member, role: Role) -> Iterator[Ring]:
        """The groups of a role that can be parents: the longest shared part of the site first, all nodes last."""
        groups = self._groups.get(role)
        if groups is None:
            groups = self._groups[role] = _grouped(self._by_role[role])
        for depth in range(len(member.site_parts), -1, -1):
            ring = groups.get(member.site_parts[:depth])
            if ring is not None:
                yield ring


def place_on_ring(node_id: str) -> int:
    return crc32(node_id.encode())


def _grouped(members: dict[str, Member]) -> Groups:
    groups: defaultdict[tuple[str, ...], list[tuple[int, str, Member]]] = defaultdict(list)
    for node_id, member in members.items():
        if member.can_be_parent:
            entry = (place_on_ring(node_id), node_id, member)
            for depth in range(len(member.site_parts) + 1):
                groups[member.site_parts[:depth]].append(entry)
    return {parts: _ring(entries) for parts, entries in groups.items()}


def _ring(entries: list[tuple[int, str, Member]]) -> Ring:
    entries.sort(key=lambda entry: entry[:2])
    return Ring([place for place, _, _ in entries], [member for _, _, member in entries])
