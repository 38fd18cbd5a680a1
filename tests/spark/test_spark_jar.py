"""The part in the JVM: how a session gets it, what other versions of Spark are told, and Spark without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock_spark
from penstock_spark.jar_file import JAR
from tests.spark.test_spark_reading import put
from tests.support.broker_process import BrokerProcess
from tests.support.raw_client import RawClient

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]


def test_its_path_is_for_programs_and_the_command() -> None:
    assert penstock_spark.jar() == str(JAR)
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "spark", "jar"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(JAR)


def test_another_version_of_spark_is_told_in_one_sentence(spark: SparkSession) -> None:
    jvm: Any = spark._jvm
    jvm.penstock.spark.SparkVersion.require("4.3.1")
    for version in ("4.2.0", "4.30.1", "5.0.0"):
        with pytest.raises(Exception, match=f"is made for Spark 4.3, and this is {version}: install"):
            jvm.penstock.spark.SparkVersion.require(version)


@pytest.mark.feature("S-01", "S-02")
def test_without_it_the_source_is_a_plain_one(
    broker: BrokerProcess, client: RawClient, topic: str, tmp_path: Path
) -> None:
    put(client, topic, *"abc")
    given = {"bootstrap": broker.bootstrap, "topic": topic, "target": client.create_topic(), "directory": str(tmp_path)}
    environ = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    command = [sys.executable, "-m", "tests.spark.plain_driver", json.dumps(given)]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["rows"] == told["copied"] == ["a", "b", "c"]
    assert told["filtered"] == ["b"]
    assert "pushed filters" not in told["plan"]
    assert "append" in told["no mode"].lower()
    assert "update" in told["update mode"].lower()
