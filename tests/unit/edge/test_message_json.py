"""How messages look in answers: JSON as it is, text, base64."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.edge.http.bodies import MessageBody, MessagesBody
from penstock.edge.http.message_json import message_json, page_json, shown_body, shown_time
from penstock.edge.messages import Place, Stored

pytestmark = pytest.mark.feature("P-13")


@pytest.mark.parametrize(
    ("body", "shown", "encoding"),
    [
        (None, "null", "null"),
        (b"", '""', "text"),
        (b'{"price": 227.50}', '{"price": 227.50}', "json"),
        (b"123456789012345678901234567890.10", "123456789012345678901234567890.10", "json"),
        (b" [1]\n", " [1]\n", "json"),
        (b'"\\ud800"', '"\\ud800"', "json"),
        (b"null", "null", "json"),
        (b"NaN", '"NaN"', "text"),
        (b"-Infinity", '"-Infinity"', "text"),
        (b"1e999", '"1e999"', "text"),
        (b"[" * 100_000, json.dumps("[" * 100_000), "text"),
        (b"9" * 5000, json.dumps("9" * 5000), "text"),
        (b'{"a":1} {"b":2}', json.dumps('{"a":1} {"b":2}'), "text"),
        (b'{"a":1', json.dumps('{"a":1'), "text"),
        ("AAPL ä".encode(), '"AAPL \\u00e4"', "text"),
        (b"\xff\xfe", '"//4="', "base64"),
        ('{"a":1}'.encode("utf-16"), '"//57ACIAYQAiADoAMQB9AA=="', "base64"),
    ],
)
def test_bodies(body: bytes | None, shown: str, encoding: str) -> None:
    assert shown_body(body) == (shown, encoding)


headers = st.lists(st.tuples(st.text(), st.none() | st.binary()), max_size=3).map(tuple)
stored = st.builds(
    Stored,
    st.integers(0, 1 << 62),
    st.builds(Place, st.integers(0, 1 << 30), st.integers(0, 1 << 62)),
    st.integers(-1, (1 << 63) - 1),
    st.none() | st.binary(),
    st.none() | st.binary() | st.text().map(lambda text: json.dumps(text).encode()),
    headers,
)


@given(stored)
def test_a_message_is_what_its_schema_says(message: Stored) -> None:
    body = MessageBody.model_validate(json.loads(message_json(message)))
    assert (body.offset, body.partition, body.source_offset) == (message.offset, *message.place)
    assert len(body.properties) == len(message.headers)


@given(st.lists(stored, max_size=3), st.text(), st.booleans())
def test_a_page_is_what_its_schema_says(messages: list[Stored], cursor: str, more: bool) -> None:
    page = MessagesBody.model_validate(json.loads(page_json(messages, cursor, more=more)))
    assert (len(page.messages), page.cursor, page.more) == (len(messages), cursor, more)


def test_times() -> None:
    assert shown_time(0) == "1970-01-01T00:00:00.000Z"
    assert shown_time(-1) is None
    assert shown_time((1 << 63) - 1) is None
