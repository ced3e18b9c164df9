"""Which IP addresses are for special purposes, whatever the Python that runs knows of them.

Source: the IANA IPv4 and IPv6 Special-Purpose Address Registries
(https://www.iana.org/assignments/iana-ipv4-special-registry and …/iana-ipv6-special-registry),
columns "Address Block" and "Globally Reachable", in the state of 2024-10-22, with the entry of
2025-04 (100:0:0:1::/64, RFC 9780). "N/A" counts as not reachable. Multicast and what IANA has not
allocated for global unicast are in registries of their own.
"""

from __future__ import annotations

import ipaddress

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

REACHABLE = (
    "192.0.0.9/32",  # Port Control Protocol anycast
    "192.0.0.10/32",  # TURN anycast
    "192.31.196.0/24",  # AS112-v4
    "192.52.193.0/24",  # AMT
    "192.175.48.0/24",  # direct delegation AS112 service
    "64:ff9b::/96",  # IPv4-IPv6 translation, of public addresses alone
    "2001:1::1/128",  # Port Control Protocol anycast
    "2001:1::2/128",  # TURN anycast
    "2001:1::3/128",  # DNS-SD service registration anycast
    "2001:3::/32",  # AMT
    "2001:4:112::/48",  # AS112-v6
    "2001:20::/28",  # ORCHIDv2
    "2001:30::/28",  # drone remote identification
    "2620:4f:8000::/48",  # direct delegation AS112 service
)
"""Blocks that are reachable from everywhere; most lie within others that are not."""
UNREACHABLE = (
    "0.0.0.0/8",  # this network
    "10.0.0.0/8",  # private use
    "100.64.0.0/10",  # shared address space
    "127.0.0.0/8",  # loopback
    "169.254.0.0/16",  # link local
    "172.16.0.0/12",  # private use
    "192.0.0.0/24",  # IETF protocol assignments
    "192.0.2.0/24",  # documentation
    "192.88.99.0/24",  # 6to4 relay anycast, 6a44 relay anycast
    "192.168.0.0/16",  # private use
    "198.18.0.0/15",  # benchmarking
    "198.51.100.0/24",  # documentation
    "203.0.113.0/24",  # documentation
    "224.0.0.0/4",  # multicast
    "240.0.0.0/4",  # reserved; limited broadcast
    "64:ff9b:1::/48",  # IPv4-IPv6 translation, local use
    "100::/64",  # discard only
    "100:0:0:1::/64",  # dummy prefix
    "2001::/23",  # IETF protocol assignments: Teredo, benchmarking, ORCHID
    "2001:db8::/32",  # documentation
    "2002::/16",  # 6to4
    "3fff::/20",  # documentation
    "5f00::/16",  # segment routing
    "fc00::/7",  # unique local
    "fe80::/10",  # link local
)
"""Blocks that are not; loopback, mapped addresses and the like lie outside of global unicast."""
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
_MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")


def is_public(address: Address) -> bool:
    """Whether an address is everybody's: not this machine's, a local network's or a group's.

    An address that stands for one of IPv4 is as public as that.
    """
    if isinstance(address, ipaddress.IPv6Address):
        if address in _TRANSLATED or address in _MAPPED:
            return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if address not in _GLOBAL_UNICAST:
            return False
    return _within(address, REACHABLE) or not _within(address, UNREACHABLE)


def _within(address: Address, blocks: tuple[str, ...]) -> bool:
    return any(address in network for network in map(ipaddress.ip_network, blocks))
