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
DAYS_OF_WARNING_OF_LISTS: Final = 1.0
"""Lists are renewed by machines, and many of them every day."""


class DoorCertificates:
    """Certificates by the names of their listeners. Implements `observability.metrics.Probe`."""

    def __init__(self, interval_ms: int) -> None:
        self._by_name: dict[str, Certificates] = {}
        self._failed: dict[str, str] = {}
        self._told_of_lists: dict[str, str] = {}
        self._lock = asyncio.Lock()
        self._periodic = Periodic("certificates", interval_ms, self.refresh)

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
        self._tell_of_lists()
        if self._by_name:
            self._periodic.start()

    async def stop(self) -> None:
        await self._periodic.stop()

    async def refresh(self) -> None:
        """Take files that have changed, or could not be used; they are read in a thread."""
        await self._look(always=False)

    async def reload(self) -> None:
        """Read all files now, whether they have changed or not."""
        await self._look(always=True)

    async def _look(self, *, always: bool) -> None:
        async with self._lock:
            for name, certificates in self._by_name.items():
                try:
                    changed = await asyncio.to_thread(certificates.reload, always=always)
                except TlsProblem as problem:
                    self._fail(name, f"the certificate of the listener {name} stays as it is: {problem}")
                    continue
                had_failed = self._failed.pop(name, None) is not None
                if changed:
                    logger.info("the listener %s has new files: %s", name, ", ".join(map(str, changed)))
                elif had_failed:
                    logger.info("the files of the listener %s can be used again", name)
                if changed or always:
                    self._warn(name, certificates)
        self._tell_of_lists()

    def _fail(self, name: str, problem: str) -> None:
        """Log each reason once: the files are tried again at every look."""
        if problem != self._failed.get(name):
            logger.error(problem)
        self._failed[name] = problem

    def _warn(self, name: str, certificates: Certificates) -> None:
        problem, days = certificates.problem, _days_left(certificates)
        if problem is not None:
            logger.warning("clients refuse the certificate of the listener %s: it %s", name, problem)
        elif days <= 0:
            logger.warning("a certificate above that of the listener %s has ended; renew it", name)
        elif days < DAYS_OF_WARNING:
            logger.warning("the certificate of the listener %s ends in %.1f days; renew it", name, days)

    def _tell_of_lists(self) -> None:
        """Log each state of the lists once: they go out of date without a change of their files."""
        found = self._list_problems()
        for name, problem in found.items():
            if self._told_of_lists.get(name) != problem:
                logger.warning(problem)
        self._told_of_lists = found

    def problem(self) -> str | None:
        """Why changed files are not used; for the health report."""
        return "; ".join(self._failed.values()) or None

    def list_problem(self) -> str | None:
        """What is wrong with lists of revoked certificates, or will be within a day; for the health report."""
        return "; ".join(self._list_problems().values()) or None

    def _list_problems(self) -> dict[str, str]:
        return {
            name: f"the list of revoked certificates of the listener {name} "
            + ("is out of date: clients with certificates are refused" if days <= 0 else "ends within a day; renew it")
            for name, days in self._list_days_left().items()
            if days < DAYS_OF_WARNING_OF_LISTS
        }

    def _list_days_left(self) -> dict[str, float]:
        return {
            name: (certificates.lists_expire_at - time.time()) / SECONDS_A_DAY
            for name, certificates in self._by_name.items()
            if certificates.lists_expire_at is not None
        }

    def families(self) -> Iterator[Metric]:
        yield labelled_gauge(
            "penstock_certificate_days_left",
            "Days until the certificate of a listener ends",
            ["listener"],
            [([name], _days_left(certificates)) for name, certificates in self._by_name.items()],
        )
        yield labelled_gauge(
            "penstock_revocation_list_days_left",
            "Days until a list of revoked certificates of a listener is out of date, and its clients are refused",
            ["listener"],
            [([name], days) for name, days in self._list_days_left().items()],
        )
        yield labelled_gauge(
            "penstock_certificate_failed",
            "1 while changed files of a listener cannot be used and the ones before are",
            ["listener"],
            [([name], float(name in self._failed)) for name in self._by_name],
        )


def _days_left(certificates: Certificates) -> float:
    return (certificates.expires_at - time.time()) / SECONDS_A_DAY
