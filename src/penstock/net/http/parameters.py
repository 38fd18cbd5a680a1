"""Query parameters that a path does not have.

FastAPI ignores them, so that a misspelt `?limt=5` would be answered as if it had not been given.
"""

from __future__ import annotations

import difflib

from fastapi import Request

NAME_LENGTH_SHOWN = 100


def unknown_parameter(request: Request) -> str | None:
    """A message about the first unknown query parameter of a request; None if the path knows all of them."""
    known = [each.alias for each in request.scope["route"].dependant.query_params]
    name = next((name for name in request.query_params if name not in known), None)
    if name is None:
        return None
    close = difflib.get_close_matches(name.lower(), known, n=1)
    nearest = f"did you mean {close[0]}? " if close else ""
    there_are = f"this path takes {', '.join(known)}" if known else "this path takes none"
    return f"{name[:NAME_LENGTH_SHOWN]!r} is not a parameter; {nearest}{there_are}"
