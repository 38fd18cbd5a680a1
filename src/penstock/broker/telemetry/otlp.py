"""From a push to series: OpenTelemetry's MetricsData, unpacked, decoded and turned into Prometheus' names.

Runs in the record worker, never on the event loop, and only there is opentelemetry's package loaded. Bytes of a client
are not trusted: the content of a push is bounded in bytes, points, labels and lengths before it is sent back.

    org.apache.kafka.producer.record.send.total   →   kafka_client_producer_record_send_total
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from penstock.model.compression import DecompressedTooLarge, decompress
from penstock.model.errors import ErrorCode, KafkaError
from penstock.model.limits import TELEMETRY_POINTS_MAX
from penstock.observability.labels import quoted

if TYPE_CHECKING:
    from opentelemetry.proto.common.v1.common_pb2 import KeyValue
    from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, MetricsData, NumberDataPoint

PREFIX: Final = "kafka_client_"
_KAFKA_PREFIX: Final = "org.apache.kafka."
_OTHER: Final = re.compile(r"[^a-zA-Z0-9_]+")
NAME_LENGTH_MAX: Final = 200
LABELS_MAX: Final = 16
LABEL_NAME_LENGTH_MAX: Final = 64
LABEL_VALUE_LENGTH_MAX: Final = 256
LABELS_LENGTH_MAX: Final = 1_024  # of one series: what its memory is bounded by
_DELTA: Final = 1
_NO_VALUE: Final = 1  # the flag of a point that only says that nothing was recorded
# Labels that the broker gives every series.
RESERVED_LABELS: Final = frozenset({"client_instance_id", "client_id"})


class Point(NamedTuple):
    """One value. `labels` is text as it stands on the metrics page, without braces; a delta is to be added up."""

    family: str
    labels: str
    is_counter: bool
    is_delta: bool
    value: int | float


class Push(NamedTuple):
    """The content of one push. `resource` are labels of the client itself, such as its group."""

    points: list[Point]
    resource: dict[str, str]
    unusable: int  # points that cannot be shown or are too many, and metrics that are neither gauge nor sum


def decode_push(codec: int, payload: bytes | bytearray, unpacked_bytes_max: int, points_max: int) -> Push:
    """Decode a push, at most `points_max` points: the result is handled on the event loop.

    Raises KafkaError: INVALID_RECORD if it is not a MetricsData, TELEMETRY_TOO_LARGE if it is too large.
    """
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData

    unpacked = _unpacked(codec, payload, unpacked_bytes_max)
    try:
        data = MetricsData.FromString(unpacked)
    except DecodeError as error:
        raise KafkaError(ErrorCode.INVALID_RECORD, f"not a MetricsData: {error}") from None
    points: list[Point] = []
    seen = unusable = 0
    for metric in _metrics(data):
        found = _number_points(metric)
        seen += len(found)
        _check_count(seen)
        usable = list(islice(_points(metric, found), points_max - len(points)))
        unusable += max(1, len(found)) - len(usable)
        points += usable
    attributes = data.resource_metrics[0].resource.attributes if data.resource_metrics else ()
    return Push(points, _labels(attributes), unusable)


def _unpacked(codec: int, payload: bytes | bytearray, limit: int) -> bytes:
    try:
        return bytes(decompress(codec, payload, limit))
    except DecompressedTooLarge as error:
        raise KafkaError(ErrorCode.TELEMETRY_TOO_LARGE, str(error)) from None
    except KafkaError as error:
        raise KafkaError(ErrorCode.INVALID_RECORD, str(error)) from None


def _metrics(data: MetricsData) -> Iterator[Metric]:
    """All metrics. What holds none is counted, too: an empty message takes two bytes of a push."""
    seen = len(data.resource_metrics)
    _check_count(seen)
    for resource in data.resource_metrics:
        seen += len(resource.scope_metrics)
        _check_count(seen)
        for scope in resource.scope_metrics:
            seen += len(scope.metrics)
            _check_count(seen)
            yield from scope.metrics


def _check_count(seen: int) -> None:
    if seen > TELEMETRY_POINTS_MAX:
        raise KafkaError(ErrorCode.TELEMETRY_TOO_LARGE, f"more than {TELEMETRY_POINTS_MAX} points")


def _number_points(metric: Metric) -> Sequence[NumberDataPoint]:
    """The points of a gauge or a sum; none for other kinds."""
    kind = metric.WhichOneof("data")
    found: Sequence[NumberDataPoint] = ()
    if kind == "gauge":
        found = metric.gauge.data_points
    elif kind == "sum":
        found = metric.sum.data_points
    return found


def _points(metric: Metric, found: Sequence[NumberDataPoint]) -> Iterator[Point]:
    is_sum = metric.HasField("sum")
    is_counter = is_sum and metric.sum.is_monotonic
    is_delta = is_sum and metric.sum.aggregation_temporality == _DELTA
    family = _family(metric.name, is_counter)
    if family is None:
        return
    for point in found:
        value = _value(point)
        labels = label_text(_labels(point.attributes))
        if value is None or len(labels) > LABELS_LENGTH_MAX or (is_delta and not math.isfinite(value)):
            continue
        yield Point(family, labels, is_counter, is_delta, value)


def _value(point: NumberDataPoint) -> int | float | None:
    if point.flags & _NO_VALUE:
        return None
    kind = point.WhichOneof("value")
    if kind == "as_int":
        return point.as_int
    return point.as_double if kind == "as_double" else None


def _family(name: str, is_counter: bool) -> str | None:
    """The name on the metrics page; None if it cannot be named."""
    if not 0 < len(name) <= NAME_LENGTH_MAX:
        return None
    family = PREFIX + _OTHER.sub("_", name.removeprefix(_KAFKA_PREFIX)).strip("_")
    return f"{family}_total" if is_counter and not family.endswith("_total") else family


def _labels(attributes: Iterable[KeyValue]) -> dict[str, str]:
    """Names and values as the metrics page has them."""
    labels: dict[str, str] = {}
    for attribute in attributes:
        if len(labels) == LABELS_MAX:
            break
        name = _label_name(attribute.key)
        value = _label_value(attribute)
        if name and value is not None:
            labels.setdefault(name, value)
    return labels


def label_text(labels: Mapping[str, str]) -> str:
    """name="value" pairs in the order of their names, so that the same labels are the same text."""
    return ",".join(f'{name}="{value}"' for name, value in sorted(labels.items()))


def _label_name(key: str) -> str:
    if not 0 < len(key) <= LABEL_NAME_LENGTH_MAX:
        return ""
    name = _OTHER.sub("_", key).strip("_")
    if not name or name in RESERVED_LABELS:
        return ""
    return f"_{name}" if name[0].isdigit() else name


def _label_value(attribute: KeyValue) -> str | None:
    kind = attribute.value.WhichOneof("value")
    if kind == "string_value":
        text = attribute.value.string_value
    elif kind in ("int_value", "double_value", "bool_value"):
        text = str(getattr(attribute.value, kind)).lower()
    else:
        return None
    return quoted(text[:LABEL_VALUE_LENGTH_MAX])
