"""Checks of method arguments, before librdkafka sees them.

librdkafka's own refusals are not of our types, a few of its values have another meaning (0 partitions are "the
default", -1 is "any"), and a header's name that is not Unicode makes it crash.
"""

from __future__ import annotations

from typing import Any

from penstock.sdk.errors import SettingsError

INT32_MAX = 2_147_483_647
INT64_MAX = (1 << 63) - 1
PARTITIONS_MAX = 100_000
REPLICAS_MAX = 32_767


def is_text(value: object) -> bool:
    """A string that UTF-8 can encode, without a NUL, which would end it early."""
    if not isinstance(value, str) or "\0" in value:
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def checked_name(value: Any, what: str) -> str:
    if not value or not is_text(value):
        raise SettingsError(f"{what}={value!r}", hint="give its name, a string")
    name: str = value
    return name


def checked_number(value: Any, what: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise SettingsError(f"{what}={value!r}", hint=f"give a number from {least} to {most}")
    return value


def checked_size(max_records: Any, default: int) -> int:
    """Check the number of records wanted at once."""
    return default if max_records is None else checked_number(max_records, "max_records", 1, INT32_MAX)
