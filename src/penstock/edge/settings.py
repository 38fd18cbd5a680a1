"""Settings of the application; `cli.edge` reads them from flags and variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeSettings:
    type: str = "price"
    topic: str = "price-topic"
    group: str = "price-group"
    host: str = "127.0.0.1"
    port: int = 8082
    broker_host: str = "localhost"
    broker_port: int = 9999
    data_dir: Path = Path("consumer-data")
    allowed_hosts: tuple[str, ...] = ()
    """Names under which clients address the port, besides addresses, localhost and the machine's own."""
    security: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Properties of the client of the broker under Kafka's names, such as sasl.username."""

    @property
    def broker(self) -> str:
        return f"{self.broker_host}:{self.broker_port}"
