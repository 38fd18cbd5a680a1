"""Formats: what goes in comes out; what is not theirs is refused, and never taken for something else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from penstock.sdk import Avro, Bytes, Json, Model, Text

pytestmark = pytest.mark.feature("K-04")

TEXT = st.text(st.characters(exclude_categories=["Cs"]))  # half of a surrogate pair is no text
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda children: st.lists(children) | st.dictionaries(TEXT, children),
    max_leaves=10,
)
TRADE = {
    "type": "record",
    "name": "Trade",
    "fields": [
        {"name": "symbol", "type": "string"},
        {"name": "cents", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ],
}
TRADES = st.fixed_dictionaries(
    {
        "symbol": TEXT,
        "cents": st.integers(-(1 << 63), (1 << 63) - 1),
        "note": st.none() | TEXT,
        "tags": st.lists(TEXT, max_size=3),
    }
)


class Trade(BaseModel):
    symbol: str
    cents: int
    note: str | None = None
    tags: list[str] = []


@given(st.binary())
def test_bytes(value: bytes) -> None:
    assert Bytes().deserialize(Bytes().serialize(value)) == value
    assert Bytes().serialize(memoryview(value)) == value


@given(TEXT)
def test_text(value: str) -> None:
    assert Text().deserialize(Text().serialize(value)) == value


@given(JSON)
def test_json(value: Any) -> None:
    data = Json().serialize(value)
    assert Json().deserialize(data) == value
    assert json.loads(data.decode()) == value


@given(TRADES)
def test_models_and_avro(value: dict[str, Any]) -> None:
    avro, model = Avro(TRADE), Model(Trade)
    assert model.deserialize(model.serialize(Trade(**value))) == Trade(**value)
    assert avro.deserialize(avro.serialize(value)) == value


@given(TRADES, st.data())
def test_avro_that_was_cut_off_is_refused(value: dict[str, Any], data: st.DataObject) -> None:
    avro = Avro(TRADE)
    encoded = avro.serialize({**value, "note": None})
    length = data.draw(st.integers(0, len(encoded) - 1))
    with pytest.raises((EOFError, ValueError, IndexError)):
        avro.deserialize(encoded[:length])


@given(st.binary(max_size=60))
def test_whatever_avro_reads_it_would_have_written(data: bytes) -> None:
    """Arbitrary bytes are refused, or are a trade."""
    avro = Avro(TRADE)
    try:
        found = avro.deserialize(data)
    except Exception:
        return
    assert avro.deserialize(avro.serialize(found)) == found
