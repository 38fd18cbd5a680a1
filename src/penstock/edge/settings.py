"""Settings of the application; `cli.edge` reads them from flags and variables."""

from __future__ import annotations

from dataclasses import dataclass
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

    @property
    def broker(self) -> str:
        return f"{self.broker_host}:{self.broker_port}"
