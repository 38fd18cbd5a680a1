"""kafka-python; aiokafka has its names for most options."""

from __future__ import annotations

import logging
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, Final

from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError, KafkaTimeoutError

from tests.compat.secured.client import DEADLINE_S, Door, Exchanged, SecuredClient, Streamed
from tests.support.waiting import wait_until

STUCK_S: Final = 30
MEMBER_S: Final = 120
"""For a member that takes the place of one that is stuck, whose session has to end."""


def options_of(door: Door) -> dict[str, Any]:
    given = door.properties
    found: dict[str, Any] = {"bootstrap_servers": door.address, "security_protocol": given["security.protocol"]}
    if door.mechanism is not None:
        found["sasl_mechanism"] = door.mechanism
        found["sasl_plain_username"] = given["sasl.username"]
        found["sasl_plain_password"] = given["sasl.password"]
    return found


class KafkaPython(SecuredClient):
    name = "kafka-python"
    denied = "TopicAuthorizationFailedError"
    distrusts = ("certificate verify failed", "certificate is not valid for '127.0.0.1'")
    logs_in_again = False

    @staticmethod
    def _options(door: Door) -> dict[str, Any]:
        names = {"ssl.ca.location": "ssl_cafile", "ssl.certificate.location": "ssl_certfile"}
        names["ssl.key.location"] = "ssl_keyfile"
        files = {names[name]: value for name, value in door.properties.items() if name in names}
        return {**options_of(door), **files}

    def _producer(self, door: Door) -> Any:
        return KafkaProducer(**self._options(door), acks="all", enable_idempotence=True, linger_ms=5)

    def _consumer(self, door: Door, topic: str, group: str) -> Any:
        return KafkaConsumer(topic, **self._options(door), group_id=group, auto_offset_reset="earliest")

    def exchange(self, door: Door, topic: str, closed: str, group: str, values: Sequence[str]) -> Exchanged:
        producer = self._producer(door)
        for future in [producer.send(topic, value.encode()) for value in values]:
            future.get(DEADLINE_S)
        try:
            producer.send(closed, b"no right").get(DEADLINE_S)
            refusal = ""
        except KafkaError as error:
            refusal = type(error).__name__
        producer.close()
        consumer = self._consumer(door, topic, group)
        found: list[str] = []
        wait_until(lambda: len(_read(consumer, found)) >= len(values), what="all messages are read")
        consumer.close()
        return Exchanged(found, refusal)

    def distrust(self, door: Door) -> str:
        """It tries again until its time is over; the reason is in its log."""
        told: list[str] = []

        class Listener(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                told.append(record.getMessage())

        listener, logger = Listener(), logging.getLogger("kafka")
        logger.addHandler(listener)
        try:
            KafkaProducer(**self._options(door), bootstrap_timeout_ms=3_000).close()
        except (KafkaTimeoutError, ssl.SSLError) as error:
            return "\n".join([*told, str(error)])
        finally:
            logger.removeHandler(listener)
        raise AssertionError("it has connected")

    def stream(self, door: Door, topic: str, group: str, seconds: float) -> Streamed:
        producer, member = self._producer(door), _Member(lambda: self._consumer(door, topic, group))
        futures: list[Any] = []
        until = 0.0
        while not until or time.monotonic() < until:
            futures.append(producer.send(topic, str(len(futures)).encode()))
            if member.read(10) and not until:
                until = time.monotonic() + seconds
        for future in futures:
            future.get(DEADLINE_S)
        producer.close()
        wait_until(lambda: len(set(member.read())) >= len(futures), what="all messages are read", within_s=MEMBER_S)
        member.close()
        return Streamed([str(number) for number in range(len(futures))], member.found)


class _Member:
    """A consumer of a group that is replaced, once, if it is stuck.

    With sessions that end, `poll` of kafka-python 3.0 now and then never comes back, whatever its timeout: its thread
    for the network is idle, and the coroutine that looks for the coordinator is not woken.
    """

    def __init__(self, consumer: Callable[[], Any]) -> None:
        self._make, self._consumer = consumer, consumer()
        self._is_replaced = False
        self.found: list[str] = []

    def read(self, timeout_ms: int = 500) -> list[str]:
        done: Future[list[str]] = Future()
        reading = threading.Thread(target=self._read, args=(self._consumer, timeout_ms, done), daemon=True)
        reading.start()
        try:
            return done.result(STUCK_S)
        except TimeoutError:
            assert not self._is_replaced, "two consumers are stuck"
            self._is_replaced, self._consumer = True, self._make()
            return self.found

    def _read(self, consumer: Any, timeout_ms: int, done: Future[list[str]]) -> None:
        try:
            done.set_result(_read(consumer, self.found, timeout_ms))
        except Exception as error:
            done.set_exception(error)

    def close(self) -> None:
        self._consumer.close()


def _read(consumer: Any, found: list[str], timeout_ms: int = 500) -> list[str]:
    for records in consumer.poll(timeout_ms=timeout_ms).values():
        found += [record.value.decode() for record in records]
    return found
