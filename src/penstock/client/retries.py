"""Retries for a bounded time: brokers restart, leaders move, coordinators load."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count
from typing import TypeVar

from penstock.client.connection import BrokerUnavailable
from penstock.client.patience import USUAL, Patience
from penstock.client.transient_errors import TRANSIENT
from penstock.model.errors import KafkaError

Value = TypeVar("Value")


def persist(
    attempt: Callable[[], Value],
    *,
    timeout_s: float,
    before_next: Callable[[], None] | None = None,
    patience: Patience = USUAL,
) -> Value:
    """The value of `attempt`, retried after transient failures. After `timeout_s` the last failure is raised.

    `before_next` is called between two attempts, to forget outdated metadata.
    """
    deadline = time.monotonic() + timeout_s
    pause = patience.pause_s
    for number in count(1):
        try:
            return attempt()
        except (BrokerUnavailable, KafkaError) as error:
            if isinstance(error, KafkaError) and error.code not in TRANSIENT:
                raise
            if time.monotonic() + pause > deadline or number == patience.attempts_max:
                raise
        time.sleep(pause)
        pause = min(pause * 2, patience.pause_s_max)
        if before_next is not None:
            before_next()
    raise AssertionError("unreachable")
