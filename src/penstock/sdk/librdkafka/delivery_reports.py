"""The thread that takes a producer's delivery reports, and finds out whether a broker can be reached at all.

Messages to a broker that is away wait for `delivery_timeout_ms`, which is right for a restart and too long for a wrong
address. While no broker has ever answered, everything in the queue is given up after the time of a first contact.
"""

from __future__ import annotations

import threading
import time

from confluent_kafka import KafkaError, KafkaException, Producer

from penstock.sdk.errors import NotAllowed, Unreachable
from penstock.sdk.librdkafka.errors import cause, translate
from penstock.sdk.librdkafka.first_contact import HINT, FirstContact

_POLL_S = 0.1
_ASK_S = 0.25
_ASK_S_MAX = 2.0
"""The thread cannot be stopped while it asks; a broker that takes longer for its metadata counts as unreachable."""

_AT_THE_END = (KafkaError._FATAL, KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)


class DeliveryReports:
    """The thread holds this object and not the producer around it, which can be collected when it is not closed."""

    def __init__(self, library: Producer, contact: FirstContact) -> None:
        self._library = library
        self._contact = contact
        self.is_reached = False  # whether a broker has ever answered; delivered messages set it, too
        self._silence = ""
        self._refusal: NotAllowed | None = None
        self._fatal: KafkaError | None = None  # what ended the library's producer
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-producer", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Let the thread end soon, without waiting for it."""
        self._stop.set()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()

    def check_reached(self) -> None:
        """Ask for a first answer if there was none; Unreachable if none comes."""
        if not self.is_reached:
            self._contact.metadata()
            self.is_reached = True

    def explained(self, error: KafkaError, topic: str, text: str) -> Exception:
        """Translate the error of a message; `text` replaces the error's own, unless no broker was ever reached."""
        what = f"message to {topic}"
        if error.code() > 0:  # a broker's own
            self.is_reached = True
        if not self.is_reached:
            if self._refusal is not None:
                return NotAllowed(f"{what}: {self._refusal}", code=self._refusal.code)
            if error.code() == KafkaError._MSG_TIMED_OUT and not self._silence:
                self._silence = self._contact.silence()
            if self._silence:
                return Unreachable(f"{what}: {self._silence}", hint=HINT, code=error.name())
        return self.translated(error, what, text)

    def translated(self, error: KafkaError, what: str, text: str = "") -> Exception:
        """Translate an error; one that only says that the producer is at its end has the reason for that instead."""
        if self._fatal is not None and error.code() in _AT_THE_END:
            return translate(self._fatal, what)
        return translate(error, what, text)

    def _run(self) -> None:
        while not self._stop.is_set():
            if not self.is_reached and len(self._library):
                self._find_broker()
            self._poll()

    def _find_broker(self) -> None:
        """Wait for the first answer of a broker. If none comes in time, or a refusal, give up what is queued."""
        deadline = time.monotonic() + self._contact.timeout_s
        self._refusal = self._contact.refusal()
        if self._refusal is not None:
            self._library.purge(in_flight=False)
            return
        ask_s = _ASK_S
        while not (self._stop.is_set() or self.is_reached):
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                self._silence = self._contact.silence()
                self._library.purge(in_flight=False)
                return
            self.is_reached = self._contact.is_answered(min(ask_s, left_s))
            ask_s = min(2 * ask_s, _ASK_S_MAX)
            self._poll()

    def _poll(self) -> None:
        try:
            self._library.poll(_POLL_S)
        except (
            KafkaException
        ) as error:  # a fatal error: logged by the library, and raised at the next use of the producer
            self.ended(error)
            self._stop.wait(_POLL_S)

    def ended(self, error: KafkaException) -> None:
        """Note a fatal error, which the library raises in passing, once."""
        if cause(error).fatal():
            self._fatal = cause(error)
