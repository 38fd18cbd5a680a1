"""Refusals of the broker that stay until somebody changes rules or logins, in words that name the fix."""

from __future__ import annotations

from shlex import quote
from typing import Final

from penstock.client.connection import CREDENTIALS
from penstock.client.push.core import RIGHTS
from penstock.client.push.errors import BrokerRefused, LoginFailed
from penstock.client.push.refusal import is_refusal
from penstock.edge.settings import EdgeSettings
from penstock.model.counted import with_hint

_ADD: Final = "penstock security acl add --allow-principal User:NAME --operation Read"


def refusal_of(error: Exception, settings: EdgeSettings) -> str | None:
    """The refusal that an error is; None for any other, which may pass."""
    if isinstance(error, BrokerRefused) and error.code in RIGHTS:
        rule = f"--topic {quote(settings.topic)} --group {quote(settings.group)}"
        what = f"topic {settings.topic} as group {settings.group}"
        return f"this principal may not read {what}; an administrator allows it with `{_ADD} {rule}`"
    if isinstance(error, LoginFailed):
        return with_hint(str(error), "" if ";" in str(error) else CREDENTIALS)
    return str(error) if is_refusal(error) else None
