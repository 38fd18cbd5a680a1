"""How often, and after which pauses, a client tries again. How long in all is its timeout."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Patience:
    attempts_max: int | None = None
    """None: as many as the timeout has room for."""
    pause_s: float = 0.02
    """The pause after the first attempt; it doubles with each."""
    pause_s_max: float = 1.0
    away_s: float = 1.0
    """How long a broker that repeatedly did not answer is not asked, if there is another one; it doubles, too."""
    away_s_max: float = 8.0


USUAL = Patience()
