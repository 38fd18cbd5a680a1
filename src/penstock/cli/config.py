"""`penstock config show`: every setting, its value, and where it came from."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.output import Output, note, print_json, print_table
from penstock.cli.settings_flags import (
    ConfigFile,
    DataDir,
    Host,
    HttpPort,
    KafkaPort,
    LogLevel,
    PushPort,
    Set,
    load_with_flags,
)

app = typer.Typer(no_args_is_help=True, help="Look at the settings of a node.")


@app.command()
def show(
    changed: Annotated[bool, typer.Option("--changed", help="Leave out what has its default.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say what each setting does, and its variable.")] = False,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="table for people, json for programs.")
    ] = Output.TABLE,
    data_dir: DataDir = None,
    host: Host = None,
    kafka_port: KafkaPort = None,
    http_port: HttpPort = None,
    push_port: PushPort = None,
    config: ConfigFile = None,
    log_level: LogLevel = None,
    assignments: Set = None,
) -> None:
    """Show what `penstock serve` with the same flags and environment would use."""
    from penstock.config.explanations import explanations
    from penstock.config.sources import variable_name

    loaded = load_with_flags(config, data_dir, host, kafka_port, http_port, push_port, log_level, assignments)
    for warning in loaded.warnings:
        note(f"penstock: {warning}")
    values = loaded.settings.model_dump(mode="json")
    rows = []
    for key, explanation in explanations().items():
        section, _, name = key.partition(".")
        origin = loaded.origins[key]
        if changed and origin == "default":
            continue
        row = {"setting": key, "value": values[section][name], "origin": origin}
        if explain:
            row |= {"variable": variable_name(key), "meaning": explanation}
        rows.append(row)
    if output is Output.JSON:
        print_json(rows)
        return
    columns = ["setting", "value", "origin", *(["variable", "meaning"] if explain else [])]
    print_table(columns, [[_shown(row[column]) for column in columns] for row in rows])


def _shown(value: object) -> object:
    """Numbers without separators: they are to be copied into a file."""
    if isinstance(value, dict):
        return ",".join(f"{name}={item}" for name, item in value.items()) or "-"
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)
