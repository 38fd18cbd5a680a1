"""A hierarchy and its time: nodes that poll as long as they are switched on."""

from penstock.model.role import Role
from penstock.topology.model import Topology
from penstock.topology.registry.hierarchy import Hierarchy
from penstock.topology.registry.member import Registration

INTERVAL_MS = 1_000
TICK_MS = 250


class World:
    """Every node polls each second while it is `up`; `advance` is called four times as often."""

    def __init__(self, **options: int) -> None:
        self.hierarchy = Hierarchy(**options)
        self.now_ms = 0
        self.up: dict[str, str] = {}
        self.answers: dict[str, Topology] = {}

    def join(self, node_id: str, role: Role | None = None, *, site: str | None = None, url: bool = True) -> Topology:
        instance = self.up.setdefault(node_id, f"instance of {node_id}")
        registration = Registration(
            node_id=node_id,
            instance_id=instance,
            role=role,
            site=site,
            url=f"http://{node_id}" if url else None,
            poll_interval_ms=INTERVAL_MS,
        )
        self.answers[node_id] = self.hierarchy.register(registration, self.now_ms)
        return self.answers[node_id]

    def poll(self, node_id: str) -> Topology:
        self.answers[node_id] = self.hierarchy.poll(node_id, self.up[node_id], self.now_ms)
        return self.answers[node_id]

    def run(self, seconds: float) -> None:
        end = self.now_ms + int(seconds * 1_000)
        while self.now_ms < end:
            self.now_ms += TICK_MS
            if self.now_ms % INTERVAL_MS == 0:
                for node_id in sorted(self.up):
                    self.poll(node_id)
            self.hierarchy.advance(self.now_ms)

    def parent(self, node_id: str) -> str | None:
        return self.hierarchy.members[node_id].parent

    def parents(self, *node_ids: str) -> list[str | None]:
        return [self.parent(node_id) for node_id in node_ids]
