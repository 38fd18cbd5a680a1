"""A resolver of host names that leaves out addresses which may not be asked, at the moment of each connection.

A check of the name before would not do: it can stand for another address a moment later. Imports aiohttp: for modules
that are loaded when there is somebody to ask.
"""

from __future__ import annotations

import socket

from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import DefaultResolver

from penstock.topology.named_parents import NamedParents


class AdmittingResolver(AbstractResolver):
    def __init__(self, parents: NamedParents, resolver: AbstractResolver | None = None) -> None:
        self._parents = parents
        self._resolver = resolver or DefaultResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """OSError if there is no such name, or none of its addresses is admitted."""
        return self._parents.admitted(await self._resolver.resolve(host, port, family))

    async def close(self) -> None:
        await self._resolver.close()
