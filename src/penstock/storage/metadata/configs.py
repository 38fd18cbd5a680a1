"""The table `configs`: explicit configs by scope ('topic', 'broker', 'group', …) and name."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.storage.metadata.database import MetadataDatabase


class StoredConfigs:
    """Durable on return, any thread. Configs of topics come with their creation and go with their deletion."""

    def __init__(self, database: MetadataDatabase) -> None:
        self._database = database

    def get(self, scope: str, name: str) -> dict[str, str]:
        return dict(self._database.read("SELECT key, value FROM configs WHERE scope = ? AND name = ?", (scope, name)))

    def all(self) -> dict[tuple[str, str], dict[str, str]]:
        """Return all configs, by scope and name."""
        found: dict[tuple[str, str], dict[str, str]] = {}
        for scope, name, key, value in self._database.read("SELECT scope, name, key, value FROM configs"):
            found.setdefault((scope, name), {})[key] = value
        return found

    def change(self, scope: str, name: str, changes: Mapping[str, str | None]) -> None:
        """Set some keys; None deletes one. Keys that are not named stay as they are."""
        with self._database.transaction() as connection:
            for key, value in changes.items():
                if value is None:
                    connection.execute(
                        "DELETE FROM configs WHERE scope = ? AND name = ? AND key = ?", (scope, name, key)
                    )
                else:
                    connection.execute(
                        "INSERT OR REPLACE INTO configs (scope, name, key, value) VALUES (?, ?, ?, ?)",
                        (scope, name, key, value),
                    )
