"""Planted mistakes: a module that asks for a right and does not care about the answer."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from penstock.model.errors import KafkaError
from penstock.security.access import Access


def ignore_refusals(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    """Let every `check_…` of the gate return where code of this module calls it."""
    for name in [each for each in vars(Access) if each.startswith("check_")]:
        monkeypatch.setattr(Access, name, _ignored_in(module, getattr(Access, name)))


def _ignored_in(module: str, check: Callable[..., None]) -> Callable[..., None]:
    def careless(*arguments: object) -> None:
        try:
            check(*arguments)
        except KafkaError:
            if sys._getframe(1).f_globals["__name__"] != module:
                raise

    return careless
