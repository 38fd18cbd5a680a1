"""Rights of clients: whether there are rules, who is above them, and the file that has some."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Field

from penstock.config.settings.secret import Secrets
from penstock.config.settings.values import Section
from penstock.model.text.principal_text import principal_problem

STANDARD: Final = "standard"


def split_principals(value: object) -> object:
    """Split 'User:a;User:b', as Kafka writes it, as well as a list: names of certificates have commas."""
    return [part.strip() for part in value.split(";") if part.strip()] if isinstance(value, str) else value


def check_principal(name: str) -> str:
    problem = principal_problem(name)
    if problem is not None:
        raise ValueError(problem)
    if ",User:" in name.replace(" ", ""):  # a comma may be part of the name of a certificate
        raise ValueError(f"{name!r} is one principal; separate several with semicolons")
    return name


Principals = Annotated[tuple[Annotated[str, AfterValidator(check_principal)], ...], BeforeValidator(split_principals)]


class AclSettings(Section):
    """Rights of clients (docs/security.md#rights)."""

    enabled: bool = False
    """Whether clients need rights. Without rules that allow something, only super users may do anything."""
    super_users: Principals = ()
    """Principals that may do everything, such as User:admin; several with semicolons, or as a list."""
    allow_everyone_if_no_acl_found: bool = False
    """Whether everyone may do everything to a resource that no rule is about."""
    policy_file: Path | None = None
    """A JSON file with rules and super users beside the stored ones; read again when it changes."""
    authorizer: str = STANDARD
    """Who decides: `standard`, the rules, or an authorizer of another package (docs/extending.md)."""
    authorizer_options: Secrets = Field(default_factory=dict)
    """Options of that authorizer, by name. All count as secrets."""
