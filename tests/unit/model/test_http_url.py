"""URLs of HTTP ports: what they may consist of, and that a refusal never repeats them."""

import pytest

from penstock.model.text.http_url import check_http_url, check_no_credentials, check_node_url


@pytest.mark.parametrize(
    "url",
    [
        "http://root.example:8080",
        "https://root.example",
        "http://10.0.0.7:8080/penstock",
        "http://[2001:db8::1]:8080",
        "http://localhost:1",
        "http://l2_berlin:8080",
        "http://127.0.0.1:65535",
    ],
)
def test_a_url_is_returned_as_it_is(url: str) -> None:
    assert check_http_url(url) == check_node_url(url) == url


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://secret.example", "not the URL of an HTTP port"),
        ("secret.example:8080", "not the URL of an HTTP port"),
        ("http://", "not the URL of an HTTP port"),
        ("http://:8080", "not the URL of an HTTP port"),
        ("http://user:secret@host:8080", "credentials are settings of their own"),
        ("http://secret@host", "credentials are settings of their own"),
        ("http://host:8080/?secret=1", "no query"),
        ("http://host:8080#secret", "no fragment"),
        ("http://host:8080?", "no query"),
        ("http://host:", "port"),
        ("http://host:0", "port"),
        ("http://host:70000", "not a URL"),
        ("http://host:secret", "not a URL"),
        ("http://host name:1", "spaces"),
        ("http://host\r\nX: secret", "control"),
        ("http://h\u00f6st:1", "outside ASCII"),
        ("http://[::1", "not a URL"),
        ("http://[secret]:1", "URL"),
        ("http://0.0.0.0:8080", "no other machine"),
        ("http://[::]:8080", "no other machine"),
        ("http://224.0.0.1:8080", "no other machine"),
        ("http://169.254.169.254/latest", "no other machine"),
        ("http://[fe80::1]:8080", "no other machine"),
        ("http://[::ffff:169.254.169.254]/latest", "no other machine"),
        ("http://[::ffff:0.0.0.0]:1", "no other machine"),
        ("http://[2002:a9fe:a9fe::1]:1", "no other machine"),
        ("http://2852039166/latest", "looks like a number"),
        ("http://0xa9fea9fe:80", "looks like a number"),
        ("http://169.254.43518", "looks like a number"),
        ("http://0251.0376.0251.0376", "looks like a number"),
        ("http://-host:1", "neither a name"),
        ("http://a..b:1", "neither a name"),
        ("http://" + "secret." * 300, "more than 2048"),
    ],
)
def test_anything_else_is_refused_without_repeating_it(url: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason) as refused:
        check_node_url(url)
    assert "secret" not in str(refused.value)
    if "no other machine" in reason:
        assert check_http_url(url) == url  # an administrator's own choice
    else:
        with pytest.raises(ValueError, match=reason):
            check_http_url(url)


def test_an_address_of_any_form_has_no_credentials() -> None:
    for address in ("broker:9092,other:9092", "[::1]:9092", "unix:/run/a@b.sock", "abstract:@name", "http://h/p@q"):
        assert check_no_credentials(address) == address
    for address in (
        "user:secret@broker:9092",
        "a:1,user:secret@b:2",
        "any://secret@host",
        "http://u:secret@h",
        "//secret@h",
    ):
        with pytest.raises(ValueError, match="settings of their own") as refused:
            check_no_credentials(address)
        assert "secret" not in str(refused.value)
