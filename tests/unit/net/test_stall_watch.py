"""The time that an HTTP client may take, by a clock that is set by hand."""

import pytest

from penstock.net.http.stall_watch import BYTES_PER_SECOND_MIN, HttpTimes, StallWatch, Waiting

pytestmark = pytest.mark.feature("F-06")

TIMES = HttpTimes(header_s=10.0, idle_s=5.0, stall_s=30.0)
REQUEST = object()


@pytest.fixture
def watch() -> StallWatch:
    return StallWatch(TIMES, 0.0)


def test_a_header_has_its_time_whatever_arrives(watch: StallWatch) -> None:
    assert not watch.is_overdue(1.0, Waiting.HEADER, None, 0)
    assert not watch.is_overdue(11.0, Waiting.HEADER, None, 100_000)
    assert watch.is_overdue(11.1, Waiting.HEADER, None, 200_000)


def test_each_request_has_a_header_of_its_own(watch: StallWatch) -> None:
    assert not watch.is_overdue(1.0, Waiting.HEADER, None, 0)
    assert not watch.is_overdue(12.0, Waiting.HEADER, REQUEST, 0)
    assert not watch.is_overdue(13.0, Waiting.HEADER, REQUEST, 0)


@pytest.mark.parametrize("waiting", [Waiting.BODY, Waiting.ANSWER])
def test_bodies_and_answers_have_a_least_rate(watch: StallWatch, waiting: Waiting) -> None:
    assert not watch.is_overdue(0.0, waiting, REQUEST, 0)
    for second in range(10, 300, 10):
        assert not watch.is_overdue(second, waiting, REQUEST, second * BYTES_PER_SECOND_MIN)
    assert watch.is_overdue(310, waiting, REQUEST, 299 * BYTES_PER_SECOND_MIN)


def test_time_in_which_the_client_has_nothing_to_do_does_not_count(watch: StallWatch) -> None:
    assert not watch.is_overdue(0.0, Waiting.BODY, REQUEST, 0)
    assert not watch.is_overdue(29.0, Waiting.NOTHING, REQUEST, 0)
    assert not watch.is_overdue(31.0, Waiting.BODY, REQUEST, 0)
    assert not watch.is_overdue(60.0, Waiting.BODY, REQUEST, 0)
    assert watch.is_overdue(61.0, Waiting.BODY, REQUEST, 0)
