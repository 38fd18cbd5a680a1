"""Implementations by name: those built into Penstock, and those that other packages provide by entry points.

    penstock.storage         storage engines     (`storage.interface.OpenStorage`)
    penstock.network         networks            (`net.interface.Network`)
    penstock.pipe            pipe connectors     (`topology.pipe.interface.Connect`)
    penstock.authenticator   authenticators      (`security.interface.MakeAuthenticator`)
    penstock.authorizer      authorizers         (`security.interface.MakeAuthorizer`)

Built-in implementations load without a look at the installed packages, which takes a while, and cannot be replaced.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any


class UnknownImplementation(Exception):
    """A name that no implementation has, or whose implementation cannot be loaded; the message lists the names."""


def load_implementation(group: str, name: str, built_in: Mapping[str, str], setting: str) -> Any:
    """The object that `module:attribute` of that name refers to. `setting` names the setting, for the message."""
    if name in built_in:
        return _attribute(built_in[name])
    from importlib.metadata import entry_points

    found = entry_points(group=group)
    for entry_point in found:
        if entry_point.name == name:
            try:
                return entry_point.load()
            except Exception as error:  # whatever a foreign module raises
                raise UnknownImplementation(
                    f"{setting} is {name!r}, but its entry point {entry_point.value} cannot be loaded: {error!r}"
                ) from error
    known = ", ".join([*built_in, *sorted({entry_point.name for entry_point in found} - set(built_in))])
    raise UnknownImplementation(
        f"{setting} is {name!r}; there is {known}. Others come with packages that have an entry point {group}"
    )


def _attribute(reference: str) -> Any:
    module, _, attribute = reference.partition(":")
    return getattr(importlib.import_module(module), attribute)
