"""Commands on rules: created and deleted by clients, durable first and then in force.

The rules of a policy file are not changed here: a filter that finds one reports it, with the reason why it stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from penstock.cluster.controller.commands import Commands
from penstock.model.errors import ErrorCode, KafkaError
from penstock.runtime.turns import Turns
from penstock.security.acl.filter import AclFilter
from penstock.security.acl.policy import RULES_MAX
from penstock.security.acl.rule import AclRule, PatternType, Permission, check_rule
from penstock.security.acl.standard import StandardAuthorizer
from penstock.security.resources import Operation, ResourceType
from penstock.storage.metadata.acls import AclRow, StoredAcls

CHANGED_MAX: Final = 10_000
"""Rules that one request may create or delete, as in Kafka."""
LOOKED_AT_AT_ONCE: Final = 500
_IN_POLICY: Final = "the rule is in the policy file of the node; change it there"


class MatchedRule(NamedTuple):
    """A rule that a filter of a deletion found; `error` says why it is still there."""

    rule: AclRule
    error: KafkaError | None


class AclsFrontend:
    """Single writer of the stored rules."""

    def __init__(self, *, commands: Commands, store: StoredAcls, authorizer: StandardAuthorizer) -> None:
        self.authorizer = authorizer
        self._commands = commands
        self._store = store

    async def matching(self, wanted: AclFilter) -> list[AclRule]:
        """Rules that a filter finds, stored ones and those of the policy file."""
        found: list[AclRule] = []
        turns = Turns()
        rules = self.authorizer.candidates(wanted)
        for first in range(0, len(rules), LOOKED_AT_AT_ONCE):
            found += [rule for rule in rules[first : first + LOOKED_AT_AT_ONCE] if wanted.matches(rule)]
            await turns.pause()
        return found

    async def create(self, rules: Sequence[AclRule]) -> list[KafkaError | None]:
        """Add rules; a result for each. Valid ones are stored together; KafkaError if that fails.

        A rule with ANY or MATCH fails the whole request, as it does in Kafka.
        """
        if any(rule.is_filter for rule in rules):
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        return await self._commands.run(self._create(rules))

    async def delete(self, filters: Sequence[AclFilter]) -> list[list[MatchedRule] | KafkaError]:
        """Delete the rules that filters find; a result for each filter. KafkaError if they are too many together, or if
        storing fails.
        """
        return await self._commands.run(self._delete(filters))

    async def _create(self, rules: Sequence[AclRule]) -> list[KafkaError | None]:
        results: list[KafkaError | None] = []
        new: dict[AclRule, None] = {}
        turns = Turns()
        for rule in rules:
            try:
                self._check(rule, new)
                results.append(None)
            except KafkaError as error:
                results.append(error.kept())
            await turns.pause()
        if len(new) > CHANGED_MAX:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, "Unable to perform excessively large batch operation.")
        if new:
            await self._commands.durably(self._add, [_row(rule) for rule in new])
            self.authorizer.add(new.keys())
        return results

    def _check(self, rule: AclRule, new: dict[AclRule, None]) -> None:
        """Add a valid rule that is not stored yet to the new ones."""
        check_rule(rule)
        if self.authorizer.is_stored(rule) or rule in new:
            return
        if self.authorizer.stored_count + len(new) >= RULES_MAX:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, f"More than {RULES_MAX} rules.")
        new[rule] = None

    async def _delete(self, filters: Sequence[AclFilter]) -> list[list[MatchedRule] | KafkaError]:
        results: list[list[MatchedRule] | KafkaError] = []
        removed: dict[AclRule, None] = {}
        turns = Turns()
        for wanted in filters:
            await turns.pause()
            try:
                wanted.check()
            except KafkaError as error:
                results.append(error.kept())
                continue
            found = [self._matched(rule) for rule in await self.matching(wanted)]
            removed.update(dict.fromkeys(match.rule for match in found if match.error is None))
            if len(removed) > CHANGED_MAX:
                text = f"Cannot remove more than {CHANGED_MAX} acls in a single delete operation."
                raise KafkaError(ErrorCode.INVALID_REQUEST, text)
            results.append(found)
        if removed:
            await self._commands.durably(self._remove, [_row(rule) for rule in removed])
            self.authorizer.remove(removed.keys())
        return results

    def _matched(self, rule: AclRule) -> MatchedRule:
        if self.authorizer.is_stored(rule):
            return MatchedRule(rule, None)
        return MatchedRule(rule, KafkaError(ErrorCode.POLICY_VIOLATION, _IN_POLICY))

    def _add(self, rows: Sequence[AclRow]) -> None:
        self._store.change(added=rows)

    def _remove(self, rows: Sequence[AclRow]) -> None:
        self._store.change(removed=rows)


def stored_rules(store: StoredAcls) -> list[AclRule]:
    """The rules in the store, for the authorizer that is made at a start."""
    return [
        AclRule(
            ResourceType(kind),
            name,
            PatternType(pattern),
            principal,
            host,
            Operation(operation),
            Permission(permission),
        )
        for kind, name, pattern, principal, host, operation, permission in store.all()
    ]


def _row(rule: AclRule) -> AclRow:
    kind, name, pattern, principal, host, operation, permission = rule
    return int(kind), name, int(pattern), principal, host, int(operation), int(permission)
