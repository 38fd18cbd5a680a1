"""The settings of a node: one tree of frozen values, each with its default, bounds and a line of explanation.

There is a file for each group of sections; `config.explanations` shows the text below a setting. The sources of values
(flags, environment, file) and their precedence are in `config.loading`; the
names are those of the YAML file, of `PENSTOCK_SECTION__NAME` in the environment and of `penstock config show`. Topic
configs (`retention.ms` …) are Kafka's own and live in `config.topic_configs`; `topics.defaults` holds the node's
defaults for them.
"""

from __future__ import annotations

from penstock.config.settings.acl import AclSettings
from penstock.config.settings.clients import ClientSettings, ConsumerSettings, HostedConsumerSettings, ProducerSettings
from penstock.config.settings.doors import (
    HttpSettings,
    KafkaSettings,
    NetworkSettings,
    PushSettings,
    split_address,
)
from penstock.config.settings.groups import GroupSettings, TransactionSettings
from penstock.config.settings.hierarchy import PipeSettings, RegistrySettings
from penstock.config.settings.http_client import HttpClientSettings
from penstock.config.settings.limits import AdvertiseTelemetry, LimitSettings, TelemetrySettings
from penstock.config.settings.log_output import LogFormat, LoggingSettings
from penstock.config.settings.node import NodeSettings, node_number
from penstock.config.settings.sasl import SaslMechanism, SaslSettings
from penstock.config.settings.secret import Secret
from penstock.config.settings.security import ListenerSettings, SecuritySettings
from penstock.config.settings.storage import (
    DISK,
    MEMORY,
    Flush,
    StorageSettings,
    TopicSettings,
    Validation,
    VerifyOnRead,
)
from penstock.config.settings.tls import TlsSettings
from penstock.config.settings.tree import MAPPINGS, Settings, keys
from penstock.config.settings.values import Bytes, Section, parse_bytes, parse_pairs

__all__ = [
    "DISK",
    "MAPPINGS",
    "MEMORY",
    "AclSettings",
    "AdvertiseTelemetry",
    "Bytes",
    "ClientSettings",
    "ConsumerSettings",
    "Flush",
    "GroupSettings",
    "HostedConsumerSettings",
    "HttpClientSettings",
    "HttpSettings",
    "KafkaSettings",
    "LimitSettings",
    "ListenerSettings",
    "LogFormat",
    "LoggingSettings",
    "NetworkSettings",
    "NodeSettings",
    "PipeSettings",
    "ProducerSettings",
    "PushSettings",
    "RegistrySettings",
    "Secret",
    "SaslMechanism",
    "SaslSettings",
    "Section",
    "SecuritySettings",
    "Settings",
    "StorageSettings",
    "TelemetrySettings",
    "TlsSettings",
    "TopicSettings",
    "TransactionSettings",
    "Validation",
    "VerifyOnRead",
    "keys",
    "node_number",
    "parse_bytes",
    "parse_pairs",
    "split_address",
]
