"""Sizes as people write them: 500K, 128M, 1G, or plain bytes."""

from __future__ import annotations

import re

from penstock.cli.terminal.errors import CommandError, ExitCode

_SIZE = re.compile(r"(\d+)\s*([KMG]?)(?:i?B)?", re.IGNORECASE)
_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_size(text: str, option: str) -> int:
    found = _SIZE.fullmatch(text.strip())
    if found is None or not int(found[1]):
        raise CommandError(f"{option} {text!r} is not a size such as 128M", ExitCode.USAGE)
    return int(found[1]) * _FACTORS[found[2].upper()]
