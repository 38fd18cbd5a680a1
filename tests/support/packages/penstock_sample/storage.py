"""A storage engine that keeps records in memory and metadata on disk: a cache that remembers its topics."""

from __future__ import annotations

from pathlib import Path

from penstock.config.settings import StorageSettings
from penstock.storage.memory.engine import MemoryEngine
from penstock.storage.metadata.store import MetadataStore
from penstock.storage.observer import EngineObserver


def open_cache(directory: Path, settings: StorageSettings, observer: EngineObserver) -> MemoryEngine:
    directory.mkdir(parents=True, exist_ok=True)
    return MemoryEngine(settings, observer=observer, metadata=MetadataStore(directory / "cache.db"))
