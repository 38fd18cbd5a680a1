"""The tables in docs/ that are generated from the code: settings and their names in other systems, Kafka APIs, the
admin API, the states of transactions and of push connections, the options of Spark.

Each is between two comments, `<!-- settings -->` and `<!-- end of settings -->`; the text around them is written by
hand.

    python tools/doc_tables.py           update the tables
    python tools/doc_tables.py --check   fail if one of them is out of date
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from penstock.broker.transactions.states import STEPS, TransactionState
from penstock.config import references
from penstock.config.environment import variable_name
from penstock.config.explanations import explanations
from penstock.config.references import message_broker, provider
from penstock.config.references.entry import Becomes, Entry
from penstock.config.settings import Section, Settings
from penstock.protocol.kafka.apis import APIS, NEVER, Api
from penstock.protocol.push.frames import FrameType
from penstock.protocol.push.states import TABLE, Side, State
from penstock_spark.options.catalogue import OPTIONS
from penstock_spark.options.option import Option, Use

DOCS = Path(__file__).resolve().parent.parent / "docs"
SIZE_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
INT32_MAX = (1 << 31) - 1


def settings_sections() -> str:
    """A heading and a table for each section."""
    schema = Settings.model_json_schema()
    defaults = Settings().model_dump(mode="json")
    shorter: dict[str, list[str]] = {}
    for variable, key in references.VARIABLES.items():
        shorter.setdefault(key, []).append(variable)
    meanings = explanations()
    lines: list[str] = []
    for section, field in Settings.model_fields.items():
        properties = _resolved(schema, schema["properties"][section])["properties"]
        lines += [f"### {section}", "", *_introduction(type(field.default))]
        lines += ["| setting | default | values | variable | meaning |", "|---|---|---|---|---|"]
        for name, described in properties.items():
            key = f"{section}.{name}"
            variables = ", ".join(f"`{each}`" for each in (variable_name(key), *shorter.get(key, ())))
            default = shown_default(name, defaults[section][name])
            lines.append(
                f"| `{key}` | {default} | {_values(schema, name, described)} | {variables} | {meanings[key]} |"
            )
        lines.append("")
    return "\n".join(lines[:-1])


def _introduction(section: type[Section]) -> list[str]:
    text = inspect.cleandoc(section.__doc__ or "") if section.__doc__ != Section.__doc__ else ""
    return [" ".join(text.split()), ""] if text else []


def shown_default(name: str, value: object) -> str:
    if value is None or value in ({}, []):
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, list):
        return f"`{','.join(map(str, value))}`"
    if isinstance(value, int) and "bytes" in name:
        return f"`{_size(value)}`"
    return f"`{value}`"


def _size(value: int) -> str:
    for unit, unit_name in SIZE_UNITS:
        if value and value % unit == 0:
            return f"{value // unit} {unit_name}"
    return str(value)


def _resolved(schema: dict[str, Any], described: dict[str, Any]) -> dict[str, Any]:
    reference = described.get("$ref")
    return schema["$defs"][reference.rpartition("/")[2]] if reference else described


def _values(schema: dict[str, Any], name: str, described: dict[str, Any]) -> str:
    """The allowed values, in a few words."""
    options = [each for each in described.get("anyOf", [described]) if each.get("type") != "null"]
    option = {**described, **_resolved(schema, options[0])}
    if "enum" in option:
        return ", ".join(f"`{each}`" for each in option["enum"])
    match option.get("type"):
        case "boolean":
            return "`true`, `false`"
        case "integer":
            return _range(name, option)
        case "array":
            return "names, with commas between them"
        case "object":
            return "names and values: `a=1,b=2`"
    return "a path" if option.get("format") == "path" else "text"


def _range(name: str, option: dict[str, Any]) -> str:
    text = _size if "bytes" in name else str
    low, high = option.get("minimum", option.get("ge")), option.get("maximum", option.get("le"))
    if low is None:
        return "a number"
    return f"{text(low)} and more" if high in (None, INT32_MAX) else f"{text(low)} to {text(high)}"


def names_table(title: str, variables: Mapping[str, str]) -> str:
    """The names of another system in files and in the environment, and their meanings here."""
    by_setting: dict[str, str] = {setting: variable for variable, setting in variables.items()}
    lines = ["| name | variable | here |", "|---|---|---|"] if variables else ["| name | here |", "|---|---|"]
    for name, entry in references.TABLES[title].items():
        variable = by_setting.pop(entry.settings[0], None) if isinstance(entry, Becomes) else None
        cells = [f"`{name}`", *([f"`{variable}`" if variable else ""] if variables else []), _here(entry)]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [f"| | `{variable}` | `{setting}` |" for setting, variable in by_setting.items()]
    return "\n".join(lines)


def flags_table() -> str:
    """The table of names that are flags, too."""
    lines = ["| flag | name in a file | here |", "|---|---|---|"]
    for name, entry in references.TABLES["server"].items():
        lines.append(f"| `--{name.replace('_', '-')}` | `{name}` | {_here(entry)} |")
    return "\n".join(lines)


def _here(entry: Entry) -> str:
    if isinstance(entry, Becomes):
        settings = ", ".join(f"`{setting}`" for setting in entry.settings)
        return f"{settings}; {entry.note}" if entry.note else settings
    usual = f" (no word about `{json.dumps(entry.usual)}`)" if entry.usual is not None else ""
    return f"a warning{usual}: {entry.reason}"


def api_table() -> str:
    """Every API key, with the versions that ApiVersions advertises."""
    lines = ["| key | API | versions | flexible from |", "|---|---|---|---|"]
    lines += [f"| {api.key} | {api.name} | {_versions(api)} | {_flexible(api)} |" for api in APIS.values()]
    return "\n".join(lines)


def _versions(api: Api) -> str:
    accepted = f"{api.oldest}–{api.newest}" if api.oldest < api.newest else str(api.newest)
    if api.advertised_oldest == api.oldest:
        return accepted
    return f"{accepted}, advertised {api.advertised_oldest}–{api.newest}"


def _flexible(api: Api) -> str:
    return "never" if api.flexible == NEVER else f"v{api.flexible}"


def transaction_states() -> str:
    """The steps between the states of a transactional id; docs/diagrams/transaction-states.toml draws them."""
    lines = ["| from | to | by |", "|---|---|---|", f"| | {TransactionState.EMPTY.shown_name} | InitProducerId |"]
    for before, steps in STEPS.items():
        lines += [f"| {before.shown_name} | {after.shown_name} | {why} |" for after, why in steps.items()]
    return "\n".join([*lines, f"| {TransactionState.DEAD.shown_name} | forgotten | |"])


def push_states() -> str:
    """The frames that either side may send in each state of a push connection, and the states that follow."""
    sent: dict[tuple[State, State], dict[Side, list[str]]] = {}
    for (before, (side, what)), after in TABLE.items():
        name = what.name if isinstance(what, FrameType) else what.value
        sent.setdefault((before, after), {}).setdefault(side, []).append(name)
    lines = ["| from | to | the client sends | the broker sends |", "|---|---|---|---|"]
    for (before, after), names in sent.items():
        frames = " | ".join(", ".join(names.get(side, ())) for side in (Side.CLIENT, Side.BROKER))
        lines.append(f"| {before.value} | {after.value} | {frames} |")
    return "\n".join(lines)


def admin_api_table() -> str:
    """Every operation of the admin API, as its OpenAPI file has it."""
    file = json.loads((DOCS / "openapi.json").read_text(encoding="utf-8"))
    lines = ["| request | what it does |", "|---|---|"]
    for path, operations in file["paths"].items():
        for method, operation in operations.items():
            what = " ".join(operation["description"].split())
            lines.append(f"| `{method.upper()} /api/v1{path}` | {what} |")
    return "\n".join(lines)


def spark_options() -> str:
    """Every option of the source and the sink for Spark, and what it does in each kind of query."""
    lines = [f"| option | {' | '.join(use.value for use in Use)} | default | |", "|---|---|---|---|---|---|"]
    for cells, options in groupby(OPTIONS, _cells_of_option):
        names = ", ".join(f"`{option.name}`" for option in options)
        lines.append(f"| {names} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cells_of_option(option: Option) -> tuple[str, ...]:
    """What is behind the name; options for which it is the same share a row."""
    return *(option.effect(use).value for use in Use), option.default, option.meaning


TABLES: dict[str, tuple[str, Callable[[], str]]] = {
    "settings": ("configuration.md", settings_sections),
    "names of a provider": ("configuration.md", partial(names_table, "provider", provider.VARIABLES)),
    "names of a message broker": (
        "configuration.md",
        partial(names_table, "message broker", message_broker.VARIABLES),
    ),
    "names of a cluster": ("configuration.md", partial(names_table, "cluster", {})),
    "names of a server": ("configuration.md", flags_table),
    "names of Kafka": ("configuration.md", partial(names_table, "kafka", {})),
    "apis": ("compatibility.md", api_table),
    "admin api": ("rest.md", admin_api_table),
    "transaction states": ("transactions.md", transaction_states),
    "options of Spark": ("spark.md", spark_options),
    "push states": ("formats/push-protocol.md", push_states),
}


def with_table(text: str, name: str, table: str) -> str:
    """The text with a new table between the two comments."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, found_begin, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        raise ValueError(f"the comments around the table {name} are missing")
    return f"{before}{begin}\n{table}\n{end}{after}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Tables of the documentation that the code already knows.")
    parser.add_argument("--check", action="store_true", help="change nothing, fail if a table is out of date")
    check = parser.parse_args(arguments).check
    stale = False
    for name, (file, make) in TABLES.items():
        path = DOCS / file
        text = path.read_text(encoding="utf-8")
        wanted = with_table(text, name, make())
        if text == wanted:
            continue
        if check:
            stale = True
            print(f"docs/{file}: the table {name} is out of date: run .venv/bin/python tools/doc_tables.py")
        else:
            path.write_text(wanted, encoding="utf-8")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
