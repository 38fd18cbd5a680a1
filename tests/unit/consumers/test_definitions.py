"""Arguments of the decorators, arguments of handlers, and errors for consumers that cannot be run."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from penstock import ErrorAction, Message, consumer, error_handler, message_handler, retry_policy
from penstock.consumers.definition import Definition, define
from penstock.consumers.discovery import discover
from penstock.consumers.errors import ConsumerError, PayloadError
from penstock.consumers.policy import RetryPolicy
from tests.unit.consumers.messages import message

pytestmark = pytest.mark.feature("P-10")


class Price(BaseModel):
    symbol: str
    price: float


def one(handler: Any) -> Definition:
    return define(consumer(topic="t", group="g")(handler))


def test_payloads_follow_annotations() -> None:
    def raw(body: bytes) -> None: ...
    def text(body: str) -> None: ...
    def table(body: dict[str, Any]) -> None: ...
    def model(body: Price) -> None: ...
    def whole(body: Message) -> None: ...
    def plain(body) -> None: ...  # type: ignore[no-untyped-def]
    def optional(body: Price | None) -> None: ...
    def both(body: str, whole: Message) -> None: ...

    given = message(3, b'{"symbol": "AAPL", "price": 187.2}')
    price = Price(symbol="AAPL", price=187.2)
    assert one(raw).arguments([given]) == [given.body]
    assert one(text).arguments([given]) == ['{"symbol": "AAPL", "price": 187.2}']
    assert one(table).arguments([given]) == [{"symbol": "AAPL", "price": 187.2}]
    assert one(model).arguments([given]) == [price]
    assert one(whole).arguments([given]) == one(plain).arguments([given]) == [given]
    assert one(optional).arguments([message(0, None)]) == [None]
    assert one(both).arguments([given])[1] is given


@pytest.mark.parametrize(
    ("annotation", "body", "reason"),
    [
        (str, b"\xff", "not UTF-8"),
        (dict, b"{", "not JSON"),
        (dict, b"[1]", "a JSON list, not an object"),
        (Price, b'{"symbol": "AAPL"}', "not a Price: price: Field required"),
        (Price, b"nothing", "not a Price"),
        (bytes, None, "body is null"),
    ],
)
def test_a_body_that_does_not_decode_says_why(annotation: type, body: bytes | None, reason: str) -> None:
    def handler(value: Any) -> None: ...

    handler.__annotations__["value"] = annotation
    with pytest.raises(PayloadError, match=reason):
        one(handler).arguments([message(0, body)])


def test_batch_handlers_get_lists() -> None:
    def texts(bodies: list[str], whole: list[Message]) -> None: ...

    assert one(texts).batch == 100
    definition = one(message_handler(batch=7)(texts))
    assert definition.batch == 7
    given = [message(0, b"a"), message(1, b"b")]
    assert definition.arguments(given) == [["a", "b"], given]


def test_a_class_has_its_handler_its_errors_and_its_policy() -> None:
    @consumer(topic="t", group="g", start="latest", credit=7, concurrency=2)
    @retry_policy(attempts=5, initial=1, factor=3, max=9)
    class Watch:
        @message_handler
        async def handle(self, body: bytes) -> None: ...

        @error_handler
        def failed(self, message: Message, error: Exception) -> ErrorAction:
            return ErrorAction.SKIP

    definition = define(Watch)
    assert definition.name.endswith("Watch")
    assert definition.policy == RetryPolicy(attempts=5, initial=1, factor=3, max=9)
    assert definition.is_async
    assert definition.on_error is not None
    assert definition.on_error_arguments == 2
    assert (definition.mark.start, definition.mark.credit, definition.mark.concurrency) == ("latest", 7, 2)


def test_the_handlers_policy_wins_over_the_class_and_the_default_is_three_attempts() -> None:
    class Watch:
        @retry_policy(attempts=9)
        @message_handler
        def handle(self, body: bytes) -> None: ...

    assert one(retry_policy(attempts=2)(Watch)).policy.attempts == 9
    assert one(lambda message: None).policy == RetryPolicy(attempts=3, initial=0.1, factor=2, max=10)


def _several() -> Any:
    class Several:
        @message_handler
        def one(self, body: bytes) -> None: ...
        @message_handler
        def two(self, body: bytes) -> None: ...

    return Several


def _without() -> Any:
    class Without:
        pass

    return Without


def _with_arguments() -> Any:
    class Needs:
        def __init__(self, what: int) -> None: ...
        @message_handler
        def one(self, body: bytes) -> None: ...

    return Needs


def _number(body: int) -> None: ...
def _three(one: bytes, two: Message, three: int) -> None: ...
def _second(one: bytes, two: bytes) -> None: ...
def _unresolved(one: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821, UP037


@pytest.mark.parametrize(
    ("handler", "told"),
    [
        (_several(), "2 methods with @message_handler (one, two): keep one"),
        (_without(), "has no handler: mark one method with @message_handler"),
        (_with_arguments(), "must need no arguments"),
        (_number, "cannot decode a body into int"),
        (_three, "takes 3 parameters"),
        (_second, "the second parameter is the message"),
        (_unresolved, "annotation cannot be resolved: name 'Nowhere'"),
    ],
)
def test_what_cannot_be_run_is_told_with_the_fix(handler: Any, told: str) -> None:
    with pytest.raises(ConsumerError) as failure:
        one(handler)
    assert told in str(failure.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"topic": ""},
        {"group": ""},
        {"delivery": "both"},
        {"credit": 0},
        {"concurrency": 0},
        {"start": "noon"},
        {"start": -1},
    ],
)
def test_marks_are_checked_where_they_are_written(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConsumerError):
        consumer(**{"topic": "t", "group": "g"} | wrong)
    with pytest.raises(ConsumerError, match="attempts is 0"):
        retry_policy(attempts=0)
    with pytest.raises(ConsumerError, match="at least 1"):
        message_handler(batch=0)


# --- modules -------------------------------------------------------------------------------------------------------


def write(directory: Path, text: str, name: str) -> str:
    path = directory / name
    path.write_text(textwrap.dedent(text))
    return str(path)


def test_consumers_are_found_in_a_file(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        from __future__ import annotations
        from penstock import consumer
        from pydantic import BaseModel

        class Order(BaseModel):
            number: int

        @consumer(topic="orders", group="count")
        def count(order: Order) -> None: ...

        @consumer(topic="orders", group="log")
        async def log(body: bytes) -> None: ...
        """,
        "found_orders.py",
    )
    assert [definition.name for definition in discover([path])] == ["found_orders.count", "found_orders.log"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = 1", "has no consumers"),
        ("import nowhere_at_all", "No module named 'nowhere_at_all'"),
        ("raise RuntimeError('no database')", "RuntimeError: no database"),
        (
            "from penstock import consumer\n"
            "@consumer(topic='a', group='g')\ndef one(m): ...\n@consumer(topic='b', group='g')\ndef two(m): ...\n",
            "both of group g",
        ),
    ],
)
def test_modules_that_cannot_be_run(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConsumerError) as failure:
        discover([write(tmp_path, text, f"bad_{abs(hash(text))}.py")])
    assert told in str(failure.value)


def test_modules_that_are_not_there() -> None:
    with pytest.raises(ConsumerError, match="there is no module nowhere_at_all"):
        discover(["nowhere_at_all"])
    with pytest.raises(ConsumerError, match="there is no file"):
        discover(["nowhere/at_all.py"])
