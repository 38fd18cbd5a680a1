"""Changes that count at the next request of a connection that is open: passwords, users."""

from __future__ import annotations

from tests.support.raw_client import RawClient, unique_name
from tests.support.user_client import alter, deletion, upsertion
from tests.web_login.secured import WebClient, WebProcess, basic


def test_a_changed_password_counts_at_once(broker: WebProcess, client: WebClient) -> None:
    user = unique_name("user")
    with RawClient(broker.host, broker.port) as admin:
        alter(admin, upsertion(user, password="old-secret"))
        for _ in range(3):
            assert client.ask("/api/v1/topics", basic(user, "old-secret")).status == 200
        assert client.is_open
        alter(admin, upsertion(user, password="new-secret"))
        assert client.ask("/api/v1/topics", basic(user, "old-secret")).status == 401
        assert client.ask("/api/v1/topics", basic(user, "new-secret")).status == 200
        alter(admin, deletion(user))
        assert client.ask("/api/v1/topics", basic(user, "new-secret")).status == 401
