"""Fetching a document from the web: bounded, and never from where only this machine can reach.

The name is looked up once for each hop of a redirect, every address that it has is checked, and the
connection goes to an address that was checked: an answer that changes between check and connection
(DNS rebinding) changes nothing.
"""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Self
from urllib.parse import unquote

import httpx2

from clew.errors import InputError, UnreadableError
from clew.indexing.reading.common import media_type_of, suffix_of
from clew.settings import AccessSettings

MAX_REDIRECTS = 5
# Types that say less than the ending of the name does.
_VAGUE = ("", "text/plain", "application/octet-stream", "binary/octet-stream")


@dataclass(frozen=True, kw_only=True, slots=True)
class Fetched:
    """What an address answered with."""

    url: str
    """The address asked for, before redirects."""
    data: bytes
    name: str
    """A file name with the ending of what was sent, by which a reader is chosen."""


def check_url(url: str, settings: AccessSettings) -> None:
    """Raise `InputError` for an address that would not be fetched, before anything is sent."""
    if not settings.allow_urls:
        raise InputError(
            f"url {url!r} cannot be fetched: the setting access.allow_urls is off; give the text"
            " itself, or a path"
        )
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise InputError(
            f"url {url!r} cannot be read ({error}); expected one such as https://example.org/a.html"
        ) from error
    in_range = parsed.port is None or 0 < parsed.port < 65_536
    if parsed.scheme not in ("http", "https") or not parsed.host or not in_range:
        raise InputError(f"url {url!r} cannot be; expected one such as https://example.org/a.html")
    if parsed.userinfo:
        raise InputError("url holds a user name or password; give it without, they would be stored")
    with suppress(ValueError):  # a name is looked up when it is fetched
        _check_address(url, ipaddress.ip_address(parsed.host), settings)


def fetch(url: str, settings: AccessSettings) -> Fetched:
    """The bytes behind an http or https address.

    Raises `InputError` for an address that may not be fetched, the ones that a redirect leads to
    among them, and `UnreadableError` where the server fails, or answers with too much or too late.
    """
    check_url(url, settings)
    with (
        _Deadline(settings.url_seconds) as deadline,
        _network_errors(url, deadline),
        httpx2.Client(
            transport=_CheckedTransport(settings, deadline),
            headers={"User-Agent": "clew", "Accept-Encoding": "identity"},
            trust_env=False,  # a proxy would look names up by itself
        ) as client,
    ):
        request = client.build_request("GET", url)
        for _ in range(MAX_REDIRECTS + 1):
            # Not followed by the client, which would read all that comes with a redirect.
            with closing(client.send(request, stream=True)) as response:
                if response.next_request is None:
                    if response.status_code != httpx2.codes.OK:
                        raise UnreadableError(url, f"the server answered {response.status_code}")
                    limit = int(settings.max_url_megabytes * 1_000_000)
                    data = bytearray()
                    for block in response.iter_bytes():
                        data += block
                        if len(data) > limit:
                            raise UnreadableError(
                                url, f"larger than {settings.max_url_megabytes:g} MB"
                            )
                    if not deadline.left:  # a body that was hung up on may look whole
                        raise httpx2.ReadTimeout("the time is up")
                    kind = (
                        response.headers.get("content-type", "").partition(";")[0].strip().lower()
                    )
                    # A name whose ending says what was sent: what the server says, else the URL.
                    path = PurePosixPath(unquote(response.url.path))
                    is_told = kind in _VAGUE or media_type_of(path.suffix.lower()) == kind
                    named = f"{path.stem or 'index'}{suffix_of(kind) or path.suffix}"
                    return Fetched(url=url, data=bytes(data), name=path.name if is_told else named)
                request = response.next_request
    raise UnreadableError(url, f"more than {MAX_REDIRECTS} redirects")


class _Deadline:
    """Ends whatever connection is open when the time is up, even of a server that drips on."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds
        self._timer = threading.Timer(seconds, self._hang_up)
        self._timer.daemon = True
        self._stream: Any = None  # httpcore's, which has no public type

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._timer.cancel()

    @property
    def left(self) -> float:
        """Seconds, 0 at the least."""
        return max(0.0, self._end - time.monotonic())

    def watch(self, event: str, info: Mapping[str, Any]) -> None:
        """The `trace` of httpcore: what is connected, then what is wrapped in TLS."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._stream = info["return_value"]

    def _hang_up(self) -> None:
        if self._stream is not None:
            with suppress(OSError):  # it has ended by itself
                self._stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


class _CheckedTransport(httpx2.BaseTransport):
    """Sends each request, that of a redirect like the first, to an address that was checked."""

    def __init__(self, settings: AccessSettings, deadline: _Deadline) -> None:
        self._settings = settings
        self._deadline = deadline
        # No connection is kept: it would be another host's with the same address.
        limits = httpx2.Limits(max_keepalive_connections=0)
        self._inner = httpx2.HTTPTransport(limits=limits, trust_env=False)

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        check_url(str(url), self._settings)
        address = _checked_address(url, self._settings)
        seconds = self._deadline.left
        pinned = httpx2.Request(
            request.method,
            url.copy_with(host=str(address)),
            headers=request.headers,  # `Host` among them, as the caller wrote it
            stream=request.stream,
            extensions={
                **request.extensions,
                "sni_hostname": url.host,  # whom the certificate is checked against, too
                "timeout": dict.fromkeys(("connect", "read", "write", "pool"), seconds),
                "trace": self._deadline.watch,
            },
        )
        return self._inner.handle_request(pinned)

    def close(self) -> None:
        self._inner.close()


def _checked_address(url: httpx2.URL, settings: AccessSettings) -> Address:
    """The first address of a host, all of them allowed."""
    try:
        # As bytes: a name that cannot be encoded is one that is not known.
        found = socket.getaddrinfo(url.raw_host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise UnreadableError(str(url), f"no address of {url.host!r} is known") from error
    addresses = [ipaddress.ip_address(str(item[4][0]).partition("%")[0]) for item in found]
    for address in addresses:
        _check_address(str(url), address, settings)
    return addresses[0]


def _check_address(url: str, address: Address, settings: AccessSettings) -> None:
    if not settings.allow_private_addresses and not is_public(address):
        raise InputError(
            f"url {url!r} leads to {str(address)!r}, which is no public address; give a public one,"
            " or set access.allow_private_addresses"
        )


@contextmanager
def _network_errors(url: str, deadline: _Deadline) -> Iterator[None]:
    try:
        yield
    except httpx2.InvalidURL as error:
        raise UnreadableError(url, "a redirect to no address") from error
    except httpx2.HTTPError as error:
        late = isinstance(error, httpx2.TimeoutException) or not deadline.left
        reason = f"no whole answer within {deadline.seconds:g} s" if late else str(error)
        raise UnreadableError(url, reason or type(error).__name__) from error


# Which IP addresses are for special purposes, whatever the Python that runs knows of them.
#
# Source: the IANA IPv4 and IPv6 Special-Purpose Address Registries
# (https://www.iana.org/assignments/iana-ipv4-special-registry and …/iana-ipv6-special-registry),
# columns "Address Block" and "Globally Reachable", in the state of 2024-10-22, with the entry of
# 2025-04 (100:0:0:1::/64, RFC 9780). "N/A" counts as not reachable. Multicast and what IANA has
# not
# allocated for global unicast are in registries of their own.


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
