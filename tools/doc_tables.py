"""The tables in docs/ that the code already knows: settings, Kafka APIs, the admin API, the states of a transaction.

Each stands between two comments, `<!-- settings -->` and `<!-- end of settings -->`; the text around them is written
by hand.

    python tools/doc_tables.py           put the tables in
    python tools/doc_tables.py --check   fail if one of them is not what the code says
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from penstock.broker.transactions.states import STEPS, TransactionState
from penstock.config.explanations import explanations
from penstock.config.settings import Settings
from penstock.protocol.kafka.apis import APIS, NEVER, Api

DOCS = Path(__file__).resolve().parent.parent / "docs"
SIZE_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def settings_table() -> str:
    """Every setting, section by section."""
    defaults = Settings().model_dump(mode="json")
    lines = ["| setting | default | meaning |", "|---|---|---|"]
    for key, meaning in explanations().items():
        section, _, name = key.partition(".")
        lines.append(f"| `{key}` | {_default(name, defaults[section][name])} | {meaning} |")
    return "\n".join(lines)


def _default(name: str, value: object) -> str:
    if value is None or value == {}:
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, int) and "bytes" in name:
        for unit, unit_name in SIZE_UNITS:
            if value and value % unit == 0:
                return f"`{value // unit} {unit_name}`"
    return f"`{value}`"


def api_table() -> str:
    """Every API key, with what ApiVersions advertises."""
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
    """The states of a transactional id and the steps between them, as a diagram."""
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {TransactionState.EMPTY.shown_name}: InitProducerId"]
    for before, steps in STEPS.items():
        lines += [f"    {before.shown_name} --> {after.shown_name}: {why}" for after, why in steps.items()]
    return "\n".join([*lines, f"    {TransactionState.DEAD.shown_name} --> [*]", "```"])


def admin_api_table() -> str:
    """Every operation of the admin API, as its OpenAPI file has it."""
    file = json.loads((DOCS / "openapi.json").read_text(encoding="utf-8"))
    lines = ["| request | what it does |", "|---|---|"]
    for path, operations in file["paths"].items():
        for method, operation in operations.items():
            what = " ".join(operation["description"].split())
            lines.append(f"| `{method.upper()} /api/v1{path}` | {what} |")
    return "\n".join(lines)


TABLES: dict[str, tuple[str, Callable[[], str]]] = {
    "settings": ("operations.md", settings_table),
    "apis": ("compatibility.md", api_table),
    "admin api": ("rest.md", admin_api_table),
    "transaction states": ("transactions.md", transaction_states),
}


def with_table(text: str, name: str, table: str) -> str:
    """The text with what stands between the two comments replaced."""
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
