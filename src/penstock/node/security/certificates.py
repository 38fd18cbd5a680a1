"""The certificates of a node's doors: read again when their files change, and how long they last."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from typing import Final

from prometheus_client.core import Metric

from penstock.node.errors import SettingsError
from penstock.node.security.door_plans import DoorPlan
from penstock.observability.probes import labelled_gauge
from penstock.runtime.periodic import Periodic
from penstock.security.tls.certificates import Certificates
from penstock.security.tls.options import TlsProblem

logger = logging.getLogger(__name__)

SECONDS_A_DAY: Final = 86_400
DAYS_OF_WARNING: Final = 14


class DoorCertificates:
    """Certificates by the names of their listeners. Implements `observability.metrics.Probe`."""

    def __init__(self, interval_ms: int) -> None:
        self._by_name: dict[str, Certificates] = {}
        self._failed: set[str] = set()
        self._periodic = Periodic("certificates", interval_ms, self.reload)

    def of(self, plan: DoorPlan) -> Certificates | None:
        """Read the files of a door; None if it has no TLS. SettingsError if they cannot be used."""
        if plan.tls is None:
            return None
        name = plan.security.name
        try:
            certificates = self._by_name[name] = Certificates(plan.tls)
        except TlsProblem as problem:
            raise SettingsError(f"the listener {name}: {problem}") from None
        self._warn(name, certificates)
        return certificates

    def watch(self) -> None:
        if self._by_name:
            self._periodic.start()

    async def stop(self) -> None:
        await self._periodic.stop()

    async def reload(self) -> None:
        """Look at the files now; they are read in a thread."""
        for name, certificates in self._by_name.items():
            try:
                if not await asyncio.to_thread(certificates.reload):
                    continue
            except TlsProblem as problem:
                self._failed.add(name)
                logger.error("the certificate of the listener %s stays as it is: %s", name, problem)
                continue
            self._failed.discard(name)
            logger.info("the listener %s has new certificates", name)
            self._warn(name, certificates)

    def _warn(self, name: str, certificates: Certificates) -> None:
        days = _days_left(certificates)
        if days < DAYS_OF_WARNING:
            logger.warning("the certificate of the listener %s ends in %.1f days; renew it", name, days)

    def families(self) -> Iterator[Metric]:
        yield labelled_gauge(
            "penstock_certificate_days_left",
            "Days until the certificate of a listener ends",
            ["listener"],
            [([name], _days_left(certificates)) for name, certificates in self._by_name.items()],
        )
        yield labelled_gauge(
            "penstock_certificate_failed",
            "1 while changed files of a listener cannot be used and the ones before are",
            ["listener"],
            [([name], float(name in self._failed)) for name in self._by_name],
        )


def _days_left(certificates: Certificates) -> float:
    return (certificates.expires_at - time.time()) / SECONDS_A_DAY
