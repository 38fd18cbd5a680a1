"""Pipelines and bulk jobs on secured brokers: the login is in a file, and in nothing that a run leaves behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.cli.demo.pipeline import SHORT_LIVED
from tests.support.acl_client import (
    ALL,
    ALLOW,
    CREATE,
    GROUP,
    PREFIXED,
    READ,
    TOPIC,
    TRANSACTIONAL_ID,
    WRITE,
    AclClient,
    rule,
)
from tests.support.command_line import CommandLine
from tests.support.pipelines import PIPELINE_TIMEOUT_S, Project
from tests.support.raw_client import RawClient
from tests.support.secured_pair import SecuredBroker, make_secured_broker
from tests.support.trading import publish

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

WORD, WRONG = f"Zq{os.urandom(12).hex()}", f"Zw{os.urandom(12).hex()}"


@pytest.fixture(scope="module", params=["penstock", "kafka"])
def secured(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    process = make_secured_broker(request.param, tmp_path_factory.mktemp("secured"), {"alice": WORD})
    process.prepare()
    process.start()
    with RawClient(process.host, process.port) as client:
        rows = [rule(TOPIC, "own-", PREFIXED, "User:alice", "*", ALL, ALLOW)]
        rows += [rule(TOPIC, "__penstock_", PREFIXED, "User:alice", "*", each, ALLOW) for each in (READ, WRITE, CREATE)]
        rows += [rule(TRANSACTIONAL_ID, "penstock-", PREFIXED, "User:alice", "*", WRITE, ALLOW)]
        rows += [rule(GROUP, "shop-", PREFIXED, "User:alice", "*", ALL, ALLOW)]
        AclClient(client).created(*rows)
    yield process
    process.stop()


@pytest.fixture
def command(secured: SecuredBroker) -> CommandLine:
    return CommandLine(f"{secured.host}:{secured.doors.login}", timeout_s=PIPELINE_TIMEOUT_S)


def properties_file(secured: SecuredBroker, directory: Path, password: str = WORD) -> Path:
    path = directory / f"client-{len(list(directory.iterdir()))}.properties"
    lines = secured.doors.login_properties("alice", password)
    path.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    path.chmod(0o600)
    return path


def assert_nowhere(directory: Path, *texts: str) -> None:
    """None of the passwords is in the texts, or in a file below the directory."""
    for path in directory.rglob("*"):
        if path.is_file() and path.suffix != ".properties":
            content = path.read_bytes()
            assert not [path for word in (WORD, WRONG) if word.encode() in content]
    assert not [text for text in texts if WORD in text or WRONG in text]


@pytest.mark.feature("S-03")
def test_a_project_whose_login_is_in_a_file(secured: SecuredBroker, command: CommandLine, tmp_path: Path) -> None:
    with RawClient(secured.host, secured.port) as client:
        topic = client.create_topic("own-visits")
        publish(client, topic, ["a", "b", "c"])
    work, events, keys = (tmp_path / name for name in ("work", "events", "keys"))
    for each in (work, events, keys):
        each.mkdir()
    good, bad = properties_file(secured, keys), properties_file(secured, keys, WRONG)
    command("pipeline", "init", work / "shop", "--topic", topic, "--command-config", good)
    assert f'penstock.command.config: "{good}"' in (work / "shop" / "spark-pipeline.yml").read_text()
    conf = {
        "spark.driver.extraJavaOptions": SHORT_LIVED["spark.driver.extraJavaOptions"],
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": events.as_uri(),
    }
    project = Project(work / "shop", command, conf, ("--master", "local[2]"))
    done = project("run")
    assert done.json["tables"]["own_visits"] == 3
    status = project("status")
    assert [group["lag"] for group in status.json["groups"]] == [0], "the broker lets status in with the project's file"
    failed = project("run", "--command-config", bad, code=1)
    assert "SASL_AUTHENTICATION_FAILED" in failed.err
    assert len(failed.err.strip().splitlines()) <= 3
    assert any(
        "SparkListenerConnectOperationStarted" in each.read_text() for each in events.rglob("*") if each.is_file()
    )
    assert_nowhere(tmp_path, done.out, done.err, failed.out, failed.err, status.out)


@pytest.mark.feature("S-04")
def test_bulk_jobs_with_and_without_spark(secured: SecuredBroker, command: CommandLine, tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("symbol,price\n" + "".join(f"S{number % 7},{number}\n" for number in range(500)))
    keys = tmp_path / "keys"
    keys.mkdir()
    command.environ["PENSTOCK_COMMAND_CONFIG"] = str(properties_file(secured, keys))
    told = []
    for spark in ((), ("--spark", "--master", "local[2]")):
        topic = f"own-loaded-{len(spark)}"
        with RawClient(secured.host, secured.port) as client:
            client.create_topic(topic, partitions=2)
        progress = ("--checkpoint", tmp_path / "checkpoint") if spark else ()
        load = command("load", rows, "--topic", topic, "--key", "symbol", *spark, *progress, "--output", "json")
        assert load.json["rows_in_all"] == 500
        archive = command("archive", topic, tmp_path / "archive", *spark, "--output", "json")
        assert archive.json["rows_in_all"] == 500
        replay = command(
            "replay", tmp_path / "archive", "--source-topic", topic, "--topic", f"{topic}-again", "--output", "json"
        )
        assert replay.json["rows"] == 500
        told += [load.out, load.err, archive.out, archive.err, replay.out, replay.err]
    command.environ["PENSTOCK_COMMAND_CONFIG"] = str(properties_file(secured, keys, WRONG))
    refused = command("archive", topic, tmp_path / "archive", "--spark", code=1)
    assert "SASL_AUTHENTICATION_FAILED" in refused.err
    assert_nowhere(tmp_path, *told, refused.err)
