"""The options of `penstock security acl`, under the names of kafka-acls.sh.

`add` and `remove` have the same ones and get them as one `Chosen` (`takes_rules`).
"""

from __future__ import annotations

from typing import Annotated, Any, Final, NamedTuple

import typer

from penstock.cli.security.acl_choice import ResourceNames, Resources, Subjects
from penstock.cli.shared_options import Command, shared_options

SUBJECT, RESOURCE, ACT = "Who", "What", "Operations"


def _option(name: str, metavar: str, text: str, panel: str) -> Any:
    return typer.Option(name, metavar=metavar, help=text, rich_help_panel=panel)


Principal = Annotated[list[str] | None, _option("--principal", "TYPE:NAME", "Rules of this principal.", SUBJECT)]
AllowPrincipal = Annotated[
    list[str] | None,
    _option("--allow-principal", "TYPE:NAME", "Allow it to this principal; User:* is everyone.", SUBJECT),
]
DenyPrincipal = Annotated[
    list[str] | None, _option("--deny-principal", "TYPE:NAME", "Deny it to this principal.", SUBJECT)
]
AllowHost = Annotated[
    list[str] | None, _option("--allow-host", "ADDR", "Only from this address. Default: from everywhere.", SUBJECT)
]
DenyHost = Annotated[
    list[str] | None, _option("--deny-host", "ADDR", "Only from this address. Default: from everywhere.", SUBJECT)
]
Topic = Annotated[list[str] | None, _option("--topic", "NAME", "A topic, or * for all.", RESOURCE)]
Group = Annotated[list[str] | None, _option("--group", "NAME", "A group, or * for all.", RESOURCE)]
TransactionalId = Annotated[
    list[str] | None, _option("--transactional-id", "NAME", "A transactional id, or * for all.", RESOURCE)
]
DelegationToken = Annotated[
    list[str] | None,
    _option("--delegation-token", "ID", "A delegation token of Apache Kafka, or * for all.", RESOURCE),
]
UserPrincipal = Annotated[
    list[str] | None,
    _option("--user-principal", "TYPE:NAME", "An owner of delegation tokens of Apache Kafka, or * for all.", RESOURCE),
]
Cluster = Annotated[bool, typer.Option("--cluster", help="The cluster.", rich_help_panel=RESOURCE)]
Pattern = Annotated[
    str,
    typer.Option(
        "--resource-pattern-type",
        metavar="TYPE",
        help="literal, or prefixed: names that begin with NAME. To list and remove also match (whatever applies to"
        " NAME) and any.",
        rich_help_panel=RESOURCE,
    ),
]
Operation = Annotated[
    list[str] | None,
    _option("--operation", "NAME", "Read, Write, Create, Delete, Alter, Describe, … Default: All.", ACT),
]
Producer = Annotated[bool, typer.Option("--producer", help="What a producer of the topics needs.", rich_help_panel=ACT)]
Consumer = Annotated[
    bool, typer.Option("--consumer", help="What a consumer of the topics in the groups needs.", rich_help_panel=ACT)
]


class Chosen(NamedTuple):
    """The rules that a command is about."""

    subjects: Subjects
    resources: Resources


_OPTIONS: Final = {
    "allow_principal": AllowPrincipal,
    "deny_principal": DenyPrincipal,
    "allow_host": AllowHost,
    "deny_host": DenyHost,
    "topic": Topic,
    "group": Group,
    "transactional_id": TransactionalId,
    "delegation_token": DelegationToken,
    "user_principal": UserPrincipal,
    "cluster": Cluster,
    "resource_pattern_type": Pattern,
    "operation": Operation,
    "producer": Producer,
    "consumer": Consumer,
}
_DEFAULTS: Final = {"cluster": False, "resource_pattern_type": "literal", "producer": False, "consumer": False}


def takes_rules(command: Command) -> Command:
    """Add the options to a command, which gets them as its parameter `chosen`."""
    return shared_options("chosen", _OPTIONS, _chosen, _DEFAULTS)(command)


def _chosen(given: dict[str, Any]) -> Chosen:
    subjects = Subjects(
        allow_principals=given["allow_principal"] or (),
        deny_principals=given["deny_principal"] or (),
        allow_hosts=given["allow_host"] or (),
        deny_hosts=given["deny_host"] or (),
    )
    named = ResourceNames(
        topics=given["topic"] or (),
        groups=given["group"] or (),
        transactional_ids=given["transactional_id"] or (),
        delegation_tokens=given["delegation_token"] or (),
        user_principals=given["user_principal"] or (),
        cluster=given["cluster"],
    )
    resources = Resources(
        named=named,
        pattern=given["resource_pattern_type"],
        operations=given["operation"] or (),
        producer=given["producer"],
        consumer=given["consumer"],
    )
    return Chosen(subjects, resources)
