"""What may be wrong with a pattern."""

from __future__ import annotations


class NotAPattern(ValueError):
    """Java would not compile it; the text is the reason."""


class NotPossible(ValueError):
    """Java would compile it, but a part of it cannot be done here; the text names the part."""
