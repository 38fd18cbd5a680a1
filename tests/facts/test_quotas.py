"""Client quotas as they are set and described; what they do is in `test_throttling.py`."""

import math
from collections.abc import Iterator

import pytest
from kio.schema.errors import ErrorCode

from tests.support.quota_client import (
    ANY,
    CONNECTION,
    DEFAULT,
    EXACT,
    FETCH,
    MUTATION,
    PRODUCE,
    REQUEST,
    Names,
    alter,
    describe,
    describe_answer,
    entry,
    quotas_set,
    set_quotas,
    values_of,
)
from tests.support.raw_client import RawClient, unique_name
from tests.support.waiting import wait_until

pytestmark = pytest.mark.feature("F-01")

INVALID = ErrorCode.invalid_request


@pytest.fixture
def names() -> Names:
    return (("client-id", unique_name("client")),)


@pytest.mark.parametrize("version", [0, 1])
def test_set_change_and_remove(client: RawClient, names: Names, version: int) -> None:
    """Quotas are set one by one and stay until they are removed; an entity without any is gone."""
    ok = [(ErrorCode.none, None, names)]
    assert alter(client, entry(names, (PRODUCE, 1000.0), (REQUEST, 12.5)), version=version) == ok
    wait_until(lambda: values_of(client, names) == {PRODUCE: 1000.0, REQUEST: 12.5}, what="both are set")
    assert alter(client, entry(names, (PRODUCE, 2000.0), (REQUEST, None)), version=version) == ok
    wait_until(lambda: values_of(client, names) == {PRODUCE: 2000.0}, what="one is changed, one removed")
    assert alter(client, entry(names, (PRODUCE, None)), version=version) == ok
    wait_until(lambda: describe(client, ("client-id", EXACT, names[0][1])) == {}, what="the entity is gone")


@pytest.mark.parametrize(
    "make",
    [
        lambda name: (("user", name),),
        lambda name: (("client-id", name),),
        lambda name: (("client-id", name), ("user", name)),
        lambda name: (("client-id", None), ("user", name)),
        lambda name: (("client-id", name), ("user", None)),
        lambda name: (("user", "<default>" + name),),
        lambda name: (("client-id", "ä b/%" + name),),
    ],
)
def test_entities(client: RawClient, make: object) -> None:
    """Users, client ids and both together, by name or as the default; the answer names the client id first."""
    assert callable(make)
    names: Names = make(unique_name("who"))
    quotas = {PRODUCE: 1e9, FETCH: 1e9, MUTATION: 1e6 + 0.5, REQUEST: 1e6 + 0.5}
    asked = tuple(reversed(names))
    assert alter(client, entry(asked, *quotas.items())) == [(ErrorCode.none, None, names)]
    wait_until(lambda: values_of(client, asked) == quotas, what="the quotas are there")
    assert list(values_of(client, names)) == [PRODUCE, FETCH, MUTATION, REQUEST]
    set_quotas(client, names, dict.fromkeys(quotas))


@pytest.mark.parametrize("host", ["10.11.12.13", "2001:db8::7", "localhost", None])
def test_addresses(client: RawClient, host: str | None) -> None:
    """Addresses, hosts that have one, and all addresses may have a connection rate."""
    names = (("ip", host),)
    with quotas_set(client, names, **{CONNECTION: 1e6}):
        assert values_of(client, names) == {CONNECTION: 1e6}
    assert values_of(client, names) == {}


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ((), "Invalid empty client quota entity"),
        ((("pet", "x"),), "Unhandled client quota entity type: pet"),
        ((("", "x"),), "Unhandled client quota entity type: "),
        ((("USER", "x"),), "Unhandled client quota entity type: USER"),
        ((("user", ""),), "Empty user not supported"),
        ((("client-id", ""),), "Empty client-id not supported"),
        ((("ip", ""),), "Empty ip not supported"),
        (
            (("user", "a"), ("ip", "10.0.0.1")),
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        ),
        (
            (("client-id", "c"), ("user", "a"), ("ip", None)),
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId",
        ),
        ((("ip", "999.1.1.1"),), "999.1.1.1 is not a valid IP or resolvable host."),
        ((("ip", "no such host"),), "no such host is not a valid IP or resolvable host."),
    ],
)
def test_entities_that_cannot_be(client: RawClient, names: Names, message: str) -> None:
    """INVALID_REQUEST with a message that says which part of the entity is wrong."""
    assert alter(client, entry(names, (PRODUCE, 5.0))) == [(INVALID, message, names)]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("pets", 5.0, "Invalid configuration key pets"),
        ("", 5.0, "Invalid configuration key "),
        (CONNECTION, 5.0, f"Invalid configuration key {CONNECTION}"),
        (PRODUCE, 0.0, f"Quota {PRODUCE} must be greater than 0"),
        (FETCH, -1.0, f"Quota {FETCH} must be greater than 0"),
        (REQUEST, 0.0, f"Quota {REQUEST} must be greater than 0"),
        (MUTATION, -math.inf, f"Quota {MUTATION} must be greater than 0"),
        (PRODUCE, 1.5, f"{PRODUCE} cannot be a fractional value."),
        (FETCH, 0.5, f"{FETCH} cannot be a fractional value."),
        (PRODUCE, 9.3e18, f"Proposed value for {PRODUCE} is too large for a LONG."),
        (FETCH, math.inf, f"Proposed value for {FETCH} is too large for a LONG."),
    ],
)
def test_values_that_cannot_be(client: RawClient, names: Names, key: str, value: float, message: str) -> None:
    """Unknown keys, values that are not positive and byte rates with a fraction change nothing of the entity."""
    entries = entry(names, (PRODUCE, 7.0), (key, value)) if key != PRODUCE else entry(names, (key, value))
    assert alter(client, entries) == [(INVALID, message, names)]
    assert values_of(client, names) == {}


@pytest.mark.parametrize(
    ("key", "value"),
    [(PRODUCE, 1000.0000001), (REQUEST, 0.001), (MUTATION, math.inf), (REQUEST, math.nan), (PRODUCE, math.nan)],
)
def test_odd_values_that_are_taken(client: RawClient, names: Names, key: str, value: float) -> None:
    """A byte rate may be off a whole number by a tiny bit; infinity and NaN are no limits."""
    assert alter(client, entry(names, (key, value))) == [(ErrorCode.none, None, names)]
    found = wait_until(lambda: values_of(client, names), what="it is there")[key]
    assert found == value or (math.isnan(found) and math.isnan(value))
    set_quotas(client, names, {key: None})


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1.5, f"{CONNECTION} cannot be a fractional value."),
        (1e10, f"Proposed value for {CONNECTION} is too large for an INT."),
    ],
)
def test_connection_rates_that_cannot_be(client: RawClient, value: float, message: str) -> None:
    """Connection rates are whole numbers of 32 bits, and for addresses only."""
    names = (("ip", "10.0.0.9"),)
    assert alter(client, entry(names, (CONNECTION, value))) == [(INVALID, message, names)]
    wrong = f"Invalid configuration key {PRODUCE}"
    assert alter(client, entry(names, (PRODUCE, 5.0))) == [(INVALID, wrong, names)]


def test_removing_what_is_not_there(client: RawClient, names: Names) -> None:
    """It is no error, whatever the key; nor is it to change nothing."""
    ok = [(ErrorCode.none, None, names)]
    assert alter(client, entry(names, (PRODUCE, None))) == ok
    assert alter(client, entry(names, ("pets", None))) == ok
    assert alter(client, entry(names)) == ok
    assert alter(client) == []


def test_what_comes_twice(client: RawClient, names: Names) -> None:
    """A key twice changes nothing; of two entries for an entity the first counts, and the answer has one error."""
    name = names[0][1]
    message = f"Ignoring duplicate entity ClientQuotaEntity(entries={{client-id={name}}})"
    assert alter(client, entry(names, (PRODUCE, 5.0), (PRODUCE, 6.0))) == [(INVALID, message, names)]
    assert values_of(client, names) == {}
    assert alter(client, entry(names, (PRODUCE, 5.0)), entry(names, (FETCH, 6.0))) == [(INVALID, message, names)]
    wait_until(lambda: values_of(client, names) == {PRODUCE: 5.0}, what="the first was taken")
    both: Names = (("client-id", name), ("user", None))
    twice = f"Ignoring duplicate entity ClientQuotaEntity(entries={{client-id={name}, user=null}})"
    bad = entry(both, ("pets", 5.0)), entry(tuple(reversed(both)), ("pets", 5.0))
    assert alter(client, *bad) == [(INVALID, twice, both)]


def test_a_type_that_comes_twice(client: RawClient) -> None:
    """The last name counts."""
    first, last = unique_name("first"), unique_name("last")
    answer = alter(client, entry((("user", first), ("user", last)), (PRODUCE, 1e9)))
    assert answer == [(ErrorCode.none, None, (("user", last),))]
    wait_until(lambda: values_of(client, (("user", last),)) == {PRODUCE: 1e9}, what="the last has it")
    assert values_of(client, (("user", first),)) == {}
    set_quotas(client, (("user", last),), {PRODUCE: None})


def test_entities_fail_one_by_one(client: RawClient, names: Names) -> None:
    """One entity's mistake does not hinder another's change."""
    other = (("client-id", unique_name("other")),)
    results = alter(client, entry(names, ("pets", 5.0)), entry(other, (PRODUCE, 5.0)))
    wrong = (INVALID, "Invalid configuration key pets", names)
    assert sorted(results, key=repr) == sorted([wrong, (ErrorCode.none, None, other)], key=repr)
    wait_until(lambda: values_of(client, other) == {PRODUCE: 5.0}, what="the right one is set")


def test_validate_only(client: RawClient, names: Names) -> None:
    """Mistakes are found, nothing is changed."""
    assert alter(client, entry(names, (PRODUCE, 5.0)), validate_only=True) == [(ErrorCode.none, None, names)]
    wrong = (INVALID, "Invalid configuration key pets", names)
    assert alter(client, entry(names, ("pets", 5.0)), validate_only=True) == [wrong]
    assert values_of(client, names) == {}


# ------------------------------------------------------------------------------------------------------------ filters


class Set:
    """Entities of one test, all of one user and one client id, or defaults."""

    def __init__(self) -> None:
        self.user, self.client = unique_name("user"), unique_name("client")
        self.of_user: Names = (("user", self.user),)
        self.of_client: Names = (("client-id", self.client),)
        self.of_both: Names = (("client-id", self.client), ("user", self.user))
        self.any_client: Names = (("client-id", None), ("user", self.user))
        self.all = (self.of_user, self.of_client, self.of_both, self.any_client)


@pytest.fixture
def some(client: RawClient) -> Iterator[Set]:
    some = Set()
    for names in some.all:
        set_quotas(client, names, {PRODUCE: 1e9})
    yield some
    for names in some.all:
        set_quotas(client, names, {PRODUCE: None})


def found(client: RawClient, some: Set, *components: tuple[str, int, str | None], strict: bool = False) -> set[Names]:
    return {names for names in describe(client, *components, strict=strict) if names in some.all}


def test_filters(client: RawClient, some: Set) -> None:
    """Each component asks for a type by name, as the default or at all; strict allows no further types."""
    user = ("user", EXACT, some.user)
    assert found(client, some, user) == {some.of_user, some.of_both, some.any_client}
    assert found(client, some, user, strict=True) == {some.of_user}
    any_client = ("client-id", ANY, None)
    assert found(client, some, any_client) == {some.of_client, some.of_both, some.any_client}
    assert found(client, some, any_client, strict=True) == {some.of_client}
    assert found(client, some, user, any_client) == {some.of_both, some.any_client}
    assert found(client, some, user, any_client, strict=True) == {some.of_both, some.any_client}
    default = ("client-id", DEFAULT, None)
    assert found(client, some, default) == {some.any_client}
    assert found(client, some, user, default, strict=True) == {some.any_client}
    assert found(client, some, ("client-id", EXACT, some.client)) == {some.of_client, some.of_both}
    assert found(client, some, ("user", EXACT, "nobody")) == set()
    assert found(client, some, ("user", EXACT, "")) == set()


@pytest.mark.parametrize("version", [0, 1])
def test_no_components(client: RawClient, some: Set, version: int) -> None:
    """An empty filter finds everything, a strict one nothing."""
    assert set(some.all) <= set(describe(client, version=version))
    assert describe(client, strict=True, version=version) == {}


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("components", "code", "message"),
    [
        (
            [("user", EXACT, None)],
            INVALID,
            "Request specified MATCH_TYPE_EXACT, but set match string to null.",
        ),
        (
            [("user", DEFAULT, "x")],
            INVALID,
            "Request specified MATCH_TYPE_DEFAULT, but also specified a match string.",
        ),
        (
            [("user", ANY, "x")],
            INVALID,
            "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.",
        ),
        ([("user", 3, None)], INVALID, "Unknown match type 3"),
        ([("user", -1, "x")], INVALID, "Unknown match type -1"),
        (
            [("user", EXACT, "x"), ("user", ANY, None)],
            INVALID,
            "Entity type user cannot appear more than once in the filter.",
        ),
        ([("", EXACT, "x")], INVALID, "Invalid empty entity type."),
        ([("pet", EXACT, "x")], ErrorCode.unsupported_version, "Unsupported entity type pet"),
        (
            [("ip", ANY, None), ("user", ANY, None)],
            INVALID,
            "Invalid entity filter component combination. IP filter component should not be used with user or clientId"
            " filter component.",
        ),
    ],
)
def test_filters_that_cannot_be(
    client: RawClient,
    components: list[tuple[str, int, str | None]],
    code: ErrorCode,
    message: str,
    strict: bool,
    version: int,
) -> None:
    """A wrong filter is an error with null instead of entries."""
    answer = describe_answer(client, *components, strict=strict, version=version)
    assert (answer.error_code, answer.error_message, answer.entries) == (code, message, None)
