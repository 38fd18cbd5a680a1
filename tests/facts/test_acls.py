"""DescribeAcls, CreateAcls, DeleteAcls, with an authorizer and without one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.acl_client import (
    ALL,
    ALTER,
    ANY,
    CLUSTER,
    DENY,
    DESCRIBE,
    GROUP,
    LITERAL,
    MATCH,
    PREFIXED,
    TRANSACTIONAL_ID,
    USER,
    WRITE,
    AclClient,
    creation,
    matching,
    rule,
)
from tests.support.broker_process import BrokerProcess
from tests.support.fixtures import running, target_kind
from tests.support.kafka_process import KafkaProcess
from tests.support.penstock_process import PenstockProcess
from tests.support.raw_client import RawClient
from tests.support.waiting import wait_until
from tests.support.wire import ConnectionClosed

pytestmark = pytest.mark.feature("F-05")

UNKNOWN_SERVER_ERROR, INVALID_REQUEST, POLICY_VIOLATION, SECURITY_DISABLED = -1, 42, 44, 54
VERSIONS = (1, 2, 3)


@pytest.fixture(scope="module")
def with_rules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker with rules, whose only principal is a super user."""
    directory = tmp_path_factory.mktemp("acls")
    yield from running(make_broker(directory))


def make_broker(directory: Path) -> BrokerProcess:
    if target_kind() == "kafka":
        settings = {
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }
        return KafkaProcess(directory, settings)
    return PenstockProcess(directory, "acl:\n  enabled: true\n  super_users: User:ANONYMOUS\n")


@pytest.fixture
def raw(with_rules: BrokerProcess) -> Iterator[RawClient]:
    with RawClient(with_rules.host, with_rules.port) as client:
        yield client


@pytest.fixture
def acls(raw: RawClient) -> AclClient:
    client = AclClient(raw)
    client.delete_all()
    wait_until(lambda: not client.described(), what="no rules are left of the test before")
    return client


def shown(acls: AclClient, expected: set[Any], **wanted: Any) -> None:
    """Kafka answers from its copy of the metadata, which may be a moment behind."""
    wait_until(lambda: acls.described(**wanted) == expected, what=f"{wanted} finds {expected}")


@pytest.mark.parametrize("version", VERSIONS)
def test_rules_are_created_described_and_deleted(acls: AclClient, version: int) -> None:
    first = rule()
    second = rule(GROUP, "g-", PREFIXED, "User:*", "192.0.2.1", ALL, DENY)
    assert acls.create(first, second, version=version) == [(0, ""), (0, "")]
    wait_until(lambda: acls.described(version) == {first, second}, what="both rules are described")
    assert acls.delete(matching(GROUP), matching(name="no such"), version=version) == [(0, {second}), (0, set())]
    wait_until(lambda: acls.described(version) == {first}, what="one rule is left")


def test_a_rule_that_is_there_is_no_error_and_stays_one(acls: AclClient) -> None:
    assert acls.create(rule(), rule()) == [(0, ""), (0, "")]
    assert acls.create(rule()) == [(0, "")]
    shown(acls, {rule()})
    assert acls.delete(matching(), matching(principal="User:a")) == [(0, {rule()}), (0, {rule()})]
    shown(acls, set())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (rule(name=""), "Invalid empty resource name"),
        (rule(CLUSTER, "mine"), "The only valid name for the CLUSTER resource is kafka-cluster"),
        (rule(CLUSTER, ""), "The only valid name for the CLUSTER resource is kafka-cluster"),
        (rule(99), "Invalid resourceType UNKNOWN"),
        (rule(pattern=99), "Invalid patternType UNKNOWN"),
        (rule(operation=16), "Invalid operation UNKNOWN"),
        (rule(permission=-1), "Invalid permissionType UNKNOWN"),
        (
            rule(principal="alice"),
            "Could not parse principal from `alice` (no colon is present separating the principal type from the"
            " principal name)",
        ),
        (
            rule(principal=""),
            "Could not parse principal from `` (no colon is present separating the principal type from the"
            " principal name)",
        ),
    ],
)
def test_a_wrong_rule_is_refused_and_the_others_are_created(acls: AclClient, wrong: Any, message: str) -> None:
    right = rule(name="right")
    assert acls.create(wrong, right) == [(INVALID_REQUEST, message), (0, "")]
    shown(acls, {right})


def test_rules_can_be_about_whatever_kafka_lets_them(acls: AclClient) -> None:
    """Neither names nor hosts nor combinations are checked further."""
    odd = {
        rule(CLUSTER, "kafka-cluster", operation=WRITE),
        rule(CLUSTER, "kafka-cluster", PREFIXED, operation=DESCRIBE),
        rule(TRANSACTIONAL_ID, "*", operation=ALTER),
        rule(USER, "User:x", operation=DESCRIBE),
        rule(name="not/a topic", host="no host"),
        rule(name="*", pattern=PREFIXED),
        rule(principal=":"),
        rule(host=""),
        rule(principal="Group:x:y"),
    }
    acls.created(*odd)
    shown(acls, odd)


@pytest.mark.parametrize(
    "wrong",
    [rule(ANY), rule(pattern=ANY), rule(pattern=MATCH), rule(operation=ANY), rule(permission=ANY), rule(ANY, "")],
)
def test_a_filter_in_the_place_of_a_rule_fails_the_request(acls: AclClient, wrong: Any) -> None:
    assert acls.create(wrong, rule(name="right")) == [(UNKNOWN_SERVER_ERROR, None)] * 2
    assert acls.described() == set()


@pytest.mark.parametrize("member", ["resource_type", "resource_pattern_type", "operation", "permission_type"])
def test_a_rule_with_a_0_closes_the_connection(raw: RawClient, member: str) -> None:
    with pytest.raises(ConnectionClosed):
        raw.call("create_acls", 3, creations=[creation(rule()), {**creation(rule()), member: 0}])


@pytest.mark.parametrize("member", ["resource_type_filter", "pattern_type_filter", "operation", "permission_type"])
@pytest.mark.parametrize("api", ["describe_acls", "delete_acls"])
def test_a_filter_with_a_0_closes_the_connection(raw: RawClient, api: str, member: str) -> None:
    wanted = {**matching(), member: 0}
    with pytest.raises(ConnectionClosed):
        raw.call(api, 3, **({"filters": [wanted]} if api == "delete_acls" else wanted))


@pytest.mark.parametrize("member", ["resource_type_filter", "pattern_type_filter", "operation", "permission_type"])
@pytest.mark.parametrize("number", [99, -1])
def test_a_filter_of_what_does_not_exist_finds_nothing(
    acls: AclClient, raw: RawClient, member: str, number: int
) -> None:
    acls.created(rule())
    shown(acls, {rule()})
    wanted = {**matching(), member: number}
    assert raw.call("describe_acls", 3, **wanted).resources == ()
    assert acls.delete(wanted, matching(name="no such")) == [(INVALID_REQUEST, set()), (0, set())]
    shown(acls, {rule()})


def test_a_request_may_change_ten_thousand_rules(acls: AclClient) -> None:
    too_many = "Unable to perform excessively large batch operation."
    rules = [rule(name=f"t{number}") for number in range(10_001)]
    assert set(acls.create(*rules)) == {(POLICY_VIOLATION, too_many)}
    assert acls.described() == set()
    acls.created(*rules[:10_000])
    acls.created(rules[-1])
    wait_until(lambda: len(acls.described()) == 10_001, what="all rules are described")
    assert acls.delete(matching(name="t7"), matching()) == [(INVALID_REQUEST, set())] * 2
    assert acls.delete(matching(name="t7"))[0] == (0, {rule(name="t7")})
    assert len(acls.delete(matching())[0][1]) == 10_000


def test_filters(acls: AclClient) -> None:
    exact, everything = rule(name="orders"), rule(name="*", operation=WRITE)
    prefix, longer = rule(name="ord", pattern=PREFIXED), rule(name="orders-eu", pattern=PREFIXED)
    group = rule(GROUP, "orders", principal="User:b", host="192.0.2.1", permission=DENY)
    acls.created(exact, everything, prefix, longer, group)
    shown(acls, {exact, everything, prefix, longer, group})
    assert acls.described(kind=GROUP) == {group}
    assert acls.described(name="orders") == {exact, group}
    assert acls.described(name="orders", pattern=LITERAL) == {exact, group}
    assert acls.described(name="orders", pattern=PREFIXED) == set()
    assert acls.described(name="orders", pattern=MATCH) == {exact, everything, prefix, group}
    assert acls.described(name="orders-eu-1", pattern=MATCH) == {everything, prefix, longer}
    assert acls.described(pattern=PREFIXED) == {prefix, longer}
    assert acls.described(pattern=MATCH) == {exact, everything, prefix, longer, group}
    assert acls.described(name="*", pattern=MATCH) == {everything}
    assert acls.described(principal="User:b") == acls.described(host="192.0.2.1") == {group}
    assert acls.described(permission=DENY) == {group}
    assert acls.described(operation=WRITE) == {everything}
    assert acls.described(operation=ALL) == set()
    assert acls.described(principal="User:*") == set()
    assert acls.delete(matching(name="orders", pattern=MATCH, kind=2))[0] == (0, {exact, everything, prefix})


def test_empty_requests(acls: AclClient) -> None:
    assert acls.create() == []
    assert acls.delete() == []


@pytest.mark.parametrize("version", VERSIONS)
def test_without_an_authorizer_security_is_disabled(client: RawClient, version: int) -> None:
    described = client.call("describe_acls", version, **matching())
    assert (int(described.error_code), described.resources) == (SECURITY_DISABLED, ())
    assert described.error_message == "No Authorizer is configured on the broker"
    created = AclClient(client).create(rule(), rule(name=""), version=version)
    assert created == [(SECURITY_DISABLED, "No Authorizer is configured.")] * 2
    assert AclClient(client).delete(matching(), version=version) == [(SECURITY_DISABLED, set())]


@pytest.mark.usefixtures("penstock_only")
def test_rules_survive_a_kill(tmp_path: Path) -> None:
    process = make_broker(tmp_path)
    for _ in running(process):
        with RawClient(process.host, process.port) as raw:
            acls = AclClient(raw)
            acls.created(*(rule(name=f"t{number}") for number in range(20)))
            acls.delete(matching(name="t7"))
        process.kill9()
        process.start()
        with RawClient(process.host, process.port) as raw:
            found = AclClient(raw).described()
        assert found == {rule(name=f"t{number}") for number in range(20) if number != 7}
