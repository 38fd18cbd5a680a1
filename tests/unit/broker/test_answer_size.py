"""Answers that would be too large."""

import pytest

from penstock.broker.answers.answer_size import AnswerSize
from penstock.model.limits import ANSWER_BYTES_MAX, ANSWER_BYTES_UNDER_PRESSURE
from penstock.net.flow_control import FlowControl
from penstock.protocol.kafka.primitives import MalformedRequest


@pytest.mark.feature("F-06")
@pytest.mark.parametrize(
    ("backlog_bytes", "most"), [(0, ANSWER_BYTES_MAX), (140 << 20, 52 << 20), (400 << 20, ANSWER_BYTES_UNDER_PRESSURE)]
)
def test_an_answer_is_bounded_and_more_so_while_clients_do_not_read(backlog_bytes: int, most: int) -> None:
    flow = FlowControl(512 << 20)
    flow.change(backlog_bytes)
    size = AnswerSize(flow)
    size.add(most // 2)
    size.add(most // 2)
    with pytest.raises(MalformedRequest, match="ask for less"):
        size.add(1)
