"""Whether anybody could administer a process. Nothing is refused: the start tells of it, with the way out."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Iterator

from penstock.config.settings import MEMORY, Settings
from penstock.config.settings.security import USERS
from penstock.node.security.door_plans import HTTP, DoorPlan, DoorPlans
from penstock.security.acl.standard import StandardAuthorizer
from penstock.security.authorizer import Authorizer
from penstock.security.tokens.table import TokenTable
from penstock.security.users.table import UserTable

logger = logging.getLogger(__name__)


def warn_without_rights(settings: Settings, authorizer: Authorizer) -> None:
    """Rules of a policy file are changed in the file, and those of other packages wherever they are."""
    if not isinstance(authorizer, StandardAuthorizer) or settings.acl.policy_file is not None:
        return
    if not authorizer.has_administrators:
        logger.warning(
            "acl.enabled is set, and nobody may alter the cluster or its rules: there is no super user, and no rule"
            " that allows it; name one with acl.super_users (User:NAME, or User:ANONYMOUS where clients have no login),"
            " or a file with rules with acl.policy_file"
        )


def warn_without_users(settings: Settings, plans: DoorPlans, users: UserTable, tokens: TokenTable) -> None:
    """A node keeps its users itself: the first one is made by a client that gets in, or while the node is stopped."""
    if users or tokens or settings.security.authenticator != USERS or any(_lets_others_in(plans)):
        return
    if settings.storage.engine == MEMORY:
        remedy = "add a listener without a login on 127.0.0.1 (listeners.addresses), and make one there"
    else:
        directory = shlex.quote(str(settings.node.data_dir))
        remedy = f"stop the node, and make one with `penstock security user add NAME --data-dir {directory}`"
    doors = ", ".join(map(str, plans.all))
    logger.warning("nobody can log in: every door asks for a login (%s), and there are no users; %s", doors, remedy)


def _lets_others_in(plans: DoorPlans) -> Iterator[bool]:
    return (not plan.security.protocol.has_sasl or _takes_certificates(plan) for plan in plans.all)


def _takes_certificates(plan: DoorPlan) -> bool:
    """As a login without a password, which only HTTP does beside SASL."""
    return plan.security.name == HTTP and plan.tls is not None and plan.tls.asks_clients
