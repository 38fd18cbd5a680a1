"""kafkajs, in `kafkajs.js`."""

from __future__ import annotations

from pathlib import Path

from tests.compat.secured.program import Program


class KafkaJs(Program):
    name = "kafkajs"
    denied = "TOPIC_AUTHORIZATION_FAILED"
    distrusts = ("unable to verify the first certificate", "does not match certificate's altnames")

    def command(self) -> list[str]:
        return ["node", str(Path(__file__).with_name("kafkajs.js"))]
