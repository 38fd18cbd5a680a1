"""Addresses: one form for each, and one source for each network of IPv6."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.text.address import canonical_address, is_address_of, plain_address, source_of

pytestmark = pytest.mark.feature("F-06")


@pytest.mark.parametrize(
    ("address", "plain"),
    [
        ("10.0.0.7", "10.0.0.7"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("::ffff:a00:7", "10.0.0.7"),
        ("::ffff:0:a00:7", "::ffff:0:a00:7"),
        ("::1", "::1"),
        ("fe80::1%eth0", "fe80::1%eth0"),
        ("", ""),
    ],
)
def test_an_address_of_a_peer(address: str, plain: str) -> None:
    assert plain_address(address) == plain


@pytest.mark.parametrize(
    ("address", "source"),
    [
        ("10.0.0.7", "10.0.0.7"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("2001:db8::7", "2001:db8::"),
        ("2001:db8:0:1:ffff::7", "2001:db8:0:1::"),
        ("fe80::1%eth0", "fe80::"),
        ("", ""),
    ],
)
def test_what_stands_for_an_address(address: str, source: str) -> None:
    assert source_of(address) == source


def test_an_address_of_a_link_is_meant_with_its_link_and_without() -> None:
    assert is_address_of("fe80::1%eth0", "FE80:0::1")
    assert is_address_of("fe80::1%eth0", "fe80::1%eth0")
    assert not is_address_of("fe80::1%eth0", "fe80::1%eth1")
    assert not is_address_of("fe80::1", "fe80::1%eth1")
    assert is_address_of("shop.example", "shop.example")


@given(st.ip_addresses(v=4))
def test_clients_of_ipv4_are_the_same_at_every_listener(address: ipaddress.IPv4Address) -> None:
    seen = f"::ffff:{address}"
    assert plain_address(seen) == source_of(seen) == canonical_address(seen) == str(address)


@given(st.ip_addresses(v=6))
def test_clients_of_ipv6_stay_what_they_are(address: ipaddress.IPv6Address) -> None:
    if address.ipv4_mapped is None:
        assert plain_address(str(address)) == str(address)
        assert address in ipaddress.ip_network(f"{source_of(str(address))}/64")
