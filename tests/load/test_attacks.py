"""Attacks on a door, and the p99 of a client at another: at most twice what it is without them, as in `test_load`.

The attackers come from other addresses of this machine, where no limit of new connections a second holds. Most are cut
off or refused again and again and come back. Two cases have the limits out of the way, and are found to fail.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench import store
from penstock.cluster.users import add_user
from penstock.node.security.offline import offline_metadata
from penstock.protocol.push.frames import HEADER, FrameType
from penstock.security.users.credential import ScramMechanism
from penstock.topology.pipe.wire import PullRequest, Wanted, encode_request
from tests.load.attacks import ATTACKS
from tests.load.case import Case, Figures
from tests.load.steady import Steady
from tests.scale.scaled_broker import ScaledBroker, produce_frame
from tests.support.batches import values
from tests.support.broker_process import free_port
from tests.support.certificates import Authority
from tests.support.raw_client import RawClient
from tests.support.wire import encode_request as kafka_request
from tests.support.wire import frame

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), pytest.mark.feature("F-06")]

STEADY, OTHER = "steady", "other"
WINDOWS = 3
GROUP_MB_MAX, HELD_MB_MAX, SLACK_MB = 32, 64, 64.0
GROWS_MB_MAX = GROUP_MB_MAX + HELD_MB_MAX + SLACK_MB
PULLS_MAX = 10
GUESSES_AT_ONCE = 100
"""The first guesses of all attackers, from eight addresses, are looked at before the first has failed."""
LIMITS: dict[str, Any] = {
    "limits": {
        "connections_max": 2_000,
        "queued_bytes_total_max": HELD_MB_MAX << 20,
        "group_metadata_bytes_max": GROUP_MB_MAX << 20,
    },
    "pipe": {"pulls_max": PULLS_MAX},
    "push": {"producers_max": 1_000},
}
WITHOUT_LIMITS: dict[str, Any] = {
    "limits": {"connections_max": 2_000, "queued_bytes_total_max": 4 << 30, "group_metadata_bytes_max": 4 << 30},
    "pipe": {"pulls_max": 10_000},
}


class AttackedBroker(ScaledBroker):
    """A listener for each way in: plain, with TLS, with logins; `limits` are settings."""

    def __init__(self, directory: Path, limits: dict[str, Any]) -> None:
        super().__init__(directory)
        self.ports = {
            "kafka": self.port, "push": self.push_port, "http": self.http_port, "tls": free_port(),
            "logins": free_port(),
        }  # fmt: skip
        self._limits = limits

    def prepare(self) -> None:
        with offline_metadata(self.data_directory) as metadata:
            add_user(metadata, "alice", "right", ScramMechanism, 8_192)
        certificate = Authority(self.directory / "tls").issue("server")
        named = {"PLAIN": "kafka", "TLS": "tls", "LOGINS": "logins"}
        settings = {
            "listeners": {
                "addresses": ",".join(f"{name}://{self.host}:{self.ports[door]}" for name, door in named.items()),
                "protocols": "PLAIN:PLAINTEXT,TLS:SSL,LOGINS:SASL_PLAINTEXT,PUSH:PLAINTEXT,HTTP:PLAINTEXT",
            },
            "tls": {"certificate_file": str(certificate.certificate_file), "key_file": str(certificate.key_file)},
            "sasl": {"enabled_mechanisms": ["SCRAM-SHA-256", "PLAIN"]},
            "groups": {"initial_rebalance_delay_ms": 0},
            **self._limits,
        }
        self._config = yaml.safe_dump(settings)
        super().prepare()


@pytest.fixture(scope="module")
def figures() -> Iterator[Figures]:
    found: Figures = {}
    yield found
    if found:
        print(f"\nwritten to {store.save('attacks', {'load': found})}")


def started(directory: Path, limits: dict[str, Any]) -> AttackedBroker:
    process = AttackedBroker(directory, limits)
    process.prepare()
    process.start_timed()
    process.create([STEADY, OTHER], 1, {"max.message.bytes": "20000000"})
    return process


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[AttackedBroker]:
    process = started(tmp_path, LIMITS)
    try:
        yield process
        assert " ERROR " not in process.log_file.read_text()
    finally:
        process.kill9()


@pytest.fixture
def unlimited(tmp_path: Path) -> Iterator[AttackedBroker]:
    process = started(tmp_path, WITHOUT_LIMITS)
    yield process
    process.kill9()


Attacker = tuple[str, str, dict[str, Any]]
"""Kind of attack, door, options."""
HTTP_HEAD = b"POST /api/v1/topics HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
SASL_HANDSHAKE = frame(kafka_request("sasl_handshake", 1, 1, {"mechanism": "SCRAM-SHA-256"}))


def slow(door: str, beginning: bytes, drip: bytes = b"", *, clients: int = 1_000) -> Attacker:
    return "slow", door, {"beginning": beginning.hex(), "drip": drip.hex(), "clients": clients, "per_second": 500}


CASES: dict[str, Attacker] = {
    "silent sockets at the Kafka port": slow("kafka", b"", clients=3_000),
    "silent sockets at the push port": slow("push", b"", clients=3_000),
    "silent sockets at the HTTP port": slow("http", b"", clients=3_000),
    "silent sockets at the TLS port": slow("tls", b"", clients=3_000),
    "handshakes that do not go on": slow("tls", b"\x16\x03\x01\x02\x00\x01\x00"),
    "logins that do not go on": slow("logins", SASL_HANDSHAKE),
    "HTTP headers that drip": slow("http", HTTP_HEAD, b"X"),
    "HTTP bodies that drip": slow("http", HTTP_HEAD + b"Content-Length: 50000\r\n\r\n", b" "),
    "Kafka frames that drip": slow("kafka", struct.pack(">ihh", 1_000_000, 18, 0), b"\0"),
    "push frames that drip": slow("push", HEADER.pack(FrameType.PUBLISH, 1, 1_000_000), b" "),
    "300 handshakes a second": ("handshakes", "tls", {"clients": 30, "per_second": 300}),
    "half logins": ("half logins", "logins", {"clients": 30, "per_second": 300}),
    "guessed passwords": ("guesses", "logins", {"clients": 50}),
    "joins of 900 KB": ("joins", "kafka", {"clients": 10, "per_second": 20}),
    "new client ids": ("client ids", "push", {"clients": 10, "per_second": 500, "topic": OTHER}),
}


def attack(case: Case, broker: AttackedBroker, title: str, attacker: Attacker) -> None:
    kind, door, options = attacker
    case.disturb(title, kind, options, grows_mb_max=GROWS_MB_MAX, windows=WINDOWS, port=broker.ports[door])


@pytest.mark.parametrize("title", CASES)
def test_an_attack(broker: AttackedBroker, figures: Figures, title: str) -> None:
    with Steady(broker.host, broker.port, STEADY) as client:
        case = Case(broker, client, figures)
        began = time.monotonic()
        attack(case, broker, title, CASES[title])
        guesses = figures[title]["counts"].get("guesses", 0)
        assert guesses < GUESSES_AT_ONCE + time.monotonic() - began, "more than one guess a second"
    case.check()


def test_announced_sizes(broker: AttackedBroker, figures: Figures) -> None:
    """Twelve clients announce 100 MiB each and send a byte now and then, beside one whose requests have 1.5 MB."""
    options = {"beginning": struct.pack(">ih", 100 << 20, 0).hex(), "drip": "00", "after": True, "clients": 12}
    with Steady(broker.host, broker.port, STEADY, size=1_500_000, pace_seconds=0.04) as client:
        case = Case(broker, client, figures)
        attack(case, broker, "announced sizes", ("slow", "kafka", options))
    case.check()


def unread_pulls(broker: AttackedBroker) -> Attacker:
    """A hundred and fifty children that pull 4 MiB and read nothing."""
    broker.write_frames([produce_frame(OTHER, 0, values(bytes(1 << 20)))] * 8, 1)
    with RawClient(broker.host, broker.port) as client:
        topic_id = client.topic_id(OTHER).bytes
    body = encode_request(PullRequest(-1, 100, 4 << 20, 1_000, [Wanted(topic_id, 0, 0, 0, 0)]))
    head = b"POST /pipe/records HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    return "unread answers", "http", {"request": (head + body).hex(), "clients": 150, "per_second": 50}


def test_pulls_that_nobody_reads(broker: AttackedBroker, figures: Figures) -> None:
    with Steady(broker.host, broker.port, STEADY) as client:
        case = Case(broker, client, figures)
        attack(case, broker, "unread pulls", unread_pulls(broker))
    case.check()


@pytest.mark.parametrize("title", ["joins of 900 KB", "unread pulls"])
def test_the_limits_are_what_holds(unlimited: AttackedBroker, figures: Figures, title: str) -> None:
    """The same attacks on a broker that is told to allow them: its memory grows beyond what is judged."""
    joins: Attacker = ("joins", "kafka", {"clients": 30, "per_second": 100})
    attacker = unread_pulls(unlimited) if title == "unread pulls" else joins
    with Steady(unlimited.host, unlimited.port, STEADY) as client:
        case = Case(unlimited, client, {})
        with pytest.raises(AssertionError, match="memory grew by"):
            attack(case, unlimited, f"{title}, without limits", attacker)


def test_every_attack_is_made() -> None:
    assert {kind for kind, _, _ in CASES.values()} | {"unread answers"} == set(ATTACKS)
