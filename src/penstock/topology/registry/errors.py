"""Refusals of the registry, with messages for the user; `problems` gives each its HTTP status."""

from __future__ import annotations

from collections.abc import Sequence


class Refusal(Exception):
    """A refused request; nothing was changed."""


class UnknownNode(Refusal):
    def __init__(self, node_id: str) -> None:
        super().__init__(f"no node {node_id} is registered")
        self.node_id = node_id


class IdInUse(Refusal):
    def __init__(self, node_id: str, url: str | None, silent_ms: int) -> None:
        where = f" at {url}" if url else ""
        super().__init__(
            f"node id {node_id} is used by another node{where}, which asked {silent_ms / 1000:.1f} s ago;"
            " give this one another id (NODE_ID), or stop the other one"
        )


class InstanceWanted(Refusal):
    """A request without an instance id for a node that has one."""

    def __init__(self, node_id: str) -> None:
        super().__init__(
            f"node {node_id} is registered with an instance id, and this request has none; send its instanceId,"
            f" or remove the node first (`penstock registry remove {node_id}`)"
        )


class NotOwner(Refusal):
    """A request for a node that another principal has registered."""

    def __init__(self, node_id: str) -> None:
        super().__init__(
            f"node {node_id} was registered by another principal; give this one another id (NODE_ID), or let somebody"
            f" with the right to alter the cluster remove it (`penstock registry remove {node_id}`)"
        )


class Cycle(Refusal):
    """`path` begins and ends with the node whose parent was to be set."""

    def __init__(self, path: Sequence[str]) -> None:
        self.path = tuple(path)
        super().__init__(
            f"{path[1]} cannot be the parent of {path[0]}: that would be a cycle, {' → '.join(path)};"
            f" give {path[-2]} another parent first"
        )


class NotAParent(Refusal):
    """A ROOT was to have a parent, or a node without an HTTP port to be one."""


class Full(Refusal):
    def __init__(self, nodes_max: int) -> None:
        super().__init__(
            f"the registry has {nodes_max} nodes, its most; remove some with `penstock registry remove`,"
            " or start it with a higher --nodes-max"
        )
