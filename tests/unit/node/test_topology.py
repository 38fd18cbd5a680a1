"""The registration of a node."""

import pytest

from penstock.config.settings import Settings
from penstock.node.topology import registration, topology_client


@pytest.mark.parametrize(
    ("http", "advertised", "port", "url", "http_port"),
    [
        ({"host": "127.0.0.1"}, None, 8081, "http://127.0.0.1:8081", None),
        ({"host": "shop.example"}, None, 8081, "http://shop.example:8081", None),
        ({"host": "::1"}, None, 8081, "http://[::1]:8081", None),
        ({"host": "0.0.0.0"}, None, 8081, None, 8081),
        ({"host": "::"}, None, 8081, None, 8081),
        ({"host": "0.0.0.0"}, "http://proxy.example/", 8081, "http://proxy.example", None),
        ({"enabled": False}, None, None, None, None),
    ],
)
@pytest.mark.feature("P-11")
def test_the_url_that_its_children_are_told(
    http: dict[str, object], advertised: str | None, port: int | None, url: str | None, http_port: int | None
) -> None:
    settings = Settings.model_validate(
        {"node": {"id": "pos-7"}, "http": http, "registry": {"url": "http://r", "advertised_url": advertised}}
    )
    told = registration(settings, port)
    assert (told.node_id, told.url, told.http_port) == ("pos-7", url, http_port)


@pytest.mark.feature("P-11")
def test_a_node_in_memory_keeps_nothing_on_disk() -> None:
    settings = Settings.model_validate({"storage": {"engine": "memory"}, "registry": {"url": "http://r", "role": "l3"}})
    client = topology_client(settings, 1)
    assert client.current is None
    assert client.describe() == "no role yet; registry http://r not asked yet"
