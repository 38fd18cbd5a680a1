"""The check that `promtool check rules` makes of a file of alerts, without promtool.

PromQL is parsed, with its types, by the parser that promql-parser brings. The rest is the shape that Prometheus
demands: known fields only, names, durations, labels, and templates that use known functions and variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import promql_parser
import yaml

RULE_FIELDS = {"alert", "expr", "for", "keep_firing_for", "labels", "annotations"}
GROUP_FIELDS = {"name", "interval", "limit", "query_offset", "labels", "rules"}
LABEL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
TEMPLATE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
VARIABLE = re.compile(r"\$value|\$labels\.[a-zA-Z_][a-zA-Z0-9_]*")
FUNCTIONS = {"humanize", "humanize1024", "humanizeDuration", "humanizePercentage", "humanizeTimestamp", "title"}


def problems(text: str) -> list[str]:
    """Problems for which Prometheus would refuse a file of rules, each with its place."""
    return list(_file(yaml.safe_load(text)))


def _file(content: Any) -> Iterator[str]:
    yield from _unknown("file", content, {"groups"})
    names = [group.get("name") for group in content["groups"]]
    if len(set(names)) != len(names) or not all(names):
        yield f"groups need names of their own: {names}"
    for group in content["groups"]:
        yield from _unknown(f"group {group.get('name')}", group, GROUP_FIELDS)
        seen: set[str] = set()
        for rule in group["rules"]:
            yield from _rule(rule)
            key = f"{rule.get('alert')} {rule.get('labels')}"
            if key in seen:
                yield f"{rule.get('alert')}: twice in the group, with the same labels"
            seen.add(key)


def _rule(rule: dict[str, Any]) -> Iterator[str]:
    name = rule.get("alert") or "a rule without a name"
    yield from _unknown(name, rule, RULE_FIELDS)
    if not rule.get("alert"):
        yield f"{name}: no alert"
    try:
        promql_parser.parse(rule.get("expr") or "")
    except ValueError as error:
        yield f"{name}: {error}"
    for field in ("for", "keep_firing_for"):
        if field in rule:
            try:
                promql_parser.parse_duration(str(rule[field]))
            except ValueError as error:
                yield f"{name}: {field}: {error}"
    for field in ("labels", "annotations"):
        for key, value in rule.get(field, {}).items():
            if not LABEL_NAME.fullmatch(key) or key == "__name__":
                yield f"{name}: {field}: {key} is not a name"
            yield from (f"{name}: {field}.{key}: {what}" for what in _template(str(value)))


def _template(text: str) -> Iterator[str]:
    """Only what our rules use of Go's templates: a variable, perhaps piped through functions."""
    for inside in TEMPLATE.findall(text):
        variable, *functions = (part.strip() for part in inside.split("|"))
        if not VARIABLE.fullmatch(variable):
            yield f"{variable!r} is not $value or $labels.name"
        yield from (f"unknown function {function!r}" for function in functions if function not in FUNCTIONS)
    rest = TEMPLATE.sub("", text)
    if "{{" in rest or "}}" in rest:
        yield "braces that are not closed"


def _unknown(where: str, found: dict[str, Any], known: set[str]) -> Iterator[str]:
    if unknown := found.keys() - known:
        yield f"{where}: unknown {', '.join(sorted(unknown))}"
