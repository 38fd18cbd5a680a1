"""The checker against generated histories: it finds nothing in correct ones, and every kind of mistake."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from penstock.testing.consistency.anomalies import Anomaly
from penstock.testing.consistency.checker import judge
from penstock.testing.consistency.history import History
from penstock.testing.consistency.history_file import Recorder, read_history
from tests.unit.testing.history_mutations import MUTATIONS, Mutation
from tests.unit.testing.simulated_history import SimulatedCluster

SEEDS = st.integers(0, 1 << 32)
"""Chance decides so much in a history that its seed is all there is to vary."""


def simulated(random: Random, steps: int) -> History:
    return History(SimulatedCluster(random).run(steps))


@given(seed=SEEDS, steps=st.integers(0, 300))
@settings(max_examples=100, deadline=None)
def test_nothing_is_found_in_a_correct_history(seed: int, steps: int) -> None:
    verdict = judge(simulated(Random(seed), steps))
    assert verdict.anomalies == []
    assert verdict.known_hole == []


@pytest.mark.parametrize(("anomaly", "spoil"), MUTATIONS, ids=[spoil.__name__ for _, spoil in MUTATIONS])
@given(seed=SEEDS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
def test_a_spoilt_history_is_found(anomaly: type[Anomaly], spoil: Mutation, seed: int) -> None:
    random = Random(seed)
    spoilt = spoil(simulated(random, 150), random)
    assume(spoilt is not None)
    assert spoilt is not None
    assert anomaly in {type(each) for each in judge(History(spoilt)).anomalies}


def test_every_anomaly_has_a_mutation() -> None:
    assert {anomaly for anomaly, _ in MUTATIONS} == set(Anomaly.__subclasses__())


@given(seed=SEEDS)
@settings(max_examples=20, deadline=None)
def test_a_history_survives_its_file(seed: int) -> None:
    operations = simulated(Random(seed), 100).operations
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "history"
        recorder = Recorder(path, "anybody")
        recorder.note(*operations)
        recorder.close()
        assert read_history([path]).operations == operations
