"""One case of a disturbance: a broker, the steady client, and what became of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.load.comparison import best_of, check_counts, compare, memory_watched
from tests.load.generator import Generator
from tests.load.steady import Steady
from tests.scale.scaled_broker import ScaledBroker

WINDOWS, SECONDS = 5, 4.0

Figures = dict[str, Any]


class Case:
    """A broker, the steady client, and what became of it."""

    def __init__(self, broker: ScaledBroker, steady: Steady, figures: Figures) -> None:
        self.broker = broker
        self._steady = steady
        self._figures = figures
        self._problem: str | None = None

    def disturb(
        self,
        title: str,
        kind: str,
        options: dict[str, Any],
        *,
        grows_mb_max: float,
        windows: int = WINDOWS,
        port: int | None = None,
    ) -> None:
        """Measure alone and beside a generator at a port, which is that of Kafka clients unless another one is named.

        Errors and memory are judged here, latencies by `check`.
        """
        print(f"\n{title}")
        with (
            Generator(kind, self.broker.host, port or self.broker.port, **options) as generator,
            memory_watched(self.broker) as memory,
        ):
            best, attempts = best_of(lambda: compare(self._steady, generator, windows=windows, seconds=SECONDS))
        self._problem = best.problem and f"{best.problem} (the best of {attempts} attempts)"
        self._figures[title] = {
            "attempts": attempts,
            **best.figures(),
            "memory_mb": {"before": round(memory[0], 1), "most": round(max(memory), 1), "grows_max": grows_mb_max},
            "counts": generator.counts,
        }
        check_counts(generator.counts)
        grown_mb = max(memory) - memory[0]
        assert grown_mb < grows_mb_max, f"memory grew by {grown_mb:.0f} MB, {grows_mb_max:.0f} are allowed"

    def check(self) -> None:
        if self._problem is not None:
            pytest.fail(self._problem, pytrace=False)
