"""A message that kills its members becomes a dead letter alone, without the messages in flight beside it."""

from __future__ import annotations

import pytest

from tests.push.shop import Shop
from tests.support.metrics_page import metric
from tests.support.penstock_process import PenstockProcess

pytestmark = pytest.mark.feature("P-08", "P-28")

CONFIG = """\
push:
  ack_timeout_ms: 60000
"""


def test_only_the_bad_one_dies(node: PenstockProcess, topic: str) -> None:
    shop = Shop(node, topic)
    shop.publish(b"bad", *[b"good %d" % number for number in range(30)])
    counts: list[int] = []
    while metric(node, "penstock_push_dead_letters_total") == 0 and len(counts) < 20:
        counts.append(shop.crash().delivery_count)
        if len(counts) == 10:
            (letter,) = shop.wait_for_dead_letters()
    assert counts == list(range(1, 11))
    assert (letter.value, dict(letter.headers)["dead-letter-deliveries"]) == (b"bad", b"10")
    with shop.member() as survivor:
        bodies: list[bytes] = []
        while len(bodies) < 30:
            data = survivor.data()
            survivor.acknowledge(data)
            bodies += [item.body or b"" for item in data.items]
        assert sorted(bodies) == sorted(b"good %d" % number for number in range(30))
        shop.wait_until_done(31)
    assert len(shop.dead_letters()) == 1
