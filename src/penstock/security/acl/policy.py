"""The policy file: rules and super users as JSON, read as a whole or not at all.

    {"super_users": ["User:admin"],
     "acls": [{"principal": "User:alice", "host": "*", "operation": "READ", "permission": "ALLOW",
               "resource": {"type": "TOPIC", "name": "orders", "pattern": "LITERAL"}}]}

`host` is * if it is left out, `permission` ALLOW and `pattern` LITERAL. Names of types, operations, permissions and
patterns are Kafka's, in any case and with or without underscores. A list in the place of the object is the `acl.json`
of a broker that writes its rules like this, and is read as well:

    [{"principal": {"principal_type": "User", "name": "alice"}, "host": "*", "operation": "Read",
      "permission": "Allow",
      "resource_pattern": {"resource_type": "Topic", "name": "orders", "pattern_type": "Literal"}}]
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeVar

from penstock.model.errors import KafkaError
from penstock.security.acl.rule import ANY_HOST, ANY_NAME, AclRule, PatternType, Permission, check_rule
from penstock.security.resources import Operation, ResourceType

RULES_MAX: Final = 100_000
"""Rules in all, stored or in the policy file."""

E = TypeVar("E", bound=enum.Enum)


class PolicyError(Exception):
    """The text is no policy; the message says where and why."""


class Policy(NamedTuple):
    super_users: frozenset[str] = frozenset()
    rules: frozenset[AclRule] = frozenset()


NO_POLICY: Final = Policy()


def parse_policy(text: str | bytes) -> Policy:
    """Read a policy file, or raise PolicyError."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PolicyError(f"no JSON: {error}") from None
    if isinstance(found, list):
        found = {"acls": found}
    members = _members(found, "the file", ("super_users", "acls"))
    super_users, acls = members.get("super_users", []), members.get("acls", [])
    if not isinstance(super_users, list) or not isinstance(acls, list):
        raise PolicyError("super_users and acls must be lists")
    if len(acls) > RULES_MAX:
        raise PolicyError(f"more than {RULES_MAX} rules")
    return Policy(
        frozenset(_principal(each, f"super_users[{number}]") for number, each in enumerate(super_users)),
        frozenset(_rule(each, f"acls[{number}]") for number, each in enumerate(acls)),
    )


def named(kinds: type[E], text: object, where: str) -> E:
    """The member of an enum by its name, in any case and with or without underscores; PolicyError."""
    wanted = str(text).replace("_", "").replace("-", "").lower()
    for member in kinds:
        if member.name.replace("_", "").lower() == wanted:
            return member
    names = ", ".join(member.name for member in kinds if member.name not in ("UNKNOWN", "ANY", "MATCH"))
    raise PolicyError(f"{where}: {text!r} is none of {names}")


def _rule(found: object, where: str) -> AclRule:
    members = _members(found, where, ("principal", "host", "operation", "permission", "resource", "resource_pattern"))
    resource = _members(
        members.get("resource", members.get("resource_pattern")),
        f"{where}.resource",
        ("type", "resource_type", "name", "pattern", "pattern_type"),
    )
    pattern = named(PatternType, resource.get("pattern", resource.get("pattern_type", "LITERAL")), f"{where}.pattern")
    kind = named(ResourceType, resource.get("type", resource.get("resource_type")), f"{where}.resource.type")
    any_name = pattern is PatternType.ANY and kind is not ResourceType.CLUSTER
    rule = AclRule(
        kind,
        ANY_NAME if any_name else _text(resource.get("name"), f"{where}.resource.name"),
        PatternType.LITERAL if pattern is PatternType.ANY else pattern,
        _principal(members.get("principal"), f"{where}.principal"),
        _text(members.get("host", ANY_HOST), f"{where}.host"),
        named(Operation, members.get("operation"), f"{where}.operation"),
        named(Permission, members.get("permission", "ALLOW"), f"{where}.permission"),
    )
    try:
        check_rule(rule)
    except KafkaError as error:
        raise PolicyError(f"{where}: {error.message}") from None
    return rule


def _members(found: object, where: str, known: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise PolicyError(f"{where} must be an object with {', '.join(known)}")
    for name in found:
        if name not in known:
            raise PolicyError(f"{where} has {name!r}; there are {', '.join(known)}")
    return found


def _text(found: object, where: str) -> str:
    if not isinstance(found, str) or not found:
        raise PolicyError(f"{where} must be text")
    return found


def _principal(found: object, where: str) -> str:
    if isinstance(found, dict):
        members = _members(found, where, ("principal_type", "name"))
        found = f"{_text(members.get('principal_type'), where)}:{_text(members.get('name'), where)}"
    text = _text(found, where)
    if ":" not in text:
        raise PolicyError(f"{where}: {text!r} has no type; did you mean 'User:{text}'?")
    return text
