"""A node in a hierarchy: its registration, and its place as shown to operators.

Nothing here is loaded by a node that stands alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric

from penstock.config.settings import MEMORY, Settings
from penstock.net.endpoint import is_every_address
from penstock.node.security.door_plans import DoorPlan
from penstock.observability.health import Health
from penstock.observability.metrics import BrokerMetrics
from penstock.observability.probes import counter, gauge, labelled_gauge
from penstock.runtime.files import RealFiles
from penstock.topology.cache import TopologyCache
from penstock.topology.client import TopologyClient
from penstock.topology.http_identity import HttpIdentity
from penstock.topology.registry.bodies import RegistrationBody
from penstock.topology.registry_poller import RegistryState


def topology_client(settings: Settings, http: DoorPlan | None, port: int) -> TopologyClient:
    """Build the client, not started. `http` is the door for children, if there is one, and `port` the one that was
    bound for it.
    """
    assert settings.registry.url is not None
    in_memory = settings.storage.engine == MEMORY
    cache = TopologyCache(RealFiles(), None if in_memory else settings.node.data_dir)
    identity = HttpIdentity(settings.registry, "registry")
    return TopologyClient(settings.registry.url, registration(settings, http, port), cache, identity)


def registration(settings: Settings, http: DoorPlan | None, port: int) -> RegistrationBody:
    """The node's registration. The registry checks it; a refusal is in the log and the health report."""
    url = settings.registry.advertised_url
    is_derived = url is None and http is not None
    has_tls = http is not None and http.security.protocol.has_tls
    if url is None and http is not None:
        advertised = http.advertised if settings.listeners.advertised is not None else None
        if advertised is not None:
            url = http_url(advertised.host, advertised.port or port, has_tls=has_tls)
        elif not is_every_address(http.host):
            url = http_url(http.host, port, has_tls=has_tls)
        elif has_tls and http.advertised is not None:
            # Children verify the certificate, which rarely names the address that the registry would see.
            url = http_url(http.advertised.host, port, has_tls=has_tls)
    return RegistrationBody.model_construct(
        node_id=settings.node.label,
        role=settings.registry.role,
        url=url,
        http_port=port if is_derived and url is None else None,
        tls=True if is_derived and url is None and has_tls else None,
        site=settings.registry.site,
        poll_interval_ms=settings.registry.poll_interval_ms,
    )


def http_url(host: str, port: int, *, has_tls: bool = False) -> str:
    scheme = "https" if has_tls else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def connect_topology(client: TopologyClient, metrics: BrokerMetrics, health: Health) -> None:
    metrics.add_probe(TopologyProbe(client))
    health.add_detail("topology", client.describe)
    health.add_warning("registry", client.warning)


class TopologyProbe:
    def __init__(self, client: TopologyClient) -> None:
        self._client = client

    def families(self) -> Iterator[Metric]:
        topology, poller = self._client.current, self._client.poller
        places = [] if topology is None else [((topology.node_id, topology.role, topology.parent_url or ""), 1.0)]
        yield labelled_gauge("penstock_topology_info", "The node's place", ["node", "role", "parent"], places)
        yield gauge(
            "penstock_topology_version", "Version of the topology", topology.version if topology is not None else 0
        )
        yield counter("penstock_topology_changes", "Topologies that differed from the last one", poller.changes)
        registered = poller.state is RegistryState.REGISTERED
        yield gauge("penstock_topology_registered", "1 while the registry answers, 0 while it does not", registered)
        yield counter("penstock_topology_polls", "Answers of the registry", poller.polls)
        yield counter("penstock_topology_failures", "Requests to the registry that failed", poller.failures)
