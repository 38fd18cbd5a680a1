"""Principals as people write them, a type and a name: `User:alice`; and the mistakes that would fit nobody.

Kafka's protocol takes rules about any text with a colon. Settings, commands and the policy file take less.
"""

from __future__ import annotations

from typing import Final

USER: Final = "User"
"""The type of all that log in; authenticators of other packages may give other types."""
OTHER_TYPE: Final = (
    "{} has another type than User; rules about it apply only if an authenticator of another package"
    " (security.authenticator) gives clients that type"
)


def form_problem(text: str) -> str | None:
    """Why a text is no principal, with the fix; None if it is one."""
    kind, colon, name = text.partition(":")
    if kind and name:
        return None
    return f"{text!r} is no principal; write it with its type, such as {USER}:{(name if colon else text) or 'alice'}"


def spelling_problem(text: str) -> str | None:
    """Why a principal fits nobody, with the fix, if its type is the usual one in other letters."""
    kind, _, name = text.partition(":")
    if is_user(text) or kind.lower() != USER.lower():
        return None
    return f"{text!r} fits nobody, because types are compared letter by letter; write {USER}:{name}"


def principal_problem(text: str) -> str | None:
    """Both, for what is newly written."""
    return form_problem(text) or spelling_problem(text)


def is_user(text: str) -> bool:
    return text.startswith(f"{USER}:")
