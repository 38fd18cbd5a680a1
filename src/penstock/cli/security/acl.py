"""`penstock security acl`: list, add and remove rules about who may do what, with the flags of kafka-acls.sh."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.kafka.client import DEFAULT_SERVER, BootstrapServer, ClientProperties
from penstock.cli.kafka.topic import ChangeOutput, OutputOption
from penstock.cli.security.acl_choice import ResourceNames, Resources, Subjects, filters, new_rules
from penstock.cli.security.acl_options import (
    Chosen,
    Cluster,
    DelegationToken,
    Group,
    Pattern,
    Principal,
    Topic,
    TransactionalId,
    UserPrincipal,
    takes_rules,
)
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.output import Output, note, print_json, print_table
from penstock.model.text.principal_text import OTHER_TYPE, is_user

if TYPE_CHECKING:
    from penstock.security.acl.rule import AclRule

app = typer.Typer(no_args_is_help=True, help="List, add and remove rules about who may do what.")

NO_RULES = (
    "no rules yet; add some with"
    " `penstock security acl add --allow-principal User:alice --operation Read --topic orders`"
)


@app.command("list")
def list_rules(
    principal: Principal = None,
    topic: Topic = None,
    group: Group = None,
    transactional_id: TransactionalId = None,
    delegation_token: DelegationToken = None,
    user_principal: UserPrincipal = None,
    cluster: Cluster = False,
    resource_pattern_type: Pattern = "any",
    output: OutputOption = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    properties: ClientProperties = None,
) -> None:
    """List all rules, or those of the given resources and principals."""
    named = ResourceNames(
        topics=topic or (),
        groups=group or (),
        transactional_ids=transactional_id or (),
        delegation_tokens=delegation_token or (),
        user_principals=user_principal or (),
        cluster=cluster,
    )
    wanted = filters(Subjects(), Resources(named=named, pattern=resource_pattern_type), principal or ())
    from penstock.cli.security.acl_requests import AclRequests

    rules = AclRequests(bootstrap_server, properties).matching(wanted)
    if output is Output.JSON:
        print_json([as_json(rule) for rule in rules])
    elif rules:
        _print(rules)
    else:
        note("no such rules" if principal or any(named.pairs()) else NO_RULES)


@app.command()
@takes_rules
def add(
    chosen: Chosen,
    output: ChangeOutput = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    properties: ClientProperties = None,
) -> None:
    """Add rules: one for each principal, host, resource and operation. They hold at once."""
    rules = new_rules(chosen.subjects, chosen.resources)
    from penstock.cli.security.acl_requests import AclRequests

    AclRequests(bootstrap_server, properties).create(rules)
    _tell(output, "added", rules)
    _warn_of_other_types(rules)


@app.command()
@takes_rules
def remove(
    chosen: Chosen,
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
    subjects, resources = chosen
    if not any(resources.named.pairs()) and not (subjects.allow_principals or subjects.deny_principals):
        hint = "give a resource, such as --topic or --cluster, or --allow-principal or --deny-principal"
        raise CommandError("remove which rules?", ExitCode.USAGE, hint=hint)
    wanted = filters(subjects, resources)
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


def _warn_of_other_types(rules: Iterable[AclRule]) -> None:
    others = sorted({rule.principal for rule in rules if not is_user(rule.principal)})
    if others:
        note(f"warning: {OTHER_TYPE.format(', '.join(others))}")


def _tell(output: Output, done: str, rules: Sequence[AclRule]) -> None:
    if output is Output.JSON:
        print_json({done: [as_json(rule) for rule in rules]})
        return
    for rule in rules:
        note(f"{done}: {rule}")
