"""Retries for a bounded time: brokers restart, leaders move, coordinators load."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from penstock.client.connection import BrokerUnavailable
from penstock.client.transient_errors import TRANSIENT
from penstock.model.errors import KafkaError

Value = TypeVar("Value")

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.02, 1.0


def persist(attempt: Callable[[], Value], *, timeout_s: float, before_next: Callable[[], None] | None = None) -> Value:
    """The value of `attempt`, retried after transient failures. After `timeout_s` the last failure is raised.

    `before_next` is called between two attempts, to forget outdated metadata.
    """
    deadline = time.monotonic() + timeout_s
    pause = FIRST_PAUSE_S
    while True:
        try:
            return attempt()
        except (BrokerUnavailable, KafkaError) as error:
            if isinstance(error, KafkaError) and error.code not in TRANSIENT:
                raise
            if time.monotonic() + pause > deadline:
                raise
        time.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE_S)
        if before_next is not None:
            before_next()
