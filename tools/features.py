"""The table of features: docs/features.toml claims, marked tests prove, docs/features.md shows.

A test names what it proves with `@pytest.mark.feature("P-03")`. Every pytest run leaves the outcome of the
marked tests in .features.json (written by tests/conftest.py), each with a fingerprint of the sources it ran
against, so that a result counts only as long as neither the package nor the test file has changed.

    python tools/features.py              run tests without a current result, prove, write the table
    python tools/features.py --no-run     the same with the results at hand
    python tools/features.py --write      write the table from claims and marks alone, proving nothing
    python tools/features.py --check      fail if the table on disk is not the one --write would write
    python tools/features.py --list P-03  the tests of one feature with their last outcome

The table depends only on the claims and the marks, never on a run: the same clone always gives the same
table, and a claim without proof is an error instead of a quietly different table.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

ROOT = Path(__file__).resolve().parent.parent
CLAIMS_PATH = ROOT / "docs" / "features.toml"
TABLE_PATH = ROOT / "docs" / "features.md"
RESULTS_PATH = ROOT / ".features.json"

WORKS = "works"
NOT_YET = "not yet"
TEST_TIMEOUT_S = 1800

Outcome = Literal["passed", "failed", "skipped", "no current result"]


class FeatureError(Exception):
    """A mistake in the claims or marks; the message names the fix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    id: str
    text: str
    state: str
    see: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    title: str
    features: tuple[Feature, ...]


# ------------------------------------------------------------------------------------------------- claims


def load_sections(path: Path = CLAIMS_PATH) -> tuple[Section, ...]:
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    sections = tuple(
        Section(title=section["title"], features=tuple(Feature(**row) for row in section["features"]))
        for section in document["section"]
    )
    seen: set[str] = set()
    for feature in all_features(sections):
        if feature.id in seen:
            raise FeatureError(f"{path.name}: {feature.id} is listed twice")
        if feature.state not in (WORKS, NOT_YET):
            raise FeatureError(f'{path.name}: {feature.id} has state "{feature.state}"; use "works" or "not yet"')
        seen.add(feature.id)
    return sections


def all_features(sections: Iterable[Section]) -> list[Feature]:
    return [feature for section in sections for feature in section.features]


# -------------------------------------------------------------------------------------------------- marks

Marks = Mapping[str, Sequence[str]]  # feature id -> node ids of the tests that carry it


class MarkCollector:
    """A pytest plugin that notes which tests carry which features."""

    def __init__(self) -> None:
        self.marks: dict[str, list[str]] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            for feature_id in feature_ids(item):
                self.marks.setdefault(feature_id, []).append(item.nodeid)


def feature_ids(item: pytest.Item) -> list[str]:
    return sorted({str(argument) for mark in item.iter_markers("feature") for argument in mark.args})


def collect_marks() -> Marks:
    """Every marked test of the project, slow and compat ones included; nothing is run."""
    collector = MarkCollector()
    captured = io.StringIO()
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(captured):
        status = pytest.main(["--collect-only", "-qq", "-m", "", "-p", "no:cacheprovider", "tests"], [collector])
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise FeatureError(f"the tests cannot be collected:\n{captured.getvalue()}")
    return collector.marks


def written_marks(root: Path = ROOT) -> Marks:
    """The marks in the sources of the tests, by file: enough for the table, without importing a test."""
    marks: dict[str, list[str]] = {}
    for path in sorted((root / "tests").rglob("test_*.py")):
        file = path.relative_to(root).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for feature_id in _marked(node, file):
                marks.setdefault(feature_id, []).append(file)
    return marks


def _marked(node: ast.AST, file: str) -> list[str]:
    """The ids of `pytest.mark.feature(…)`; empty if the node is something else."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr="mark"), attr="feature"), args=arguments):
            if not all(isinstance(argument, ast.Constant) for argument in arguments):
                raise FeatureError(f"{file}:{node.lineno}: write the ids of features as strings")
            return sorted({str(argument.value) for argument in arguments if isinstance(argument, ast.Constant)})
        case _:
            return []


# ------------------------------------------------------------------------------------------------ results


class Fingerprints:
    """Fingerprints of everything that a result depends on: the package's sources, and the test's file."""

    def __init__(self, root: Path = ROOT) -> None:
        self._root = root
        self._package = hashlib.sha256()
        for path in sorted((root / "src").rglob("*.py")):
            self._package.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
        self._by_file: dict[str, str] = {}

    def of(self, node_id: str) -> str:
        file = node_id.partition("::")[0]
        if file not in self._by_file:
            digest = self._package.copy()
            with contextlib.suppress(FileNotFoundError):  # a test that no longer exists
                digest.update((self._root / file).read_bytes())
            self._by_file[file] = digest.hexdigest()[:16]
        return self._by_file[file]


class Results:
    """The last outcome of every marked test, as .features.json keeps it between runs."""

    def __init__(self, path: Path = RESULTS_PATH, fingerprints: Fingerprints | None = None) -> None:
        self._path = path
        self._fingerprints = fingerprints or Fingerprints()
        self._entries: dict[str, dict[str, str]] = {}
        with contextlib.suppress(FileNotFoundError, ValueError):  # derived: a damaged file means "run again"
            self._entries = json.loads(path.read_text(encoding="utf-8"))

    def outcome(self, node_id: str) -> Outcome:
        entry = self._entries.get(node_id)
        if entry is None or entry["fingerprint"] != self._fingerprints.of(node_id):
            return "no current result"
        outcome = entry["outcome"]
        return outcome if outcome in ("passed", "failed", "skipped") else "no current result"  # type: ignore[return-value]

    def record(self, outcomes: Mapping[str, str]) -> None:
        for node_id, outcome in outcomes.items():
            self._entries[node_id] = {"outcome": outcome, "fingerprint": self._fingerprints.of(node_id)}

    def save(self) -> None:
        partial = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        partial.write_text(json.dumps(self._entries, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        partial.replace(self._path)


def run_tests(node_ids: Sequence[str]) -> None:
    """Run the tests; their outcomes reach .features.json through tests/conftest.py."""
    functions = sorted({node_id.partition("[")[0] for node_id in node_ids})
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as arguments:
        arguments.write("\n".join(functions))
        arguments.flush()
        command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-m", "", f"--timeout={TEST_TIMEOUT_S}"]
        subprocess.run([*command, f"@{arguments.name}"], cwd=ROOT, check=False)


# ----------------------------------------------------------------------------------------------- problems


def mark_problems(sections: Iterable[Section], marks: Marks) -> list[str]:
    """Problems that are found without running anything."""
    features = {feature.id: feature for feature in all_features(sections)}
    problems = [
        f"{tests[0]} names {unknown}, which docs/features.toml does not list"
        for unknown, tests in sorted(marks.items())
        if unknown not in features
    ]
    problems += [
        f'{feature.id} claims "works", but no test carries @pytest.mark.feature("{feature.id}")'
        for feature in features.values()
        if feature.state == WORKS and not marks.get(feature.id)
    ]
    return problems


def proof_problems(sections: Iterable[Section], marks: Marks, results: Results) -> list[str]:
    """Claims that the results do not prove."""
    problems = []
    for feature in all_features(sections):
        tests = marks.get(feature.id, [])
        if feature.state != WORKS or not tests:
            continue
        outcomes = {test: results.outcome(test) for test in tests}
        bad = [
            f"    {test}: {outcome}" for test, outcome in outcomes.items() if outcome in ("failed", "no current result")
        ]
        if bad:
            problems.append("\n".join([f'{feature.id} claims "works", but', *bad]))
        elif "passed" not in outcomes.values():
            problems.append(f'{feature.id} claims "works", but all its tests were skipped')
    return problems


def unclaimed(sections: Iterable[Section], marks: Marks, results: Results) -> list[str]:
    """Features whose tests all pass although they are not claimed: perhaps only a part works."""
    return [
        feature.id
        for feature in all_features(sections)
        if feature.state == NOT_YET
        and marks.get(feature.id)
        and all(results.outcome(test) == "passed" for test in marks[feature.id])
    ]


# -------------------------------------------------------------------------------------------------- table

INTRODUCTION = """\
# Features

What Penstock does, how to see it, and the tests that prove it: {works} of {count} work.

Made by `make features` from [features.toml](features.toml) and the marks of the tests; do not edit.
`make features` fails if a row says "works" and no passing test proves it.
`.venv/bin/python tools/features.py --list ID` names the tests of a row one by one.
"""


def render(sections: Sequence[Section], marks: Marks) -> str:
    features = all_features(sections)
    works = sum(feature.state == WORKS for feature in features)
    lines = [INTRODUCTION.format(works=works, count=len(features))]
    for section in sections:
        lines += [f"## {section.title}", ""]
        lines += ["| id | feature | state | how to see it | proof |", "|---|---|---|---|---|"]
        for feature in section.features:
            files = sorted({test.partition("::")[0] for test in marks.get(feature.id, [])})
            proof = "<br>".join(f"[{file.removeprefix('tests/')}](../{file})" for file in files)
            cells = (feature.id, feature.text, feature.state, feature.see, proof)
            lines.append("|" + "|".join(f" {cell.replace('|', '&#124;')} " if cell else " " for cell in cells) + "|")
        lines.append("")
    return "\n".join(lines)


# ------------------------------------------------------------------------------------------------ commands


def check(sections: Sequence[Section]) -> None:
    marks = written_marks()
    refuse(mark_problems(sections, marks))
    on_disk = TABLE_PATH.read_text(encoding="utf-8") if TABLE_PATH.exists() else ""
    if on_disk != render(sections, marks):
        raise FeatureError("docs/features.md is not up to date: run .venv/bin/python tools/features.py --write")


def write(sections: Sequence[Section]) -> None:
    marks = written_marks()
    refuse(mark_problems(sections, marks))
    TABLE_PATH.write_text(render(sections, marks), encoding="utf-8")


def prove(sections: Sequence[Section], *, run: bool) -> None:
    marks = collect_marks()
    refuse(mark_problems(sections, marks))
    results = Results()
    missing = {test for tests in marks.values() for test in tests if results.outcome(test) != "passed"}
    if run and missing:
        run_tests(sorted(missing))
        results = Results()
    refuse(proof_problems(sections, marks, results))
    TABLE_PATH.write_text(render(sections, marks), encoding="utf-8")
    features = all_features(sections)
    print(f"{sum(feature.state == WORKS for feature in features)} of {len(features)} features work, all proved")
    if candidates := unclaimed(sections, marks, results):
        print(f"every test passes, but docs/features.toml says not yet: {', '.join(candidates)}")


def list_tests(feature_id: str) -> None:
    results = Results()
    tests = collect_marks().get(feature_id, [])
    for test in tests:
        print(f"{results.outcome(test):<18} {test}")
    if not tests:
        print(f"no test carries {feature_id}")


def refuse(problems: Sequence[str]) -> None:
    if problems:
        raise FeatureError("\n".join(problems))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="The table of features, and its proof.")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="fail if docs/features.md is out of date")
    mode.add_argument("--write", action="store_true", help="write docs/features.md without proving it")
    mode.add_argument("--no-run", action="store_true", help="prove with the results at hand")
    mode.add_argument("--list", metavar="ID", help="the tests of one feature")
    options = parser.parse_args(arguments)
    try:
        sections = load_sections()
        if options.check:
            check(sections)
        elif options.write:
            write(sections)
        elif options.list:
            list_tests(options.list)
        else:
            prove(sections, run=not options.no_run)
    except FeatureError as error:
        print(f"features: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
