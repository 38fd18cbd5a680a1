"""The type of settings that nobody may see: passwords and the like.

    text         abc
    in a file    file:/etc/penstock/password
    a variable   env:PENSTOCK_PASSWORD

Text that begins with file: or env: has to be put into a file. The value comes out by `reveal` only: `repr`, `str`,
formatting, JSON and every text that is made of the settings show `***`.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NoReturn

from pydantic import BeforeValidator, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic_core import CoreSchema, core_schema

from penstock.config.secret_file import read_secret_file
from penstock.config.settings.values import parse_pairs

HIDDEN = "***"
FILE, ENVIRONMENT = "file:", "env:"
ENVIRON = "environ"
"""Name of the environment in the context of a validation; without one, the environment is that of the process."""


class Secret:
    """A text that is not shown. Two are equal if their texts are."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself, for the one call that needs it."""
        return self._text

    def __repr__(self) -> str:
        return HIDDEN

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self._text.encode(), other._text.encode())

    def __hash__(self) -> int:
        return hash(self._text)

    def __bool__(self) -> bool:
        return bool(self._text)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written into anything")

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: Mapping[int, object]) -> Secret:
        return self

    @classmethod
    def __get_pydantic_core_schema__(cls, source: type[Any], handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(
            _parse, serialization=core_schema.plain_serializer_function_ser_schema(lambda _: HIDDEN)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "writeOnly": True}


Secrets = Annotated[dict[str, Secret], BeforeValidator(parse_pairs)]


def is_reference(value: object) -> bool:
    """Whether a secret is given by the name of a file or a variable, which may be shown."""
    return isinstance(value, str) and value.startswith((FILE, ENVIRONMENT))


def _parse(value: object, info: ValidationInfo) -> Secret:
    if isinstance(value, Secret):
        return value
    if not isinstance(value, str):
        # YAML has made a number of it, and 0123 or 1e3 could not be told from 83 and 1000.0 any more.
        raise ValueError("should be text; write it in quotes, or as file:PATH or env:NAME")
    if value.startswith(FILE):
        text = read_secret_file(Path(value.removeprefix(FILE)).expanduser())
    elif value.startswith(ENVIRONMENT):
        text = _variable(value.removeprefix(ENVIRONMENT), info)
    else:
        text = value
    if not text:
        raise ValueError("should not be empty")
    return Secret(text)


def _variable(name: str, info: ValidationInfo) -> str:
    context = info.context if isinstance(info.context, Mapping) else {}
    environ: Mapping[str, str] = context.get(ENVIRON, os.environ)
    if name not in environ:
        raise ValueError(f"names the environment variable {name}, which is not set")
    return environ[name]
