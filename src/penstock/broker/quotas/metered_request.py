"""The meter of one request: its cost for the client, and the time for which the connection is muted after it.

Kafka's rules: a request counts with the time that the broker works on it (`request_percentage`), a produce also with
its bytes, a fetch with the bytes of its answer. The longest wait counts. The answer is sent at once and carries the
throttle time, during which the connection is not read.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import Final

from penstock.broker.quotas.meters import Client
from penstock.broker.quotas.quotas import Quotas
from penstock.broker.quotas.rate import SAMPLE_MS
from penstock.broker.quotas.throttle_field import stamped
from penstock.broker.request import AnyRequest
from penstock.net.reply import Buffers

PERCENT_PER_NS: Final = 100 / 1_000_000_000


class MeteredRequest:
    """Meter of one request, from its arrival."""

    __slots__ = ("_client", "_quota", "_quotas", "_request", "_started_ns", "throttle_ms")

    def __init__(self, quotas: Quotas, request: AnyRequest) -> None:
        self._quotas = quotas
        self._request = request
        self._client: Client = (request.session.user, request.client_id)
        self._started_ns = perf_counter_ns()
        self._quota = ""  # the quota with the longest wait
        self.throttle_ms = 0

    @property
    def elapsed_ns(self) -> int:
        return perf_counter_ns() - self._started_ns

    def produced(self, size_bytes: int) -> None:
        quotas = self._quotas
        now_ms = quotas.now_ms()
        meter = quotas.produce.of(self._client, now_ms)
        if meter is not None:
            self._wait("produce", meter.charge(size_bytes, now_ms))

    def mutated(self) -> None:
        """Note that the client of a topic request is over its quota of changes."""
        until_ms = self._request.throttled_until_ms
        if until_ms:
            self._wait("controller_mutation", max(0, until_ms - self._quotas.now_ms()))

    def worked(self, spent_ns: int) -> None:
        """Count the broker's time. The wait for it is bounded: a request may take long for the broker's own reasons."""
        quotas = self._quotas
        now_ms = quotas.now_ms()
        meter = quotas.request.of(self._client, now_ms)
        if meter is not None:
            self._wait("request", min(meter.charge(spent_ns * PERCENT_PER_NS, now_ms), SAMPLE_MS))

    def mute(self) -> None:
        """Mute the connection for the throttle time of the answer."""
        if self.throttle_ms:
            self._quotas.probe.throttled(self._quota, self._request.client_id, self.throttle_ms / 1000)
            self._request.channel.mute(self.throttle_ms / 1000)

    def stamped(self, body: Buffers) -> Buffers:
        return stamped(self._request.api.key, self._request.version, body, self.throttle_ms)

    def _wait(self, quota: str, wait_ms: int) -> None:
        if wait_ms > self.throttle_ms:
            self._quota, self.throttle_ms = quota, wait_ms
