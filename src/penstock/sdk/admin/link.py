"""librdkafka's admin client, with its answers waited for and its errors translated."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from confluent_kafka.admin import AdminClient

from penstock.sdk.errors import ClosedError
from penstock.sdk.librdkafka.common_config import LOGGER, common_config
from penstock.sdk.librdkafka.errors import accepted_settings, translated
from penstock.sdk.options import COMMON_DEFAULTS, ClientOptions, checked


class Link:
    def __init__(self, bootstrap: str, given: dict[str, Any]) -> None:
        self.options: ClientOptions = checked(ClientOptions, given, COMMON_DEFAULTS)
        self.bootstrap = bootstrap
        self.timeout_s = self.options["request_timeout_ms"] / 1000
        config = common_config(bootstrap, self.options)
        with accepted_settings():
            self._library: AdminClient | None = AdminClient(config, logger=LOGGER)

    def check_open(self) -> None:
        _ = self.library

    @property
    def library(self) -> AdminClient:
        if self._library is None:
            raise ClosedError("this admin client is closed", hint="make a new one")
        return self._library

    def answer(self, futures: dict[Any, Future[Any]], what: str) -> Any:
        """Of a request about one thing."""
        (future,) = futures.values()
        with translated(what):
            return future.result()

    def metadata(self) -> Any:
        """All topics and brokers. Asking for all creates none."""
        with translated("topics"):
            return self.library.list_topics(timeout=self.timeout_s)

    def close(self) -> None:
        self._library = None
