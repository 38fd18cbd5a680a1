"""A second attempt of a slow task while the first still runs: the first to commit counts, and nothing is there twice.

Spark puts no second attempt on the host of the first, so the workers are on two addresses.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.copying import CopyWorld
from tests.support.broker_process import BrokerProcess
from tests.support.spark_cluster import spark_cluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

EAGER = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.minTaskRuntime": "100ms",
    "spark.executor.memory": "512m",
    "spark.cores.max": "2",
}


@pytest.mark.feature("S-02", "X-02")
def test_a_slow_task_and_its_second_attempt(broker: BrokerProcess, tmp_path: Path) -> None:
    attempts = tmp_path / "attempts"
    attempts.mkdir()
    with spark_cluster(tmp_path / "cluster", hosts=("127.0.0.2", "127.0.0.3")) as master:
        world = CopyWorld(broker, tmp_path, broker.bootstrap, master=master, conf=EAGER, batch=1000, slow=str(attempts))
        world.feed(200)
        world.finish()
        world.check()
    assert list(attempts.glob("*-1")), "there was a second attempt"
