"""The gate of a node, from its settings: the authorizer with the stored rules and those of the policy file."""

from __future__ import annotations

from penstock.cluster.controller.acls_frontend import stored_rules
from penstock.config.settings import Settings
from penstock.config.settings.acl import STANDARD
from penstock.config.settings.security import USERS
from penstock.node.security.door_plans import DoorPlans
from penstock.node.security.exposure import super_users_check
from penstock.node.security.extensions import load_authorizer
from penstock.node.security.policy_file import PolicyFile
from penstock.observability.health import Health
from penstock.observability.metrics import BrokerMetrics
from penstock.security.access import Access
from penstock.security.acl.standard import StandardAuthorizer
from penstock.security.authorizer import AllowAll, Authorizer
from penstock.storage.metadata.store import MetadataStore


def build_access(settings: Settings, store: MetadataStore) -> Access:
    """StartError if the authorizer cannot be had. Needs a running event loop."""
    return Access(authorizer=_authorizer(settings, store))


def _authorizer(settings: Settings, store: MetadataStore) -> Authorizer:
    acl = settings.acl
    if not acl.enabled:
        return AllowAll()
    if acl.authorizer != STANDARD:
        return load_authorizer(acl)
    authorizer = StandardAuthorizer(acl.super_users, allow_everyone_if_no_acl_found=acl.allow_everyone_if_no_acl_found)
    authorizer.add(stored_rules(store.acls))
    return authorizer


def open_policy_file(settings: Settings, access: Access, plans: DoorPlans) -> PolicyFile | None:
    """The policy file with its rules in force, if the node has one. StartError if it cannot be used."""
    path, authorizer = settings.acl.policy_file, access.authorizer
    if path is None or not isinstance(authorizer, StandardAuthorizer):
        return None
    only_users = settings.security.authenticator == USERS
    check = super_users_check(plans, settings)
    policy_file = PolicyFile(path, authorizer, check, access.audit, only_users=only_users)
    policy_file.load()
    return policy_file


def connect_access_probes(
    access: Access, policy_file: PolicyFile | None, metrics: BrokerMetrics, health: Health
) -> None:
    authorizer, counts = access.authorizer, access.audit.counts
    metrics.add_counter("penstock_logins_total", "Logins that succeeded", lambda: counts["login"])
    metrics.add_counter("penstock_login_failures_total", "Logins that were refused", lambda: counts["login failed"])
    if isinstance(authorizer, StandardAuthorizer):
        metrics.add_gauge("penstock_acl_rules", "Rules of the authorizer", lambda: len(authorizer))
    if not isinstance(authorizer, AllowAll):
        metrics.add_counter(
            "penstock_authorizations_denied_total",
            "Requests for a resource that were refused",
            lambda: counts["denied"],
        )
    if policy_file is not None:
        metrics.add_counter(
            "penstock_policy_file_failures_total",
            "Changes of the policy file that could not be read, so that the old rules went on",
            lambda: policy_file.failures,
        )
        health.add_warning("policy", lambda: policy_file.problem)
