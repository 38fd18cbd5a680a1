"""A node's place in the hierarchy, as the registry gave it, and the interface for following its changes.

`Topology` is a value; the current one is held by a `TopologySource` (`topology.client`). The URLs are those of
HTTP ports, without a slash at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from penstock.model.role import Role

__all__ = ["Change", "Role", "Topology", "TopologySource"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """The registry's answer. `version` rises with every change of the fields after it."""

    node_id: str
    version: int
    role: Role
    parent_url: str | None = None
    """The parent; None for a ROOT, and for a node that has no parent yet."""
    fallbacks: tuple[str, ...] = ()
    """Other parents, to be tried in this order when the parent does not answer."""

    @property
    def parents(self) -> tuple[str, ...]:
        """Every parent, in the order in which they are to be tried."""
        return (self.parent_url, *self.fallbacks) if self.parent_url is not None else self.fallbacks


Change = Callable[[Topology], None]
"""Called on the event loop with the new topology; it must not wait."""


class TopologySource(Protocol):
    """The source of a node's current topology for its other parts. `current` is None before the very first answer."""

    @property
    def current(self) -> Topology | None: ...

    def on_change(self, changed: Change) -> Callable[[], None]:
        """Call `changed` with every new topology, not with the current one. The result is a function that ends this."""
        ...
