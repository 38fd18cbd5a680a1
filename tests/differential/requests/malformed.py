"""Bytes that are no request, for every API and version: cut off, too long, from the future, with absurd counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.protocol.kafka.apis import APIS
from tests.differential.coverage import snake
from tests.differential.frames import followed_by, is_flexible, of_version, truncated, with_body, with_unknown_tag
from tests.differential.peer import Peer
from tests.differential.script import advertised, script

BODIES: Mapping[str, Mapping[str, Any]] = {
    # A right request each, where the smallest one (no topics, no groups, empty names) would change something.
    "api_versions": {"client_software_name": "wire", "client_software_version": "1"},
    "init_producer_id": {"transactional_id": "", "transaction_timeout": 1},
    "produce": {"acks": -1},  # 0 is never answered
}


def _script(api: str) -> None:
    @script(f"malformed-{api.replace('_', '-')}", family="malformed", seconds=2)
    def malformed(peer: Peer) -> None:
        body = BODIES.get(api, {})
        for version in advertised(api):
            peer.malformed(api, version, truncated(api, version, body), label="the last byte is missing")
            peer.malformed(api, version, with_body(api, version, b"\xff"), label="one byte")
            peer.malformed(api, version, followed_by(api, version, body, b"more"), label="four bytes too many")
            if is_flexible(api, version):
                peer.malformed(api, version, with_unknown_tag(api, version, body), label="an unknown tagged field")
        newest = advertised(api)[-1]
        peer.raw(of_version(api, newest + 1), on="future", label="a version that does not exist")
        peer.raw(of_version(api, -1), on="past", label="version -1")


for each in APIS.values():
    _script(snake(each.name))


@script("malformed-frames", family="malformed", seconds=2)
def malformed_frames(peer: Peer) -> None:
    peer.raw(b"", on="a", label="an empty frame")
    peer.raw(b"\x00\x12", on="b", label="two bytes")
    peer.raw(bytes.fromhex("0012 0000 00000001"), on="c", label="a header without a client id")
    peer.raw(bytes.fromhex("7fff 0000 00000001 ffff"), on="d", label="an API that does not exist")
    peer.raw(bytes.fromhex("ffff 0000 00000001 ffff"), on="e", label="API -1")
    peer.raw(bytes.fromhex("0004 0000 00000001 ffff"), on="f", label="an API between brokers")
    peer.raw(bytes.fromhex("0012 0003 00000001 ffff 00 01 01 00"), on="h", label="empty software names")
    peer.raw(b"GET / HTTP/1.1\r\n\r\n", on="i", label="another protocol")
    peer.ask("metadata", 9, {"topics": []}, client_id=None, label="a null client id")
    peer.ask("metadata", 9, {"topics": []}, client_id="", label="an empty client id")
