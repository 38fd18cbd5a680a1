"""Clients that have to log in and do not: requests that they may send before that earn them no more time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat

import pytest
import yaml
from kio.schema.errors import ErrorCode

from tests.doors.crowd import drips_until_closed
from tests.support.metrics_page import metric_sum
from tests.support.sasl_client import PLAIN, SaslClient
from tests.support.sasl_process import USERS, SaslProcess
from tests.support.wire import encode_request, frame

pytestmark = pytest.mark.feature("F-06")


class HastyProcess(SaslProcess):
    """Two and a half seconds for a login, which is enough on a busy machine."""

    def prepare(self) -> None:
        super().prepare()
        settings = yaml.safe_load(self._config_file.read_text())
        settings["kafka"] = {**settings.get("kafka", {}), "first_request_timeout_ms": 2_500}
        self._config_file.write_text(yaml.safe_dump(settings))


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HastyProcess]:
    process = HastyProcess(tmp_path_factory.mktemp("hasty"))
    process.prepare()
    process.start()
    yield process
    process.stop()


@pytest.fixture
def client(broker: HastyProcess) -> Iterator[SaslClient]:
    with SaslClient(broker.host, broker.port) as connected:
        yield connected


def test_a_client_that_asks_and_does_not_log_in(broker: HastyProcess, client: SaslClient) -> None:
    before = metric_sum(broker, "penstock_connections_dropped_total", 'door="kafka",reason="timeout"')
    client.call("api_versions", 0)
    assert client.is_closed()
    assert metric_sum(broker, "penstock_connections_dropped_total", 'door="kafka",reason="timeout"') == before + 1


def test_a_client_that_goes_on_asking(client: SaslClient) -> None:
    question = frame(encode_request("api_versions", 0, 1, {}))
    drips_until_closed(client._socket, chain([question], repeat(question)))


def test_a_client_that_stops_in_the_middle_of_a_login(client: SaslClient) -> None:
    client.handshake(PLAIN)
    assert client.is_closed()


@pytest.mark.full
def test_a_login_that_is_held_off_has_a_time_of_its_own(broker: HastyProcess) -> None:
    """Six guesses from the same address make it wait for three seconds, longer than a client may take for its part."""
    source = "127.0.0.77"
    for number in range(6):
        with SaslClient(broker.host, broker.port, source=source) as guesser:
            assert guesser.plain("bob", f"guess {number}").error_code == ErrorCode.sasl_authentication_failed
    with SaslClient(broker.host, broker.port, source=source) as held:
        assert held.plain("bob", USERS["bob"]).error_code == ErrorCode.none
        assert held.is_served()


def test_a_client_that_has_logged_in_stays(broker: HastyProcess, client: SaslClient) -> None:
    """Until after another one, which came later, has been closed for its silence."""
    client.scram("alice", USERS["alice"])
    with SaslClient(broker.host, broker.port) as silent:
        assert silent.is_closed()
    assert client.is_served()
