"""librdkafka's admin client, which waits for answers and translates errors."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from confluent_kafka.admin import AdminClient

from penstock.sdk.errors import ClosedError
from penstock.sdk.librdkafka.common_config import client_security, common_config, logger
from penstock.sdk.librdkafka.errors import accepted_settings, translated
from penstock.sdk.librdkafka.first_contact import FirstContact
from penstock.sdk.options import COMMON_DEFAULTS, ClientOptions, checked


class Link:
    def __init__(self, bootstrap: str, given: dict[str, Any]) -> None:
        self.options: ClientOptions = checked(ClientOptions, given, COMMON_DEFAULTS)
        self.bootstrap = bootstrap
        self.timeout_s = self.options["request_timeout_ms"] / 1000
        config = common_config(bootstrap, self.options)
        with accepted_settings():
            self._library: AdminClient | None = AdminClient(config, logger=logger)
        self._contact: FirstContact | None = FirstContact(
            self._library, bootstrap, given, client_security(self.options)
        )

    def check_open(self) -> AdminClient:
        if self._library is None:
            raise ClosedError("this admin client is closed", hint="make a new one")
        return self._library

    @property
    def library(self) -> AdminClient:
        """The client; Unreachable if no broker has answered yet and none does now."""
        found = self.check_open()
        if self._contact is not None:
            self._contact.metadata()
            self._contact = None
        return found

    def answer(self, futures: dict[Any, Future[Any]], what: str) -> Any:
        """Wait for the answer to a request about one thing."""
        (future,) = futures.values()
        with translated(what):
            return future.result()

    def metadata(self) -> Any:
        """Return all topics and brokers. Asking for all creates none."""
        with translated("topics"):
            return self.library.list_topics(timeout=self.timeout_s)

    def close(self) -> None:
        self._library = None
