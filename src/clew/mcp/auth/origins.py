"""Which Host and Origin headers are answered: others come from pages that were lured here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

from clew.errors import SettingsError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_AUTHORITY = re.compile(
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>[0-9]{1,5}|\*))?"
)
_PORTS = {"http": "80", "https": "443"}


@dataclass(frozen=True, slots=True)
class Authority:
    """A host and a port, as a URL names them; `*` is any port."""

    host: str
    port: str

    def allows(self, other: Authority) -> bool:
        """Whether the other is this one."""
        return self.host == other.host and self.port in ("*", other.port)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a page comes from."""

    scheme: str
    authority: Authority

    def allows(self, other: Origin) -> bool:
        """Whether the other is this one."""
        return self.scheme == other.scheme and self.authority.allows(other.authority)


def parse_authority(text: str, port: str = "") -> Authority | None:
    """`host` or `host:port`, `port` where it names none; None for anything else."""
    match = _AUTHORITY.fullmatch(text)
    return Authority(match["host"].lower(), match["port"] or port) if match else None


def parse_origin(text: str) -> Origin | None:
    """`scheme://host` or `scheme://host:port`; None for anything else, `null` among it."""
    scheme, _, rest = text.partition("://")
    authority = parse_authority(rest, _PORTS.get(scheme.lower(), ""))
    return Origin(scheme.lower(), authority) if authority else None


def allowed_host(text: str) -> Authority:
    """A host of the settings, at any port unless it names one; raises `SettingsError`."""
    authority = parse_authority(text, "*")
    if authority is None:
        raise SettingsError(
            f"setting serve.allowed_hosts: {text!r} cannot be read; expected one such as"
            " clew.example.org"
        )
    return authority


def allowed_origin(text: str) -> Origin:
    """An origin of the settings; raises `SettingsError`."""
    origin = parse_origin(text)
    if origin is None:
        raise SettingsError(
            f"setting serve.allowed_origins: {text!r} cannot be read; expected one such as"
            " https://example.org"
        )
    return origin


class OriginCheck:
    """Answers 421 to requests for other hosts, and 403 to pages of other origins.

    A page that this server sent at the very address that is asked is none of another origin.
    """

    def __init__(self, app: ASGIApp, hosts: list[Authority], origins: list[Origin]) -> None:
        self._app = app
        self._hosts = hosts
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        refused = self._refusal(Headers(scope=scope)) if scope["type"] == "http" else None
        await (refused or self._app)(scope, receive, send)

    def _refusal(self, headers: Headers) -> PlainTextResponse | None:
        host = parse_authority(headers.get("host", ""), _PORTS["http"])
        if host is None or not any(allowed.allows(host) for allowed in self._hosts):
            return PlainTextResponse("Host is not one of serve.allowed_hosts", 421)
        # Absent where no page sent the request.
        given = headers.get("origin")
        if given is None:
            return None
        origin = parse_origin(given)
        own = Origin("http", host)
        if origin is None or not any(one.allows(origin) for one in (own, *self._origins)):
            return PlainTextResponse("Origin is not one of serve.allowed_origins", 403)
        return None
