"""Quotas of partitions created and deleted (KIP-599).

From the API versions that have THROTTLING_QUOTA_EXCEEDED, changes are refused while the client's bucket is overdrawn;
older versions go through, and the connection is muted instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.cluster.controller.topics_frontend import Admit
from penstock.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from penstock.broker.quotas.quotas import Quotas
    from penstock.broker.request import AnyRequest


def mutation_quota(quotas: Quotas, request: AnyRequest, *, strict_from: int, mutes: bool = True) -> Admit | None:
    """The check for one request; None if nothing limits its client.

    Without `mutes` the client is not throttled, as in Kafka when a topic is created by a Metadata request.
    """
    bucket = quotas.mutation.of((request.session.user, request.client_id), quotas.now_ms())
    if bucket is None:
        return None
    strict = request.version >= strict_from

    def admit(partitions: int) -> None:
        now_ms = quotas.now_ms()
        if not strict:
            bucket.take(partitions, now_ms)
        wait_ms = bucket.wait_ms(now_ms)
        if wait_ms and mutes:
            request.throttled_until_ms = now_ms + wait_ms
        if not strict:
            return
        if wait_ms:
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        bucket.take(partitions, now_ms)

    return admit
