"""The last topology on disk, so that a node starts in its place when the registry is down.

    DATA/topology.json   {"crc32c": …, "content": {"instanceId": …, "topology": {nodeId, role, …} or null}}

The CRC covers the content as it is written. A damaged file, or that of a node with another id, is ignored: the node
registers as a new one. The file is small and replaced as a whole.
"""

from __future__ import annotations

import json
import logging
import uuid
from dataclasses import dataclass
from pathlib import Path

from crc32c import crc32c

from penstock.runtime.files import Files
from penstock.topology.model import Topology
from penstock.topology.registry.bodies import TopologyBody

logger = logging.getLogger(__name__)

NAME = "topology.json"


@dataclass(frozen=True, slots=True)
class Remembered:
    """The content of the file. `instance_id` is permanent: by it the registry distinguishes nodes with the same id."""

    instance_id: str
    topology: Topology | None = None


class TopologyCache:
    """The file in the data directory. Without a `directory` nothing is kept (the memory engine)."""

    def __init__(self, files: Files, directory: Path | None) -> None:
        self._files = files
        self._path = directory / NAME if directory is not None else None

    def load(self, node_id: str) -> Remembered:
        if self._path is None or not self._files.exists(self._path):
            return Remembered(uuid.uuid4().hex)
        try:
            remembered = _decode(self._files.read_bytes(self._path))
        except (OSError, ValueError, KeyError, TypeError) as error:
            logger.warning("%s is damaged and is ignored, the registry is asked again: %s", self._path, error)
            return Remembered(uuid.uuid4().hex)
        topology = remembered.topology
        if topology is not None and topology.node_id != node_id:
            logger.info("the node has another id than before", extra={"node": node_id, "before": topology.node_id})
            return Remembered(remembered.instance_id)
        return remembered

    def save(self, remembered: Remembered) -> None:
        """Store the topology; it is on disk at return."""
        if self._path is not None:
            self._files.write_durably(self._path, _encode(remembered))


def _encode(remembered: Remembered) -> bytes:
    topology = remembered.topology
    body = TopologyBody.of(topology).model_dump(mode="json", by_alias=True) if topology is not None else None
    content = json.dumps({"instanceId": remembered.instance_id, "topology": body}, sort_keys=True)
    return f'{{"crc32c": {crc32c(content.encode())}, "content": {content}}}\n'.encode()


def _decode(data: bytes) -> Remembered:
    document = json.loads(data)
    content = document["content"]
    if crc32c(json.dumps(content, sort_keys=True).encode()) != document["crc32c"]:
        raise ValueError("its CRC does not match")
    topology = content["topology"]
    return Remembered(
        str(content["instanceId"]),
        TopologyBody.model_validate(topology).topology() if topology is not None else None,
    )
