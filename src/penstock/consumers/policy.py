"""The retry policy: numbers of attempts and pauses between them; and the possible decisions of an error handler."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """`attempts` calls in all; the pause after the first failure is `initial` seconds, `factor` times as long after
    each further one, and never longer than `max`."""

    attempts: int = 3
    initial: float = 0.1
    factor: float = 2
    max: float = 10

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"attempts is {self.attempts}; a message is tried at least once")
        if self.initial < 0 or self.max < 0:
            raise ValueError("initial and max are seconds: 0 or more")
        if self.factor < 1:
            raise ValueError(f"factor is {self.factor}; pauses do not get shorter: 1 or more")

    def pause_s(self, failures: int) -> float:
        """The pause after so many failures, at least one."""
        pause = self.initial
        for _ in range(failures - 1):
            if pause >= self.max:
                break
            pause *= self.factor
        return min(pause, self.max)


class ErrorAction(Enum):
    """The results of an error handler for a message whose attempts are used up; None is DEAD_LETTER."""

    DEAD_LETTER = "dead letter"
    """Write the message to the dead-letter topic, and continue."""
    SKIP = "skip"
    """Continue without a dead letter: the error handler has handled the message."""
    RETRY = "retry"
    """Make all attempts again."""
