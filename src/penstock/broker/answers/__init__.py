"""Parts that several answers have in common."""
