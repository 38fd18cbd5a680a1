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
from penstock.model.text.address import literal
from penstock.model.text.principal_text import principal_problem
from penstock.security.acl.fit import fit_problem
from penstock.security.acl.rule import ANY_HOST, ANY_NAME, AclRule, PatternType, Permission, check_rule
from penstock.security.resources import Operation, ResourceType

RULES_MAX: Final = 100_000
"""Rules in all, stored or in the policy file."""

HOSTS: Final = "{0!r} is no address of a client: give one, or * for all; networks and names fit nobody"

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
        found = json.loads(text, object_pairs_hook=_object)
    except PolicyError:
        raise
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
    """The member of an enum by its name, in any case and with or without underscores; PolicyError, also for UNKNOWN."""
    wanted = str(text).replace("_", "").replace("-", "").lower()
    for member in kinds:
        if member.name != "UNKNOWN" and member.name.replace("_", "").lower() == wanted:
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
        _host(members.get("host", ANY_HOST), f"{where}.host"),
        named(Operation, members.get("operation"), f"{where}.operation"),
        named(Permission, members.get("permission", "ALLOW"), f"{where}.permission"),
    )
    try:
        check_rule(rule)
    except KafkaError as error:
        raise PolicyError(f"{where}: {error.message}") from None
    unfit = fit_problem(rule)
    if unfit is not None:
        raise PolicyError(f"{where}: {unfit}")
    return rule


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A name that stands twice would hide what stood there first, which may be a rule that denies."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise PolicyError(f"{next(name for name in names if names.count(name) > 1)!r} stands twice in one object")
    return found


def _host(found: object, where: str) -> str:
    host = _text(found, where)
    if not is_host(host):
        raise PolicyError(f"{where}: {HOSTS.format(host)}")
    return host


def is_host(text: str) -> bool:
    """Whether a client can have this host: rules for networks and names are taken by Kafka, and fit nobody."""
    return text == ANY_HOST or literal(text.partition("%")[0]) is not None


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
    problem = principal_problem(text)
    if problem is not None:
        raise PolicyError(f"{where}: {problem}")
    return text
