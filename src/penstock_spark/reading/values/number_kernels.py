"""Compiled loops from text to numbers.

A number that the fast path cannot convert exactly is marked HARD; there are so few of them that slower code may convert
them.
"""

from __future__ import annotations

import numpy as np

from penstock_spark.arrays import Bytes, Flags, Ints, Longs
from penstock_spark.compiled import compiled, inlined
from penstock_spark.reading.values.spans import NULL

FINE, WRONG, HARD = range(3)
LONG_MIN = -(1 << 63)
_LAST_BUT_ONE = LONG_MIN // 10 + 1  # ten times this minus 8 is LONG_MIN
_EXACT = 1 << 53
_DIGITS_MAX = 18
_POWERS = 10.0 ** np.arange(23)
_WHOLE_POWERS = 10 ** np.arange(19, dtype=np.int64)
_EXPONENT_MAX = 100_000
_NAN, _INFINITY, _INF, _INF_OF_CSV = (np.array(list(word)) for word in (b"NaN", b"Infinity", b"INF", b"Inf"))


@inlined
def _integer(data: Bytes, at: int, end: int) -> tuple[int, bool]:
    """Parse an integer. It counts down from 0, since there is one more negative number."""
    is_negative = at < end and data[at] == 45
    if at < end and (data[at] == 45 or data[at] == 43):
        at += 1
    if at >= end:
        return 0, False
    value = 0
    while at < end:
        digit = int(data[at]) - 48
        if digit < 0 or digit > 9 or value < _LAST_BUT_ONE or (value == _LAST_BUT_ONE and digit > 8):
            return 0, False
        value = value * 10 - digit
        at += 1
    if is_negative:
        return value, True
    return -value, value != LONG_MIN


@compiled
def integers(
    data: Bytes, starts: Ints, ends: Ints, kinds: Bytes, allowed: int, low: int, high: int, out: Longs, wrong: Flags
) -> None:
    """Parse integers. `allowed` is a set of kinds, by bit."""
    for row in range(len(starts)):
        kind = np.int64(kinds[row])
        value, is_right = 0, True
        if kind != NULL:
            value, is_right = _integer(data, starts[row], ends[row])
            is_right = is_right and (allowed >> kind) & 1 == 1 and low <= value <= high
        out[row] = value if is_right else 0
        wrong[row] = not is_right


@inlined
def _number(data: Bytes, at: int, end: int) -> tuple[int, int, bool, int]:
    """Parse `-12.5e3`: (digits as a number, power of ten, is negative, state); HARD if it has too many digits."""
    is_negative = at < end and data[at] == 45
    if at < end and (data[at] == 45 or data[at] == 43):
        at += 1
    mantissa, power, digits, state = 0, 0, 0, FINE
    is_fraction = is_number = False
    while at < end:
        digit = int(data[at]) - 48
        if digit == -2 and not is_fraction:
            is_fraction = True
        elif digit < 0 or digit > 9:
            break
        else:
            is_number = True
            if digits < _DIGITS_MAX:
                mantissa = mantissa * 10 + digit
                digits += mantissa != 0
                power -= is_fraction
            else:
                state = HARD
        at += 1
    if is_number and at < end and (data[at] == 101 or data[at] == 69):
        exponent, is_right = _integer(data, at + 1, end)
        if not is_right:
            return 0, 0, False, WRONG
        power += min(max(exponent, -_EXPONENT_MAX), _EXPONENT_MAX)
        at = end
    return mantissa, power, is_negative, state if is_number and at == end else WRONG


@inlined
def _is_word(data: Bytes, at: int, end: int, word: Longs) -> bool:
    if end - at != len(word):
        return False
    for place in range(len(word)):  # noqa: SIM110 - numba has no generators here
        if data[at + place] != word[place]:
            return False
    return True


@compiled
def _not_finite(data: Bytes, at: int, end: int) -> float:
    """`NaN`, `Infinity` and `INF` with a sign or without; 0 if it is none of them."""
    sign = -1.0 if at < end and data[at] == 45 else 1.0
    if at < end and (data[at] == 45 or data[at] == 43):
        at += 1
    if _is_word(data, at, end, _NAN):
        return np.nan
    if _is_word(data, at, end, _INFINITY) or _is_word(data, at, end, _INF) or _is_word(data, at, end, _INF_OF_CSV):
        return sign * np.inf
    return 0.0


@compiled
def doubles(
    data: Bytes, starts: Ints, ends: Ints, kinds: Bytes, allowed: int, words: int, out: np.ndarray, states: Bytes
) -> None:
    """Parse doubles. `words` are the kinds that may be `NaN` or `Infinity`."""
    for row in range(len(starts)):
        kind = np.int64(kinds[row])
        out[row], states[row] = 0.0, FINE
        if kind == NULL:
            continue
        mantissa, power, is_negative, state = _number(data, starts[row], ends[row])
        if (allowed >> kind) & 1 == 0:
            state = WRONG
        if state == WRONG and (words >> kind) & 1 == 1:
            word = _not_finite(data, starts[row], ends[row])
            if word != 0.0:
                out[row], state = word, FINE
        elif state == FINE:
            if mantissa > _EXACT or power < -22 or power > 22:
                state = HARD
            else:
                value = mantissa / _POWERS[-power] if power < 0 else mantissa * _POWERS[power]
                out[row] = -value if is_negative else value
        states[row] = state


@compiled
def decimals(
    data: Bytes, starts: Ints, ends: Ints, kinds: Bytes, allowed: int, limit: int, scale: int, out: Longs, states: Bytes
) -> None:
    """Parse decimals as units of the last place, rounded half up; the absolute value is below `limit`."""
    for row in range(len(starts)):
        kind = np.int64(kinds[row])
        out[row], states[row] = 0, FINE
        if kind == NULL:
            continue
        value, power, is_negative, state = _number(data, starts[row], ends[row])
        power += scale
        if (allowed >> kind) & 1 == 0:
            state = WRONG
        if state == FINE and value != 0:
            if power < 0:
                unit = _WHOLE_POWERS[min(-power, 18)]
                value = value // unit + (2 * (value % unit) >= unit) if power >= -18 else 0
            elif power > 18 or value > limit // _WHOLE_POWERS[power]:
                state = HARD
            else:
                value *= _WHOLE_POWERS[power]
            if state == FINE and value >= limit:
                state = HARD
            if state == FINE:
                out[row] = -value if is_negative else value
        states[row] = state
