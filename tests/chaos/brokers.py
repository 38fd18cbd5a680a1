"""The broker of a run: Penstock, which can be told to stop itself inside a transaction's end, or Apache Kafka."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from penstock.runtime.pauses import VARIABLE
from tests.support.broker_process import BrokerProcess
from tests.support.fixtures import PENSTOCK_CONFIG
from tests.support.kafka_process import KafkaProcess
from tests.support.penstock_process import PenstockProcess

KAFKA_SETTINGS = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"}
TXN_OFFSET_COMMIT = 28


def is_stopped(pid: int) -> bool:
    """Whether a process has been stopped by a signal and not been told to go on."""
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state in ("T", "t")


class PausingPenstock(PenstockProcess):
    """Penstock that stops itself at `pause`, a name of `penstock.runtime.pauses`, if there is one."""

    pause: str | None = None

    def environment(self) -> dict[str, str]:
        return super().environment() if self.pause is None else {**super().environment(), VARIABLE: self.pause}

    def _ready(self) -> bool:
        """Recovery may come to the pause before the port opens."""
        return (self.pause is not None and self.running and is_stopped(self.pid)) or super()._ready()

    @property
    def has_paused(self) -> bool:
        return self.running and is_stopped(self.pid)


def make_broker(target: str, directory: Path) -> BrokerProcess:
    if target == "kafka":
        return KafkaProcess(directory, KAFKA_SETTINGS)
    return PausingPenstock(directory, PENSTOCK_CONFIG)


def stop_process(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)


def continue_process(pid: int) -> None:
    os.kill(pid, signal.SIGCONT)
