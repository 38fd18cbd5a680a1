"""`penstock security acl`: list, add and remove rules about who may do what, with the flags of kafka-acls.sh."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.kafka.client import DEFAULT_SERVER, BootstrapServer, ClientProperties
from penstock.cli.kafka.topic import ChangeOutput, OutputOption
from penstock.cli.security.acl_choice import Resources, Subjects, filters, new_rules
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.output import Output, note, print_json, print_table

if TYPE_CHECKING:
    from penstock.security.acl.rule import AclRule

app = typer.Typer(no_args_is_help=True, help="List, add and remove rules about who may do what.")

SUBJECT, RESOURCE, ACT = "Who", "What", "Operations"
NO_RULES = (
    "no rules yet; add some with"
    " `penstock security acl add --allow-principal User:alice --operation Read --topic orders`"
)


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


@app.command("list")
def list_rules(
    principal: Principal = None,
    topic: Topic = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    cluster: Cluster = False,
    resource_pattern_type: Pattern = "any",
    output: OutputOption = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    properties: ClientProperties = None,
) -> None:
    """List all rules, or those of the given resources and principals."""
    resources = Resources(
        topics=topic or (),
        groups=group or (),
        transactional_ids=transactional_id or (),
        cluster=cluster,
        pattern=resource_pattern_type,
    )
    wanted = filters(Subjects(), resources, principal or ())
    from penstock.cli.security.acl_requests import AclRequests

    rules = AclRequests(bootstrap_server, properties).matching(wanted)
    if output is Output.JSON:
        print_json([as_json(rule) for rule in rules])
    elif rules:
        _print(rules)
    else:
        note("no such rules" if principal or any(resources.names()) else NO_RULES)


@app.command()
def add(
    allow_principal: AllowPrincipal = None,
    deny_principal: DenyPrincipal = None,
    allow_host: AllowHost = None,
    deny_host: DenyHost = None,
    topic: Topic = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    cluster: Cluster = False,
    resource_pattern_type: Pattern = "literal",
    operation: Operation = None,
    producer: Producer = False,
    consumer: Consumer = False,
    output: ChangeOutput = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    properties: ClientProperties = None,
) -> None:
    """Add rules: one for each principal, host, resource and operation. They hold at once."""
    rules = new_rules(
        _subjects(allow_principal, deny_principal, allow_host, deny_host),
        _resources(topic, group, transactional_id, cluster, resource_pattern_type, operation, producer, consumer),
    )
    from penstock.cli.security.acl_requests import AclRequests

    AclRequests(bootstrap_server, properties).create(rules)
    _tell(output, "added", rules)


@app.command()
def remove(
    allow_principal: AllowPrincipal = None,
    deny_principal: DenyPrincipal = None,
    allow_host: AllowHost = None,
    deny_host: DenyHost = None,
    topic: Topic = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    cluster: Cluster = False,
    resource_pattern_type: Pattern = "literal",
    operation: Operation = None,
    producer: Producer = False,
    consumer: Consumer = False,
    force: Annotated[
        bool,
        typer.Option(
            "--force", "-f", help="Do not ask for confirmation. Scripts, without a terminal, are never asked."
        ),
    ] = False,
    output: ChangeOutput = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    properties: ClientProperties = None,
) -> None:
    """Remove the rules that match everything that is given. What they allowed is refused at once."""
    resources = _resources(
        topic, group, transactional_id, cluster, resource_pattern_type, operation, producer, consumer
    )
    if not any(resources.names()) and not (allow_principal or deny_principal):
        hint = "give --topic, --group, --cluster, --transactional-id, --allow-principal or --deny-principal"
        raise CommandError("remove which rules?", ExitCode.USAGE, hint=hint)
    wanted = filters(_subjects(allow_principal, deny_principal, allow_host, deny_host), resources)
    from penstock.cli.security.acl_requests import AclRequests

    requests = AclRequests(bootstrap_server, properties)
    found = requests.matching(wanted)
    if not found:
        hint = "`penstock security acl list` shows all; --resource-pattern-type any also finds prefixed ones"
        raise CommandError("no such rules", ExitCode.NOT_FOUND, hint=hint)
    if sys.stdin.isatty() and not force:
        _print(found)
        typer.confirm("Remove these rules?", abort=True)
    requests.delete(wanted)
    left = set(requests.matching(wanted))
    _tell(output, "removed", [rule for rule in found if rule not in left])
    if left:
        hint = "change it in the policy file of the broker (acl.policy_file)"
        raise CommandError(f"still there: {'; '.join(map(str, sorted(left)))}", hint=hint)


def _subjects(
    allow_principal: Sequence[str] | None,
    deny_principal: Sequence[str] | None,
    allow_host: Sequence[str] | None,
    deny_host: Sequence[str] | None,
) -> Subjects:
    return Subjects(
        allow_principals=allow_principal or (),
        deny_principals=deny_principal or (),
        allow_hosts=allow_host or (),
        deny_hosts=deny_host or (),
    )


def _resources(
    topic: Sequence[str] | None,
    group: Sequence[str] | None,
    transactional_id: Sequence[str] | None,
    cluster: bool,
    pattern: str,
    operation: Sequence[str] | None,
    producer: bool,
    consumer: bool,
) -> Resources:
    return Resources(
        topics=topic or (),
        groups=group or (),
        transactional_ids=transactional_id or (),
        cluster=cluster,
        pattern=pattern,
        operations=operation or (),
        producer=producer,
        consumer=consumer,
    )


def as_json(rule: AclRule) -> dict[str, Any]:
    """A rule as it stands in a policy file."""
    return {
        "principal": rule.principal,
        "host": rule.host,
        "operation": rule.operation.name,
        "permission": rule.permission.name,
        "resource": {"type": rule.kind.name, "name": rule.name, "pattern": rule.pattern.name},
    }


def _print(rules: Iterable[AclRule]) -> None:
    print_table(
        ["type", "name", "pattern", "principal", "host", "operation", "permission"],
        [
            (
                rule.kind.name,
                rule.name,
                rule.pattern.name,
                rule.principal,
                rule.host,
                rule.operation.name,
                rule.permission.name,
            )
            for rule in rules
        ],
    )


def _tell(output: Output, done: str, rules: Sequence[AclRule]) -> None:
    if output is Output.JSON:
        print_json({done: [as_json(rule) for rule in rules]})
        return
    for rule in rules:
        note(f"{done}: {rule}")
