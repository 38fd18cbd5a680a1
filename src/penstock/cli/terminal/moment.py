"""Moments as people write them: ISO 8601, or milliseconds since 1970 after an @."""

from __future__ import annotations

from datetime import UTC, datetime

from penstock.cli.terminal.errors import CommandError, ExitCode


def parse_moment(text: str, option: str, otherwise: str = "") -> int:
    """Return milliseconds since 1970. A time without a zone is local time."""
    try:
        if text.startswith("@") and text[1:].isdecimal():
            # Through datetime, so that a number outside all dates is refused here and not by the library.
            datetime.fromtimestamp(int(text[1:]) / 1000, UTC)
            return int(text[1:])
        return int(datetime.fromisoformat(text).astimezone(UTC).timestamp() * 1000)
    except (ValueError, OverflowError, OSError) as error:
        allowed = f"{otherwise}, " if otherwise else ""
        raise CommandError(
            f"{option} {text!r} is not {allowed}a date and time such as 2026-03-01T09:00:00Z, or @MILLISECONDS",
            ExitCode.USAGE,
        ) from error
