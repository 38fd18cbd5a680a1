"""The port of a process that has no other door and no meta.db: of a registry, or of an edge application.

It is secured as the HTTP port of a node is, by the same settings. Users and tokens are in a file of their own
(`security.users_file`), rules in the policy file (`acl.policy_file`): both are watched.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from prometheus_client.core import Metric

from penstock.config.settings import Settings
from penstock.config.settings.acl import STANDARD
from penstock.config.settings.security import USERS
from penstock.net.http.allowed_hosts import AllowedHosts
from penstock.net.http.login.request_login import RequestLogin
from penstock.net.http.port import HttpPort
from penstock.net.tls.server import Listening
from penstock.node.admission import lone_http_door
from penstock.node.errors import SettingsError
from penstock.node.http import http_times
from penstock.node.security.administrators import warn_without_rights
from penstock.node.security.certificates import DoorCertificates
from penstock.node.security.door_plans import DoorPlan, DoorPlans, plan_lone_port
from penstock.node.security.exposure import check_exposure, super_users_check
from penstock.node.security.extensions import check_acl_settings, load_authenticator, load_authorizer
from penstock.node.security.logins import audit_handshakes, build_logins, request_login, web_sessions
from penstock.node.security.policy_file import PolicyFile
from penstock.node.security.users_file import UsersFile, read_users
from penstock.node.security.watched_file import ERRORS, WatchedFile
from penstock.node.signals import on_reload
from penstock.node.web_server import bind, bind_encrypted
from penstock.observability.probes import counter
from penstock.runtime.clock import SystemClock
from penstock.security.access import Access
from penstock.security.acl.standard import StandardAuthorizer
from penstock.security.authorizer import AllowAll, Authorizer
from penstock.security.tokens.table import TokenTable
from penstock.security.users.table import UserTable

logger = logging.getLogger(__name__)

WAYS_OUT: Final = (
    "give it TLS, logins and rules with --config (security.protocol, tls, acl; `penstock security` makes certificates"
    " and users), listen on 127.0.0.1, or accept it with --insecure"
)


class PortAddress(NamedTuple):
    """Where the port is, and the names of the flags that say so."""

    host: str
    port: int
    allowed_hosts: tuple[str, ...] = ()
    port_flag: str = "--port"
    host_flag: str = "--host"


@dataclass(frozen=True, slots=True)
class LonePort:
    """The port, bound and not served yet. Implements `observability.metrics.Probe`."""

    http: HttpPort
    access: Access
    certificates: DoorCertificates
    files: tuple[WatchedFile[Any], ...]

    @property
    def login(self) -> RequestLogin | None:
        return self.http.login

    def problems(self) -> list[str]:
        """Files that have changed and cannot be used, or are out of date, for the health report."""
        found = [*(each.problem for each in self.files), self.certificates.problem(), self.certificates.list_problem()]
        return [problem for problem in found if problem is not None]

    def families(self) -> Iterator[Metric]:
        counts = self.access.audit.counts
        yield counter("penstock_logins", "Logins that succeeded", counts["login"])
        yield counter("penstock_login_failures", "Logins that were refused", counts["login failed"])
        yield counter("penstock_authorizations_denied", "Requests for a resource that were refused", counts["denied"])
        yield counter(
            "penstock_policy_file_failures",
            "Changes of the policy or users file that could not be read, so that the old ones went on",
            sum(each.failures for each in self.files),
        )
        yield from self.certificates.families()

    async def reload(self) -> None:
        for each in self.files:
            await each.reload()
        await self.certificates.reload()


async def open_lone_port(stack: AsyncExitStack, settings: Settings, address: PortAddress) -> LonePort:
    """Bind the port and read what protects it, until the stack is closed.

    SettingsError if it would be open to other machines without protection, StartError if a file cannot be used.
    """
    plan = plan_lone_port(settings, address.host, address.port)
    plans = DoorPlans((), None, plan)
    _check_use(plan, settings)
    check_acl_settings(settings.acl)
    for problem in check_exposure(plans, settings, WAYS_OUT):
        logger.warning("%s; --insecure allows it", problem)
    certificates = DoorCertificates(settings.tls.reload_interval_ms)
    listening = _bind(plan, certificates, address)
    stack.callback(listening.close)
    authorizer = _authorizer(settings)
    access = Access(authorizer=authorizer)
    warn_without_rights(settings, authorizer)
    users, tokens = UserTable(_secret(settings), settings.sasl.scram_iterations), TokenTable()
    files = tuple(_files(settings, plans, access, users, tokens))
    for file in files:
        file.load()
        file.watch()
        stack.push_async_callback(file.stop)
    certificates.watch()
    stack.push_async_callback(certificates.stop)
    foreign = load_authenticator(settings.security, plans)
    audit_handshakes(listening, plan.security, access.audit)
    has_logins = plan.security.protocol.has_sasl
    logins = await build_logins(users, access.audit, settings.sasl, foreign) if has_logins else None
    sessions = web_sessions(plan.security, settings.http)
    login = request_login(plan.security, logins, sessions, users, tokens, SystemClock().now_ms, access.audit)
    hosts = AllowedHosts.of(
        address.host, *address.allowed_hosts, *settings.http.allowed_hosts, setting="--allowed-host"
    )
    admission = await lone_http_door(stack)
    http = HttpPort(listening=listening, admission=admission, hosts=hosts, times=http_times(settings), login=login)
    port = LonePort(http, access, certificates, files)
    on_reload(_reloader(port))
    return port


def _check_use(plan: DoorPlan, settings: Settings) -> None:
    """Refuse what would have no effect, and a port that nobody could use."""
    protocol, users_file = plan.security.protocol, settings.security.users_file
    if users_file is not None and not protocol.has_sasl:
        raise SettingsError("security.users_file is for logins; set security.protocol to SASL_SSL, or take it out")
    has_others = settings.security.authenticator != USERS or (plan.tls is not None and plan.tls.asks_clients)
    if protocol.has_sasl and users_file is None and not has_others:
        raise SettingsError(
            f"security.protocol is {protocol.value}, but there is nobody who could log in; make users with `penstock"
            " security user add NAME --users-file FILE`, and set security.users_file"
        )
    if settings.tls.certificate_file is not None and plan.tls is None:
        raise SettingsError("tls.certificate_file is set, but the port has no TLS; set security.protocol to SASL_SSL")


def _bind(plan: DoorPlan, certificates: DoorCertificates, address: PortAddress) -> Listening:
    own = certificates.of(plan)
    if own is None:
        return bind(plan.host, plan.port, address.port_flag, address.host_flag)
    return bind_encrypted(plan, own, address.port_flag, address.host_flag)


def _authorizer(settings: Settings) -> Authorizer:
    acl = settings.acl
    if not acl.enabled:
        return AllowAll()
    if acl.authorizer != STANDARD:
        return load_authorizer(acl)
    return StandardAuthorizer(acl.super_users, allow_everyone_if_no_acl_found=acl.allow_everyone_if_no_acl_found)


def _secret(settings: Settings) -> bytes:
    """The key of decoys, which outlives the process with the users. A file that cannot be read is reported later."""
    path = settings.security.users_file
    try:
        return secrets.token_bytes(32) if path is None else read_users(path).secret
    except ERRORS:
        return secrets.token_bytes(32)


def _files(
    settings: Settings, plans: DoorPlans, access: Access, users: UserTable, tokens: TokenTable
) -> Iterator[WatchedFile[Any]]:
    authorizer, audit = access.authorizer, access.audit
    if settings.acl.policy_file is not None and isinstance(authorizer, StandardAuthorizer):
        only_users = settings.security.authenticator == USERS
        check = super_users_check(plans, settings)
        yield PolicyFile(settings.acl.policy_file, authorizer, check, audit, only_users=only_users)
    if settings.security.users_file is not None:
        yield UsersFile(settings.security.users_file, users, tokens, audit)


def _reloader(port: LonePort) -> Callable[[], None]:
    running: set[asyncio.Task[None]] = set()

    def reload() -> None:
        task = asyncio.ensure_future(port.reload())
        running.add(task)
        task.add_done_callback(running.discard)

    return reload
