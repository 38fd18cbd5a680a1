"""A broker whose Kafka clients have to log in, with users that were made before its start."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from penstock.cluster.users import add_user
from penstock.node.security.offline import offline_metadata
from penstock.security.users.credential import ScramMechanism
from tests.support.broker_process import BrokerProcess
from tests.support.fixtures import target_kind
from tests.support.penstock_process import PenstockProcess
from tests.support.sasl_kafka import SaslKafka

USERS = {"alice": "alice-secret", "bob": "bob,=secret é"}
ITERATIONS = 4096


def make_sasl_broker(directory: Path, *, reauthentication_ms_max: int = 0) -> BrokerProcess:
    """A broker of the kind that PENSTOCK_TEST_TARGET names."""
    if target_kind() == "kafka":
        return SaslKafka(directory, USERS, reauthentication_ms_max=reauthentication_ms_max)
    return SaslProcess(directory, reauthentication_ms_max=reauthentication_ms_max)


class SaslProcess(PenstockProcess):
    """`sasl` are settings of that section."""

    def __init__(self, directory: Path, users: Mapping[str, str] = USERS, **sasl: Any) -> None:
        super().__init__(directory)
        self._users = users
        mechanisms = ["SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN"]
        self._sasl = {"enabled_mechanisms": mechanisms, "scram_iterations": ITERATIONS, **sasl}

    def prepare(self) -> None:
        with offline_metadata(self.data_directory) as store:
            for name, password in self._users.items():
                add_user(store, name, password, ScramMechanism, ITERATIONS)
        settings = {
            "listeners": {"addresses": f"CLIENTS://{self.host}:{self.port}", "protocols": "CLIENTS:SASL_PLAINTEXT"},
            "groups": {"initial_rebalance_delay_ms": 0},
            "logging": {"format": "json"},
            "sasl": self._sasl,
        }
        self._config = yaml.safe_dump(settings)
        super().prepare()
