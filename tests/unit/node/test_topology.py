"""The registration of a node."""

import pytest

from penstock.config.settings import Settings
from penstock.node.security.door_plans import plan_doors
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
    told = registration(settings, plan_doors(settings).http, port or 0)
    assert (told.node_id, told.url, told.http_port, told.tls) == ("pos-7", url, http_port, None)


@pytest.mark.parametrize(
    ("more", "url", "http_port"),
    [
        ({"http": {"host": "shop.example"}}, "https://shop.example:8081", None),
        ({"http": {"host": "0.0.0.0"}}, None, 8081),
        ({"http": {"host": "0.0.0.0"}, "kafka": {"advertised": "k.example:1"}}, "https://k.example:8081", None),
        ({"listeners": {"addresses": "SSL://:9092,HTTP://10.0.0.7:8080"}}, "https://10.0.0.7:8081", None),
        (
            {"listeners": {"addresses": "SSL://:9092,HTTP://:8080", "advertised": "HTTP://shop.example:443"}},
            "https://shop.example:443",
            None,
        ),
        ({"http": {"host": "shop.example"}, "kafka": {"advertised": "k.example:1"}}, "https://shop.example:8081", None),
        ({"registry": {"url": "http://r", "advertised_url": "http://proxy.example"}}, "http://proxy.example", None),
    ],
)
@pytest.mark.feature("P-11", "F-03")
def test_a_port_with_tls_is_told_as_https(more: dict[str, object], url: str | None, http_port: int | None) -> None:
    settings = Settings.model_validate(
        {
            "security": {"protocol": "SSL"},
            "tls": {"certificate_file": "server.pem"},
            "registry": {"url": "http://r"},
            **more,
        }
    )
    told = registration(settings, plan_doors(settings).http, 8081)
    assert (told.url, told.http_port, told.tls) == (url, http_port, None if url else True)


@pytest.mark.feature("P-11")
def test_a_node_in_memory_keeps_nothing_on_disk() -> None:
    settings = Settings.model_validate({"storage": {"engine": "memory"}, "registry": {"url": "http://r", "role": "l3"}})
    client = topology_client(settings, None, 0)
    assert client.current is None
    assert client.describe() == "no role yet; registry http://r not asked yet"
