"""One option: its name, what it does in each kind of query, and its meaning in a few words."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Use(Enum):
    """A kind of query that has options."""

    BATCH = "batch read"
    STREAM = "stream read"
    WRITE = "write"


class Effect(Enum):
    ACTS = "acts"
    IGNORED = "ignored"
    """It is taken, and named in a warning."""
    REFUSED = "refused"


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option. `meaning` is shown in the documentation and, where it is ignored or refused, said as the reason."""

    name: str
    batch: Effect
    stream: Effect
    write: Effect
    default: str = ""
    meaning: str
    instead: str = ""
    """What is said where the option is ignored or refused; without it, the meaning is."""

    def effect(self, use: Use) -> Effect:
        return {Use.BATCH: self.batch, Use.STREAM: self.stream, Use.WRITE: self.write}[use]

    @property
    def reason(self) -> str:
        return self.instead or self.meaning


ACTS, IGNORED, REFUSED = Effect.ACTS, Effect.IGNORED, Effect.REFUSED
FOR_READING, FOR_WRITING = "it is for reading", "it is for writing"
FOR_STREAMS, FOR_BATCHES = "it is for reading streams", "it is for batch queries"


def both(name: str, default: str, meaning: str) -> Option:
    """An option that acts everywhere."""
    return Option(name=name, batch=ACTS, stream=ACTS, write=ACTS, default=default, meaning=meaning)


def reads(name: str, default: str, meaning: str, *, is_ours: bool = False) -> Option:
    """An option of reading. A write ignores it if Spark's connector has it, so that both may have the same options."""
    elsewhere = REFUSED if is_ours else IGNORED
    return Option(
        name=name, batch=ACTS, stream=ACTS, write=elsewhere, default=default, meaning=meaning, instead=FOR_READING
    )


def streams(name: str, default: str, meaning: str) -> Option:
    return Option(
        name=name, batch=IGNORED, stream=ACTS, write=IGNORED, default=default, meaning=meaning, instead=FOR_STREAMS
    )


def batches(name: str, default: str, meaning: str) -> Option:
    return Option(
        name=name, batch=ACTS, stream=REFUSED, write=IGNORED, default=default, meaning=meaning, instead=FOR_BATCHES
    )


def writes(name: str, default: str, meaning: str, *, is_ours: bool = False) -> Option:
    elsewhere = REFUSED if is_ours else IGNORED
    return Option(
        name=name, batch=elsewhere, stream=elsewhere, write=ACTS, default=default, meaning=meaning, instead=FOR_WRITING
    )


def ignored(reason: str, *names: str) -> tuple[Option, ...]:
    """Options that mean nothing here, for one reason."""
    return tuple(
        Option(name=name, batch=IGNORED, stream=IGNORED, write=IGNORED, meaning=reason) for name in sorted(names)
    )


def refused_reading(name: str, reason: str) -> Option:
    return Option(name=name, batch=REFUSED, stream=REFUSED, write=IGNORED, meaning=reason)


def refused_writing(name: str, reason: str) -> Option:
    return Option(name=name, batch=IGNORED, stream=IGNORED, write=REFUSED, meaning=reason)
