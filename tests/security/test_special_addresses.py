"""Which addresses are never fetched from, on every Python alike."""

from __future__ import annotations

import ipaddress

import pytest

from clew.errors import InputError
from clew.indexing.reading.fetch import REACHABLE, UNREACHABLE, check_url, is_public
from clew.settings import AccessSettings

PUBLIC = (
    "1.1.1.1",
    "93.184.216.34",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "192.0.0.9",
    "192.0.1.0",
    "192.31.196.1",
    "198.17.255.255",
    "223.255.255.255",
    "2606:2800:220:1::1",
    "2001:200::1",
    "2001:1::1",
    "2001:20::1",
    "2620:4f:8000::1",
    "::ffff:93.184.216.34",
    "64:ff9b::5db8:d822",
)
NOT_PUBLIC = (
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "127.255.0.9",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.0.8",
    "192.0.0.170",
    "192.0.2.1",
    "192.88.99.1",
    "192.88.99.2",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.1.2.3",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::7f00:1",  # IPv4-compatible
    "::93.184.216.34",
    "::ffff:127.0.0.1",  # IPv4-mapped
    "::ffff:169.254.169.254",
    "::ffff:0:7f00:1",  # IPv4-translated
    "64:ff9b::7f00:1",  # translated, of this machine
    "64:ff9b::a00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",  # translated, local use
    "64:ff9b:1:ffff::5db8:d822",
    "100::1",
    "100:0:0:1::1",
    "2001::1",  # Teredo
    "2001:0:5db8:d822::1",
    "2001:2::1",
    "2001:10::1",
    "2001:1f0::1",
    "2001:db8::1",
    "2002:7f00:1::",  # 6to4
    "2002:5db8:d822::",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
    "4000::1",  # allocated to nobody
)


@pytest.mark.parametrize("address", PUBLIC)
def test_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(InputError, match="no public address"):
        check_url(f"http://{host}/", AccessSettings())


def test_a_block_has_one_entry_alone() -> None:
    """A block that is listed twice, or is no network, would hide a mistake in the list."""
    networks = [ipaddress.ip_network(block) for block in (*REACHABLE, *UNREACHABLE)]

    assert len(set(networks)) == len(networks)


@pytest.mark.parametrize("block", UNREACHABLE)
def test_both_ends_of_a_block_are_refused(block: str) -> None:
    network = ipaddress.ip_network(block)

    assert not is_public(network[0])
    assert not is_public(network[-1])
