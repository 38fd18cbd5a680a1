"""Base classes of the bodies of the admin API."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

NextCursor = Annotated[
    str | None, Field(description="Pass it as `cursor` for the next page; null on the last one.", examples=[None])
]
CONFIGS_MAX = 200
ConfigName = Annotated[str, Field(min_length=1, max_length=249, examples=["retention.ms"])]
ConfigValue = Annotated[
    str | int | float | bool, Field(description="Numbers and booleans stand for their text.", examples=["86400000"])
]


class Question(BaseModel):
    """A request; misspelt names are refused, and so is a text in place of a number."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Answer(BaseModel):
    """Newer versions may add fields."""


class ProblemBody(Answer):
    """RFC 9457, as application/problem+json."""

    type: str = Field(examples=["about:blank"])
    title: str = Field(examples=["Not Found"])
    status: int = Field(examples=[404])
    detail: str = Field(
        description="The problem, and the remedy.",
        examples=["there is no topic orders; GET /api/v1/topics lists the topics"],
    )
    instance: str = Field(description="The requested path.", examples=["/api/v1/topics/orders"])
    error: str = Field(description="Kafka's name of the error.", examples=["UNKNOWN_TOPIC_OR_PARTITION"])
    code: int = Field(description="Kafka's number of the error.", examples=[3])


def config_text(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
