"""The service of a Kafka listener while quotas are set: the dispatcher's, with every request measured.

Without quotas the listener calls the dispatcher itself, so that nobody pays for what he does not use.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, cast

from penstock.broker.broker import Broker
from penstock.broker.dispatcher import Dispatcher
from penstock.broker.handlers.records import fetch
from penstock.broker.quotas.fetch_meter import FetchMeter
from penstock.broker.quotas.request import MeteredRequest
from penstock.broker.quotas.timed import Timed
from penstock.net.caller import Caller
from penstock.net.listener import Listener
from penstock.net.pending import SILENCE, Buffers, Pending
from penstock.net.service import Answer
from penstock.protocol.kafka.apis import APIS, FETCH, PRODUCE
from penstock.protocol.kafka.headers import RequestHeader, body_start, read_request_header, response_header


class ThrottlingService:
    """Implements `net.service.Service`."""

    def __init__(self, broker: Broker, dispatcher: Dispatcher) -> None:
        self._broker = broker
        self._dispatcher = dispatcher

    def serve(self, frame: memoryview, caller: Caller) -> tuple[bytes, int, Answer]:
        header = read_request_header(frame)
        api = APIS.get(header.api_key)
        if api is None or not api.accepts(header.version):
            return self._dispatcher.serve(frame, caller)
        if header.api_key == FETCH:
            head = response_header(header.correlation_id, api, header.version)
            return head, FETCH, self._fetch(frame, header, body_start(frame, header, api), caller)
        request = MeteredRequest(self._broker.quotas, caller, header)
        head, api_key, answer = self._dispatcher.serve(frame, caller)
        if api_key == PRODUCE:
            request.produced(len(frame))
        return head, api_key, self._settled(request, answer)

    def answered(self, api_key: int, seconds: float) -> None:
        self._dispatcher.answered(api_key, seconds)

    def _fetch(self, frame: memoryview, header: RequestHeader, start: int, caller: Caller) -> Answer:
        meter = FetchMeter(self._broker.quotas, caller, header)
        answer = fetch.handle(self._broker, header, frame, start, meter)
        if isinstance(answer, Pending):
            meter.parked()
        return answer

    def _settled(self, request: MeteredRequest, answer: Answer) -> Answer:
        """Also for a produce that waits for the disk: what it costs the broker's loop is known before."""
        if answer is None:  # acks=0: only its bytes count
            request.mute()
            return None
        if not isinstance(answer, list | Pending):
            return self._settle_later(request, cast(Coroutine[Any, Any, Buffers | None], answer))
        request.mutated()
        request.worked(request.elapsed_ns)
        request.mute()
        if not request.throttle_ms:
            return answer
        return request.stamped(answer) if isinstance(answer, list) else _stamped_later(request, answer)

    async def _settle_later(
        self, request: MeteredRequest, answer: Coroutine[Any, Any, Buffers | None]
    ) -> Buffers | None:
        timed = Timed(answer)
        body = await timed
        if body is None:
            return None
        if body is not SILENCE:
            request.mutated()
            request.worked(timed.spent_ns)
        request.mute()
        return request.stamped(body)


def _stamped_later(request: MeteredRequest, inner: Pending) -> Pending:
    outer = Pending()
    outer.on_abandon = inner.abandon

    def complete() -> None:
        outer.complete(None if inner.body is None else request.stamped(inner.body))

    if inner.done:
        complete()
    else:
        inner.listen(complete)
    return outer


def enforce_quotas(broker: Broker, dispatcher: Dispatcher, listener: Listener) -> None:
    """Put the quotas in front of a listener whenever there are some, and take them away when there are none."""
    quotas = broker.quotas
    throttling = ThrottlingService(broker, dispatcher)

    def connected(host: str) -> float:
        wait_ms = quotas.addresses.connected(host, quotas.now_ms())
        if wait_ms:
            quotas.probe.throttled("connection", None, wait_ms / 1000)
        return wait_ms / 1000

    def adjust() -> None:
        listener.serve_with(throttling if quotas.limits_clients else dispatcher)
        listener.delay_of = connected if quotas.addresses else None

    quotas.watch(adjust)
