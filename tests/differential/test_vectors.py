"""Penstock answers what Apache Kafka answered when the vectors were recorded; no Java is needed here.

`make differential` asks both; this is its quick half, with the same scripts and the same comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.differential import vectors
from tests.differential.comparison import compare
from tests.differential.coverage import covered, wanted
from tests.differential.known import KNOWN, NOT_THERE
from tests.differential.normal import normalised
from tests.differential.running import run_script
from tests.differential.script import Script, load_scripts
from tests.differential.servers import started
from tests.support.broker_process import BrokerProcess

pytestmark = pytest.mark.feature("F-01")

SCRIPTS = load_scripts()
DOCS = Path(__file__).parents[2] / "docs" / "compatibility.md"

BrokerFor = Callable[[Script], BrokerProcess]


@pytest.fixture(scope="module")
def broker_for(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerFor]:
    """A broker with the settings of a script; scripts with the same settings share one."""
    running: dict[object, BrokerProcess] = {}

    def given(script: Script) -> BrokerProcess:
        key = script.name if script.own_broker else tuple(sorted(script.settings.items()))
        if key not in running:
            running[key] = started("penstock", tmp_path_factory.mktemp("vectors"), script.settings)
        return running[key]

    yield given
    for broker in running.values():
        broker.stop()


@pytest.mark.parametrize("name", [name for name, script in SCRIPTS.items() if not script.slow])
def test_the_same_as_kafka(name: str, broker_for: BrokerFor) -> None:
    script = SCRIPTS[name]
    recorded = vectors.read(script.family).get(name)
    assert recorded is not None, f"no vectors of {name}: make differential RECORD=1 writes them"
    transcript = run_script(broker_for(script), script)
    assert transcript.problem is None, transcript.problem
    differences = compare(name, recorded, normalised(transcript)).differences
    assert not differences, "\n".join(map(str, differences))


def test_vectors_cover_every_pair_of_api_and_version() -> None:
    scripts = (vectors.read(script.family).get(script.name, []) for script in SCRIPTS.values())
    missing = wanted() - covered(step for steps in scripts for step in steps)
    assert not missing, sorted(missing)


def test_no_vectors_are_left_over() -> None:
    recorded = {name for path in vectors.DIRECTORY.glob("*.json") for name in vectors.read(path.stem)}
    assert recorded == SCRIPTS.keys()


@pytest.mark.parametrize("row", sorted({entry.row for entry in KNOWN} | set(NOT_THERE.values())))
def test_users_are_told_of_every_known_difference(row: str) -> None:
    lines = [line for line in DOCS.read_text().splitlines() if line.startswith("|") and row in line]
    assert lines, f"docs/compatibility.md has no line with {row!r}"
