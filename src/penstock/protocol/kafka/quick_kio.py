"""The parts of kio that messages are made of, imported without hypothesis: 0.2 to 0.3 s of every start for nothing.

kio imports it wherever it is installed, for tests of those who use kio's types. A program that has imported it already
is left alone, and one that imports it later can.
"""

from __future__ import annotations

import sys

_UNWANTED = "hypothesis"
_is_there = _UNWANTED in sys.modules

if not _is_there:
    sys.modules[_UNWANTED] = None  # type: ignore[assignment]  # with this, an import of it fails
try:
    import kio.index as kio_index
    from kio.schema.errors import ErrorCode as KioErrorCode
    from kio.serial import entity_reader, entity_writer
    from kio.static.constants import EntityType
finally:
    if not _is_there:
        del sys.modules[_UNWANTED]

__all__ = ["EntityType", "KioErrorCode", "entity_reader", "entity_writer", "kio_index"]
