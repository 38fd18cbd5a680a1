"""Rules for principals that log in: a real broker process with SASL gives the verdicts of the table, too.

The whole table runs in `test_verdicts.py`, with principals by address; here are those sets of rules that tell
principals and hosts apart.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from tests.acls.table import Verdicts, load, run
from tests.acls.world import ADDRESSES, INTERNAL_PARTITIONS
from tests.support.raw_client import RawClient
from tests.support.sasl_process import SaslProcess

pytestmark = pytest.mark.feature("F-05")

RULE_SETS = (
    "none",
    "everything",
    "a client of t, g and x",
    "everyone may read t",
    "bob may read t",
    "t from here",
    "t from elsewhere",
    "everything, but nobody of any topic",
)
EXPECTED = load()


class SaslBroker(SaslProcess):
    """Users with passwords that are their names."""

    def prepare(self) -> None:
        super().prepare()
        settings = yaml.safe_load(self._config_file.read_text())
        settings.setdefault("groups", {})["offsets_topic_partitions"] = INTERNAL_PARTITIONS
        settings.setdefault("transactions", {})["topic_partitions"] = INTERNAL_PARTITIONS
        settings["acl"] = {"enabled": True, "super_users": "User:admin"}
        self._config_file.write_text(yaml.safe_dump(settings))

    def connect(self, principal: str) -> RawClient:
        client = RawClient(self.host, self.port, source=ADDRESSES[principal])
        assert int(client.call("sasl_handshake", 1, mechanism="PLAIN").error_code) == 0
        token = f"\0{principal}\0{principal}".encode()
        assert int(client.call("sasl_authenticate", 2, auth_bytes=token).error_code) == 0
        return client


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verdicts]:
    process = SaslBroker(tmp_path_factory.mktemp("sasl-acls"), {name: name for name in ADDRESSES})
    process.prepare()
    process.start()
    try:
        yield run(process.connect, rule_sets=RULE_SETS)
    finally:
        process.stop()


@pytest.mark.parametrize("rules", RULE_SETS)
def test_a_principal_that_logged_in_has_its_rights(found: Verdicts, rules: str) -> None:
    different = {
        name: {"kafka": EXPECTED[name][rules], "penstock": by_rules[rules]}
        for name, by_rules in found.items()
        if by_rules[rules] != EXPECTED[name][rules]
    }
    assert different == {}
