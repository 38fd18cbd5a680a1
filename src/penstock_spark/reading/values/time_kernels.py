"""Compiled loops from text to dates and times, as Spark casts strings.

    date   2026-11-16   2026-11   2026           also with a sign, with one digit for a month or a day
    time   2026-11-16 09:30:00.123456+01:00      a T or a blank between; seconds, fraction and zone may be missing

Zones are `Z`, `UTC`, `GMT` or an offset such as `+01:00`, `+0100`, `+1`; the default is UTC. Digits of a fraction after
the sixth are cut off. Names of regions are not supported.
"""

from __future__ import annotations

import numpy as np

from penstock_spark.arrays import Bytes, Flags, Ints, Longs
from penstock_spark.compiled import compiled, inlined
from penstock_spark.reading.values.spans import NULL

_DAY_S = 86_400
_MICROS = 1_000_000
_OFFSET_MAX_S = 18 * 3600


@inlined
def _digits(data: Bytes, at: int, end: int, most: int) -> tuple[int, int]:
    """Read up to `most` digits: (number, position behind it)."""
    value, stop = 0, min(end, at + most)
    while at < stop and 48 <= data[at] <= 57:
        value = value * 10 + (int(data[at]) - 48)
        at += 1
    return value, at


@inlined
def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01, by the proleptic Gregorian calendar. Years are counted from March on."""
    year -= month <= 2
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


@inlined
def _is_date(year: int, month: int, day: int) -> bool:
    if month < 1 or month > 12 or day < 1 or day > 31:
        return False
    if month == 2:
        is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        return day <= 28 + is_leap
    return day <= 30 + (month + (month > 7)) % 2


@inlined
def _date(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Read a date: (days, position behind it); the position is -1 if it is malformed."""
    is_negative = at < end and data[at] == 45
    if at < end and (data[at] == 45 or data[at] == 43):
        at += 1
    year, after = _digits(data, at, end, 6)
    if after - at < 4:
        return 0, -1
    month = day = 1
    if after < end and data[after] == 45:
        at = after + 1
        month, after = _digits(data, at, end, 2)
        if after == at:
            return 0, -1
        if after < end and data[after] == 45:
            at = after + 1
            day, after = _digits(data, at, end, 2)
            if after == at:
                return 0, -1
    year = -year if is_negative else year
    if not _is_date(year, month, day):
        return 0, -1
    return _days(year, month, day), after


@inlined
def _clock(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """Read `9:30[:00[.5]]`: (microseconds of the day, position behind it); the position is -1 if it is malformed."""
    hour, after = _digits(data, at, end, 2)
    if after == at or hour > 23 or after >= end or data[after] != 58:
        return 0, -1
    at = after + 1
    minute, after = _digits(data, at, end, 2)
    if after == at or minute > 59:
        return 0, -1
    second = micros = 0
    if after < end and data[after] == 58:
        at = after + 1
        second, after = _digits(data, at, end, 2)
        if after == at or second > 59:
            return 0, -1
        if after < end and data[after] == 46:
            at = after + 1
            micros, after = _digits(data, at, end, 6)
            for _ in range(6 - (after - at)):
                micros *= 10
            while after < end and 48 <= data[after] <= 57:
                after += 1
    return (hour * 3600 + minute * 60 + second) * _MICROS + micros, after


@inlined
def _zone(data: Bytes, at: int, end: int) -> tuple[int, bool]:
    """Read a zone from the rest of the text: (seconds ahead of UTC, is valid)."""
    if at < end and data[at] == 32:
        at += 1
    size = end - at
    if size == 1 and data[at] == 90:
        return 0, True
    if size == 3 and (
        (data[at] == 85 and data[at + 1] == 84 and data[at + 2] == 67)
        or (data[at] == 71 and data[at + 1] == 77 and data[at + 2] == 84)
    ):
        return 0, True
    if size < 2 or (data[at] != 43 and data[at] != 45):
        return 0, False
    sign = 1 if data[at] == 43 else -1
    hours, after = _digits(data, at + 1, end, 2)
    minutes = 0
    if after == at + 1:
        return 0, False
    if after < end:
        at = after + 1 if data[after] == 58 else after
        minutes, after = _digits(data, at, end, 2)
        if after == at:
            return 0, False
    offset = hours * 3600 + minutes * 60
    return sign * offset, after == end and minutes < 60 and offset <= _OFFSET_MAX_S


@compiled
def dates(data: Bytes, starts: Ints, ends: Ints, kinds: Bytes, allowed: int, out: Ints, wrong: Flags) -> None:
    """Parse dates; a time may follow, and is ignored."""
    for row in range(len(starts)):
        kind = np.int64(kinds[row])
        days, after = 0, 0
        if kind != NULL:
            end = ends[row]
            days, after = _date(data, starts[row], end)
            if (allowed >> kind) & 1 == 0 or (0 <= after < end and data[after] != 32 and data[after] != 84):
                after = -1
        out[row] = days
        wrong[row] = after < 0


@compiled
def times(
    data: Bytes, starts: Ints, ends: Ints, kinds: Bytes, allowed: int, has_zone: bool, out: Longs, wrong: Flags
) -> None:
    """Parse times as microseconds since 1970. Without `has_zone` they are local times, and a zone is invalid."""
    for row in range(len(starts)):
        kind, end = np.int64(kinds[row]), ends[row]
        out[row], wrong[row] = 0, False
        if kind == NULL:
            continue
        days, after = _date(data, starts[row], end)
        micros, offset, is_right = 0, 0, after >= 0 and (allowed >> kind) & 1 == 1
        if is_right and after < end:
            is_right = data[after] == 32 or data[after] == 84
            if is_right:
                micros, after = _clock(data, after + 1, end)
                is_right = after >= 0
            if is_right and after < end:
                offset, is_right = _zone(data, after, end)
                is_right = is_right and has_zone
        wrong[row] = not is_right
        if is_right:
            out[row] = (days * _DAY_S - offset) * _MICROS + micros
