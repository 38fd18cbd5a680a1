"""Hooks for every test: marks that follow from the place, and the record of proved features.

Fixtures live in the conftest.py of the directory that uses them. This file only

- gives everything in tests/compat the mark `compat`, and does not even import it where the mark is left out,
- takes Hypothesis' limits of time away, since how long an example takes says something of the machine only,
- leaves the outcome of every test that names a feature in .features.json, for tools/features.py.

With xdist the reports of all workers pass through the controller, which alone writes the file.
"""

from __future__ import annotations

from pathlib import Path

import hypothesis
import pytest

from tools.features import Fingerprints, Results, feature_ids

COMPAT = Path(__file__).parent / "compat"
FEATURE = "feature"  # the name under which reports carry the ids

hypothesis.settings.register_profile("penstock", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("penstock")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out tests/compat where `-m` deselects all of it: it imports every client, for nothing."""
    is_left_out = "not compat" in config.getoption("markexpr")
    return True if is_left_out and collection_path == COMPAT else None


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(FeatureRecorder(), "penstock-features")


@pytest.hookimpl(tryfirst=True)  # before -m selects by mark
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if COMPAT in item.path.parents:
            item.add_marker(pytest.mark.compat)
        item.user_properties += [(FEATURE, feature_id) for feature_id in feature_ids(item)]


class FeatureRecorder:
    """Notes the outcome of each marked test, and saves them all when the run ends."""

    def __init__(self) -> None:
        self._outcomes: dict[str, str] = {}
        self._fingerprints = Fingerprints()  # of the sources as they are now, before the first test

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not any(name == FEATURE for name, _ in report.user_properties):
            return
        if report.failed:
            self._outcomes[report.nodeid] = "failed"
        elif report.skipped:
            self._outcomes[report.nodeid] = "skipped"
        elif report.when == "call":
            self._outcomes[report.nodeid] = "passed"

    def pytest_sessionfinish(self) -> None:
        if self._outcomes:
            results = Results(fingerprints=self._fingerprints)
            results.record(self._outcomes)
            results.save()
