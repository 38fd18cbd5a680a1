"""The safe default: a node is open on its own machine, and closed everywhere else until it is told otherwise."""

from __future__ import annotations

import ipaddress
import logging
import socket
from collections.abc import Callable, Iterator

from penstock.config.settings import Settings
from penstock.net.networks import TCP
from penstock.node.errors import SettingsError
from penstock.node.security.door_plans import HTTP, DoorPlan, DoorPlans
from penstock.security.acl.policy import Policy, PolicyError
from penstock.security.acl.rule import EVERYONE
from penstock.security.principal import ANONYMOUS
from penstock.security.tls.options import ClientAuth

logger = logging.getLogger(__name__)

PLAIN = "PLAIN"
UNKNOWN = "there is no host of that name; correct it, or listen on 127.0.0.1"
_ANYONE = (str(ANONYMOUS), EVERYONE)
WAYS_OUT = (
    "run `penstock security init` to make certificates, an administrator and the settings, listen on 127.0.0.1, or"
    " accept it with --insecure (security.insecure)"
)


def check_exposure(plans: DoorPlans, settings: Settings, ways_out: str = WAYS_OUT) -> list[str]:
    """The doors that are open to other machines without protection, if the user accepts that; SettingsError if not."""
    reachable = _reachable(plans)
    found = [problem for plan in reachable for problem in _problems(plan, settings)]
    if found and not settings.security.insecure:
        unknown = [f"the door {plan} cannot be opened: {UNKNOWN}" for plan in reachable if not _resolved(plan.host)]
        raise SettingsError("\n".join(unknown or (*found, ways_out)))
    return found


def super_users_check(plans: DoorPlans, settings: Settings) -> Callable[[Policy], None]:
    """The same for super users that a policy file names, at the start and when it changes: PolicyError refuses it."""
    doors = [plan for plan in _reachable(plans) if _takes_anyone(plan)]

    def check(policy: Policy) -> None:
        found = [
            f"{name} is a super user, and the door {plan} takes clients without a login"
            for name in _ANYONE
            if name in policy.super_users
            for plan in doors
        ]
        if found and not settings.security.insecure:
            raise PolicyError("; ".join(found))
        for problem in found:
            logger.warning("%s; security.insecure allows it", problem)

    return check


def _reachable(plans: DoorPlans) -> list[DoorPlan]:
    """A network of another package has addresses of its own, and decides itself who reaches them."""
    return [plan for plan in plans.all if plan.network == TCP and not is_local(plan.host)]


def _problems(plan: DoorPlan, settings: Settings) -> Iterator[str]:
    protocol = plan.security.protocol
    if not protocol.has_tls and not protocol.has_sasl:
        yield f"the door {plan} is {protocol.value}: every client that reaches it gets in"
        return
    if not settings.acl.enabled:
        yield f"the door {plan} has no rules: every client that gets in may do everything (acl.enabled)"
    elif _takes_anyone(plan):
        yield from (f"the door {plan} takes clients without a login, and {right}" for right in _rights_of_all(settings))
    if not protocol.has_tls and plan.security.name == HTTP:
        yield f"the door {plan} takes passwords and tokens in plain text: {protocol.value} without TLS"
    elif not protocol.has_tls and PLAIN in plan.security.mechanisms:
        yield f"the door {plan} takes passwords in plain text: PLAIN without TLS (sasl.enabled_mechanisms)"


def _takes_anyone(plan: DoorPlan) -> bool:
    """Whether a client gets in without a password or a certificate, and is User:ANONYMOUS then."""
    has_certificates = plan.tls is not None and plan.tls.client_auth is ClientAuth.REQUIRED
    return not plan.security.protocol.has_sasl and not has_certificates


def _rights_of_all(settings: Settings) -> Iterator[str]:
    """What the settings allow to clients of whom nothing is known. What rules allow them is for whoever makes rules."""
    acl = settings.acl
    if acl.allow_everyone_if_no_acl_found:
        yield "everyone may do everything that no rule is about (acl.allow_everyone_if_no_acl_found)"
    for name in _ANYONE:
        if name in acl.super_users:
            yield f"{name} is a super user (acl.super_users)"


def is_local(host: str) -> bool:
    """Whether only programs on this machine reach an address. A name that cannot be resolved is not local."""
    if host.startswith("unix:"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        pass
    found = _resolved(host)
    return bool(found) and all(ipaddress.ip_address(address.partition("%")[0]).is_loopback for address in found)


def _resolved(host: str) -> set[str]:
    """The addresses that a host is; none if there is no such name."""
    try:
        return {str(address[4][0]) for address in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError):  # the latter for what cannot be a name
        return set()
