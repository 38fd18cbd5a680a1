"""Options as the user gave them, under names in any case, and the broker that they name.

Keys arrive in lower case, with Spark's own among them. A name that no option has is refused: a mistake in an option
that is silently ignored would be noticed too late. Those of Spark's connector that mean nothing here are taken.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from penstock.client.address import Address, parse_addresses
from penstock.client.cluster import Cluster
from penstock.client.patience import USUAL, Patience
from penstock.client.security.properties import PLAINTEXT, ClientSecurity
from penstock_spark.errors import BadOption
from penstock_spark.idle_clusters import leased
from penstock_spark.options.catalogue import check_effects, check_names, without_effect
from penstock_spark.options.option import Use
from penstock_spark.plain_errors import plainly
from penstock_spark.refusals import plain_refusals
from penstock_spark.security_options import parse_security

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Broker:
    """The address and properties of a broker."""

    addresses: tuple[Address, ...]
    client_id: str
    timeout_s: float
    request_timeout_s: float
    security: ClientSecurity = PLAINTEXT
    patience: Patience = USUAL
    notice: str = ""
    """A warning about the options, for the process that makes the connection."""

    def connect(self) -> Cluster:
        self._tell()
        return self._cluster()

    def _tell(self) -> None:
        if self.notice:
            logger.warning(self.notice)

    def _cluster(self) -> Cluster:
        return Cluster(
            self.addresses,
            client_id=self.client_id,
            timeout_s=self.timeout_s,
            request_timeout_s=self.request_timeout_s,
            security=self.security,
            patience=self.patience,
        )

    @contextmanager
    def session(self) -> Iterator[Cluster]:
        """Connections for one call of Spark; AccessRefused if the broker refuses us."""
        self._tell()
        with plainly(), self.plain_refusals(), leased(self, self._cluster) as cluster:
            yield cluster

    def plain_refusals(self) -> AbstractContextManager[None]:
        return plain_refusals(self.security)


class UserOptions:
    """Options as the user gave them, under names in any case."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._values = {key.lower(): value for key, value in options.items()}
        check_names(self._values)

    def allow(self, use: Use) -> str:
        """BadOption for what is refused in such a query. Returns a warning that names what is ignored there."""
        check_effects(self._values, use)
        found = without_effect(self._values, use)
        told = "; ".join(f"{', '.join(names)} ({reason})" for reason, names in found.items())
        return f'format("penstock") ignores options of this {use.value}: {told}' if told else ""

    @property
    def identity(self) -> int:
        """By which a streaming query is known in one process: its checkpoint is among its options."""
        return hash(frozenset(self._values.items()))

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
        return self._number(name, 1)

    def amount(self, name: str) -> int | None:
        """A number that may be 0."""
        return self._number(name, 0)

    def _number(self, name: str, least: int) -> int | None:
        value = self.text(name)
        if value is None:
            return None
        if not value.strip().isdecimal() or int(value) < least:
            raise BadOption(f"{name} is a number {'above 0' if least else 'and not negative'}, not {value!r}")
        return int(value)

    def seconds(self, name: str, default: float) -> float:
        """Seconds of an option in ms."""
        value = self.amount(name)
        return default if value is None else value / 1000


def parse_broker(given: UserOptions) -> Broker:
    text = given.require("kafka.bootstrap.servers", "localhost:9092")
    try:
        addresses = parse_addresses(text)
    except ValueError as error:
        raise BadOption(f"kafka.bootstrap.servers: {error}") from None
    return Broker(
        addresses=addresses,
        client_id=given.text("kafka.client.id") or "penstock-spark",
        timeout_s=(given.count("kafka.default.api.timeout.ms") or 60_000) / 1000,
        request_timeout_s=(given.count("kafka.request.timeout.ms") or 30_000) / 1000,
        security=given.security(),
        patience=_patience(given),
    )


def _patience(given: UserOptions) -> Patience:
    return Patience(
        pause_s=given.seconds("kafka.retry.backoff.ms", USUAL.pause_s),
        pause_s_max=given.seconds("kafka.retry.backoff.max.ms", USUAL.pause_s_max),
        away_s=given.seconds("kafka.reconnect.backoff.ms", USUAL.away_s),
        away_s_max=given.seconds("kafka.reconnect.backoff.max.ms", USUAL.away_s_max),
    )
