"""The link of the chain that measures requests while quotas are set.

Without quotas the gate has no throttle, so that requests pay nothing for quotas that do not exist.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.broker.quotas.fetch_meter import FetchMeter
from penstock.broker.quotas.metered_request import MeteredRequest
from penstock.broker.quotas.quotas import Quotas
from penstock.broker.quotas.timed import Timed
from penstock.broker.request import AnyRequest
from penstock.net.reply import SILENCE, Buffers, Reply, Work
from penstock.protocol.kafka.apis import FETCH, PRODUCE

Dispatch = Callable[[AnyRequest], Reply]


class Throttle:
    """Wraps the dispatching of a request with its meter."""

    def __init__(self, quotas: Quotas) -> None:
        self._quotas = quotas

    def serve(self, request: AnyRequest, dispatch: Dispatch) -> Reply:
        if request.api.key == FETCH:
            return self._fetch(request, dispatch)
        meter = request.meter = MeteredRequest(self._quotas, request)
        reply = dispatch(request)
        if request.api.key == PRODUCE:
            meter.produced(len(request.frame))
        return _settled(meter, reply)

    def _fetch(self, request: AnyRequest, dispatch: Dispatch) -> Reply:
        """Serve a fetch: its answer counts, so the handler consults the meter before it answers."""
        meter = request.meter = FetchMeter(self._quotas, request)
        reply = dispatch(request)
        if not reply.done:
            meter.parked()
        return reply


def _settled(meter: MeteredRequest, reply: Reply) -> Reply:
    """Settle the meter; for a produce that waits for the disk at once, since its cost for the loop is already known."""
    if reply.body is SILENCE:  # acks=0: only its bytes count
        meter.mute()
        return reply
    if reply.work is not None:
        reply.work = _settle_later(meter, reply.work)
        return reply
    meter.mutated()
    meter.worked(meter.elapsed_ns)
    meter.mute()
    return _stamped(meter, reply) if meter.throttle_ms else reply


async def _settle_later(meter: MeteredRequest, work: Work) -> Buffers | None:
    timed = Timed(work)
    body = await timed
    if body is None:
        return None
    if body is not SILENCE:
        meter.mutated()
        meter.worked(timed.spent_ns)
    meter.mute()
    return meter.stamped(body)


def _stamped(meter: MeteredRequest, inner: Reply) -> Reply:
    """The reply with its throttle time, which is written into the body when there is one."""
    outer = Reply()
    outer.header, outer.api_key = inner.header, inner.api_key
    outer.on_abandon = inner.abandon

    def complete() -> None:
        outer.complete(None if inner.body is None else meter.stamped(inner.body))

    if inner.done:
        complete()
    else:
        inner.listener = complete
    return outer
