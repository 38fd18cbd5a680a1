"""Who the store belongs to: the cluster's id, and the number of this start."""

from __future__ import annotations

import base64
import uuid
from typing import NamedTuple

from penstock.storage.metadata.database import MetadataDatabase
from penstock.storage.metadata.leader_epochs import raise_all


class Identity(NamedTuple):
    """`boot` rises by one at every open that may write."""

    cluster_id: str
    boot: int


def identify(database: MetadataDatabase) -> Identity:
    """Read the identity and count this start, which raises every leader epoch.

    The cluster id is made at the first one, 22 characters like Kafka's.
    """
    known = dict(database.read("SELECT name, value FROM identity"))
    boot = int(known.get("boot", -1))
    if database.read_only:
        return Identity(known.get("cluster_id", ""), boot)
    cluster_id = known.get("cluster_id") or base64.urlsafe_b64encode(uuid.uuid4().bytes)[:22].decode()
    boot += 1
    with database.transaction() as connection:
        connection.executemany(
            "INSERT OR REPLACE INTO identity (name, value) VALUES (?, ?)",
            [("cluster_id", cluster_id), ("boot", str(boot))],
        )
        raise_all(connection)
    return Identity(cluster_id, boot)
