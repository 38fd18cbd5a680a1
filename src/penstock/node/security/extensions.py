"""Authenticators and authorizers of other packages: loaded by the names in the settings, and put behind a guard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from penstock.config.settings import AclSettings, Secret, SecuritySettings
from penstock.config.settings.acl import STANDARD
from penstock.config.settings.secret import HIDDEN
from penstock.config.settings.security import USERS
from penstock.net.login.check_threads import CheckThreads
from penstock.net.login.logins import ForeignChecks
from penstock.node.errors import SettingsError, StartError
from penstock.node.security.door_plans import HTTP, DoorPlans
from penstock.runtime.plugins import UnknownImplementation, load_implementation
from penstock.security.authorizer import Authorizer
from penstock.security.guarded_authorizer import GuardedAuthorizer
from penstock.security.interface import MakeAuthenticator, MakeAuthorizer
from penstock.security.sasl.plain import PLAIN
from penstock.security.users.foreign_passwords import ForeignPasswords
from penstock.security.users.password_cache import PasswordCache

AUTHENTICATORS: Final = "penstock.authenticator"
AUTHORIZERS: Final = "penstock.authorizer"
# Built in, and not loaded by their names: they need the node's own tables.
_USERS: Final = {USERS: "penstock.security.users.passwords:StoredPasswords"}
_STANDARD: Final = {STANDARD: "penstock.security.acl.standard:StandardAuthorizer"}
Made = TypeVar("Made")


def load_authenticator(settings: SecuritySettings, plans: DoorPlans) -> ForeignChecks | None:
    """The authenticator of the settings; None if the node's own users are meant. Needs a running event loop."""
    name = settings.authenticator
    if name == USERS:
        if settings.authenticator_options:
            raise SettingsError("security.authenticator_options are set, but security.authenticator is not")
        return None
    if not _takes_passwords(plans):
        raise SettingsError(
            f"security.authenticator is {name!r}, but no listener takes passwords; add PLAIN to sasl.enabled_mechanisms"
            " of a listener with SASL, or give the HTTP port SASL_SSL"
        )
    make: MakeAuthenticator = _loaded(AUTHENTICATORS, name, _USERS, "security.authenticator")
    authenticator = _made(make, "security.authenticator", name, settings.authenticator_options)
    seconds = settings.authenticator_remember_ms / 1000
    return ForeignChecks(
        ForeignPasswords(authenticator, name, PasswordCache(seconds) if seconds else None),
        CheckThreads(settings.authenticator_threads_max, settings.authenticator_timeout_ms),
    )


def _takes_passwords(plans: DoorPlans) -> bool:
    return any(
        PLAIN in plan.security.mechanisms
        or (plan.security.name == HTTP and plan.security.protocol.has_sasl and plan.security.protocol.has_tls)
        for plan in plans.all
    )


def check_acl_settings(acl: AclSettings) -> None:
    """SettingsError for settings that would have no effect: a user would rely on them."""
    if acl.authorizer == STANDARD:
        if acl.authorizer_options:
            raise SettingsError("acl.authorizer_options are set, but acl.authorizer is not")
        return
    if not acl.enabled:
        raise SettingsError(f"acl.authorizer is {acl.authorizer!r}, but without acl.enabled nobody asks it")
    for setting, is_set in (
        ("acl.policy_file", acl.policy_file is not None),
        ("acl.allow_everyone_if_no_acl_found", acl.allow_everyone_if_no_acl_found),
    ):
        if is_set:
            raise SettingsError(f"{setting} is a setting of the rules, but acl.authorizer is {acl.authorizer!r}")


def load_authorizer(acl: AclSettings) -> Authorizer:
    """An authorizer of another package. Needs a running event loop."""
    make: MakeAuthorizer = _loaded(AUTHORIZERS, acl.authorizer, _STANDARD, "acl.authorizer")
    authorizer = _made(make, "acl.authorizer", acl.authorizer, acl.authorizer_options)
    call_soon = asyncio.get_running_loop().call_soon_threadsafe
    return GuardedAuthorizer(authorizer, acl.authorizer, acl.super_users, call_soon)


def _loaded(group: str, name: str, built_in: Mapping[str, str], setting: str) -> Callable[[Mapping[str, str]], Made]:
    try:
        make: Callable[[Mapping[str, str]], Made] = load_implementation(group, name, built_in, setting)
    except UnknownImplementation as error:
        raise StartError(str(error)) from error
    return make


def _made(make: Callable[[Mapping[str, str]], Made], setting: str, name: str, options: Mapping[str, Secret]) -> Made:
    revealed = {key: secret.reveal() for key, secret in options.items()}
    try:
        return make(revealed)
    except Exception as error:  # whatever a foreign module raises
        text = str(error)
        for secret in revealed.values():
            text = text.replace(secret, HIDDEN)
        raise StartError(f"{setting} is {name!r}, which cannot start: {type(error).__name__}: {text}") from None
