"""The example on a real standalone cluster, a master and two workers: the same project, another --master."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.pipeline.init import copy_example
from tests.spark.test_pipeline_prices import alerts, bars, walk
from tests.support.broker_process import BrokerProcess
from tests.support.command_line import CommandLine
from tests.support.pipelines import PIPELINE_TIMEOUT_S, Project
from tests.support.raw_client import RawClient
from tests.support.spark_cluster import spark_cluster
from tests.support.trading import expected_bars, publish


@pytest.mark.spark
@pytest.mark.timeout(900)
@pytest.mark.feature("S-05")
def test_the_example_runs_unchanged_on_a_cluster(broker: BrokerProcess, client: RawClient, tmp_path: Path) -> None:
    topic, alert_topic = client.create_topic(partitions=2), client.create_topic()
    values = walk(0, 300)
    publish(client, topic, values[::2])
    publish(client, topic, values[1::2], partition=1)
    copy_example("prices", tmp_path / "prices")
    with spark_cluster(tmp_path / "cluster") as master:
        conf = {
            "prices.topic": topic,
            "prices.alerts.topic": alert_topic,
            "prices.group": topic,
            "spark.driver.host": broker.host,
            "spark.executor.memory": "512m",
        }
        command = CommandLine(f"{broker.host}:{broker.port}", timeout_s=PIPELINE_TIMEOUT_S)
        project = Project(tmp_path / "prices", command, conf, ("--master", master))
        run = project.run("--show", "bars")
        assert bars(run) == expected_bars(values, until_s=269)
        assert len(alerts(project)) == 1
        executors = list((tmp_path / "cluster").glob("worker-*/work/app-*/*/stderr"))
        assert {path.parents[2].parent.name for path in executors} == {"worker-0", "worker-1"}
