"""The report of a run: progress line by line, then a table per API, coverage, and all differences."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from typing import Any

from tests.differential import vectors
from tests.differential.comparison import Difference, compare
from tests.differential.coverage import covered, wanted
from tests.differential.known import KNOWN
from tests.differential.known_row import Known
from tests.differential.normal import normalised
from tests.differential.script import Script
from tests.differential.transcript import Transcript

Steps = list[tuple[str, Any]]


class Report:
    """Collects the transcripts of a run. `complete`: all scripts were run, so that what is missing is missed."""

    def __init__(self, scripts: list[Script], *, complete: bool, recording: bool, show: bool = False) -> None:
        self._scripts = scripts
        self._complete = complete
        self._recording = recording
        self._show = show
        self._done = 0
        self._kafka: dict[str, Steps] = {}
        self._differences: list[Difference] = []
        self._known: Counter[Known] = Counter()
        self._known_steps: set[tuple[str, str]] = set()
        self._stale: list[Difference] = []
        self.problems: list[str] = []  # of the scripts themselves

    def finished(self, script: Script, transcripts: dict[str, Transcript]) -> None:
        self._done += 1
        for kind, transcript in transcripts.items():
            if transcript.problem:
                self.problems.append(f"{script.name} on {kind}: {transcript.problem}")
        recorded = vectors.read(script.family).get(script.name, [])
        kafka = normalised(transcripts["kafka"]) if "kafka" in transcripts else recorded
        outcome = compare(script.name, kafka, penstock := normalised(transcripts["penstock"]))
        if not recorded and not self._recording:
            self.problems.append(f"{script.name} has no vectors yet: --record writes them")
        elif not self._recording:
            self._stale += compare(script.name, recorded, kafka).all
        self._kafka[script.name] = kafka
        self._differences += outcome.differences
        for difference, entry in outcome.known:
            self._known[entry] += 1
            self._known_steps.add((script.name, difference.step))
        verdict = f"{len(outcome.differences)} differences" if outcome.differences else "the same"
        seconds = "".join(f" {transcript.seconds:5.1f} s" for transcript in transcripts.values())
        progress = f"[{self._done:3}/{len(self._scripts)}] {script.name:40} {len(kafka):4} steps {seconds}  {verdict}"
        print(progress, flush=True)
        if self._show:
            for name, steps in (("kafka", kafka), ("penstock", penstock)):
                for title, answer in steps:
                    print(f"  {name:8} {title}\n           {json.dumps(answer)}")

    def conclude(self) -> int:
        """Print what the run showed; the exit code."""
        if self._recording and not self.problems:
            self._record()
        self._print_table()
        failures = [
            self._print_list("scripts that broke", self.problems),
            self._print_list("differences", summarised(self._differences)),
            self._print_list("not what tests/vectors say (left: recorded, right: Kafka now)", summarised(self._stale)),
        ]
        if self._complete:
            failures.append(self._print_list("missing pairs of API and version", self._missing()))
            failures.append(self._print_list("known differences that did not happen", self._unused()))
        wrong = any(failures)
        print("\nNOT the same" if wrong else "\nThe same, but for the known differences")
        return 1 if wrong else 0

    def _missing(self) -> list[str]:
        found = covered(step for steps in self._kafka.values() for step in steps)
        missing = sorted(wanted() - found)
        print(f"\ncoverage: {len(wanted()) - len(missing)} of {len(wanted())} (API, version, success or failure)")
        return [f"{api} v{version}: no {kind}" for api, version, kind in missing]

    def _unused(self) -> list[str]:
        return [f"{entry.script} | {entry.step} | {entry.path}" for entry in KNOWN if not self._known[entry]]

    def _record(self) -> None:
        families: dict[str, dict[str, Steps]] = defaultdict(dict)
        for script in self._scripts:
            families[script.family].update({**vectors.read(script.family)} if not families[script.family] else {})
            families[script.family][script.name] = self._kafka[script.name]
        for family, scripts in families.items():
            vectors.write(family, scripts)
        if self._complete:
            vectors.forget_others(families)

    def _print_table(self) -> None:
        steps: Counter[str] = Counter()
        scripts: dict[str, set[str]] = defaultdict(set)
        wrong = Counter(_api(each.step) for each in self._differences)
        known = Counter(_api(step) for _, step in self._known_steps)
        for name, transcript in self._kafka.items():
            for title, _ in transcript:
                steps[_api(title)] += 1
                scripts[_api(title)].add(name)
        print(f"\n{'API':32} {'scripts':>8} {'steps':>8} {'known':>8} {'differ':>8}")
        for api in sorted(steps):
            print(f"{api:32} {len(scripts[api]):8} {steps[api]:8} {known[api]:8} {wrong[api]:8}")
        print(f"{'all':32} {len(self._kafka):8} {steps.total():8} {known.total():8} {wrong.total():8}")

    def _print_list(self, title: str, rows: list[Any]) -> bool:
        if rows:
            print(f"\n{title}: {len(rows)}")
            for row in rows:
                print(f"  {row}")
        return bool(rows)


def summarised(differences: list[Difference]) -> list[str]:
    """One line for what several versions have in common."""
    lines: dict[str, list[str]] = defaultdict(list)
    for each in differences:
        step = re.sub(r" v\d+", "", each.step, count=1)
        lines[f"{step} | {each.path or '.'}: Kafka {each.kafka!r}, Penstock {each.penstock!r}"].append(each.script)
    return [f"{scripts[0]} (+{len(scripts) - 1}) | {line}" for line, scripts in lines.items()]


def _api(title: str) -> str:
    return title.partition(":")[0].partition(" v")[0]
