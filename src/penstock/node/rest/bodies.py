"""Base classes of the bodies of the admin API.

A body is looked at on the event loop, and pydantic notes every mistake in it: what could have very many is counted
before, and long lists end with their first mistake (`fail_fast`).
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

NextCursor = Annotated[
    str | None, Field(description="Pass it as `cursor` for the next page; null on the last one.", examples=[None])
]
CONFIGS_MAX = 200
NUMBER_BITS_MAX = 64
UNKNOWN_FIELDS_MAX = 10
"""Each of so many is named to the client; nobody misspells more."""


def _few(configs: Any) -> Any:
    """Refuse what `max_length` refuses only after a look at each of them."""
    if isinstance(configs, dict) and len(configs) > CONFIGS_MAX:
        raise ValueError(f"there are {len(configs)} of them; send at most {CONFIGS_MAX} in a request")
    return configs


def _scalar(value: Any) -> Any:
    """Refuse with one finding what would have one for each type of the union, and numbers whose text takes long."""
    if not isinstance(value, str | int | float):
        raise ValueError("should be a text, a number or a boolean")
    if isinstance(value, int) and value.bit_length() > NUMBER_BITS_MAX:
        raise ValueError(f"should be a number of at most {NUMBER_BITS_MAX} bits")
    return value


ConfigName = Annotated[str, Field(min_length=1, max_length=249, examples=["retention.ms"])]
ConfigValue = Annotated[
    str | int | float | bool,
    BeforeValidator(_scalar),
    Field(description="Numbers and booleans stand for their text.", examples=["86400000"]),
]
Configs = Annotated[dict[ConfigName, ConfigValue], Field(max_length=CONFIGS_MAX), BeforeValidator(_few)]


class Question(BaseModel):
    """A request; misspelt names are refused, and so is a text in place of a number."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _few_fields(cls, body: Any) -> Any:
        known = cls.model_fields
        if isinstance(body, dict) and len(body) > len(known) + UNKNOWN_FIELDS_MAX:
            raise ValueError(f"there are {len(body)} fields; leave out all but {', '.join(known)}")
        return body


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
