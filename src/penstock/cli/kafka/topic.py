"""`penstock topic`: create, list, describe, alter, delete."""

from __future__ import annotations

import base64
import difflib
import struct
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.kafka.client import (
    DEFAULT_SERVER,
    REQUEST_TIMEOUT_S,
    BootstrapServer,
    ClientProperties,
    KafkaClients,
    connect,
    explain,
    parse_pairs,
    translated,
)
from penstock.cli.kafka.message_text import INT32_MAX
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.output import Output, note, print_json, print_table

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

INT16_MAX = (1 << 15) - 1

app = typer.Typer(no_args_is_help=True, help="Create, list, describe, change and delete topics.")

Name = Annotated[str, typer.Argument(metavar="TOPIC")]
Names = Annotated[list[str], typer.Argument(metavar="TOPIC...")]
OutputOption = Annotated[Output, typer.Option("--output", "-o", help="A table for people, or json for programs.")]
ChangeOutput = Annotated[Output, typer.Option("--output", "-o", help="A sentence on stderr, or json.")]
Configs = Annotated[
    list[str] | None, typer.Option("--config", "-c", metavar="NAME=VALUE", help="Topic config, such as retention.ms=…")
]


@app.command()
def create(
    name: Name,
    partitions: Annotated[
        int | None, typer.Option("--partitions", "-p", min=1, max=INT32_MAX, help="Default: the broker's.")
    ] = None,
    replication_factor: Annotated[
        int | None, typer.Option("--replication-factor", "-r", min=1, max=INT16_MAX, help="Default: the broker's.")
    ] = None,
    config: Configs = None,
    if_not_exists: Annotated[bool, typer.Option("--if-not-exists", help="Accept an existing topic.")] = False,
    output: ChangeOutput = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    properties: ClientProperties = None,
) -> None:
    """Create a topic."""
    from confluent_kafka import KafkaError
    from confluent_kafka.admin import NewTopic

    cluster = connect(bootstrap_server, properties)
    configs = parse_pairs(config, "--config")
    topic = NewTopic(name, partitions or -1, replication_factor or -1, config=configs)
    admin = cluster.admin()  # must live until the answer is there
    error = _failure(admin.create_topics([topic], request_timeout=REQUEST_TIMEOUT_S)[name])
    if error is not None and not (if_not_exists and error.code() == KafkaError.TOPIC_ALREADY_EXISTS):
        if error.code() == KafkaError.TOPIC_ALREADY_EXISTS:
            raise CommandError(f"topic {name} already exists", hint="use --if-not-exists to accept that")
        raise _config_refusal(error, f"topic {name}", configs)
    if output is Output.JSON:
        print_json({"topic": name, "created": error is None})
    else:
        note(f"topic {name} {'already exists' if error else 'created'}")


@app.command("list")
def list_topics(
    internal: Annotated[bool, typer.Option("--internal", help="Include the broker's own topics.")] = False,
    output: OutputOption = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    properties: ClientProperties = None,
) -> None:
    """List topics."""
    metadata = connect(bootstrap_server, properties).metadata()
    rows = [
        {"topic": name, "partitions": len(topic.partitions), "internal": _is_internal(name)}
        for name, topic in sorted(metadata.topics.items())
        if internal or not _is_internal(name)
    ]
    if output is Output.JSON:
        print_json(rows)
    elif rows:
        print_table(["topic", "partitions"], [(r["topic"], r["partitions"]) for r in rows], numbers=["partitions"])
    else:
        note("no topics yet; create one with `penstock topic create NAME`")


def _is_internal(name: str) -> bool:
    return name.startswith("__")


@app.command()
def describe(
    names: Names,
    all_configs: Annotated[bool, typer.Option("--all-configs", help="Include configs with default values.")] = False,
    output: OutputOption = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    properties: ClientProperties = None,
) -> None:
    """Show a topic's partitions, offsets and configs."""
    cluster = connect(bootstrap_server, properties)
    admin = cluster.admin()
    cluster.check_topics(names, admin, needs=("Describe", "DescribeConfigs"))
    described = [_describe(admin, name, all_configs) for name in dict.fromkeys(names)]
    if output is Output.JSON:
        print_json(described)
        return
    for topic in described:
        title = f"{topic['topic']}  id {topic['id']}"
        columns = ["partition", "leader", "replicas", "in sync", "start", "end", "records"]
        rows = [[p[column.replace(" ", "_")] for column in columns] for p in topic["partitions"]]
        print_table(columns, rows, title=title, numbers=["partition", "leader", "start", "end", "records"])
        if topic["configs"]:
            configs = [(c["name"], c["value"], c["source"]) for c in topic["configs"]]
            print_table(["config", "value", "source"], configs)


def _describe(admin: AdminClient, name: str, all_configs: bool) -> dict[str, Any]:
    from confluent_kafka import TopicCollection

    with translated(f"topic {name}"):
        topic = admin.describe_topics(TopicCollection([name]), request_timeout=REQUEST_TIMEOUT_S)[name].result()
    ranges = offset_ranges(admin, [(name, p.id) for p in topic.partitions])
    partitions = []
    for partition in topic.partitions:
        start, end = ranges[name, partition.id]
        partitions.append(
            {
                "partition": partition.id,
                "leader": partition.leader.id if partition.leader else None,
                "replicas": [node.id for node in partition.replicas],
                "in_sync": [node.id for node in partition.isr],
                "start": start,
                "end": end,
                "records": end - start,
            }
        )
    configs = _configs(admin, name, all_configs)
    return {"topic": name, "id": _id_text(topic.topic_id), "partitions": partitions, "configs": configs}


def _id_text(topic_id: Any) -> str:
    """Format a topic id as Kafka's tools do: base64 for URLs without padding. The library uses + and /."""
    high, low = topic_id.get_most_significant_bits(), topic_id.get_least_significant_bits()
    return base64.urlsafe_b64encode(struct.pack(">qq", high, low)).decode().rstrip("=")


def offset_ranges(admin: AdminClient, partitions: list[tuple[str, int]]) -> dict[tuple[str, int], tuple[int, int]]:
    """Return the first and the next offset of each partition."""
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import OffsetSpec

    ends = []
    for spec in (OffsetSpec.earliest(), OffsetSpec.latest()):
        wanted = {TopicPartition(topic, index): spec for topic, index in partitions}
        found = {}
        with translated("offsets"):
            if wanted:
                answers = admin.list_offsets(wanted, request_timeout=REQUEST_TIMEOUT_S)
                found = {(key.topic, key.partition): answer.result().offset for key, answer in answers.items()}
        ends.append(found)
    return {partition: (ends[0][partition], ends[1][partition]) for partition in partitions}


def _configs(admin: AdminClient, name: str, all_configs: bool) -> list[dict[str, Any]]:
    from confluent_kafka.admin import ConfigResource, ConfigSource

    resource = ConfigResource(ConfigResource.Type.TOPIC, name)
    with translated(f"configs of {name}"):
        entries = admin.describe_configs([resource], request_timeout=REQUEST_TIMEOUT_S)[resource].result()
    own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    return [
        {"name": entry.name, "value": entry.value, "source": ConfigSource(entry.source).name.lower()}
        for entry in sorted(entries.values(), key=lambda entry: entry.name)
        if all_configs or entry.source == own
    ]


@app.command()
def alter(
    name: Name,
    config: Configs = None,
    delete_config: Annotated[
        list[str] | None, typer.Option("--delete-config", metavar="NAME", help="Reset this config to its default.")
    ] = None,
    partitions: Annotated[
        int | None, typer.Option("--partitions", "-p", min=1, max=INT32_MAX, help="New, larger number.")
    ] = None,
    output: ChangeOutput = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    properties: ClientProperties = None,
) -> None:
    """Change the configs of a topic, or add partitions."""
    changes = parse_pairs(config, "--config")
    if not changes and not delete_config and partitions is None:
        raise CommandError("nothing to change", ExitCode.USAGE, hint="give --config, --delete-config or --partitions")
    cluster = connect(bootstrap_server, properties)
    admin = cluster.admin()
    needs = ("Alter",) if partitions is not None else ("Describe",)
    cluster.check_topics([name], admin, needs=(*needs, "AlterConfigs") if changes or delete_config else needs)
    if changes or delete_config:
        _alter_configs(admin, name, changes, delete_config or [])
    if partitions is not None:
        _add_partitions(admin, name, partitions)
    if output is Output.JSON:
        print_json({"topic": name, "set": changes, "deleted": delete_config or [], "partitions": partitions})
    else:
        note(f"topic {name} changed")


def _alter_configs(admin: AdminClient, name: str, changes: dict[str, str], removed: list[str]) -> None:
    from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource

    entries = [
        ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in changes.items()
    ] + [ConfigEntry(key, None, incremental_operation=AlterConfigOpType.DELETE) for key in removed]
    resource = ConfigResource(ConfigResource.Type.TOPIC, name, incremental_configs=entries)
    error = _failure(admin.incremental_alter_configs([resource], request_timeout=REQUEST_TIMEOUT_S)[resource])
    if error is not None:
        raise _config_refusal(error, f"configs of {name}", [*changes, *removed])


def _config_refusal(error: Any, what: str, names: Iterable[str]) -> CommandError:
    """Explain a refusal; for an unknown config, suggest the one that may have been meant."""
    from confluent_kafka import KafkaError

    from penstock.config.topic_configs import TOPIC_CONFIGS

    unknown = [name for name in names if name not in TOPIC_CONFIGS]
    if error.code() != KafkaError.INVALID_CONFIG or not unknown:
        return explain(error, what)
    close = difflib.get_close_matches(unknown[0], list(TOPIC_CONFIGS), n=1)
    hint = f"did you mean {close[0]}?" if close else "`penstock topic describe TOPIC --all-configs` lists them"
    return CommandError(f"{what}: {error.str()}", hint=hint)


def _add_partitions(admin: AdminClient, name: str, count: int) -> None:
    from confluent_kafka.admin import NewPartitions

    with translated(f"partitions of {name}"):
        admin.create_partitions([NewPartitions(name, count)], request_timeout=REQUEST_TIMEOUT_S)[name].result()


@app.command()
def delete(
    names: Names,
    yes: Annotated[
        bool,
        typer.Option("--yes", "-y", help="Do not ask for confirmation. Scripts, without a terminal, are never asked."),
    ] = False,
    output: ChangeOutput = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    properties: ClientProperties = None,
) -> None:
    """Delete topics and everything in them."""
    names = list(dict.fromkeys(names))
    cluster: KafkaClients = connect(bootstrap_server, properties)
    admin = cluster.admin()
    cluster.check_topics(names, admin, creatable=False, needs=("Delete",))
    if not yes and sys.stdin.isatty():
        typer.confirm(f"Delete {', '.join(names)} with all records?", abort=True)
    failures = {}
    for name, future in admin.delete_topics(names, request_timeout=REQUEST_TIMEOUT_S).items():
        error = _failure(future)
        if error is not None:
            failures[name] = _delete_refusal(error, name, admin)
    report_deletions("topic", names, failures, output)


def _delete_refusal(error: Any, name: str, admin: AdminClient) -> CommandError:
    from confluent_kafka import KafkaError

    if _is_internal(name):
        hint = "the broker needs it; `penstock group delete` removes the offsets of a group"
        return CommandError(f"topic {name} cannot be deleted ({error.str()})", hint=hint)
    if error.code() == KafkaError.POLICY_VIOLATION:
        from penstock.sdk.librdkafka.policy import policy_text  # takes half a second, so only when it is needed

        if text := policy_text(admin, error, name):
            return CommandError(f"topic {name}: {text}")
    return explain(error, f"topic {name}")


def report_deletions(kind: str, names: Iterable[str], failures: Mapping[str, CommandError], output: Output) -> None:
    """Report each deletion; failures end the command together."""
    if output is Output.JSON:
        errors = {name: str(failure) for name, failure in failures.items()}
        print_json([{kind: name, "deleted": name not in failures, "error": errors.get(name)} for name in names])
    else:
        for name in names:
            if name not in failures:
                note(f"{kind} {name} deleted")
    if failures:
        first = next(iter(failures.values()))
        raise first if len(failures) == 1 else CommandError("; ".join(map(str, failures.values())), first.code)


def _failure(future: Any) -> Any:
    """Return the KafkaError that a future ended with, or None."""
    from confluent_kafka import KafkaException

    try:
        future.result()
    except KafkaException as error:
        return error.args[0]
    return None
