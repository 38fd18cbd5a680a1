"""A read-only config of a broker, as DescribeConfigs shows it: Kafka's name for a setting of the node."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from penstock.config.config_key import ConfigType
from penstock.config.settings import Settings


class StaticConfig(NamedTuple):
    """Its value now, and Kafka's default (None if there is none). The value of a PASSWORD is never shown."""

    name: str
    type: ConfigType
    value: Callable[[Settings], object]
    default: object
    documentation: str
