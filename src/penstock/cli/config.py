"""`penstock config show`: every setting, its value, and where it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.settings_flags import OWN, SERVER, SettingsFlags, takes_settings
from penstock.cli.terminal.output import Output, note, print_json, print_table

if TYPE_CHECKING:
    from penstock.config.references import Ignored

Row = dict[str, object]

app = typer.Typer(no_args_is_help=True, help="Show the settings of a node.")


@app.command()
@takes_settings({**OWN, **SERVER})
def show(
    flags: SettingsFlags,
    changed: Annotated[bool, typer.Option("--changed", help="Leave out settings that have their default.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what each setting does, and its environment variable.")
    ] = False,
    output: Annotated[
        Output, typer.Option("--output", "-o", help="A table for people, or json for programs.")
    ] = Output.TABLE,
) -> None:
    """Show the settings that `penstock serve` would use with the same flags and environment."""
    from penstock.config.environment import variable_name
    from penstock.config.explanations import explanations
    from penstock.config.shown_value import shown

    loaded = flags.load()
    for warning in loaded.warnings:
        note(f"penstock: {warning}")
    values = loaded.settings.model_dump(mode="json")
    rows: list[Row] = []
    for key, explanation in explanations().items():
        section, _, name = key.partition(".")
        origin = loaded.origins[key]
        if changed and origin == "default":
            continue
        row: Row = {"setting": key, "value": shown(key, values[section][name]), "origin": origin}
        if explain:
            row |= {"variable": variable_name(key), "meaning": explanation}
        rows.append(row)
    rows += [_without_effect(each, explain) for each in loaded.ignored]
    if output is Output.JSON:
        print_json(rows)
        return
    if not rows:
        note("every setting has its default")
        return
    columns = ["setting", "value", "origin", *(["variable", "meaning"] if explain else [])]
    print_table(columns, [[_shown(row[column]) for column in columns] for row in rows])


def _without_effect(ignored: Ignored, explain: bool) -> Row:
    """Describe a name of another system that is not a setting here: where it was given, and why it is ignored."""
    row: Row = {"setting": ignored.name, "value": ignored.value, "origin": f"{ignored.origin}: no effect"}
    if explain:
        row |= {"variable": None, "meaning": f"No effect: {ignored.reason}."}
    return row


def _shown(value: object) -> object:
    """Format a value without separators in numbers, so that it can be copied into a file."""
    if isinstance(value, dict):
        return ",".join(f"{name}={item}" for name, item in value.items()) or "-"
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)
