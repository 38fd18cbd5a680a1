"""`penstock bench`: put load on a broker, with a live display and percentiles at the end.

It measures Python clients together with the broker; `make bench` measures the limits of the broker alone. The load
comes from options, for one group of producers and one of consumers, or from a scenario file for any mix of them.
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.kafka.client import DEFAULT_SERVER, BootstrapServer, ClientProperties, KafkaClients, connect
from penstock.cli.kafka.produce import Acks, Compression
from penstock.cli.terminal.duration import parse_seconds
from penstock.cli.terminal.errors import CommandError, ExitCode
from penstock.cli.terminal.output import Output, note, print_json, print_table
from penstock.model.counted import counted

if TYPE_CHECKING:
    from penstock.cli.bench.scenario import Scenario

STAMP_BYTES = 8
DURATION_MIN = 0.5
# Options that a scenario sets itself.
_OF_OPTIONS = (
    "topic",
    "producers",
    "consumers",
    "size",
    "rate",
    "partitions",
    "acks",
    "compression",
    "linger_ms",
    "batch_bytes",
)


def _load_seconds(text: str) -> float:
    """Parse --duration, in the forms of a scenario's `duration`."""
    try:
        seconds = parse_seconds(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    if seconds < DURATION_MIN:
        raise typer.BadParameter(f"{text} is less than {DURATION_MIN:g} s")
    return seconds


def bench(
    context: typer.Context,
    scenario: Annotated[
        str | None, typer.Option("--scenario", metavar="FILE|NAME", help="A YAML file, or one of --scenarios.")
    ] = None,
    scenarios: Annotated[bool, typer.Option("--scenarios", help="List the scenarios that come with Penstock.")] = False,
    topic: Annotated[
        str | None, typer.Option("--topic", "-t", help="Default: a new one, deleted after the run.")
    ] = None,
    producers: Annotated[int, typer.Option("--producers", min=0, max=64, help="Producer processes.")] = 1,
    consumers: Annotated[
        int, typer.Option("--consumers", min=0, max=64, help="Consumer processes, sharing the partitions.")
    ] = 1,
    size: Annotated[int, typer.Option("--size", "-s", min=STAMP_BYTES, help="Bytes per message.")] = 100,
    rate: Annotated[int, typer.Option("--rate", "-r", min=0, help="Total messages per second; 0 for no limit.")] = 0,
    duration: Annotated[
        float | None,
        typer.Option(
            "--duration",
            "-d",
            metavar="TIME",
            parser=_load_seconds,
            help="Duration of the load: 4, 4s, 2m. Default without a scenario: 10 s.",
        ),
    ] = None,
    partitions: Annotated[
        int, typer.Option("--partitions", "-p", min=1, help="Partitions of the topic made for the run.")
    ] = 4,
    acks: Annotated[Acks, typer.Option("--acks")] = Acks.ALL,
    compression: Annotated[Compression, typer.Option("--compression", "-z")] = Compression.NONE,
    linger_ms: Annotated[
        float, typer.Option("--linger-ms", min=0, help="How long a client waits to fill a batch.")
    ] = 5.0,
    batch_bytes: Annotated[int, typer.Option("--batch-bytes", min=1)] = 1_000_000,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the result, second by second, as JSON.")
    ] = None,
    plot_file: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw throughput and latency over time as SVG.")
    ] = None,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="A table for people, or json for programs.")
    ] = Output.TABLE,
    bootstrap_server: BootstrapServer = DEFAULT_SERVER,
    properties: ClientProperties = None,
) -> None:
    """Put load on a broker and measure throughput and latency."""
    if scenarios:
        _list_scenarios()
        return
    if scenario is not None:
        _refuse_contradictions(context)
        plan = _from_file(scenario, duration)
    else:
        producing = {
            "connections": producers,
            "size": size,
            "rate": rate or "unlimited",
            "acks": int(acks.value) if acks.value.isdecimal() else acks.value,
            "compression": compression.value,
            "linger_ms": linger_ms,
            "batch_bytes": batch_bytes,
        }
        plan = _from_options(topic, partitions, duration or 10.0, producing, consumers)
    _check_files(json_file, plot_file)
    cluster = connect(bootstrap_server, properties)
    if topic is not None:
        cluster.check_topics([topic])
    found = _measure(plan, cluster, live=output is Output.TABLE)
    _tell(found, output, json_file, plot_file)


def _list_scenarios() -> None:
    from penstock.cli.bench.file import load_scenario, shipped

    rows = [[name, load_scenario(name).about] for name in shipped()]
    print_table(["scenario", "what it does"], rows)


def _refuse_contradictions(context: typer.Context) -> None:
    for name in _OF_OPTIONS:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            option = f"--{name.replace('_', '-')}"
            raise CommandError(
                f"{option} cannot be used with --scenario",
                ExitCode.USAGE,
                hint=f"leave out {option}, or edit the file",
            )


def _from_file(name: str, duration: float | None) -> Scenario:
    """Load a scenario; --duration shortens or extends it."""
    from penstock.cli.bench.file import load_scenario

    plan = load_scenario(name)
    if duration is None:
        return plan
    late = [group.name for group in plan.groups if group.start >= duration]
    if late:
        raise CommandError(
            f"--duration {duration:g} ends before {', '.join(late)} would start", ExitCode.USAGE, hint="make it longer"
        )
    return plan.model_copy(update={"duration": duration})


def _from_options(
    topic: str | None, partitions: int, duration: float, producing: dict[str, Any], consumers: int
) -> Scenario:
    from penstock.cli.bench.scenario import Scenario

    if not producing["connections"] and not consumers:
        raise CommandError("there is nothing to do", ExitCode.USAGE, hint="give --producers or --consumers")
    name = topic or f"penstock-bench-{uuid.uuid4().hex[:8]}"
    common = {"topic": name, "processes": 64}
    groups: dict[str, Any] = {}
    if producing["connections"]:
        groups["producers"] = [{"name": "producers", **common, **producing}]
    if consumers:
        # Without producers, the load is what is already in the topic.
        position = "latest" if producing["connections"] else "earliest"
        groups["consumers"] = [{"name": "consumers", **common, "connections": consumers, "from": position}]
    topics = {name: {"partitions": partitions}}
    return Scenario.model_validate({"name": "options", "duration": duration, "topics": topics, **groups})


def _check_files(json_file: Path | None, plot_file: Path | None) -> None:
    if json_file is not None and not json_file.parent.is_dir():
        raise CommandError(f"--json {json_file}: there is no directory {json_file.parent}", ExitCode.USAGE)
    if plot_file is not None:
        from penstock.cli.bench import plot

        plot.check(plot_file)


def _measure(plan: Scenario, cluster: KafkaClients, *, live: bool) -> dict[str, Any]:
    from penstock.cli.bench.result import document
    from penstock.cli.bench.run import run, topics

    for group in plan.producers:
        cluster.producer(**group.client_options())  # options that do not agree are refused here, not in a worker
    with topics(cluster, plan) as made:
        tallies, began = run(plan, cluster, made, live=live)
    return document(plan, tallies, began, cluster.bootstrap)


def _tell(found: dict[str, Any], output: Output, json_file: Path | None, plot_file: Path | None) -> None:
    from penstock.cli.bench.result import show

    if output is Output.JSON:
        print_json(found)
    else:
        show(found)
    if json_file is not None:
        json_file.write_text(json.dumps(found, indent=2) + "\n")
        note(f"Written to {json_file}.")
    if plot_file is not None:
        from penstock.cli.bench import plot

        plot.write(found, plot_file)
        note(f"Drawn in {plot_file}.")
    for name, group in found["groups"].items():
        if group["errors"]:
            raise CommandError(f"{counted(group['errors'], 'error')} in {name}, the last: {group['error']}")
