"""The push protocol (docs/formats/push-protocol.md): frames, payloads, the connection's states. No I/O."""
