"""Networks by name, and by address: `unix:/path` names its network, `host:port` is TCP."""

from __future__ import annotations

from penstock.net.endpoint import Endpoint
from penstock.net.interface import Network
from penstock.runtime.plugins import load_implementation

TCP = "tcp"
NETWORKS = {TCP: "penstock.net.tcp:TcpNetwork", "unix": "penstock.net.unix:UnixNetwork"}


def load_network(name: str, setting: str = "network.type") -> Network:
    """The network of that name. UnknownImplementation if no package provides it."""
    network: Network = load_implementation("penstock.network", name, NETWORKS, setting)()
    return network


def network_name(host: str, port: int) -> str:
    """The name of the network of an address: an address without a port begins with it."""
    scheme, colon, _ = host.partition(":")
    return scheme if colon and not port else TCP


def network_of(endpoint: Endpoint) -> Network:
    return load_network(network_name(endpoint.host, endpoint.port), "the address")
