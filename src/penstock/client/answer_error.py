"""Errors that brokers answer, as exceptions."""

from __future__ import annotations

from penstock.model.errors import ErrorCode, KafkaError


def check(code: int, message: str | None = None) -> None:
    """Raise the error of an answer, if it has one."""
    if code != ErrorCode.NONE:
        error = ErrorCode(code)
        raise KafkaError(error, f"{error.name}: {message}" if message else error.name)
