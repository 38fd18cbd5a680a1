"""Shapes of load: rates, sizes and keys of messages.

These are the values of a scenario file that have a form of their own. Each takes a plain number for the common case
(`rate: 1000`, `size: 100`, `keys: 500`) or a mapping that names a shape. Times are arguments; nothing here reads a
clock.
"""

from __future__ import annotations

import random
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from penstock.cli.terminal.duration import parse_seconds
from penstock.config.settings import Bytes

STAMP_BYTES = 8
MESSAGE_BYTES_MAX = 64 << 20


def _parse_seconds(value: object) -> object:
    return parse_seconds(value) if isinstance(value, str) else value


Seconds = Annotated[float, BeforeValidator(_parse_seconds), Field(ge=0)]
MessageBytes = Annotated[Bytes, Field(ge=STAMP_BYTES, le=MESSAGE_BYTES_MAX)]
PerSecond = Annotated[float, Field(gt=0)]


class Shape(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def _only_one(self) -> None:
        names = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(names) != 1:
            allowed = ", ".join(type(self).model_fields)
            raise ValueError(f"give exactly one of {allowed}")


class Burst(Shape):
    """A rate of `steady` messages, and `times` as many during a burst; once, or repeated at the interval `every`."""

    steady: PerSecond
    times: Annotated[float, Field(gt=1)] = 10.0
    after: Seconds = 0.0
    length: Annotated[Seconds, Field(alias="for")]
    every: Annotated[float, BeforeValidator(_parse_seconds), Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _check(self) -> Burst:
        if self.every is not None and self.every < self.length:
            raise ValueError("a burst cannot come again before it has ended: make `every` longer than `for`")
        return self

    def due(self, elapsed: float) -> float:
        since = max(0.0, elapsed - self.after)
        if self.every is None:
            inside = min(since, self.length)
        else:
            rounds, rest = divmod(since, self.every)
            inside = rounds * self.length + min(rest, self.length)
        return self.steady * (elapsed + (self.times - 1) * inside)


class Ramp(Shape):
    """A linear change from one rate to another over the group's time."""

    start: Annotated[float, Field(alias="from", ge=0)]
    end: Annotated[float, Field(alias="to", ge=0)]

    def due(self, elapsed: float, duration: float) -> float:
        inside = min(elapsed, duration)
        slope = (self.end - self.start) / duration
        return self.start * inside + slope * inside * inside / 2 + self.end * (elapsed - inside)


def _rate(value: object) -> object:
    if value == "unlimited":
        return {}
    return {"steady": value} if isinstance(value, int | float) else value


class RateShape(Shape):
    """Messages per second of a whole group; without any shape as many as possible."""

    steady: PerSecond | None = None
    burst: Burst | None = None
    ramp: Ramp | None = None

    @model_validator(mode="after")
    def _check(self) -> RateShape:
        if self.limited:
            self._only_one()
        return self

    @property
    def limited(self) -> bool:
        return any(shape is not None for shape in (self.steady, self.burst, self.ramp))

    def due(self, elapsed: float, duration: float) -> float:
        """The number of messages that should have been sent by then."""
        if self.burst is not None:
            return self.burst.due(elapsed)
        if self.ramp is not None:
            return self.ramp.due(elapsed, duration)
        return (self.steady or 0.0) * elapsed


class Normal(Shape):
    mean: MessageBytes
    deviation: Annotated[Bytes, Field(gt=0)]


def _size(value: object) -> object:
    return value if isinstance(value, dict) else {"fixed": value}


class SizeShape(Shape):
    """Bytes of a message's value: one size, between two, around a mean, or weighted sizes."""

    fixed: MessageBytes | None = None
    uniform: tuple[MessageBytes, MessageBytes] | None = None
    normal: Normal | None = None
    choice: dict[Annotated[int, Field(ge=STAMP_BYTES, le=MESSAGE_BYTES_MAX)], Annotated[float, Field(gt=0)]] | None = (
        None
    )

    @model_validator(mode="after")
    def _check(self) -> SizeShape:
        self._only_one()
        if self.uniform is not None and self.uniform[0] > self.uniform[1]:
            raise ValueError("uniform takes [smallest, largest]")
        return self

    def sample(self, chance: random.Random) -> int:
        if self.uniform is not None:
            return chance.randint(*self.uniform)
        if self.normal is not None:
            size = round(chance.gauss(self.normal.mean, self.normal.deviation))
            return min(max(STAMP_BYTES, size), MESSAGE_BYTES_MAX)
        if self.choice is not None:
            return chance.choices(list(self.choice), list(self.choice.values()))[0]
        return self.fixed or STAMP_BYTES


def _keys(value: object) -> object:
    if value in ("none", None):
        return {"count": 0}
    return {"count": value} if isinstance(value, int) else value


class KeyShape(Shape):
    """A number of different keys, all equally often, or with `skew` the first ones more often, as in Zipf's law."""

    count: Annotated[int, Field(ge=0, le=10_000_000)] = 0
    skew: Annotated[float, Field(ge=0, le=10)] = 0.0

    def sample(self, chance: random.Random, number: int) -> list[bytes | None]:
        if not self.count:
            return [None] * number
        if not self.skew:
            return [b"key-%d" % chance.randrange(self.count) for _ in range(number)]
        weights = [rank**-self.skew for rank in range(1, min(self.count, 100_000) + 1)]
        return [b"key-%d" % rank for rank in chance.choices(range(len(weights)), weights, k=number)]


Rate = Annotated[RateShape, BeforeValidator(_rate)]
Size = Annotated[SizeShape, BeforeValidator(_size)]
Keys = Annotated[KeyShape, BeforeValidator(_keys)]
Content = Literal["random", "text"]


def filling(content: Content, size: int, chance: random.Random) -> bytes:
    """The content of messages: noise, which no codec can compress, or words, which every codec can."""
    if content == "random":
        return chance.randbytes(size)
    words = [bytes(chance.choices(b"abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(200)]
    text = bytearray()
    while len(text) < size:
        text += chance.choice(words) + b" "
    return bytes(text[:size])
