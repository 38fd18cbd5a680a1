"""OpenTelemetry's MetricsData as clients push it, built by hand for tests."""

from collections.abc import Mapping

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AggregationTemporality,
    Gauge,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

DELTA = AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA
CUMULATIVE = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE


def attributes(values: Mapping[str, str]) -> list[KeyValue]:
    return [KeyValue(key=key, value=AnyValue(string_value=value)) for key, value in values.items()]


def point(value: float, **labels: str) -> NumberDataPoint:
    where = attributes(labels)
    if isinstance(value, int):
        return NumberDataPoint(as_int=value, attributes=where)
    return NumberDataPoint(as_double=value, attributes=where)


def gauge(name: str, *points: NumberDataPoint) -> Metric:
    return Metric(name=name, gauge=Gauge(data_points=points))


def total(name: str, *points: NumberDataPoint, delta: bool = True, monotonic: bool = True) -> Metric:
    temporality = DELTA if delta else CUMULATIVE
    return Metric(name=name, sum=Sum(data_points=points, aggregation_temporality=temporality, is_monotonic=monotonic))


def metrics_data(*metrics: Metric, **resource: str) -> bytes:
    scope = ScopeMetrics(metrics=metrics)
    one = ResourceMetrics(resource=Resource(attributes=attributes(resource)), scope_metrics=[scope])
    return MetricsData(resource_metrics=[one]).SerializeToString()


def unsigned(value: int) -> bytes:
    """A number as protobuf writes lengths, for messages that its own package refuses to build."""
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
