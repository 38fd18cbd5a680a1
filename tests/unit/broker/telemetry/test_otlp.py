"""Decoding of pushed bytes: names, labels, kinds, and everything that is refused or left out."""

import math
import time

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint

from penstock.broker.telemetry.otlp import Point, Push, decode_push
from penstock.model.compression import CODEC_NAMES, GZIP, LZ4, NONE, SNAPPY, ZSTD, compress
from penstock.model.errors import ErrorCode, KafkaError
from tests.support.metrics_data import gauge, metrics_data, point, total, unsigned

pytestmark = pytest.mark.feature("F-01")

LIMIT = 4 << 20


def decoded(*metrics: Metric, **resource: str) -> Push:
    return decode_push(NONE, metrics_data(*metrics, **resource), LIMIT, 100)


def refusal(codec: int, payload: bytes) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        decode_push(codec, payload, LIMIT, 100)
    return refused.value.code


def test_gauges_and_sums() -> None:
    push = decoded(
        gauge("org.apache.kafka.producer.record.queue.time.avg", point(1.5)),
        total("org.apache.kafka.producer.topic.record.send.total", point(7, topic="a"), point(8, topic="b")),
        total("org.apache.kafka.producer.node.bytes", point(9), delta=False),
        total("my.app.queue", point(-2), monotonic=False),
        group_id="g",
    )
    assert push.points == [
        Point("kafka_client_producer_record_queue_time_avg", "", False, False, 1.5),
        Point("kafka_client_producer_topic_record_send_total", 'topic="a"', True, True, 7),
        Point("kafka_client_producer_topic_record_send_total", 'topic="b"', True, True, 8),
        Point("kafka_client_producer_node_bytes_total", "", True, False, 9),
        Point("kafka_client_my_app_queue", "", False, True, -2),
    ]
    assert (push.resource, push.unusable) == ({"group_id": "g"}, 0)


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_every_codec(codec: int) -> None:
    payload = bytes(compress(codec, metrics_data(gauge("a", point(1)))))
    assert decode_push(codec, payload, LIMIT, 100).points == [Point("kafka_client_a", "", False, False, 1)]


def test_labels_are_sorted_and_escaped() -> None:
    push = decoded(gauge("a", point(1, **{"z.y": 'q"\\\n', "1st": "x", "client_id": "forged", "b": "é"})))
    assert push.points[0].labels == '_1st="x",b="é",z_y="q\\"\\\\\\n"'


def test_values_that_labels_cannot_have() -> None:
    kinds = {"i": AnyValue(int_value=3), "t": AnyValue(bool_value=True), "l": AnyValue(array_value=ArrayValue())}
    where = [KeyValue(key=key, value=value) for key, value in kinds.items()]
    metric = Metric(name="a", gauge=Gauge(data_points=[NumberDataPoint(as_int=1, attributes=where)]))
    assert decoded(metric).points[0].labels == 'i="3",t="true"'


def test_long_labels_are_cut_and_too_many_are_left_out() -> None:
    cut = decoded(gauge("a", point(1, topic="t" * 5_000, **{"k" * 100: "v"}))).points[0]
    assert cut.labels == f'topic="{"t" * 256}"'
    many = decoded(gauge("a", point(1, **{f"k{number:03}": "v" for number in range(100)}))).points[0]
    assert many.labels.count("=") == 16
    wide = decoded(gauge("a", point(1, **{f"k{number}": "v" * 256 for number in range(16)})))
    assert (wide.points, wide.unusable) == ([], 1)


def test_what_cannot_be_shown_is_counted() -> None:
    histogram = Metric(name="h", histogram=Histogram(data_points=[HistogramDataPoint(count=1)]))
    nothing = Metric(name="n", gauge=Gauge(data_points=[NumberDataPoint(), NumberDataPoint(as_int=1, flags=1)]))
    push = decoded(
        histogram,
        nothing,
        gauge("", point(1)),
        gauge("x" * 201, point(1)),
        total("d", point(math.inf), point(math.nan)),
    )
    assert (push.points, push.unusable) == ([], 7)
    assert math.isnan(decoded(gauge("g", point(math.nan))).points[0].value)


def test_no_more_points_come_back_than_are_wanted() -> None:
    payload = metrics_data(gauge("a", *(point(1, topic=str(each)) for each in range(70))), gauge("b", *[point(1)] * 70))
    push = decode_push(NONE, payload, LIMIT, 100)
    assert (len(push.points), push.unusable) == (100, 40)


def test_nothing_pushed() -> None:
    assert decode_push(NONE, b"", LIMIT, 100) == Push([], {}, 0)


@pytest.mark.parametrize("codec", range(len(CODEC_NAMES)))
def test_bytes_that_are_no_metrics(codec: int) -> None:
    assert refusal(codec, b"garbage") is ErrorCode.INVALID_RECORD


def test_deep_nesting_is_no_metrics() -> None:
    value = b""
    for _ in range(200):
        array = b"\x0a" + unsigned(len(value)) + value  # ArrayValue.values
        value = b"\x2a" + unsigned(len(array)) + array  # AnyValue.array_value
    deep = b"\x12" + unsigned(len(value)) + value  # KeyValue.value
    for field in (b"\x3a", b"\x0a", b"\x2a", b"\x12", b"\x12", b"\x0a"):  # … up to MetricsData.resource_metrics
        deep = field + unsigned(len(deep)) + deep
    assert refusal(NONE, deep) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_bombs(codec: int) -> None:
    bomb = bytes(compress(codec, bytes(LIMIT + 1)))
    assert refusal(codec, bomb) is ErrorCode.TELEMETRY_TOO_LARGE


def test_too_many_points() -> None:
    """Of one metric or of many, even empty ones: refused at once, whatever their number."""
    one = Metric(name="a", gauge=Gauge(data_points=[NumberDataPoint()] * 500_000))
    many = metrics_data(*([Metric()] * 500_000))
    nothing = b"\x0a\x00" * 500_000
    begun = time.process_time()
    assert refusal(NONE, metrics_data(one)) is ErrorCode.TELEMETRY_TOO_LARGE
    assert refusal(NONE, many) is ErrorCode.TELEMETRY_TOO_LARGE
    assert refusal(NONE, nothing) is ErrorCode.TELEMETRY_TOO_LARGE
    assert time.process_time() - begun < 5
