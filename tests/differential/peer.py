"""The broker a script talks to, and the transcript of what it said.

Requests are dicts in kio's field names; fields that a version does not know are left out and missing ones filled
(see `tests/support/wire.py`). Answers are plain dicts and lists (`plain.py`); what is no answer is one, too:

    {"closed": True}          the broker closed the connection
    {"silent": True}          nothing came in time
    {"undecodable": hex}      bytes that are no answer of that version

Connections are named (`on`), opened when first used, and opened again after the broker closed them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.differential.line import ANSWER_WITHIN_S, Line
from tests.differential.plain import plain
from tests.differential.transcript import Step, Transcript
from tests.support.batches import now_ms
from tests.support.broker_process import BrokerProcess
from tests.support.waiting import wait_until
from tests.support.wire import ConnectionClosed, decode_response, encode_request, frame

Answer = dict[str, Any]

UNTIL_WITHIN_S = 20.0
POLL_INTERVAL_S = 0.02
CLIENT_ID = "differential"
CLOSED: Answer = {"closed": True}
SILENT: Answer = {"silent": True}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """A request whose answer has not been taken yet."""

    api: str
    version: int
    body: Mapping[str, Any]
    on: str
    correlation_id: int
    label: str


class Peer:
    """One broker, seen by one script."""

    def __init__(self, broker: BrokerProcess, script: str) -> None:
        self.kind = broker.kind
        self.transcript = Transcript(script=script)
        self._broker = broker
        self._script = script
        self._lines: dict[str, Line] = {}
        self._muted = 0
        self._last: Step | None = None
        self._start_ms = now_ms()

    # ------------------------------------------------------------------------------------- names and times

    def name(self, base: str) -> str:
        """A name for a topic or group: the same on both peers and used by no other script."""
        return f"x-{self._script}-{base}"

    def time(self, offset_ms: int = 0) -> int:
        """A timestamp around now; answers that hold it show it as `T+offset`, so that it is compared exactly."""
        at = self._start_ms + offset_ms
        self.transcript.times[at] = f"T{offset_ms:+d}"
        return at

    def tick(self) -> None:
        """Wait until the clock shows another millisecond, so that what the broker stamps next is later."""
        before = now_ms()
        wait_until(lambda: now_ms() > before, what="the clock goes on")

    # -------------------------------------------------------------------------------------------- requests

    def ask(
        self,
        api: str,
        version: int,
        body: Mapping[str, Any] | None = None,
        *,
        on: str = "main",
        client_id: str | None = CLIENT_ID,
        label: str = "",
        within_s: float = ANSWER_WITHIN_S,
    ) -> Answer:
        """Send, wait, record, and return the answer."""
        ticket = self.send(api, version, body, on=on, client_id=client_id, label=label)
        return self.take(ticket, within_s=within_s)

    def quietly(
        self, api: str, version: int, body: Mapping[str, Any] | None = None, *, on: str = "main", **options: Any
    ) -> Answer:
        """The same as `ask`, not recorded: for setting up and for polling."""
        self._muted += 1
        try:
            return self.ask(api, version, body, on=on, **options)
        finally:
            self._muted -= 1

    def send(
        self,
        api: str,
        version: int,
        body: Mapping[str, Any] | None = None,
        *,
        on: str = "main",
        client_id: str | None = CLIENT_ID,
        label: str = "",
    ) -> Ticket:
        """Send without waiting; the answer is recorded when it is taken."""
        line = self._line(on)
        number, line.next_id = line.next_id, line.next_id + 1
        payload = encode_request(api, version, number, body or {}, client_id=client_id)
        self._write(line, frame(payload))
        return Ticket(api=api, version=version, body=body or {}, on=on, correlation_id=number, label=label)

    def tell(
        self,
        api: str,
        version: int,
        body: Mapping[str, Any] | None = None,
        *,
        on: str = "main",
        client_id: str | None = CLIENT_ID,
    ) -> None:
        """Send what has no answer (Produce with acks=0)."""
        self.send(api, version, body, on=on, client_id=client_id)

    def take(self, ticket: Ticket, *, within_s: float = ANSWER_WITHIN_S) -> Answer:
        """Wait for the answer to an earlier `send` and record it."""
        return self._record(ticket.api, ticket.version, ticket.label, ticket.body, self._answer(ticket, within_s))

    def take_quietly(self, ticket: Ticket, *, within_s: float = ANSWER_WITHIN_S) -> Answer:
        """The same, not recorded."""
        return self._answer(ticket, within_s)

    def pending(self, ticket: Ticket, *, for_s: float = 0.3) -> bool:
        """Whether there is no answer yet, after looking for a while; nothing is recorded."""
        line = self._line(ticket.on)
        try:
            payload = line.take(ticket.correlation_id, for_s)
        except TimeoutError:
            return True
        except (ConnectionClosed, OSError):
            return False
        line.early[ticket.correlation_id] = payload
        return False

    def expect_close(self, *, on: str = "main", label: str = "", within_s: float = ANSWER_WITHIN_S) -> Answer:
        """Record whether the broker closes the connection without another byte."""
        closed = self._line(on).connection.closed_by_peer(within_s=within_s)
        self.close(on)
        return self._record("connection", -1, label, None, CLOSED if closed else {"closed": False})

    def raw(self, payload: bytes, *, on: str = "main", label: str = "", within_s: float = ANSWER_WITHIN_S) -> Answer:
        """Send a payload (length in front is added) and record the bytes of the answer, or that there is none."""
        line = self._line(on)
        self._write(line, frame(payload))
        try:
            line.connection.settimeout(within_s)
            answer: Answer = {"bytes": line.connection.receive_frame().hex()}
        except (ConnectionClosed, OSError) as error:
            self.close(on)
            answer = SILENT if isinstance(error, TimeoutError) else CLOSED
        return self._record("raw", -1, label, None, answer)

    def malformed(
        self, api: str, version: int, payload: bytes, *, on: str = "malformed", label: str = "malformed body"
    ) -> Answer:
        """Send a request of this API whose bytes are given whole (see `frames.py`); recorded as one of it."""
        line = self._line(on)
        self._write(line, frame(payload))
        ticket = Ticket(
            api=api, version=version, body={}, on=on, correlation_id=int.from_bytes(payload[4:8], "big"), label=label
        )
        return self.take(ticket)

    def until(
        self,
        ask: Callable[[], Answer],
        done: Callable[[Answer], bool],
        *,
        within_s: float = UNTIL_WITHIN_S,
        every_s: float = POLL_INTERVAL_S,
    ) -> Answer:
        """Ask quietly until the answer is as wanted, and record the last one (also when the time is over)."""
        deadline = time.monotonic() + within_s
        self._muted += 1
        try:
            while not done(answer := ask()) and time.monotonic() < deadline:
                time.sleep(every_s)
        finally:
            self._muted -= 1
        if self._last is not None and not self._muted:
            self.transcript.steps.append(self._last)
        return answer

    def note(self, label: str, value: Any) -> None:
        """Record something worked out from answers."""
        self._record("note", -1, label, None, {"value": value})

    def close(self, on: str = "main") -> None:
        line = self._lines.pop(on, None)
        if line is not None:
            line.connection.close()

    def close_all(self) -> None:
        for on in list(self._lines):
            self.close(on)

    def restart(self) -> None:
        """Stop the broker cleanly and start it again; only for scripts with a broker of their own."""
        self.close_all()
        self._broker.restart()

    # --------------------------------------------------------------------------------------- common set-up

    def topic(self, base: str = "topic", *, partitions: int = 1, configs: Mapping[str, str] | None = None) -> str:
        """Create a topic without recording it and wait until all of its partitions answer; its full name."""
        name = self.name(base)
        wanted = {
            "name": name,
            "num_partitions": partitions,
            "replication_factor": 1,
            "assignments": [],
            "configs": [{"name": key, "value": value} for key, value in (configs or {}).items()],
        }
        answer = self.quietly("create_topics", 7, {"topics": [wanted], "timeout": 10_000, "validate_only": False})
        assert answer["topics"][0]["error_code"] == 0, answer
        self.await_topic(name, partitions)
        return name

    def await_topic(self, name: str, partitions: int = 1) -> None:
        """Wait until the broker answers for all partitions (Kafka answers CreateTopics before it leads them)."""
        asked = [{"partition_index": index, "current_leader_epoch": -1, "timestamp": -1} for index in range(partitions)]
        body = {"replica_id": -1, "isolation_level": 0, "topics": [{"name": name, "partitions": asked}]}
        deadline = time.monotonic() + UNTIL_WITHIN_S
        while time.monotonic() < deadline:
            rows = self.quietly("list_offsets", 7, body)["topics"][0]["partitions"]
            if all(row["error_code"] == 0 for row in rows):
                return
            time.sleep(POLL_INTERVAL_S)
        raise AssertionError(f"{self.kind} does not lead {name}")

    def topic_id(self, name: str) -> str:
        answer = self.quietly("metadata", 12, {"topics": [{"name": name, "topic_id": None}]})
        return str(answer["topics"][0]["topic_id"])

    # ---------------------------------------------------------------------------------------------- inside

    def _line(self, on: str) -> Line:
        if on not in self._lines:
            self._lines[on] = Line(self._broker.host, self._broker.port)
        return self._lines[on]

    def _write(self, line: Line, data: bytes) -> None:
        try:
            line.connection.send_bytes(data)
        except OSError:
            pass  # the broker closed it already; reading shows that

    def _answer(self, ticket: Ticket, within_s: float) -> Answer:
        try:
            payload = self._line(ticket.on).take(ticket.correlation_id, within_s)
        except TimeoutError:
            self.close(ticket.on)
            return SILENT
        except (ConnectionClosed, OSError):
            self.close(ticket.on)
            return CLOSED
        try:
            decoded = plain(decode_response(ticket.api, ticket.version, payload)[1])
        except Exception:  # kio has no common type for what bad bytes can cause
            return {"undecodable": payload.hex()}
        assert isinstance(decoded, dict)
        return decoded

    def _record(self, api: str, version: int, label: str, request: Any, answer: Answer) -> Answer:
        self._last = Step(api=api, version=version, label=label, request=request, answer=answer)
        if not self._muted:
            self.transcript.steps.append(self._last)
        return answer
