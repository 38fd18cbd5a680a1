"""Parameters of tests, of which a few are enough for a quick run.

Where every combination of two or three choices is tested, `make test` runs as many as show each choice once, and
`make test-full` all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def variants(names: str, every: Iterable[tuple[Any, ...]], *, quick: Iterable[tuple[Any, ...]]) -> pytest.MarkDecorator:
    """`parametrize` over `every`, in which all but the `quick` ones are marked `full`."""
    known, chosen = list(every), list(quick)
    assert all(values in known for values in chosen), "a quick variant is not one of all"
    return pytest.mark.parametrize(
        names.split(","),
        [pytest.param(*values, marks=() if values in chosen else pytest.mark.full) for values in known],
    )
