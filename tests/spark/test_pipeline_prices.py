"""The example project on a Spark Connect server that runs: what is in its tables and in its topic of alerts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker_process import BrokerProcess
from tests.support.metrics_page import metric_sum
from tests.support.penstock_process import PenstockProcess
from tests.support.pipelines import Project
from tests.support.raw_client import RawClient
from tests.support.trading import expected_bars, price, publish

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

BAD: dict[str, list[str | None]] = {
    "the value is broken JSON": ["AAPL 12"],
    "price is no DOUBLE": ['{"symbol": "AAPL", "price": "much"}'],
    "the record is empty": [None],
    "symbol is missing": ['{"price": 3, "time": "2026-03-02T14:31:00Z"}'],
    "time is missing": ['{"symbol": "AAPL", "price": 3}'],
    "price is missing": ['{"symbol": "AAPL", "time": "2026-03-02T14:31:00Z"}'],
    "price is not above 0": ['{"symbol": "AAPL", "price": -1, "time": "2026-03-02T14:31:00Z"}'],
}


@pytest.fixture
def prices(make_project: Any, client: RawClient) -> Project:
    """A copy of the example with topics of its own."""
    topic, alerts = client.create_topic(partitions=2), client.create_topic()
    conf = {"prices.topic": topic, "prices.alerts.topic": alerts, "prices.group": topic}
    project: Project = make_project("prices", **conf)
    return project


def walk(start_s: int, end_s: int) -> list[str]:
    """A price a second for two symbols; every third minute the first one jumps."""
    values = []
    for second in range(start_s, end_s):
        jump = 3.0 if second // 60 % 3 == 2 and second % 60 > 30 else 0.0
        values += [price("AAPL", 100 + second % 7 / 10 + jump, second), price("TSLA", 200 - second % 11 / 10, second)]
    return values


def bars(run: dict[str, Any]) -> dict[tuple[str, str], tuple[float, ...]]:
    rows = [dict(zip(shown["columns"], row, strict=True)) for shown in run["shown"] for row in shown["rows"]]
    names = ("open", "high", "low", "close", "volume", "prices")
    return {(bar["minute"], bar["symbol"]): tuple(bar[name] for name in names) for bar in rows}


def alerts(project: Project) -> list[dict[str, Any]]:
    """The records that a read_committed Kafka consumer finds."""
    return project.command("consume", project.conf["prices.alerts.topic"]).json_lines


@pytest.mark.feature("S-03")
@pytest.mark.feature("S-06")
def test_topics_to_tables_to_a_topic(prices: Project, client: RawClient) -> None:
    topic = prices.conf["prices.topic"]
    first = walk(0, 300)
    publish(client, topic, first[::2])
    publish(client, topic, first[1::2], partition=1)
    publish(client, topic, [value for values in BAD.values() for value in values])

    run = prices.run("--show", "bars")
    assert run["tables"] == {"prices": 600, "quarantine": 7, "bars": 8, "latest_price": 2}
    # Newest price 299 s, watermark 30 s behind it: the fifth minute is still open.
    assert bars(run) == expected_bars(first, until_s=269)
    told = alerts(prices)
    assert [(alert["symbol"], alert["minute"][11:16]) for alert in told] == [("AAPL", "14:32")]
    flows = {flow["flow"]: flow for flow in run["flows"]}
    assert (flows["prices"]["rows"], flows["prices"]["lag"], flows["prices"]["groups"]) == (607, 0, [f"{topic}-clean"])
    assert {flow["state"] for flow in flows.values()} == {"completed"}

    again = prices.run("--show", "bars")  # nothing is new
    assert (again["tables"], bars(again)) == (run["tables"], bars(run))

    second = walk(300, 480)
    publish(client, topic, second)
    more = prices.run("--show", "bars", "--show", "quarantine")
    assert more["tables"]["prices"] == 960
    [_, quarantine] = more["shown"]
    reasons = [row[quarantine["columns"].index("reason")] for row in quarantine["rows"]]
    assert sorted(reasons) == sorted(reason for reason, values in BAD.items() for _ in values)
    more["shown"].pop()
    assert bars(more) == expected_bars(first + second, until_s=449)
    assert len(alerts(prices)) == 2, "each alert once, over three runs"


@pytest.mark.feature("S-03")
def test_a_full_refresh_begins_anew(prices: Project, client: RawClient) -> None:
    topic = prices.conf["prices.topic"]
    publish(client, topic, walk(0, 120))
    run = prices.run()
    assert run["tables"]["bars"] == 2
    assert prices.run("--full-refresh")["tables"] == run["tables"]
    publish(client, topic, walk(120, 240))
    only = prices.run("--full-refresh", "--table", "quarantine")
    assert only["tables"]["prices"] == 240, "the others are left as they are"


@pytest.mark.feature("S-03")
def test_validate_reads_and_writes_nothing(prices: Project, client: RawClient) -> None:
    publish(client, prices.conf["prices.topic"], walk(0, 60))
    assert prices("validate").json == {"project": "prices", "valid": True, "error": ""}
    assert not (prices.directory / "state" / "run.json").exists()
    assert not list(Path(prices.directory / "state").glob("_checkpoints/**/offsets/*"))


@pytest.mark.feature("S-06")
def test_status_and_list_know_the_last_run(prices: Project, client: RawClient, broker: BrokerProcess) -> None:
    publish(client, prices.conf["prices.topic"], walk(0, 60))
    prices.run()
    publish(client, prices.conf["prices.topic"], walk(60, 70))
    found = prices("status").json
    assert found["run"]["state"] == "completed"
    assert found["tables"]["prices"] == 120
    group = prices.conf["prices.group"]
    lags = {each["group"]: each["lag"] for each in found["groups"]}
    assert lags == {f"{group}-clean": 20, f"{group}-quarantine": 20}
    if isinstance(broker, PenstockProcess):
        assert metric_sum(broker, "penstock_consumer_lag", f'group="{group}-clean"') == 20
    [listed] = prices("list").json
    assert (listed["project"], listed["last_run"]["state"]) == ("prices", "completed")
    assert os.path.isfile(found["run"]["log"])
