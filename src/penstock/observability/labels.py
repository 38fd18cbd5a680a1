"""Text of labels on the metrics page."""

from __future__ import annotations


def quoted(text: str) -> str:
    """Names that clients choose may hold anything; label values escape three characters."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
