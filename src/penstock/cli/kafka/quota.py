"""`penstock quota`: list, set and remove limits of users, client ids and addresses.

librdkafka has no requests about quotas, so these commands send the requests themselves.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import typer

from penstock.cli.kafka.client import DEFAULT_SERVER, BootstrapServer, connect, parse_pairs
from penstock.cli.kafka.topic import ChangeOutput, OutputOption
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.output import Output, note, print_json, print_table
from penstock.cli.terminal.rights import Resource, Right, refusal

app = typer.Typer(
    no_args_is_help=True, help="Limit clients: bytes, time of the broker, changes of topics, connections."
)

EXACT, DEFAULT = 0, 1
CLIENT_QUOTAS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
ADDRESS_QUOTAS = ("connection_creation_rate",)

Entity = dict[str, str | None]
"""Names by type; None is the default."""
Reply = TypeVar("Reply")


def _entity(
    user: Annotated[
        str | None, typer.Option("--user", "-u", metavar="NAME", help="A user; clients without one are ANONYMOUS.")
    ] = None,
    user_default: Annotated[
        bool, typer.Option("--user-default", help="Every user without a quota of its own.")
    ] = False,
    client_id: Annotated[str | None, typer.Option("--client-id", "-i", metavar="NAME", help="A client id.")] = None,
    client_id_default: Annotated[
        bool, typer.Option("--client-id-default", help="Every client id without a quota of its own.")
    ] = False,
    ip: Annotated[str | None, typer.Option("--ip", metavar="ADDR", help="An address or host name.")] = None,
    ip_default: Annotated[bool, typer.Option("--ip-default", help="Every address without a quota of its own.")] = False,
) -> Entity:
    """Parse the options that name an entity, which all commands share."""
    entity: Entity = {}
    options = (("client-id", client_id, client_id_default), ("user", user, user_default), ("ip", ip, ip_default))
    for kind, name, default in options:
        if name is not None and default:
            raise CommandError(f"--{kind} and --{kind}-default cannot be used together", ExitCode.USAGE)
        if name == "":
            raise CommandError(
                f"--{kind} is empty", ExitCode.USAGE, hint=f"use --{kind}-default for all without their own quota"
            )
        if name is not None or default:
            entity[kind] = name
    if "ip" in entity and len(entity) > 1:
        raise CommandError("--ip cannot be combined with users or client ids", ExitCode.USAGE)
    return entity


def _of_entity(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `_entity` in the place of its parameter `entity`."""
    own = inspect.signature(command, eval_str=True)
    options = inspect.signature(_entity, eval_str=True).parameters
    parameters: list[inspect.Parameter] = []
    for parameter in own.parameters.values():
        parameters += options.values() if parameter.name == "entity" else [parameter]

    @functools.wraps(command)
    def with_entity(**given: Any) -> None:
        command(entity=_entity(**{name: given.pop(name) for name in options}), **given)

    keyword_only = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    with_entity.__signature__ = own.replace(parameters=keyword_only)  # type: ignore[attr-defined]
    return with_entity


@app.command("list")
@_of_entity
def list_quotas(
    entity: Entity,
    output: OutputOption = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
) -> None:
    """List all quotas, or those of the given entity."""
    rows = _described(bootstrap_server, entity)
    if output is Output.JSON:
        print_json(rows)
    elif rows:
        table = [(_shown(row["entity"]), key, f"{value:,.15g}") for row in rows for key, value in row["quotas"].items()]
        print_table(["entity", "quota", "limit"], table, numbers=["limit"])
    elif entity:
        note(f"no quotas of {_shown(entity)}; `penstock quota list` shows all")
    else:
        note("no quotas yet; create one with `penstock quota set --client-id NAME producer_byte_rate=1000000`")


@app.command("set")
@_of_entity
def set_quotas(
    quotas: Annotated[list[str], typer.Argument(metavar="QUOTA=LIMIT...", help="See `penstock quota set --help`.")],
    entity: Entity,
    output: ChangeOutput = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
) -> None:
    """Set limits of a user, a client id, both together, or an address.

    producer_byte_rate and consumer_byte_rate: bytes per second. request_percentage: of the time of one CPU.
    controller_mutation_rate: partitions created or deleted per second. connection_creation_rate: connections of an
    address per second. The most specific quota applies; that of a user before that of a client id.
    """
    _must_be_named(entity)
    limits = {key: _limit(entity, key, text) for key, text in parse_pairs(quotas, "quota").items()}
    _alter(bootstrap_server, entity, limits)
    if output is Output.JSON:
        print_json({"entity": entity, "set": limits})
    else:
        note(f"{_shown(entity)}: {', '.join(f'{key}={value:.15g}' for key, value in limits.items())}")


@app.command()
@_of_entity
def remove(
    entity: Entity,
    quotas: Annotated[
        list[str] | None, typer.Argument(metavar="[QUOTA...]", help="Default: all of the entity.")
    ] = None,
    output: ChangeOutput = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
) -> None:
    """Remove quotas of a user, a client id, both together, or an address."""
    _must_be_named(entity)
    found = [row for row in _described(bootstrap_server, entity) if row["entity"] == entity]
    known = list(found[0]["quotas"]) if found else []
    wanted = list(dict.fromkeys(quotas or known))
    missing = [key for key in wanted if key not in known]
    if missing or not wanted:
        what = f"quota {missing[0]} of {_shown(entity)}" if missing else f"a quota of {_shown(entity)}"
        hint = "`penstock quota list` shows all"
        raise CommandError(f"{what} does not exist", ExitCode.NOT_FOUND, hint=hint)
    _alter(bootstrap_server, entity, dict.fromkeys(wanted))
    if output is Output.JSON:
        print_json({"entity": entity, "removed": wanted})
    else:
        note(f"{_shown(entity)}: removed {', '.join(wanted)}")


# --- values of the options ------------------------------------------------------------------------------------------


def _must_be_named(entity: Entity) -> None:
    if not entity:
        raise CommandError("whose quota?", ExitCode.USAGE, hint="give --user, --client-id, --ip or a default of these")


def _limit(entity: Entity, key: str, text: str) -> float:
    known = ADDRESS_QUOTAS if "ip" in entity else CLIENT_QUOTAS
    if key not in known:
        close = difflib.get_close_matches(key, known, n=1, cutoff=0.8)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
        raise CommandError(f"{_shown(entity)} cannot have a quota {key}", ExitCode.USAGE, hint=hint)
    try:
        limit = float(text)
    except ValueError:
        limit = math.nan
    if not math.isfinite(limit) or limit <= 0:
        hint = "`penstock quota remove` takes a limit away" if limit == 0 else ""
        raise CommandError(f"{key}={text} is not a number above 0", ExitCode.USAGE, hint=hint)
    return limit


def _shown(entity: Mapping[str, str | None]) -> str:
    return ", ".join(f"{kind} {name}" if name is not None else f"any {kind}" for kind, name in entity.items())


# --- requests -------------------------------------------------------------------------------------------------------


def _described(bootstrap: str, entity: Entity) -> list[dict[str, Any]]:
    from kio.schema.describe_client_quotas.v1 import request as schema
    from kio.schema.describe_client_quotas.v1.response import DescribeClientQuotasResponse
    from kio.static.primitive import i8

    components = tuple(
        schema.ComponentData(entity_type=kind, match_type=i8(DEFAULT if name is None else EXACT), match=name)
        for kind, name in entity.items()
    )
    request = schema.DescribeClientQuotasRequest(components=components, strict=False)
    answer = _call(bootstrap, request, DescribeClientQuotasResponse)
    _check(answer.error_code, answer.error_message, "quotas", "see quotas", "DescribeConfigs")
    rows: list[dict[str, Any]] = [
        {
            "entity": {part.entity_type: part.entity_name for part in row.entity},
            "quotas": {each.key: each.value for each in row.values},
        }
        for row in answer.entries or ()
    ]
    return sorted(rows, key=lambda row: _shown(row["entity"]))


def _alter(bootstrap: str, entity: Entity, changes: Mapping[str, float | None]) -> None:
    """Set quotas of an entity; None removes one."""
    from kio.schema.alter_client_quotas.v1 import request as schema
    from kio.schema.alter_client_quotas.v1.response import AlterClientQuotasResponse
    from kio.static.primitive import f64

    parts: Sequence[Any] = [schema.EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()]
    ops: Sequence[Any] = [
        schema.OpData(key=key, value=f64(value or 0.0), remove=value is None) for key, value in changes.items()
    ]
    entry = schema.EntryData(entity=tuple(parts), ops=tuple(ops))
    request = schema.AlterClientQuotasRequest(entries=(entry,), validate_only=False)
    answer = _call(bootstrap, request, AlterClientQuotasResponse)
    for result in answer.entries:
        _check(result.error_code, result.error_message, _shown(entity), "change quotas", "AlterConfigs")


def _check(code: Any, message: str | None, what: str, act: str, operation: str) -> None:
    """`act` needs the operation of the cluster."""
    if code:
        refused = refusal(code, act, [Right(operation, Resource.CLUSTER)])
        raise refused or CommandError(f"{what}: {message or code.name}")


def _call(bootstrap: str, request: Any, reply: type[Reply]) -> Reply:
    from penstock.cli.kafka.kafka_connection import open_connection

    with open_connection(connect(bootstrap).bootstrap) as connection:
        return connection.call(request, reply)
