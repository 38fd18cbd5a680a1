"""A right that a principal does not have, in words: what was refused, and the rule that would allow it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from penstock.cli.terminal.errors import CommandError
from penstock.model.errors import ErrorCode


class Resource(StrEnum):
    """Kinds of resources; the values are those of `penstock security acl`, as options."""

    TOPIC = "topic"
    GROUP = "group"
    CLUSTER = "cluster"
    TRANSACTIONAL_ID = "transactional-id"


REFUSALS: Final[Mapping[int, Resource]] = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: Resource.TOPIC,
    ErrorCode.GROUP_AUTHORIZATION_FAILED: Resource.GROUP,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: Resource.CLUSTER,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Resource.TRANSACTIONAL_ID,
}
"""Answers of brokers that mean a missing right, and to what."""


class Right(NamedTuple):
    """An operation of a resource, of which a command says that it needs it."""

    operation: str
    resource: Resource
    name: str = ""


def refusal(code: int, act: str, needs: Iterable[Right]) -> CommandError | None:
    """The refusal that an error of a broker is, or None; `needs` are the rights that `act` needs."""
    resource = REFUSALS.get(code)
    for right in needs:
        if right.resource is resource:
            return may_not(act, right.resource, right.name, right.operation)
    return None


def may_not(act: str, resource: Resource, name: str = "", *operations: str) -> CommandError:
    """The end of a command for which the principal lacks operations of a resource; the cluster has no name."""
    operation = " ".join(f"--operation {each}" for each in operations)
    what = f"--{resource} {shlex.quote(name)}" if name else f"--{resource}"
    rule = f"penstock security acl add --allow-principal User:NAME {operation} {what}"
    return CommandError(f"this principal may not {act}", hint=f"an administrator allows it with `{rule}`")


def may_not_see(resource: Resource, name: str, *operations: str) -> CommandError:
    """The same for what may not exist: brokers do not tell that to those who may not describe it."""
    return may_not(f"describe {resource} {name}, or it does not exist", resource, name, *operations)
