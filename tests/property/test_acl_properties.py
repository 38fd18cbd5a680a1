"""The authorizer against a walk over all rules, through any sequence of changes; filters against their definition."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.security.acl.filter import AclFilter
from penstock.security.acl.policy import Policy
from penstock.security.acl.rule import AclRule, PatternType, Permission
from penstock.security.acl.standard import StandardAuthorizer
from penstock.security.principal import Principal
from penstock.security.resources import Operation, ResourceType
from penstock.security.session import Session
from tests.unit.security.naive_authorizer import NaiveAuthorizer

OPERATIONS = [operation for operation in Operation if operation >= Operation.ALL]
KINDS = [ResourceType.TOPIC, ResourceType.GROUP]
NAMES = ["*", "a", "ab", "abc", "b", "ba"]
HOSTS = ["10.0.0.1", "10.0.0.2"]
SESSIONS = [
    Session("PLAINTEXT", host, 1, Principal(kind, name), None, True)
    for (kind, name), host in itertools.product([("User", "x"), ("User", "y"), ("Group", "x")], HOSTS)
]
RULES = st.builds(
    AclRule,
    st.sampled_from(KINDS),
    st.sampled_from(NAMES),
    st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    st.sampled_from(["User:x", "User:y", "Group:x", "User:*"]),
    st.sampled_from(["*", *HOSTS]),
    st.sampled_from(OPERATIONS),
    st.sampled_from([Permission.ALLOW, Permission.DENY]),
)
RULE_SETS = st.lists(RULES, max_size=6)
QUESTIONS = st.tuples(
    st.sampled_from(SESSIONS), st.sampled_from(OPERATIONS[1:]), st.sampled_from(KINDS), st.sampled_from(NAMES[1:])
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), RULE_SETS),
        st.tuples(st.just("remove"), RULE_SETS),
        st.tuples(st.just("policy"), RULE_SETS),
        st.tuples(st.just("ask"), st.lists(QUESTIONS, min_size=1, max_size=4)),
    ),
    max_size=12,
)
ANY_OR = {
    "kind": st.sampled_from([ResourceType.ANY, *KINDS]),
    "name": st.sampled_from([None, *NAMES]),
    "pattern": st.sampled_from(PatternType),
    "principal": st.sampled_from([None, "User:x", "User:*"]),
    "host": st.sampled_from([None, "*", *HOSTS]),
    "operation": st.sampled_from(Operation),
    "permission": st.sampled_from(Permission),
}


@given(STEPS, st.booleans(), st.sampled_from([(), ("User:y",)]))
@settings(max_examples=400, deadline=None)
def test_decisions_are_those_of_a_walk_over_all_rules(
    steps: list[tuple[str, list[AclRule]]], allow_everyone: bool, super_users: tuple[str, ...]
) -> None:
    authorizer = StandardAuthorizer(super_users, allow_everyone_if_no_acl_found=allow_everyone)
    stored: set[AclRule] = set()
    policy: frozenset[AclRule] = frozenset()
    for act, given_rules in [*steps, ("ask", [])]:
        version = authorizer.version
        if act == "add":
            stored |= set(given_rules)
            authorizer.add(given_rules)
        elif act == "remove":
            stored -= set(given_rules)
            authorizer.remove([rule for rule in given_rules if authorizer.is_stored(rule)])
        elif act == "policy":
            policy = frozenset(given_rules)
            authorizer.set_policy(Policy(frozenset(), policy))
        assert (authorizer.version > version) is (act != "ask")
        naive = NaiveAuthorizer(stored | policy, super_users, allow_everyone)
        for session, operation, kind, name in itertools.product(SESSIONS, OPERATIONS[1:4], KINDS, NAMES[1:4]):
            assert authorizer.allows(session, operation, kind, name) is naive.allows(session, operation, kind, name)
    assert set(authorizer.candidates(AclFilter())) == stored | policy
    assert len(authorizer) == len(stored | policy)


@given(RULE_SETS, QUESTIONS, st.booleans())
@settings(max_examples=400, deadline=None)
def test_every_question_about_few_rules(
    rules: list[AclRule], question: tuple[Session, Operation, ResourceType, str], allow_everyone: bool
) -> None:
    authorizer = StandardAuthorizer(allow_everyone_if_no_acl_found=allow_everyone)
    authorizer.add(rules)
    naive = NaiveAuthorizer(rules, (), allow_everyone)
    assert authorizer.allows(*question) is naive.allows(*question)
    assert authorizer.allows(*question) is naive.allows(*question), "remembered"


@given(RULE_SETS, st.sampled_from(SESSIONS), st.sampled_from([Operation.WRITE, Operation.ALTER_CONFIGS]))
@settings(max_examples=400, deadline=None)
def test_some_resource_is_allowed_where_one_could_be_named(
    rules: list[AclRule], session: Session, operation: Operation
) -> None:
    """No operation implies these two, so that Kafka's walk over patterns and a search for a name agree."""
    authorizer = StandardAuthorizer()
    authorizer.add(rules)
    # Kafka cannot tell that a prefix of several rules is denied piece by piece; with these letters it cannot happen.
    names = ["".join(letters) for size in (1, 2, 3, 4) for letters in itertools.product("abz*", repeat=size)]
    naive = NaiveAuthorizer(rules, (), allow_everyone=False)
    kind = ResourceType.TOPIC
    assert authorizer.allows_any(session, operation, kind) is naive.allows_any(
        session, operation, kind, [*names, "abc"]
    )


@given(RULE_SETS, st.fixed_dictionaries({}, optional=ANY_OR))
@settings(max_examples=400, deadline=None)
def test_a_filter_finds_its_rules_among_its_candidates(rules: list[AclRule], given_filter: dict[str, object]) -> None:
    wanted = AclFilter(**given_filter)  # type: ignore[arg-type]
    authorizer = StandardAuthorizer()
    authorizer.add(rules)
    candidates = authorizer.candidates(wanted)
    assert len(set(candidates)) == len(candidates)
    found = {rule for rule in candidates if wanted.matches(rule)}
    assert found == {rule for rule in rules if wanted.matches(rule)}


@given(RULES, st.fixed_dictionaries({}, optional=ANY_OR))
@settings(max_examples=600, deadline=None)
def test_filters_match_as_kafkas_do(rule: AclRule, given_filter: dict[str, object]) -> None:
    wanted = AclFilter(**given_filter)  # type: ignore[arg-type]
    by_entry = (
        wanted.principal in (None, rule.principal)
        and wanted.host in (None, rule.host)
        and (wanted.operation is Operation.ANY or wanted.operation is rule.operation)
        and (wanted.permission is Permission.ANY or wanted.permission is rule.permission)
    )
    by_pattern = (
        wanted.kind in (ResourceType.ANY, rule.kind)
        and {
            PatternType.UNKNOWN: False,
            PatternType.ANY: wanted.name in (None, rule.name),
            PatternType.LITERAL: rule.pattern is PatternType.LITERAL and wanted.name in (None, rule.name),
            PatternType.PREFIXED: rule.pattern is PatternType.PREFIXED and wanted.name in (None, rule.name),
            PatternType.MATCH: wanted.name is None
            or (rule.pattern is PatternType.LITERAL and rule.name in ("*", wanted.name))
            or (rule.pattern is PatternType.PREFIXED and wanted.name.startswith(rule.name)),
        }[wanted.pattern]
    )
    assert wanted.matches(rule) is (by_entry and by_pattern)
