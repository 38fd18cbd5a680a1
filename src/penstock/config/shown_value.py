"""Values of settings in texts that people and logs see: secrets, and addresses with a password in them, are hidden."""

from __future__ import annotations

import re
from functools import cache

from penstock.config.settings import MAPPINGS, Secret, Settings, keys
from penstock.config.settings.secret import HIDDEN, is_reference
from penstock.model.text.http_url import has_credentials

# For names of other systems, which are not settings here, or not yet; of our own the type tells.
_TELLING = re.compile(r"password|passphrase|secret|token|credential|jaas|keystore\.key|key\.pem", re.IGNORECASE)


@cache
def secret_keys() -> frozenset[str]:
    """Every setting of type Secret, by its dotted name."""
    return frozenset(
        f"{section}.{name}"
        for section, branch in Settings.model_fields.items()
        for name, field in type(branch.default).model_fields.items()
        if _holds_secret(field.annotation)
    )


@cache
def _own_keys() -> frozenset[str]:
    return frozenset(keys())


def is_secret(key: str) -> bool:
    """Whether the value under a name, ours or another system's, must not be shown."""
    if key in _own_keys():
        return key in secret_keys()
    return any(key.startswith(f"{name}.") for name in MAPPINGS & secret_keys()) or tells_secret(key)


def tells_secret(name: str) -> bool:
    """Whether a name of another system sounds like that of a secret."""
    return _TELLING.search(name) is not None


def shown(key: str, value: object) -> object:
    """The value, or the sign for a hidden one. That there is none is no secret."""
    if value is None or value == {} or is_reference(value):
        return value
    if isinstance(value, dict) and not is_secret(key):  # names to values, such as what one listener has of its own
        return {name: shown(f"{key}.{name}", item) for name, item in value.items()}
    hidden = is_secret(key) or (isinstance(value, str) and has_credentials(value))
    return HIDDEN if hidden else value


def _holds_secret(annotation: object) -> bool:
    """Whether a type is Secret, alone or in a union such as Secret | None."""
    return annotation is Secret or any(_holds_secret(part) for part in getattr(annotation, "__args__", ()))
