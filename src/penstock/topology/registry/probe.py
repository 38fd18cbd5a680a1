"""Metrics of the registry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prometheus_client.core import Metric

from penstock.observability.probes import counter, gauge, labelled_counter, labelled_gauge
from penstock.topology.registry.service import RegistryService


class RegistryProbe:
    def __init__(self, service: RegistryService) -> None:
        self._service = service

    def families(self) -> Iterator[Metric]:
        members = self._service.hierarchy.members.values()
        nodes = Counter((str(member.role), "live" if member.live else "silent") for member in members)
        yield labelled_gauge(
            "penstock_registry_nodes",
            "Nodes that are registered",
            ["role", "state"],
            ((list(labels), count) for labels, count in sorted(nodes.items())),
        )
        orphans = sum(member.live and member.role.level > 0 and member.parent is None for member in members)
        yield gauge("penstock_registry_orphans", "Live nodes below ROOT that have no parent", orphans)
        yield gauge("penstock_registry_version", "The last version given out", self._service.hierarchy.version)
        yield labelled_counter(
            "penstock_registry_requests",
            "Requests to the registry, by kind and outcome",
            ["what", "result"],
            ((list(labels), count) for labels, count in sorted(self._service.requests.items())),
        )
        yield counter(
            "penstock_registry_reparented", "Nodes that got another parent", self._service.hierarchy.reparented
        )
