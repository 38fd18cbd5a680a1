"""Planted mistakes: a module that asks for a right and does not care about the answer."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from penstock.model.errors import KafkaError
from penstock.security.access import Access


def ignore_refusals(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    """Let every `check_…` of the gate return, and every `allows_…` be true, where code of this module calls it."""
    for name in [each for each in vars(Access) if each.startswith(("check_", "allows_"))]:
        monkeypatch.setattr(Access, name, _ignored_in(module, getattr(Access, name)))


def _ignored_in(module: str, check: Callable[..., bool | None]) -> Callable[..., bool | None]:
    def careless(*arguments: object) -> bool | None:
        is_careless = sys._getframe(1).f_globals["__name__"] == module
        try:
            return check(*arguments) or is_careless
        except KafkaError:
            if not is_careless:
                raise
            return None

    return careless
