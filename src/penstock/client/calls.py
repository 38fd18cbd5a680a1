"""Calls of any API and version, from plain values to an entity.

The stub beside this file, made by `python -m tools.wire_types`, has an overload for each API: mypy knows the values of
a request and the fields of its reply.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from penstock.client.entities import build
from penstock.protocol.kafka.apis import API_VERSIONS
from penstock.protocol.kafka.messages import encode, request_schema, response_reader, response_schema
from penstock.protocol.kafka.primitives import INT32


class Calls(ABC):
    """The base of a connection that exchanges encoded requests for encoded answers."""

    @abstractmethod
    def exchange(self, api_key: int, version: int, body: bytes, *, flexible: bool) -> memoryview:
        """Send a request and wait for the answer, from its correlation id on."""

    def call(self, api_key: int, version: int, **values: Any) -> Any:
        """Send a request and wait for the answer. Raises TypeError for a value that no version of the API knows."""
        schema = request_schema(api_key, version)
        body = encode(build(schema, values))
        answer = self.exchange(api_key, version, body, flexible=bool(schema.__flexible__))
        return response_reader(api_key, version)(bytes(answer), _body_start(api_key, version))[0]


def _body_start(api_key: int, version: int) -> int:
    is_flexible = bool(response_schema(api_key, version).__flexible__) and api_key != API_VERSIONS
    return INT32.size + is_flexible  # no broker sends tags in headers
