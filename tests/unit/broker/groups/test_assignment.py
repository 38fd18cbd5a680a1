"""The assignments of members, as far as they can be decoded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.broker.groups.embedded_protocol import assigned_partitions


def encoded(topics: dict[str, list[int]]) -> bytes:
    out = b"\x00\x01" + len(topics).to_bytes(4, "big")
    for name, indexes in topics.items():
        out += len(name.encode()).to_bytes(2, "big") + name.encode()
        out += len(indexes).to_bytes(4, "big") + b"".join(index.to_bytes(4, "big") for index in indexes)
    return out + b"\xff\xff\xff\xff"


@given(
    st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=20), st.lists(st.integers(0, 1 << 30), max_size=5))
)
def test_round_trip(topics: dict[str, list[int]]) -> None:
    assert assigned_partitions("consumer", encoded(topics)) == topics


@given(st.binary(max_size=60))
def test_bytes_that_nobody_vouches_for(assignment: bytes) -> None:
    assigned_partitions("consumer", assignment)


def test_other_protocols_are_not_ours_to_read() -> None:
    assert assigned_partitions("connect", encoded({"a": [1]})) is None
    assert assigned_partitions("consumer", b"") is None
