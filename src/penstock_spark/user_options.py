"""Options as the user gave them, under names in any case, and the broker that they name.

Keys arrive in lower case, with Spark's own among them. An unknown name is refused: a mistake in an option that is
silently ignored would be noticed too late.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from penstock.client.address import Address, parse_addresses
from penstock.client.cluster import Cluster
from penstock.client.security.properties import PLAINTEXT, ClientSecurity
from penstock_spark.errors import BadOption
from penstock_spark.plain_errors import plainly
from penstock_spark.refusals import plain_refusals
from penstock_spark.security_options import SECURITY_OPTIONS, parse_security

SECURITY_NAMES = ("commandConfig", "kafka.security.protocol", "kafka.sasl.…", "kafka.ssl.…")
SPARKS_OWN = frozenset({"checkpointlocation", "queryname", "path", "outputmode"})


@dataclass(frozen=True, kw_only=True)
class Broker:
    """The address and properties of a broker."""

    addresses: tuple[Address, ...]
    client_id: str
    timeout_s: float
    request_timeout_s: float
    security: ClientSecurity = PLAINTEXT

    def connect(self) -> Cluster:
        return Cluster(
            self.addresses,
            client_id=self.client_id,
            timeout_s=self.timeout_s,
            request_timeout_s=self.request_timeout_s,
            security=self.security,
        )

    @contextmanager
    def session(self) -> Iterator[Cluster]:
        """Connections for one call of Spark; AccessRefused if the broker refuses us."""
        with plainly(), self.plain_refusals(), self.connect() as cluster:
            yield cluster

    def plain_refusals(self) -> AbstractContextManager[None]:
        return plain_refusals(self.security)


class UserOptions:
    """Options as the user gave them, under names in any case."""

    def __init__(self, options: Mapping[str, str], known: tuple[str, ...]) -> None:
        self._values = {key.lower(): value for key, value in options.items()}
        names = {name.lower() for name in known}
        for key in self._values:
            if key not in names and key not in SPARKS_OWN and key not in SECURITY_OPTIONS:
                there = ", ".join((*sorted(known), *SECURITY_NAMES))
                raise BadOption(f"the option {key} is not known here; there are: {there}")

    def security(self) -> ClientSecurity:
        return parse_security(self._values)

    def text(self, name: str) -> str | None:
        return self._values.get(name.lower())

    def require(self, name: str, example: str) -> str:
        value = self.text(name)
        if not value:
            raise BadOption(f"the option {name} is missing, for instance {example}")
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        value = (self.text(name) or str(default)).lower()
        if value not in ("true", "false"):
            raise BadOption(f"{name} is true or false, not {value!r}")
        return value == "true"

    def count(self, name: str) -> int | None:
        """A number above 0."""
        value = self.text(name)
        if value is None:
            return None
        if not value.isdecimal() or int(value) < 1:
            raise BadOption(f"{name} is a number above 0, not {value!r}")
        return int(value)


def parse_broker(given: UserOptions) -> Broker:
    text = given.require("kafka.bootstrap.servers", "localhost:9092")
    try:
        addresses = parse_addresses(text)
    except ValueError as error:
        raise BadOption(f"kafka.bootstrap.servers: {error}") from None
    timeout = given.count("kafka.default.api.timeout.ms") or 60_000
    return Broker(
        addresses=addresses,
        client_id=given.text("kafka.client.id") or "penstock-spark",
        timeout_s=timeout / 1000,
        request_timeout_s=(given.count("kafka.request.timeout.ms") or 30_000) / 1000,
        security=given.security(),
    )
