"""The meter of one fetch: the answer counts, and an answer that exceeds a quota is not sent.

A client over a quota gets an answer without records, and asks again after the throttle time. It loses nothing: records
that were not sent are subtracted from its use again.
"""

from __future__ import annotations

from penstock.broker.quotas.metered_request import MeteredRequest
from penstock.broker.quotas.rate import SAMPLES
from penstock.net.reply import Buffers
from penstock.protocol.kafka.fetch import FetchedPartition, FetchRequest, encode_response

FRAME_BYTES = 4  # the size in front of an answer counts, too


class FetchMeter(MeteredRequest):
    """Meter of one fetch, which consults it before it answers."""

    __slots__ = ("_parked_after_ns",)

    _parked_after_ns: int | None

    def bounded(self, request: FetchRequest) -> FetchRequest:
        """The request limited to the bytes that the quota's window can hold: a larger answer would never be allowed."""
        self._parked_after_ns = None
        meter = self._quotas.fetch.of(self._client, self._quotas.now_ms())
        if meter is None:
            return request
        max_bytes = int(min(request.max_bytes, meter.limit * (SAMPLES - 1)))
        # An answer holds whole batches, so it rarely reaches its limit: half of the window is enough.
        return request._replace(max_bytes=max_bytes, min_bytes=min(request.min_bytes, max_bytes // 2))

    def parked(self) -> None:
        """Stop the clock: from here on the fetch waits for data or the disk."""
        self._parked_after_ns = self.elapsed_ns

    def instead(
        self,
        answers: list[FetchedPartition],
        session_id: int,
        read_seconds: float = 0.0,
        size_bytes: int | None = None,
    ) -> Buffers | None:
        """The answer to give instead of these partitions, if the client is over a quota.

        `read_seconds` is the duration of the last read, for a fetch that was parked in between; `size_bytes` their
        `answer_bytes`, if they are known.
        """
        quotas, version = self._quotas, self._request.version
        spent_ns = self.elapsed_ns
        if self._parked_after_ns is not None:
            spent_ns = self._parked_after_ns + round(read_seconds * 1e9)
        self.worked(spent_ns)
        now_ms = quotas.now_ms()
        meter = quotas.fetch.of(self._client, now_ms)
        if meter is not None:
            if size_bytes is None:
                size_bytes = self.answer_bytes(answers)
            self._wait("fetch", meter.charge(size_bytes, now_ms))
            if self.throttle_ms:
                meter.add(-size_bytes, now_ms)
        if not self.throttle_ms:
            return None
        self.mute()
        return self.stamped(encode_response([], version, session_id=session_id))

    def answer_bytes(self, answers: list[FetchedPartition]) -> int:
        """Size of an answer on the wire. Any thread."""
        return FRAME_BYTES + sum(map(len, encode_response(answers, self._request.version)))
