"""Quotas over raw frames: set, removed and described in one line each."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from kio.schema.errors import ErrorCode

from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until

PRODUCE, FETCH = "producer_byte_rate", "consumer_byte_rate"
REQUEST, MUTATION, CONNECTION = "request_percentage", "controller_mutation_rate", "connection_creation_rate"
EXACT, DEFAULT, ANY = range(3)

Names = tuple[tuple[str, str | None], ...]
Result = tuple[ErrorCode, str | None, Names]


def entry(names: Names, *ops: tuple[str, float | None]) -> dict[str, Any]:
    """The entry that sets quotas of an entity; None removes one."""
    return {
        "entity": [{"entity_type": kind, "entity_name": name} for kind, name in names],
        "ops": [{"key": key, "value": value or 0.0, "remove": value is None} for key, value in ops],
    }


def alter(client: RawClient, *entries: dict[str, Any], version: int = 1, validate_only: bool = False) -> list[Result]:
    answer = client.call("alter_client_quotas", version, entries=entries, validate_only=validate_only)
    return [
        (row.error_code, row.error_message, tuple((part.entity_type, part.entity_name) for part in row.entity))
        for row in answer.entries
    ]


def describe_answer(
    client: RawClient, *components: tuple[str, int, str | None], strict: bool = False, version: int = 1
) -> Any:
    asked = [{"entity_type": kind, "match_type": how, "match": name} for kind, how, name in components]
    return client.call("describe_client_quotas", version, components=asked, strict=strict)


def describe(
    client: RawClient, *components: tuple[str, int, str | None], strict: bool = False, version: int = 1
) -> dict[Names, dict[str, float]]:
    answer = describe_answer(client, *components, strict=strict, version=version)
    assert (answer.error_code, answer.error_message) == (ErrorCode.none, "")
    found = {}
    for row in answer.entries:
        names = tuple((part.entity_type, part.entity_name) for part in row.entity)
        found[names] = {each.key: each.value for each in row.values}
    return found


def values_of(client: RawClient, names: Names) -> dict[str, float]:
    components = [(kind, DEFAULT if name is None else EXACT, name) for kind, name in names]
    found = list(describe(client, *components, strict=True).values())
    return found[0] if found else {}


def set_quotas(client: RawClient, names: Names, quotas: Mapping[str, float | None]) -> None:
    """Set valid quotas, and wait until the broker shows them."""
    ((code, message, _),) = alter(client, entry(names, *quotas.items()))
    assert code == ErrorCode.none, message
    wanted = {key: value for key, value in quotas.items() if value is not None}
    gone = [key for key, value in quotas.items() if value is None]

    def shown() -> bool:
        found = values_of(client, names)
        return wanted.items() <= found.items() and not any(key in found for key in gone)

    wait_until(shown, what=f"quotas of {names} are {quotas}")


@contextlib.contextmanager
def quotas_set(client: RawClient, names: Names, **quotas: float) -> Iterator[None]:
    """Set quotas for the length of a block, so that they limit no other test."""
    set_quotas(client, names, quotas)
    try:
        yield
    finally:
        set_quotas(client, names, dict.fromkeys(quotas))
